//! More unexpected messages than a process has memory for: their senders announce the next ones, which wait with
//! them.
#![allow(
    clippy::disallowed_types,
    reason = "threads of a test tell each other how far they are"
)]

#[path = "../common/mod.rs"]
mod common;
mod hearing;
mod over;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::watchdog;
use mq_comm::{Error, Options, Policy, Profile, Source, World};

/// Bytes of unexpected messages.
const LIMIT: usize = 256 << 10;
/// Messages that may come on top of it: this many may be sent until their sender hears that it is to announce, and the
/// transport has room for more.
const ON_THE_WAY: usize = hearing::LATE as usize + 128;
/// What is counted for each message besides its bytes.
const OVERHEAD_BYTES: u64 = 256;

fn options() -> Options {
    Options::default().with(|o| o.unexpected_limit = LIMIT)
}

fn content(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (number * 89 + at * 3) as u8).collect()
}

/// The most unexpected messages of a length that come to a process with bytes.
fn most(bytes: usize) -> usize {
    LIMIT / (bytes + OVERHEAD_BYTES as usize) + ON_THE_WAY
}

/// Receives nothing until a message of this length is announced, or the last one has been sent; the number sent.
fn look_on(world: &World, bytes: usize, sent: &AtomicUsize, all: usize) -> Result<usize, Error> {
    let before = world.profile().unexpected;
    loop {
        world.progress()?;
        let came = world.profile().unexpected - before;
        let sent = sent.load(Ordering::Relaxed);
        if came * (bytes as u64 + OVERHEAD_BYTES) > world.unexpected_bytes() || sent == all {
            return Ok(sent);
        }
        std::thread::yield_now();
    }
}

/// Rank 1 sends rank 0 more than that is to keep, before anything is received.
fn flood(options: &Options, bytes: usize) -> Vec<Profile> {
    let all = most(bytes) + 200;
    let sent = AtomicUsize::new(0);
    World::threads_with(2, options, |world| {
        if world.rank() == 1 {
            for number in 0..all {
                world.send(&content(number, bytes), 0, number as i32)?;
                sent.store(number + 1, Ordering::Relaxed);
            }
        } else {
            let came = look_on(world, bytes, &sent, all)?;
            assert!(came <= most(bytes), "{came} messages of {bytes} bytes");
            let mut into = vec![0; bytes];
            for number in 0..all {
                let status = world.recv(&mut into, Source::Any, number as i32)?;
                assert_eq!(status.bytes(), bytes as u64);
                assert!(into == content(number, bytes), "{number} of {bytes} bytes");
            }
        }
        Ok(world.profile())
    })
    .unwrap()
}

#[test]
fn blocking_sends_wait_for_their_receives() {
    let _dog = watchdog("blocking_sends_wait_for_their_receives");
    let ways = [
        options(),
        options().with(|o| o.fastbox = false),
        options().with(|o| o.single_copy = false),
    ];
    for options in ways {
        for bytes in [0, 8, 1000, 20_000] {
            let profiles = flood(&options, bytes);
            assert!(
                profiles[1].held_back > 0,
                "{bytes} bytes: {:?}",
                profiles[1]
            );
            assert_eq!(profiles[1].held_back, profiles[1].rendezvous);
        }
    }
}

#[test]
fn messages_of_several_parts_are_not_begun_anew() {
    let _dog = watchdog("messages_of_several_parts_are_not_begun_anew");
    let all = 30;
    for round in 0..30 {
        let bytes = [41_000, 60_000, 90_000][round % 3];
        let options = Options::default().with(|o| {
            o.eager_limit = 100_000;
            o.unexpected_limit = [70_000, LIMIT][round / 3 % 2];
            o.channel.policy = [Policy::PerPeer, Policy::default()][round / 6 % 2];
        });
        let sent = AtomicUsize::new(0);
        let profiles = World::threads_with(2, &options, |world| {
            if world.rank() == 1 {
                for number in 0..all {
                    world.send(&content(number, bytes), 0, 1)?;
                    sent.store(number + 1, Ordering::Relaxed);
                }
            } else {
                look_on(world, bytes, &sent, all)?;
                let mut into = vec![0; bytes];
                for number in 0..all {
                    world.recv(&mut into, 1, 1)?;
                    assert!(into == content(number, bytes), "{number}");
                }
                assert_eq!(world.unexpected_bytes(), 0);
            }
            Ok(world.profile())
        })
        .unwrap();
        assert_eq!(profiles[1].sent(), all as u64);
        assert_eq!(profiles[0].received, all as u64);
    }
}

#[test]
fn nothing_is_held_back_below_the_limit() {
    let _dog = watchdog("nothing_is_held_back_below_the_limit");
    World::threads_with(2, &options(), |world| {
        for round in 0..50 {
            if world.rank() == 1 {
                for number in 0..200 {
                    world.send(&content(number, 1000), 0, number as i32)?;
                }
                world.recv(&mut [0_u8], 0, round)?;
            } else {
                // The last first, so that all others are unexpected.
                for number in (0..200).rev() {
                    world.recv(&mut [0_u8; 1000], 1, number)?;
                }
                world.send(&[0_u8], 1, round)?;
            }
        }
        assert_eq!(world.profile().held_back, 0);
        Ok(())
    })
    .unwrap();
}

#[test]
fn requests_that_wait_to_be_sent_are_announced() {
    let _dog = watchdog("requests_that_wait_to_be_sent_are_announced");
    const ALL: usize = 2_000;
    const BYTES: usize = 10_000;
    let all_begun = AtomicBool::new(false);
    let profiles = World::threads_with(2, &options(), |world| {
        if world.rank() == 1 {
            let begin = |number| Ok(world.isend(content(number, BYTES), 0, number as i32)?);
            let requests: Result<Vec<_>, Error> = (0..ALL).map(begin).collect();
            all_begun.store(true, Ordering::Release);
            for request in requests? {
                request.wait()?;
            }
        } else {
            while !all_begun.load(Ordering::Acquire) {
                world.progress()?;
            }
            let mut into = vec![0; BYTES];
            for number in (0..ALL).rev() {
                world.recv(&mut into, 1, number as i32)?;
                assert!(into == content(number, BYTES), "{number}");
            }
        }
        Ok(world.profile())
    })
    .unwrap();
    let sender = profiles[1];
    assert_eq!(sender.sent(), ALL as u64);
    assert_eq!(sender.sent_bytes(), (ALL * BYTES) as u64);
    assert_eq!(profiles[0].received_bytes, sender.sent_bytes());
    let with_bytes = sender.eager as usize;
    assert!(with_bytes <= most(BYTES), "{with_bytes} with their bytes");
}

#[test]
fn collective_operations_go_on() {
    let _dog = watchdog("collective_operations_go_on");
    // Each message is one too many.
    let options = Options::default().with(|o| o.unexpected_limit = 0);
    World::threads_with(4, &options, |world| {
        let me = world.rank();
        let early: Result<Vec<_>, Error> = (0..4)
            .filter(|&peer| peer != me)
            .map(|peer| Ok(world.isend(vec![me; 50], peer, 9)?))
            .collect();
        for round in 0..20 {
            world.barrier()?;
            for bytes in [8, 256, 257, 100_000] {
                let root = (round + bytes as u32) % 4;
                let mut words = content(round as usize, bytes);
                if me != root {
                    words.fill(0);
                }
                world.broadcast(&mut words, root)?;
                assert!(words == content(round as usize, bytes));
            }
        }
        let mut heard = Vec::new();
        for _ in 0..3 {
            let mut words = [0; 50];
            let status = world.recv(&mut words, Source::Any, 9)?;
            assert_eq!(words, [status.source(); 50]);
            heard.push(status.source());
        }
        for request in early? {
            request.wait()?;
        }
        heard.sort_unstable();
        assert_eq!(heard, (0..4).filter(|&peer| peer != me).collect::<Vec<_>>());
        Ok(())
    })
    .unwrap();
}
