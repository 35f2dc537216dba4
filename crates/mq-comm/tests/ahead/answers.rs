//! Who lends the ring: answers are announced where questions went ahead, and a ring is left for those
//! who ask.

use std::sync::Mutex;

use mq_comm::{Error, World};

use super::common::watchdog;
use super::{BYTES, by_rings, content, post, rings};

/// Windows of messages from rank 1 to rank 0 go ahead; answers to messages from there, after some, do not.
#[test]
fn answers_are_announced_to_who_lends_the_ring() {
    let _dog = watchdog("answers_are_announced_to_who_lends_the_ring");
    const WINDOWS: usize = 10;
    const ROUNDS: u64 = 100;
    let run = |world: &World| {
        for _ in 0..WINDOWS {
            if world.rank() == 0 {
                let receiving = post(world, 1, 10)?;
                world.send(&[0_u8], 1, 10)?;
                for request in receiving {
                    request.wait()?;
                }
            } else {
                world.recv(&mut [0_u8], 0, 10)?;
                for number in 0..10 {
                    world.send(&content(number, BYTES), 0, number as i32)?;
                }
            }
        }
        let before = world.profile().ahead;
        let other = 1 - world.rank();
        let wait = || Ok::<_, Error>(world.irecv(vec![0; BYTES], other, 11)?);
        let mut receiving = wait()?;
        for round in 0..ROUNDS as usize {
            if world.rank() == 0 {
                world.send(&content(round, BYTES), other, 11)?;
            }
            let next = wait()?;
            assert!(receiving.wait()?.0 == content(round, BYTES));
            receiving = next;
            if world.rank() == 1 {
                world.send(&content(round, BYTES), other, 11)?;
            }
        }
        assert!(receiving.cancel().is_ok(), "nothing more comes");
        Ok([before, world.profile().ahead - before])
    };
    let ahead = World::threads_with(2, &rings(), run).expect("the program runs");
    let [[_, there], [windows, answers]] = ahead[..] else {
        panic!("two ranks")
    };
    assert!(windows > 20, "{ahead:?}");
    assert!(there > ROUNDS / 2 && answers < ROUNDS / 10, "{ahead:?}");
}

/// No ring leads to most of the many that are answered in turn: to the last one, and perhaps to some that were slow.
#[test]
fn questions_go_ahead_to_who_has_no_ring_to_lend() {
    let _dog = watchdog("questions_go_ahead_to_who_has_no_ring_to_lend");
    const CLIENTS: u32 = 6;
    const ROUNDS: u64 = 60;
    let profiles = by_rings(1 + CLIENTS, |world| {
        for _ in 0..ROUNDS {
            if world.rank() > 0 {
                let answer = world.irecv(vec![0; BYTES], 0, 1)?;
                world.recv(&mut [0_u8], 0, 0)?;
                world.send(&content(1, BYTES), 0, 2)?;
                assert!(answer.wait()?.0 == content(0, BYTES));
                continue;
            }
            for client in 1..=CLIENTS {
                let question = world.irecv(vec![0; BYTES], client, 2)?;
                world.send(&[0_u8], client, 0)?;
                assert!(question.wait()?.0 == content(1, BYTES));
                world.send(&content(0, BYTES), client, 1)?;
            }
        }
        Ok(())
    });
    let ahead: u64 = profiles[1..].iter().map(|profile| profile.ahead).sum();
    let all = u64::from(CLIENTS) * ROUNDS;
    assert!(ahead > all / 4, "{ahead} of {all}");
}

/// As many receivers as there are rings, each with one that leads there, let a message lie until
/// another has asked for a ring, and got one.
#[test]
fn a_ring_is_left_for_those_who_ask() {
    const LAST: u32 = 5;
    /// More than a ring holds, so that all of them are in use at a time.
    const LONG: usize = 6_000_000;
    static SERVED: Mutex<bool> = Mutex::new(false);
    let _dog = watchdog("a_ring_is_left_for_those_who_ask");
    let profiles = by_rings(LAST + 1, |world| {
        match world.rank() {
            0 => {
                for (number, bytes) in [(0, LONG), (1, BYTES)] {
                    let mut sending = Vec::new();
                    for peer in 1..LAST {
                        world.recv(&mut [0_u8], peer, number)?;
                    }
                    for peer in 1..LAST {
                        sending.push(world.isend(content(0, bytes), peer, number)?);
                    }
                    if number == 1 {
                        world.send(&content(2, 1 << 20), LAST, 2)?;
                    }
                    for request in sending {
                        request.wait()?;
                    }
                }
            }
            LAST => {
                let mut into = vec![0; 1 << 20];
                world.recv(&mut into, 0, 2)?;
                assert!(into == content(2, 1 << 20));
                *SERVED.lock().unwrap() = true;
            }
            _ => {
                let first = world.irecv(vec![0; LONG], 0, 0)?;
                world.send(&[0_u8], 0, 0)?;
                first.wait()?;
                let left = world.irecv(vec![0; BYTES], 0, 1)?;
                world.send(&[0_u8], 0, 1)?;
                while !*SERVED.lock().unwrap() {
                    std::thread::yield_now();
                }
                assert!(left.wait()?.0 == content(0, BYTES));
            }
        }
        Ok(())
    });
    assert!(profiles[0].ahead > 0, "{:?}", profiles[0]);
}
