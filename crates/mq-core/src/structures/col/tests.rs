use super::*;
use crate::mpi::{MpiEnvelope, MpiPattern};
use crate::{ContextId, MatchQueues, Visits};

const RANKS: u32 = 400;

/// A gather whose messages all come before their receives, received in reverse; the entries
/// that the receives visited.
fn gather(queues: &mut Col<MpiPattern, u32, u32>, ranks: u32, announced: bool) -> u64 {
    let class = TrafficClass::Gather;
    if announced {
        queues.announce(&CollectiveCall::new(ContextId(0), class, 8, ranks));
    }
    for rank in 0..ranks {
        let _ = queues.arrive(MpiEnvelope::new(0, rank, -19).with_class(class), rank);
    }
    let mut visits = Visits::default();
    for rank in (0..ranks).rev() {
        let pattern = MpiPattern::new(0, rank, -19).with_class(class);
        let _ = queues.post_metered(pattern, rank, &mut visits);
    }
    visits.unexpected
}

#[test]
fn a_profiled_collective_gets_the_lists_it_needs() {
    for announced in [true, false] {
        let mut config = Config::default().with_size(RANKS);
        config.tuning.collective_k = 100.0;
        let mut queues = Col::with_config(&config);
        let first = gather(&mut queues, RANKS, announced);
        assert_eq!(queues.dedicated_lists(Queue::Unexpected), 0);
        let second = gather(&mut queues, RANKS, announced);
        let lists = queues.dedicated_lists(Queue::Unexpected);
        assert!((200..=201).contains(&lists), "half the ranks, got {lists}");
        assert!(second < first / 50, "{second} against {first} entries");
    }
}

/// Calls of one sender that get longer and longer, whose messages no list tells apart, with a k of any size.
#[test]
fn lists_that_do_not_help_are_bounded_whatever_k_is() {
    let mut config = Config::default().with_size(1);
    config.tuning.collective_k = f64::MAX;
    let mut queues: Col<MpiPattern, u32, u32> = Col::with_config(&config);
    let class = TrafficClass::Gather;
    for messages in [10, 22, 46, 94, 190, 382, 766, 1534] {
        for tag in 0..messages {
            let _ = queues.arrive(MpiEnvelope::new(0, 0, tag).with_class(class), 0);
        }
        for tag in (0..messages).rev() {
            let pattern = MpiPattern::new(0, 0, tag).with_class(class);
            let _ = queues.post(pattern, 0);
        }
    }
    let lists = queues.dedicated_lists(Queue::Unexpected);
    assert!(lists <= 1 << 20, "{lists}");
}

/// As the first messages of a program tell little about the later ones.
#[test]
fn an_operation_that_nobody_announces_may_need_more_lists_later() {
    let mut config = Config::default().with_size(RANKS);
    config.tuning.collective_k = 100.0;
    let mut queues = Col::with_config(&config);
    for rank in 0..RANKS {
        // Searches that find the queue empty tell nothing.
        let pattern = MpiPattern::new(0, rank, -19).with_class(TrafficClass::Gather);
        let handle = queues.queue_receive(pattern, rank);
        let _ = queues.extract(&pattern);
        let _ = queues.cancel(handle);
    }
    for _ in 0..3 {
        gather(&mut queues, 1, false);
    }
    let lists = |queues: &Col<_, _, _>| queues.dedicated_lists(Queue::Unexpected);
    assert_eq!(lists(&queues), 0);
    gather(&mut queues, 8, false);
    let first = gather(&mut queues, RANKS, false);
    assert_eq!(lists(&queues), 5, "for the eight");
    let second = gather(&mut queues, RANKS, false);
    assert!(second < first / 20, "{second} against {first} entries");
    let enough = lists(&queues);
    gather(&mut queues, RANKS, false);
    assert_eq!(lists(&queues), enough);
}

/// Entries that no list could spare a search are no reason for more lists.
#[test]
fn lists_that_shorten_nothing_are_not_followed_by_more() {
    let mut config = Config::default().with_size(RANKS);
    config.tuning.collective_k = 100.0;
    let mut queues = Col::<MpiPattern, u32, u32>::with_config(&config);
    let of = |class| move |rank| MpiPattern::new(0, rank, -19).with_class(class);
    let (gather, scatter) = (TrafficClass::Gather, TrafficClass::Scatter);
    for rank in 0..2 {
        // They stay, in the list that all operations begin with.
        let _ = queues.post(of(scatter)(RANKS + rank), 0);
    }
    for _ in 0..10 {
        for rank in 0..RANKS {
            let _ = queues.post(of(gather)(rank), rank);
        }
        for rank in 0..RANKS {
            let _ = queues.arrive(MpiEnvelope::new(0, rank, -19).with_class(gather), rank);
        }
    }
    let lists = queues.dedicated_lists(Queue::Posted);
    assert!(lists <= 3, "{lists} lists");
}

/// All but the first are figures of the paper: those with k = 1 of §5.2, that with 8 of §5.4.1.
#[test]
fn a_collective_that_wants_more_gets_lists_up_to_the_limit() {
    for (ranks, k, limit) in [
        (RANKS, 1.0, 20),
        (1_024, 1.0, 32),
        (2_048, 1.0, 45),
        (4_096, 1.0, 64),
        (1_024, 8.0, 256),
    ] {
        let mut config = Config::default().with_size(ranks);
        config.tuning.collective_k = k;
        let mut queues = Col::with_config(&config);
        let list = gather(&mut queues, ranks, true);
        let with_lists = gather(&mut queues, ranks, true);
        for _ in 0..3 {
            assert_eq!(gather(&mut queues, ranks, true), with_lists);
        }
        let lists = queues.dedicated_lists(Queue::Unexpected);
        assert_eq!(lists, limit, "of {ranks} ranks with k = {k}");
        assert!(
            with_lists < list / (lists as u64 * 3 / 4),
            "{with_lists} against {list} entries of {ranks} ranks"
        );
    }
}

#[test]
fn a_call_that_needs_no_more_lists_than_there_are_gets_none() {
    let mut queues = Col::with_config(&Config::default().with_size(RANKS));
    for (ranks, lists) in [(32, 17), (16, 17), (33, 17), (64, 17 + 33)] {
        // The first of its kind, and one by its profile.
        gather(&mut queues, ranks, true);
        gather(&mut queues, ranks, true);
        let dedicated = queues.dedicated_lists(Queue::Unexpected);
        assert_eq!(dedicated, lists, "of {ranks} ranks");
    }
}

/// As at the root of a gather in the paper, §5.2.
#[test]
fn receives_that_wait_get_lists_up_to_the_limit_too() {
    let class = TrafficClass::Gather;
    for (ranks, limit) in [(1_024, 32), (2_048, 45), (4_096, 64)] {
        let mut config = Config::default().with_size(ranks);
        config.tuning.collective_k = 1.0;
        let mut queues = Col::<MpiPattern, u32, u32>::with_config(&config);
        for _ in 0..2 {
            queues.announce(&CollectiveCall::new(ContextId(0), class, 8, ranks));
            for rank in 0..ranks {
                let _ = queues.post(MpiPattern::new(0, rank, -19).with_class(class), rank);
            }
            for rank in (0..ranks).rev() {
                let message = MpiEnvelope::new(0, rank, -19).with_class(class);
                let _ = queues.arrive(message, rank);
            }
        }
        let lists = queues.dedicated_lists(Queue::Posted);
        assert_eq!(lists, limit, "of {ranks} ranks");
    }
}
