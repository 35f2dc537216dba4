//! Calls that move no entry leave the front of an engine open, with what is queued in it.
#![allow(unsafe_code, reason = "the functions are C's")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a test calls many functions with the same valid pointers"
)]

mod fixture;

use core::ptr::{null, null_mut};

use mq::*;

use fixture::{Fixture, options};

#[test]
fn a_receive_that_stays_posted_does_not_keep_other_contexts_from_it() {
    let engine = Fixture::new();
    let handle = engine.post(1, 3, 7, 10);
    // SAFETY: the pointers are valid or null.
    unsafe {
        assert_eq!(mq_context_create(engine.0, 3, null()), MQ_NONE);
        assert_eq!(
            mq_context_create(engine.0, 3, null()),
            MQ_ERR_CONTEXT_EXISTS
        );
        assert_eq!(mq_announce(engine.0, 1, MQ_CLASS_SCAN, 64, 8), MQ_NONE);
        assert_eq!(
            mq_announce(engine.0, 9, MQ_CLASS_SCAN, 64, 8),
            MQ_ERR_UNKNOWN_CONTEXT
        );
    }
    assert!(engine.is_open());
    assert_eq!(engine.update(1, 4, MQ_NO_ANY_SOURCE), MQ_NONE);
    assert_eq!(engine.update(1, 3, 0), MQ_ERR_RANK);
    assert_eq!(engine.update(9, 3, 0), MQ_ERR_UNKNOWN_CONTEXT);
    assert_eq!(engine.free_context(9), (MQ_ERR_UNKNOWN_CONTEXT, vec![]));
    assert_eq!(engine.free_context(3), (MQ_NONE, vec![]));
    assert_eq!(engine.visit(), [(1, 10)]);
    let mut one = [0; 8];
    one[3] = 1;
    assert_eq!(engine.lengths_by_source(1), (one, [0; 8]));
    assert_eq!(engine.lengths_by_source(2), ([0; 8], [0; 8]));
    assert_eq!(engine.context_lengths(1), (one.iter().sum(), 0));
    assert_eq!(engine.context_lengths(2), (0, 0));
    assert!(engine.is_open());
    assert_eq!(engine.cancel(handle), Some(10));
}

#[test]
fn what_the_front_holds_keeps_a_context_from_terms_that_it_breaks() {
    let engine = Fixture::new();
    engine.post(1, 2, 5, 1);
    engine.post(1, MQ_ANY_SOURCE, 5, 2);
    engine.post(2, MQ_ANY_SOURCE, MQ_ANY_TAG, 3);
    assert_eq!(engine.arrive(1, 6, 9, 4), None);
    assert_eq!(engine.update(1, 8, MQ_NO_ANY_SOURCE), MQ_ERR_ANY_SOURCE);
    assert_eq!(engine.update(2, 8, MQ_NO_ANY_TAG), MQ_ERR_ANY_TAG);
    assert_eq!(engine.update(1, 6, MQ_NO_ANY_TAG), MQ_ERR_RANK);
    // Terms as they were, and those that all keep.
    assert_eq!(engine.arrive(1, 7, 5, 5), Some(2));
    assert_eq!(
        engine.update(1, 7, MQ_NO_ANY_SOURCE | MQ_NO_ANY_TAG),
        MQ_NONE
    );
    assert!(engine.is_open());
    assert_eq!(engine.visit(), [(1, 1), (1, 3), (0, 4)]);
}

#[test]
fn a_context_that_goes_takes_its_own_entries_along_and_no_others() {
    let engine = Fixture::new();
    let kept = engine.post(1, 2, 5, 1);
    engine.post(2, 0, 5, 2);
    assert_eq!(engine.arrive(2, 1, 6, 3), None);
    assert_eq!(engine.arrive(1, 1, 6, 4), None);
    assert_eq!(engine.free_context(2), (MQ_NONE, vec![(1, 2), (0, 3)]));
    assert_eq!(engine.visit(), [(1, 1), (0, 4)]);
    assert_eq!(engine.arrive(1, 2, 5, 5), Some(1));
    assert_eq!(engine.cancel(kept), None);
}

#[test]
fn words_for_later_versions_are_0() {
    let mut engine = null_mut();
    // SAFETY: zeroed options are valid, and the pointers are.
    unsafe {
        let mut options: mq_engine_options = core::mem::zeroed();
        options.reserved[3] = 1;
        let made = mq_engine_new(&raw const options, &raw mut engine);
        assert_eq!(made, MQ_ERR_ARGUMENT);
        let mut options: mq_session_options = core::mem::zeroed();
        options.reserved[0] = 1;
        let mut session = null_mut();
        let opened = mq_session_open(&raw const options, &raw mut session);
        assert_eq!(opened, MQ_ERR_ARGUMENT);
    }
    let engine = Fixture::new();
    let mut wrong = options(4, 0);
    wrong.reserved[1] = 1;
    // SAFETY: the pointers are valid.
    unsafe {
        assert_eq!(
            mq_context_create(engine.0, 5, &raw const wrong),
            MQ_ERR_ARGUMENT
        );
        assert_eq!(
            mq_context_update(engine.0, 1, &raw const wrong),
            MQ_ERR_ARGUMENT
        );
    }
}
