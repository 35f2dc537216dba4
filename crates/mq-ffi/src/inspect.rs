//! Inspecting the queues, and removing entries by predicate.

use core::ffi::{c_int, c_void};

use mq_core::Source;

use crate::allocator::apart;
use crate::boundary::{Entered, enter, enter_to_look, mq_engine, write};
use crate::matching::RemovedOf;
use crate::session::mq_statistics;
use crate::shown::{Shown, mq_entry};
use crate::status::{
    MQ_ERR_NO_STATISTICS, MQ_ERR_NULL, MQ_ERR_UNKNOWN_CONTEXT, MQ_MATCHED, MQ_NONE,
};
use crate::types::promise_bits;

/// Called with an entry.
pub type mq_entry_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, entry: *const mq_entry)>;

/// Called with an entry; chooses it by returning nonzero.
pub type mq_select_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, entry: *const mq_entry) -> c_int>;

/// Called with an entry that was removed: it has no name any more.
pub type mq_removed_fn = mq_entry_fn;

pub(crate) fn give_back(removed: &RemovedOf, back: mq_removed_fn, user: *mut c_void) {
    let entry = mq_entry::of_removed(removed);
    if let Some(back) = back {
        // SAFETY: a function of this type, from the caller, with the caller's own pointer.
        apart(|| unsafe { back(user, &raw const entry) });
    }
}

/// Removes every entry, of all contexts, that `select` chooses and hands it to `back` (which may be null):
/// posted receives in posting order, then messages in order of arrival. The order is kept context by
/// context; with a structure that has one pair of queues for all contexts (`list`, `bins`, `adaptive`,
/// `pnp`, `col`, `col+pnp`, `clusters`), over all of them together. `select` may be called for several
/// entries, or all, before `back` gets the first: what `back` does must depend on the entry, not on what
/// `select` noted last.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`.
///
/// # Safety
/// `engine` is null or was made by `mq_engine_new`; the functions are null or of their types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_purge(
    engine: *mut mq_engine,
    select: mq_select_fn,
    back: mq_removed_fn,
    user: *mut c_void,
) -> c_int {
    let body = |entered: &mut Entered<'_>| {
        select.ok_or(MQ_ERR_NULL)?;
        purge(entered, None, select, back, user)
    };
    // SAFETY: as required of the caller.
    unsafe { enter(engine, body) }
}

/// Removes the entries of one context that `select` chooses, or all of them if it is null, and hands them to `back`
/// (which may be null): posted receives in posting order, then messages in order of arrival. The context stays, so
/// this is for a revoked communicator. `select` as for `mq_purge`; it is asked about this context's entries only.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`.
///
/// # Safety
/// `engine` is null or was made by `mq_engine_new`; the functions are null or of their types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_context_purge(
    engine: *mut mq_engine,
    context: u32,
    select: mq_select_fn,
    back: mq_removed_fn,
    user: *mut c_void,
) -> c_int {
    let body = |entered: &mut Entered<'_>| purge(entered, Some(context), select, back, user);
    // SAFETY: as required of the caller.
    unsafe { enter(engine, body) }
}

/// Removes what `select` chooses, or everything, of one context or of all.
fn purge(
    entered: &mut Entered<'_>,
    context: Option<u32>,
    select: mq_select_fn,
    back: mq_removed_fn,
    user: *mut c_void,
) -> Result<c_int, c_int> {
    let mut chosen = |entry: Shown| {
        let Some(select) = select else { return true };
        let entry = mq_entry::of(entry);
        // SAFETY: a function of this type, from the caller, with the caller's own pointer.
        apart(|| unsafe { select(user, &raw const entry) != 0 })
    };
    let mut removed = |removed: &RemovedOf| give_back(removed, back, user);
    entered.with_callbacks(|matching| matching.purge(context, &mut chosen, &mut removed))?;
    Ok(MQ_NONE)
}

/// Shows every entry: for each context its posted receives in posting order, then its messages in order of
/// arrival. Entries of several contexts may be interleaved.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`.
///
/// # Safety
/// `engine` is null or was made by `mq_engine_new`; the function is null or of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_visit(
    engine: *mut mq_engine,
    visitor: mq_entry_fn,
    user: *mut c_void,
) -> c_int {
    let body = |entered: &mut Entered<'_>| {
        let visitor = visitor.ok_or(MQ_ERR_NULL)?;
        entered.visit(&mut |entry, owners| {
            let entry = mq_entry::of(owners.named(entry));
            // SAFETY: a function of this type, from the caller, with the caller's own pointer.
            apart(|| unsafe { visitor(user, &raw const entry) });
        });
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { enter_to_look(engine, body) }
}

/// Shows the entries of one context, in the order of `mq_visit`, until `visitor` returns nonzero: then the outcome is
/// `MQ_MATCHED`, and otherwise `MQ_NONE`. The time is that of a visit to all entries of the engine.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`.
///
/// # Safety
/// As for `mq_visit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_context_visit(
    engine: *mut mq_engine,
    context: u32,
    visitor: mq_select_fn,
    user: *mut c_void,
) -> c_int {
    let body = |entered: &mut Entered<'_>| {
        let visitor = visitor.ok_or(MQ_ERR_NULL)?;
        entered.matching.check_context(context)?;
        let mut has_stopped = false;
        entered.visit(&mut |entry, owners| {
            if entry.context() == context && !has_stopped {
                let entry = mq_entry::of(owners.named(entry));
                // SAFETY: a function of this type, from the caller, with the caller's own pointer.
                has_stopped = apart(|| unsafe { visitor(user, &raw const entry) != 0 });
            }
        });
        Ok(if has_stopped { MQ_MATCHED } else { MQ_NONE })
    };
    // SAFETY: as required of the caller.
    unsafe { enter_to_look(engine, body) }
}

/// Writes the size of a context, 0 if it is unknown, and its promises, as they were told last: `mq_context_update`
/// replaces both. This is also how to find out whether there is a context of that number.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`.
///
/// # Safety
/// As for `mq_lengths`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_context_get(
    engine: *mut mq_engine,
    context: u32,
    size: *mut u32,
    promises: *mut u32,
) -> c_int {
    let body = |entered: &mut Entered<'_>| {
        let terms = entered.matching.terms(context)?;
        // SAFETY: as required of the caller.
        unsafe { write(size, terms.size().unwrap_or(0)) };
        // SAFETY: as required of the caller.
        unsafe { write(promises, promise_bits(&terms)) };
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { enter_to_look(engine, body) }
}

/// Writes the number of posted receives and of unexpected messages, over all contexts.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`.
///
/// # Safety
/// `engine` is null or was made by `mq_engine_new`; the outputs are null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_lengths(
    engine: *mut mq_engine,
    posted: *mut u64,
    unexpected: *mut u64,
) -> c_int {
    let body = |entered: &mut Entered<'_>| {
        let (receives, messages) = entered.matching.lengths();
        let receives = u64::from(receives) + entered.front.receives.len() as u64;
        let messages = u64::from(messages) + entered.front.messages.len() as u64;
        // SAFETY: as required of the caller.
        unsafe { write(posted, receives) };
        // SAFETY: as required of the caller.
        unsafe { write(unexpected, messages) };
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { enter_to_look(engine, body) }
}

/// Writes the number of posted receives and of unexpected messages of one context. Visits entries only if they
/// are in the front, or in a structure that has one pair of queues for all contexts (those listed at
/// `mq_purge`).
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`.
///
/// # Safety
/// As for `mq_lengths`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_context_lengths(
    engine: *mut mq_engine,
    context: u32,
    posted: *mut u64,
    unexpected: *mut u64,
) -> c_int {
    let body = |entered: &mut Entered<'_>| {
        let engine = entered.matching.engine();
        let behind = engine.context_lengths(context);
        let (mut receives, mut messages) = behind.map_err(|_| MQ_ERR_UNKNOWN_CONTEXT)?;
        entered.look_into_front(&mut |entry| match entry {
            _ if entry.context() != context => {}
            Shown::Posted(..) => receives += 1,
            Shown::Unexpected(..) => messages += 1,
        });
        // SAFETY: as required of the caller.
        unsafe { write(posted, receives as u64) };
        // SAFETY: as required of the caller.
        unsafe { write(unexpected, messages as u64) };
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { enter_to_look(engine, body) }
}

/// Writes, for each rank below `ranks`, how many receives of a context name it as their source, and how many of
/// the context's messages came from it. Visits all entries.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`.
///
/// # Safety
/// As for `mq_lengths`; each output is null or has room for `ranks` numbers, and the two do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_lengths_by_source(
    engine: *mut mq_engine,
    context: u32,
    ranks: u32,
    posted: *mut u64,
    unexpected: *mut u64,
) -> c_int {
    let body = |entered: &mut Entered<'_>| {
        entered.matching.check_context(context)?;
        // SAFETY: as required of the caller.
        let posted = unsafe { numbers(posted, ranks) };
        // SAFETY: as required of the caller.
        let unexpected = unsafe { numbers(unexpected, ranks) };
        entered.look(&mut |entry| {
            let (of, rank, counts) = match entry {
                Shown::Posted(_, pattern, _) => (pattern.context(), pattern.source(), &mut *posted),
                Shown::Unexpected(_, envelope, _) => {
                    let source = Source::Rank(envelope.source());
                    (envelope.context(), source, &mut *unexpected)
                }
            };
            if let Source::Rank(rank) = rank
                && of.0 == context
                && let Some(count) = counts.get_mut(rank.0 as usize)
            {
                *count += 1;
            }
        });
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { enter_to_look(engine, body) }
}

/// A slice of `count` numbers, all set to 0.
///
/// # Safety
/// `numbers` is null or has room for `count` numbers, which nothing else uses.
unsafe fn numbers<'a>(numbers: *mut u64, count: u32) -> &'a mut [u64] {
    if numbers.is_null() {
        return &mut [];
    }
    // SAFETY: there is room for them. The caller need not have written any.
    unsafe { numbers.write_bytes(0, count as usize) };
    // SAFETY: as required of the caller; written above.
    unsafe { core::slice::from_raw_parts_mut(numbers, count as usize) }
}

/// Writes the heap bytes that the queues and the front hold, in use or kept for reuse; the engine itself is not
/// counted. Asks the queues of every context, and the places that freed contexts have left for later ones: takes time
/// for each context that there ever was at a time. (`mq_lengths` asks none.)
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`.
///
/// # Safety
/// As for `mq_lengths`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_memory(engine: *mut mq_engine, bytes: *mut u64) -> c_int {
    let body = |entered: &mut Entered<'_>| {
        // SAFETY: as required of the caller.
        unsafe { write(bytes, entered.matching.bytes()) };
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { enter_to_look(engine, body) }
}

/// Writes what has been counted since the engine was made: the first `size` bytes of it, where `size` is the
/// caller's `sizeof(mq_statistics)`. Later versions append further counters; if the caller's `mq_statistics` is
/// larger than the library's, the rest is filled with 0.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_NO_STATISTICS`.
///
/// # Safety
/// As for `mq_lengths`; `statistics` is null or valid for writes of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_statistics_read(
    engine: *mut mq_engine,
    statistics: *mut mq_statistics,
    size: usize,
) -> c_int {
    let body = |entered: &mut Entered<'_>| {
        let watch = entered.matching.watch().ok_or(MQ_ERR_NO_STATISTICS)?;
        // SAFETY: as required of the caller.
        unsafe { watch.read().write(statistics, size) };
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { enter_to_look(engine, body) }
}
