//! What a session refuses, and what it says of the user's budgets.
#![allow(unsafe_code, reason = "the functions are C's")]

use core::mem::zeroed;
use core::ptr::{null, null_mut};

use mq::*;

fn budgets(session: *const mq_session) -> (i32, u64, u64) {
    let (mut entries, mut bytes) = (9, 9);
    // SAFETY: the session was made by `mq_session_open` or is null, and the others are valid.
    let status = unsafe { mq_session_budgets(session, &raw mut entries, &raw mut bytes) };
    (status, entries, bytes)
}

/// `tests/c/budgets.c` sets the variables.
#[test]
fn without_variables_there_are_no_budgets() {
    assert_eq!(budgets(null_mut()), (MQ_ERR_NULL, 9, 9));
    let mut session = null_mut();
    // SAFETY: zeroed options are those of C.
    let options: mq_session_options = unsafe { zeroed() };
    // SAFETY: the pointers are valid.
    let opened = unsafe { mq_session_open(&raw const options, &raw mut session) };
    assert_eq!(opened, MQ_NONE);
    assert_eq!(budgets(session), (MQ_NONE, 0, 0));
    // SAFETY: the outputs may be null.
    let for_nothing = unsafe { mq_session_budgets(session, null_mut(), null_mut()) };
    assert_eq!(for_nothing, MQ_NONE);
    // SAFETY: made above.
    assert_eq!(unsafe { mq_session_close(session) }, MQ_NONE);
    assert_eq!(budgets(session), (MQ_ERR_ENGINE, 9, 9));
}

#[test]
fn a_rank_that_the_job_does_not_have_is_refused() {
    for (rank, size, expected) in [
        (7, 3, MQ_ERR_ARGUMENT),
        (3, 3, MQ_ERR_ARGUMENT),
        (2, 3, MQ_NONE),
        (7, 0, MQ_NONE),
    ] {
        // SAFETY: zeroed options are those of C.
        let zeroed: mq_session_options = unsafe { zeroed() };
        let options = mq_session_options {
            rank,
            size,
            ..zeroed
        };
        let mut session = null_mut();
        // SAFETY: the pointers are valid.
        let opened = unsafe { mq_session_open(&raw const options, &raw mut session) };
        assert_eq!(opened, expected, "rank {rank} of {size}");
        assert_eq!(session.is_null(), expected != MQ_NONE);
        if !session.is_null() {
            // SAFETY: made above.
            assert_eq!(unsafe { mq_session_close(session) }, MQ_NONE);
        }
    }
}

/// What a session has counted; `None` if it counts nothing.
fn counted(session: *const mq_session) -> Option<mq_statistics> {
    // SAFETY: counts may be 0.
    let mut counts: mq_statistics = unsafe { zeroed() };
    // SAFETY: the session is open, and the counts are valid for a write of their size.
    let status =
        unsafe { mq_session_statistics_read(session, &raw mut counts, size_of_val(&counts)) };
    assert!(
        [MQ_NONE, MQ_ERR_NO_STATISTICS].contains(&status),
        "{status}"
    );
    (status == MQ_NONE).then_some(counts)
}

#[test]
fn a_session_counts_for_all_its_engines_also_those_that_are_gone() {
    // SAFETY: zeroed options are those of C.
    let mut options: mq_session_options = unsafe { zeroed() };
    let open = |options: &mq_session_options| {
        let mut session = null_mut();
        // SAFETY: the pointers are valid.
        let opened = unsafe { mq_session_open(options, &raw mut session) };
        assert_eq!(opened, MQ_NONE);
        session
    };
    let silent = open(&options);
    assert!(counted(silent).is_none(), "nobody has asked for counts");
    options.statistics = 1;
    let session = open(&options);
    let engines = [(); 2].map(|()| {
        let mut engine = null_mut();
        // SAFETY: zeroed options are those of C.
        let zeroed: mq_engine_options = unsafe { zeroed() };
        let options = mq_engine_options { session, ..zeroed };
        // SAFETY: the pointers are valid.
        let made = unsafe { mq_engine_new(&raw const options, &raw mut engine) };
        assert_eq!(made, MQ_NONE);
        // SAFETY: made above; null are the default options.
        let created = unsafe { mq_context_create(engine, 0, null()) };
        assert_eq!(created, MQ_NONE);
        engine
    });
    let envelope = mq_envelope {
        context: 0,
        source: 1,
        tag: 7,
        traffic_class: 0,
    };
    for (&engine, bytes) in engines.iter().zip([10, 200]) {
        // SAFETY: the engine was made above, the envelope is valid, and outputs may be null.
        let arrived =
            unsafe { mq_arrive(engine, &raw const envelope, bytes, null_mut(), null_mut()) };
        assert_eq!(arrived, MQ_NONE);
    }
    let of_both = counted(session).expect("it counts");
    assert_eq!((of_both.messages, of_both.unexpected.length), (2, 2));
    assert_eq!(
        (of_both.unexpected.longest, of_both.unexpected.most_bytes),
        (2, 210)
    );
    // SAFETY: made above.
    assert_eq!(unsafe { mq_engine_free(engines[0]) }, MQ_NONE);
    let afterwards = counted(session).expect("it counts");
    assert_eq!((afterwards.messages, afterwards.unexpected.length), (2, 1));
    assert_eq!(afterwards.unexpected.bytes, 200);
    let mut first = 0_u64;
    // SAFETY: the session is open, and as many bytes may be written.
    let short = unsafe { mq_session_statistics_read(session, (&raw mut first).cast(), 8) };
    assert_eq!((short, first), (MQ_NONE, afterwards.receives));
    // SAFETY: nothing is written to null.
    let nowhere = unsafe { mq_session_statistics_read(session, null_mut(), 8) };
    assert_eq!(nowhere, MQ_NONE);
    // SAFETY: made above.
    assert_eq!(unsafe { mq_engine_free(engines[1]) }, MQ_NONE);
    for session in [silent, session] {
        // SAFETY: made above.
        assert_eq!(unsafe { mq_session_close(session) }, MQ_NONE);
    }
    // SAFETY: null is refused, and a closed session is recognised.
    let refused = [null(), session.cast_const()]
        .map(|of| unsafe { mq_session_statistics_read(of, null_mut(), 0) });
    assert_eq!(refused, [MQ_ERR_NULL, MQ_ERR_ENGINE]);
}
