//! Entries leave by the names that visitors see, wherever they are.
#![allow(unsafe_code, reason = "the functions are C's")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "what a call gets is valid in all its parts"
)]

mod fixture;

use core::ffi::{c_int, c_void};
use core::ptr::null;

use mq::*;

use self::fixture::Fixture;

const FLAGS: [u32; 4] = [0, MQ_NO_FRONT, MQ_LOCKED, MQ_STATISTICS];

/// Engines of every structure and every kind.
fn engines() -> impl Iterator<Item = Fixture> {
    let names = (0..).map(|index| mq_structure_name(index));
    let names = names.take_while(|name| !name.is_null());
    names.flat_map(|name| FLAGS.map(|flags| Fixture::with(name, flags)))
}

/// Receives 1 to 29 and messages 31 to 59, in two contexts.
fn fill(engine: &Fixture) {
    for cookie in 1..30 {
        let (context, rank) = (1 + cookie as u32 % 2, cookie as i32 % 8);
        engine.post(context, rank, 100 + cookie as i32 % 5, cookie);
        let message = 30 + cookie;
        assert_eq!(engine.arrive(context, rank, message as i32, message), None);
    }
}

fn is_zeroed(entry: &mq_entry) -> (bool, bool) {
    let (receive, message) = (entry.receive, entry.message);
    (
        (receive.sequence, receive.slot, receive.context) == (0, 0, 0),
        (message.sequence, message.slot, message.context) == (0, 0, 0),
    )
}

#[test]
fn each_entry_leaves_by_the_name_that_was_shown() {
    for engine in engines() {
        for is_behind in [false, true] {
            fill(&engine);
            let closing = is_behind.then(|| engine.post_masked(1, 7, 64, 3, 99));
            let mut entries = engine.entries();
            entries.retain(|entry| entry.cookie as usize != 99);
            assert_eq!(entries.len(), 58);
            // The later ones first, as nothing else would take them.
            for entry in entries.iter().rev() {
                let cookie = Some(entry.cookie as usize);
                if entry.posted == 1 {
                    assert_eq!((is_zeroed(entry), entry.bytes), ((false, true), 0));
                    assert_eq!(engine.cancel(entry.receive), cookie);
                    assert_eq!(engine.cancel(entry.receive), None);
                } else {
                    assert_eq!((is_zeroed(entry), entry.bytes), ((true, false), 8));
                    assert_eq!(engine.take(entry.message), cookie);
                    assert_eq!(engine.take(entry.message), None);
                }
                // What an entry of the other kind has in place of a name names nothing.
                assert_eq!(engine.cancel(NO_RECEIVE), None);
                assert_eq!(engine.take(NO_MESSAGE), None);
            }
            if let Some(closing) = closing {
                assert_eq!(engine.cancel(closing), Some(99));
            }
            assert_eq!(engine.visit(), []);
        }
    }
}

const NO_RECEIVE: mq_handle = mq_handle {
    sequence: 0,
    slot: 0,
    context: 0,
};
const NO_MESSAGE: mq_message_handle = mq_message_handle {
    sequence: 0,
    slot: 0,
    context: 0,
};

/// What a purge was asked about and what it removed.
#[derive(Default)]
struct Purged {
    asked: Vec<mq_entry>,
    removed: Vec<mq_entry>,
}

/// Chooses every third entry.
unsafe extern "C-unwind" fn choose(user: *mut c_void, entry: *const mq_entry) -> c_int {
    // SAFETY: the test passes a `Purged`, and the library a valid entry.
    let (purged, entry) = unsafe { (&mut *user.cast::<Purged>(), &*entry) };
    purged.asked.push(*entry);
    c_int::from((entry.cookie as usize).is_multiple_of(3))
}

unsafe extern "C-unwind" fn note(user: *mut c_void, entry: *const mq_entry) {
    // SAFETY: as in `choose`.
    let (purged, entry) = unsafe { (&mut *user.cast::<Purged>(), &*entry) };
    purged.removed.push(*entry);
}

#[test]
fn what_a_purge_removes_has_no_name_and_what_it_leaves_keeps_its_own() {
    for engine in engines() {
        fill(&engine);
        let mut purged = Purged::default();
        let user = (&raw mut purged).cast();
        // SAFETY: the functions take the struct for what it is.
        let status = unsafe { mq_purge(engine.0, Some(choose), Some(note), user) };
        assert_eq!((status, purged.removed.len()), (MQ_NONE, 18));
        for entry in &purged.removed {
            assert_eq!(is_zeroed(entry), (true, true));
            assert_eq!(entry.bytes, if entry.posted == 1 { 0 } else { 8 });
        }
        assert_eq!(purged.asked.len(), 58);
        for entry in &purged.asked {
            let cookie = entry.cookie as usize;
            let stays = (!cookie.is_multiple_of(3)).then_some(cookie);
            match entry.posted {
                1 => assert_eq!(engine.cancel(entry.receive), stays),
                _ => assert_eq!(engine.take(entry.message), stays),
            }
        }
        assert_eq!(engine.visit(), []);
    }
}

#[test]
fn a_probe_that_waits_leaves_like_a_receive() {
    for flags in FLAGS {
        let engine = Fixture::with(null(), flags);
        engine.queue_probe(1, 2, 5, 7);
        let entries = engine.entries();
        assert_eq!((entries.len(), entries[0].posted), (1, 1));
        assert_eq!(engine.cancel(entries[0].receive), Some(7));
        assert_eq!(engine.visit(), []);
    }
}
