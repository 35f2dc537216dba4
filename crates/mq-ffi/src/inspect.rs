//! Looking at the queues, and removing by predicate.

use core::ffi::{c_int, c_void};

use mq_core::mpi::MpiPattern;
use mq_core::{Entry, Envelope, Footprint, Pattern, Removed, Source};

use crate::engine::{Message, mq_engine};
use crate::guard::{borrow, borrow_mut, guard, write};
use crate::status::{MQ_ERR_NULL, MQ_NONE};
use crate::types::{mq_entry, mq_pattern};

/// Is shown an entry.
pub type mq_entry_fn = Option<unsafe extern "C" fn(user: *mut c_void, entry: *const mq_entry)>;

/// Is shown an entry and chooses it by returning other than 0.
pub type mq_select_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, entry: *const mq_entry) -> c_int>;

/// Is handed an entry that was removed.
pub type mq_removed_fn = mq_entry_fn;

fn show(entry: &Entry<'_, MpiPattern, *mut c_void, Message>) -> mq_entry {
    match entry {
        Entry::Posted(pattern, receive) => mq_entry {
            posted: 1,
            pattern: mq_pattern::of(pattern),
            cookie: **receive,
        },
        Entry::Unexpected(envelope, message) => mq_entry {
            posted: 0,
            pattern: mq_pattern::of_envelope(envelope),
            cookie: message.cookie,
        },
    }
}

pub(crate) fn give_back(
    removed: &Removed<MpiPattern, *mut c_void, Message>,
    back: mq_removed_fn,
    user: *mut c_void,
) {
    let entry = match removed {
        Removed::Posted(pattern, receive) => show(&Entry::Posted(*pattern, receive)),
        Removed::Unexpected(envelope, message) => show(&Entry::Unexpected(*envelope, message)),
    };
    if let Some(back) = back {
        // SAFETY: a function of this type, from the caller, with the caller's own pointer.
        unsafe { back(user, &raw const entry) };
    }
}

/// Removes every entry of all contexts that `select` chooses and hands it to `back` (which may be
/// null): posted receives in posting order, then messages in order of arrival, context by context.
///
/// Errors: `MQ_ERR_NULL`.
///
/// # Safety
/// `engine` was made by `mq_engine_new`; the functions do not use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_purge(
    engine: *mut mq_engine,
    select: mq_select_fn,
    back: mq_removed_fn,
    user: *mut c_void,
) -> c_int {
    guard(|| {
        // SAFETY: as required of the caller.
        let engine = unsafe { borrow_mut(engine) }?;
        let select = select.ok_or(MQ_ERR_NULL)?;
        let mut chosen = |entry: &Entry<'_, MpiPattern, *mut c_void, Message>| {
            let entry = show(entry);
            // SAFETY: a function of this type, from the caller, with the caller's own pointer.
            unsafe { select(user, &raw const entry) != 0 }
        };
        let mut removed = |removed| give_back(&removed, back, user);
        engine.engine.purge(&mut chosen, &mut removed);
        Ok(MQ_NONE)
    })
}

/// Shows every entry: posted receives in posting order, then messages in order of arrival, context by
/// context.
///
/// Errors: `MQ_ERR_NULL`.
///
/// # Safety
/// `engine` was made by `mq_engine_new`; the function does not use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_visit(
    engine: *const mq_engine,
    visitor: mq_entry_fn,
    user: *mut c_void,
) -> c_int {
    guard(|| {
        // SAFETY: as required of the caller.
        let engine = unsafe { borrow(engine) }?;
        let visitor = visitor.ok_or(MQ_ERR_NULL)?;
        engine.engine.visit(&mut |entry| {
            let entry = show(&entry);
            // SAFETY: a function of this type, from the caller, with the caller's own pointer.
            unsafe { visitor(user, &raw const entry) };
        });
        Ok(MQ_NONE)
    })
}

/// Writes how many receives are posted and how many messages are unexpected, in all contexts.
///
/// Errors: `MQ_ERR_NULL`.
///
/// # Safety
/// `engine` was made by `mq_engine_new`; the outputs are null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_lengths(
    engine: *const mq_engine,
    posted: *mut u64,
    unexpected: *mut u64,
) -> c_int {
    guard(|| {
        // SAFETY: as required of the caller.
        let engine = unsafe { borrow(engine) }?;
        // SAFETY: as required of the caller.
        unsafe { write(posted, engine.engine.posted_len() as u64) };
        // SAFETY: as required of the caller.
        unsafe { write(unexpected, engine.engine.unexpected_len() as u64) };
        Ok(MQ_NONE)
    })
}

/// Writes how many receives of a context ask for rank `source` by name, and how many of its messages
/// came from it. Visits all entries.
///
/// Errors: `MQ_ERR_NULL`.
///
/// # Safety
/// As for `mq_lengths`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_lengths_by_source(
    engine: *const mq_engine,
    context: u32,
    source: u32,
    posted: *mut u64,
    unexpected: *mut u64,
) -> c_int {
    guard(|| {
        // SAFETY: as required of the caller.
        let engine = unsafe { borrow(engine) }?;
        let (mut receives, mut messages) = (0, 0);
        engine.engine.visit(&mut |entry| match entry {
            Entry::Posted(pattern, _) => {
                let named = pattern.source() == Source::from(source);
                receives += u64::from(named && pattern.context().0 == context);
            }
            Entry::Unexpected(envelope, _) => {
                let from = envelope.source().0 == source;
                messages += u64::from(from && envelope.context().0 == context);
            }
        });
        // SAFETY: as required of the caller.
        unsafe { write(posted, receives) };
        // SAFETY: as required of the caller.
        unsafe { write(unexpected, messages) };
        Ok(MQ_NONE)
    })
}

/// Writes the heap bytes that the queues hold, in use or kept for reuse.
///
/// Errors: `MQ_ERR_NULL`.
///
/// # Safety
/// As for `mq_lengths`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_memory(engine: *const mq_engine, bytes: *mut u64) -> c_int {
    guard(|| {
        // SAFETY: as required of the caller.
        let engine = unsafe { borrow(engine) }?;
        // SAFETY: as required of the caller.
        unsafe { write(bytes, engine.engine.memory().total() as u64) };
        Ok(MQ_NONE)
    })
}
