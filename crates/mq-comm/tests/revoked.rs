//! A communicator is revoked: whatever waits on it ends at all ranks, and only agreements go on.
#![allow(
    clippy::disallowed_types,
    reason = "threads of a test tell each other how far they are"
)]

mod common;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use common::watchdog;
use mq_comm::{Communicator, Error, Kind, Options, Process, Source, TagSelector, World};

/// A message from each to the next.
fn pass_round(ranks: &Communicator, word: u32) {
    let (me, size) = (ranks.rank(), ranks.size());
    let (next, before) = ((me + 1) % size, (me + size - 1) % size);
    let mut heard = [0; 2];
    let status = ranks.sendrecv(&[me, word], next, 1, &mut heard, Source::Any, 1);
    assert_eq!((status.unwrap().source(), heard), (before, [before, word]));
}

fn is_revoked<R>(result: Result<R, impl Into<Error>>) -> bool {
    matches!(result.map_err(Into::into), Err(Error::Revoked))
}

/// Everything that waits for a message that does not come, or for a rank that does nothing.
type Wait = (&'static str, fn(&Communicator) -> bool);
const WAITS: &[Wait] = &[
    ("recv", |on| is_revoked(on.recv(&mut [0_u8], 0, 7))),
    ("recv from any", |on| {
        is_revoked(on.recv(&mut [0_u8], Source::Any, TagSelector::Any))
    }),
    ("sendrecv", |on| {
        let me = on.rank();
        is_revoked(on.sendrecv(&[1_u8], me, 8, &mut [0_u8], 0, 7))
    }),
    ("irecv", |on| {
        let waiting = on.irecv(vec![0_u8], 0, 7).unwrap();
        is_revoked(waiting.wait())
    }),
    ("many irecv", |on| {
        // Some of them in the engine.
        let begin = |tag| on.irecv(vec![0_u8], Source::Any, tag).unwrap();
        let waiting: Vec<_> = (0..40).map(begin).collect();
        waiting.into_iter().all(|one| is_revoked(one.wait()))
    }),
    ("test", |on| {
        let waiting = on.irecv(vec![0_u8], 0, 7).unwrap();
        while !waiting.test().unwrap() {}
        is_revoked(waiting.wait())
    }),
    ("scope", |on| {
        let (mut one, mut other) = ([0_u8], [0_u8]);
        is_revoked(on.scope(|s| {
            s.irecv(&mut one, 0, 7)?;
            s.irecv(&mut other, 0, TagSelector::Any)?;
            Ok(())
        }))
    }),
    ("probe", |on| is_revoked(on.probe(0, 7))),
    ("mprobe", |on| is_revoked(on.mprobe(Source::Any, 7))),
    ("probe_within", |on| {
        let found = on.probe_within(0, 7, Duration::from_secs(100));
        is_revoked(found)
    }),
    ("iprobe", |on| {
        loop {
            match on.iprobe(0, 7) {
                Ok(found) => assert!(found.is_none()),
                Err(error) => return is_revoked(Err::<(), _>(error)),
            }
        }
    }),
    ("barrier", |on| is_revoked(on.barrier())),
    ("broadcast", |on| {
        is_revoked(on.broadcast(&mut [0_u8; 40], 0))
    }),
    ("long broadcast", |on| {
        is_revoked(on.broadcast(&mut [0_u8; 400_000], 0))
    }),
    ("dup", |on| is_revoked(on.dup())),
    ("split", |on| is_revoked(on.split(Some(0), 0))),
    ("long send", |on| {
        // Nobody receives it; it is discarded.
        on.send(&[0_u8; 400_000], (on.rank() + 1) % 3, 7).is_ok() && is_revoked(on.barrier())
    }),
    ("long isend", |on| {
        let sending = on.isend(vec![0_u8; 400_000], 0, 7).unwrap();
        assert!(sending.wait().is_ok());
        is_revoked(on.barrier())
    }),
];

fn every_wait_ends(options: &Options) {
    for &(what, wait) in WAITS {
        // Who revokes, and when: while the others are on their way there, or when they have waited.
        for (by, pause) in [(0, 0), (2, 0), (1, 3)] {
            World::threads_with(3, options, |world| {
                let on = world.dup()?;
                if world.rank() == by {
                    std::thread::sleep(Duration::from_millis(pause));
                    on.revoke()?;
                    assert!(on.is_revoked());
                } else if world.rank() == 0 {
                    // Who is waited for waits for whatever comes.
                    assert!(is_revoked(on.recv(&mut [0_u8], Source::Any, 99)), "{what}");
                } else {
                    assert!(wait(&on), "{what}, revoked by {by}");
                    assert!(on.is_revoked());
                }
                // Only now do they meet.
                assert_eq!(on.agree(0b110 | world.rank())?, 0b110);
                pass_round(&on.shrink()?, 5);
                pass_round(world, 6);
                drop(on);
                world.barrier()
            })
            .unwrap();
        }
    }
}

#[test]
fn whatever_waits_ends() {
    let _dog = watchdog("whatever waits");
    every_wait_ends(&Options::default());
}

#[test]
fn whatever_waits_ends_where_nothing_is_eager_and_all_is_matched() {
    let _dog = watchdog("nothing eager");
    let options = Options::default().with(|o| {
        o.eager_limit = 0;
        o.bypass = false;
        o.fastbox = false;
        o.structure = Kind::List.into();
    });
    every_wait_ends(&options);
}

#[test]
fn nothing_begins_on_it_and_buffers_come_back() {
    let _dog = watchdog("nothing begins");
    World::threads(2, |world| {
        let on = world.dup()?;
        on.send(&[7_u8], 1 - on.rank(), 3)?;
        world.barrier()?;
        // A message that a probe has taken out is received all the same.
        let matched = on.mprobe(1 - on.rank(), 3)?;
        on.send(&[8_u8], 1 - on.rank(), 4)?;
        world.barrier()?;
        if world.rank() == 0 {
            on.revoke()?;
            on.revoke()?;
        }
        while !on.is_revoked() {
            world.progress()?;
        }
        assert_eq!(matched.recv_vec::<u8>()?, [7]);
        assert!(is_revoked(on.recv(&mut [0_u8], 1 - on.rank(), 4)));
        assert!(is_revoked(on.send(&[0_u8], 0, 4)));
        assert!(is_revoked(on.iprobe(Source::Any, TagSelector::Any)));
        let refused = on.irecv(vec![5_u8], 0, 4).unwrap_err();
        assert!(matches!(refused.error, Error::Revoked));
        assert_eq!(refused.buffer, [5]);
        let refused = on.isend(vec![6_u8], 0, 4).unwrap_err();
        assert_eq!(refused.buffer, [6]);
        assert_eq!(
            refused.error.to_string(),
            "the communicator has been revoked: only agree and shrink go on"
        );
        // What is wrong with a call is said first.
        assert!(matches!(on.send(&[0_u8], 9, 4), Err(Error::Rank { .. })));
        assert!(matches!(
            on.send(&[0_u8], 0, -4),
            Err(Error::Tag { tag: -4 })
        ));
        let clone = on.clone();
        assert!(clone.is_revoked() && !world.is_revoked());
        assert_eq!(world.unexpected_bytes(), 0);
        Ok(())
    })
    .unwrap();
}

/// The world's own, whose number is never given again.
#[test]
fn a_world_may_be_revoked() {
    let _dog = watchdog("a world");
    World::threads(4, |world| {
        let other = world.dup()?;
        if world.rank() == 3 {
            world.revoke()?;
        } else {
            assert!(is_revoked(world.recv(&mut [0_u8], Source::Any, 1)));
        }
        assert!(is_revoked(world.barrier()));
        let all = world.shrink()?;
        pass_round(&all, 1);
        pass_round(&other, 2);
        assert_eq!(world.agree(1)?, 1);
        all.barrier()
    })
    .unwrap();
}

/// What some have said before others are told counts.
#[test]
fn agreements_go_on() {
    let _dog = watchdog("agreements");
    for bypass in [true, false] {
        let options = Options::default().with(|o| o.bypass = bypass);
        let has_said = AtomicBool::new(false);
        World::threads_with(3, &options, |world| {
            let on = world.dup()?;
            let wait_until = |is_so: &dyn Fn() -> bool| {
                while !is_so() {
                    on.progress()?;
                }
                Ok::<(), Error>(())
            };
            match on.rank() {
                // It waits for the others' opinions when it is told.
                0 => {}
                1 => {
                    wait_until(&|| on.profile().unexpected > 0)?;
                    has_said.store(true, Ordering::Release);
                    wait_until(&|| on.is_revoked())?;
                }
                _ => {
                    wait_until(&|| has_said.load(Ordering::Acquire))?;
                    on.revoke()?;
                }
            }
            assert_eq!(on.agree(0b110 | on.rank())?, 0b110);
            on.shrink()?.barrier()
        })
        .unwrap();
    }
}

/// Numbers are given again, and no notice of the communicator before reaches the next. Some ranks are told before
/// they have the communicator.
#[test]
fn the_next_communicator_of_its_number_is_not_revoked() {
    let _dog = watchdog("the next");
    for bypass in [true, false] {
        let options = Options::default().with(|o| o.bypass = bypass);
        World::threads_with(4, &options, |world| {
            let me = world.rank();
            for round in 0..150 {
                let on = world.split(Some(0), -(me as i32))?.expect("a colour");
                if round % 2 == 0 {
                    pass_round(&on, round);
                    world.barrier()?;
                }
                if round % 4 == me || round % 7 == me {
                    on.revoke()?;
                } else {
                    let next = (on.rank() + 1) % 4;
                    while on.send(&[round], next, 2).is_ok() && !on.is_revoked() {
                        let heard = on.recv(&mut [0_u32], Source::Any, 2);
                        assert!(heard.is_ok() || is_revoked(heard));
                    }
                }
                if round % 3 == 0 {
                    let all = on.shrink()?;
                    drop(on);
                    pass_round(&all, round);
                }
            }
            world.barrier()?;
            assert_eq!(world.unexpected_bytes(), 0);
            Ok(())
        })
        .unwrap();
    }
}

/// The rank that notices a death, and the one that waits for it, with every order of these.
#[test]
fn who_waits_for_a_live_rank_is_freed_after_a_death() {
    let _dog = watchdog("after a death");
    let died = AtomicU32::new(0);
    for size in [3, 6] {
        let run = World::threads(size, |world| {
            let work = world.dup()?;
            if work.rank() == 1 {
                died.fetch_add(1, Ordering::Relaxed);
                return Err(Error::Cancelled);
            }
            // A chain: each waits for the one before, and only one for the dead.
            let from = if work.rank() == 0 {
                1
            } else {
                (work.rank() + size - 2) % size
            };
            let from = if from == 1 && work.rank() != 0 {
                0
            } else {
                from
            };
            let heard = work.recv(&mut [0_u8], from, 7);
            match heard {
                Err(Error::Gone {
                    process: Process(1),
                    ..
                }) => work.revoke()?,
                heard => assert!(is_revoked(heard)),
            }
            let rest = work.shrink()?;
            assert_eq!(rest.size(), size - 1);
            pass_round(&rest, size);
            rest.barrier()
        });
        assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
    }
    assert_eq!(died.into_inner(), 2);
}

/// It dies while others hear of it: none of them waits for ever.
#[test]
fn who_has_revoked_and_dies_leaves_nobody_waiting() {
    let _dog = watchdog("revokes and dies");
    for _ in 0..20 {
        let run = World::threads(5, |world| {
            let work = world.dup()?;
            if work.rank() == 4 {
                work.revoke()?;
                return Err(Error::Cancelled);
            }
            assert!(is_revoked(work.recv(&mut [0_u8], (work.rank() + 1) % 4, 7)));
            let mut rest = work.shrink()?;
            while rest.agree(u32::from(rest.barrier().is_ok()))? == 0 {
                rest = rest.shrink()?;
            }
            pass_round(&rest, 3);
            Ok(())
        });
        assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
    }
}

/// Nothing is sent or received there.
#[test]
fn operations_of_a_single_rank_fail_too() {
    let _dog = watchdog("operations of a single rank");
    let world = World::alone().unwrap();
    let on = world.dup().unwrap();
    on.barrier().unwrap();
    on.revoke().unwrap();
    assert!(is_revoked(on.barrier()));
    assert!(is_revoked(on.broadcast(&mut [0_u8], 0)));
    assert!(is_revoked(on.dup()));
    assert!(is_revoked(on.split(Some(0), 0)));
    assert_eq!(on.agree(5).unwrap(), 5);
    assert_eq!(on.shrink().unwrap().size(), 1);
    world.barrier().unwrap();
}

/// Who is told of a revocation is not the cause of it.
#[test]
fn what_has_led_to_a_revocation_is_what_threads_report() {
    let _dog = watchdog("what has led to a revocation");
    let run = World::threads(3, |world| {
        let work = world.dup()?;
        match work.rank() {
            0 => work.recv(&mut [0_u8], 1, 7).map(drop),
            1 => {
                let died = work.recv(&mut [0_u8], 2, 7).map(drop);
                work.revoke()?;
                died
            }
            _ => Err(Error::Cancelled),
        }
    });
    assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
}
