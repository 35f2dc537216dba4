//! Messages of the dead, to them, and past them.

use std::sync::Barrier;
use std::time::Duration;

use mq_comm::{Error, Gone, Options, Process, Source, TagSelector, World};

use super::common::{is_gone, watchdog, watchdog_for};
use super::with_a_death;

#[test]
fn large_messages_of_the_dead_are_withdrawn_and_those_to_them_fail() {
    let _dog = watchdog("large");
    for single_copy in [true, false] {
        let options = Options::default().with(|o| {
            o.single_copy = single_copy;
            o.single_copy_from = Some(0);
        });
        with_a_death(
            &options,
            |world| {
                drop(world.isend(vec![1_u8; 1 << 20], 0, 0).unwrap());
                drop(world.isend(vec![1_u8; 1 << 20], 2, 0).unwrap());
                world.send(&[1_u8], 0, 1).unwrap();
                world.send(&[1_u8], 2, 1).unwrap();
            },
            |world| {
                let sending = world.isend(vec![0_u8; 1 << 20], 1, 7)?;
                world.recv(&mut [0_u8], 1, 1)?;
                assert!(is_gone(&sending.wait(), 1, "died"));
                let mut large = vec![0_u8; 1 << 20];
                assert!(is_gone(&world.recv(&mut large, 1, 0), 1, "died"));
                Ok(())
            },
        );
    }
}

/// Of the transfers through rings under way, in both directions, a death ends those with the dead rank.
#[test]
fn transfers_among_the_living_go_on_past_a_death() {
    let _dog = watchdog("transfers among the living");
    // More than a ring holds, so that none is through before it is waited for.
    const LEN: usize = 4 << 20;
    let options = Options::default().with(|o| o.single_copy = false);
    let told = Barrier::new(2);
    with_a_death(
        &options,
        |world| {
            let taking = world.irecv(vec![0_u8; LEN], 0, 1).unwrap();
            let giving = world.isend(vec![1_u8; LEN], 0, 2).unwrap();
            // By now it has asked for the first, and announced the second.
            world.send(&[1_u8], 0, 3).unwrap();
            world.recv(&mut [0_u8], 0, 4).unwrap();
            drop((taking, giving));
        },
        |world| {
            let peer = 2 - world.rank();
            let taking = world.irecv(vec![0_u8; LEN], peer, 1)?;
            let giving = world.isend(vec![world.rank() as u8; LEN], peer, 1)?;
            world.sendrecv(&[1_u8], peer, 3, &mut [0_u8], peer, 3)?;
            if world.rank() == 0 {
                let from_dying = world.irecv(vec![0_u8; LEN], 1, 2)?;
                let to_dying = world.isend(vec![0_u8; LEN], 1, 1)?;
                world.recv(&mut [0_u8], 1, 3)?;
                world.send(&[1_u8], 1, 4)?;
                assert!(is_gone(&to_dying.wait(), 1, "died"));
                assert!(is_gone(&from_dying.wait(), 1, "died"));
            }
            told.wait();
            let (taken, _) = taking.wait()?;
            assert!(taken.iter().all(|&byte| u32::from(byte) == peer));
            giving.wait().map(drop)
        },
    );
}

/// A message that is lost with its sender keeps its place before those that had come whole: whether it was
/// matched before or after the death, the receives find the same.
#[test]
fn what_is_lost_keeps_its_place() {
    let _dog = watchdog("what is lost");
    for was_matched in [true, false] {
        let options = Options::default().with(|o| o.single_copy_from = Some(0));
        let sent = Barrier::new(3);
        let ready = Barrier::new(3);
        let matched = Barrier::new(3);
        with_a_death(
            &options,
            |world| {
                ready.wait();
                for to in [0, 2] {
                    world.send(&[1_u8], to, 0).unwrap();
                    drop(world.isend(vec![2_u8; 1 << 20], to, 0).unwrap());
                    world.send(&[3_u8], to, 0).unwrap();
                }
                sent.wait();
                matched.wait();
            },
            |world| {
                // Rank 0 names the sender, and rank 2 does not.
                let source = if world.rank() == 0 {
                    1.into()
                } else {
                    Source::Any
                };
                ready.wait();
                let first = world.irecv(vec![0_u8], source, 0)?;
                sent.wait();
                assert_eq!(first.wait()?.0, [1]);
                let early = if was_matched {
                    Some(world.mprobe(1, 0)?)
                } else {
                    None
                };
                matched.wait();
                let mut byte = [0_u8];
                assert!(is_gone(&world.recv(&mut byte, 1, 9), 1, "died"));
                world.acknowledge_deaths();
                let lost = match early {
                    Some(probed) => probed.recv(&mut byte),
                    None => world.recv(&mut byte, source, 0),
                };
                assert!(is_gone(&lost, 1, "died"), "{lost:?}");
                world.recv(&mut byte, source, 0)?;
                assert_eq!(byte, [3], "what had come whole is there");
                Ok(())
            },
        );
    }
}

/// A receive from any source that is begun after a death takes what has come, though nobody has looked
/// at it yet.
#[test]
fn what_has_come_is_received_before_a_death_is_told() {
    let _dog = watchdog("come before");
    for way in 0..6 {
        let mut seats = World::seats(3, &Options::default()).unwrap().into_iter();
        let [first, dying, sending] = [(); 3].map(|()| seats.next().unwrap());
        let (told, sent) = (Barrier::new(2), Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let world = first.take().unwrap();
                let mut byte = [0_u8];
                let gone = world.recv(&mut byte, 1, 0);
                assert!(matches!(
                    gone,
                    Err(Error::Gone {
                        process: Process(1),
                        ..
                    })
                ));
                told.wait();
                sent.wait();
                let any = Source::Any;
                match way {
                    0 => drop(world.recv(&mut byte, any, 7).unwrap()),
                    1 => byte[0] = world.irecv(vec![0], any, 7).unwrap().wait().unwrap().0[0],
                    2 => {
                        world.probe(any, 7).unwrap();
                        world.recv(&mut byte, any, 7).unwrap();
                    }
                    3 => {
                        let found = world.iprobe(any, 7).unwrap();
                        assert!(found.is_some());
                        world.recv(&mut byte, any, 7).unwrap();
                    }
                    4 => drop(world.mprobe(any, 7).unwrap().recv(&mut byte).unwrap()),
                    _ => {
                        let found = world.improbe(any, 7).unwrap();
                        found.expect("it has come").recv(&mut byte).unwrap();
                    }
                }
                assert_eq!(byte, [9]);
                // And then it is told.
                let gone = world.recv(&mut byte, Source::Any, 7);
                assert!(matches!(gone, Err(Error::Gone { .. })), "{gone:?}");
            });
            drop(dying);
            scope.spawn(|| {
                let world = sending.take().unwrap();
                told.wait();
                // Others that it does not want are before it.
                for tag in 100..150 {
                    world.send(&[0_u8], 0, tag).unwrap();
                }
                world.send(&[9_u8], 0, 7).unwrap();
                sent.wait();
            });
        });
    }
}

/// A second death that is found on the way to a message ends the receive, and loses nothing.
#[test]
fn a_death_that_is_found_with_a_message_loses_none() {
    let _dog = watchdog("two deaths");
    // Deaths are looked for every 64th round at most, and one of those rounds finds the message.
    for before in 0..64 {
        let mut seats = World::seats(4, &Options::default()).unwrap().into_iter();
        let [first, one, two, sending] = [(); 4].map(|()| seats.next().unwrap());
        let (told, sent) = (Barrier::new(2), Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let world = first.take().unwrap();
                let mut byte = [0_u8];
                // So that the second death is looked for.
                let waiting = world.irecv(vec![0_u8], 2, 99).unwrap();
                let gone = world.recv(&mut byte, 1, 0);
                assert!(matches!(
                    gone,
                    Err(Error::Gone {
                        process: Process(1),
                        ..
                    })
                ));
                for _ in 0..before {
                    assert!(world.iprobe(3, 98).unwrap().is_none());
                }
                told.wait();
                sent.wait();
                std::thread::sleep(std::time::Duration::from_millis(25));
                while let Err(error) = world.recv(&mut byte, Source::Any, 7) {
                    assert!(matches!(error, Error::Gone { .. }), "{error}");
                    world.acknowledge_deaths();
                }
                assert_eq!(byte, [9]);
                assert!(is_gone(&waiting.wait(), 2, "died"));
            });
            drop(one);
            scope.spawn(|| {
                let world = sending.take().unwrap();
                told.wait();
                drop(two);
                world.send(&[9_u8], 0, 7).unwrap();
                sent.wait();
            });
        });
    }
}

/// Rank 2 sends rank 0 `count` messages of `bytes` bytes with tag 7, and rank 1 dies. Rank 0 begins something before
/// that, and receives them afterwards.
fn sent_before_a_death<R>(
    [count, bytes]: [usize; 2],
    begin: impl FnOnce(&World) -> R,
    receive: impl FnOnce(&World, R),
) {
    let mut seats = World::seats(3, &Options::default()).unwrap().into_iter();
    let [first, dying, sending] = [(); 3].map(|()| seats.next().unwrap());
    let [met, posted, sent, done] = [3, 3, 2, 2].map(Barrier::new);
    std::thread::scope(|scope| {
        let dying = scope.spawn(|| {
            let world = dying.take().unwrap();
            world.send(&[0_u8], 0, 1).unwrap();
            met.wait();
            posted.wait();
            panic!("by intention");
        });
        scope.spawn(|| {
            let world = sending.take().unwrap();
            // There is a fastbox from now on.
            for _ in 0..40 {
                world.send(&[0_u8], 0, 1).unwrap();
            }
            met.wait();
            posted.wait();
            for _ in 0..count {
                world.send(&vec![9_u8; bytes], 0, 7).unwrap();
            }
            sent.wait();
            done.wait();
        });
        let world = first.take().unwrap();
        for _ in 0..41 {
            world.recv(&mut [0_u8], Source::Any, 1).unwrap();
        }
        met.wait();
        let begun = begin(&world);
        posted.wait();
        sent.wait();
        assert!(dying.join().is_err());
        receive(&world, begun);
        // And then it is told.
        let gone = world.recv(&mut [0_u8], Source::Any, 7);
        assert!(is_gone(&gone, 1, "died"), "{gone:?}");
        done.wait();
    });
}

/// Longer messages are only found in a look at everything, and deaths are looked for after every sixteenth of them.
#[test]
fn a_blocking_receive_takes_what_has_come_before_it_is_told_of_a_death() {
    let _dog = watchdog("blocking");
    const COUNT: usize = 24;
    sent_before_a_death(
        [COUNT, 5_000],
        |_| (),
        |world, ()| {
            for number in 0..COUNT {
                std::thread::sleep(Duration::from_millis(5));
                let mut into = vec![0_u8; 5_000];
                let heard = world.recv(&mut into, Source::Any, 7);
                assert!(heard.is_ok(), "{number}: {heard:?}");
                assert!(into.iter().all(|&byte| byte == 9));
            }
        },
    );
}

/// Deaths are looked for in every 64th round, if it is time.
#[test]
fn a_receive_that_waits_takes_what_has_come_before_it_is_told_of_a_death() {
    let _dog = watchdog_for("waits", 200);
    for before in 0..64 {
        sent_before_a_death(
            [1, 1],
            |world| {
                let waiting = world.irecv(vec![0_u8], Source::Any, 7).unwrap();
                for _ in 0..before {
                    assert!(!waiting.test().unwrap());
                }
                waiting
            },
            |_, waiting| {
                std::thread::sleep(Duration::from_millis(25));
                assert_eq!(waiting.wait().unwrap().0, [9], "after {before} rounds");
            },
        );
    }
}

/// A send fails as soon as the death is found, and a receive when the sender of its message says that it dies: both
/// before all that others have sent is taken in.
#[test]
fn whoever_is_said_to_have_died_can_be_acknowledged() {
    let _dog = watchdog("acknowledged early");
    let options = Options::default().with(|o| o.fastbox = false);
    let run = World::threads_with(3, &options, |world| match world.rank() {
        0 => {
            let mut byte = [0_u8];
            world.recv(&mut byte, 1, 1)?;
            while world.send(&byte, 1, 2).is_ok() {
                world.recv(&mut byte, 2, 3)?;
            }
            assert_eq!(world.ended(), [(1, Gone::Died)]);
            assert_eq!(world.acknowledge_deaths(), [1]);
            for _ in 0..100 {
                world.recv(&mut byte, Source::Any, TagSelector::Any)?;
            }
            // It is told of nothing that it knows.
            assert!(is_gone(&world.recv(&mut byte, 1, 9), 1, "died"));
            let waiting = world.irecv(vec![0_u8], Source::Any, 5)?;
            world.send(&byte, 2, 4)?;
            waiting.wait().map(drop)
        }
        1 => {
            world.send(&[0_u8], 0, 1)?;
            for _ in 0..50 {
                world.recv(&mut [0_u8], 0, 2)?;
            }
            Err(Error::Cancelled)
        }
        _ => {
            while world.iprobe(0, 4)?.is_none() {
                world.send(&[0_u8], 0, 3)?;
            }
            world.send(&[0_u8], 0, 5)
        }
    });
    assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");

    let said = Barrier::new(2);
    let run = World::threads(3, |world| match world.rank() {
        0 => {
            let _sending = world.isend(vec![1_u8; 100_000], 1, 1)?;
            said.wait();
            Err(Error::Cancelled)
        }
        1 => {
            said.wait();
            let mut byte = [0_u8];
            // It dies once it has been answered, and says so before.
            while world.iprobe(0, 1)?.is_none() {}
            for _ in 0..300 {
                std::thread::sleep(Duration::from_millis(1));
                world.progress()?;
            }
            let lost = world.recv(&mut byte, Source::Any, 1);
            assert!(is_gone(&lost, 0, "died"), "{lost:?}");
            assert_eq!(world.acknowledge_deaths(), [0]);
            assert!(is_gone(&world.recv(&mut byte, 0, 9), 0, "died"));
            world.send(&byte, 2, 1)?;
            world.recv(&mut byte, Source::Any, 2).map(drop)
        }
        _ => {
            world.recv(&mut [0_u8], 1, 1)?;
            world.send(&[0_u8], 1, 2)
        }
    });
    assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
}
