//! Cells and boxes for which there is no memory, and cells that are kept for others.

use std::sync::Arc;

use super::*;
use crate::channel::Tuning;

fn three(options: Options) -> (Arc<Heap>, [Endpoint<Arc<Heap>>; 3]) {
    let segment = Heap::new(Geometry::new(3).unwrap());
    let join = |number| Endpoint::join(Arc::clone(&segment), Process(number), options).unwrap();
    let all = [0, 1, 2].map(join);
    (segment, all)
}

fn by_queue(tuning: Tuning) -> Options {
    Options {
        policy: Policy::Shared,
        tuning,
        ..Options::default()
    }
}

/// Messages to a process that takes nothing in, until there is no cell for them.
fn sent_in_vain(from: &mut Endpoint<Arc<Heap>>, to: u32) -> usize {
    let mut send = || from.try_send(Process(to), [0; 2], b"x", 0).unwrap();
    (0..100).take_while(|_| send() == Sent::Whole).count()
}

#[test]
fn where_more_cells_are_refused_some_are_kept_for_others() {
    let (segment, [mut alice, mut bob, mut carol]) = three(by_queue(Tuning::default()));
    alice.prepare().unwrap();
    segment.refuse(true);
    assert_eq!(sent_in_vain(&mut alice, 1), 6, "of eight");
    assert_eq!(sent_in_vain(&mut alice, 2), 1);
    assert!(matches!(carol.poll(), Ok(Some(Arrival::Message(_)))));
    for _ in 0..100 {
        assert_eq!(sent_in_vain(&mut alice, 1), 0, "however often it is tried");
    }
    assert_eq!(sent_in_vain(&mut alice, 2), 1);
    // Those that come back can be sent again.
    for _ in 0..3 {
        assert!(matches!(bob.poll(), Ok(Some(Arrival::Message(_)))));
    }
    assert_eq!(sent_in_vain(&mut alice, 1), 2);
    // Once there is memory, it is asked for.
    segment.refuse(false);
    assert_eq!(
        (0..100).map(|_| sent_in_vain(&mut alice, 1)).sum::<usize>(),
        24
    );
}

#[test]
fn as_many_are_kept_whenever_a_pool_grows() {
    for low_water in [0, 1, 2, 30, 1000] {
        let tuning = Tuning::default().with(|tuning| tuning.low_water = low_water);
        let (_, [mut alice, _bob, mut carol]) = three(by_queue(tuning));
        assert_eq!(sent_in_vain(&mut alice, 1), 30, "low_water={low_water}");
        assert_eq!(sent_in_vain(&mut alice, 2), 1, "low_water={low_water}");
        assert!(matches!(carol.poll(), Ok(Some(Arrival::Message(_)))));
    }
}

#[test]
fn memory_for_a_box_is_asked_for_again() {
    let tuning = Tuning::default().with(|tuning| tuning.box_after = 0);
    let (segment, [mut alice, mut bob, _carol]) = three(Options {
        tuning,
        ..Options::default()
    });
    alice.prepare().unwrap();
    segment.refuse(true);
    let refused = segment.refused();
    let mut send = |times: u32| {
        for _ in 0..times {
            let sent = alice.try_send(Process(1), [0; 2], b"short", 0).unwrap();
            assert_eq!(sent, Sent::Whole);
            assert!(matches!(bob.poll(), Ok(Some(Arrival::Message(_)))));
        }
        alice.counters().by_box()
    };
    send(60);
    assert_eq!(segment.refused(), refused + 1, "not with every message");
    segment.refuse(false);
    assert!(send(60) > 50);
}
