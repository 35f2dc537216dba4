//! How soon a sender hears that it is to announce what it sends, although it waits for nothing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mq_comm::{Error, World};

use super::common::watchdog;
use super::{OVERHEAD_BYTES, content, most, options};

/// So many messages may be sent between two looks: 256 straight away, and 256 that have waited for room.
pub(super) const LATE: u64 = 256 + 256;

/// Rank 1 gets a fastbox from everybody else, into which it looks only if it wants something from there.
fn make_boxes(world: &World) -> Result<(), Error> {
    for peer in (0..world.size()).filter(|&peer| peer != 1) {
        for _ in 0..40 {
            if world.rank() == 1 {
                world.recv(&mut [0_u8], peer, 5)?;
            } else if world.rank() == peer {
                world.send(&[0_u8], 1, 5)?;
            }
        }
    }
    Ok(())
}

#[test]
fn a_sender_that_finds_room_hears_of_it_too() {
    let _dog = watchdog("a_sender_that_finds_room_hears_of_it_too");
    // Between two messages to rank 0, the sender has others to send, and begins with one of them or not.
    for (others, first) in [(0, 0), (1, 0), (1, 1), (3, 0), (3, 1), (3, 2), (3, 3)] {
        let (sent, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let is_ready = AtomicBool::new(false);
        // More than that is enough.
        let all = most(1000) + 200;
        World::threads_with(8, &options(), |world| {
            make_boxes(world)?;
            match world.rank() {
                0 => {
                    let before = world.profile().unexpected;
                    is_ready.store(true, Ordering::Release);
                    loop {
                        world.progress()?;
                        let came = world.profile().unexpected - before;
                        if came * (1000 + OVERHEAD_BYTES) > world.unexpected_bytes() {
                            break;
                        }
                        taken.store(came as usize, Ordering::Relaxed);
                    }
                    let came = sent.load(Ordering::Relaxed);
                    assert!(came <= most(1000), "{came}, with {others} others for each");
                    taken.store(usize::MAX, Ordering::Relaxed);
                    for number in 0..all {
                        let mut into = [0; 1000];
                        world.recv(&mut into, 1, 1)?;
                        assert!(into[..] == content(number, 1000), "{number}");
                    }
                }
                1 => {
                    while !is_ready.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                    for _ in 0..first {
                        world.send(&[0_u8], 7, 1)?;
                    }
                    for number in 0..all {
                        world.send(&content(number, 1000), 0, 1)?;
                        sent.store(number + 1, Ordering::Relaxed);
                        // The box is empty before the next one.
                        while taken.load(Ordering::Relaxed) == number {
                            std::thread::yield_now();
                        }
                        for other in 2..2 + others {
                            world.send(&[0_u8], other, 1)?;
                        }
                    }
                }
                7 => {
                    for _ in 0..first {
                        world.recv(&mut [0_u8], 1, 1)?;
                    }
                }
                me if me < 2 + others => {
                    for _ in 0..all {
                        world.recv(&mut [0_u8], 1, 1)?;
                    }
                }
                _ => {}
            }
            Ok(())
        })
        .unwrap();
    }
}

/// Rank 1 begins to send without waiting for anything; as soon as something has to wait for room, rank 0 makes room.
#[test]
fn a_sender_whose_messages_wait_now_and_then_hears_of_it_too() {
    let _dog = watchdog("a_sender_whose_messages_wait_now_and_then_hears_of_it_too");
    let options = options().with(|o| o.unexpected_limit = 0);
    for has_box in [false, true] {
        let (full, made) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let over = AtomicBool::new(false);
        World::threads_with(3, &options, |world| {
            if has_box {
                make_boxes(world)?;
            }
            if world.rank() == 1 {
                let mut when_asked = None;
                while world.profile().held_back == 0 {
                    let deferred = world.profile().deferred;
                    drop(world.isend(vec![0_u8; 8], 0, 1)?);
                    if world.profile().deferred > deferred {
                        let times = full.fetch_add(1, Ordering::AcqRel) + 1;
                        while made.load(Ordering::Acquire) < times {
                            std::thread::yield_now();
                        }
                        // Rank 0 asked as soon as a message came.
                        when_asked.get_or_insert(world.profile().eager);
                    }
                }
                over.store(true, Ordering::Release);
                let late = world.profile().eager - when_asked.unwrap();
                assert!(late <= LATE, "{late} with a box: {has_box}");
            } else if world.rank() == 0 {
                while !over.load(Ordering::Acquire) {
                    let times = full.load(Ordering::Acquire);
                    if times == made.load(Ordering::Acquire) {
                        std::thread::yield_now();
                        continue;
                    }
                    let mut in_vain = 0;
                    while in_vain < 100 {
                        let before = world.profile().unexpected;
                        world.progress()?;
                        let came = world.profile().unexpected > before;
                        in_vain = if came { 0 } else { in_vain + 1 };
                    }
                    made.store(times, Ordering::Release);
                }
            }
            Ok(())
        })
        .unwrap();
    }
}

/// Between two of these, the sender looks at what has come, however quickly the receiver makes room.
#[test]
fn what_has_waited_is_sent_a_few_messages_at_a_time() {
    let seats = World::seats(2, &options()).unwrap();
    let [receiver, sender] = <[_; 2]>::try_from(seats).unwrap();
    let (receiver, sender) = (receiver.take().unwrap(), sender.take().unwrap());
    let take_all = || {
        for _ in 0..100 {
            receiver.progress().unwrap();
        }
        receiver.profile().unexpected
    };
    let sending: Vec<_> = (0..300)
        .map(|_| sender.isend(vec![0_u8; 8], 0, 1).unwrap())
        .collect();
    let mut came = take_all();
    assert!(came < 300);
    while came < 300 {
        let before = came;
        sender.progress().unwrap();
        came = take_all();
        assert!((1..=32).contains(&(came - before)), "{came} after {before}");
    }
    for request in sending {
        assert!(request.test().unwrap());
    }
}
