//! What a session refuses, and what it says of the user's budgets.
#![allow(unsafe_code, reason = "the functions are C's")]

use core::mem::zeroed;
use core::ptr::null_mut;

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
