//! An engine with a lock, used by two threads at the same time.
#![allow(unsafe_code, reason = "the functions are C's")]
#![allow(
    clippy::disallowed_types,
    reason = "counts calls, not part of a protocol"
)]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a test calls many functions with the same valid pointers"
)]

use core::ffi::{c_int, c_void};
use core::mem::zeroed;
use core::ptr::{null, null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use mq::*;

const MESSAGES: usize = 20_000;
const CONTEXT: u32 = 0;

/// What the high-water call found.
#[derive(Default)]
struct Heard {
    engine: AtomicPtr<mq_engine>,
    calls: AtomicUsize,
    refused: AtomicUsize,
}

/// Calls the engine, which it must not.
unsafe extern "C" fn reenter(user: *mut c_void, _entries: u64, _bytes: u64) {
    // SAFETY: the test's, which outlives the engine.
    let heard = unsafe { &*user.cast::<Heard>() };
    let engine = heard.engine.load(Ordering::Relaxed);
    // SAFETY: the engine is there, since it calls.
    let status = unsafe { mq_lengths(engine, null_mut(), null_mut()) };
    heard.calls.fetch_add(1, Ordering::Relaxed);
    let refused = usize::from(status == MQ_ERR_REENTRANT);
    heard.refused.fetch_add(refused, Ordering::Relaxed);
}

#[derive(Clone, Copy)]
struct Shared(*mut mq_engine);

// SAFETY: the engine has a lock.
unsafe impl Send for Shared {}

impl Shared {
    /// The number of the receive that a message takes, if one waits.
    fn arrive(self, number: usize) -> Option<usize> {
        let envelope = mq_envelope {
            context: CONTEXT,
            source: 0,
            tag: 7,
            traffic_class: 0,
        };
        let mut receive = null_mut();
        let message = without_provenance_mut(number);
        // SAFETY: the pointers are valid.
        let status =
            unsafe { mq_arrive(self.0, &raw const envelope, 1, message, &raw mut receive) };
        taken(status, receive)
    }

    /// The number of the message that a receive takes, if one waits.
    fn post(self, number: usize) -> Option<usize> {
        let pattern = mq_pattern {
            context: CONTEXT,
            source: 0,
            tag: 7,
            ignore: 0,
            traffic_class: 0,
        };
        let mut message = null_mut();
        let receive = without_provenance_mut(number);
        // SAFETY: the pointers are valid.
        let status = unsafe {
            mq_post(
                self.0,
                &raw const pattern,
                receive,
                null_mut(),
                &raw mut message,
                null_mut(),
            )
        };
        taken(status, message)
    }
}

/// The other thread is never taken for one that calls from inside.
fn taken(status: c_int, cookie: *mut c_void) -> Option<usize> {
    match status {
        MQ_MATCHED => Some(cookie.addr()),
        MQ_NONE => None,
        status => panic!("status {status}"),
    }
}

#[test]
fn two_threads_match_everything_once_and_only_the_call_from_inside_is_refused() {
    let heard = Heard::default();
    let mut engine = null_mut();
    // SAFETY: zeroed options are those of C; the pointers are valid or null.
    unsafe {
        let mut options: mq_engine_options = zeroed();
        options.flags = MQ_LOCKED;
        options.high_water = Some(reenter);
        options.high_water_user = (&raw const heard).cast_mut().cast();
        options.high_unexpected = 4;
        assert_eq!(mq_engine_new(&raw const options, &raw mut engine), MQ_NONE);
        assert_eq!(mq_context_create(engine, CONTEXT, null()), MQ_NONE);
    }
    heard.engine.store(engine, Ordering::Relaxed);
    // The mark is reached once at least.
    let shared = Shared(engine);
    for number in 1..=4 {
        assert_eq!(shared.arrive(number), None);
    }
    // Pairs of a message and a receive, as either side was told.
    let mut pairs: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let sending = scope.spawn(move || {
            let shared = shared;
            let arrived = (5..=MESSAGES).map(|message| (message, shared.arrive(message)));
            let pairs = arrived.filter_map(|(message, receive)| Some((message, receive?)));
            pairs.collect::<Vec<_>>()
        });
        let receiving = scope.spawn(move || {
            let shared = shared;
            let posted = (1..=MESSAGES).map(|receive| (shared.post(receive), receive));
            let pairs = posted.filter_map(|(message, receive)| Some((message?, receive)));
            pairs.collect::<Vec<_>>()
        });
        let mut pairs = sending.join().expect("no panic");
        pairs.extend(receiving.join().expect("no panic"));
        pairs
    });
    // One sender, one receiver: in order.
    pairs.sort_unstable();
    let expected = (1..=MESSAGES).map(|number| (number, number));
    assert!(pairs.into_iter().eq(expected));
    let calls = heard.calls.load(Ordering::Relaxed);
    assert!(calls > 0);
    assert_eq!(heard.refused.load(Ordering::Relaxed), calls);
    // SAFETY: the engine is there.
    assert_eq!(unsafe { mq_engine_free(engine) }, MQ_NONE);
}
