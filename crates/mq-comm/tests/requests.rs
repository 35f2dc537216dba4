//! Requests, sets of them, and scopes.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::watchdog;
use mq_comm::{Completion, Error, Options, Process, RequestSet, Source, TagSelector, World};

#[test]
fn wait_any_gives_requests_in_the_order_in_which_they_complete() {
    let _dog = watchdog("wait_any");
    let world = World::alone().unwrap();
    let mut set = world.request_set();
    let ids: Vec<_> = (0..1000)
        .map(|tag| set.add(world.irecv(vec![0_i32], 0, tag).unwrap()))
        .collect();
    let order: Vec<i32> = (0..1000).map(|at| at * 7 % 1000).collect();
    for &tag in &order {
        world.send(&[tag], 0, tag).unwrap();
    }
    for &tag in &order {
        let completion = set.wait_any().unwrap().unwrap();
        assert_eq!(completion.id(), ids[tag as usize]);
        assert_eq!(completion.result().unwrap().tag(), tag);
        assert_eq!(completion.into_vec::<i32>().unwrap(), [tag]);
    }
    assert!(set.is_empty());
    assert!(set.wait_any().unwrap().is_none());
}

#[test]
fn wait_some_and_wait_all_give_what_is_complete() {
    let _dog = watchdog("wait_some");
    let world = World::alone().unwrap();
    let mut set = world.request_set();
    for tag in 0..10 {
        set.add(world.irecv(vec![0_u8], 0, tag).unwrap());
    }
    assert!(set.test_any().unwrap().is_none());
    for tag in [4, 2] {
        world.send(&[tag as u8], 0, tag).unwrap();
    }
    let mut some = Vec::new();
    assert_eq!(set.wait_some(&mut some).unwrap(), 2);
    assert_eq!(some[1].result().unwrap().tag(), 2);
    assert_eq!(set.len(), 8);
    for tag in [0, 1, 3, 5, 6, 7, 8, 9] {
        world.send(&[1_u8, 2], 0, tag).unwrap();
    }
    let all = set.wait_all().unwrap();
    assert_eq!(all.len(), 8);
    assert!(all.iter().all(|completion| {
        matches!(
            completion.result(),
            Err(Error::Truncated {
                sent: 2,
                room: 1,
                ..
            })
        )
    }));
}

#[test]
fn a_set_keeps_the_communicators_of_its_requests() {
    let _dog = watchdog("a set keeps the communicators of its requests");
    World::threads(2, |world| {
        let other = 1 - world.rank();
        let part = world.dup()?;
        let mut set = world.request_set();
        set.add(part.irecv(vec![0_u8; 3], other, 0)?);
        set.add(part.irecv(vec![0_u8; 3], other, 1)?);
        // Not before the other has dropped its handle.
        part.send(&[5_u8; 3], other, 0)?;
        drop(part);
        world.barrier()?;
        let done = set.wait_any()?.expect("one has come");
        assert_eq!(done.result().unwrap().count::<u8>()?, 3);
        assert_eq!(done.into_vec::<u8>().unwrap(), [5; 3]);
        assert_eq!(set.len(), 1);
        assert!(set.test_any()?.is_none(), "nothing has come for the other");
        // Neither ends before that: its end would be something.
        world.barrier()
    })
    .unwrap();
}

/// Adds a send of a new communicator and its receive to a set, which alone keeps the communicator; returns its name.
fn add_pair_of_new_communicator(world: &World, set: &mut RequestSet) -> String {
    let one = world.dup().unwrap();
    set.add(one.isend(vec![1_u8], 0, 0).unwrap());
    let message = one.mprobe(0, 0).unwrap();
    set.add(message.irecv(vec![0_u8]).unwrap());
    format!("{one:?}")
}

/// Though the set is never empty.
#[test]
fn a_set_gives_up_a_communicator_with_the_last_request_of_it() {
    let _dog = watchdog("communicators of a set");
    let world = World::alone().unwrap();
    let mut set = world.request_set();
    let stays = set.add(world.irecv(vec![0_u8], 0, 99).unwrap());
    let mut names = std::collections::BTreeSet::new();
    let mut told = Vec::new();
    for round in 0..30 {
        names.insert(add_pair_of_new_communicator(&world, &mut set));
        match round % 3 {
            0 => assert_eq!(set.wait_some(&mut told).unwrap(), 2),
            1 => (0..2).for_each(|_| assert!(set.wait_any().unwrap().is_some())),
            _ => (0..2).for_each(|_| assert!(set.test_any().unwrap().is_some())),
        }
    }
    // Its number is free again as soon as it is given up.
    assert_eq!(names.len(), 1, "{names:?}");
    world.send(&[5_u8], 0, 99).unwrap();
    assert_eq!(set.wait_any().unwrap().unwrap().id(), stays);
}

#[test]
fn a_set_that_reports_all_of_its_requests_gives_up_their_communicator() {
    let _dog = watchdog("communicators of a set that reports all");
    let world = World::alone().unwrap();
    let mut set = world.request_set();
    let mut names = std::collections::BTreeSet::new();
    let mut told = Vec::new();
    for round in 0..30 {
        names.insert(add_pair_of_new_communicator(&world, &mut set));
        match round % 3 {
            0 => assert_eq!(set.wait_all().unwrap().len(), 2),
            1 => assert_eq!(set.test_all().unwrap().map(|all| all.len()), Some(2)),
            _ => assert_eq!(set.test_some(&mut told).unwrap(), 2),
        }
    }
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn a_send_is_seen_through_though_what_came_for_it_was_too_long() {
    let _dog = watchdog("a send is seen through though what came for it was too long");
    World::threads(2, |world| {
        let long = vec![7_u8; 1 << 20];
        if world.rank() == 0 {
            let mut short = [0_u8; 10];
            let ended = world.sendrecv(&long, 1, 1, &mut short, 1, 2);
            assert!(matches!(ended, Err(Error::Truncated { .. })), "{ended:?}");
            assert_eq!(world.profile().rendezvous, 1);
        } else {
            // It is announced before anything comes for the receive.
            world.probe(0, 1)?;
            world.send(&[8_u8; 20], 0, 2)?;
            // That has failed when the other answers this. If the other had withdrawn its own message, it would have
            // said so before.
            let withdrawn = world.scope(|s| {
                s.isend(&long, 0, 3)?;
                Err::<(), _>(Error::Cancelled)
            });
            assert!(matches!(withdrawn, Err(Error::Cancelled)));
            let mut into = vec![0_u8; 1 << 20];
            world.recv(&mut into, 0, 1)?;
            assert_eq!(into, long);
        }
        Ok(())
    })
    .unwrap();
}

/// What cannot be sent is refused before a message is taken for the other half.
#[test]
fn an_exchange_with_nobody_takes_no_message() {
    let _dog = watchdog("an exchange with nobody takes no message");
    let world = World::alone().unwrap();
    let sending = world.isend(vec![7_u8], 0, 1).unwrap();
    let mut into = [0_u8];
    let nobody = world.sendrecv(&[1_u8], 1, 1, &mut into, 0, 1);
    assert!(matches!(nobody, Err(Error::Rank { rank: 1, size: 1 })));
    let tag = world.sendrecv(&[1_u8], 0, -1, &mut into, 0, 1);
    assert!(matches!(tag, Err(Error::Tag { tag: -1 })));
    assert_eq!(into, [0]);
    world.recv(&mut into, 0, 1).unwrap();
    assert_eq!(into, [7]);
    sending.wait().unwrap();
}

#[test]
fn a_cancelled_receive_gives_its_vector_back_and_takes_no_message() {
    let _dog = watchdog("cancel");
    let world = World::alone().unwrap();
    let receiving = world.irecv(vec![7_u8], 0, 1).unwrap();
    assert_eq!(receiving.cancel().unwrap(), [7]);
    let receiving = world.irecv(vec![0_u8], 0, 1).unwrap();
    world.send(&[3_u8], 0, 1).unwrap();
    world.progress().unwrap();
    let receiving = receiving.cancel().unwrap_err();
    assert_eq!(receiving.wait().unwrap().0, [3]);
    // A dropped handle is a cancelled receive.
    drop(
        world
            .irecv(vec![0_u8], Source::Any, TagSelector::Any)
            .unwrap(),
    );
    world.send(&[4_u8], 0, 1).unwrap();
    let mut byte = [0];
    world.recv(&mut byte, 0, 1).unwrap();
    assert_eq!(byte, [4]);
}

#[test]
fn forgotten_requests_do_no_harm() {
    let _dog = watchdog("forgotten");
    let world = World::alone().unwrap();
    std::mem::forget(world.irecv(vec![0_u8; 10], 0, 1).unwrap());
    std::mem::forget(world.isend(vec![1_u8; 100_000], 0, 2).unwrap());
    world.send(&[1_u8], 0, 1).unwrap();
    let mut large = vec![0_u8; 100_000];
    world.recv(&mut large, 0, 2).unwrap();
    assert!(large.iter().all(|&byte| byte == 1));
}

#[test]
fn a_scope_gives_memory_back_for_the_next_round() {
    let _dog = watchdog("scope rounds");
    World::threads(2, |world| {
        let other = 1 - world.rank();
        let (mut a, mut b, mine) = ([0_u64; 4], [0_u64; 4], [u64::from(world.rank()); 4]);
        world.scope(|s| {
            let (mut first, mut second) = (&mut a[..], &mut b[..]);
            for _ in 0..100 {
                let one = s.irecv(first, other, 0)?;
                let two = s.irecv(second, other, 1)?;
                s.isend(&mine, other, 1)?;
                s.isend(&mine, other, 0)?;
                (first, _) = one.wait()?;
                (second, _) = two.wait()?;
                assert_eq!((first[0], second[3]), (u64::from(other), u64::from(other)));
                first[0] = 9;
            }
            s.wait_all()
        })?;
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_scope_that_fails_takes_its_receives_back() {
    let _dog = watchdog("scope fails");
    let world = World::alone().unwrap();
    let mut x = [0_u8; 4];
    let failed = world.scope(|s| {
        s.irecv(&mut x, 0, 1)?;
        s.isend(&[1_u8], 5, 1)?;
        s.wait_all()
    });
    assert!(matches!(failed, Err(Error::Rank { rank: 5, size: 1 })));
    world.send(&[9_u8; 4], 0, 1).unwrap();
    assert_eq!(x, [0; 4]);
    world.recv(&mut x, 0, 1).unwrap();
    assert_eq!(x, [9; 4]);
}

#[test]
fn a_scope_that_panics_leaves_no_loan_behind() {
    let _dog = watchdog("scope panics");
    for single_copy in [true, false] {
        let options = Options::default().with(|o| {
            o.single_copy = single_copy;
            o.single_copy_from = Some(0);
        });
        World::threads_with(2, &options, |world| {
            let large = vec![world.rank() as u8; 300_000];
            let mut into = vec![0_u8; 300_000];
            if world.rank() == 0 {
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    world.scope(|s| -> Result<(), Error> {
                        s.irecv(&mut into, 1, 1)?;
                        // Announced, and never received.
                        s.isend(&large, 1, 2)?;
                        s.isend(&large[..100], 1, 3)?;
                        panic!("by intention");
                    })
                }));
                assert!(panicked.is_err());
                drop(large);
                world.send(&[1_u8], 1, 4)?;
                // A process that asks for messages of one that has left is told so.
                world.recv(&mut [0_u8], 1, 5)?;
            } else {
                world.recv(&mut [0_u8], 0, 4)?;
                // The short one has been sent; the long one no longer exists.
                world.recv(&mut into, 0, 3)?;
                assert!(world.iprobe(0, 2)?.is_none());
                world.send(&[1_u8], 0, 5)?;
            }
            Ok(())
        })
        .unwrap();
    }
}

/// MPI 4.1 §3.8.1: a receive after a probe finds what that has shown.
#[test]
fn a_message_that_a_probe_has_shown_is_not_waited_for_when_it_is_withdrawn() {
    let _dog = watchdog("shown and withdrawn");
    World::threads(2, |world| {
        let mut byte = [0_u8];
        if world.rank() == 0 {
            let large = vec![1_u8; 300_000];
            let given_up = world.scope(|s| {
                s.isend(&large, 1, 2)?;
                world.recv(&mut byte, 1, 3)?;
                Err::<(), _>(Error::Elsewhere {
                    process: Process(0),
                })
            });
            assert!(given_up.is_err());
            return world.send(&byte, 1, 4);
        }
        let mut into = vec![0_u8; 300_000];
        assert_eq!(world.probe(0, 2)?.bytes(), 300_000);
        world.send(&byte, 0, 3)?;
        world.recv(&mut byte, 0, 4)?;
        assert_eq!(world.iprobe(0, 2)?.map(|it| it.bytes()), Some(300_000));
        let received = world.recv(&mut into, Source::Any, 2);
        assert!(
            matches!(received, Err(Error::Withdrawn { .. })),
            "{received:?}"
        );
        assert!(world.iprobe(0, 2)?.is_none(), "it is over");
        Ok(())
    })
    .unwrap();
}

/// A wait for all is over when it returns: what completes later is reported.
#[test]
fn a_scope_that_was_waited_for_reports_what_begins_later() {
    let _dog = watchdog("scope wait_all, then wait_any");
    let world = World::alone().unwrap();
    let mut x = [0_u8];
    world
        .scope(|s| {
            s.wait_all()?;
            s.irecv(&mut x, 0, 1)?;
            world.send(&[1_u8], 0, 1)?;
            assert!(s.wait_any()?.is_some());
            s.wait_all()
        })
        .unwrap();
    assert_eq!(x, [1]);
}

#[test]
fn of_several_failures_in_a_scope_the_first_is_reported() {
    let _dog = watchdog("first failure of a scope");
    let world = World::alone().unwrap();
    let (mut x, mut y) = ([0_u8], [0_u8]);
    let failed = world.scope(|s| {
        s.irecv(&mut x, 0, 1)?;
        s.irecv(&mut y, 0, 2)?;
        // The one that began last fails first.
        for tag in [2, 1] {
            world.send(&[7_u8; 2], 0, tag)?;
        }
        s.wait_all()
    });
    assert!(
        matches!(failed, Err(Error::Truncated { tag: 2, .. })),
        "{failed:?}"
    );
}

#[test]
fn wait_any_in_a_scope_names_the_request() {
    let _dog = watchdog("scope wait_any");
    let world = World::alone().unwrap();
    let (mut x, mut y) = ([0_u8], [0_u8]);
    world
        .scope(|s| {
            let first = s.irecv(&mut x, 0, 1)?;
            let second = s.irecv(&mut y, 0, 2)?;
            s.isend(&[2_u8], 0, 2)?;
            assert_eq!(s.wait_any()?.expect("a receive").id(), second.id());
            let sent = s.wait_any()?.expect("the send");
            assert!(sent.id() != first.id() && sent.id() != second.id());
            assert_eq!(second.wait()?.0, [2]);
            s.isend(&[1_u8], 0, 1)?;
            drop(first);
            let mut both = Vec::new();
            while both.len() < 2 {
                s.wait_some(&mut both)?;
            }
            assert!(s.wait_any()?.is_none());
            Ok(())
        })
        .unwrap();
    assert_eq!(x, [1]);
}

#[test]
fn a_set_is_tested_as_a_whole_and_gives_back_what_it_is_asked_for() {
    let world = World::alone().unwrap();
    let mut set = world.request_set();
    assert_eq!(set.test_all().unwrap().map(|all| all.len()), Some(0));
    let ids: Vec<_> = (0..4)
        .map(|tag| set.add(world.irecv(vec![0_u16; 2], 0, tag).unwrap()))
        .collect();
    let mut done = Vec::new();
    assert_eq!(set.test_some(&mut done).unwrap(), 0);
    world.send(&[1_u16, 2], 0, 2).unwrap();
    world.send(&[3_u16, 4], 0, 0).unwrap();
    assert!(set.test_all().unwrap().is_none(), "two are to come");
    assert_eq!(set.test_some(&mut done).unwrap(), 2);
    let who: Vec<_> = done.iter().map(Completion::id).collect();
    assert_eq!(who, [ids[2], ids[0]]);
    // What it is not is no reason to lose it.
    let first = done.remove(0);
    let first = first.into_vec::<i16>().unwrap_err();
    let first = first.into_shared_buffer::<u16>().unwrap_err();
    let first = first.into_parts::<u8>().unwrap_err();
    assert_eq!(first.into_parts::<u16>().unwrap().1, [1, 2]);
    // One is cancelled, the other comes.
    assert!(!set.cancel(ids[0]), "it is over");
    let mut other = world.request_set();
    assert!(!other.cancel(ids[1]), "it is of another set");
    assert!(set.cancel(ids[1]));
    assert!(!set.cancel(ids[1]));
    let sent = set.add(world.isend(vec![5_u16], 0, 3).unwrap());
    assert!(!set.cancel(sent), "a send");
    let all = set.test_all().unwrap().expect("all are complete");
    let of = |id| all.iter().find(|completion| completion.id() == id).unwrap();
    assert!(matches!(of(ids[1]).result(), Err(Error::Cancelled)));
    assert_eq!(of(ids[3]).result().unwrap().bytes(), 2);
    let sent = of(sent).result().unwrap();
    assert_eq!((sent.source(), sent.tag(), sent.bytes()), (0, 3, 2));
    assert!(set.is_empty());
    // Nothing of it is with the engine any more.
    assert!(world.iprobe(0, 1).unwrap().is_none());
    world.send(&[9_u16], 0, 1).unwrap();
    assert!(world.iprobe(0, 1).unwrap().is_some());
}

/// An error of a program's own.
#[derive(Debug, PartialEq)]
enum Own {
    Comm(String),
    Gave(u32),
}

impl From<Error> for Own {
    fn from(error: Error) -> Self {
        Self::Comm(error.to_string())
    }
}

#[test]
fn a_scope_that_fails_by_the_programs_own_error_takes_its_receives_back() {
    let world = World::alone().unwrap();
    let mut never = [0_u8; 4];
    let failed: Result<(), Own> = world.try_scope(|s| {
        s.irecv(&mut never, 0, 1)?;
        Err(Own::Gave(7))
    });
    assert_eq!(failed, Err(Own::Gave(7)));
    // Nothing takes this message but the receive that comes now.
    world.send(&[1_u8], 0, 1).unwrap();
    assert_eq!(never, [0; 4]);
    let refused: Result<(), Own> = world.try_scope(|s| {
        s.isend(&[1_u8], 9, 1)?;
        Ok(())
    });
    let text = Error::Rank { rank: 9, size: 1 }.to_string();
    assert_eq!(refused, Err(Own::Comm(text)));
    // What failed without being reported is the scope's error, although the closure's result is `Ok`.
    let mut short = [0_u8];
    let unreported: Result<(), Own> = world.try_scope(|s| {
        s.irecv(&mut short, 0, 2)?;
        Ok(world.send(&[1_u8, 2], 0, 2)?)
    });
    assert!(matches!(unreported, Err(Own::Comm(text)) if text.contains("truncated")));
    let (elements, status) = world.recv_vec::<u8>(Source::Any, TagSelector::Any).unwrap();
    assert_eq!((elements, status.tag()), (vec![1], 1));
}

#[test]
fn the_requests_of_a_scope_are_tested_each_once_and_together() {
    let world = World::alone().unwrap();
    let (mut first, mut second, mut short) = ([0_u8; 2], [0_u8; 2], [0_u8; 1]);
    let failed = world.scope(|s| {
        let ids = [
            s.irecv(&mut first, 0, 1)?.id(),
            s.irecv(&mut second, 0, 2)?.id(),
            s.irecv(&mut short, 0, 3)?.id(),
        ];
        assert!(s.test_any()?.is_none());
        assert!(!s.test_all()?);
        world.send(&[2_u8; 2], 0, 2)?;
        assert_eq!(
            s.test_any()?.map(|completion| completion.id()),
            Some(ids[1])
        );
        assert!(s.test_any()?.is_none(), "it has been reported");
        world.send(&[1_u8; 2], 0, 1)?;
        let mut some = Vec::new();
        assert_eq!(s.test_some(&mut some)?, 1);
        assert_eq!(some[0].id(), ids[0]);
        assert!(!s.test_all()?);
        world.send(&[3_u8; 2], 0, 3)?;
        // One that failed is complete, and `wait_all` says why.
        assert!(s.test_all()?);
        s.wait_all()
    });
    assert!(matches!(
        failed,
        Err(Error::Truncated {
            sent: 2,
            room: 1,
            ..
        })
    ));
    assert_eq!((first, second, short), ([1; 2], [2; 2], [3]));
}

#[test]
fn a_message_of_any_length_is_received_into_a_vector() {
    let _dog = watchdog("recv_vec");
    World::threads(2, |world| {
        let lengths = [0, 1, 1_000, 20_416 / 8 + 1, 300_000];
        if world.rank() == 0 {
            for length in lengths {
                world.send(&vec![length as u64; length], 1, 5)?;
            }
            world.send(&[1_u8; 3], 1, 6)?;
            return world.send(&[2_u64], 1, 6);
        }
        for length in lengths {
            let (elements, status) = world.recv_vec::<u64>(0, 5)?;
            assert_eq!(status.count::<u64>()?, length);
            assert_eq!(elements, vec![length as u64; length]);
        }
        // What does not fit the elements is lost, and the next one is not.
        let odd = world.recv_vec::<u64>(0, 6);
        assert!(matches!(
            odd,
            Err(Error::Element {
                bytes: 3,
                element: 8
            })
        ));
        assert_eq!(world.recv_vec::<u64>(Source::Any, TagSelector::Any)?.0, [2]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_could_not_begin_is_its_error_or_comes_back() {
    let world = World::alone().unwrap();
    let refused = world.isend(vec![1_u8, 2], 3, 0).unwrap_err();
    assert_eq!(refused.to_string(), refused.error.to_string());
    assert_eq!(refused.buffer, [1, 2]);
    assert!(matches!(
        refused.into_error(),
        Error::Rank { rank: 3, size: 1 }
    ));
}
