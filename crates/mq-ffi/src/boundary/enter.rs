//! The body of a call: null and liveness checks, and the panic boundary.

use core::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::entered::{Entered, Front, InCallback};
use super::shell::{Shell, mq_engine};
use crate::allocator;
use crate::front;
use crate::status::{MQ_ERR_ENGINE, MQ_ERR_INTERNAL, MQ_ERR_NULL};

/// Runs the body of a call on an engine. Entries that are on their way from the front into the queues have arrived.
///
/// # Safety
/// `engine` is null or came from [`install`](super::install), whether it was freed since or not.
#[inline]
pub(crate) unsafe fn enter(
    engine: *const mq_engine,
    body: impl FnOnce(&mut Entered<'_>) -> Result<c_int, c_int>,
) -> c_int {
    let body = |entered: &mut Entered<'_>| {
        front::end_moving(&mut entered.front, entered.matching);
        body(entered)
    };
    // SAFETY: as required of the caller.
    unsafe { enter_to_look(engine, body) }
}

/// The same for a body that counts entries, in the front and behind it, and moves none: those that are on their way
/// stay there.
///
/// # Safety
/// As for [`enter`].
#[inline]
pub(crate) unsafe fn enter_to_look(
    engine: *const mq_engine,
    body: impl FnOnce(&mut Entered<'_>) -> Result<c_int, c_int>,
) -> c_int {
    guard(|| {
        // SAFETY: null, or a block, which lives forever.
        let shell = &unsafe { engine.as_ref() }.ok_or(MQ_ERR_NULL)?.shell;
        let access = shell.access()?;
        // SAFETY: this thread has the access; a call from a callback got none.
        let matching = unsafe { &mut *shell.matching.get() };
        // SAFETY: as above.
        let front = unsafe { Front::new(&shell.front) };
        let matching = matching.as_deref_mut().ok_or(MQ_ERR_ENGINE)?;
        let in_callback = InCallback(&shell.in_callback);
        let breaks = Breaks(shell);
        let status = body(&mut Entered {
            matching,
            front,
            in_callback,
        });
        core::mem::forget(breaks);
        drop(access);
        status
    })
}

/// Marks an engine as broken if a panic unwinds through it.
struct Breaks<'a>(&'a Shell);

impl Drop for Breaks<'_> {
    #[cold]
    fn drop(&mut self) {
        self.0.break_down();
    }
}

/// Runs a step on [`straight`](super::straight) parts of an engine; a panic becomes a status, and breaks the engine.
///
/// # Safety
/// `engine` came from [`install`](super::install); nothing else of it is in use.
#[inline(always)]
pub(crate) unsafe fn guard_step(
    engine: *mut mq_engine,
    step: impl FnOnce() -> Result<c_int, c_int>,
) -> c_int {
    guard(|| {
        // SAFETY: a block, which lives forever.
        let breaks = Breaks(unsafe { &(*engine).shell });
        let status = step();
        core::mem::forget(breaks);
        status
    })
}

/// Runs the body of a call; a panic becomes a status.
#[inline]
pub(crate) fn guard(body: impl FnOnce() -> Result<c_int, c_int>) -> c_int {
    // After a panic the engine is broken, as the status says; nothing else is shared.
    let status = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status) | Err(status)) => status,
        Err(_) => MQ_ERR_INTERNAL,
    };
    // What the caller's allocator refused was dealt with if something was queued; otherwise it does not matter,
    // and must not be attributed to the next call.
    allocator::forget_refusals();
    status
}
