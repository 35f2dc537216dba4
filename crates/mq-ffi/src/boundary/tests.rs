#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a test calls many functions with the same valid pointers"
)]

use core::ffi::c_int;
use core::ptr::{from_ref, null, null_mut, swap};
use core::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::*;
use crate::engine::{mq_context_create, mq_engine_free, mq_engine_new};
use crate::front::{MQ_FRONT_LAYOUT, mq_front};
use crate::inspect::mq_lengths;
use crate::lock::lock;
use crate::matching::Matching;
use crate::status::{MQ_ERR_ENGINE, MQ_ERR_INTERNAL, MQ_NONE};
use crate::types::{MQ_LOCKED, MQ_STATISTICS, mq_engine_options, mq_envelope};
use crate::{mq_arrive, mq_probe};

#[test]
fn an_engine_that_a_panic_has_broken_can_only_be_freed() {
    for flags in [0, MQ_STATISTICS, MQ_LOCKED] {
        // SAFETY: all pointers are null or valid, and the engine is this thread's.
        unsafe {
            let mut options: mq_engine_options = core::mem::zeroed();
            options.flags = flags;
            let mut engine = null_mut();
            assert_eq!(mq_engine_new(&raw const options, &raw mut engine), MQ_NONE);
            assert_eq!(mq_context_create(engine, 0, null()), MQ_NONE);
            let open = (*engine).shell.front.get();
            assert_eq!((*open).open == MQ_FRONT_LAYOUT, flags == 0);

            let broken = match flags {
                0 => guard_step(engine, || panic!("on purpose")),
                _ => enter(engine, |_| panic!("on purpose")),
            };
            assert_eq!(broken, MQ_ERR_INTERNAL);
            assert_eq!(
                ((*open).open, (*open).no_receives, (*open).no_messages),
                (0, 0, 0)
            );
            let envelope = mq_envelope {
                context: 0,
                source: 0,
                tag: 0,
                traffic_class: 0,
            };
            let arrived = mq_arrive(engine, &raw const envelope, 0, null_mut(), null_mut());
            assert_eq!(arrived, MQ_ERR_INTERNAL);
            let probed = mq_probe(engine, null(), null_mut(), null_mut());
            assert_eq!(probed, MQ_ERR_INTERNAL);
            assert_eq!(mq_lengths(engine, null_mut(), null_mut()), MQ_ERR_INTERNAL);
            assert_eq!(mq_engine_free(engine), MQ_NONE);
            assert_eq!(mq_engine_free(engine), MQ_ERR_ENGINE);
            // The block is as good as new.
            assert_eq!(mq_engine_new(null(), &raw mut engine), MQ_NONE);
            assert_eq!(mq_context_create(engine, 0, null()), MQ_NONE);
            let arrived = mq_arrive(engine, &raw const envelope, 0, null_mut(), null_mut());
            assert_eq!(arrived, MQ_NONE);
            assert_eq!(mq_engine_free(engine), MQ_NONE);
        }
    }
}

/// What a call answers that waits for the lock of an engine, held for as long as `pause`, while the engine is freed
/// or, if `reused`, its block is given to one without a lock.
fn answer_after(pause: Duration, reused: bool) -> c_int {
    // SAFETY: all pointers are null or valid, and the other thread is not in the engine while this one changes it.
    unsafe {
        let mut options: mq_engine_options = core::mem::zeroed();
        options.flags = MQ_LOCKED;
        let mut engine = null_mut();
        assert_eq!(mq_engine_new(&raw const options, &raw mut engine), MQ_NONE);
        let locked = &*engine;
        let shell = &locked.shell;
        let held = lock(&shell.mutex);
        let (answer, answered) = channel();
        std::thread::spawn(move || {
            let engine = from_ref(locked).cast_mut();
            answer.send(mq_lengths(engine, null_mut(), null_mut()))
        });
        assert_eq!(answered.recv_timeout(pause), Err(RecvTimeoutError::Timeout));
        let mut aside = None;
        let mut change = |locked| match reused {
            true => shell.locked.store(locked, Ordering::Relaxed),
            false => swap(&raw mut aside, shell.matching.get()),
        };
        change(false);
        drop(held);
        let status = answered.recv().expect("no panic");
        // As it was.
        change(true);
        assert_eq!(mq_engine_free(engine), MQ_NONE);
        status
    }
}

#[test]
fn a_call_that_has_waited_for_the_lock_looks_again_whether_the_engine_is_there() {
    let pauses = [50, 500, 5_000].map(Duration::from_millis);
    assert_eq!(answer_after(pauses[0], false), MQ_ERR_ENGINE);
    // The block is used again too early if the other thread has not yet begun to wait: once more then, later.
    let mut answers = pauses.into_iter().map(|pause| answer_after(pause, true));
    assert!(answers.any(|answer| answer == MQ_ERR_ENGINE));
}

#[test]
fn an_engine_is_as_small_as_the_documentation_says() {
    let block = size_of::<mq_engine>();
    let bytes = block + size_of::<Matching>();
    assert_eq!((size_of::<mq_front>(), block, bytes), (288, 328, 744));
}
