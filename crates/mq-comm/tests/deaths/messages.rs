//! Messages of the dead, to them, and past them.

use std::sync::Barrier;

use mq_comm::{Error, Options, Process, Source, World};

use super::common::{is_gone, watchdog};
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
