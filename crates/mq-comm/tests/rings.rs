//! Large messages through rings: the sender's own, and those that a receiver lends.

mod common;

use common::watchdog;
use mq_comm::{Communicator, Error, Options, World};

const SIZE: u32 = 3;
/// Announced, each of them: a little more than an eager message, as much as some buffers, and more
/// than a ring holds.
const LENGTHS: [usize; 4] = [21_000, 65_536, 200_001, 1_500_000];

/// Runs a program as three processes that use rings only.
fn by_rings(program: fn(&World)) {
    let options = Options::default().with(|o| o.single_copy = false);
    let seats = World::seats(SIZE, &options).unwrap();
    let ranks: Vec<_> = seats
        .into_iter()
        .map(|seat| std::thread::spawn(move || program(&seat.take().unwrap())))
        .collect();
    for rank in ranks {
        rank.join().unwrap();
    }
}

fn bytes(from: u32, number: usize, len: usize) -> Vec<u8> {
    let first = from as usize * 31 + number * 101;
    (0..len).map(|at| (first + at * 7) as u8).collect()
}

fn others(world: &Communicator) -> impl Iterator<Item = u32> + use<> {
    let me = world.rank();
    (0..SIZE).filter(move |&rank| rank != me)
}

fn hear(world: &Communicator, from: u32, number: usize, len: usize) {
    let mut into = vec![0_u8; len];
    world.recv(&mut into, from, number as i32).unwrap();
    assert!(into == bytes(from, number, len), "{number} from {from}");
}

fn say(world: &Communicator, to: u32, number: usize, len: usize) {
    let message = bytes(world.rank(), number, len);
    world.send(&message, to, number as i32).unwrap();
}

#[test]
fn answers_of_any_length_follow_messages_of_any_length() {
    let _dog = watchdog("answers_of_any_length_follow_messages_of_any_length");
    by_rings(|world| {
        for peer in others(world) {
            let mut number = 0;
            for there in LENGTHS {
                for back in LENGTHS {
                    if world.rank() < peer {
                        say(world, peer, number, there);
                        hear(world, peer, number + 1, back);
                    } else {
                        hear(world, peer, number, there);
                        say(world, peer, number + 1, back);
                    }
                    number += 2;
                }
            }
        }
    });
}

/// Windows both ways at once, between windows one way, with everybody.
#[test]
fn windows_cross_and_take_turns() {
    let _dog = watchdog("windows_cross_and_take_turns");
    by_rings(|world| {
        for round in 0..12 {
            let sends = |rank: u32| round % 4 != rank as usize;
            let mut receiving = Vec::new();
            let mut sending = Vec::new();
            for number in 0..8 {
                let len = LENGTHS[(number + round) % 3];
                for peer in others(world) {
                    let tag = (round * 8 + number) as i32;
                    if sends(peer) {
                        receiving.push((peer, world.irecv(vec![0_u8; len], peer, tag).unwrap()));
                    }
                    if sends(world.rank()) {
                        let message = bytes(world.rank(), number, len);
                        sending.push(world.isend(message, peer, tag).unwrap());
                    }
                }
            }
            for (at, (peer, request)) in receiving.into_iter().enumerate() {
                let peers = others(world).filter(|&peer| sends(peer)).count();
                let (content, _) = request.wait().unwrap();
                assert!(content == bytes(peer, at / peers, content.len()));
            }
            for request in sending {
                request.wait().unwrap();
            }
        }
    });
}

#[test]
fn an_answer_that_is_too_long_is_cut() {
    let _dog = watchdog("an_answer_that_is_too_long_is_cut");
    by_rings(|world| match world.rank() {
        0 => {
            for number in 0..4 {
                say(world, 1, number, 200_000);
                let mut into = vec![0_u8; 50_000];
                let heard = world.recv(&mut into, 1, 100);
                assert!(matches!(heard, Err(Error::Truncated { .. })), "{heard:?}");
                assert!(into == bytes(1, 100, 200_000)[..50_000]);
            }
        }
        1 => {
            for number in 0..4 {
                hear(world, 0, number, 200_000);
                say(world, 0, 100, 200_000);
            }
        }
        _ => {}
    });
}

#[test]
fn a_message_that_is_cut_was_sent_whole() {
    let _dog = watchdog("a_message_that_is_cut_was_sent_whole");
    by_rings(|world| match world.rank() {
        0 => {
            let sending = world.isend(vec![7_u8; 400_000], 1, 1).unwrap();
            let (_, status) = sending.wait().unwrap();
            assert_eq!(status.bytes(), 400_000);
        }
        1 => {
            let heard = world.recv(&mut [0_u8; 100_000], 0, 1);
            assert!(
                matches!(
                    heard,
                    Err(Error::Truncated {
                        sent: 400_000,
                        room: 100_000,
                        ..
                    })
                ),
                "{heard:?}"
            );
        }
        _ => {}
    });
}

/// Rank 0 ignores a message from rank 1 for which it has lent a ring, and goes on with rank 2.
#[test]
fn a_ring_that_is_lent_keeps_nobody_else_waiting() {
    let _dog = watchdog("a_ring_that_is_lent_keeps_nobody_else_waiting");
    by_rings(|world| match world.rank() {
        0 => {
            say(world, 1, 0, 100_000);
            drop(world.irecv(vec![0_u8; 100_000], 1, 1).unwrap());
            let left = world.irecv(vec![0_u8; 3_000_000], 1, 2).unwrap();
            for number in 0..4 {
                say(world, 2, number, 300_000);
                hear(world, 2, number, 300_000);
            }
            say(world, 1, 3, 3_000_000);
            let (content, _) = left.wait().unwrap();
            assert!(content == bytes(1, 2, 3_000_000));
        }
        1 => {
            hear(world, 0, 0, 100_000);
            let sending = world.isend(bytes(1, 2, 3_000_000), 0, 2).unwrap();
            hear(world, 0, 3, 3_000_000);
            sending.wait().unwrap();
        }
        _ => {
            for number in 0..4 {
                hear(world, 0, number, 300_000);
                say(world, 0, number, 300_000);
            }
        }
    });
}
