//! Requests, and sets of them.

mod common;

use common::watchdog;
use mq_comm::{Completion, Error, Process, RequestSet, Source, TagSelector, World};

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
fn one_request_of_a_set_is_waited_for_and_the_others_stay() {
    let _dog = watchdog("one_request_of_a_set");
    let world = World::alone().unwrap();
    let (mut set, mut other) = (world.request_set(), world.request_set());
    let ids: Vec<_> = (0..5)
        .map(|tag| set.add(world.irecv(vec![0_i32], 0, tag).unwrap()))
        .collect();
    assert!(set.test(ids[3]).unwrap().is_none(), "nothing has come");
    for tag in [0, 3, 1] {
        world.send(&[tag], 0, tag).unwrap();
    }
    assert!(
        other.wait(ids[3]).unwrap().is_none(),
        "it is not in that set"
    );
    assert!(other.test(ids[3]).unwrap().is_none());
    let third = set.wait(ids[3]).unwrap().expect("it is in the set");
    assert_eq!((third.id(), set.len()), (ids[3], 4));
    assert_eq!(third.into_vec::<i32>().unwrap(), [3]);
    assert!(set.wait(ids[3]).unwrap().is_none(), "it has been reported");
    let first = set.test(ids[1]).unwrap().expect("it is complete");
    assert_eq!(first.into_vec::<i32>().unwrap(), [1]);
    assert!(set.cancel(ids[4]));
    let cancelled = set.wait(ids[4]).unwrap().expect("it is over");
    assert!(matches!(cancelled.result(), Err(Error::Cancelled)));
    world.send(&[2], 0, 2).unwrap();
    let rest = set.wait_all().unwrap();
    let left: Vec<_> = rest.iter().map(Completion::id).collect();
    assert_eq!(left, [ids[0], ids[2]]);
}

#[test]
fn a_request_that_is_waited_for_by_itself_gives_up_its_communicator() {
    let _dog = watchdog("gives_up_its_communicator");
    let world = World::alone().unwrap();
    let mut set = world.request_set();
    let copy = world.dup().unwrap();
    let sending = copy.isend(vec![1_u8], 0, 5).unwrap();
    let id = set.add(copy.irecv(vec![0_u8], 0, 5).unwrap());
    drop(copy);
    let received = set.wait(id).unwrap().expect("it is in the set");
    assert_eq!(received.into_vec::<u8>().unwrap(), [1]);
    drop((sending, set));
    world.finalize().expect("nothing of the world is left");
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
                element: 8,
                ..
            })
        ));
        assert_eq!(world.recv_vec::<u64>(Source::Any, TagSelector::Any)?.0, [2]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_vector_that_is_there_gets_the_length_of_the_message() {
    let _dog = watchdog("recv_into_vec");
    World::threads(2, |world| {
        let lengths = [5, 0, 300_000, 7, 20_000];
        if world.rank() == 0 {
            for length in lengths {
                world.send(&vec![length as u64; length], 1, 5)?;
            }
            return world.send(&[1_u8; 3], 1, 5);
        }
        let mut elements = vec![9_u64; 6];
        let mut room = Vec::new();
        for length in lengths {
            let status = world.recv_into_vec(&mut elements, 0, 5)?;
            assert_eq!(status.count::<u64>()?, length);
            assert_eq!(elements, vec![length as u64; length]);
            room.push((elements.as_ptr(), elements.capacity()));
        }
        // Only the longest message has needed other memory.
        assert_eq!((room[0], room[2]), (room[1], room[4]));
        assert_ne!(room[1], room[2]);
        let refused = world.mprobe(0, 5)?.recv_into_vec(&mut elements);
        let message = refused.unwrap_err().buffer.expect("3 bytes are no element");
        assert_eq!(elements, [20_000; 20_000]);
        assert_eq!(message.recv_vec::<u8>()?, [1; 3]);
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
    // Whoever has it as some error finds out what it was.
    let source = std::error::Error::source(&refused);
    let found = source.and_then(|source| source.downcast_ref::<Error>());
    assert!(matches!(found, Some(Error::Rank { rank: 3, .. })));
    assert!(matches!(
        refused.into_error(),
        Error::Rank { rank: 3, size: 1 }
    ));
}

#[test]
fn a_set_cancels_nothing_by_the_id_of_another_world_s_request() {
    let [one, other] = [(), ()].map(|()| World::alone().unwrap());
    let begin = |world: &World| {
        let mut set = world.request_set();
        let id = set.add(world.irecv(vec![0_u8], 0, 1).unwrap());
        (set, id)
    };
    let ((mut ones, of_one), (mut others, of_other)) = (begin(&one), begin(&other));
    assert_ne!(of_one, of_other);
    assert!(!others.cancel(of_one) && !ones.cancel(of_other));
    assert!(ones.cancel(of_one) && others.cancel(of_other));
}
