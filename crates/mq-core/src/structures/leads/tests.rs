use core::cell::Cell;

use super::*;
use crate::mpi::{MpiEnvelope, MpiPattern};
use crate::structures::Array;

#[test]
fn all_contexts_are_asked_about_before_an_entry_is_removed() {
    let mut queues = Array::<MpiPattern, u32, u32>::with_config(&Config::default());
    for context in 0..3 {
        let _ = queues.post(MpiPattern::new(context, 1, 5), context);
        let _ = queues.arrive(MpiEnvelope::new(context, 1, 6), context);
    }
    let (asked, removed) = (Cell::new(0), Cell::new(0));
    queues.purge(
        &mut |_| {
            asked.set(asked.get() + 1);
            assert_eq!(removed.get(), 0);
            asked.get() % 2 == 1
        },
        &mut |_| removed.set(removed.get() + 1),
    );
    assert_eq!((asked.get(), removed.get()), (6, 3));
    // Those asked about first and every other time: the receives.
    assert_eq!((queues.posted_len(), queues.unexpected_len()), (0, 3));
}

#[test]
fn each_context_is_planned_for_its_own_size() {
    let mut queues = Array::<MpiPattern, u32, u32>::with_config(&Config::default());
    for context in 0..3 {
        let _ = queues.post(MpiPattern::new(context, 1, 5), context);
        let _ = queues.arrive(MpiEnvelope::new(context, 1, 5), context);
    }
    // One that holds something meanwhile.
    let _ = queues.post(MpiPattern::new(2, 1, 5), 2);
    for context in 0..3 {
        let sized = Config::default().with_size(64 + context);
        queues.update_context(ContextId(context), &sized);
    }
    let _ = queues.arrive(MpiEnvelope::new(2, 1, 5), 2);
    for context in 0..3 {
        let _ = queues.post(MpiPattern::new(context, 1, 5), context);
        let planned = queues
            .queues(ContextId(context))
            .map(|q| q.route().allocated());
        assert_eq!(planned, Some(64 + context as usize));
    }
    assert_eq!(queues.waiting, 0);
}

#[test]
fn contexts_created_later_are_planned_for_the_size_told_last() {
    let mut queues = Array::<MpiPattern, u32, u32>::with_config(&Config::default());
    queues.update_context(ContextId(7), &Config::default().with_size(64));
    let _ = queues.post(MpiPattern::new(7, 1, 5), 1);
    let planned = queues.queues(ContextId(7)).map(|q| q.route().allocated());
    assert_eq!(planned, Some(64));
}

#[test]
fn of_a_removed_context_what_was_queued_counts_and_no_plan_is_awaited() {
    let mut queues = Array::<MpiPattern, u32, u32>::with_config(&Config::default());
    for context in 0..2 {
        let _ = queues.post(MpiPattern::new(context, 1, 5), 1);
        let _ = queues.arrive(MpiEnvelope::new(context, 1, 6), 2);
    }
    // It waits for its next size, since it holds something.
    queues.update_context(ContextId(0), &Config::default().with_size(64));
    assert_eq!((queues.waiting, queues.queued_total()), (1, 4));
    queues.remove_context(ContextId(0));
    assert_eq!((queues.waiting, queues.queued_total()), (0, 4));
}
