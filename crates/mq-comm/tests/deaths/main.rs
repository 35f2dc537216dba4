//! A process that waits for one that has died is told so; all others go on.

mod acknowledged;
#[path = "../common/mod.rs"]
mod common;
mod messages;
mod noticed;

use std::sync::Barrier;
use std::time::Duration;

use common::{is_gone, watchdog};
use mq_comm::{Error, Options, Process, Source, World};

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
fn a_seat_that_nobody_takes_is_dead_to_the_others() {
    let _dog = watchdog("a_seat_that_nobody_takes_is_dead_to_the_others");
    let mut seats = World::seats(2, &Options::default()).unwrap();
    let empty = seats.pop().unwrap();
    let world = seats.pop().unwrap().take().unwrap();
    let waiting = std::thread::spawn(move || drop(empty));
    let heard = world.recv(&mut [0_u8], 1, 1);
    assert!(
        matches!(
            heard,
            Err(Error::Gone {
                process: Process(1),
                ..
            })
        ),
        "{heard:?}"
    );
    waiting.join().unwrap();
}

/// In a scope that panics, as in any other program that does.
#[test]
fn a_large_message_that_a_panic_takes_back_keeps_its_place() {
    let _dog = watchdog("a scope panics");
    let begun = Barrier::new(2);
    with_a_death(
        &Options::default(),
        |world| {
            let large = vec![1_u8; 300_000];
            let _ = world.scope(|s| -> Result<(), Error> {
                s.isend(&large, 0, 5)?;
                s.isend(&[2_u8; 8], 0, 5)?;
                begun.wait();
                panic!("by intention");
            });
        },
        |world| {
            if world.rank() != 0 {
                return Ok(());
            }
            begun.wait();
            let ended = world.recv(&mut [0_u8], 1, 6);
            assert!(is_gone(&ended, 1, "died"), "{ended:?}");
            let mut into = vec![0_u8; 300_000];
            let lost = world.recv(&mut into, 1, 5);
            assert!(is_gone(&lost, 1, "died"), "{lost:?}");
            assert_eq!(world.recv(&mut into, 1, 5)?.bytes(), 8);
            Ok(())
        },
    );
}
