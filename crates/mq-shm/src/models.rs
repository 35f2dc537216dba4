//! The edges between processes, each with two or three threads in every interleaving and with every
//! value that a weak memory allows: `ci/loom.sh`. The labels are those of `docs/memory-model.md`.
//!
//! A [`Guarded`](crate::sync::Guarded) that two threads touch without an edge between them fails a
//! model by itself. So does a message that is lost, duplicated or changed, and an order that is not
//! the sender's.

mod buffers;
mod claims;
mod ends;
mod rings;

use std::sync::Arc;

use loom::thread;

use crate::channel::Tuning;
use crate::fastbox::BOX_PAYLOAD;
use crate::ids::Process;
use crate::large::ring::BUFFER_BYTES;
use crate::liveness::{self, Gone};
use crate::segment::{Heap, Memory};
use crate::sleeper::{self, Fences};
use crate::{Arrival, Endpoint, Geometry, Options, Policy, Pulled, Pushed, Sent, Stretch};

type Member = Endpoint<Arc<Heap>>;

const ALICE: Process = Process(0);
const BOB: Process = Process(1);

fn segment(processes: u32, cells: u32) -> Arc<Heap> {
    Heap::new(Geometry::with_cells(processes, cells).unwrap())
}

fn member(segment: &Arc<Heap>, process: Process, policy: Policy) -> Member {
    let tuning = Tuning {
        box_after: 0,
        low_water: 0,
        ..Tuning::default()
    };
    let options = Options {
        policy,
        tuning,
        ..Options::default()
    };
    Endpoint::join(Arc::clone(segment), process, options).unwrap()
}

/// Sends a message that contains its number, until there is room for it.
fn send(from: &mut Member, to: Process, number: u64) {
    send_words(from, to, number, 1);
}

/// Words of a message that is too long for the slots of a box, and takes a cell named in one of
/// them.
const NAMED: usize = BOX_PAYLOAD / 8 + 1;

/// Sends a message that repeats its number this many times; twice is too much for one slot of a
/// box.
fn send_words(from: &mut Member, to: Process, number: u64, words: usize) {
    let content = number.to_ne_bytes().repeat(words);
    while from.try_send(to, [number, 0], &content, 0).unwrap() != Sent::Whole {
        thread::yield_now();
    }
}

/// The sender and number of the next message, if there is one; its content must be right.
fn take(at: &mut Member) -> Option<(Process, u64)> {
    let Arrival::Message(mut message) = at.poll().unwrap()? else {
        panic!("nobody has ended")
    };
    let mut content = [0; NAMED * 8];
    let count = message.copy_to(&mut content);
    assert!([1, 2, NAMED].contains(&(count / 8)) && count % 8 == 0);
    let expected = message.header()[0].to_ne_bytes().repeat(count / 8);
    assert_eq!(content[..count], expected);
    Some((message.source(), message.header()[0]))
}

fn await_message(at: &mut Member) -> (Process, u64) {
    loop {
        match take(at) {
            Some(message) => return message,
            None => thread::yield_now(),
        }
    }
}

/// CHAIN: two senders to one queue. Each one's messages come in its order, whole, once.
#[test]
fn two_senders_meet_at_a_queue() {
    loom::model(|| {
        let segment = segment(3, 2);
        let mut receiver = member(&segment, Process(2), Policy::Shared);
        let senders: Vec<_> = [ALICE, BOB]
            .into_iter()
            .map(|me| {
                let mut sender = member(&segment, me, Policy::Shared);
                let count = if me == ALICE { 2 } else { 1 };
                thread::spawn(move || {
                    for number in 0..count {
                        send(&mut sender, Process(2), number);
                    }
                    sender
                })
            })
            .collect();
        let mut next = [0; 2];
        for _ in 0..3 {
            let (from, number) = await_message(&mut receiver);
            assert_eq!(number, next[from.index()]);
            next[from.index()] += 1;
        }
        assert_eq!(take(&mut receiver), None);
        for sender in senders {
            drop(sender.join().unwrap());
        }
    });
}

/// CHAIN, the other way: a cell that comes back is written again only after it was read.
#[test]
fn a_cell_comes_back_and_is_used_again() {
    loom::model(|| {
        let segment = segment(2, 2);
        let mut receiver = member(&segment, BOB, Policy::Shared);
        let mut sender = member(&segment, ALICE, Policy::Shared);
        let sender = thread::spawn(move || {
            for number in 0..4 {
                send(&mut sender, BOB, number);
            }
            sender
        });
        for number in 0..4 {
            assert_eq!(await_message(&mut receiver), (ALICE, number));
        }
        drop(sender.join().unwrap());
    });
}

/// SLOT and CREDIT: a box of three slots, gone through more than once with messages of one and of
/// two, and the queue when it is full.
#[test]
fn a_box_goes_round() {
    loom::model(|| {
        let segment = segment(2, 4);
        let mut receiver = member(&segment, BOB, Policy::AdaptiveShared);
        let mut sender = member(&segment, ALICE, Policy::AdaptiveShared);
        // The first message announces the box.
        send(&mut sender, BOB, 0);
        assert_eq!(take(&mut receiver), Some((ALICE, 0)));
        receiver.want(Some(ALICE)).unwrap();
        let sender = thread::spawn(move || {
            for number in 1..5 {
                send_words(&mut sender, BOB, number, 1 + number as usize % 2);
            }
            sender
        });
        for number in 1..5 {
            assert_eq!(await_message(&mut receiver), (ALICE, number));
        }
        drop(sender.join().unwrap());
    });
}

/// SLOT and CREDIT, of cells: two cells, named in the slots of a box, one of them twice.
#[test]
fn a_cell_that_a_slot_names_is_used_again() {
    loom::model(|| {
        let segment = segment(2, 2);
        let mut receiver = member(&segment, BOB, Policy::AdaptiveShared);
        let mut sender = member(&segment, ALICE, Policy::AdaptiveShared);
        send(&mut sender, BOB, 0);
        assert_eq!(take(&mut receiver), Some((ALICE, 0)));
        receiver.want(Some(ALICE)).unwrap();
        let sender = thread::spawn(move || {
            for number in 1..4 {
                send_words(&mut sender, BOB, number, NAMED);
            }
            assert_eq!(sender.counters().by_queue, 1);
            sender
        });
        for number in 1..4 {
            assert_eq!(await_message(&mut receiver), (ALICE, number));
        }
        let mut sender = sender.join().unwrap();
        assert_eq!(sender.cells_out().unwrap(), 0);
    });
}

/// SLOT, for a cell that is lent: it goes back and forth, and each writes what the other has read.
#[test]
fn an_answer_is_in_the_cell_of_the_message() {
    loom::model(|| {
        let segment = segment(2, 2);
        let mut alice = member(&segment, ALICE, Policy::AdaptiveShared);
        let mut bob = member(&segment, BOB, Policy::AdaptiveShared);
        // Boxes, and one message each way in a cell that nobody lends, or one of the two.
        for words in [1, NAMED] {
            send_words(&mut alice, BOB, 0, words);
            assert_eq!(take(&mut bob), Some((ALICE, 0)));
            send_words(&mut bob, ALICE, 0, words);
            assert_eq!(take(&mut alice), Some((BOB, 0)));
            alice.want(Some(BOB)).unwrap();
            bob.want(Some(ALICE)).unwrap();
        }
        assert!(alice.has_borrowed(BOB) && !bob.has_borrowed(ALICE));
        let other = thread::spawn(move || {
            for number in 1..3 {
                assert_eq!(await_message(&mut bob), (ALICE, number));
                send_words(&mut bob, ALICE, number, NAMED);
            }
            assert_eq!(bob.cells_out().unwrap(), 0);
            bob
        });
        for number in 1..3 {
            assert!(alice.has_borrowed(BOB));
            send_words(&mut alice, BOB, number, NAMED);
            assert!(!alice.has_borrowed(BOB));
            assert_eq!(await_message(&mut alice), (BOB, number));
        }
        assert_eq!(alice.cells_out().unwrap(), 0);
        drop(other.join().unwrap());
    });
}

/// SLEEP: either `sleeper` sees what `other` does before it sleeps, or `other` sees that it sleeps.
fn nobody_sleeps_through(
    segment: &Arc<Heap>,
    sleeper: Member,
    mut other: Member,
    what: impl FnOnce(&mut Member),
) {
    let me = sleeper.me();
    let shared = Arc::clone(segment);
    let sleeper = thread::spawn(move || {
        sleeper::lie_down(shared.place(me), Fences::Both);
        let seen = sleeper.anything_new();
        (seen, sleeper)
    });
    what(&mut other);
    let (seen, sleeper) = sleeper.join().unwrap();
    assert!(seen || sleeper::is_woken(segment.place(me)));
    drop((sleeper, other));
}

fn nobody_sleeps_through_a_message(policy: Policy, words: usize) {
    loom::model(move || {
        let segment = segment(2, 2);
        let mut receiver = member(&segment, BOB, policy);
        let mut sender = member(&segment, ALICE, policy);
        send(&mut sender, BOB, 0);
        assert_eq!(take(&mut receiver), Some((ALICE, 0)));
        nobody_sleeps_through(&segment, receiver, sender, |sender| {
            send_words(sender, BOB, 1, words);
        });
    });
}

#[test]
fn nobody_sleeps_through_a_message_in_the_queue() {
    nobody_sleeps_through_a_message(Policy::Shared, 1);
}

#[test]
fn nobody_sleeps_through_a_message_in_a_box() {
    nobody_sleeps_through_a_message(Policy::AdaptiveShared, 1);
}

#[test]
fn nobody_sleeps_through_a_message_in_two_slots_of_a_box() {
    nobody_sleeps_through_a_message(Policy::AdaptiveShared, 2);
}

#[test]
fn nobody_sleeps_through_a_message_in_a_named_cell() {
    nobody_sleeps_through_a_message(Policy::AdaptiveShared, NAMED);
}

/// SLEEP, the other way: a sender without a cell does not sleep through one that comes back.
#[test]
fn nobody_sleeps_through_a_cell_that_comes_back() {
    loom::model(|| {
        let segment = segment(2, 2);
        let receiver = member(&segment, BOB, Policy::Shared);
        let mut sender = member(&segment, ALICE, Policy::Shared);
        for number in 0..2 {
            send(&mut sender, BOB, number);
        }
        nobody_sleeps_through(&segment, sender, receiver, |receiver| {
            assert_eq!(take(receiver), Some((ALICE, 0)));
        });
    });
}

/// The same with a cell that a slot named.
#[test]
fn nobody_sleeps_through_a_named_cell_that_comes_back() {
    loom::model(|| {
        let segment = segment(2, 2);
        let mut receiver = member(&segment, BOB, Policy::AdaptiveShared);
        let mut sender = member(&segment, ALICE, Policy::AdaptiveShared);
        send(&mut sender, BOB, 0);
        assert_eq!(take(&mut receiver), Some((ALICE, 0)));
        assert_eq!(sender.cells_out().unwrap(), 0);
        for number in 1..3 {
            send_words(&mut sender, BOB, number, NAMED);
        }
        nobody_sleeps_through(&segment, sender, receiver, |receiver| {
            assert_eq!(take(receiver), Some((ALICE, 1)));
        });
    });
}

/// SLEEP: nor through the end of a process that it waits for.
#[test]
fn nobody_sleeps_through_an_end() {
    loom::model(|| {
        let segment = segment(2, 2);
        let mut receiver = member(&segment, BOB, Policy::Shared);
        let sender = member(&segment, ALICE, Policy::Shared);
        receiver.want(Some(ALICE)).unwrap();
        nobody_sleeps_through(&segment, receiver, sender, |_| {
            liveness::record_end(segment.place(ALICE), Gone::Left);
            sleeper::wake(segment.place(BOB), Fences::Both);
        });
    });
}

/// JOIN and CHAIN: a receiver ends somewhere between taking and returning cells. The owner gets
/// each back once.
#[test]
fn cells_of_an_owner_outlive_their_receiver() {
    loom::model(|| {
        let segment = segment(2, 2);
        let mut receiver = member(&segment, BOB, Policy::Shared);
        let mut sender = member(&segment, ALICE, Policy::Shared);
        for number in 0..2 {
            send(&mut sender, BOB, number);
        }
        let shared = Arc::clone(&segment);
        let receiver = thread::spawn(move || {
            // One is returned, the receiver holds the other.
            assert_eq!(take(&mut receiver), Some((ALICE, 0)));
            liveness::record_end(shared.place(BOB), Gone::Died);
            receiver
        });
        while sender.check_peers() == 0 {
            thread::yield_now();
        }
        let Some(Arrival::Gone(BOB, Gone::Died)) = sender.poll().unwrap() else {
            panic!()
        };
        // None comes back a second time.
        assert_eq!(sender.cells_out().unwrap(), 0);
        let mut free = sender.free_cells();
        free.sort_unstable();
        assert_eq!(free, [0, 1]);
        drop(receiver.join().unwrap());
    });
}

/// The same with cells that slots name, of which one is read and one is not.
#[test]
fn named_cells_outlive_their_receiver() {
    loom::model(|| {
        let segment = segment(2, 2);
        let mut receiver = member(&segment, BOB, Policy::AdaptiveShared);
        let mut sender = member(&segment, ALICE, Policy::AdaptiveShared);
        send(&mut sender, BOB, 0);
        assert_eq!(take(&mut receiver), Some((ALICE, 0)));
        assert_eq!(sender.cells_out().unwrap(), 0);
        for number in 1..3 {
            send_words(&mut sender, BOB, number, NAMED);
        }
        let shared = Arc::clone(&segment);
        let receiver = thread::spawn(move || {
            assert_eq!(take(&mut receiver), Some((ALICE, 1)));
            liveness::record_end(shared.place(BOB), Gone::Died);
            receiver
        });
        while sender.check_peers() == 0 {
            thread::yield_now();
        }
        let Some(Arrival::Gone(BOB, Gone::Died)) = sender.poll().unwrap() else {
            panic!()
        };
        assert_eq!(sender.cells_out().unwrap(), 0);
        let mut free = sender.free_cells();
        free.sort_unstable();
        assert_eq!(free, [0, 1]);
        drop(receiver.join().unwrap());
    });
}

/// JOIN: a process that is seen to have left has sent everything that it sent.
#[test]
fn the_last_words_of_a_process_arrive() {
    for policy in [Policy::Shared, Policy::AdaptiveShared] {
        loom::model(move || {
            let segment = segment(2, 2);
            let mut receiver = member(&segment, BOB, policy);
            let mut sender = member(&segment, ALICE, policy);
            send(&mut sender, BOB, 0);
            assert_eq!(take(&mut receiver), Some((ALICE, 0)));
            let receiver = thread::spawn(move || {
                // Looked for once: seen to have left or not, in that order.
                if receiver.check_peers() > 0 {
                    assert_eq!(take(&mut receiver), Some((ALICE, 1)));
                    let gone = receiver.poll().unwrap();
                    assert!(matches!(gone, Some(Arrival::Gone(ALICE, Gone::Left))));
                }
            });
            send(&mut sender, BOB, 1);
            drop(sender);
            receiver.join().unwrap();
        });
    }
}

/// RING-FILL and RING-EMPTY: more buffers than the ring has.
#[test]
fn a_ring_goes_round() {
    const BYTES: usize = BUFFER_BYTES * 3 + 1;
    loom::model(|| {
        let segment = segment(2, 2);
        let mut receiver = member(&segment, BOB, Policy::Shared);
        let mut sender = member(&segment, ALICE, Policy::Shared);
        let message: Vec<u8> = (0..BYTES as u8).collect();
        let (ring, first) = sender.take_ring(BOB, BYTES).unwrap().unwrap();
        let stretch = Stretch {
            owner: ALICE,
            ring,
            first,
            skipped: 0,
        };
        let sender = thread::spawn({
            let message = message.clone();
            move || {
                let mut done = 0;
                while let Pushed::Upto(now) = sender.push(stretch, &message, done).unwrap() {
                    done = now;
                    thread::yield_now();
                }
                sender
            }
        });
        let (mut done, mut received) = (0, vec![0; BYTES]);
        while let Pulled::Upto(now) = receiver.pull(ALICE, stretch, &mut received, done).unwrap() {
            done = now;
            thread::yield_now();
        }
        assert_eq!(received, message);
        let mut sender = sender.join().unwrap();
        assert!(sender.free_ring(ring));
    });
}
