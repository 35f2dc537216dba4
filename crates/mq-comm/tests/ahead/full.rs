//! Messages whose announcement has to wait, because box and cells are full of others before it.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use mq_comm::{Error, World};

use super::common::watchdog;
use super::{BYTES, content, permit, rings};

/// With a box and all cells full of messages before it, what says where a message is has to wait:
/// thirty in the box and thirty-two cells, of which one or the other may be taken otherwise.
const FULL: core::ops::RangeInclusive<usize> = 58..=63;

/// How often these are tried until the case occurs: if a rank does not run for long, the other may have
/// made room.
const TRIES: usize = 5;

/// Tries something that says whether an announcement had to wait, each time with another number of messages before it:
/// at least once it had to.
fn behind_full_boxes(mut tried: impl FnMut(usize) -> bool) {
    for _ in 0..TRIES {
        let were_full = FULL.filter(|&before| tried(before)).count();
        if were_full > 0 {
            return;
        }
    }
    panic!("there was room for all announcements");
}

/// Until a condition holds, but no longer than it takes the other rank to get as far as it can.
fn until_or_for_long(is_so: &Mutex<bool>) {
    let begun = Instant::now();
    while !*is_so.lock().unwrap() && begun.elapsed() < Duration::from_millis(200) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn receive_short(world: &World, count: usize) -> Result<(), Error> {
    for number in 0..count {
        let mut into = [0_u8];
        world.recv(&mut into, 0, 2)?;
        assert_eq!(into, [number as u8]);
    }
    Ok(())
}

/// The sender fails when its send has returned, and the receiver has yet to look: whatever there was
/// room for, the message is received, and so is all before it.
#[test]
fn a_send_that_has_returned_is_received_though_there_was_no_room_to_announce_it() {
    let _dog = watchdog("a_send_that_has_returned_is_received");
    behind_full_boxes(|before| {
        let returned = Mutex::new(false);
        let received = Mutex::new(false);
        let was_full = Mutex::new(false);
        let program = |world: &World| {
            for _ in 0..20 {
                permit(world)?;
            }
            if world.rank() == 0 {
                world.recv(&mut [0_u8], 1, 1)?;
                for number in 0..before {
                    world.send(&[number as u8], 1, 2)?;
                }
                let earlier = world.profile();
                world.send(&content(1, BYTES), 1, 1)?;
                let now = world.profile();
                *was_full.lock().unwrap() =
                    now.ahead > earlier.ahead && now.deferred > earlier.deferred;
                *returned.lock().unwrap() = true;
                // The error of a rank that failed by itself.
                return world.send(&[0_u8], 9, 0);
            }
            let large = world.irecv(vec![0; BYTES], 0, 1)?;
            world.send(&[0_u8], 0, 1)?;
            until_or_for_long(&returned);
            // Time to fail.
            std::thread::sleep(Duration::from_millis(20));
            receive_short(world, before)?;
            assert!(large.wait()?.0 == content(1, BYTES));
            *received.lock().unwrap() = true;
            Ok(())
        };
        let error = World::threads_with(2, &rings(), program).expect_err("the sender fails");
        assert!(matches!(error, Error::Rank { .. }), "{error}");
        assert!(*received.lock().unwrap(), "behind {before} messages");
        *was_full.lock().unwrap()
    });
}

/// The ring is empty, and free for others, before all that waits after the announcement has been sent.
#[test]
fn a_send_ends_when_its_announcement_has_been_taken_whatever_waits_behind_it() {
    const BEHIND: usize = 200;
    let _dog = watchdog("a_send_ends_when_its_announcement");
    behind_full_boxes(|before| {
        let posted = Mutex::new(false);
        let profiles = World::threads_with(2, &rings(), |world: &World| {
            for _ in 0..20 {
                permit(world)?;
            }
            if world.rank() == 0 {
                world.recv(&mut [0_u8], 1, 1)?;
                let at_first = world.profile();
                let first = world.isend(content(0, BYTES), 1, 1)?;
                for number in 0..before {
                    world.send(&[number as u8], 1, 2)?;
                }
                let earlier = world.profile();
                let large = world.isend(content(1, BYTES), 1, 1)?;
                let now = world.profile();
                let was_full =
                    now.ahead == at_first.ahead + 2 && now.deferred == earlier.deferred + 1;
                let mut behind = Vec::new();
                for number in before..before + BEHIND {
                    behind.push(world.isend(vec![number as u8], 1, 2)?);
                }
                *posted.lock().unwrap() = true;
                first.wait()?;
                large.wait()?;
                for request in behind {
                    request.wait()?;
                }
                return Ok(was_full);
            }
            let mut large = Vec::new();
            for _ in 0..2 {
                large.push(world.irecv(vec![0; BYTES], 0, 1)?);
            }
            world.send(&[0_u8], 0, 1)?;
            until_or_for_long(&posted);
            receive_short(world, before + BEHIND)?;
            for (number, request) in large.into_iter().enumerate() {
                assert!(request.wait()?.0 == content(number, BYTES));
            }
            Ok(false)
        });
        profiles.expect("the program runs")[0]
    });
}
