//! Large messages through a ring: one after another, and more than it has room for.

use std::sync::Arc;

use mq_shm::{Endpoint, Geometry, Heap, Options, Process, Pulled, Pushed, RingId, Stretch};

const ALICE: Process = Process(0);
const BOB: Process = Process(1);
/// More than a buffer, and not a number of whole ones.
const BYTES: usize = 40_000;

type Member = Endpoint<Arc<Heap>>;

fn pair(options: Options) -> (Member, Member) {
    let segment = Heap::new(Geometry::new(2).unwrap());
    let join = |me| Endpoint::join(segment.clone(), me, options).unwrap();
    (join(ALICE), join(BOB))
}

fn message(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + number * 13) as u8).collect()
}

fn stretch(sender: &mut Member, bytes: usize) -> Stretch {
    let (ring, first) = sender.take_ring(BOB, bytes).unwrap().unwrap();
    Stretch {
        ring,
        first,
        skipped: 0,
    }
}

#[test]
fn messages_share_a_ring_in_their_order() {
    let (mut alice, mut bob) = pair(Options::default());
    let messages = [message(0, BYTES), message(1, BYTES)];
    let first = stretch(&mut alice, BYTES);
    let second = stretch(&mut alice, BYTES);
    assert_eq!((first.ring, second.ring), (RingId(0), RingId(0)));

    let pushed = alice.push(second, &messages[1], 0).unwrap();
    assert_eq!(pushed, Pushed::Upto(0), "the first is not there yet");
    for (stretch, message) in [first, second].into_iter().zip(&messages) {
        assert_eq!(alice.push(stretch, message, 0).unwrap(), Pushed::All);
    }
    assert!(!alice.free_ring(first.ring));

    let mut into = vec![0; BYTES];
    let pulled = bob.pull(ALICE, second, &mut into, 0).unwrap();
    assert_eq!(pulled, Pulled::Upto(0), "the first is still there");
    for (stretch, message) in [first, second].into_iter().zip(&messages) {
        let pulled = bob.pull(ALICE, stretch, &mut into, 0).unwrap();
        assert_eq!((pulled, &into), (Pulled::All, message));
    }
    assert!(alice.free_ring(first.ring));
}

#[test]
fn a_message_that_came_another_way_at_first_goes_on_in_a_ring() {
    let (mut alice, mut bob) = pair(Options::default());
    let message = message(3, BYTES);
    let mut into = vec![0; BYTES];
    into[..1000].copy_from_slice(&message[..1000]);
    let stretch = Stretch {
        skipped: 1000,
        ..stretch(&mut alice, BYTES - 1000)
    };
    assert_eq!(alice.push(stretch, &message, 1000).unwrap(), Pushed::All);
    let pulled = bob.pull(ALICE, stretch, &mut into, 1000).unwrap();
    assert_eq!((pulled, into), (Pulled::All, message));
    assert!(alice.free_ring(stretch.ring));
}

/// Both ways of writing come up: one that is not told to goes by what is quicker.
#[test]
fn more_than_a_ring_holds_goes_through_it_whichever_way_it_is_written() {
    for nontemporal_from in [None, Some(0), Some(usize::MAX)] {
        let (mut alice, mut bob) = pair(Options {
            nontemporal_from,
            ..Options::default()
        });
        for number in 0..3 {
            let bytes = (20 << 20) + number;
            let message = message(number, bytes);
            let mut into = vec![0; bytes];
            let stretch = stretch(&mut alice, bytes);
            let (mut filled, mut emptied) = (0, 0);
            loop {
                if let Pushed::Upto(now) = alice.push(stretch, &message, filled).unwrap() {
                    assert!(now > filled, "there is room");
                    filled = now;
                } else {
                    filled = bytes;
                }
                match bob.pull(ALICE, stretch, &mut into, emptied).unwrap() {
                    Pulled::All => break,
                    Pulled::Upto(now) => emptied = now,
                }
                assert_eq!(emptied, filled);
            }
            assert!(into == message, "message {number}");
            assert!(alice.free_ring(stretch.ring));
        }
    }
}
