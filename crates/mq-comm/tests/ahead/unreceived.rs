//! Messages that went ahead and that nobody receives, or not yet.

use mq_comm::{Error, Process, World};

use super::common::watchdog;
use super::{BYTES, by_rings, content, permit, rings};

/// What a sender may send to a process that receives nothing, at most: what is promised in `protocol`,
/// and what a ring holds.
const UNRECEIVED: u64 = 5 << 20;

#[test]
fn those_that_nobody_waits_for_are_kept_and_their_sender_holds_back() {
    let _dog = watchdog("those_that_nobody_waits_for_are_kept_and_their_sender_holds_back");
    let profiles = by_rings(2, |world| {
        permit(world)?;
        if world.rank() == 0 {
            for number in 0..5 {
                world.send(&content(number, BYTES), 1, number as i32)?;
            }
            world.send(&[1_u8], 1, 90)?;
            world.recv(&mut [0_u8], 1, 91)?;
            // What came too early has been said, and this is announced.
            world.send(&content(5, BYTES), 1, 5)?;
        } else {
            // All have come before any is received.
            world.recv(&mut [0_u8], 0, 90)?;
            world.send(&[1_u8], 0, 91)?;
            for number in (0..6).rev() {
                let mut into = vec![0; BYTES];
                world.recv(&mut into, 0, number as i32)?;
                assert!(into == content(number, BYTES), "{number}");
            }
        }
        Ok(())
    });
    assert_eq!((profiles[0].ahead, profiles[0].rendezvous), (5, 2));
    assert!(profiles[1].unexpected >= 5, "{:?}", profiles[1]);
}

#[test]
fn a_sender_that_hears_of_nothing_fills_no_memory() {
    let _dog = watchdog("a_sender_that_hears_of_nothing_fills_no_memory");
    const MESSAGES: usize = 300;
    let profiles = by_rings(2, |world| {
        permit(world)?;
        if world.rank() == 0 {
            let mut sending = Vec::new();
            for number in 0..MESSAGES {
                sending.push(world.isend(content(number, BYTES), 1, number as i32)?);
                // Time for the receiver to empty the ring; nothing is listened to.
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
            for request in sending {
                request.wait()?;
            }
        } else {
            world.recv(&mut vec![0; BYTES], 0, MESSAGES as i32 - 1)?;
            for number in 0..MESSAGES - 1 {
                let mut into = vec![0; BYTES];
                world.recv(&mut into, 0, number as i32)?;
                assert!(into == content(number, BYTES), "{number}");
            }
        }
        Ok(())
    });
    let sender = profiles[0];
    assert!(sender.ahead_bytes <= UNRECEIVED, "{sender:?}");
    assert_eq!(sender.ahead + sender.rendezvous, MESSAGES as u64 + 1);
}

#[test]
fn a_matched_probe_takes_them_out_and_may_drop_them() {
    let _dog = watchdog("a_matched_probe_takes_them_out_and_may_drop_them");
    let profiles = by_rings(2, |world| {
        permit(world)?;
        if world.rank() == 0 {
            for number in 0..3 {
                world.send(&content(number, BYTES), 1, number as i32)?;
            }
            world.recv(&mut [0_u8], 1, 9)?;
            return Ok(());
        }
        drop(world.mprobe(0, 0)?);
        assert_eq!(world.probe(0, 1)?.bytes(), BYTES as u64);
        let taken = world.mprobe(0, 1)?;
        assert_eq!(taken.status().bytes(), BYTES as u64);
        assert!(taken.recv_vec::<u8>()? == content(1, BYTES));
        let taken = world.mprobe(0, 2)?;
        let (bytes, _) = taken.irecv(vec![0_u8; BYTES])?.wait()?;
        assert!(bytes == content(2, BYTES));
        world.send(&[0_u8], 0, 9)
    });
    assert_eq!(profiles[0].ahead, 3);
}

/// Messages on a communicator that ends, and after them messages on another.
#[test]
fn what_is_left_behind_keeps_nothing_else_waiting() {
    let _dog = watchdog("what_is_left_behind_keeps_nothing_else_waiting");
    let profiles = by_rings(2, |world| {
        for round in 0..10 {
            let other = world.dup()?;
            permit(world)?;
            if world.rank() == 0 {
                for number in 0..3 {
                    other.send(&content(number, BYTES), 1, number as i32)?;
                }
                drop(other);
                world.send(&content(round, BYTES), 1, 7)?;
            } else {
                if round % 2 == 0 {
                    other.probe(0, 2)?;
                }
                drop(other);
                let mut into = vec![0_u8; BYTES];
                world.recv(&mut into, 0, 7)?;
                assert!(into == content(round, BYTES));
            }
        }
        Ok(())
    });
    assert!(profiles[0].ahead >= 10, "{:?}", profiles[0]);
}

#[test]
fn a_sender_that_leaves_leaves_them_whole() {
    let _dog = watchdog("a_sender_that_leaves_leaves_them_whole");
    by_rings(3, |world| {
        if world.rank() == 2 {
            return Ok(());
        }
        permit(world)?;
        if world.rank() == 0 {
            for number in 0..10 {
                world.send(&content(number, BYTES), 1, number as i32)?;
            }
            assert_eq!(world.profile().ahead, 10);
            return Ok(());
        }
        let ended = world.recv(&mut [0_u8], 0, 99);
        assert!(
            matches!(
                ended,
                Err(Error::Gone {
                    process: Process(0),
                    ..
                })
            ),
            "{ended:?}"
        );
        for number in 0..10 {
            let mut into = vec![0_u8; BYTES];
            world.recv(&mut into, 0, number as i32)?;
            assert!(into == content(number, BYTES), "{number}");
        }
        Ok(())
    });
}

/// Each time that a receive was posted before its message, the next ones may go ahead, and nobody receives those.
#[test]
fn they_are_limited_as_others_are() {
    const LIMIT: usize = 256 << 10;
    let options = rings().with(|o| o.unexpected_limit = LIMIT);
    let seats = World::seats(2, &options).unwrap();
    let [receiver, sender] = <[_; 2]>::try_from(seats).unwrap();
    let (receiver, sender) = (receiver.take().unwrap(), sender.take().unwrap());
    for round in 0..400 {
        let receiving = receiver.irecv(vec![0_u8; BYTES], 1, 1).unwrap();
        let sending = sender.isend(vec![1_u8; BYTES], 0, 1).unwrap();
        while !(receiving.test().unwrap() & sending.test().unwrap()) {}
        drop(sender.isend(vec![2_u8; BYTES], 0, 2).unwrap());
        for _ in 0..10 {
            receiver.progress().unwrap();
            sender.progress().unwrap();
        }
        let kept = receiver.unexpected_bytes();
        assert!(kept <= LIMIT as u64 + 200_000, "{kept} in round {round}");
    }
    assert!(sender.profile().ahead > 0, "{:?}", sender.profile());
    // They come nevertheless.
    for _ in 0..400 {
        let receiving = receiver.irecv(vec![0_u8; BYTES], 1, 2).unwrap();
        while !receiving.test().unwrap() {
            sender.progress().unwrap();
        }
    }
    assert_eq!(receiver.unexpected_bytes(), 0);
}
