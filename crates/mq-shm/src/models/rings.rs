//! Messages that share a ring.

use super::*;

/// One buffer more than half of what goes through the ring, so that the second message's is one that was used.
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
        if !self.over {
            match receiver
                .pull(ALICE, self.stretch, &mut self.bytes, self.done)
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
        ring,
        first,
        skipped: 0,
    }
}

/// RING-FILL, RING-EMPTY, and the numbers that keep two messages of one ring apart: both ends try the second one first.
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

/// RING-EMPTY: a sender takes its ring back as soon as the last buffer of the last message to one receiver is empty, and not
/// before, and fills it for another.
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
