//! The C interface, called as C would: outcomes, outputs, errors, null pointers, stale handles.
#![allow(unsafe_code, reason = "the functions are C's")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a test calls many functions with the same valid pointers"
)]

use core::ffi::{CStr, c_int, c_void};
use core::mem::zeroed;
use core::ptr::{null, null_mut};

use mq::*;

/// An engine with context 1 of eight ranks, freed at the end.
struct Fixture(*mut mq_engine);

impl Fixture {
    fn new(options: *const mq_engine_options, promises: u32) -> Self {
        let mut engine = null_mut();
        // SAFETY: the pointers are valid or null.
        assert_eq!(unsafe { mq_engine_new(options, &raw mut engine) }, MQ_NONE);
        let context = mq_context_options {
            size: 8,
            promises,
            rank: 0,
            structure: null(),
            reserved: [0; 2],
        };
        // SAFETY: as above.
        let created = unsafe { mq_context_create(engine, 1, &raw const context) };
        assert_eq!(created, MQ_NONE);
        Self(engine)
    }

    fn post(&self, source: i32, tag: i32, receive: usize) -> (c_int, Outputs) {
        let wanted = pattern(source, tag);
        let mut out = Outputs::default();
        // SAFETY: the pointers are valid.
        let status = unsafe {
            mq_post(
                self.0,
                &raw const wanted,
                cookie(receive),
                &raw mut out.handle,
                &raw mut out.cookie,
                &raw mut out.envelope,
            )
        };
        (status, out)
    }

    fn arrive(&self, source: i32, tag: i32, bytes: u64, message: usize) -> (c_int, usize) {
        let envelope = carried(source, tag);
        let mut receive = cookie(UNWRITTEN);
        // SAFETY: the pointers are valid.
        let status = unsafe {
            mq_arrive(
                self.0,
                &raw const envelope,
                bytes,
                cookie(message),
                &raw mut receive,
            )
        };
        (status, receive as usize)
    }

    fn cancel(&self, handle: mq_handle) -> (c_int, usize) {
        let mut receive = cookie(UNWRITTEN);
        // SAFETY: the pointers are valid.
        let status = unsafe { mq_cancel(self.0, handle, &raw mut receive) };
        (status, receive as usize)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // SAFETY: made by `mq_engine_new`, freed once.
        unsafe { mq_engine_free(self.0) };
    }
}

const UNWRITTEN: usize = 0xdead;

struct Outputs {
    handle: mq_handle,
    cookie: *mut c_void,
    envelope: mq_envelope,
}

impl Default for Outputs {
    fn default() -> Self {
        Self {
            handle: mq_handle {
                sequence: u64::MAX,
                slot: u32::MAX,
                context: u32::MAX,
            },
            cookie: cookie(UNWRITTEN),
            envelope: carried(-7, -7),
        }
    }
}

fn cookie(number: usize) -> *mut c_void {
    core::ptr::without_provenance_mut(number)
}

const fn pattern(source: i32, tag: i32) -> mq_pattern {
    mq_pattern {
        context: 1,
        source,
        tag,
        ignore: 0,
        traffic_class: 0,
    }
}

const fn carried(source: i32, tag: i32) -> mq_envelope {
    mq_envelope {
        context: 1,
        source,
        tag,
        traffic_class: 0,
    }
}

fn options(structure: Option<&CStr>, entries: u64, bytes: u64) -> mq_engine_options {
    mq_engine_options {
        structure: structure.map_or(null(), CStr::as_ptr),
        max_unexpected: entries,
        max_unexpected_bytes: bytes,
        flags: 0,
        session: null(),
        max_unexpected_per_source: 0,
        max_unexpected_bytes_per_source: 0,
        high_water: None,
        high_water_user: null_mut(),
        high_unexpected: 0,
        low_unexpected: 0,
        high_unexpected_bytes: 0,
        low_unexpected_bytes: 0,
        reserved: [0; 4],
    }
}

#[test]
fn every_structure_matches_and_writes_only_what_it_says() {
    for index in 0.. {
        let name = mq_structure_name(index);
        if name.is_null() {
            assert!(index >= 12);
            break;
        }
        // SAFETY: a C string that lives for ever.
        let name = unsafe { CStr::from_ptr(name) };
        let options = options(Some(name), 0, 0);
        let queues = Fixture::new(&raw const options, 0);

        let (status, out) = queues.post(MQ_ANY_SOURCE, MQ_ANY_TAG, 1);
        assert_eq!(
            (status, out.cookie as usize),
            (MQ_NONE, UNWRITTEN),
            "{name:?}"
        );
        let internal = queues.arrive(3, -5, 0, 10);
        assert_eq!(
            internal,
            (MQ_NONE, UNWRITTEN),
            "{name:?}: a wildcard takes no negative tag"
        );
        assert_eq!(queues.arrive(3, 5, 0, 11), (MQ_MATCHED, 1), "{name:?}");
        assert_eq!(
            queues.cancel(out.handle),
            (MQ_NONE, UNWRITTEN),
            "{name:?}: it left"
        );

        let (status, out) = queues.post(3, -5, 2);
        assert_eq!((status, out.cookie as usize), (MQ_MATCHED, 10), "{name:?}");
        assert_eq!(out.envelope, carried(3, -5), "{name:?}");
        assert_eq!(
            out.handle,
            Outputs::default().handle,
            "{name:?}: nothing was queued"
        );

        let (_, out) = queues.post(4, 4, 3);
        assert_eq!(queues.cancel(out.handle), (MQ_MATCHED, 3), "{name:?}");
        assert_eq!(
            queues.cancel(out.handle),
            (MQ_NONE, UNWRITTEN),
            "{name:?}: twice"
        );
    }
}

#[test]
fn wrong_arguments_are_named_and_change_nothing() {
    let queues = Fixture::new(null(), MQ_NO_ANY_SOURCE | MQ_NO_ANY_TAG);
    let (status, out) = queues.post(8, 0, 1);
    assert_eq!(
        (status, out.handle),
        (MQ_ERR_RANK, Outputs::default().handle)
    );
    assert_eq!(queues.post(-2, 0, 1).0, MQ_ERR_RANK);
    assert_eq!(queues.post(MQ_ANY_SOURCE, 0, 1).0, MQ_ERR_ANY_SOURCE);
    assert_eq!(queues.post(0, MQ_ANY_TAG, 1).0, MQ_ERR_ANY_TAG);
    assert_eq!(queues.arrive(-1, 0, 0, 1).0, MQ_ERR_RANK);
    assert_eq!(queues.arrive(0, MQ_ANY_TAG, 0, 1).0, MQ_ERR_ARGUMENT);
    // SAFETY: the pointers are valid or null.
    unsafe {
        let mut wanted = pattern(0, MQ_ANY_TAG);
        wanted.ignore = 1;
        let probe = mq_probe(queues.0, &raw const wanted, null_mut(), null_mut());
        assert_eq!(probe, MQ_ERR_ARGUMENT);
        wanted = pattern(0, 0);
        wanted.traffic_class = 1000;
        let probe = mq_probe(queues.0, &raw const wanted, null_mut(), null_mut());
        assert_eq!(probe, MQ_ERR_ARGUMENT);
        wanted = pattern(0, 0);
        wanted.context = 9;
        let probe = mq_extract(queues.0, &raw const wanted, null_mut(), null_mut());
        assert_eq!(probe, MQ_ERR_UNKNOWN_CONTEXT);
        let (mut posted, mut unexpected) = ([9; 2], [9; 2]);
        let outputs = (posted.as_mut_ptr(), unexpected.as_mut_ptr());
        let counted = mq_context_lengths(queues.0, 9, outputs.0, outputs.1);
        assert_eq!(counted, MQ_ERR_UNKNOWN_CONTEXT);
        let counted = mq_lengths_by_source(queues.0, 9, 2, outputs.0, outputs.1);
        assert_eq!(counted, MQ_ERR_UNKNOWN_CONTEXT);
        assert_eq!((posted, unexpected), ([9; 2], [9; 2]));
        let told = mq_context_get(queues.0, 9, null_mut(), null_mut());
        assert_eq!(told, MQ_ERR_UNKNOWN_CONTEXT);
        let shown = mq_context_visit(queues.0, 9, Some(of_rank_2), null_mut());
        assert_eq!(shown, MQ_ERR_UNKNOWN_CONTEXT);
        assert_eq!(
            mq_context_create(queues.0, 1, null()),
            MQ_ERR_CONTEXT_EXISTS
        );
        for wrong in [c"5d", c"bins:bin=4", c"bins:bins=0", c"list:"] {
            let unknown = options(Some(wrong), 0, 0);
            let mut engine = null_mut();
            let made = mq_engine_new(&raw const unknown, &raw mut engine);
            assert_eq!(made, MQ_ERR_STRUCTURE, "{wrong:?}");
            assert!(engine.is_null());
        }
        for wrong in [c"5d", c"bins:bins=8", c"bins:bins=256"] {
            let mut unknown: mq_context_options = zeroed();
            unknown.structure = wrong.as_ptr();
            let made = mq_context_create(queues.0, 5, &raw const unknown);
            assert_eq!(made, MQ_ERR_STRUCTURE, "{wrong:?}");
        }
        let (mut posted, mut unexpected) = (9, 9);
        mq_lengths(queues.0, &raw mut posted, &raw mut unexpected);
        assert_eq!((posted, unexpected), (0, 0));
    }
}

#[test]
fn null_pointers_are_errors() {
    let queues = Fixture::new(null(), 0);
    let (wanted, envelope) = (pattern(0, 0), carried(0, 0));
    let handle = Outputs::default().handle;
    // SAFETY: null is what is tested; the other pointers are valid.
    let statuses = unsafe {
        [
            mq_engine_new(null(), null_mut()),
            mq_context_create(null_mut(), 0, null()),
            mq_context_free(null_mut(), 0, None, null_mut()),
            mq_post(
                null_mut(),
                &raw const wanted,
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
            ),
            mq_post(
                queues.0,
                null(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
            ),
            mq_arrive(null_mut(), &raw const envelope, 0, null_mut(), null_mut()),
            mq_arrive(queues.0, null(), 0, null_mut(), null_mut()),
            mq_probe(queues.0, null(), null_mut(), null_mut()),
            mq_extract(null_mut(), &raw const wanted, null_mut(), null_mut()),
            mq_cancel(null_mut(), handle, null_mut()),
            mq_announce(null_mut(), 0, MQ_CLASS_BARRIER, 0, 1),
            mq_purge(queues.0, None, None, null_mut()),
            mq_context_purge(null_mut(), 0, None, None, null_mut()),
            mq_visit(queues.0, None, null_mut()),
            mq_lengths(null_mut(), null_mut(), null_mut()),
            mq_context_lengths(null_mut(), 0, null_mut(), null_mut()),
            mq_lengths_by_source(null_mut(), 0, 0, null_mut(), null_mut()),
            mq_context_get(null_mut(), 0, null_mut(), null_mut()),
            mq_context_visit(queues.0, 1, None, null_mut()),
            mq_memory(null_mut(), null_mut()),
        ]
    };
    assert_eq!(statuses, [MQ_ERR_NULL; 20]);
    // SAFETY: null is allowed.
    assert_eq!(unsafe { mq_engine_free(null_mut()) }, MQ_NONE);
    // Outputs that nobody wants are not written.
    // SAFETY: the engine and the pattern are valid.
    let posted = unsafe {
        mq_post(
            queues.0,
            &raw const wanted,
            null_mut(),
            null_mut(),
            null_mut(),
            null_mut(),
        )
    };
    assert_eq!(posted, MQ_NONE);
    assert_eq!(queues.arrive(0, 0, 0, 1), (MQ_MATCHED, 0));
}

#[test]
fn budgets_refuse_without_loss() {
    let options = options(None, 3, 100);
    let queues = Fixture::new(&raw const options, 0);
    assert_eq!(queues.arrive(1, 0, 60, 1).0, MQ_NONE);
    assert_eq!(queues.arrive(1, 0, 41, 2).0, MQ_ERR_BYTE_BUDGET);
    assert_eq!(queues.arrive(1, 0, 40, 3).0, MQ_NONE);
    assert_eq!(queues.arrive(1, 0, 0, 4).0, MQ_NONE);
    assert_eq!(queues.arrive(1, 0, 0, 5).0, MQ_ERR_ENTRY_BUDGET);
    for message in [1, 3, 4] {
        let (status, out) = queues.post(1, 0, 9);
        assert_eq!((status, out.cookie as usize), (MQ_MATCHED, message));
    }
    assert_eq!(
        queues.arrive(1, 0, 100, 6).0,
        MQ_NONE,
        "all of it is free again"
    );
}

#[test]
fn a_flood_from_one_source_leaves_room_for_the_others() {
    let mut options = options(None, 6, 0);
    options.max_unexpected_per_source = 2;
    options.max_unexpected_bytes_per_source = 100;
    let queues = Fixture::new(&raw const options, 0);
    assert_eq!(queues.arrive(1, 0, 60, 1).0, MQ_NONE);
    assert_eq!(queues.arrive(1, 0, 41, 2).0, MQ_ERR_SOURCE_BYTE_BUDGET);
    assert_eq!(queues.arrive(1, 0, 40, 3).0, MQ_NONE);
    assert_eq!(queues.arrive(1, 0, 0, 4).0, MQ_ERR_SOURCE_ENTRY_BUDGET);
    assert_eq!(queues.arrive(2, 0, 100, 5).0, MQ_NONE);
    for message in [1, 3] {
        let (status, out) = queues.post(1, 0, 9);
        assert_eq!((status, out.cookie as usize), (MQ_MATCHED, message));
    }
    assert_eq!(
        queues.arrive(1, 0, 100, 6).0,
        MQ_NONE,
        "all of it is free again"
    );
}

/// What a high-water call was told, and what the engine said to calls from within it.
struct Watched {
    engine: *mut mq_engine,
    told: Vec<(u64, u64)>,
}

unsafe extern "C-unwind" fn note_and_reenter(user: *mut c_void, entries: u64, bytes: u64) {
    // SAFETY: the test passes a `Watched`, which it does not use meanwhile.
    let watched = unsafe { &mut *user.cast::<Watched>() };
    watched.told.push((entries, bytes));
    let wanted = pattern(1, 0);
    // SAFETY: the pointers are valid or null.
    let posted = unsafe {
        mq_post(
            watched.engine,
            &raw const wanted,
            null_mut(),
            null_mut(),
            null_mut(),
            null_mut(),
        )
    };
    assert_eq!(posted, MQ_ERR_REENTRANT);
    // SAFETY: as above.
    let freed = unsafe { mq_engine_free(watched.engine) };
    assert_eq!(freed, MQ_ERR_REENTRANT);
}

#[test]
fn a_high_mark_is_told_once_for_each_crossing_and_its_call_may_not_reenter() {
    for flags in [0, MQ_LOCKED, MQ_STATISTICS] {
        let mut watched = Watched {
            engine: null_mut(),
            told: Vec::new(),
        };
        let mut options = options(None, 0, 0);
        options.flags = flags;
        options.high_water = Some(note_and_reenter);
        options.high_water_user = (&raw mut watched).cast();
        options.high_unexpected = 4;
        options.low_unexpected = 1;
        options.high_unexpected_bytes = 1_000;
        let queues = Fixture::new(&raw const options, 0);
        watched.engine = queues.0;
        for round in 1..=3 {
            (0..6).for_each(|message| assert_eq!(queues.arrive(1, 0, 10, message).0, MQ_NONE));
            assert_eq!(watched.told, vec![(4, 40); round]);
            (0..6).for_each(|_| assert_eq!(queues.post(1, 0, 9).0, MQ_MATCHED));
        }
        assert_eq!(queues.arrive(1, 0, 1_000, 1).0, MQ_NONE);
        assert_eq!(watched.told[3..], [(1, 1_000)]);
    }
}

#[test]
fn marks_that_make_no_sense_are_refused() {
    let with = |change: fn(&mut mq_engine_options)| {
        let mut options = options(None, 0, 0);
        change(&mut options);
        let mut engine = null_mut();
        // SAFETY: the pointers are valid.
        unsafe { mq_engine_new(&raw const options, &raw mut engine) }
    };
    let wrong: [fn(&mut mq_engine_options); 3] = [
        |options| options.high_unexpected = 4,
        |options| options.high_water = Some(note_and_reenter),
        |options| {
            options.high_water = Some(note_and_reenter);
            options.high_unexpected_bytes = 4;
            options.low_unexpected_bytes = 4;
        },
    ];
    for change in wrong {
        assert_eq!(with(change), MQ_ERR_ARGUMENT);
    }
}

/// Collects the cookies of entries; `user` points to a vector.
unsafe extern "C-unwind" fn collect(user: *mut c_void, entry: *const mq_entry) {
    // SAFETY: the tests pass a vector, and the library a valid entry.
    let (cookies, entry) = unsafe { (&mut *user.cast::<Vec<(c_int, usize)>>(), &*entry) };
    cookies.push((entry.posted, entry.cookie as usize));
}

/// Chooses entries of rank 2.
unsafe extern "C-unwind" fn of_rank_2(_: *mut c_void, entry: *const mq_entry) -> c_int {
    // SAFETY: the library passes a valid entry.
    c_int::from(unsafe { &*entry }.pattern.source == 2)
}

#[test]
fn entries_are_shown_counted_and_purged_in_order() {
    let queues = Fixture::new(null(), 0);
    for (source, receive) in [(2, 1), (3, 2), (2, 3)] {
        queues.post(source, 1, receive);
    }
    for (source, message) in [(4, 11), (2, 12)] {
        queues.arrive(source, 2, 0, message);
    }
    let mut seen: Vec<(c_int, usize)> = Vec::new();
    let mut purged: Vec<(c_int, usize)> = Vec::new();
    let mut left: Vec<(c_int, usize)> = Vec::new();
    let mut lengths = (9, 9);
    // SAFETY: the pointers are valid.
    let counted =
        unsafe { mq_context_lengths(queues.0, 1, &raw mut lengths.0, &raw mut lengths.1) };
    assert_eq!((counted, lengths), (MQ_NONE, (3, 2)));
    let (mut posted, mut unexpected, mut bytes) = ([9; 4], [9; 4], 0);
    // SAFETY: the pointers are valid, and the functions take them for what they are.
    unsafe {
        mq_visit(queues.0, Some(collect), (&raw mut seen).cast());
        mq_lengths_by_source(queues.0, 1, 4, posted.as_mut_ptr(), unexpected.as_mut_ptr());
        mq_memory(queues.0, &raw mut bytes);
        let status = mq_purge(
            queues.0,
            Some(of_rank_2),
            Some(collect),
            (&raw mut purged).cast(),
        );
        assert_eq!(status, MQ_NONE);
        mq_context_free(queues.0, 1, Some(collect), (&raw mut left).cast());
    }
    assert_eq!(seen, [(1, 1), (1, 2), (1, 3), (0, 11), (0, 12)]);
    assert_eq!((posted, unexpected), ([0, 0, 2, 1], [0, 0, 1, 0]));
    assert!(bytes > 0);
    assert_eq!(purged, [(1, 1), (1, 3), (0, 12)]);
    assert_eq!(left, [(1, 2), (0, 11)]);
    assert_eq!(queues.post(2, 1, 4).0, MQ_ERR_UNKNOWN_CONTEXT);
}

#[test]
fn every_status_has_a_sentence() {
    for status in [MQ_NONE, MQ_ERR_RANK, MQ_ERR_INTERNAL, 12345] {
        // SAFETY: a C string that lives for ever.
        let text = unsafe { CStr::from_ptr(mq_strerror(status)) };
        assert!(!text.is_empty());
    }
    assert_eq!(mq_version() >> 16, 0);
}
