//! Which way a match operation goes: in the front, straight to the queues, or around, through every layer.

use core::ffi::c_int;
use core::sync::atomic::Ordering;

use super::shell::{Behind, mq_engine};
use crate::front::{MQ_FRONT_LAYOUT, mq_front};
use crate::matching::Matching;
use crate::status::MQ_ERR_ENGINE;

/// Where a match operation is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// In the front: [`front_of`] is allowed.
    Front,
    /// On the queues, which have the default structure unless their context asked for another; nothing has to
    /// be recorded but how the operation ended: [`straight`] is allowed.
    Default,
    /// The same, on queues of another structure.
    Any,
    /// Through every layer that may be in between: [`enter`](super::enter).
    Around,
}

/// Where to do an operation that may be done in the front if `state`, one of its words, says so.
///
/// # Safety
/// As for [`enter`](super::enter).
#[inline(always)]
pub(crate) unsafe fn way(engine: *mut mq_engine, state: impl FnOnce(&mq_front) -> u32) -> Way {
    // SAFETY: null, or a block, which lives forever.
    let Some(mq_engine { shell }) = (unsafe { engine.as_ref() }) else {
        return Way::Around;
    };
    let behind = shell.behind.load(Ordering::Relaxed);
    let more = behind >= Behind::More as u8;
    if shell.in_callback.load(Ordering::Relaxed) != 0 || more && shell.is_locked() {
        return Way::Around;
    }
    // SAFETY: one thread at a time uses an engine without a lock, and it is in no other call to it.
    let front = unsafe { &*shell.front.get() };
    if state(front) == MQ_FRONT_LAYOUT {
        Way::Front
    } else if behind == Behind::Default as u8 {
        Way::Default
    } else if more {
        Way::Around
    } else {
        Way::Any
    }
}

/// The front of an engine.
///
/// # Safety
/// [`way`] has just returned [`Way::Front`]; nothing else of the engine is in use.
#[inline(always)]
pub(crate) unsafe fn front_of<'a>(engine: *mut mq_engine) -> &'a mut mq_front {
    // SAFETY: a block, which lives forever.
    let shell = unsafe { &(*engine).shell };
    // SAFETY: as required of the caller.
    unsafe { &mut *shell.front.get() }
}

/// The front and the queues of an engine that is neither locked, watched nor limited.
///
/// # Safety
/// [`way`] has just returned [`Way::Default`] or [`Way::Any`]; nothing else of the engine is in use.
#[inline(always)]
pub(crate) unsafe fn straight<'a>(
    engine: *mut mq_engine,
) -> Result<(&'a mut mq_front, &'a mut Matching), c_int> {
    // SAFETY: a block, which lives forever.
    let shell = unsafe { &(*engine).shell };
    // SAFETY: as required of the caller.
    let front = unsafe { &mut *shell.front.get() };
    // SAFETY: as required of the caller.
    let matching = unsafe { &mut *shell.matching.get() };
    Ok((front, matching.as_deref_mut().ok_or(MQ_ERR_ENGINE)?))
}
