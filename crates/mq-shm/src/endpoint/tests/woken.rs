//! Whom an operation wakes. Every sleep ends by itself before long, so that nothing else tells.

use std::sync::Arc;

use super::ends::with_a_box;
use super::*;
use crate::Stretch;
use crate::large::ring::{BUFFER_BYTES, Pulled, Pushed};

type Member = Endpoint<Arc<Heap>>;

/// Whether one that sleeps is woken meanwhile.
fn is_woken_by(sleeper: &Member, operation: impl FnOnce()) -> bool {
    sleeper::lie_down(&sleeper.place, sleeper.fences);
    operation();
    sleeper::is_woken(&sleeper.place)
}

#[test]
fn who_sends_a_message_of_any_length_through_a_box_wakes_the_receiver() {
    let [mut alice, mut bob] = with_a_box();
    let by_queue = alice.counters().by_queue;
    for bytes in [8, 64, 600, 10_000] {
        let message = vec![7; bytes];
        let is_woken = is_woken_by(&bob, || {
            let sent = alice.try_send(bob.me(), [0; 2], &message, 0);
            assert_eq!(sent.unwrap(), Sent::Whole);
        });
        assert!(is_woken, "{bytes} bytes");
        assert!(matches!(bob.poll(), Ok(Some(Arrival::Message(_)))));
    }
    assert_eq!(alice.counters().by_queue, by_queue);
}

#[test]
fn who_rests_sleeps_as_long_as_ever_once_its_ring_is_empty() {
    let [mut alice, mut bob] = with_a_box();
    let message = [7; BUFFER_BYTES];
    let (ring, first) = alice.take_ring(bob.me(), message.len()).unwrap().unwrap();
    let stretch = Stretch {
        owner: alice.me(),
        ring,
        first,
        skipped: 0,
    };
    assert_eq!(alice.push(stretch, &message, 0).unwrap(), Pushed::All);
    let rests = |alice: &mut Member| {
        let mut idle = Idle::default();
        while idle.sleeps() == 0 {
            alice.rest(&mut idle).unwrap();
        }
        alice.rings.busy()
    };
    assert!(rests(&mut alice), "it only naps");
    let mut into = [0; BUFFER_BYTES];
    let pulled = bob.pull(alice.me(), stretch, &mut into, 0);
    assert_eq!(pulled.unwrap(), Pulled::All);
    assert!(!rests(&mut alice));
}

#[test]
fn who_fills_or_empties_a_ring_wakes_the_other() {
    let [mut alice, mut bob] = with_a_box();
    let message = [7; 2 * BUFFER_BYTES];
    let taken = alice.take_ring(bob.me(), message.len()).unwrap();
    let (ring, first) = taken.expect("all are free");
    let stretch = Stretch {
        owner: alice.me(),
        ring,
        first,
        skipped: 0,
    };
    let is_woken = is_woken_by(&bob, || {
        let pushed = alice.push(stretch, &message, 0);
        assert_eq!(pushed.unwrap(), Pushed::All);
    });
    assert!(is_woken, "pushed");
    let is_woken = is_woken_by(&alice, || {
        let pulled = bob.pull(alice.me(), stretch, &mut [0; BUFFER_BYTES], 0);
        assert_eq!(pulled.unwrap(), Pulled::All);
    });
    assert!(is_woken, "pulled");
    let is_woken = is_woken_by(&alice, || {
        let passed = bob.pass(alice.me(), stretch, message.len(), BUFFER_BYTES);
        assert_eq!(passed.unwrap(), Pulled::All);
    });
    assert!(is_woken, "passed");
}
