//! A process that waits for one that has died is told so; all others go on.

mod common;

use std::sync::Barrier;
use std::time::Duration;

use common::{is_gone, watchdog};
use mq_comm::{Error, Options, Source, World};

#[test]
fn a_rank_of_threads_that_returns_an_error_has_died() {
    let _dog = watchdog("an error");
    let run = World::threads(4, |world| {
        let mut byte = [0_u8];
        match world.rank() {
            // Waits for both, from whomever, and has something for both.
            0 => {
                world.recv(&mut byte, Source::Any, 1)?;
                world.recv(&mut byte, Source::Any, 1)?;
                world.send(&byte, 1, 2)?;
                world.send(&byte, 2, 2)
            }
            // Of its own, with something under way that nobody fetches.
            1 => {
                let long = world.isend(vec![1_u8; 300_000], 3, 3)?;
                world.send(&[1_u8, 2], 1, 9)?;
                let failed = world.recv(&mut byte, 1, 9).map(|_| ());
                drop(long);
                failed
            }
            2 => {
                world.send(&[1_u8], 0, 1)?;
                world.recv(&mut byte, 0, 2).map(|_| ())
            }
            _ => {
                let gone = world.recv(&mut byte, 1, 4);
                assert!(is_gone(&gone, 1, "died"), "{gone:?}");
                Ok(())
            }
        }
    });
    assert!(matches!(run, Err(Error::Truncated { .. })), "{run:?}");
}

/// Runs a world of three of which rank 1 panics in `dying`; the others run `living`.
fn with_a_death(
    options: &Options,
    dying: impl Fn(&World) + Sync,
    living: impl Fn(&World) -> Result<(), Error> + Sync,
) {
    let seats = World::seats(3, options).unwrap();
    std::thread::scope(|scope| {
        for (rank, seat) in (0..).zip(seats) {
            let (dying, living) = (&dying, &living);
            let thread = scope.spawn(move || {
                let world = seat.take().unwrap();
                if rank == 1 {
                    dying(&world);
                    panic!("by intention");
                }
                living(&world).unwrap();
            });
            if rank == 1 {
                scope.spawn(move || assert!(thread.join().is_err()));
            }
        }
    });
}

/// As where `main` returns an error, and a launcher lets the others run.
#[test]
fn a_world_that_has_failed_dies_when_it_is_dropped() {
    let _dog = watchdog("failed");
    let seats = World::seats(2, &Options::default()).unwrap();
    std::thread::scope(|scope| {
        for (rank, seat) in (0..).zip(seats) {
            scope.spawn(move || {
                let world = seat.take().unwrap();
                if rank == 1 {
                    world.fail();
                    return;
                }
                let gone = world.recv(&mut [0_u8], Source::Any, 0);
                assert!(is_gone(&gone, 1, "died"), "{gone:?}");
            });
        }
    });
}

#[test]
fn receives_from_any_source_that_wait_are_told_of_a_death() {
    let _dog = watchdog("any source");
    let ready = Barrier::new(3);
    with_a_death(
        &Options::default(),
        |_| {
            ready.wait();
        },
        |world| {
            let other = 2 - world.rank();
            let any = world.irecv(vec![0_u8], Source::Any, 0)?;
            let named = world.irecv(vec![0_u8], other, 1)?;
            ready.wait();
            assert!(is_gone(&world.recv(&mut [0_u8], Source::Any, 2), 1, "died"));
            assert!(is_gone(&any.wait(), 1, "died"));
            // The rest goes on.
            world.send(&[5_u8], other, 1)?;
            assert_eq!(named.wait()?.0, [5]);
            Ok(())
        },
    );
}

/// A program that never waits is told as well, of a process that it has not met so far too.
#[test]
fn who_only_asks_is_told_of_a_death() {
    let _dog = watchdog("asking");
    with_a_death(
        &Options::default(),
        |_| {},
        |world| {
            // Two ways to ask for each, none of which makes the transport rest.
            if world.rank() == 0 {
                let named = world.irecv(vec![0_u8], 1, 0)?;
                while !named.test()? {}
                assert!(is_gone(&named.wait(), 1, "died"));
                let mut set = world.request_set();
                set.add(world.irecv(vec![0_u8], Source::Any, 1)?);
                let done = loop {
                    if let Some(done) = set.test_any()? {
                        break done;
                    }
                };
                assert!(is_gone(&done.into_result(), 1, "died"));
            } else {
                let asked = loop {
                    match world.iprobe(1, 0) {
                        Ok(None) => {}
                        asked => break asked,
                    }
                };
                assert!(is_gone(&asked, 1, "died"));
                let asked = loop {
                    match world.improbe(Source::Any, 0) {
                        Ok(None) => {}
                        asked => break asked,
                    }
                };
                assert!(is_gone(&asked, 1, "died"));
            }
            meet(world, 5)
        },
    );
}

/// Messages that keep coming do not hide a death.
#[test]
fn who_gets_messages_all_the_time_is_told_of_a_death() {
    let _dog = watchdog("busy");
    with_a_death(
        &Options::default(),
        |_| {},
        |world| {
            if world.rank() == 0 {
                assert!(is_gone(&world.recv(&mut [0_u8], 1, 0), 1, "died"));
                world.send(&[0_u8], 2, 1)
            } else {
                let stop = world.irecv(vec![0_u8], 0, 1)?;
                // The other may leave before its word is looked for.
                while !stop.test()? && world.send(&[1_u8], 0, 2).is_ok() {}
                stop.wait().map(|_| ())
            }
        },
    );
}

/// Nor do messages that are always there already, of which no receive has to look for one.
#[test]
fn who_never_waits_for_a_message_is_told_of_a_death() {
    let _dog = watchdog("never waits");
    with_a_death(
        &Options::default(),
        |_| {},
        |world| {
            if world.rank() == 0 {
                // The other is quicker. It takes a thousand messages or two, and 400,000 if none of them counts.
                let heard = (0..50_000).find_map(|_| {
                    std::thread::sleep(Duration::from_micros(50));
                    let heard = world.recv(&mut [0_u8], Source::Any, 2);
                    heard.is_err().then_some(heard)
                });
                world.send(&[0_u8], 2, 1)?;
                assert!(is_gone(&heard.expect("it is told"), 1, "died"));
                Ok(())
            } else {
                let stop = world.irecv(vec![0_u8], 0, 1)?;
                while !stop.test()? && world.send(&[1_u8], 0, 2).is_ok() {}
                stop.wait().map(|_| ())
            }
        },
    );
}

/// Sends a word to the other live rank, and waits for its word.
fn meet(world: &World, tag: i32) -> Result<(), Error> {
    let other = 2 - world.rank();
    world.send(&[0_u8], other, tag)?;
    world.recv(&mut [0_u8], other, tag).map(|_| ())
}

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

#[test]
fn a_seat_that_nobody_takes_is_dead_to_the_others() {
    let _dog = watchdog("a_seat_that_nobody_takes_is_dead_to_the_others");
    let mut seats = World::seats(2, &Options::default()).unwrap();
    let empty = seats.pop().unwrap();
    let world = seats.pop().unwrap().take().unwrap();
    let waiting = std::thread::spawn(move || drop(empty));
    let heard = world.recv(&mut [0_u8], 1, 1);
    assert!(
        matches!(heard, Err(Error::Gone { process: 1, .. })),
        "{heard:?}"
    );
    waiting.join().unwrap();
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
                assert!(matches!(gone, Err(Error::Gone { process: 1, .. })));
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
                assert!(matches!(gone, Err(Error::Gone { process: 1, .. })));
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
