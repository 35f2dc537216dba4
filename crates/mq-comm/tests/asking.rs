//! Programs that do not wait, but ask again and again: each question that finds nothing lets others have the
//! core now and then.

mod common;

use common::{hindered, watchdog};
use mq_comm::{Error, Options, Source};
use mq_shm::{Geometry, Mapped};

#[test]
fn who_asks_in_vain_gives_way_however_it_asks_and_begins_anew_with_each_message() {
    const TIMES: u32 = 5;
    let _dog = watchdog("asking");
    let memory = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let file = memory.file().try_clone_to_owned().unwrap();
    let (world, hindrance) = hindered::join(memory, 0, &Options::default());
    let other = Mapped::open(file, "it").unwrap();
    let (other, _) = hindered::join(other, 1, &Options::default());
    let run = || -> Result<(), Error> {
        let single = world.irecv(vec![0_u8], 1, 1)?;
        let mut set = world.request_set();
        set.add(world.irecv(vec![0_u8], 1, 2)?);
        let mut some = Vec::new();
        for time in 1..=TIMES {
            assert!(!single.test()?);
            assert!(set.test_any()?.is_none());
            assert_eq!(set.test_some(&mut some)?, 0);
            assert!(set.test_all()?.is_none());
            assert!(world.iprobe(Source::Any, 3)?.is_none());
            assert!(world.improbe(Source::Any, 3)?.is_none());
            world.progress()?;
            assert_eq!(hindrance.asked.get(), 7 * time);
        }
        let in_vain = 7 * TIMES;
        assert_eq!(hindrance.in_a_row.get(), in_vain);
        // A question that is answered is none in vain, and the next one is the first again.
        other.send(&[1_u8], 0, 1)?;
        assert!(single.test()?);
        assert_eq!(hindrance.asked.get(), in_vain);
        assert!(world.iprobe(Source::Any, 3)?.is_none());
        assert_eq!(hindrance.in_a_row.get(), 1);
        // So it is after a message that a receive has waited for.
        assert!(world.iprobe(Source::Any, 3)?.is_none());
        assert_eq!(hindrance.in_a_row.get(), 2);
        other.send(&[1_u8], 0, 3)?;
        world.recv(&mut [0_u8], 1, 3)?;
        assert!(world.iprobe(Source::Any, 3)?.is_none());
        world.progress()?;
        assert_eq!(hindrance.in_a_row.get(), 1);
        other.send(&[1_u8], 0, 2)?;
        assert!(set.test_all()?.is_some());
        single.wait().map(drop)
    };
    run().unwrap();
}
