//! Calls that move no entry leave the front of an engine open, with what is queued in it.
#![allow(unsafe_code, reason = "the functions are C's")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a test calls many functions with the same valid pointers"
)]

use core::ffi::{c_int, c_void};
use core::ptr::{null, null_mut};

use mq::*;

/// An engine with context 1 of eight ranks and context 2 of any number.
struct Fixture(*mut mq_engine);

impl Fixture {
    fn new() -> Self {
        let mut engine = null_mut();
        // SAFETY: the pointers are valid or null.
        unsafe {
            assert_eq!(mq_engine_new(null(), &raw mut engine), MQ_NONE);
            let eight = options(8, 0);
            assert_eq!(mq_context_create(engine, 1, &raw const eight), MQ_NONE);
            assert_eq!(mq_context_create(engine, 2, null()), MQ_NONE);
        }
        Self(engine)
    }

    /// Whether the front is open, and nothing is queued behind it.
    fn is_open(&self) -> bool {
        // SAFETY: the front is at the address of the engine.
        unsafe { (*self.0.cast::<mq_front>()).open == MQ_FRONT_LAYOUT }
    }

    fn post(&self, context: u32, source: i32, tag: i32, receive: usize) -> mq_handle {
        let pattern = mq_pattern {
            context,
            source,
            tag,
            ignore: 0,
            traffic_class: 0,
        };
        let mut handle = mq_handle {
            sequence: 0,
            slot: 0,
            context: 0,
        };
        let (pattern, handle_out) = (&raw const pattern, &raw mut handle);
        // SAFETY: the pointers are valid or null.
        let posted = unsafe {
            mq_post(
                self.0,
                pattern,
                receive as *mut c_void,
                handle_out,
                null_mut(),
                null_mut(),
            )
        };
        assert_eq!(posted, MQ_NONE);
        handle
    }

    /// The receive that a message takes.
    fn arrive(&self, context: u32, source: i32, tag: i32, message: usize) -> Option<usize> {
        let envelope = mq_envelope {
            context,
            source,
            tag,
            traffic_class: 0,
        };
        let mut receive = null_mut();
        let (envelope, out) = (&raw const envelope, &raw mut receive);
        // SAFETY: the pointers are valid.
        match unsafe { mq_arrive(self.0, envelope, 8, message as *mut c_void, out) } {
            MQ_MATCHED => Some(receive as usize),
            status => {
                assert_eq!(status, MQ_NONE);
                None
            }
        }
    }

    fn update(&self, context: u32, size: u32, promises: u32) -> c_int {
        let options = options(size, promises);
        // SAFETY: the pointers are valid.
        unsafe { mq_context_update(self.0, context, &raw const options) }
    }

    fn free_context(&self, context: u32) -> (c_int, Vec<(c_int, usize)>) {
        let mut shown = Shown::new(self.0);
        let user = (&raw mut shown).cast();
        // SAFETY: the pointers are valid.
        let status = unsafe { mq_context_free(self.0, context, Some(show), user) };
        (status, shown.entries)
    }

    fn visit(&self) -> Vec<(c_int, usize)> {
        let mut shown = Shown::new(self.0);
        let user = (&raw mut shown).cast();
        // SAFETY: the pointers are valid.
        assert_eq!(unsafe { mq_visit(self.0, Some(show), user) }, MQ_NONE);
        shown.entries
    }

    fn lengths_by_source(&self, context: u32) -> ([u64; 8], [u64; 8]) {
        let (mut posted, mut unexpected) = ([9; 8], [9; 8]);
        let (to, and) = (posted.as_mut_ptr(), unexpected.as_mut_ptr());
        // SAFETY: the pointers are valid for eight numbers.
        let counted = unsafe { mq_lengths_by_source(self.0, context, 8, to, and) };
        assert_eq!(counted, MQ_NONE);
        (posted, unexpected)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // SAFETY: made by `mq_engine_new`.
        assert_eq!(unsafe { mq_engine_free(self.0) }, MQ_NONE);
    }
}

fn options(size: u32, promises: u32) -> mq_context_options {
    mq_context_options {
        size,
        promises,
        rank: 0,
        structure: null(),
        reserved: [0; 2],
    }
}

/// What was shown of an engine.
struct Shown {
    engine: *mut mq_engine,
    entries: Vec<(c_int, usize)>,
}

impl Shown {
    const fn new(engine: *mut mq_engine) -> Self {
        Self {
            engine,
            entries: Vec::new(),
        }
    }
}

/// Notes an entry. The engine is not to be called meanwhile, nor may its front be used in place.
unsafe extern "C" fn show(user: *mut c_void, entry: *const mq_entry) {
    // SAFETY: the tests pass what was shown, and the library a valid entry.
    let (shown, entry) = unsafe { (&mut *user.cast::<Shown>(), &*entry) };
    shown.entries.push((entry.posted, entry.cookie as usize));
    // SAFETY: the engine is there, and its front at its address.
    let (lengths, open) = unsafe {
        let lengths = mq_lengths(shown.engine, null_mut(), null_mut());
        (lengths, (*shown.engine.cast::<mq_front>()).open)
    };
    assert_eq!((lengths, open), (MQ_ERR_REENTRANT, 0));
}

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
    assert!(engine.is_open());
    let mut receive = null_mut();
    // SAFETY: the pointers are valid.
    let cancelled = unsafe { mq_cancel(engine.0, handle, &raw mut receive) };
    assert_eq!((cancelled, receive as usize), (MQ_MATCHED, 10));
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
    // SAFETY: the pointers are valid or null.
    assert_eq!(unsafe { mq_cancel(engine.0, kept, null_mut()) }, MQ_NONE);
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
