//! The match operations, each in one step.

use core::ffi::{c_int, c_void};

use mq_core::{CollectiveCall, ContextId};

use crate::boundary::{Entered, Way, borrow, enter, front_of, mq_engine, way, write};
use crate::class;
use crate::front::{Reach, Searched, reopen, settle, steps};
use crate::matching::{Matching, Posted, Taken};
use crate::status::{MQ_ERR_ARGUMENT, MQ_MATCHED, MQ_NONE, status_of};
use crate::types::{mq_envelope, mq_handle, mq_pattern};
use crate::ways::{self, grant_far_exit};

/// Says which context an operation is on.
pub(crate) trait InContext {
    fn context(&self) -> u32;
}

impl InContext for mq_pattern {
    #[inline(always)]
    fn context(&self) -> u32 {
        self.context
    }
}

impl InContext for mq_envelope {
    #[inline(always)]
    fn context(&self) -> u32 {
        self.context
    }
}

/// Runs an operation on `context`, with the front moved out of the way before and reopened after.
///
/// # Safety
/// As for [`enter`].
#[inline]
pub(crate) unsafe fn operate(
    engine: *mut mq_engine,
    context: u32,
    body: impl FnOnce(&mut Matching) -> Result<c_int, c_int>,
) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { enter(engine, |entered| step(entered, context, body)) }
}

/// [`operate`] with the pattern or envelope that the caller points at, on its context.
///
/// # Safety
/// As for [`enter`]; `what` is null or valid.
#[inline]
pub(crate) unsafe fn operate_with<T: InContext>(
    engine: *mut mq_engine,
    what: *const T,
    body: impl FnOnce(&mut Matching, &T) -> Result<c_int, c_int>,
) -> c_int {
    let body = |entered: &mut Entered<'_>| {
        // SAFETY: as required of the caller.
        let what = unsafe { borrow(what) }?;
        step(entered, what.context(), |matching| body(matching, what))
    };
    // SAFETY: as required of the caller.
    unsafe { enter(engine, body) }
}

#[inline(always)]
fn step(
    entered: &mut Entered<'_>,
    context: u32,
    body: impl FnOnce(&mut Matching) -> Result<c_int, c_int>,
) -> Result<c_int, c_int> {
    settle(&mut entered.front, entered.matching);
    let before = entered.matching.lengths();
    let status = body(entered.matching);
    reopen(&mut entered.front, entered.matching, context, before);
    status
}

/// Writes a message that was found.
///
/// # Safety
/// The outputs are null or valid for a write.
pub(crate) unsafe fn show_message(
    message: *mut *mut c_void,
    envelope: *mut mq_envelope,
    (carried, cookie): &Taken,
) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { write(message, *cookie) };
    // SAFETY: as required of the caller.
    unsafe { write(envelope, mq_envelope::of(carried)) };
    MQ_MATCHED
}

/// Posts a receive, or takes the earliest unexpected message that it matches.
///
/// `MQ_MATCHED`: `*message` and `*envelope` are written. `MQ_NONE`: the receive is queued,
/// `*handle` is written. Any of the three may be null. On an error the receive is not queued:
/// `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`, `MQ_ERR_RANK`,
/// `MQ_ERR_ANY_SOURCE`, `MQ_ERR_ANY_TAG`, `MQ_ERR_ARGUMENT`, `MQ_ERR_MEMORY`.
///
/// # Safety
/// `engine` is null or was made by `mq_engine_new`, and unless it is locked no other thread uses
/// it; `pattern` is null or valid; the outputs are null or valid for a write, and overlap neither the
/// input nor each other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_post(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
    message: *mut *mut c_void,
    envelope: *mut mq_envelope,
) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { ways::post::call(engine, pattern, receive, handle, message, envelope) }
}

/// [`mq_post`] through every layer that may be in between.
///
/// # Safety
/// As for [`mq_post`].
#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn post_around(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
    message: *mut *mut c_void,
    envelope: *mut mq_envelope,
) -> c_int {
    let body = |matching: &mut Matching, wanted: &mq_pattern| {
        match matching.post(wanted.read()?, receive)? {
            Posted::Queued(queued) => {
                // SAFETY: as required of the caller.
                unsafe { write(handle, mq_handle::of(queued)) };
                Ok(MQ_NONE)
            }
            Posted::Matched(carried, taken) => {
                // SAFETY: as required of the caller.
                Ok(unsafe { show_message(message, envelope, &(carried, taken)) })
            }
        }
    };
    // SAFETY: as required of the caller.
    unsafe { operate_with(engine, pattern, body) }
}

/// A message of `bytes` bytes arrives: the earliest posted receive that matches it takes it, or
/// else it is queued.
///
/// `MQ_MATCHED`: `*receive` is written (unless null). `MQ_NONE`: the message is queued as
/// unexpected. On an error the message is not queued and remains the caller's: `MQ_ERR_NULL`,
/// `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`, `MQ_ERR_RANK`, `MQ_ERR_ARGUMENT`,
/// `MQ_ERR_ENTRY_BUDGET`, `MQ_ERR_BYTE_BUDGET`, `MQ_ERR_SOURCE_ENTRY_BUDGET`,
/// `MQ_ERR_SOURCE_BYTE_BUDGET`, `MQ_ERR_MEMORY`.
///
/// # Safety
/// As for `mq_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_arrive(
    engine: *mut mq_engine,
    envelope: *const mq_envelope,
    bytes: u64,
    message: *mut c_void,
    receive: *mut *mut c_void,
) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { ways::arrive::call(engine, envelope, bytes, message, receive) }
}

/// [`mq_arrive`] through every layer that may be in between.
///
/// # Safety
/// As for [`mq_arrive`].
#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn arrive_around(
    engine: *mut mq_engine,
    envelope: *const mq_envelope,
    bytes: u64,
    message: *mut c_void,
    receive: *mut *mut c_void,
) -> c_int {
    let body = |matching: &mut Matching, carried: &mq_envelope| {
        let Some(taken) = matching.arrive(carried.read()?, bytes, message)? else {
            return Ok(MQ_NONE);
        };
        // SAFETY: as required of the caller.
        unsafe { write(receive, taken) };
        Ok(MQ_MATCHED)
    };
    // SAFETY: as required of the caller.
    unsafe { operate_with(engine, envelope, body) }
}

/// Shows the earliest unexpected message that `pattern` matches, and removes nothing.
///
/// `MQ_MATCHED`: `*message` and `*envelope` are written (unless null). `MQ_NONE`: no message
/// matches. Errors as for `mq_post`, without `MQ_ERR_MEMORY`.
///
/// # Safety
/// As for `mq_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_probe(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    message: *mut *mut c_void,
    envelope: *mut mq_envelope,
) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { ways::probe::call(engine, pattern, message, envelope) }
}

/// [`mq_probe`] through every layer that may be in between.
///
/// # Safety
/// As for [`mq_probe`].
#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn probe_around(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    message: *mut *mut c_void,
    envelope: *mut mq_envelope,
) -> c_int {
    let body = |matching: &mut Matching, wanted: &mq_pattern| {
        let Some((_, seen)) = matching.find(&wanted.read()?)? else {
            return Ok(MQ_NONE);
        };
        // SAFETY: as required of the caller.
        Ok(unsafe { show_message(message, envelope, &seen) })
    };
    // SAFETY: as required of the caller.
    unsafe { operate_with(engine, pattern, body) }
}

/// Removes a posted receive, named by its handle.
///
/// `MQ_MATCHED`: it was queued; `*receive` is written (unless null). `MQ_NONE`: it has already left
/// the queue: matched, cancelled or purged. Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`,
/// `MQ_ERR_REENTRANT`.
///
/// # Safety
/// As for `mq_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_cancel(
    engine: *mut mq_engine,
    handle: mq_handle,
    receive: *mut *mut c_void,
) -> c_int {
    // SAFETY: as required of the caller.
    if unsafe { way(engine, |front| front.open) } == Way::Front {
        // SAFETY: `way` has just said so.
        let front = unsafe { front_of(engine) };
        // SAFETY: as required of the caller.
        match unsafe { steps::cancel(front, handle, receive, Reach::Near) } {
            // SAFETY: as required of the caller.
            Some(MQ_NONE) => return unsafe { cancel_returned(engine, handle, receive) },
            Some(status) => return status,
            // SAFETY: as required of the caller.
            None if unsafe { grant_far_exit(engine, Searched::Receives) } => {
                // SAFETY: it is still open.
                let front = unsafe { front_of(engine) };
                // SAFETY: as required of the caller.
                let cancelled = unsafe { steps::cancel(front, handle, receive, Reach::All) };
                return cancelled.unwrap_or(MQ_NONE);
            }
            None => {}
        }
    }
    let body = |matching: &mut Matching| {
        let Some(cancelled) = matching.cancel(handle.read()) else {
            return Ok(MQ_NONE);
        };
        // SAFETY: as required of the caller.
        unsafe { write(receive, cancelled) };
        Ok(MQ_MATCHED)
    };
    // SAFETY: as required of the caller.
    unsafe { operate(engine, handle.context, body) }
}

/// [`mq_cancel`] of a receive that an open front does not have by this name: it has left the queue,
/// or has come back under another name.
///
/// # Safety
/// As for [`mq_cancel`].
#[cold]
unsafe fn cancel_returned(
    engine: *mut mq_engine,
    handle: mq_handle,
    receive: *mut *mut c_void,
) -> c_int {
    let body = |entered: &mut Entered<'_>| {
        let Some(now) = entered.matching.aliases.returned(handle.read()) else {
            return Ok(MQ_NONE);
        };
        let now = mq_handle::of(now);
        // SAFETY: as required of the caller.
        let cancelled = unsafe { steps::cancel(&mut entered.front, now, receive, Reach::Near) };
        // It is one of the first of its queue: nothing has to move for it.
        Ok(cancelled.unwrap_or(MQ_NONE))
    };
    // SAFETY: as required of the caller.
    unsafe { enter(engine, body) }
}

/// Announces that this process takes part in a collective call of `traffic_class` with messages of
/// `bytes` bytes over `size` ranks. Only some structures use this.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`,
/// `MQ_ERR_ARGUMENT` (not a collective class).
///
/// # Safety
/// As for `mq_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_announce(
    engine: *mut mq_engine,
    context: u32,
    traffic_class: u32,
    bytes: u64,
    size: u32,
) -> c_int {
    // No entry is concerned: those in the front stay there.
    let body = |entered: &mut Entered<'_>| {
        let class = class::read(traffic_class).filter(|class| class.is_collective());
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let class = class.ok_or(MQ_ERR_ARGUMENT)?;
        let call = CollectiveCall::new(ContextId(context), class, bytes, size);
        let announced = entered.matching.engine_mut().announce(&call);
        announced.map(|()| MQ_NONE).map_err(status_of)
    };
    // SAFETY: as required of the caller.
    unsafe { enter(engine, body) }
}
