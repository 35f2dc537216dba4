//! Receives from any source after a death, until it is acknowledged.

use std::sync::Barrier;

use mq_comm::{Options, Source, World};

use super::common::{is_gone, watchdog};
use super::{meet, with_a_death};

#[test]
fn later_receives_from_any_source_fail_until_a_death_is_acknowledged() {
    for bypass in [true, false] {
        let _dog = watchdog("acknowledged");
        let ready = Barrier::new(3);
        let options = Options::default().with(|o| o.bypass = bypass);
        with_a_death(
            &options,
            |world| {
                // Communicators that are made before it dies are each told for themselves.
                let kept = world.dup().unwrap();
                kept.send(&[9_u8], 0, 6).unwrap();
                kept.send(&[9_u8], 2, 6).unwrap();
                let _ = world.split(None, 0).unwrap();
                ready.wait();
            },
            |world| {
                let other = 2 - world.rank();
                let kept = world.dup()?;
                let living = world.split(Some(0), 0)?.expect("it is one of them");
                assert_eq!(world.acknowledge_deaths(), [0; 0]);
                ready.wait();
                assert!(is_gone(&world.recv(&mut [0_u8], 1, 0), 1, "died"));
                // Of all kinds, again and again.
                for _ in 0..2 {
                    assert!(is_gone(&world.recv(&mut [0_u8], Source::Any, 2), 1, "died"));
                    let posted = world.irecv(vec![0_u8], Source::Any, 2)?;
                    assert!(is_gone(&posted.wait(), 1, "died"));
                    assert!(is_gone(&world.iprobe(Source::Any, 2), 1, "died"));
                    assert!(is_gone(&world.probe(Source::Any, 2), 1, "died"));
                    assert!(is_gone(&world.improbe(Source::Any, 2), 1, "died"));
                    assert!(is_gone(&world.mprobe(Source::Any, 2), 1, "died"));
                }
                // A message that is there is received, also one of the dead.
                world.send(&[1_u8], world.rank(), 5)?;
                world.recv(&mut [0_u8], world.rank(), 5)?;
                world.send(&[2_u8], other, 5)?;
                meet(world, 1)?;
                let mut byte = [0_u8];
                world.recv(&mut byte, Source::Any, 5)?;
                assert_eq!(byte, [2]);
                let status = kept.recv(&mut byte, Source::Any, 6)?;
                assert_eq!((status.source(), byte), (1, [9]));

                assert_eq!(world.acknowledge_deaths(), [1]);
                assert_eq!(world.acknowledge_deaths(), [1]);
                meet(world, 1)?;
                let posted = world.irecv(vec![0_u8], Source::Any, 3)?;
                assert!(world.iprobe(Source::Any, 3)?.is_none());
                world.send(&[6_u8], other, 3)?;
                assert_eq!(posted.wait()?.0, [6]);
                world.send(&[7_u8], other, 4)?;
                world.recv(&mut byte, Source::Any, 4)?;
                assert_eq!(byte, [7]);
                // Each communicator for itself; where the dead was no member there is nothing to
                // know.
                assert!(is_gone(&kept.recv(&mut [0_u8], Source::Any, 12), 1, "died"));
                assert_eq!(kept.acknowledge_deaths(), [1]);
                let posted = kept.irecv(vec![0_u8], Source::Any, 2)?;
                kept.send(&[8_u8], other, 2)?;
                assert_eq!(posted.wait()?.0, [8]);
                assert_eq!(living.acknowledge_deaths(), [0; 0]);
                let posted = living.irecv(vec![0_u8], Source::Any, 2)?;
                living.send(&[4_u8], 1 - living.rank(), 2)?;
                assert_eq!(posted.wait()?.0, [4]);
                meet(world, 7)
            },
        );
    }
}

#[test]
fn when_nobody_is_left_acknowledging_does_not_make_receives_wait() {
    let _dog = watchdog("nobody left");
    let seats = World::seats(2, &Options::default()).unwrap();
    let mut seats = seats.into_iter();
    let (mine, other) = (seats.next().unwrap(), seats.next().unwrap());
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _world = other.take().unwrap();
            panic!("by intention");
        });
        scope.spawn(move || {
            let world = mine.take().unwrap();
            assert!(is_gone(&world.recv(&mut [0_u8], Source::Any, 0), 1, "died"));
            assert_eq!(world.acknowledge_deaths(), [1]);
            assert!(is_gone(&world.recv(&mut [0_u8], Source::Any, 0), 1, "died"));
        });
        assert!(other.join().is_err());
    });
}
