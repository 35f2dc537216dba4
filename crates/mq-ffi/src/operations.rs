//! The match operations.

use core::ffi::{c_int, c_void};

use mq_core::mpi::MpiEnvelope;
use mq_core::{Arrive, CollectiveCall, ContextId, Post, TrafficClass};

use crate::engine::{Message, mq_engine};
use crate::guard::{borrow, borrow_mut, guard, write};
use crate::status::{MQ_ERR_ARGUMENT, MQ_MATCHED, MQ_NONE, of};
use crate::types::{mq_envelope, mq_handle, mq_pattern};

/// Posts a receive, or takes the earliest unexpected message that it matches.
///
/// `MQ_MATCHED`: `*message` and `*envelope` are written. `MQ_NONE`: the receive is queued, `*handle`
/// is written. Any of the three may be null. Errors: `MQ_ERR_NULL`, `MQ_ERR_UNKNOWN_CONTEXT`, `MQ_ERR_RANK`,
/// `MQ_ERR_ANY_SOURCE`, `MQ_ERR_ANY_TAG`, `MQ_ERR_ARGUMENT`; the receive is not queued then.
///
/// # Safety
/// `engine` was made by `mq_engine_new` and is used by no other thread; `pattern` is valid; the outputs
/// are null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_post(
    engine: *mut mq_engine,
    pattern: *const mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
    message: *mut *mut c_void,
    envelope: *mut mq_envelope,
) -> c_int {
    guard(|| {
        // SAFETY: as required of the caller.
        let engine = unsafe { borrow_mut(engine) }?;
        // SAFETY: as required of the caller.
        let pattern = unsafe { borrow(pattern) }?;
        let post = engine.engine.post(pattern.read()?, receive);
        match post.map_err(|refused| of(refused.error))? {
            Post::Queued(queued) => {
                // SAFETY: as required of the caller.
                unsafe { write(handle, mq_handle::of(queued)) };
                Ok(MQ_NONE)
            }
            Post::Matched {
                envelope: carried,
                message: taken,
                ..
            } => {
                // SAFETY: as required of the caller.
                unsafe { write(message, taken.cookie) };
                // SAFETY: as required of the caller.
                unsafe { write(envelope, mq_envelope::of(&carried)) };
                Ok(MQ_MATCHED)
            }
        }
    })
}

/// Delivers a message of `bytes` bytes to the earliest posted receive that matches it, or queues it.
///
/// `MQ_MATCHED`: `*receive` is written (unless null). `MQ_NONE`: the message is queued as unexpected.
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_UNKNOWN_CONTEXT`, `MQ_ERR_RANK`, `MQ_ERR_ARGUMENT`, `MQ_ERR_ENTRY_BUDGET`,
/// `MQ_ERR_BYTE_BUDGET`; the message is not queued then and remains the caller's.
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
    guard(|| {
        // SAFETY: as required of the caller.
        let engine = unsafe { borrow_mut(engine) }?;
        // SAFETY: as required of the caller.
        let envelope = unsafe { borrow(envelope) }?;
        let message = Message {
            cookie: message,
            bytes,
        };
        let arrival = engine.engine.arrive(envelope.read()?, message);
        match arrival.map_err(|refused| of(refused.error))? {
            Arrive::Unexpected => Ok(MQ_NONE),
            Arrive::Matched { receive: taken, .. } => {
                // SAFETY: as required of the caller.
                unsafe { write(receive, taken) };
                Ok(MQ_MATCHED)
            }
        }
    })
}

/// Writes the message that a probe found.
///
/// # Safety
/// The outputs are null or valid for a write.
unsafe fn show_message(
    message: *mut *mut c_void,
    envelope: *mut mq_envelope,
    cookie: *mut c_void,
    carried: &MpiEnvelope,
) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { write(message, cookie) };
    // SAFETY: as required of the caller.
    unsafe { write(envelope, mq_envelope::of(carried)) };
    MQ_MATCHED
}

/// Shows the earliest unexpected message that `pattern` matches, and removes nothing.
///
/// `MQ_MATCHED`: `*message` and `*envelope` are written (unless null). `MQ_NONE`: there is none. Errors as
/// for `mq_post`.
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
    guard(|| {
        // SAFETY: as required of the caller.
        let engine = unsafe { borrow_mut(engine) }?;
        // SAFETY: as required of the caller.
        let pattern = unsafe { borrow(pattern) }?;
        let seen = engine.engine.probe(&pattern.read()?).map_err(of)?;
        let Some((carried, seen)) = seen else {
            return Ok(MQ_NONE);
        };
        // SAFETY: as required of the caller.
        Ok(unsafe { show_message(message, envelope, seen.cookie, &carried) })
    })
}

/// Takes the earliest unexpected message that `pattern` matches, and queues nothing otherwise
/// (matched probe).
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
    guard(|| {
        // SAFETY: as required of the caller.
        let engine = unsafe { borrow_mut(engine) }?;
        // SAFETY: as required of the caller.
        let pattern = unsafe { borrow(pattern) }?;
        let taken = engine.engine.extract(&pattern.read()?).map_err(of)?;
        let Some((carried, taken)) = taken else {
            return Ok(MQ_NONE);
        };
        // SAFETY: as required of the caller.
        Ok(unsafe { show_message(message, envelope, taken.cookie, &carried) })
    })
}

/// Takes a posted receive out by name.
///
/// `MQ_MATCHED`: it was queued; `*receive` is written (unless null). `MQ_NONE`: it has left already:
/// matched, cancelled or purged. Errors: `MQ_ERR_NULL`.
///
/// # Safety
/// As for `mq_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_cancel(
    engine: *mut mq_engine,
    handle: mq_handle,
    receive: *mut *mut c_void,
) -> c_int {
    guard(|| {
        // SAFETY: as required of the caller.
        let engine = unsafe { borrow_mut(engine) }?;
        match engine.engine.cancel(handle.read()) {
            Some(cancelled) => {
                // SAFETY: as required of the caller.
                unsafe { write(receive, cancelled) };
                Ok(MQ_MATCHED)
            }
            None => Ok(MQ_NONE),
        }
    })
}

/// Announces that this process takes part in a collective call of `traffic_class` with messages of
/// `bytes` bytes over `size` ranks. Only some structures listen.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_UNKNOWN_CONTEXT`, `MQ_ERR_ARGUMENT` (no collective class).
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
    guard(|| {
        // SAFETY: as required of the caller.
        let engine = unsafe { borrow_mut(engine) }?;
        let class = TrafficClass::ALL.get(traffic_class as usize).copied();
        let class = class.filter(|class| class.is_collective());
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let call = CollectiveCall::new(
            ContextId(context),
            class.ok_or(MQ_ERR_ARGUMENT)?,
            bytes,
            size,
        );
        engine.engine.announce(&call).map(|()| MQ_NONE).map_err(of)
    })
}
