//! What the ranks send each other, by every path, and what a rank keeps for itself.

use mq_comm::{Communicator, Error, SharedBuffer, Source, World};

use super::child::{bytes, meet, others, unless_gone, with_peer};
use super::{NEVER, SIZE, VICTIM};

/// Empty, in a fastbox, in a cell, in parts, announced, and announced with more bytes than a ring
/// holds.
const LENGTHS: [usize; 6] = [0, 8, 300, 30_000, 100_000, 2_500_000];
/// In a shared buffer: with its bytes, and announced.
const SHARED: [usize; 2] = [21_000, 200_000];

/// Messages of all lengths with all ranks, all at the same time.
pub(super) fn exchange(world: &Communicator, round: u32) {
    let (me, tag) = (world.rank(), round as i32);
    let mut receiving = Vec::new();
    let mut sending = Vec::new();
    for len in LENGTHS.into_iter().chain(SHARED) {
        for peer in others(world) {
            let begun = world.irecv(vec![0_u8; len], peer, tag).map_err(Error::from);
            receiving.extend(with_peer(world, peer, begun).map(|begun| (peer, begun)));
        }
    }
    for len in LENGTHS {
        for peer in others(world) {
            let begun = world
                .isend(bytes(me, peer, round, len), peer, tag)
                .map_err(Error::from);
            sending.extend(with_peer(world, peer, begun).map(|begun| (peer, begun)));
        }
    }
    let mut sharing = Vec::new();
    for len in SHARED {
        for peer in others(world) {
            let mut buffer: SharedBuffer<u8> = world.shared_buffer(len).unwrap();
            buffer.copy_from_slice(&bytes(me, peer, round, len));
            let begun = world.isend(buffer, peer, tag).map_err(Error::from);
            sharing.extend(with_peer(world, peer, begun).map(|begun| (peer, begun)));
        }
    }
    for (number, (peer, request)) in receiving.into_iter().enumerate() {
        if let Some((content, status)) = with_peer(world, peer, request.wait()) {
            assert!(
                content == bytes(peer, me, round, content.len()),
                "{number} of {peer}"
            );
            assert_eq!(status.bytes(), content.len() as u64);
        }
    }
    for (peer, request) in sending {
        with_peer(world, peer, request.wait());
    }
    for (peer, request) in sharing {
        with_peer(world, peer, request.wait());
    }
}

/// Messages to each of the higher ranks and answers: in cells that are lent, and through rings that
/// are.
pub(super) fn answer(world: &Communicator, round: u32) {
    let (me, tag) = (world.rank(), 400 + round as i32);
    for peer in others(world) {
        for len in [5_000, 5_000, 5_000, 100_000] {
            let mut theirs = vec![0_u8; len];
            for sends in [me < peer, me > peer] {
                if sends {
                    let mine = bytes(me, peer, round, len);
                    with_peer(world, peer, world.send(&mine, peer, tag));
                } else if with_peer(world, peer, world.recv(&mut theirs, peer, tag)).is_some() {
                    assert!(theirs == bytes(peer, me, round, len), "from {peer}");
                }
            }
        }
    }
}

/// Messages that go ahead, one after the other, with everybody: two that are waited for, and two
/// that have come before they are asked for.
pub(super) fn stream(world: &Communicator, round: u32) {
    const BYTES: usize = 50_000;
    let me = world.rank();
    let [go, waited, early, all_sent] = [500, 600, 700, 800].map(|tag| tag + round as i32);
    for peer in others(world) {
        for sends in [me < peer, me > peer] {
            if sends {
                with_peer(world, peer, world.recv(&mut [0_u8], peer, go));
                let mut sending = Vec::new();
                for (number, tag) in (0..).zip([waited, waited, early, early]) {
                    let mine = bytes(me, peer, round + number, BYTES);
                    if tag == waited {
                        with_peer(world, peer, world.send(&mine, peer, tag));
                    } else {
                        // It may have to be asked for.
                        let begun = world.isend(mine, peer, tag).map_err(Error::from);
                        sending.extend(with_peer(world, peer, begun));
                    }
                }
                with_peer(world, peer, world.send(&[0_u8], peer, all_sent));
                for request in sending {
                    with_peer(world, peer, request.wait());
                }
                continue;
            }
            let check = |number: u32, heard| {
                if let Some((theirs, _)) = with_peer(world, peer, heard) {
                    let expected = bytes(peer, me, round + number, BYTES);
                    assert!(theirs == expected, "{number} from {peer}");
                }
            };
            let mut posted = Vec::new();
            for _ in 0..2 {
                let begun = world.irecv(vec![0_u8; BYTES], peer, waited);
                posted.extend(with_peer(world, peer, begun.map_err(Error::from)));
            }
            with_peer(world, peer, world.send(&[0_u8], peer, go));
            for (number, request) in (0..).zip(posted) {
                check(number, request.wait());
            }
            with_peer(world, peer, world.recv(&mut [0_u8], peer, all_sent));
            for number in 2..4 {
                let mut theirs = vec![0_u8; BYTES];
                let heard = world.recv(&mut theirs, peer, early);
                check(number, heard.map(|status| (theirs, status)));
            }
        }
    }
}

/// Many messages to the next rank before it receives any.
pub(super) fn flood(world: &World, round: u32) {
    const MESSAGES: u32 = 40;
    let (me, tag) = (world.rank(), 1000 + round as i32);
    let (next, before) = ((me + 1) % SIZE, (me + SIZE - 1) % SIZE);
    let mut sending = Vec::new();
    for number in 0..MESSAGES {
        let begun = world.isend(bytes(me, next, number, 1000), next, tag);
        sending.extend(with_peer(world, next, begun.map_err(Error::from)));
    }
    meet(world, tag + 100);
    for number in 0..MESSAGES {
        let mut theirs = [0_u8; 1000];
        if with_peer(world, before, world.recv(&mut theirs, before, tag)).is_some() {
            assert!(
                theirs[..] == bytes(before, me, number, 1000),
                "{number} from {before}"
            );
        }
    }
    for request in sending {
        with_peer(world, next, request.wait());
    }
}

/// A message from every rank to rank 0, which receives them from any source: from those that it
/// expects to live.
pub(super) fn collect(world: &Communicator, round: u32, expected: &mut Vec<u32>) {
    let (me, tag) = (world.rank(), 100 + round as i32);
    if me > 0 {
        return world.send(&[me, round], 0, tag).unwrap();
    }
    let mut missing = expected.clone();
    while !missing.is_empty() {
        let mut words = [0_u32; 2];
        match unless_gone(world, world.recv(&mut words, Source::Any, tag)) {
            Some(status) => {
                assert_eq!(words, [status.source(), round]);
                missing.retain(|&rank| rank != status.source());
            }
            None => {
                // All that it sent has come, so that what is missing of it never will.
                assert_eq!(world.acknowledge_deaths(), [VICTIM]);
                expected.retain(|&rank| rank != VICTIM);
                missing.retain(|&rank| rank != VICTIM);
            }
        }
    }
}

/// A large message that nobody receives is withdrawn.
pub(super) fn give_up(world: &Communicator) {
    let large = vec![1_u8; 100_000];
    let next = (world.rank() + 1) % SIZE;
    let result = world.scope(|s| {
        s.isend(&large, next, NEVER)?;
        Err::<(), _>(Error::Cancelled)
    });
    assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
}

/// More to itself than there are cells.
pub(super) fn crowd(world: &Communicator) {
    let me = world.rank();
    let sending: Vec<_> = (0..20)
        .map(|number| {
            world
                .isend(vec![number as u8; 30_000], me, 200 + number)
                .unwrap()
        })
        .collect();
    for number in (0..20).rev() {
        let mut content = vec![0_u8; 30_000];
        world.recv(&mut content, me, 200 + number).unwrap();
        assert!(content.iter().all(|&byte| i32::from(byte) == number));
    }
    for request in sending {
        request.wait().unwrap();
    }
}
