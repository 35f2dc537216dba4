//! The match operations in halves: searching without queueing, queueing without a search.
//!
//! Libraries make a request, or copy a message, only when it has to be queued. They search first, act,
//! and then queue, all under one lock.

use core::ffi::{c_int, c_void};

use crate::gate::{mq_engine, write};
use crate::matching::{Matching, Message};
use crate::operations::{operate, operate_with, show_message};
use crate::plain::{self, Outputs};
use crate::status::{MQ_MATCHED, MQ_NONE};
use crate::types::{mq_envelope, mq_handle, mq_message_handle, mq_pattern};

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
    let body = |matching: &mut Matching, wanted: &mq_pattern| {
        if let Some(engine) = matching.plain() {
            let out = Outputs { message, envelope };
            // SAFETY: as required of the caller.
            let status = unsafe { plain::extract(engine, wanted, out) }?;
            matching.extracted(status);
            return Ok(status);
        }
        let Some(taken) = matching.extract(&wanted.read()?)? else {
            return Ok(MQ_NONE);
        };
        // SAFETY: as required of the caller.
        Ok(unsafe { show_message(message, envelope, &taken) })
    };
    // SAFETY: as required of the caller.
    unsafe { operate_with(engine, pattern, body) }
}

/// Shows the earliest unexpected message that `pattern` matches and names it, for `mq_take`.
///
/// `MQ_MATCHED`: `*found`, `*message` and `*envelope` are written (unless null). `MQ_NONE`: there is
/// none. Errors as for `mq_post`.
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
    let body = |matching: &mut Matching, wanted: &mq_pattern| {
        if let Some(engine) = matching.plain() {
            let out = Outputs { message, envelope };
            // SAFETY: as required of the caller.
            return unsafe { plain::find(engine, wanted, found, out) };
        }
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

/// Takes out the message that `mq_find` named, without a search.
///
/// `MQ_MATCHED`: it was queued; `*message` and `*envelope` are written (unless null). `MQ_NONE`: it has
/// left already. Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`.
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

/// Takes the earliest posted receive that a message matches, and queues nothing otherwise (first half of
/// `mq_arrive`).
///
/// `MQ_MATCHED`: `*receive` is written (unless null). `MQ_NONE`: there is none. Errors: `MQ_ERR_NULL`,
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
    let body = |matching: &mut Matching, carried: &mq_envelope| {
        if let Some(engine) = matching.plain() {
            // SAFETY: as required of the caller.
            let status = unsafe { plain::deliver(engine, carried, receive) }?;
            matching.delivered(status);
            return Ok(status);
        }
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

/// Queues a receive without a search: only when `mq_extract` or `mq_find` with the same pattern was the
/// last operation on the engine, and found nothing.
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
    unsafe { queue_receive(engine, pattern, receive, handle, false) }
}

/// Queues a probe that waits for its message, like a receive: `mq_deliver` hands it back, and the caller
/// completes it and delivers the same message again. (A trace then shows no receive there.)
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
    // SAFETY: as required of the caller.
    unsafe { queue_receive(engine, pattern, probe, handle, true) }
}

/// # Safety
/// As for [`mq_post`](crate::mq_post).
#[inline]
unsafe fn queue_receive(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
    probes: bool,
) -> c_int {
    let body = |matching: &mut Matching, wanted: &mq_pattern| {
        if let Some(engine) = matching.plain() {
            // SAFETY: as required of the caller.
            let status = unsafe { plain::queue_receive(engine, wanted, receive, handle) }?;
            matching.posted(status);
            return Ok(status);
        }
        let queued = matching.queue_receive(wanted.read()?, receive, probes)?;
        // SAFETY: as required of the caller.
        unsafe { write(handle, mq_handle::of(queued)) };
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { operate_with(engine, pattern, body) }
}

/// Queues a message of `bytes` bytes without a search: only when `mq_deliver` of the same envelope was
/// the last operation on the engine, and found nothing.
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
    let body = |matching: &mut Matching, carried: &mq_envelope| {
        if let Some(engine) = matching.plain() {
            let cookie = message;
            let message = Message { cookie, bytes };
            // SAFETY: as required of the caller.
            let status = unsafe { plain::queue_message(engine, carried, message, queued) }?;
            matching.arrived(status);
            return Ok(status);
        }
        let name = matching.queue_message(carried.read()?, bytes, message)?;
        // SAFETY: as required of the caller.
        unsafe { write(queued, mq_message_handle::of(name)) };
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { operate_with(engine, envelope, body) }
}
