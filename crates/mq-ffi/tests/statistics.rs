//! What an engine counts of operations in halves, as an MPI library does them.
#![allow(unsafe_code, reason = "the functions are C's")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a test calls many functions with the same valid pointers"
)]

use core::mem::zeroed;
use core::ptr::{null_mut, without_provenance_mut};

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
        assert_eq!(mq_statistics_read(engine, &raw mut counted), MQ_NONE);
        assert_eq!(counted.probes, 2);
        assert_eq!((counted.receives, counted.receives_matched), (1, 1));
        assert_eq!((counted.messages, counted.messages_matched), (1, 0));
        assert_eq!(counted.cancels, 0);
        assert_eq!(mq_engine_free(engine), MQ_NONE);
    }
}
