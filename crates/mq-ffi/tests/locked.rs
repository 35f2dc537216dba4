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
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::yield_now;
use std::time::Duration;

use mq::*;

const MESSAGES: usize = 20_000;
const ROUNDS: usize = 5_000;
const CONTEXT: u32 = 0;
const OTHER: u32 = 1;

/// What the high-water call found.
#[derive(Default)]
struct Heard {
    engine: AtomicPtr<mq_engine>,
    calls: AtomicUsize,
    refused: AtomicUsize,
}

/// Calls the engine, which it must not.
unsafe extern "C-unwind" fn reenter(user: *mut c_void, _entries: u64, _bytes: u64) {
    // SAFETY: the test's, which outlives the engine.
    let heard = unsafe { &*user.cast::<Heard>() };
    let engine = heard.engine.load(Ordering::Relaxed);
    // SAFETY: the engine is there, since it calls.
    let status = unsafe { mq_lengths(engine, null_mut(), null_mut()) };
    heard.calls.fetch_add(1, Ordering::Relaxed);
    let refused = usize::from(status == MQ_ERR_REENTRANT);
    heard.refused.fetch_add(refused, Ordering::Relaxed);
}

/// What a callback needs that does not return before it may.
struct Held {
    engine: AtomicPtr<mq_engine>,
    /// What the engine answers to a call from inside.
    inside: Sender<c_int>,
    /// Closed when the callback may return.
    release: Mutex<Receiver<()>>,
}

impl Held {
    fn user(&self) -> *mut c_void {
        (&raw const *self).cast_mut().cast()
    }

    /// # Safety
    /// `user` is from [`user`](Self::user), and its engine is there.
    unsafe fn hold(user: *mut c_void) {
        // SAFETY: as required of the caller.
        let held = unsafe { &*user.cast::<Self>() };
        let engine = Shared(held.engine.load(Ordering::Relaxed));
        // Nobody listens if the test has failed.
        let _ = held.inside.send(engine.arrive_on(CONTEXT, 3).0);
        let _ = held.release.lock().expect("no panic").recv();
    }
}

unsafe extern "C-unwind" fn hold(user: *mut c_void, _entry: *const mq_entry) {
    // SAFETY: the test's, which outlives the engine.
    unsafe { Held::hold(user) };
}

unsafe extern "C-unwind" fn hold_and_choose(user: *mut c_void, _entry: *const mq_entry) -> c_int {
    // SAFETY: the test's, which outlives the engine.
    unsafe { Held::hold(user) };
    1
}

unsafe extern "C-unwind" fn hold_at_mark(user: *mut c_void, _entries: u64, _bytes: u64) {
    // SAFETY: the test's, which outlives the engine.
    unsafe { Held::hold(user) };
}

/// Notes what a context gives back.
unsafe extern "C-unwind" fn note(user: *mut c_void, entry: *const mq_entry) {
    // SAFETY: the test's, which only this thread uses.
    let numbers = unsafe { &mut *user.cast::<Vec<usize>>() };
    // SAFETY: the entry is valid.
    numbers.push(unsafe { (*entry).cookie }.addr());
}

#[derive(Clone, Copy)]
struct Shared(*mut mq_engine);

// SAFETY: the engine has a lock.
unsafe impl Send for Shared {}

impl Shared {
    /// An engine with a lock, and with `high_water` called for `high` messages, or for none if that is 0.
    fn new(high_water: mq_high_water_fn, high: u64, user: *mut c_void) -> Self {
        let mut engine = null_mut();
        // SAFETY: zeroed options are those of C; the pointers are valid or null.
        unsafe {
            let mut options: mq_engine_options = zeroed();
            options.flags = MQ_LOCKED;
            options.high_water = high_water.filter(|_| high > 0);
            options.high_water_user = user;
            options.high_unexpected = high;
            assert_eq!(mq_engine_new(&raw const options, &raw mut engine), MQ_NONE);
        }
        Self(engine)
    }

    fn create(self, context: u32) {
        // SAFETY: the engine is there.
        let created = unsafe { mq_context_create(self.0, context, null()) };
        assert_eq!(created, MQ_NONE);
    }

    fn messages(self) -> u64 {
        let mut messages = 0;
        // SAFETY: the pointers are valid or null.
        let status = unsafe { mq_lengths(self.0, null_mut(), &raw mut messages) };
        assert_eq!(status, MQ_NONE);
        messages
    }

    fn free(self) {
        // SAFETY: the engine is there.
        assert_eq!(unsafe { mq_engine_free(self.0) }, MQ_NONE);
    }

    /// The number of the receive that a message takes, if one waits.
    fn arrive(self, number: usize) -> Option<usize> {
        let (status, receive) = self.arrive_on(CONTEXT, number);
        taken(status, receive)
    }

    /// The status of a message, and the receive that it takes.
    fn arrive_on(self, context: u32, number: usize) -> (c_int, *mut c_void) {
        let envelope = mq_envelope {
            context,
            source: 0,
            tag: 7,
            traffic_class: 0,
        };
        let mut receive = null_mut();
        let message = without_provenance_mut(number);
        // SAFETY: the pointers are valid.
        let status =
            unsafe { mq_arrive(self.0, &raw const envelope, 1, message, &raw mut receive) };
        (status, receive)
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
    let shared = Shared::new(Some(reenter), 4, (&raw const heard).cast_mut().cast());
    shared.create(CONTEXT);
    heard.engine.store(shared.0, Ordering::Relaxed);
    // The mark is reached once at least.
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
    shared.free();
}

/// A minute, or as many times that as this machine is slower than usual (`MQ_SLOWER`).
fn a_minute() -> Duration {
    let slower = std::env::var("MQ_SLOWER").ok();
    let slower: u64 = slower.map_or(1, |times| times.parse().expect("MQ_SLOWER is a number"));
    Duration::from_secs(60 * slower)
}

/// A call with a callback that is held.
type Call = fn(Shared, *mut c_void) -> c_int;

/// Holds the callback of `call` in an engine with one message, while another thread brings one more, which has to wait.
/// Returns how many there are when both are done.
fn messages_after(call: Call, high: u64) -> u64 {
    let (inside, entered) = channel();
    let (held_up, release) = channel::<()>();
    let held = &Held {
        engine: AtomicPtr::default(),
        inside,
        release: Mutex::new(release),
    };
    let shared = Shared::new(Some(hold_at_mark), high, held.user());
    held.engine.store(shared.0, Ordering::Relaxed);
    shared.create(CONTEXT);
    shared.create(OTHER);
    assert_eq!(shared.arrive_on(OTHER, 1).0, MQ_NONE);
    std::thread::scope(|scope| {
        // Also dropped if an assertion fails: no thread stays in the callback.
        let held_up = held_up;
        let calling = scope.spawn(move || call(shared, held.user()));
        let own = entered.recv_timeout(a_minute());
        assert_eq!(own, Ok(MQ_ERR_REENTRANT), "on a slow machine: MQ_SLOWER=5");
        let (answer, answered) = channel();
        scope.spawn(move || answer.send(shared.arrive_on(CONTEXT, 2).0));
        let early = answered.recv_timeout(Duration::from_millis(100));
        assert_eq!(early, Err(RecvTimeoutError::Timeout));
        drop(held_up);
        assert_eq!(answered.recv(), Ok(MQ_NONE));
        assert_eq!(calling.join().expect("no panic"), MQ_NONE);
    });
    let messages = shared.messages();
    shared.free();
    messages
}

#[test]
fn a_call_of_another_thread_waits_for_a_callback_and_is_not_refused() {
    // SAFETY: the engine is there, and `user` is what the callback expects.
    let visits: Call = |shared, user| unsafe { mq_visit(shared.0, Some(hold), user) };
    assert_eq!(messages_after(visits, 0), 2);
    let purges: Call = |shared, user| {
        // SAFETY: as above.
        unsafe { mq_purge(shared.0, Some(hold_and_choose), None, user) }
    };
    assert_eq!(messages_after(purges, 0), 1);
    // SAFETY: as above.
    let frees: Call = |shared, user| unsafe { mq_context_free(shared.0, OTHER, Some(hold), user) };
    assert_eq!(messages_after(frees, 0), 1);
    let reaches_the_mark: Call = |shared, _| shared.arrive_on(CONTEXT, 4).0;
    assert_eq!(messages_after(reaches_the_mark, 2), 3);
}

#[test]
fn a_context_gives_back_what_it_has_accepted_and_accepts_nothing_more() {
    let shared = Shared::new(None, 0, null_mut());
    let mut returned: Vec<usize> = Vec::new();
    let accepted = std::thread::scope(|scope| {
        // Also dropped if an assertion fails: the other thread ends.
        let (creating, created) = channel::<()>();
        let sending = scope.spawn(move || {
            let mut accepted = Vec::new();
            for message in 1.. {
                match shared.arrive_on(CONTEXT, message).0 {
                    MQ_NONE => accepted.push(message),
                    status => assert_eq!(status, MQ_ERR_UNKNOWN_CONTEXT),
                }
                if created.try_recv() == Err(TryRecvError::Disconnected) {
                    break;
                }
            }
            accepted
        });
        for round in 0..ROUNDS {
            shared.create(CONTEXT);
            // SAFETY: zeroed options are those of C; the pointers are valid.
            unsafe {
                let mut options: mq_context_options = zeroed();
                options.size = 4;
                let updated = mq_context_update(shared.0, CONTEXT, &raw const options);
                assert_eq!(updated, MQ_NONE);
            }
            // One message comes in time at least.
            while round == 0 && shared.messages() == 0 && !sending.is_finished() {
                yield_now();
            }
            let user = (&raw mut returned).cast();
            // SAFETY: the engine is there, and `user` is what the callback expects.
            let freed = unsafe { mq_context_free(shared.0, CONTEXT, Some(note), user) };
            assert_eq!(freed, MQ_NONE);
        }
        drop(creating);
        sending.join().expect("no panic")
    });
    returned.sort_unstable();
    assert!(!accepted.is_empty());
    assert_eq!(returned.len(), accepted.len());
    assert!(returned == accepted);
    assert_eq!(shared.messages(), 0);
    shared.free();
}
