//! Communicators keep their messages apart; probes find what receives would take; collectives.

mod common;

use common::watchdog;
use mq_comm::{Error, Options, Process, Rank, Source, Tag, TagSelector, World};

#[test]
fn messages_do_not_cross_communicators() {
    let _dog = watchdog("cross");
    World::threads(3, |world| {
        let other = world.dup()?;
        let third = other.dup()?;
        let next = (world.rank() + 1) % 3;
        for (communicator, value) in [(&third, 3_u8), (world, 1), (&other, 2)] {
            communicator.send(&[value], next, 0)?;
        }
        for (communicator, value) in [(world.communicator(), 1_u8), (&other, 2), (&third, 3)] {
            let mut byte = [0_u8];
            communicator.recv(&mut byte, Source::Any, TagSelector::Any)?;
            assert_eq!(byte, [value]);
        }
        drop(other);
        third.barrier()
    })
    .unwrap();
}

#[test]
fn split_orders_by_key_and_leaves_out_who_has_no_color() {
    let _dog = watchdog("split");
    World::threads(5, |world| {
        let rank = world.rank();
        let color = (rank != 4).then_some(rank % 2);
        let half = world.split(color, -(rank as i32))?;
        let Some(half) = half else {
            assert_eq!(rank, 4);
            return world.barrier();
        };
        assert_eq!((half.size(), half.rank()), (2, 1 - rank / 2));
        let mut theirs = [0_u32];
        let other = 1 - half.rank();
        half.sendrecv(&[rank], other, 0, &mut theirs, other, 0)?;
        assert_eq!(theirs, [(rank + 2) % 4]);
        world.barrier()
    })
    .unwrap();
}

#[test]
fn a_message_may_come_before_its_communicator_and_after_it() {
    let _dog = watchdog("early and late");
    World::threads(2, |world| {
        for round in 0..200_u32 {
            let both = world.dup()?;
            if world.rank() == 0 {
                both.send(&[round], 1, 0)?;
                // Never received: it goes with the communicator.
                both.isend(vec![round], 1, 1)?.wait()?;
                drop(both.isend(vec![round; 50_000], 1, 1)?);
            } else {
                let mut value = [0];
                both.recv(&mut value, 0, 0)?;
                assert_eq!(value, [round]);
            }
        }
        Ok(())
    })
    .unwrap();
}

/// So it is neither copied nor queued, except one in many.
#[test]
fn a_message_that_a_probe_shows_is_received_from_where_it_lies() {
    let _dog = watchdog("a_message_that_a_probe_shows");
    // In a line, in some, and in cells, of which a process has eight.
    for (words, messages) in [(2, 20), (100, 5), (250, 5), (5_000, 5)] {
        shown_where_they_lie(words, messages);
    }
}

fn shown_where_they_lie(words: usize, messages: u32) {
    const ROUNDS: u32 = 20;
    let barrier = std::sync::Barrier::new(2);
    let program = |world: &World| {
        let mut queued = 0;
        for round in 0..ROUNDS {
            if world.rank() == 0 {
                for number in 0..messages {
                    let message = [round, number].repeat(words / 2);
                    world.send(&message, 1, (number % 3) as i32)?;
                }
                barrier.wait();
                barrier.wait();
                continue;
            }
            barrier.wait();
            // A probe for what has not come takes in what is before it.
            let takes_in = round % 2 == 1;
            let before = world.profile().unexpected;
            for number in 0..messages {
                let shown = world.probe(Source::Any, TagSelector::Any)?;
                let found = (shown.tag(), shown.bytes());
                assert_eq!(found, ((number % 3) as i32, 4 * words as u64));
                if takes_in {
                    assert!(world.iprobe(0, 9)?.is_none(), "of another tag");
                }
                let again = world.iprobe(shown.source(), shown.tag())?;
                assert_eq!(again.map(|again| again.tag()), Some(shown.tag()));
                let mut into = vec![0; words];
                world.recv(&mut into, shown.source(), shown.tag())?;
                assert!(into == [round, number].repeat(words / 2));
            }
            let unexpected = world.profile().unexpected - before;
            if takes_in {
                assert!(unexpected > 1, "{unexpected}");
            } else {
                queued += unexpected;
            }
            barrier.wait();
        }
        // Those of the first round came before the pair had a fastbox; and now and then all is taken in.
        let shown = u64::from(ROUNDS / 2 * messages);
        assert!(queued <= shown / 2, "{queued} of {shown}, {words} words");
        Ok(())
    };
    World::threads(2, program).unwrap();
}

/// So a probe from any source shows long messages of each in turn.
#[test]
fn probes_serve_all_senders_of_long_messages() {
    const SENDERS: u32 = 3;
    const EACH: u32 = 5;
    const ROUNDS: usize = 12;
    let _dog = watchdog("probes_serve_all_senders");
    let barrier = std::sync::Barrier::new(1 + SENDERS as usize);
    let program = |world: &World| {
        let mut late = Vec::new();
        for _ in 0..ROUNDS {
            if world.rank() > 0 {
                (0..EACH).try_for_each(|number| world.send(&[number; 250], 0, 1))?;
            }
            barrier.wait();
            if world.rank() == 0 {
                let mut order = Vec::new();
                for _ in 0..SENDERS * EACH {
                    let shown = world.probe(Source::Any, 1)?;
                    world.recv(&mut [0_u32; 250], shown.source(), 1)?;
                    order.push(shown.source());
                }
                let first = |sender| order.iter().position(|&source| source == sender);
                late.push((1..=SENDERS).filter_map(first).max());
            }
            barrier.wait();
        }
        Ok(late)
    };
    let late = World::threads(1 + SENDERS, program).unwrap().swap_remove(0);
    // At first they come through the queue; and now and then all are taken in.
    let in_turn = late.iter().filter(|&&at| at < Some(EACH as usize)).count();
    assert!(in_turn > ROUNDS / 2, "{late:?}");
}

/// Although more messages than are taken in at a time, for which receives are posted meanwhile, come before it.
#[test]
fn what_a_probe_has_shown_is_found_by_the_next_one() {
    const PROCESSES: u32 = 20;
    const EACH: u32 = 2;
    let _dog = watchdog("what_a_probe_has_shown");
    let barrier = std::sync::Barrier::new(PROCESSES as usize);
    let program = |world: &World| {
        let mut missed = Vec::new();
        for round in 0..60 {
            let shown = 1 + round % (PROCESSES - 1);
            // Shown as well, and later, in every other round.
            let also = 1 + (round + round % 2) % (PROCESSES - 1);
            let is_shown = move |rank: u32| rank == shown || rank == also;
            let others = (1..PROCESSES).filter(|&rank| !is_shown(rank));
            if world.rank() == 0 {
                barrier.wait();
                while world.iprobe(shown, 1)?.is_none() {}
                while world.iprobe(also, 1)?.is_none() {}
                if also != shown {
                    world.recv(&mut [0_u32], also, 1)?;
                }
                let mut posted = Vec::new();
                for other in others.flat_map(|other| [other; EACH as usize]) {
                    posted.push(world.irecv(vec![0_u32], other, 2)?);
                }
                barrier.wait();
                // The others send what these wait for.
                barrier.wait();
                // A panic here would leave the others at their barrier.
                let again = match world.improbe(shown, 1)? {
                    Some(again) => again,
                    None => {
                        missed.push(round);
                        world.mprobe(shown, 1)?
                    }
                };
                assert_eq!(again.recv_vec::<u32>()?, [round]);
                for request in posted {
                    request.wait()?;
                }
            } else {
                if is_shown(world.rank()) {
                    world.send(&[round], 0, 1)?;
                }
                barrier.wait();
                barrier.wait();
                if !is_shown(world.rank()) {
                    for _ in 0..EACH {
                        world.send(&[round], 0, 2)?;
                    }
                }
                barrier.wait();
            }
            barrier.wait();
        }
        assert_eq!(
            missed, [0_u32; 0],
            "rounds in which the second probe found nothing"
        );
        Ok(())
    };
    World::threads(PROCESSES, program).unwrap();
}

#[test]
fn a_probe_finds_what_a_receive_takes() {
    let _dog = watchdog("probe");
    let world = World::alone().unwrap();
    assert!(world.iprobe(0, 3).unwrap().is_none());
    for tag in [3, 4, 3] {
        world.send(&vec![tag as u16; tag as usize], 0, tag).unwrap();
    }
    let status = world.probe(Source::Any, 4).unwrap();
    assert_eq!((status.tag(), status.count::<u16>().unwrap()), (4, 4));
    assert!(matches!(
        status.count::<[u8; 3]>(),
        Err(Error::Element {
            from: 0,
            tag: 4,
            bytes: 8,
            element: 3,
        })
    ));
    let first = world.improbe(0, TagSelector::Any).unwrap().unwrap();
    assert_eq!(first.status().tag(), 3);
    // The others are still there for receives, the first is not.
    let mut three = [0_u16; 3];
    world.recv(&mut three, 0, 3).unwrap();
    assert!(world.iprobe(0, 3).unwrap().is_none());
    assert_eq!(first.recv_vec::<u16>().unwrap(), [3; 3]);
    drop(world.mprobe(0, 4).unwrap());
    assert!(
        world
            .improbe(Source::Any, TagSelector::Any)
            .unwrap()
            .is_none()
    );
}

/// The process goes on in another communicator.
#[test]
fn who_drops_the_world_discards_what_is_sent_in_it() {
    let _dog = watchdog("a world that is dropped");
    let mut seats = World::seats(2, &Options::default()).unwrap();
    let (second, first) = (seats.pop().unwrap(), seats.pop().unwrap());
    // What has come when the world is dropped, and what comes later.
    let messages = |world: &World| {
        for bytes in [1, 300_000] {
            world.send(&vec![1_u8; bytes], 1, 0)?;
        }
        Ok::<_, Error>(())
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let world = first.take().unwrap();
            let kept = world.dup().unwrap();
            let early = [1, 300_000].map(|bytes| world.isend(vec![1_u8; bytes], 1, 0).unwrap());
            kept.send(&[1_u8], 1, 1).unwrap();
            for sending in early {
                sending.wait().unwrap();
            }
            messages(&world).unwrap();
            kept.send(&[2_u8], 1, 2).unwrap();
        });
        scope.spawn(|| {
            let world = second.take().unwrap();
            let kept = world.dup().unwrap();
            let handle = world.communicator().clone();
            let mut byte = [0_u8];
            kept.recv(&mut byte, 0, 1).unwrap();
            // Of what has come, the short message is kept here; the other waits at its sender.
            assert!(world.iprobe(0, 0).unwrap().is_some());
            drop(world);
            assert!(handle.iprobe(0, 0).unwrap().is_some(), "a handle is left");
            drop(handle);
            kept.recv(&mut byte, 0, 2).unwrap();
            assert_eq!((byte, kept.unexpected_bytes()), ([2], 0));
        });
    });
}

#[test]
fn a_large_message_that_was_taken_and_dropped_frees_its_sender() {
    let _dog = watchdog("dropped");
    World::threads(2, |world| {
        if world.rank() == 0 {
            world.send(&vec![1_u8; 1 << 20], 1, 0)?;
            world.send(&vec![2_u8; 1 << 20], 1, 0)
        } else {
            drop(world.mprobe(0, 0)?);
            let second = world.mprobe(0, 0)?.recv_vec::<u8>()?;
            assert!(second.len() == 1 << 20 && second.iter().all(|&byte| byte == 2));
            Ok(())
        }
    })
    .unwrap();
}

#[test]
fn collectives_do_not_meet_the_users_messages() {
    let _dog = watchdog("collectives");
    for size in 1..=6 {
        World::threads(size, |world| {
            let rank = world.rank();
            let any = world.irecv(vec![0_u8], Source::Any, TagSelector::Any)?;
            for root in 0..size {
                for len in [0, 1, 1000, 100_000] {
                    let mut elements = vec![rank; len];
                    world.broadcast(&mut elements, root)?;
                    assert!(elements.iter().all(|&element| element == root));
                    world.barrier()?;
                }
            }
            assert!(matches!(
                world.broadcast(&mut [0_u8], size),
                Err(Error::Rank { .. })
            ));
            world.send(&[1_u8], (rank + 1) % size, 5)?;
            assert_eq!(any.wait()?.1.tag(), 5);
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn wrong_arguments_are_refused_and_nothing_is_lost() {
    let _dog = watchdog("wrong");
    let world = World::alone().unwrap();
    let refused = world.isend(vec![1_u8, 2], 1, 0).unwrap_err();
    assert_eq!(refused.buffer, [1, 2]);
    assert_eq!(
        refused.to_string(),
        "rank 1 is out of range: the communicator has size 1, and ranks begin at 0"
    );
    let refused = world.irecv(vec![3_u8], 0, -1).unwrap_err();
    assert_eq!(refused.buffer, [3]);
    assert!(matches!(refused.error, Error::Tag { tag: -1 }));
    assert!(matches!(
        world.send(&[0_u8], 0, -7),
        Err(Error::Tag { tag: -7 })
    ));
    assert!(matches!(
        world.recv(&mut [0_u8], 9, 0),
        Err(Error::Rank { rank: 9, size: 1 })
    ));
    assert!(matches!(world.iprobe(0, -1), Err(Error::Tag { tag: -1 })));
    // A selector that leaves some bits open matches no more than those, unless it leaves the sign open.
    let masked = |ignore| TagSelector::Masked {
        wanted: Tag(-1),
        ignore,
    };
    assert!(matches!(
        world.iprobe(0, masked(0xff)),
        Err(Error::Tag { tag: -1 })
    ));
    assert!(matches!(world.iprobe(0, masked(u32::MAX)), Ok(None)));
    assert_eq!(world.profile().sent(), 0);
}

#[test]
fn a_clone_is_a_handle_of_the_same_communicator() {
    let world = World::alone().unwrap();
    let copy = world.dup().unwrap();
    let other = copy.clone();
    drop(copy);
    // The communicator is there as long as one handle is.
    other.send(&[5_u8], Rank(0), Tag(1)).unwrap();
    let again = other.clone();
    assert_eq!(again, other);
    assert_ne!(&again, world.communicator(), "it has messages of its own");
    assert_eq!(again.recv_vec::<u8>(0, 1).unwrap().0, [5]);
    let of_world = world.communicator().clone();
    drop((other, again));
    assert!(matches!(world.finalize(), Err(Error::InUse)));
    // It is left when this is dropped.
    of_world.barrier().unwrap();
}

#[test]
fn processes_and_ranks_are_translated_both_ways() {
    let _dog = watchdog("translated");
    World::threads(4, |world| {
        let odd = world.rank() % 2;
        let half = world.split(Some(odd), -(world.rank() as i32))?;
        let half = half.expect("a colour");
        let number = |rank| half.process_of(rank).map(|it| it.0);
        let members: Vec<_> = (0..3).map(number).collect();
        assert_eq!(members, [Some(2 + odd), Some(odd), None]);
        let back: Vec<_> = (0..5).map(|it| half.rank_of(Process(it))).collect();
        let mut expected = [None; 5];
        (expected[2 + odd as usize], expected[odd as usize]) = (Some(0), Some(1));
        assert_eq!(back, expected);
        Ok(())
    })
    .unwrap();
}
