//! One context: what is shown of it, what leaves it by a purge, and what it was told.
#![allow(unsafe_code, reason = "the functions are C's")]

mod fixture;

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;

use mq::*;

use self::fixture::{Fixture, options};

/// Collects what a purge removes; `user` points to a vector.
unsafe extern "C-unwind" fn collect(user: *mut c_void, entry: *const mq_entry) {
    // SAFETY: the tests pass a vector.
    let entries = unsafe { &mut *user.cast::<Vec<(c_int, usize)>>() };
    // SAFETY: the library passes a valid entry.
    let entry = unsafe { &*entry };
    entries.push((entry.posted, entry.cookie.addr()));
}

/// Chooses entries of rank 2, and is asked about context 1 only.
unsafe extern "C-unwind" fn of_rank_2(_: *mut c_void, entry: *const mq_entry) -> c_int {
    // SAFETY: the library passes a valid entry.
    let pattern = unsafe { &*entry }.pattern;
    assert_eq!(pattern.context, 1);
    c_int::from(pattern.source == 2)
}

fn purge(of: &Fixture, context: u32, select: mq_select_fn) -> (c_int, Vec<(c_int, usize)>) {
    let mut purged: Vec<(c_int, usize)> = Vec::new();
    let user = (&raw mut purged).cast();
    // SAFETY: the engine is valid, and the functions take what they get for what it is.
    let status = unsafe { mq_context_purge(of.0, context, select, Some(collect), user) };
    (status, purged)
}

#[test]
fn one_context_is_purged_in_order_and_stays() {
    let names = (0..).map(|index| mq_structure_name(index));
    for name in names.take_while(|name| !name.is_null()) {
        let engine = Fixture::of(name);
        for context in [1, 2] {
            for (receive, source) in [(1, 3), (2, 2), (3, MQ_ANY_SOURCE), (4, 2)] {
                engine.post(context, source, 10, receive);
            }
            for (message, source) in [(11, 2), (12, 5), (13, 2)] {
                assert_eq!(engine.arrive(context, source, 20, message), None);
            }
        }
        assert_eq!(purge(&engine, 7, None), (MQ_ERR_UNKNOWN_CONTEXT, vec![]));
        let chosen = vec![(1, 2), (1, 4), (0, 11), (0, 13)];
        assert_eq!(purge(&engine, 1, Some(of_rank_2)), (MQ_NONE, chosen));
        assert_eq!(engine.context_lengths(1), (2, 1));
        let all = vec![(1, 1), (1, 3), (0, 12)];
        assert_eq!(purge(&engine, 1, None), (MQ_NONE, all));
        assert_eq!(purge(&engine, 1, None), (MQ_NONE, vec![]));
        assert_eq!(engine.context_lengths(1), (0, 0));
        assert_eq!(engine.context_lengths(2), (4, 3));
        engine.post(1, 6, 10, 5);
        assert_eq!(engine.arrive(1, 6, 10, 14), Some(5), "the context stays");
        // SAFETY: the engine is valid.
        let without_a_sink = unsafe { mq_context_purge(engine.0, 2, None, None, null_mut()) };
        assert_eq!(without_a_sink, MQ_NONE);
        assert_eq!(engine.context_lengths(2), (0, 0));
    }
}

/// Notes an entry and its context; stops when its cookie is that of the first in the list.
unsafe extern "C-unwind" fn until(user: *mut c_void, entry: *const mq_entry) -> c_int {
    // SAFETY: the test passes a vector.
    let seen = unsafe { &mut *user.cast::<Vec<usize>>() };
    // SAFETY: the library passes a valid entry.
    let entry = unsafe { &*entry };
    assert_eq!(entry.pattern.context, 1);
    seen.push(entry.cookie.addr());
    c_int::from(entry.cookie.addr() == seen[0])
}

#[test]
fn one_context_is_shown_until_its_visitor_has_seen_enough() {
    let queues = Fixture::new();
    // Some are in the front, and some, with masks, behind it.
    for receive in 1..20 {
        queues.post(1 + receive as u32 % 2, 1, 5, receive);
        queues.post_masked(1 + receive as u32 % 2, 1, 5, 3, 100 + receive);
    }
    let visit = |stop: usize| {
        let mut seen = vec![stop];
        let user = (&raw mut seen).cast();
        // SAFETY: the function takes the vector for what it is.
        let status = unsafe { mq_context_visit(queues.0, 1, Some(until), user) };
        (status, seen.split_off(1))
    };
    let (status, all) = visit(0);
    let each: Vec<usize> = (2..20)
        .step_by(2)
        .flat_map(|receive| [receive, 100 + receive])
        .collect();
    assert_eq!((status, &all), (MQ_NONE, &each));
    for (at, &stop) in all.iter().enumerate() {
        assert_eq!(visit(stop), (MQ_MATCHED, all[..=at].to_vec()));
    }
}

#[test]
fn a_context_tells_what_it_was_told() {
    let queues = Fixture::new();
    let get = |context| {
        let (mut size, mut promises) = (99, 99);
        // SAFETY: the pointers are valid.
        let status = unsafe { mq_context_get(queues.0, context, &raw mut size, &raw mut promises) };
        (status, size, promises)
    };
    assert_eq!(get(1), (MQ_NONE, 8, 0));
    assert_eq!(get(2), (MQ_NONE, 0, 0), "of unknown size");
    assert_eq!(get(3), (MQ_ERR_UNKNOWN_CONTEXT, 99, 99));
    for promises in [MQ_NO_ANY_TAG | MQ_ALLOW_OVERTAKING, MQ_NO_ANY_SOURCE, 0] {
        let wanted = options(20, promises);
        // SAFETY: the options are valid.
        let updated = unsafe { mq_context_update(queues.0, 1, &raw const wanted) };
        assert_eq!(updated, MQ_NONE);
        assert_eq!(get(1), (MQ_NONE, 20, promises));
    }
}
