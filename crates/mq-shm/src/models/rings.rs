//! Messages that share a ring.
#![allow(unsafe_code, reason = "touches a ring's buffers")]

use super::*;
use crate::large::ring::Share;

/// One buffer more than half of what goes through the ring, so that the second message has a reused
/// buffer.
const FIRST: usize = BUFFER_BYTES + 1;
const SECOND: usize = BUFFER_BYTES;

/// What goes one way through a ring, in the bytes of one message.
struct Way {
    stretch: Stretch,
    bytes: Vec<u8>,
    done: usize,
    over: bool,
}

impl Way {
    fn new(stretch: Stretch, bytes: Vec<u8>) -> Self {
        let (done, over) = (0, false);
        Self {
            stretch,
            bytes,
            done,
            over,
        }
    }

    fn push(&mut self, sender: &mut Member) {
        if !self.over {
            match sender.push(self.stretch, &self.bytes, self.done).unwrap() {
                Pushed::All => self.over = true,
                Pushed::Upto(done) => self.done = done,
            }
        }
    }

    fn pull(&mut self, receiver: &mut Member) {
        self.pull_from(receiver, ALICE);
    }

    fn pull_from(&mut self, receiver: &mut Member, sender: Process) {
        if !self.over {
            match receiver
                .pull(sender, self.stretch, &mut self.bytes, self.done)
                .unwrap()
            {
                Pulled::All => self.over = true,
                Pulled::Upto(done) => self.done = done,
            }
        }
    }
}

fn message(first: u8, bytes: usize) -> Vec<u8> {
    (first..).take(bytes).collect()
}

fn stretch(sender: &mut Member, to: Process, bytes: usize) -> Stretch {
    let (ring, first) = sender.take_ring(to, bytes).unwrap().unwrap();
    Stretch {
        owner: sender.me(),
        ring,
        first,
        skipped: 0,
    }
}

fn lend(receiver: &mut Member, from: Process, bytes: usize) -> Stretch {
    let (ring, first) = receiver.lend_ring(from, bytes).unwrap();
    Stretch {
        owner: receiver.me(),
        ring,
        first,
        skipped: 0,
    }
}

/// RING-FILL, RING-EMPTY, and the numbers that keep two messages of one ring apart: both ends try
/// the second message first.
#[test]
fn two_messages_share_a_ring() {
    loom::model(|| {
        let segment = segment(2, 2);
        let mut receiver = member(&segment, BOB, Policy::Shared);
        let mut sender = member(&segment, ALICE, Policy::Shared);
        let first = stretch(&mut sender, BOB, FIRST);
        let second = stretch(&mut sender, BOB, SECOND);
        assert_eq!((first.ring, first.first), (second.ring, 0));
        let sending = thread::spawn(move || {
            let mut first = Way::new(first, message(1, FIRST));
            let mut second = Way::new(second, message(101, SECOND));
            loop {
                second.push(&mut sender);
                first.push(&mut sender);
                if first.over && second.over {
                    return sender;
                }
                thread::yield_now();
            }
        });
        let mut one = Way::new(first, vec![0; FIRST]);
        let mut other = Way::new(second, vec![0; SECOND]);
        loop {
            other.pull(&mut receiver);
            assert!(one.over || other.done == 0, "it comes after the first");
            one.pull(&mut receiver);
            if one.over && other.over {
                break;
            }
            thread::yield_now();
        }
        assert_eq!(one.bytes, message(1, FIRST));
        assert_eq!(other.bytes, message(101, SECOND));
        let mut sender = sending.join().unwrap();
        assert!(sender.free_ring(second.ring));
    });
}

/// RING-EMPTY: a sender takes its ring back as soon as the last buffer of the last message to one
/// receiver is empty, and not before, and fills it for another.
#[test]
fn a_ring_passes_to_another_receiver() {
    const CAROL: Process = Process(2);
    loom::model(|| {
        let segment = segment(3, 2);
        let mut bob = member(&segment, BOB, Policy::Shared);
        let mut alice = member(&segment, ALICE, Policy::Shared);
        let to_bob = [
            stretch(&mut alice, BOB, BUFFER_BYTES),
            stretch(&mut alice, BOB, BUFFER_BYTES),
        ];
        for (number, stretch) in (0..).zip(to_bob) {
            assert!(!alice.free_ring(stretch.ring), "more is promised");
            Way::new(stretch, message(number, BUFFER_BYTES)).push(&mut alice);
        }
        let receiving = thread::spawn(move || {
            for (number, stretch) in (0..).zip(to_bob) {
                let mut way = Way::new(stretch, vec![0; BUFFER_BYTES]);
                way.pull(&mut bob);
                assert!(way.over);
                assert_eq!(way.bytes, message(number, BUFFER_BYTES));
            }
            bob
        });
        while !alice.free_ring(to_bob[0].ring) {
            thread::yield_now();
        }
        let to_carol = stretch(&mut alice, CAROL, BUFFER_BYTES);
        assert_eq!(to_carol.ring, to_bob[0].ring);
        Way::new(to_carol, message(9, BUFFER_BYTES)).push(&mut alice);
        let mut carol = member(&segment, CAROL, Policy::Shared);
        let mut way = Way::new(to_carol, vec![0; BUFFER_BYTES]);
        way.pull(&mut carol);
        assert!(way.over);
        assert_eq!(way.bytes, message(9, BUFFER_BYTES));
        drop(receiving.join().unwrap());
    });
}

/// RING-FILL and RING-EMPTY, the other way: an answer through the ring of the message, which its
/// owner lends.
#[test]
fn an_answer_goes_through_the_ring_of_the_message() {
    an_answer_to(FIRST);
}

/// The same with a message that fills half of the ring: the counts move on when it is lent, while the other
/// process looks at them.
#[test]
fn an_answer_goes_through_a_ring_whose_counts_move_on() {
    an_answer_to(SECOND);
}

fn an_answer_to(bytes: usize) {
    loom::model(move || {
        let segment = segment(2, 2);
        let mut alice = member(&segment, ALICE, Policy::Shared);
        let mut bob = member(&segment, BOB, Policy::Shared);
        let there = stretch(&mut alice, BOB, bytes);
        let answering = thread::spawn(move || {
            let mut way = Way::new(there, vec![0; bytes]);
            while !way.over {
                way.pull(&mut bob);
                thread::yield_now();
            }
            assert_eq!(way.bytes, message(1, bytes));
            send(&mut bob, ALICE, 0);
            let (_, first) = await_message(&mut bob);
            let mut way = Way::new(Stretch { first, ..there }, message(101, SECOND));
            while !way.over {
                way.push(&mut bob);
                thread::yield_now();
            }
            bob
        });
        let mut way = Way::new(there, message(1, bytes));
        while !way.over {
            way.push(&mut alice);
            thread::yield_now();
        }
        await_message(&mut alice);
        let back = lend(&mut alice, BOB, SECOND);
        assert_eq!((back.ring, back.first % 2), (there.ring, there.first % 2));
        send(&mut alice, BOB, back.first);
        let mut way = Way::new(back, vec![0; SECOND]);
        while !way.over {
            way.pull_from(&mut alice, BOB);
            thread::yield_now();
        }
        assert_eq!(way.bytes, message(101, SECOND));
        drop(answering.join().unwrap());
        assert!(alice.free_ring(there.ring));
    });
}

/// A message goes into the ring that was lent, after the one that comes from there.
#[test]
fn both_ways_meet_in_a_ring() {
    loom::model(|| {
        let segment = segment(2, 2);
        let mut alice = member(&segment, ALICE, Policy::Shared);
        let mut bob = member(&segment, BOB, Policy::Shared);
        let mut before = Way::new(stretch(&mut alice, BOB, 1), message(0, 1));
        before.push(&mut alice);
        Way::new(before.stretch, vec![0; 1]).pull(&mut bob);
        assert!(alice.free_ring(before.stretch.ring));
        let lent = lend(&mut alice, BOB, SECOND);
        let own = stretch(&mut alice, BOB, SECOND);
        assert_eq!(own.first, lent.first + 1);
        let other = thread::spawn(move || {
            let mut pushing = Way::new(lent, message(1, SECOND));
            let mut pulling = Way::new(own, vec![0; SECOND]);
            pushing.push(&mut bob);
            assert!(pushing.over);
            while !pulling.over {
                pulling.pull(&mut bob);
                thread::yield_now();
            }
            assert_eq!(pulling.bytes, message(101, SECOND));
            bob
        });
        let mut pushing = Way::new(own, message(101, SECOND));
        let mut pulling = Way::new(lent, vec![0; SECOND]);
        while !pushing.over {
            pushing.push(&mut alice);
            thread::yield_now();
        }
        pulling.pull_from(&mut alice, BOB);
        assert!(pulling.over);
        assert_eq!(pulling.bytes, message(1, SECOND));
        drop(other.join().unwrap());
        assert!(alice.free_ring(lent.ring));
    });
}

/// RING-TURN: one fills a buffer after the other's, and empties that one. Without endpoints, whose
/// fences would order it too.
#[test]
fn a_buffer_before_the_own_is_read_after_it_was_filled() {
    loom::model(|| {
        let segment = segment(2, 2);
        let shared = Arc::clone(&segment);
        let other = thread::spawn(move || {
            let ring = shared.ring(ALICE, 0);
            let share = Share::to_fill(0, ring.free_after(0), 0, BUFFER_BYTES, false).unwrap();
            // SAFETY: any bytes are its content; the model shows that nothing else touches it.
            ring.with_mut(share, BUFFER_BYTES, |to, _, len| unsafe {
                to.write_bytes(1, len);
            });
            ring.publish_filled(share.end());
        });
        let ring = segment.ring(ALICE, 0);
        while ring.free_after(1) == 0 {
            thread::yield_now();
        }
        ring.publish_filled(2);
        let share = Share::to_empty(0, ring.full_after(0), BUFFER_BYTES).unwrap();
        // SAFETY: as above.
        ring.with(share, BUFFER_BYTES, |from, _, _| unsafe {
            assert_eq!(from.read(), 1);
        });
        other.join().unwrap();
    });
}
