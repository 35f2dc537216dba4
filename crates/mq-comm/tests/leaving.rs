//! A process that waits for one that has left is told so, and one that leaves sees through what others
//! wait for.

mod common;

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;

use common::{is_gone, watchdog};
use mq_comm::{Communicator, Error, Gone, Options, Seat, Source, World};

#[test]
fn what_was_sent_before_leaving_arrives_and_then_nothing() {
    let _dog = watchdog("leaving");
    World::threads(3, |world| {
        match world.rank() {
            1 => {
                for number in 0..20_u32 {
                    world.send(&[number], 0, 0)?;
                }
                // Its sender leaves only when it has been fetched.
                drop(world.isend(vec![7_u8; 200_000], 0, 1)?);
            }
            2 => {
                let mut word = [0_u32];
                // A process that leaves properly does not disturb this.
                world.recv(&mut word, Source::Any, 9)?;
                assert_eq!(word, [99]);
            }
            _ => {
                for number in 0..20 {
                    let mut word = [0_u32];
                    world.recv(&mut word, 1, 0)?;
                    assert_eq!(word, [number]);
                }
                let mut large = vec![0_u8; 200_000];
                world.recv(&mut large, 1, 1)?;
                assert!(large.iter().all(|&byte| byte == 7));
                let posted = world.irecv(vec![0_u8], 1, 0)?;
                assert!(is_gone(&world.recv(&mut [0_u8], 1, 0), 1, "left"));
                assert!(is_gone(&posted.wait(), 1, "left"));
                assert!(is_gone(&world.iprobe(1, 0), 1, "left"));
                assert!(is_gone(&world.send(&[0_u8], 1, 0), 1, "left"));
                assert!(is_gone(
                    &world.isend(vec![0_u8; 100_000], 1, 0)?.wait(),
                    1,
                    "left"
                ));
                world.send(&[99_u32], 2, 9)?;
                let sent = world.isend(vec![0_u8], 2, 10)?;
                assert!(sent.wait().is_ok());
                // Nobody is left that could send, except this process itself.
                assert!(is_gone(&world.recv(&mut [0_u8], Source::Any, 9), 2, "left"));
                world.send(&[3_u8], 0, 8)?;
                let mut byte = [0_u8];
                world.recv(&mut byte, Source::Any, 8)?;
                assert_eq!(byte, [3]);
            }
        }
        Ok(())
    })
    .unwrap();
}

/// A receive that has found its message is seen through though nobody waits for it.
#[test]
fn who_leaves_with_a_large_message_on_its_way_fetches_it() {
    const BYTES: usize = 3 << 20;
    let _dog = watchdog("leaving with a message on its way");
    for _ in 0..20 {
        World::threads(2, |world| {
            if world.rank() == 0 {
                world.send(&vec![7_u8; BYTES], 1, 0)
            } else {
                while world.iprobe(0, 0)?.is_none() {}
                drop(world.irecv(vec![0_u8; BYTES], 0, 0)?);
                Ok(())
            }
        })
        .unwrap();
    }
}

/// Large messages that nobody asks for are not waited for once nobody can ask any more: neither those to
/// oneself, nor those of two processes that leave at the same time.
#[test]
fn who_leaves_with_large_messages_that_nobody_asked_for_is_not_kept() {
    let _dog = watchdog("leaving at once");
    let alone = World::alone().unwrap();
    drop(alone.isend(vec![1_u8; 1 << 20], 0, 0).unwrap());
    drop(alone);
    World::threads(2, |world| {
        let other = 1 - world.rank();
        drop(world.isend(vec![1_u8; 1 << 20], other, 0)?);
        // One has come before the other leaves, or comes while it does.
        if world.rank() == 0 {
            while world.iprobe(other, 0)?.is_none() {}
        }
        drop(world.isend(vec![1_u8; 1 << 20], other, 1)?);
        Ok(())
    })
    .unwrap();
}

/// Nobody is left that could send: a process that waits, in any way, is told.
#[test]
fn who_waits_for_anybody_where_nobody_is_left_is_told() {
    for bypass in [true, false] {
        let _dog = watchdog("nobody");
        let options = Options::default().with(|o| o.bypass = bypass);
        World::threads_with(2, &options, |world| {
            if world.rank() == 1 {
                return world.send(&[1_u8], 0, 0);
            }
            assert_eq!(world.probe(Source::Any, 0)?.source(), 1);
            assert_eq!(world.mprobe(Source::Any, 0)?.recv_vec::<u8>()?, [1]);
            assert!(is_gone(&world.probe(Source::Any, 0), 1, "left"));
            assert!(is_gone(&world.mprobe(Source::Any, 0), 1, "left"));
            let any = world.irecv(vec![0_u8], Source::Any, 0)?;
            assert!(is_gone(&any.wait(), 1, "left"));
            let mut set = world.request_set();
            set.add(world.irecv(vec![0_u8], Source::Any, 0)?);
            set.add(world.irecv(vec![0_u8], Source::Any, 1)?);
            for done in set.wait_all()? {
                assert!(is_gone(&done.into_result(), 1, "left"));
            }
            // What it has sent itself is there.
            world.send(&[7_u8], 0, 3)?;
            assert_eq!(world.probe(Source::Any, 3)?.source(), 0);
            let any = world.irecv(vec![0_u8], Source::Any, 3)?;
            assert_eq!(any.wait()?.0, [7]);
            let sending = world.isend(vec![7_u8; 1 << 20], 0, 4)?;
            let any = world.irecv(vec![0_u8; 1 << 20], Source::Any, 4)?;
            assert_eq!(any.wait()?.0, vec![7_u8; 1 << 20]);
            sending.wait().map(|_| ())
        })
        .unwrap();
    }
}

/// The end of the other is heard of in the quickest of all receives, and nothing moves after that.
#[test]
fn who_has_heard_of_the_end_in_a_receive_waits_for_nobody_afterwards() {
    let _dog = watchdog("heard before");
    World::threads(2, |world| {
        if world.rank() == 0 {
            world.send(&[1_u8], 1, 0)?;
            assert!(is_gone(&world.recv(&mut [0_u8], 1, 0), 1, "left"));
            let any = world.irecv(vec![0_u8], Source::Any, 0)?;
            assert!(is_gone(&any.wait(), 1, "left"));
        } else {
            world.recv(&mut [0_u8], 0, 0)?;
            std::thread::sleep(std::time::Duration::from_millis(30));
        }
        Ok(())
    })
    .unwrap();
}

/// A blocking receive from anybody that has begun before the last of the others leaves.
#[test]
fn a_blocking_receive_from_anybody_ends_when_the_last_leaves() {
    for bypass in [true, false] {
        let _dog = watchdog("the last leaves");
        let options = Options::default().with(|o| o.bypass = bypass);
        World::threads_with(2, &options, |world| {
            if world.rank() == 0 {
                let received = world.recv(&mut [0_u8], Source::Any, 0);
                assert!(is_gone(&received, 1, "left"));
                // What it has sent itself is there all the same.
                world.send(&[3_u8], 0, 1)?;
                let mut byte = [0_u8];
                world.recv(&mut byte, Source::Any, 1)?;
                assert_eq!(byte, [3]);
            } else {
                std::thread::sleep(std::time::Duration::from_millis(30));
            }
            Ok(())
        })
        .unwrap();
    }
}

/// The last words of a process that leaves are found by a probe, whenever its end becomes known.
#[test]
fn a_probe_finds_what_was_sent_before_leaving() {
    let _dog = watchdog("last words");
    for from in [Source::Any, Source::from(1)] {
        for _ in 0..200 {
            World::threads(2, |world| {
                if world.rank() == 1 {
                    return world.send(&[1_u8], 0, 0);
                }
                assert_eq!(world.probe(from, 0)?.source(), 1);
                assert_eq!(world.mprobe(from, 0)?.recv_vec::<u8>()?, [1]);
                Ok(())
            })
            .unwrap();
        }
    }
}

/// A receive from any source that is not what is waited for may still be served by its own process.
#[test]
fn a_receive_that_is_not_waited_for_does_not_end() {
    let _dog = watchdog("not waited for");
    World::threads(3, |world| {
        let pair = world.split((world.rank() < 2).then_some(0), 0)?;
        match world.rank() {
            0 => {
                let pair = pair.expect("of two");
                assert!(is_gone(&pair.recv(&mut [0_u8], 1, 0), 1, "left"));
                let served = pair.irecv(vec![0_u8], Source::Any, 1)?;
                let mut set = world.request_set();
                set.add(pair.irecv(vec![0_u8], Source::Any, 2)?);
                set.add(world.irecv(vec![0_u8], 2, 2)?);
                let mut word = [0_u8];
                world.recv(&mut word, 2, 1)?;
                assert_eq!(
                    set.wait_any()?.map(|done| done.result().is_ok()),
                    Some(true)
                );
                pair.send(&[9_u8], 0, 1)?;
                assert_eq!(served.wait()?.0, [9]);
                let last = set.wait_any()?.expect("one is left");
                assert!(is_gone(&last.into_result(), 1, "left"));
            }
            1 => {}
            _ => {
                std::thread::sleep(std::time::Duration::from_millis(50));
                world.send(&[1_u8], 0, 1)?;
                std::thread::sleep(std::time::Duration::from_millis(50));
                world.send(&[2_u8], 0, 2)?;
            }
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_world_that_is_in_use_is_not_finalized() {
    let world = World::alone().unwrap();
    let copy = world.dup().unwrap();
    let finalized = world.finalize();
    assert!(matches!(finalized, Err(Error::InUse)), "{finalized:?}");
    // It goes on as long as somebody has something of it.
    copy.send(&[7_u8], 0, 1).unwrap();
    let mut byte = [0_u8];
    copy.recv(&mut byte, 0, 1).unwrap();
    assert_eq!(byte, [7]);
    let world = World::alone().unwrap();
    let buffer = world.shared_buffer::<u8>(9).unwrap();
    assert!(matches!(world.finalize(), Err(Error::InUse)));
    drop(buffer);
    let world = World::alone().unwrap();
    world.send(&[7_u8], 0, 1).unwrap();
    let matched = world.mprobe(0, 1).unwrap();
    assert!(matches!(world.finalize(), Err(Error::InUse)));
    drop(matched);
}

/// A server whose clients die, and leave, knows when nobody is left to serve.
#[test]
fn who_has_ended_can_be_asked() {
    let _dog = watchdog("asking who has ended");
    let run = World::threads(4, |world| {
        match world.rank() {
            0 => {
                let mut clients = vec![1, 2, 3];
                let mut served = 0;
                // What the last had sent may have come with the news of its end.
                let waits = || matches!(world.iprobe(Source::Any, 1), Ok(Some(_)));
                while !clients.is_empty() || waits() {
                    match world.recv(&mut [0_u8], Source::Any, 1) {
                        Err(Error::Gone { .. }) => {
                            world.acknowledge_deaths();
                            let ended = world.ended();
                            clients.retain(|client| ended.iter().all(|(rank, _)| rank != client));
                        }
                        received => {
                            received?;
                            served += 1;
                        }
                    }
                }
                assert_eq!(served, 3);
                let mut ended = world.ended();
                ended.sort_by_key(|(rank, _)| *rank);
                assert_eq!(ended, [(1, Gone::Left), (2, Gone::Died), (3, Gone::Left)]);
            }
            rank => {
                world.send(&[1_u8], 0, 1)?;
                if rank == 2 {
                    world.fail();
                }
            }
        }
        Ok(())
    });
    run.unwrap();
}

#[test]
fn a_world_that_its_program_has_kept_a_part_of_is_left_with_that() {
    let kept = World::run(|world| Ok::<_, Error>(world.communicator().clone())).unwrap();
    kept.send(&[5_u8], 0, 1).unwrap();
    assert_eq!(kept.recv_vec::<u8>(0, 1).unwrap().0, [5]);
    let refused = World::run(|world| world.send(&[5_u8], 9, 1));
    assert!(matches!(refused, Err(Error::Rank { rank: 9, size: 1 })));
}

#[test]
fn the_others_see_a_rank_panic_and_the_first_panic_is_resumed() {
    let _dog = watchdog("panics");
    let options = Options::default();
    let died = Mutex::new(0);
    let run = std::panic::catch_unwind(|| {
        World::run_threads(4, &options, |world| -> Result<(), Error> {
            match world.rank() {
                2 => std::panic::panic_any("the second"),
                3 => std::panic::panic_any("the third"),
                _ => {
                    for rank in [2, 3] {
                        assert!(is_gone(&world.recv(&mut [0_u8], rank, 0), rank, "died"));
                        *died.lock().unwrap() += 1;
                    }
                    Ok(())
                }
            }
        })
    });
    let panic = run.unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the second"));
    assert_eq!(died.into_inner().unwrap(), 4);
}

/// What a program keeps may be dropped when the panic is over.
#[test]
fn one_that_panics_has_died_though_a_part_of_its_world_outlives_the_panic() {
    thread_local!(static KEPT: RefCell<Option<Communicator>> = const { RefCell::new(None) });
    let _dog = watchdog("a kept communicator");
    let died = Mutex::new(false);
    let run = std::panic::catch_unwind(AssertUnwindSafe(|| {
        World::threads(2, |world| {
            if world.rank() == 0 {
                KEPT.set(Some(world.communicator().clone()));
                panic!("by intention");
            }
            let heard = world.recv(&mut [0_u8], Source::Any, 0);
            *died.lock().unwrap() = is_gone(&heard, 0, "died");
            Ok(())
        })
    }));
    assert!(run.is_err());
    assert!(died.into_inner().unwrap());
}

/// As in a destructor.
#[test]
fn a_world_that_begins_in_a_panic_is_left_as_any_other() {
    struct Talks(Option<Seat>);
    impl Drop for Talks {
        fn drop(&mut self) {
            assert!(std::thread::panicking());
            let world = self.0.take().unwrap().take().unwrap();
            drop(world.isend(vec![7_u8; 1 << 20], 0, 0).unwrap());
        }
    }
    let _dog = watchdog("a world in a panic");
    let mut seats = World::seats(2, &Options::default()).unwrap();
    let (second, first) = (seats.pop().unwrap(), seats.pop().unwrap());
    let panics = std::thread::spawn(|| {
        let _talks = Talks(Some(second));
        panic!("by intention");
    });
    let world = first.take().unwrap();
    assert_eq!(world.recv_vec::<u8>(1, 0).unwrap().0.len(), 1 << 20);
    assert!(is_gone(&world.recv(&mut [0_u8], 1, 0), 1, "left"));
    assert!(panics.join().is_err());
}

#[test]
fn a_vector_is_not_waited_for_from_one_that_has_died() {
    let _dog = watchdog("recv_vec");
    let ends = World::run_threads(3, &Options::default(), |world| {
        if world.rank() == 2 {
            // Announced, and withdrawn or lost with its sender.
            drop(
                world
                    .isend(vec![1_u8; 1 << 20], 0, 1)
                    .map_err(Error::from)?,
            );
            return Err(Error::Cancelled);
        }
        let of_dead = world.recv_vec::<u8>(2, 2);
        assert!(is_gone(&of_dead, 2, "died"));
        let of_any = world.recv_vec::<u8>(Source::Any, 3);
        assert!(is_gone(&of_any, 2, "died"));
        Ok(())
    });
    let ends = ends.unwrap();
    assert!(ends[0].is_ok() && ends[1].is_ok() && ends[2].is_err());
}

#[test]
fn a_vector_is_empty_if_its_message_ended_with_the_sender() {
    let _dog = watchdog("recv_into_vec");
    let ends = World::run_threads(2, &Options::default(), |world| {
        if world.rank() == 1 {
            let announced = world.isend(vec![1_u8; 1 << 20], 0, 1);
            let announced = announced.map_err(Error::from)?;
            world.recv(&mut [0_u8], 0, 2)?;
            drop(announced);
            return Err(Error::Cancelled);
        }
        let message = world.mprobe(1, 1)?;
        world.send(&[0_u8], 1, 2)?;
        assert!(is_gone(&world.recv(&mut [0_u8], 1, 3), 1, "died"));
        let mut elements = vec![7_u8; 4];
        let refused = message.recv_into_vec(&mut elements).unwrap_err();
        assert!(refused.buffer.is_none(), "{refused}");
        assert!(elements.is_empty());
        Ok(())
    });
    assert!(ends.unwrap()[0].is_ok());
}

#[test]
fn who_has_announced_something_to_one_that_dies_leaves_all_the_same() {
    let _dog = watchdog("announced");
    let ends = World::run_threads(2, &Options::default(), |world| {
        if world.rank() == 1 {
            world.probe(0, 1)?;
            return Err(Error::Cancelled);
        }
        drop(
            world
                .isend(vec![1_u8; 1 << 20], 1, 1)
                .map_err(Error::from)?,
        );
        Ok(())
    });
    let ends = ends.unwrap();
    assert!(ends[0].is_ok(), "{ends:?}");
    assert!(matches!(ends[1], Err(Error::Cancelled)));
}
