//! The match operations in halves: searching without queueing, queueing without a search.
//!
//! Libraries make a request, or copy a message, only if it has to be queued. They search first, act, and then
//! queue, all under one lock.

use core::ffi::{c_int, c_void};

use crate::boundary::{Way, front_of, guard_step, mq_engine, straight, way, write};
use crate::front::{Reach, Searched, emptied, settle, steps};
use crate::matching::{Matching, Waiting};
use crate::operations::{operate, operate_with, show_message};
use crate::plain::Outputs;
use crate::status::{MQ_MATCHED, MQ_NONE};
use crate::types::{mq_envelope, mq_handle, mq_message_handle, mq_pattern};
use crate::ways::{self, grant_far_exit};

/// Takes the earliest unexpected message that `pattern` matches, and queues nothing otherwise
/// (matched probe; first half of `mq_post`).
///
/// Outcomes, outputs and errors as for `mq_probe`.
///
/// # Safety
/// As for `mq_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_extract(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    message: *mut *mut c_void,
    envelope: *mut mq_envelope,
) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { ways::extract::call(engine, pattern, message, envelope) }
}

/// [`mq_extract`] through every layer that may be in between.
///
/// # Safety
/// As for [`mq_extract`].
#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn extract_around(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    message: *mut *mut c_void,
    envelope: *mut mq_envelope,
) -> c_int {
    let body = |matching: &mut Matching, wanted: &mq_pattern| {
        let Some(taken) = matching.extract(&wanted.read()?)? else {
            return Ok(MQ_NONE);
        };
        // SAFETY: as required of the caller.
        Ok(unsafe { show_message(message, envelope, &taken) })
    };
    // SAFETY: as required of the caller.
    unsafe { operate_with(engine, pattern, body) }
}

/// Shows the earliest unexpected message that `pattern` matches and names it for `mq_take`.
///
/// `MQ_MATCHED`: `*found`, `*message` and `*envelope` are written (unless null). `MQ_NONE`: no message
/// matches. Errors as for `mq_post`, without `MQ_ERR_MEMORY`.
///
/// # Safety
/// As for `mq_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_find(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    found: *mut mq_message_handle,
    message: *mut *mut c_void,
    envelope: *mut mq_envelope,
) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { ways::find::call(engine, pattern, found, message, envelope) }
}

/// [`mq_find`] through every layer that may be in between.
///
/// # Safety
/// As for [`mq_find`].
#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn find_around(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    found: *mut mq_message_handle,
    message: *mut *mut c_void,
    envelope: *mut mq_envelope,
) -> c_int {
    let body = |matching: &mut Matching, wanted: &mq_pattern| {
        let Some((name, seen)) = matching.find(&wanted.read()?)? else {
            return Ok(MQ_NONE);
        };
        // SAFETY: as required of the caller.
        unsafe { write(found, mq_message_handle::of(name)) };
        // SAFETY: as required of the caller.
        Ok(unsafe { show_message(message, envelope, &seen) })
    };
    // SAFETY: as required of the caller.
    unsafe { operate_with(engine, pattern, body) }
}

/// Removes the message that `mq_find` named, without a search.
///
/// `MQ_MATCHED`: it was queued; `*message` and `*envelope` are written (unless null). `MQ_NONE`: it has
/// already left the queue. Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`.
///
/// # Safety
/// As for `mq_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_take(
    engine: *mut mq_engine,
    found: mq_message_handle,
    message: *mut *mut c_void,
    envelope: *mut mq_envelope,
) -> c_int {
    let out = Outputs { message, envelope };
    // SAFETY: as required of the caller.
    match unsafe { way(engine, |front| front.open) } {
        Way::Front => {
            // SAFETY: `way` has just said so.
            let front = unsafe { front_of(engine) };
            // SAFETY: as required of the caller.
            if let Some(status) = unsafe { steps::take(front, found, out, Reach::Near) } {
                return status;
            }
            // SAFETY: as required of the caller.
            if unsafe { grant_far_exit(engine, Searched::Messages) } {
                // SAFETY: it is still open.
                let front = unsafe { front_of(engine) };
                // SAFETY: as required of the caller.
                let taken = unsafe { steps::take(front, found, out, Reach::All) };
                return taken.unwrap_or(MQ_NONE);
            }
        }
        // SAFETY: `way` has just said so.
        Way::Default | Way::Any => return unsafe { take_straight(engine, found, out) },
        Way::Around => {}
    }
    let body = |matching: &mut Matching| {
        let Some(taken) = matching.take(found.read()) else {
            return Ok(MQ_NONE);
        };
        // SAFETY: as required of the caller.
        Ok(unsafe { show_message(message, envelope, &taken) })
    };
    // SAFETY: as required of the caller.
    unsafe { operate(engine, found.context, body) }
}

/// [`mq_take`] from the queues of an engine for which nothing has to be recorded and whose front is closed,
/// or has entries that are moving.
///
/// # Safety
/// As for [`mq_take`]; [`way`] has just said [`Way::Default`] or [`Way::Any`].
unsafe fn take_straight(engine: *mut mq_engine, found: mq_message_handle, out: Outputs) -> c_int {
    let step = || {
        // SAFETY: as required of the caller.
        let (front, matching) = unsafe { straight(engine) }?;
        settle(front, matching);
        let Some(taken) = matching.take(found.read()) else {
            return Ok(MQ_NONE);
        };
        if matching.lengths().1 == 0 {
            emptied(front, matching);
        }
        // SAFETY: as required of the caller.
        Ok(unsafe { show_message(out.message, out.envelope, &taken) })
    };
    // SAFETY: as required of the caller.
    unsafe { guard_step(engine, step) }
}

/// Takes the earliest posted receive that a message matches, and queues nothing otherwise (first
/// half of `mq_arrive`).
///
/// `MQ_MATCHED`: `*receive` is written (unless null). `MQ_NONE`: no receive matches. Errors: `MQ_ERR_NULL`,
/// `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`, `MQ_ERR_RANK`, `MQ_ERR_ARGUMENT`.
///
/// # Safety
/// As for `mq_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_deliver(
    engine: *mut mq_engine,
    envelope: *const mq_envelope,
    receive: *mut *mut c_void,
) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { ways::deliver::call(engine, envelope, receive) }
}

/// [`mq_deliver`] through every layer that may be in between.
///
/// # Safety
/// As for [`mq_deliver`].
#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn deliver_around(
    engine: *mut mq_engine,
    envelope: *const mq_envelope,
    receive: *mut *mut c_void,
) -> c_int {
    let body = |matching: &mut Matching, carried: &mq_envelope| {
        let Some(taken) = matching.deliver(&carried.read()?)? else {
            return Ok(MQ_NONE);
        };
        // SAFETY: as required of the caller.
        unsafe { write(receive, taken) };
        Ok(MQ_MATCHED)
    };
    // SAFETY: as required of the caller.
    unsafe { operate_with(engine, envelope, body) }
}

/// Queues a receive without a search. Allowed only if the last operation on the engine was `mq_extract`, `mq_find` or
/// `mq_probe` with the same pattern and found nothing; the context may be created or updated in between. This is
/// not checked: otherwise a receive and its message may both stay queued, and a trace of it does not replay.
///
/// `MQ_NONE`: it is queued, `*handle` is written (unless null). Errors as for `mq_post`.
///
/// # Safety
/// As for `mq_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_queue_receive(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { ways::queue_receive::call(engine, pattern, receive, handle) }
}

/// [`mq_queue_receive`] through every layer that may be in between.
///
/// # Safety
/// As for [`mq_queue_receive`].
#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn queue_receive_around(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { queue_receive(engine, pattern, receive, handle, Waiting::Receive) }
}

/// Queues a probe that waits for its message, like a receive: `mq_deliver` or `mq_arrive` hands it back, as a receive
/// that has matched, and the caller completes it and delivers the same message again. As with `mq_queue_receive`, the
/// last operation must have been a search for that message that found nothing. Until then it counts as a posted
/// receive, in the lengths, for `mq_visit`, `mq_purge` and `mq_cancel`. (A trace records it as a probe that saw
/// nothing, at the point where it was queued, and statistics count it as one.)
///
/// Outcomes, outputs and errors as for `mq_queue_receive`.
///
/// # Safety
/// As for `mq_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_queue_probe(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    probe: *mut c_void,
    handle: *mut mq_handle,
) -> c_int {
    // Only what is around an engine tells a probe from a receive.
    // SAFETY: as required of the caller.
    match unsafe { way(engine, |front| front.open) } {
        // SAFETY: as above.
        Way::Around => unsafe { queue_receive(engine, pattern, probe, handle, Waiting::Probe) },
        // SAFETY: as above.
        _ => unsafe { ways::queue_receive::call(engine, pattern, probe, handle) },
    }
}

/// # Safety
/// As for [`mq_post`](crate::mq_post).
#[inline]
unsafe fn queue_receive(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
    waiting: Waiting,
) -> c_int {
    let body = |matching: &mut Matching, wanted: &mq_pattern| {
        let queued = matching.queue_receive(wanted.read()?, receive, waiting)?;
        // SAFETY: as required of the caller.
        unsafe { write(handle, mq_handle::of(queued)) };
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { operate_with(engine, pattern, body) }
}

/// Queues a message of `bytes` bytes without a search. Allowed only if the last operation on the engine was
/// `mq_deliver` of the same envelope and found nothing; the context may be created or updated in between. This
/// is not checked, as for `mq_queue_receive`.
///
/// `MQ_NONE`: it is queued, `*queued` is written (unless null). Errors as for `mq_arrive`.
///
/// # Safety
/// As for `mq_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_queue_message(
    engine: *mut mq_engine,
    envelope: *const mq_envelope,
    bytes: u64,
    message: *mut c_void,
    queued: *mut mq_message_handle,
) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { ways::queue_message::call(engine, envelope, bytes, message, queued) }
}

/// [`mq_queue_message`] through every layer that may be in between.
///
/// # Safety
/// As for [`mq_queue_message`].
#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn queue_message_around(
    engine: *mut mq_engine,
    envelope: *const mq_envelope,
    bytes: u64,
    message: *mut c_void,
    queued: *mut mq_message_handle,
) -> c_int {
    let body = |matching: &mut Matching, carried: &mq_envelope| {
        let name = matching.queue_message(carried.read()?, bytes, message)?;
        // SAFETY: as required of the caller.
        unsafe { write(queued, mq_message_handle::of(name)) };
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { operate_with(engine, envelope, body) }
}
