//! The match operations, answered in the front: what the inline calls of `mq_inline.h` do, for
//! callers that make real calls. Either may find what the other left.
//!
//! Each returns `None` if the queues behind the front must be asked; nothing has changed then. Where they say that no
//! entries are behind the front, it is also enough that those have been asked ([`moving`](super::moving)).

use core::ffi::{c_int, c_void};
use core::ptr;

use super::array::{Reach, Wanted};
use super::layout::{MQ_FRONT_SLOT, bits_of, mq_front_queue, wanted_by};
use super::settle::envelope_in;
use super::{mq_front, mq_parked};
use crate::boundary::write;
use crate::class;
use crate::plain::Outputs;
use crate::status::{MQ_MATCHED, MQ_NONE};
use crate::types::{
    MQ_ANY_SOURCE, MQ_ANY_TAG, MQ_NO_ANY_SOURCE, MQ_NO_ANY_TAG, mq_envelope, mq_handle,
    mq_message_handle, mq_pattern,
};

impl mq_front {
    /// What to look for, if the front can judge the pattern: an ordinary one, for a context that it
    /// knows.
    #[inline(always)]
    fn reads_pattern(&self, pattern: &mq_pattern) -> Option<Wanted> {
        let known = self.known(pattern.context)?;
        let source = if pattern.source < 0 {
            pattern.source == MQ_ANY_SOURCE && known.promises & MQ_NO_ANY_SOURCE == 0
        } else {
            pattern.source.cast_unsigned() <= known.last_rank
        };
        let tag = pattern.tag != MQ_ANY_TAG || known.promises & MQ_NO_ANY_TAG == 0;
        let plain = pattern.ignore == 0 && class::is_of_patterns(pattern.traffic_class);
        let (bits, care) = wanted_by(pattern.source, pattern.tag);
        (source && tag && plain).then_some(Wanted {
            context: pattern.context,
            bits,
            care,
        })
    }

    #[inline(always)]
    fn reads_envelope(&self, envelope: &mq_envelope) -> Option<Wanted> {
        let known = self.known(envelope.context)?;
        let good = envelope.source >= 0
            && envelope.source.cast_unsigned() <= known.last_rank
            && envelope.tag != MQ_ANY_TAG
            && class::is_of_messages(envelope.traffic_class);
        good.then_some(Wanted {
            context: envelope.context,
            bits: bits_of(envelope.source, envelope.tag),
            care: u64::MAX,
        })
    }
}

/// Takes a message out and shows it.
///
/// # Safety
/// The outputs are null or valid for a write.
#[inline(always)]
unsafe fn take_out(queue: &mut mq_front_queue, at: *mut mq_parked, out: Outputs) -> c_int {
    // SAFETY: an entry that a search found.
    let parked = unsafe { &*at };
    // SAFETY: as required of the caller.
    unsafe { show(parked, out) };
    queue.remove(at);
    MQ_MATCHED
}

/// # Safety
/// As for [`take_out`].
#[inline(always)]
unsafe fn show(parked: &mq_parked, out: Outputs) {
    // SAFETY: as required of the caller.
    unsafe { write(out.message, parked.cookie) };
    // SAFETY: as required of the caller.
    unsafe { write(out.envelope, envelope_in(parked)) };
}

/// Takes a receive out and shows it.
///
/// # Safety
/// `receive` is null or valid for a write.
#[inline(always)]
unsafe fn complete(
    queue: &mut mq_front_queue,
    at: *mut mq_parked,
    receive: *mut *mut c_void,
) -> c_int {
    // SAFETY: an entry that a search found.
    let cookie = unsafe { (*at).cookie };
    // SAFETY: as required of the caller.
    unsafe { write(receive, cookie) };
    queue.remove(at);
    MQ_MATCHED
}

/// What a step that queues leaves behind.
#[inline(always)]
const fn entry(
    wanted: Wanted,
    class: u32,
    care: u64,
    sequence: u64,
    cookie: *mut c_void,
) -> mq_parked {
    mq_parked {
        bits: wanted.bits,
        care,
        place: (class as u64) << 32 | wanted.context as u64,
        sequence,
        cookie,
    }
}

/// # Safety
/// `handle` is null or valid for a write.
#[inline(always)]
unsafe fn add_receive(
    front: &mut mq_front,
    wanted: Wanted,
    pattern: &mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
) -> Option<c_int> {
    let (class, sequence) = (pattern.traffic_class, front.sequence);
    front
        .receives
        .add(entry(wanted, class, wanted.care, sequence, receive))?;
    front.sequence = sequence + 1;
    let name = mq_handle {
        sequence,
        slot: MQ_FRONT_SLOT,
        context: wanted.context,
    };
    // SAFETY: as required of the caller.
    unsafe { write(handle, name) };
    Some(MQ_NONE)
}

/// # Safety
/// `queued` is null or valid for a write.
#[inline(always)]
unsafe fn add_message(
    front: &mut mq_front,
    wanted: Wanted,
    envelope: &mq_envelope,
    bytes: u64,
    message: *mut c_void,
    queued: *mut mq_message_handle,
) -> Option<c_int> {
    let (class, sequence) = (envelope.traffic_class, front.sequence);
    front
        .messages
        .add(entry(wanted, class, bytes, sequence, message))?;
    front.sequence = sequence + 1;
    // SAFETY: as required of the caller.
    unsafe { write(queued, name_of_message(sequence, wanted.context)) };
    Some(MQ_NONE)
}

#[inline(always)]
const fn name_of_message(sequence: u64, context: u32) -> mq_message_handle {
    mq_message_handle {
        sequence,
        slot: MQ_FRONT_SLOT,
        context,
    }
}

/// `mq_post`, in an open front.
///
/// # Safety
/// The outputs are null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn post(
    front: &mut mq_front,
    pattern: &mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
    out: Outputs,
    reach: Reach,
) -> Option<c_int> {
    let wanted = front.reads_pattern(pattern)?;
    match front.messages.message(wanted, reach)? {
        // SAFETY: as required of the caller.
        Some(at) => Some(unsafe { take_out(&mut front.messages, at, out) }),
        // SAFETY: as required of the caller.
        None => unsafe { add_receive(front, wanted, pattern, receive, handle) },
    }
}

/// `mq_arrive`, in an open front.
///
/// # Safety
/// `receive` is null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn arrive(
    front: &mut mq_front,
    envelope: &mq_envelope,
    bytes: u64,
    message: *mut c_void,
    receive: *mut *mut c_void,
    reach: Reach,
) -> Option<c_int> {
    let wanted = front.reads_envelope(envelope)?;
    match front.receives.receive(wanted, reach)? {
        // SAFETY: as required of the caller.
        Some(at) => Some(unsafe { complete(&mut front.receives, at, receive) }),
        // SAFETY: null.
        None => unsafe { add_message(front, wanted, envelope, bytes, message, ptr::null_mut()) },
    }
}

/// `mq_extract`, while no messages are behind the front.
///
/// # Safety
/// The outputs are null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn extract(
    front: &mut mq_front,
    pattern: &mq_pattern,
    out: Outputs,
    reach: Reach,
) -> Option<c_int> {
    let wanted = front.reads_pattern(pattern)?;
    match front.messages.message(wanted, reach)? {
        // SAFETY: as required of the caller.
        Some(at) => Some(unsafe { take_out(&mut front.messages, at, out) }),
        None => Some(MQ_NONE),
    }
}

/// `mq_find`, while no messages are behind the front.
///
/// # Safety
/// The outputs are null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn find(
    front: &mq_front,
    pattern: &mq_pattern,
    found: *mut mq_message_handle,
    out: Outputs,
    reach: Reach,
) -> Option<c_int> {
    let wanted = front.reads_pattern(pattern)?;
    let Some(at) = front.messages.message(wanted, reach)? else {
        return Some(MQ_NONE);
    };
    // SAFETY: an entry that a search found.
    let parked = unsafe { &*at };
    // SAFETY: as required of the caller.
    unsafe { write(found, name_of_message(parked.sequence, wanted.context)) };
    // SAFETY: as required of the caller.
    unsafe { show(parked, out) };
    Some(MQ_MATCHED)
}

/// `mq_take` of a name that was given here, in an open front.
///
/// # Safety
/// The outputs are null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn take(
    front: &mut mq_front,
    found: mq_message_handle,
    out: Outputs,
    reach: Reach,
) -> Option<c_int> {
    if found.slot != MQ_FRONT_SLOT {
        // The queues had no messages when the front opened: this one has left.
        return Some(MQ_NONE);
    }
    match front.messages.named(found.sequence, found.context, reach)? {
        // SAFETY: as required of the caller.
        Some(at) => Some(unsafe { take_out(&mut front.messages, at, out) }),
        None => Some(MQ_NONE),
    }
}

/// `mq_cancel`, in an open front, if it has a receive by that name.
///
/// # Safety
/// `receive` is null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn cancel(
    front: &mut mq_front,
    handle: mq_handle,
    receive: *mut *mut c_void,
    reach: Reach,
) -> Option<c_int> {
    if handle.slot != MQ_FRONT_SLOT {
        return Some(MQ_NONE);
    }
    match front
        .receives
        .named(handle.sequence, handle.context, reach)?
    {
        // SAFETY: as required of the caller.
        Some(at) => Some(unsafe { complete(&mut front.receives, at, receive) }),
        None => Some(MQ_NONE),
    }
}

/// `mq_deliver`, while no receives are behind the front.
///
/// # Safety
/// `receive` is null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn deliver(
    front: &mut mq_front,
    envelope: &mq_envelope,
    receive: *mut *mut c_void,
    reach: Reach,
) -> Option<c_int> {
    let wanted = front.reads_envelope(envelope)?;
    match front.receives.receive(wanted, reach)? {
        // SAFETY: as required of the caller.
        Some(at) => Some(unsafe { complete(&mut front.receives, at, receive) }),
        None => Some(MQ_NONE),
    }
}

/// `mq_queue_receive`, in an open front.
///
/// # Safety
/// `handle` is null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn queue_receive(
    front: &mut mq_front,
    pattern: &mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
) -> Option<c_int> {
    let wanted = front.reads_pattern(pattern)?;
    // SAFETY: as required of the caller.
    unsafe { add_receive(front, wanted, pattern, receive, handle) }
}

/// `mq_queue_message`, in an open front.
///
/// # Safety
/// `queued` is null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn queue_message(
    front: &mut mq_front,
    envelope: &mq_envelope,
    bytes: u64,
    message: *mut c_void,
    queued: *mut mq_message_handle,
) -> Option<c_int> {
    let wanted = front.reads_envelope(envelope)?;
    // SAFETY: as required of the caller.
    unsafe { add_message(front, wanted, envelope, bytes, message, queued) }
}
