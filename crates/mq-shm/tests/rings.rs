//! Large messages through a ring: one after another, and more than it has room for.
#![allow(unsafe_code, reason = "vouches for stretches")]

use std::sync::Arc;

use mq_shm::liveness::Gone;
use mq_shm::{
    Arrival, Endpoint, Geometry, Heap, Options, Process, Pulled, Pushed, RingId, Sent, ShmError,
    Stretch,
};

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
    of_alice(sender.take_ring(BOB, bytes).unwrap().unwrap(), 0)
}

fn of_alice((ring, first): (RingId, u64), skipped: usize) -> Stretch {
    // SAFETY: both ends are of one thread.
    unsafe { Stretch::new(ALICE, ring, first, skipped) }
}

/// Of Alice's, for a message to her.
fn lent(alice: &mut Member, bytes: usize) -> Option<Stretch> {
    Some(of_alice(alice.lend_ring(BOB, bytes)?, 0))
}

fn push(sender: &mut Member, stretch: Stretch, message: &[u8]) {
    push_from(sender, stretch, message, 0);
}

fn push_from(sender: &mut Member, stretch: Stretch, message: &[u8], done: usize) {
    assert_eq!(sender.push(stretch, message, done).unwrap(), Pushed::All);
}

fn pull(receiver: &mut Member, from: Process, stretch: Stretch, message: &[u8]) {
    let mut into = vec![0; message.len()];
    let pulled = receiver.pull(from, stretch, &mut into, 0).unwrap();
    assert_eq!(pulled, Pulled::All);
    assert!(into == message, "a message through {stretch:?}");
}

#[test]
fn messages_share_a_ring_in_their_order() {
    let (mut alice, mut bob) = pair(Options::default());
    let messages = [message(0, BYTES), message(1, BYTES)];
    let first = stretch(&mut alice, BYTES);
    let second = stretch(&mut alice, BYTES);
    assert_eq!((first.ring(), second.ring()), (RingId(0), RingId(0)));

    let pushed = alice.push(second, &messages[1], 0).unwrap();
    assert_eq!(pushed, Pushed::Upto(0), "the first is not there yet");
    for (stretch, message) in [first, second].into_iter().zip(&messages) {
        assert_eq!(alice.push(stretch, message, 0).unwrap(), Pushed::All);
    }
    assert!(!alice.free_ring(first.ring()));

    let mut into = vec![0; BYTES];
    let pulled = bob.pull(ALICE, second, &mut into, 0).unwrap();
    assert_eq!(pulled, Pulled::Upto(0), "the first is still there");
    for (stretch, message) in [first, second].into_iter().zip(&messages) {
        let pulled = bob.pull(ALICE, stretch, &mut into, 0).unwrap();
        assert_eq!((pulled, &into), (Pulled::All, message));
    }
    assert!(alice.free_ring(first.ring()));
}

#[test]
fn a_message_that_came_another_way_at_first_goes_on_in_a_ring() {
    let (mut alice, mut bob) = pair(Options::default());
    let message = message(3, BYTES);
    let mut into = vec![0; BYTES];
    into[..1000].copy_from_slice(&message[..1000]);
    let given = alice.take_ring(BOB, BYTES - 1000).unwrap().unwrap();
    let stretch = of_alice(given, 1000);
    assert_eq!(alice.push(stretch, &message, 1000).unwrap(), Pushed::All);
    let pulled = bob.pull(ALICE, stretch, &mut into, 1000).unwrap();
    assert_eq!((pulled, into), (Pulled::All, message));
    assert!(alice.free_ring(stretch.ring()));
}

/// Both ways of writing come up: one that is not told to goes by what is quicker.
#[test]
fn more_than_a_ring_holds_goes_through_it_whichever_way_it_is_written() {
    for nontemporal_from in [None, Some(0), Some(usize::MAX)] {
        let (mut alice, mut bob) =
            pair(Options::default().with(|o| o.nontemporal_from = nontemporal_from));
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
            assert!(alice.free_ring(stretch.ring()));
        }
    }
}

#[test]
fn an_answer_goes_through_the_ring_of_the_message_and_begins_where_that_began() {
    let (mut alice, mut bob) = pair(Options::default());
    assert_eq!(lent(&mut alice, BYTES), None, "nothing has led there");
    for number in 0..30 {
        let there = stretch(&mut alice, BYTES);
        assert_eq!(lent(&mut alice, BYTES), None, "it is not empty");
        push(&mut alice, there, &message(number, BYTES));
        pull(&mut bob, ALICE, there, &message(number, BYTES));
        let back = lent(&mut alice, BYTES).unwrap();
        assert_eq!(back.ring(), there.ring());
        assert_eq!((back.first() - there.first()) % 64, 0);
        assert!(!alice.free_ring(back.ring()));
        push(&mut bob, back, &message(number + 100, BYTES));
        pull(&mut alice, BOB, back, &message(number + 100, BYTES));
        assert!(alice.free_ring(back.ring()));
    }
}

#[test]
fn the_higher_of_two_lends_nothing() {
    let (_alice, mut bob) = pair(Options::default());
    assert!(bob.take_ring(ALICE, BYTES).unwrap().is_some());
    assert!(bob.free_ring(RingId(1)), "of another nothing is known");
    assert_eq!(bob.lend_ring(ALICE, BYTES), None);
    assert_eq!(bob.lend_ring(BOB, BYTES), None);
}

#[test]
fn messages_share_a_ring_that_is_lent_and_one_the_other_way_comes_behind_them() {
    let (mut alice, mut bob) = pair(Options::default());
    let there = stretch(&mut alice, BYTES);
    push(&mut alice, there, &message(0, BYTES));
    pull(&mut bob, ALICE, there, &message(0, BYTES));
    let first = lent(&mut alice, BYTES).unwrap();
    let second = lent(&mut alice, BYTES).unwrap();
    let own = stretch(&mut alice, BYTES);
    assert_eq!((first.ring(), own.ring()), (second.ring(), second.ring()));
    assert_eq!(lent(&mut alice, BYTES), None, "one the other way waits");
    let content = message(1, BYTES);
    assert_eq!(alice.push(own, &content, 0).unwrap(), Pushed::Upto(0));
    assert_eq!(bob.push(second, &content, 0).unwrap(), Pushed::Upto(0));
    push(&mut bob, first, &message(2, BYTES));
    push(&mut bob, second, &message(3, BYTES));
    push(&mut alice, own, &message(4, BYTES));
    let mut into = vec![0; BYTES];
    let pulled = bob.pull(ALICE, own, &mut into, 0).unwrap();
    assert_eq!(pulled, Pulled::Upto(0));
    pull(&mut alice, BOB, first, &message(2, BYTES));
    pull(&mut alice, BOB, second, &message(3, BYTES));
    assert!(!alice.free_ring(own.ring()));
    pull(&mut bob, ALICE, own, &message(4, BYTES));
    assert!(alice.free_ring(own.ring()));
}

/// What the receiver has not asked for.
fn ahead(sender: &mut Member, to: Process, bytes: usize) -> Option<Stretch> {
    Some(of_alice(sender.take_ring_with_room(to, bytes)?, 0))
}

#[test]
fn what_is_not_asked_for_goes_where_a_ring_has_room_for_all_of_it() {
    const RING: usize = 1 << 20;
    let (mut alice, mut bob) = pair(Options::default());
    assert_eq!(ahead(&mut alice, BOB, BYTES), None, "nothing has led there");
    let first = stretch(&mut alice, BYTES);
    // Of ten buffers the last is not full.
    let rest = ahead(&mut alice, BOB, RING - 10 * 4096).unwrap();
    assert_eq!(
        (rest.ring(), rest.first()),
        (first.ring(), first.first() + 10)
    );
    assert_eq!(ahead(&mut alice, BOB, 1), None, "all is promised");
    push(&mut alice, first, &message(0, BYTES));
    assert_eq!(ahead(&mut alice, BOB, 1), None, "it is not empty");
    pull(&mut bob, ALICE, first, &message(0, BYTES));
    assert_eq!(ahead(&mut alice, BOB, BYTES + 4096), None);
    let again = ahead(&mut alice, BOB, BYTES).unwrap();
    for (number, stretch, bytes) in [(1, rest, RING - 10 * 4096), (2, again, BYTES)] {
        push(&mut alice, stretch, &message(number, bytes));
        pull(&mut bob, ALICE, stretch, &message(number, bytes));
    }
    let lent = lent(&mut alice, BYTES).unwrap();
    assert_eq!(ahead(&mut alice, BOB, BYTES), None, "it is the other's");
    push(&mut bob, lent, &message(3, BYTES));
    pull(&mut alice, BOB, lent, &message(3, BYTES));
    assert!(ahead(&mut alice, BOB, BYTES).is_some());
}

/// One whose rings have led to one of the others each, and are empty.
fn alice_and_four() -> (Member, Vec<Member>) {
    let segment = Heap::new(Geometry::new(5).unwrap());
    let join = |me| Endpoint::join(segment.clone(), Process(me), Options::default()).unwrap();
    let mut alice = join(0);
    let mut others: Vec<Member> = (1..5).map(join).collect();
    let rings: Vec<Stretch> = (1..5)
        .map(|to| of_alice(alice.take_ring(Process(to), 1).unwrap().unwrap(), 0))
        .collect();
    for (other, &stretch) in others.iter_mut().zip(&rings) {
        push(&mut alice, stretch, b"x");
        pull(other, ALICE, stretch, b"x");
        assert!(alice.free_ring(stretch.ring()));
    }
    (alice, others)
}

#[test]
fn the_last_ring_is_for_those_who_ask() {
    let (mut alice, mut others) = alice_and_four();
    for to in 1..4 {
        assert!(ahead(&mut alice, Process(to), 1).is_some());
    }
    assert_eq!(ahead(&mut alice, Process(4), 1), None);
    assert!(ahead(&mut alice, Process(3), 1).is_some(), "another is");
    let asked = of_alice(alice.take_ring(Process(4), 1).unwrap().unwrap(), 0);
    assert_eq!(ahead(&mut alice, Process(4), 1), None, "what was asked for");
    push(&mut alice, asked, b"x");
    pull(&mut others[3], ALICE, asked, b"x");
    // Nobody has taken the ring back yet.
    assert_eq!(ahead(&mut alice, Process(4), 1), None, "it is the only one");
    assert!(
        ahead(&mut alice, Process(3), 1).is_some(),
        "another is empty"
    );
}

#[test]
fn a_ring_that_is_empty_leads_to_whoever_asks() {
    let segment = Heap::new(Geometry::new(6).unwrap());
    let join = |me| Endpoint::join(segment.clone(), Process(me), Options::default()).unwrap();
    let mut alice = join(0);
    let mut others: Vec<Member> = (1..6).map(join).collect();
    let rings: Vec<Stretch> = (1..5)
        .map(|to| of_alice(alice.take_ring(Process(to), BYTES).unwrap().unwrap(), 0))
        .collect();
    let last = Process(5);
    for (at, &stretch) in rings.iter().enumerate() {
        push(&mut alice, stretch, &message(at, BYTES));
    }
    assert_eq!(alice.take_ring(last, 1).unwrap(), None, "all are in use");
    pull(&mut others[2], ALICE, rings[2], &message(2, BYTES));
    let taken = alice.take_ring(last, BYTES).unwrap();
    let taken = of_alice(taken.expect("one is empty"), 0);
    assert_eq!(taken.ring(), rings[2].ring());
    push(&mut alice, taken, &message(5, BYTES));
    pull(&mut others[4], ALICE, taken, &message(5, BYTES));
    for at in [0, 1, 3] {
        pull(&mut others[at], ALICE, rings[at], &message(at, BYTES));
    }
}

#[test]
fn what_has_no_bytes_is_pushed_though_its_ring_was_taken_back() {
    let (mut alice, _bob) = pair(Options::default());
    let nothing = stretch(&mut alice, 0);
    assert!(alice.free_ring(nothing.ring()));
    push(&mut alice, nothing, &[]);
}

#[test]
fn the_last_ring_is_not_lent() {
    let (mut alice, _others) = alice_and_four();
    let lent: Vec<bool> = (1..5)
        .map(|from| alice.lend_ring(Process(from), 1).is_some())
        .collect();
    assert_eq!(lent, [true, true, true, false]);
    // Whoever lends none asks, and whoever is asked has one.
    assert!(alice.take_ring(Process(4), 1).unwrap().is_some());
}

#[test]
fn what_is_not_wanted_is_passed() {
    let (mut alice, mut bob) = pair(Options::default());
    for read in [0, 1, 4096, 5000, BYTES - 1, BYTES] {
        let there = stretch(&mut alice, BYTES);
        let next = stretch(&mut alice, BYTES);
        let mut into = vec![0; read];
        if read > 0 {
            push(&mut alice, there, &message(0, BYTES)[..8192]);
            let pulled = bob.pull(ALICE, there, &mut into, 0).unwrap();
            assert_eq!(pulled == Pulled::All, read <= 8192);
        }
        let before = if read > 0 { 8192 } else { 0 };
        push_from(&mut alice, there, &message(0, BYTES), before);
        push(&mut alice, next, &message(1, BYTES));
        if read > 8192 {
            let pulled = bob.pull(ALICE, there, &mut into, 8192).unwrap();
            assert_eq!(pulled, Pulled::All);
        }
        assert!(into == message(0, BYTES)[..read]);
        assert_eq!(bob.pass(ALICE, there, BYTES, read).unwrap(), Pulled::All);
        pull(&mut bob, ALICE, next, &message(1, BYTES));
        assert!(alice.free_ring(there.ring()));
    }
}

#[test]
fn what_came_another_way_at_first_need_not_be_passed() {
    const SKIPPED: usize = 10_000;
    let (mut alice, mut bob) = pair(Options::default());
    let given = alice.take_ring(BOB, BYTES - SKIPPED).unwrap().unwrap();
    let there = of_alice(given, SKIPPED);
    push_from(
        &mut alice,
        there,
        &message(0, BYTES)[..SKIPPED + 4096],
        SKIPPED,
    );
    // Nothing of it was wanted, not even what came the other way.
    let passed = bob.pass(ALICE, there, BYTES, 0).unwrap();
    assert_eq!(passed, Pulled::Upto(SKIPPED + 4096));
    push_from(&mut alice, there, &message(0, BYTES), SKIPPED + 4096);
    let passed = bob.pass(ALICE, there, BYTES, SKIPPED + 4096).unwrap();
    assert_eq!(passed, Pulled::All);
    assert!(alice.free_ring(there.ring()));
}

#[test]
fn what_has_not_come_yet_is_passed_later() {
    let (mut alice, mut bob) = pair(Options::default());
    let there = stretch(&mut alice, BYTES);
    assert_eq!(bob.pass(ALICE, there, BYTES, 0).unwrap(), Pulled::Upto(0));
    push(&mut alice, there, &message(0, BYTES)[..8192]);
    let passed = bob.pass(ALICE, there, BYTES, 0).unwrap();
    assert_eq!(passed, Pulled::Upto(8192));
    push_from(&mut alice, there, &message(0, BYTES), 8192);
    assert_eq!(bob.pass(ALICE, there, BYTES, 8192).unwrap(), Pulled::All);
    assert!(alice.free_ring(there.ring()));
    let none = of_alice((RingId(4), 0), 0);
    let passed = bob.pass(ALICE, none, BYTES, 0);
    assert!(matches!(
        passed,
        Err(ShmError::Corrupt { process: ALICE, .. })
    ));
}

/// The death of the other is reported, with what it had put into the ring still there.
#[test]
fn a_ring_that_was_lent_to_one_that_ends_is_read_and_free_again() {
    let (mut alice, mut bob) = pair(Options::default());
    let there = stretch(&mut alice, BYTES);
    push(&mut alice, there, &message(0, BYTES));
    pull(&mut bob, ALICE, there, &message(0, BYTES));
    assert_eq!(
        bob.try_send(ALICE, [0, 0], b"more", 0).unwrap(),
        Sent::Whole
    );
    let whole = lent(&mut alice, BYTES).unwrap();
    let part = lent(&mut alice, BYTES).unwrap();
    push(&mut bob, whole, &message(1, BYTES));
    drop(bob);
    alice.want(None).unwrap();
    assert_eq!(alice.check_peers(), 1);
    assert!(matches!(alice.poll().unwrap(), Some(Arrival::Message(_))));
    assert!(matches!(
        alice.poll().unwrap(),
        Some(Arrival::Gone(BOB, Gone::Left))
    ));
    assert!(!alice.free_ring(whole.ring()));
    pull(&mut alice, BOB, whole, &message(1, BYTES));
    let mut into = vec![0; BYTES];
    let pulled = alice.pull(BOB, part, &mut into, 0).unwrap();
    assert_eq!(pulled, Pulled::Upto(0));
    alice.check_peers();
    assert!(alice.pull(BOB, part, &mut into, 0).is_err());
    assert!(alice.free_ring(whole.ring()));
}

#[test]
fn nothing_is_put_into_a_ring_of_one_that_has_ended() {
    let (mut alice, mut bob) = pair(Options::default());
    assert_eq!(
        alice.try_send(BOB, [0, 0], b"mine", 0).unwrap(),
        Sent::Whole
    );
    let there = stretch(&mut alice, BYTES);
    push(&mut alice, there, &message(0, BYTES));
    pull(&mut bob, ALICE, there, &message(0, BYTES));
    let back = lent(&mut alice, BYTES).unwrap();
    drop(alice);
    bob.want(None).unwrap();
    assert_eq!(bob.check_peers(), 1);
    let pushed = bob.push(back, &message(1, BYTES), 0);
    assert!(
        matches!(pushed, Err(ShmError::Gone { process: ALICE, .. })),
        "{pushed:?}"
    );
}

#[test]
fn a_ring_that_there_is_not_is_refused() {
    let (mut alice, mut bob) = pair(Options::default());
    let mut into = [0; 100];
    let (_, first) = alice.take_ring(BOB, 100).unwrap().unwrap();
    // SAFETY: both ends are of one thread.
    let of = |owner, ring| unsafe { Stretch::new(owner, ring, first, 0) };
    for bad in [of(ALICE, RingId(4)), of(Process(2), RingId(0))] {
        assert!(bob.push(bad, &into, 0).is_err(), "{bad:?}");
    }
    let pushed = alice.push(of(ALICE, RingId(4)), &into, 0);
    assert!(matches!(
        pushed,
        Err(ShmError::Corrupt { process: ALICE, .. })
    ));
    let pulled = alice.pull(BOB, of(Process(2), RingId(0)), &mut into, 0);
    assert!(matches!(
        pulled,
        Err(ShmError::Corrupt { process: BOB, .. })
    ));
}

#[test]
fn a_ring_whose_other_end_is_no_more_says_who_that_was() {
    let (mut alice, mut bob) = pair(Options::default());
    let there = stretch(&mut alice, BYTES);
    push(&mut alice, there, &message(0, BYTES));
    pull(&mut bob, ALICE, there, &message(0, BYTES));
    let more = stretch(&mut alice, BYTES);
    drop(bob);
    alice.want(None).unwrap();
    assert_eq!(alice.check_peers(), 1);
    assert!(matches!(
        alice.poll().unwrap(),
        Some(Arrival::Gone(BOB, Gone::Left))
    ));
    alice.check_peers();
    let error = alice.push(more, &message(1, BYTES), 0).unwrap_err();
    assert_eq!(error.to_string(), "process 1 has left");
}
