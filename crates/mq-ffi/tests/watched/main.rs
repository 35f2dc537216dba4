//! What is counted and recorded of an engine's operations.
#![allow(unsafe_code, reason = "the functions are C's")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a test calls many functions with the same valid pointers"
)]

mod traced;
mod unclosed;

use core::mem::zeroed;
use core::ptr::{null, null_mut, without_provenance_mut};

use mq::*;

const WANTED: mq_pattern = mq_pattern {
    context: 1,
    source: 3,
    tag: 7,
    ignore: 0,
    traffic_class: 0,
};
const CARRIED: mq_envelope = mq_envelope {
    context: 1,
    source: 3,
    tag: 7,
    traffic_class: 0,
};

/// Searches in vain, and queues a probe that waits.
unsafe fn probe(engine: *mut mq_engine) -> mq_handle {
    // SAFETY: the caller's; the others are valid, or null where that is allowed.
    unsafe {
        let mut handle = zeroed();
        assert_eq!(
            mq_find(engine, &WANTED, null_mut(), null_mut(), null_mut()),
            MQ_NONE
        );
        let probe = without_provenance_mut(1);
        assert_eq!(
            mq_queue_probe(engine, &WANTED, probe, &raw mut handle),
            MQ_NONE
        );
        handle
    }
}

#[test]
fn a_probe_that_waits_is_a_probe_and_no_receive() {
    // SAFETY: zeroed options are those of C; the pointers are valid or null.
    unsafe {
        let mut options: mq_engine_options = zeroed();
        options.flags = MQ_STATISTICS;
        let mut engine = null_mut();
        assert_eq!(mq_engine_new(&raw const options, &raw mut engine), MQ_NONE);
        let context: mq_context_options = zeroed();
        assert_eq!(mq_context_create(engine, 1, &raw const context), MQ_NONE);

        probe(engine);
        let mut found = null_mut();
        assert_eq!(mq_deliver(engine, &CARRIED, &raw mut found), MQ_MATCHED);
        assert_eq!(found.addr(), 1);
        // The message goes on, and waits for its receive.
        assert_eq!(
            mq_arrive(engine, &CARRIED, 5, null_mut(), null_mut()),
            MQ_NONE
        );
        let received = mq_post(
            engine,
            &WANTED,
            null_mut(),
            null_mut(),
            null_mut(),
            null_mut(),
        );
        assert_eq!(received, MQ_MATCHED);
        let given_up = probe(engine);
        assert_eq!(mq_cancel(engine, given_up, &raw mut found), MQ_MATCHED);

        let mut counted: mq_statistics = zeroed();
        assert_eq!(
            mq_statistics_read(engine, &raw mut counted, size_of_val(&counted)),
            MQ_NONE
        );
        assert_eq!(counted.probes, 2);
        assert_eq!((counted.receives, counted.receives_matched), (1, 1));
        assert_eq!((counted.messages, counted.messages_matched), (1, 0));
        assert_eq!(counted.cancels, 0);
        assert_eq!(mq_engine_free(engine), MQ_NONE);
    }
}

#[test]
fn what_leaves_without_a_match_is_counted() {
    // SAFETY: zeroed options are valid, and so are the pointers.
    unsafe {
        let mut options: mq_engine_options = zeroed();
        options.flags = MQ_STATISTICS;
        let mut engine = null_mut();
        assert_eq!(mq_engine_new(&raw const options, &raw mut engine), MQ_NONE);
        assert_eq!(mq_context_create(engine, 1, null()), MQ_NONE);
        for _ in 0..5 {
            let queued = mq_arrive(engine, &CARRIED, 5, null_mut(), null_mut());
            assert_eq!(queued, MQ_NONE);
        }
        assert_eq!(
            mq_extract(engine, &WANTED, null_mut(), null_mut()),
            MQ_MATCHED
        );
        assert_eq!(mq_context_free(engine, 1, None, null_mut()), MQ_NONE);
        let mut counted: mq_statistics = zeroed();
        assert_eq!(
            mq_statistics_read(engine, &raw mut counted, size_of_val(&counted)),
            MQ_NONE
        );
        assert_eq!((counted.messages, counted.receives_matched), (5, 1));
        assert_eq!(
            (counted.messages_removed, counted.unexpected.length),
            (4, 0)
        );
        assert_eq!(mq_engine_free(engine), MQ_NONE);
    }
}

#[test]
fn the_longest_of_all_searches_is_known() {
    // SAFETY: zeroed options are valid, and so are the pointers.
    unsafe {
        let mut options: mq_engine_options = zeroed();
        options.structure = c"list".as_ptr();
        options.flags = MQ_STATISTICS;
        let mut engine = null_mut();
        assert_eq!(mq_engine_new(&raw const options, &raw mut engine), MQ_NONE);
        assert_eq!(mq_context_create(engine, 1, null()), MQ_NONE);
        for tag in 1..4 {
            let other = mq_pattern { tag, ..WANTED };
            let none = null_mut();
            let posted = mq_post(
                engine,
                &raw const other,
                none,
                null_mut(),
                null_mut(),
                null_mut(),
            );
            assert_eq!(posted, MQ_NONE);
        }
        // The first finds none of three, the second the first of them.
        for (tag, found) in [(7, MQ_NONE), (1, MQ_MATCHED)] {
            let carried = mq_envelope { tag, ..CARRIED };
            let arrived = mq_arrive(engine, &raw const carried, 5, null_mut(), null_mut());
            assert_eq!(arrived, found);
        }
        let mut counted: mq_statistics = zeroed();
        assert_eq!(
            mq_statistics_read(engine, &raw mut counted, size_of_val(&counted)),
            MQ_NONE
        );
        let (posted, unexpected) = (counted.posted, counted.unexpected);
        assert_eq!((posted.searches, unexpected.searches), (2, 3));
        assert_eq!((posted.visited, unexpected.visited), (4, 0));
        assert_eq!((posted.longest_search, unexpected.longest_search), (3, 0));
        assert_eq!(mq_engine_free(engine), MQ_NONE);
    }
}

#[test]
fn callers_of_other_versions_get_the_counts_that_they_know() {
    // SAFETY: zeroed options are valid, and so are the pointers.
    unsafe {
        let mut options: mq_engine_options = zeroed();
        options.flags = MQ_STATISTICS;
        let mut engine = null_mut();
        assert_eq!(mq_engine_new(&raw const options, &raw mut engine), MQ_NONE);
        assert_eq!(mq_context_create(engine, 0, null()), MQ_NONE);
        let pattern = mq_pattern {
            context: 0,
            source: 1,
            tag: 1,
            ignore: 0,
            traffic_class: 0,
        };
        let pattern = &raw const pattern;
        assert_eq!(
            mq_post(
                engine,
                pattern,
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut()
            ),
            MQ_NONE
        );

        // An earlier one, that knows two numbers, and a later one, that knows one more.
        let words = size_of::<mq_statistics>() / 8;
        let mut earlier = [7_u64; 3];
        let mut later = vec![7_u64; words + 2];
        for (words, counted) in [(2, earlier.as_mut_ptr()), (words + 1, later.as_mut_ptr())] {
            assert_eq!(
                mq_statistics_read(engine, counted.cast(), 8 * words),
                MQ_NONE
            );
        }
        assert_eq!(earlier, [1, 0, 7]);
        assert_eq!(
            (later[0], later[words - 1], later[words], later[words + 1]),
            (1, 0, 0, 7)
        );

        // A probe is counted when it has been made.
        let mut counted: mq_statistics = zeroed();
        for probes in 1..3 {
            assert_eq!(mq_probe(engine, pattern, null_mut(), null_mut()), MQ_NONE);
            assert_eq!(
                mq_statistics_read(engine, &raw mut counted, size_of_val(&counted)),
                MQ_NONE
            );
            assert_eq!((counted.probes, counted.receives), (probes, 1));
        }
        assert_eq!(mq_engine_free(engine), MQ_NONE);
    }
}
