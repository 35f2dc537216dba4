//! Messages in shared buffers: the only order of their bytes is that of the messages about them.

use super::*;
use crate::{Block, Copied, Remote};

const BYTES: usize = 8;

/// Writes a number over a whole block, as its owner.
fn write(segment: &Heap, block: &Block, number: u64) {
    let at = block.address().as_ptr();
    // SAFETY: the block has this many bytes; if another thread touches them at the same time, the
    // model fails.
    #[allow(unsafe_code, reason = "writes shared memory")]
    segment.chunk(ALICE).write(|| unsafe {
        at.cast::<u64>().write_unaligned(number);
    });
}

/// Says where a block lies, and what is in it.
fn announce(alice: &mut Member, number: u64) {
    let sent = alice.try_send(BOB, [number, 0], &[], 0).unwrap();
    assert_eq!(sent, Sent::Whole);
}

/// The announced number, read from where it is; `None` if there is none.
fn fetch(bob: &mut Member) -> Option<u64> {
    let Arrival::Message(message) = bob.poll().unwrap()? else {
        panic!("nobody has ended")
    };
    let number = message.header()[0];
    drop(message);
    let remote = Remote {
        address: 0,
        bytes: BYTES as u64,
        shared: Some(0),
    };
    let mut into = [0; BYTES];
    // SAFETY: Alice leaves it unchanged until she hears that it was read.
    #[allow(unsafe_code, reason = "vouches for the other end")]
    let read = unsafe { bob.read(ALICE, remote, &mut into) };
    assert_eq!(read.unwrap(), Copied::All);
    assert_eq!(u64::from_ne_bytes(into), number);
    Some(number)
}

fn two_messages_of_one_buffer(policy: Policy) {
    loom::model(move || {
        let segment = segment(2, 2);
        let mut alice = member(&segment, ALICE, policy);
        let mut bob = member(&segment, BOB, policy);
        if policy != Policy::Shared {
            // The first message announces the box; later ones are in the box.
            for (from, to) in [(ALICE, BOB), (BOB, ALICE)] {
                let (sender, receiver) = if from == ALICE {
                    (&mut alice, &mut bob)
                } else {
                    (&mut bob, &mut alice)
                };
                send(sender, to, 0);
                assert_eq!(take(receiver), Some((from, 0)));
                receiver.want(Some(from)).unwrap();
            }
        }
        let block = alice.allocate(BYTES).unwrap();
        let receiving = thread::spawn(move || {
            let mut expected = 1;
            while expected < 3 {
                if let Some(number) = fetch(&mut bob) {
                    assert_eq!(number, expected);
                    send(&mut bob, ALICE, expected);
                    expected += 1;
                } else {
                    thread::yield_now();
                }
            }
            bob
        });
        for number in 1..3 {
            write(&segment, &block, number);
            announce(&mut alice, number);
            assert_eq!(await_message(&mut alice), (BOB, number));
        }
        // It is given back, which writes to it.
        drop(block);
        drop(receiving.join().unwrap());
    });
}

/// CHAIN, SLOT: a buffer is read after it was written and announced, and written again, or given
/// back, after the answer.
#[test]
fn a_shared_buffer_is_written_again_after_the_answer() {
    two_messages_of_one_buffer(Policy::Shared);
}

#[test]
fn a_shared_buffer_is_written_again_after_the_answer_in_a_box() {
    two_messages_of_one_buffer(Policy::AdaptiveShared);
}

/// ESTATE: its owner is killed, and a third process gives the memory back, when nobody reads the
/// buffer any more.
#[test]
fn a_shared_buffer_is_read_before_it_is_given_back() {
    const CAROL: Process = Process(2);
    loom::model(|| {
        let segment = segment(3, 2);
        let mut alice = member(&segment, ALICE, Policy::Shared);
        let mut bob = member(&segment, BOB, Policy::Shared);
        let mut carol = member(&segment, CAROL, Policy::Shared);
        let block = alice.allocate(BYTES).unwrap();
        write(&segment, &block, 5);
        announce(&mut alice, 5);
        send(&mut alice, CAROL, 0);
        liveness::record_end(segment.place(ALICE), Gone::Died);
        let bury = |at: &mut Member| {
            assert!(at.check_peers() > 0);
            let Some(Arrival::Gone(ALICE, Gone::Died)) = at.poll().unwrap() else {
                panic!("she has died")
            };
            at.check_peers();
        };
        let receiving = thread::spawn(move || {
            assert_eq!(fetch(&mut bob), Some(5));
            bury(&mut bob);
            bob
        });
        assert_eq!(take(&mut carol), Some((ALICE, 0)));
        bury(&mut carol);
        let bob = receiving.join().unwrap();
        assert!(segment.given_back().contains(&ALICE));
        drop((bob, carol));
        drop((block, alice));
    });
}
