//! A process that has held others back lets them send again.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mq_comm::{Error, Process, World};

use super::common::{is_gone, watchdog};
use super::{LIMIT, look_on, options};

#[test]
fn when_they_are_received_messages_are_eager_again() {
    let _dog = watchdog("when_they_are_received_messages_are_eager_again");
    let (sent, more) = (AtomicUsize::new(0), 500);
    World::threads_with(3, &options(), |world| {
        let me = world.rank();
        if me == 0 {
            let came = look_on(world, 1000, &sent, 4_000)?;
            assert!(came < 4_000, "{came}");
            for number in 0..4_000 {
                world.recv(&mut [0_u8; 1000], 1, number)?;
            }
        } else if me == 1 {
            for number in 0..4_000 {
                // To others as ever.
                world.send(&[number], 2, number)?;
                world.send(&[0_u8; 1000], 0, number)?;
                sent.store(number as usize + 1, Ordering::Relaxed);
            }
        } else {
            for number in 0..4_000 {
                world.recv(&mut [0], 1, number)?;
            }
        }
        world.barrier()?;
        let before = world.profile();
        if me == 1 {
            assert!(before.held_back > 0);
            assert_eq!(before.eager + before.held_back, before.sent());
            for number in 0..more {
                world.send(&[0_u8; 1000], 0, number)?;
            }
            assert_eq!(world.profile().held_back, before.held_back);
        } else if me == 0 {
            for number in 0..more {
                world.recv(&mut [0_u8; 1000], 1, number)?;
            }
        } else {
            assert_eq!(before.held_back, 0);
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn who_is_held_back_remains_so_until_half_of_the_memory_is_free() {
    let _dog = watchdog("who_is_held_back_remains_so_until_half_of_the_memory_is_free");
    let sent = AtomicUsize::new(0);
    World::threads_with(2, &options(), |world| {
        let me = world.rank();
        let held_back = || world.profile().held_back;
        if me == 1 {
            let mut begun = 0;
            while held_back() == 0 {
                let sending = world.isend(vec![7_u8; 1000], 0, 1)?;
                begun += 1;
                while !sending.test()? && held_back() == 0 {}
            }
            sent.store(begun, Ordering::Relaxed);
        } else {
            // Until all of them have come.
            let mut begun = 0;
            while begun == 0 || world.profile().unexpected < begun as u64 {
                world.progress()?;
                begun = sent.load(Ordering::Relaxed);
            }
            assert!(world.unexpected_bytes() > LIMIT as u64);
        }
        for (left, more) in [(LIMIT / 2 + 2_000, 1), (LIMIT / 2, 0)] {
            while me == 0 && world.unexpected_bytes() > left as u64 {
                world.recv(&mut [0_u8; 1000], 1, 1)?;
            }
            // What rank 0 had to say comes before its word.
            world.barrier()?;
            if me == 1 {
                let before = held_back();
                drop(world.isend(vec![7_u8; 1000], 0, 1)?);
                assert_eq!(held_back() - before, more, "with {left} bytes left");
            }
            world.barrier()?;
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_a_communicator_leaves_behind_holds_nobody_back_for_ever() {
    let _dog = watchdog("what_a_communicator_leaves_behind_holds_nobody_back_for_ever");
    let is_held_back = AtomicBool::new(false);
    World::threads_with(2, &options(), |world| {
        let other = world.dup()?;
        if world.rank() == 1 {
            let failed = other.scope(|s| {
                while world.profile().held_back == 0 {
                    let sending = s.isend(&[7_u8; 1000], 0, 3)?;
                    while !sending.test()? && world.profile().held_back == 0 {}
                }
                is_held_back.store(true, Ordering::Release);
                Err::<(), _>(Error::Cancelled)
            });
            assert!(matches!(failed, Err(Error::Cancelled)), "{failed:?}");
        } else {
            while !is_held_back.load(Ordering::Acquire) {
                world.progress()?;
            }
        }
        world.barrier()?;
        drop(other);
        world.barrier()?;
        assert_eq!(world.unexpected_bytes(), 0);
        if world.rank() == 1 {
            let before = world.profile().held_back;
            world.send(&[7_u8; 1000], 0, 1)?;
            assert_eq!(world.profile().held_back, before);
        } else {
            world.recv(&mut [0_u8; 1000], 1, 1)?;
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn two_that_have_held_each_other_back_go_on() {
    let _dog = watchdog("two_that_have_held_each_other_back_go_on");
    let held_back = AtomicUsize::new(0);
    World::threads_with(2, &options(), |world| {
        let other = world.dup()?;
        let peer = 1 - world.rank();
        let failed = other.scope(|s| {
            while world.profile().held_back == 0 {
                let sending = s.isend(&[7_u8; 1000], peer, 3)?;
                while !sending.test()? && world.profile().held_back == 0 {}
            }
            held_back.fetch_add(1, Ordering::Relaxed);
            while held_back.load(Ordering::Relaxed) < 2 {
                world.progress()?;
            }
            Err::<(), _>(Error::Cancelled)
        });
        assert!(matches!(failed, Err(Error::Cancelled)), "{failed:?}");
        world.barrier()?;
        drop(other);
        world.barrier()?;
        assert_eq!(world.unexpected_bytes(), 0);
        // Eager again: neither waits for the other's receive.
        world.send(&[1_u8], peer, 1)?;
        world.recv(&mut [0_u8], peer, 1)?;
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_receiver_that_ends_holds_nobody_back() {
    let _dog = watchdog("a_receiver_that_ends_holds_nobody_back");
    let sent = AtomicUsize::new(0);
    World::threads_with(3, &options(), |world| {
        match world.rank() {
            0 => drop(look_on(world, 1000, &sent, 4_000)?),
            1 => {
                let mut failed = None;
                for number in 0..4_000 {
                    if let Err(error) = world.send(&[3_u8; 1000], 0, 1) {
                        failed = Some(error);
                        break;
                    }
                    sent.store(number + 1, Ordering::Relaxed);
                }
                let failed = failed.expect("it has left");
                assert!(
                    matches!(
                        failed,
                        Error::Gone {
                            process: Process(0),
                            ..
                        }
                    ),
                    "{failed}"
                );
                let before = world.profile();
                assert!(before.held_back > 0);
                for _ in 0..100 {
                    world.send(&[4_u8; 1000], 2, 1)?;
                }
                assert_eq!(world.profile().eager, before.eager + 100);
            }
            _ => {
                for _ in 0..100 {
                    world.recv(&mut [0_u8; 1000], 1, 1)?;
                }
            }
        }
        Ok(())
    })
    .unwrap();
}

/// What is lost with its sender takes no memory any more.
#[test]
fn a_death_that_frees_memory_lets_others_send() {
    let _dog = watchdog("a_death_that_frees_memory_lets_others_send");
    let [begun, held_back, may_send] = [false; 3].map(AtomicBool::new);
    let options = options().with(|o| o.eager_limit = 8 << 20);
    let run = World::threads_with(3, &options, |world| match world.rank() {
        0 => {
            while !begun.load(Ordering::Relaxed) || world.unexpected_bytes() <= LIMIT as u64 {
                world.progress()?;
            }
            world.send(&[0_u8], 2, 1)?;
            while world.ended().is_empty() {
                world.progress()?;
            }
            let left = world.unexpected_bytes();
            assert!(left < LIMIT as u64 / 2, "{left} bytes are left");
            world.send(&[0_u8], 2, 1)
        }
        1 => {
            // More than there is room for on the way.
            let _sending = world.isend(vec![1_u8; 4 << 20], 0, 3)?;
            begun.store(true, Ordering::Relaxed);
            while !held_back.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            Err(Error::Cancelled)
        }
        _ => {
            world.recv(&mut [0_u8], 0, 1)?;
            while world.profile().held_back == 0 {
                drop(world.isend(vec![2_u8; 8], 0, 9)?);
                world.progress()?;
            }
            held_back.store(true, Ordering::Relaxed);
            world.recv(&mut [0_u8], 0, 1)?;
            let before = world.profile().held_back;
            drop(world.isend(vec![2_u8; 8], 0, 9)?);
            may_send.store(world.profile().held_back == before, Ordering::Relaxed);
            Ok(())
        }
    });
    assert!(may_send.into_inner());
    assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
}

/// It is asked to announce what waits to be sent while it waits for the answer to what it has announced.
#[test]
fn who_dies_announces_nothing_more() {
    let _dog = watchdog("who_dies_announces_nothing_more");
    let options = options().with(|o| o.unexpected_limit = 0);
    let [begun, asked] = [false; 2].map(AtomicBool::new);
    let run = World::threads_with(2, &options, |world| {
        if world.rank() == 1 {
            drop(world.isend(vec![1_u8; 1 << 20], 0, 5)?);
            for _ in 0..300 {
                drop(world.isend(vec![2_u8; 8], 0, 1)?);
            }
            begun.store(true, Ordering::Release);
            while !asked.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            return Err(Error::Cancelled);
        }
        while !begun.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        while world.profile().unexpected < 2 {
            world.progress()?;
        }
        asked.store(true, Ordering::Release);
        assert!(is_gone(&world.recv(&mut [0_u8], 1, 99), 1, "died"));
        Ok(())
    });
    assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
}
