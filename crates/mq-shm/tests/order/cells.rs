//! Who may have how many cells, and what becomes of them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mq_shm::channel::Tuning;
use mq_shm::fastbox::BOX_PAYLOAD;
use mq_shm::wait::Idle;
use mq_shm::{Arrival, Endpoint, Geometry, Heap, Options, Policy, Process, Sent};

use super::{options, send};

#[test]
fn more_sent_than_there_is_takes_no_cell() {
    let segment = Heap::new(Geometry::with_cells(2, 3).unwrap());
    let mut alice = Endpoint::join(segment.clone(), Process(0), options(Policy::Shared)).unwrap();
    for _ in 0..4 {
        let wrong = AssertUnwindSafe(|| alice.try_send(Process(1), [0, 0], b"four", 5));
        assert!(catch_unwind(wrong).is_err());
    }
    assert_eq!(alice.cells_out().unwrap(), 0);
    for _ in 0..3 {
        send(&mut alice, Process(1), 0, b"four");
    }
}

#[test]
fn a_full_pool_is_an_answer_and_loses_nothing() {
    let segment = Heap::new(Geometry::with_cells(2, 2).unwrap());
    let shared = options(Policy::Shared);
    let mut alice = Endpoint::join(segment.clone(), Process(0), shared).unwrap();
    let mut bob = Endpoint::join(segment, Process(1), shared).unwrap();
    for number in 0..2 {
        assert_eq!(
            alice.try_send(Process(1), [number, 0], b"x", 0).unwrap(),
            Sent::Whole
        );
    }
    assert_eq!(
        alice.try_send(Process(1), [2, 0], b"x", 0).unwrap(),
        Sent::Upto(0)
    );
    for number in 0..2 {
        let Some(Arrival::Message(message)) = bob.poll().unwrap() else {
            panic!()
        };
        assert_eq!(message.header()[0], number);
    }
    assert_eq!(
        alice.try_send(Process(1), [2, 0], b"x", 0).unwrap(),
        Sent::Whole
    );
    assert_eq!(alice.counters().full, 1);
}

#[test]
fn a_policy_that_divides_the_cells_keeps_a_silent_peer_to_its_credits() {
    for credits in [0_u32, 1, 7] {
        let own_share = credits.max(1) as usize;
        for (policy, most) in [
            (Policy::PerPeer, own_share),
            (Policy::AdaptivePerPeer, own_share),
            (Policy::AdaptiveShared, 30),
            (Policy::Shared, 30),
        ] {
            let segment = Heap::new(Geometry::new(3).unwrap());
            let [mut alice, _bob, mut carol] = [0, 1, 2].map(|number| {
                let options = options(policy).with(|o| {
                    o.fastbox = false;
                    o.tuning.credits = credits;
                });
                Endpoint::join(segment.clone(), Process(number), options).unwrap()
            });
            let mut to = |process| alice.try_send(Process(process), [0, !0], b"", 0).unwrap();
            let sent = (0..64).take_while(|_| to(1) == Sent::Whole).count();
            assert_eq!(sent, most, "{policy} with {credits}");
            // Others have their share all the same.
            assert_eq!(to(2), Sent::Whole, "{policy} with {credits}");
            assert!(matches!(carol.poll(), Ok(Some(Arrival::Message(_)))));
        }
    }
}

#[test]
fn a_pool_grows_by_one_cell_at_least() {
    for &policy in Policy::ALL {
        let segment = Heap::new(Geometry::new(2).unwrap());
        let options = options(policy).with(|o| o.tuning.grow = 0);
        let mut alice = Endpoint::join(segment.clone(), Process(0), options).unwrap();
        let mut bob = Endpoint::join(segment, Process(1), options).unwrap();
        let sent = alice.try_send(Process(1), [0, !0], b"", 0).unwrap();
        assert_eq!(sent, Sent::Whole, "{policy}");
        assert_eq!(alice.counters().cells, 1, "{policy}");
        assert!(matches!(bob.poll(), Ok(Some(Arrival::Message(_)))));
    }
}

#[test]
fn the_counters_tell_how_memory_grew() {
    let segment = Heap::new(Geometry::new(2).unwrap());
    let options = options(Policy::AdaptiveShared).with(|o| {
        o.tuning = Tuning::default().with(|tuning| {
            tuning.box_after = 3;
            tuning.grow = 4;
            tuning.low_water = 1;
        });
    });
    let mut alice = Endpoint::join(segment.clone(), Process(0), options).unwrap();
    let mut bob = Endpoint::join(segment, Process(1), options).unwrap();
    for number in 0..6 {
        send(&mut alice, Process(1), number, b"short");
        assert!(matches!(bob.poll(), Ok(Some(Arrival::Message(_)))));
    }
    let counters = alice.counters();
    assert_eq!((counters.cells, counters.boxes), (4, 1));
    let grown = counters.growth.iter();
    let grown: Vec<_> = grown.map(|at| (at.messages, at.cells, at.boxes)).collect();
    assert_eq!(grown, [(0, 4, 0), (4, 4, 1)]);
    // Nothing of these is taken out, and each is in a cell.
    for number in 0..9 {
        send(&mut alice, Process(1), number, &[7; 1000]);
    }
    let counters = alice.counters();
    assert!(counters.low_water > 0, "{counters:?}");
    assert!(counters.cells > 4, "{counters:?}");
    let last = counters.growth.last().expect("it grew");
    assert_eq!((last.cells, last.boxes), (counters.cells, 1));
}

/// One that does not receive has most cells of a sender, and not the last ones.
#[test]
fn who_does_not_receive_holds_up_nobody_else() {
    for policy in [Policy::Shared, Policy::AdaptiveShared] {
        let segment = Heap::new(Geometry::new(4).unwrap());
        let options = Options::default().with(|o| o.policy = policy);
        let mut members: Vec<_> = (0..4)
            .map(|me| Endpoint::join(segment.clone(), Process(me), options).unwrap())
            .collect();
        let [alice, bob, carol, dave] = &mut members[..] else {
            unreachable!("four");
        };
        let message = [7; BOX_PAYLOAD + 1];
        let mut sent = 0;
        while alice.try_send(Process(1), [0, 0], &message, 0).unwrap() == Sent::Whole {
            sent += 1;
        }
        assert!(sent >= alice.geometry().cells() / 4 * 3, "{sent} to one");
        for other in [2, 3] {
            let to_other = alice.try_send(Process(other), [0, 0], &message, 0).unwrap();
            assert_eq!(to_other, Sent::Whole, "{policy}");
        }
        for member in [bob, carol, dave] {
            member.want(None).unwrap();
            let mut idle = Idle::default();
            let mut left = if member.me() == Process(1) { sent } else { 1 };
            while left > 0 {
                let came = matches!(member.poll().unwrap(), Some(Arrival::Message(_)));
                left -= u32::from(came);
                if !came {
                    member.rest(&mut idle).unwrap();
                }
            }
        }
        let again = alice.try_send(Process(1), [0, 0], &message, 0).unwrap();
        assert_eq!(again, Sent::Whole);
    }
}

/// Of two processes one may have all cells of the other.
#[test]
fn a_window_of_as_many_messages_as_cells_is_sent_at_once() {
    let segment = Heap::new(Geometry::new(2).unwrap());
    let options = Options::default().with(|o| o.fastbox = false);
    let join = |me| Endpoint::join(segment.clone(), Process(me), options).unwrap();
    let (mut alice, _bob) = (join(0), join(1));
    for number in 0..alice.geometry().cells() {
        let sent = alice.try_send(Process(1), [0, 0], &[7; 8], 0).unwrap();
        assert_eq!(sent, Sent::Whole, "{number}");
    }
    let more = alice.try_send(Process(1), [0, 0], &[7; 8], 0).unwrap();
    assert_eq!(more, Sent::Upto(0));
}
