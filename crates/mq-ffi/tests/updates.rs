//! Contexts that learn their size and make their promises when they are in use.
#![allow(unsafe_code, reason = "the functions are C's")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a test calls many functions with the same valid pointers"
)]

use core::ffi::c_int;
use core::mem::zeroed;
use core::ptr::{null, null_mut};

use mq::*;

const CONTEXT: u32 = 3;

/// Runs `steps` on engines of every structure, of every kind, with a context of `size` ranks.
fn on_every_engine(size: u32, steps: impl Fn(*mut mq_engine)) {
    let names = (0..).map(|index| mq_structure_name(index));
    for name in names.take_while(|name| !name.is_null()) {
        for flags in [0, MQ_NO_FRONT, MQ_LOCKED, MQ_STATISTICS] {
            // SAFETY: zeroed options are those of C; the pointers are valid or null.
            unsafe {
                let mut options: mq_engine_options = zeroed();
                options.structure = name;
                options.flags = flags;
                let mut engine = null_mut();
                assert_eq!(mq_engine_new(&raw const options, &raw mut engine), MQ_NONE);
                let mut options: mq_context_options = zeroed();
                options.size = size;
                let created = mq_context_create(engine, CONTEXT, &raw const options);
                assert_eq!(created, MQ_NONE);
                steps(engine);
                assert_eq!(mq_engine_free(engine), MQ_NONE);
            }
        }
    }
}

fn update(engine: *mut mq_engine, size: u32, promises: u32) -> c_int {
    let options = mq_context_options {
        size,
        promises,
        rank: 0,
        structure: null(),
        reserved: [0; 2],
    };
    // SAFETY: the pointers are valid.
    unsafe { mq_context_update(engine, CONTEXT, &raw const options) }
}

fn post(engine: *mut mq_engine, source: i32, tag: i32) -> c_int {
    let pattern = mq_pattern {
        context: CONTEXT,
        source,
        tag,
        ignore: 0,
        traffic_class: 0,
    };
    let (receive, message) = (null_mut(), null_mut());
    // SAFETY: the pointers are valid or null.
    unsafe {
        mq_post(
            engine,
            &raw const pattern,
            receive,
            null_mut(),
            message,
            null_mut(),
        )
    }
}

fn arrive(engine: *mut mq_engine, source: i32, tag: i32) -> c_int {
    let envelope = mq_envelope {
        context: CONTEXT,
        source,
        tag,
        traffic_class: 0,
    };
    // SAFETY: the pointers are valid or null.
    unsafe { mq_arrive(engine, &raw const envelope, 0, null_mut(), null_mut()) }
}

#[test]
fn a_context_keeps_to_what_it_is_told_later() {
    on_every_engine(0, |engine| {
        assert_eq!(arrive(engine, 3, 5), MQ_NONE);
        assert_eq!(update(engine, 4, MQ_NO_ANY_SOURCE), MQ_NONE);
        assert_eq!(post(engine, MQ_ANY_SOURCE, 5), MQ_ERR_ANY_SOURCE);
        assert_eq!(
            (post(engine, 4, 5), arrive(engine, 4, 5)),
            (MQ_ERR_RANK, MQ_ERR_RANK)
        );
        assert_eq!(post(engine, 3, MQ_ANY_TAG), MQ_MATCHED);
        assert_eq!(update(engine, 4, MQ_NO_ANY_TAG), MQ_NONE);
        assert_eq!(post(engine, 3, MQ_ANY_TAG), MQ_ERR_ANY_TAG);
        // SAFETY: null takes all back.
        let taken_back = unsafe { mq_context_update(engine, CONTEXT, null()) };
        assert_eq!(taken_back, MQ_NONE);
        assert_eq!(post(engine, MQ_ANY_SOURCE, MQ_ANY_TAG), MQ_NONE);
        assert_eq!(arrive(engine, 99, 5), MQ_MATCHED);
    });
}

#[test]
fn what_is_queued_has_to_keep_the_promises() {
    on_every_engine(0, |engine| {
        assert_eq!(post(engine, MQ_ANY_SOURCE, 5), MQ_NONE);
        assert_eq!(arrive(engine, 3, 6), MQ_NONE);
        assert_eq!(post(engine, 1, MQ_ANY_TAG), MQ_NONE);
        assert_eq!(update(engine, 4, MQ_NO_ANY_SOURCE), MQ_ERR_ANY_SOURCE);
        assert_eq!(update(engine, 4, MQ_NO_ANY_TAG), MQ_ERR_ANY_TAG);
        assert_eq!(update(engine, 3, 0), MQ_ERR_RANK);
        assert_eq!(update(engine, 4, 64), MQ_ERR_ARGUMENT);
        // Nothing has changed, and no entry is lost.
        assert_eq!(arrive(engine, 9, 5), MQ_MATCHED);
        assert_eq!(post(engine, 3, 6), MQ_MATCHED);
        assert_eq!(arrive(engine, 1, 7), MQ_MATCHED);
        assert_eq!(update(engine, 3, MQ_NO_ANY_SOURCE | MQ_NO_ANY_TAG), MQ_NONE);
    });
}

#[test]
fn a_context_may_grow_past_the_size_that_its_structure_plans_by() {
    on_every_engine(2, |engine| {
        assert_eq!(arrive(engine, 1, 5), MQ_NONE);
        assert_eq!(update(engine, 5_000, 0), MQ_NONE);
        for rank in (2..5_000).step_by(7) {
            assert_eq!(arrive(engine, rank, 5), MQ_NONE);
        }
        for rank in (2..5_000).step_by(7).rev() {
            assert_eq!(post(engine, rank, 5), MQ_MATCHED);
        }
        assert_eq!(post(engine, MQ_ANY_SOURCE, 5), MQ_MATCHED);
        assert_eq!(arrive(engine, 5_000, 5), MQ_ERR_RANK);
    });
}

#[test]
fn a_structure_is_chosen_once_and_an_unknown_context_is_none() {
    on_every_engine(0, |engine| {
        // SAFETY: zeroed options are those of C; the pointers are valid.
        let mut options: mq_context_options = unsafe { zeroed() };
        // SAFETY: as above.
        let unknown = unsafe { mq_context_update(engine, CONTEXT + 1, &raw const options) };
        assert_eq!(unknown, MQ_ERR_UNKNOWN_CONTEXT);
        options.structure = c"list".as_ptr();
        // SAFETY: as above.
        let chosen = unsafe { mq_context_update(engine, CONTEXT, &raw const options) };
        assert_eq!(chosen, MQ_ERR_ARGUMENT);
    });
}
