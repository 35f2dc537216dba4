//! Messages to a process whose fastbox is full.

use std::sync::Arc;

use super::*;
use crate::channel::Tuning;

/// One with a fastbox to the other, which is full.
fn with_a_full_box(patience: Patience) -> (Endpoint<Arc<Heap>>, Endpoint<Arc<Heap>>) {
    let options = Options {
        patience: Some(patience),
        tuning: Tuning::default().with(|tuning| tuning.box_after = 0),
        ..Options::default()
    };
    let segment = Heap::new(Geometry::new(2).unwrap());
    let mut alice = Endpoint::join(segment.clone(), Process(0), options).unwrap();
    let bob = Endpoint::join(segment, Process(1), options).unwrap();
    // The first goes through the queue and opens the box.
    for _ in 0..31 {
        assert_eq!(send_short(&mut alice), Sent::Whole);
    }
    assert_eq!(
        (alice.counters().by_box(), alice.counters().by_queue),
        (30, 1)
    );
    (alice, bob)
}

fn send_short(alice: &mut Endpoint<Arc<Heap>>) -> Sent {
    alice.try_send(Process(1), [0; 2], b"short", 0).unwrap()
}

#[test]
fn a_message_that_finds_a_box_full_waits_for_room() {
    let (mut alice, mut bob) = with_a_full_box(Patience::SPINNING);
    assert_eq!(send_short(&mut alice), Sent::Upto(0));
    for _ in 0..20 {
        let arrival = bob.poll().unwrap();
        assert!(matches!(arrival, Some(Arrival::Message(_))));
    }
    while send_short(&mut alice) != Sent::Whole {}
    assert_eq!(alice.counters().by_queue, 1, "soon enough");
}

#[test]
fn a_message_that_has_waited_in_vain_takes_the_queue_and_a_few_follow() {
    let (mut alice, _bob) = with_a_full_box(Patience::SPINNING);
    assert_eq!(send_short(&mut alice), Sent::Upto(0));
    while send_short(&mut alice) != Sent::Whole {}
    for by_queue in 3..19 {
        assert_eq!(send_short(&mut alice), Sent::Whole, "without waiting");
        assert_eq!(alice.counters().by_queue, by_queue);
    }
    assert_eq!(send_short(&mut alice), Sent::Upto(0));
    assert_eq!(alice.counters().full, 0, "there are cells");
}

#[test]
fn nothing_waits_for_room_in_a_process_that_yields_its_core() {
    let (mut alice, _bob) = with_a_full_box(Patience::YIELDING);
    assert_eq!(send_short(&mut alice), Sent::Whole);
    assert_eq!(alice.counters().by_queue, 2);
}
