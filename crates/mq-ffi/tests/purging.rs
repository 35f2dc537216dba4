//! What leaves one context by a purge, with every structure.
#![allow(unsafe_code, reason = "the functions are C's")]

mod fixture;

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;

use mq::*;

use self::fixture::Fixture;

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
