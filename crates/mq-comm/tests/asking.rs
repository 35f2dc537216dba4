//! Programs that do not wait, but ask again and again: each question that finds nothing lets others have the
//! core now and then.

mod common;

use common::{hindered, watchdog};
use mq_comm::{Error, Options, Source};
use mq_shm::{Geometry, Mapped};

#[test]
fn who_asks_in_vain_gives_way_however_it_asks() {
    const TIMES: u32 = 5;
    let _dog = watchdog("asking");
    let memory = Mapped::create(Geometry::new(1).unwrap()).unwrap();
    let (world, hindrance) = hindered::join(memory, 0, &Options::default());
    let run = || -> Result<(), Error> {
        let single = world.irecv(vec![0_u8], 0, 1)?;
        let mut set = world.request_set();
        set.add(world.irecv(vec![0_u8], 0, 2)?);
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
        for tag in 1..=3 {
            world.send(&[1_u8], 0, tag)?;
        }
        assert!(single.test()?);
        assert!(set.test_any()?.is_some());
        assert!(world.iprobe(Source::Any, 3)?.is_some());
        // These have found something.
        assert_eq!(hindrance.asked.get(), 7 * TIMES);
        world.recv(&mut [0_u8], 0, 3)?;
        single.wait()?;
        Ok(())
    };
    run().unwrap();
}
