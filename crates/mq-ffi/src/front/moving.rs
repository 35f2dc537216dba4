//! The match operations while entries are moving from the front into the queues: some move with each operation,
//! since all at once would be a pause.
//!
//! What is in the queues is earlier than what is still in the front. So an operation searches the queues first, and
//! then all entries of the front; what it queues goes behind those of its kind in the front, or into the queues
//! if there are none.
//!
//! Each step returns `None` if the front cannot judge the operation; nothing has changed then, and the rest of the
//! entries has to move.

use core::ffi::{c_int, c_void};

use super::array::Reach;
use super::layout::mq_front;
use super::settle::{SOME, end_if_empty, is_settled, move_in};
use super::{emptied, steps, terms};
use crate::matching::{Matching, Message};
use crate::plain::{self, Outputs};
use crate::status::{MQ_MATCHED, MQ_NONE};
use crate::types::{mq_envelope, mq_handle, mq_message_handle, mq_pattern};

/// How a step ended, or an error, and nothing has changed.
type Ended = Result<Option<c_int>, c_int>;

/// Moves some entries, if there are any in the front; returns whether some are left there. Then the operation is one
/// of the steps here, and [`after`] follows.
#[inline(always)]
pub(crate) fn is_moving(front: &mut mq_front, matching: &mut Matching) -> bool {
    !is_settled(front) && !front.is_empty() && move_some(front, matching)
}

#[cold]
#[inline(never)]
fn move_some(front: &mut mq_front, matching: &mut Matching) -> bool {
    let (posted, unexpected) = matching.lengths();
    move_in(
        front,
        matching,
        so_many(posted as usize + unexpected as usize),
    );
    !front.is_empty()
}

/// When more are queued, the default structure begins to index all, in some steps of as many microseconds as
/// an operation may take.
const LONG: usize = 4096;
const STEPS: usize = 6;

/// How many move with an operation into queues that hold so many.
const fn so_many(queued: usize) -> usize {
    if queued < LONG && LONG - queued < SOME {
        LONG - queued
    } else if queued >= LONG && queued - LONG < STEPS {
        1
    } else {
        SOME
    }
}

/// A step has ended, which may have taken the last entry out of the front.
pub(crate) fn after(front: &mut mq_front, matching: &mut Matching) {
    end_if_empty(front, matching);
    if is_settled(front) && matching.lengths() == (0, 0) {
        emptied(front, matching);
    }
}

/// Has the front know the context of an operation.
fn make_known(front: &mut mq_front, matching: &Matching, context: u32) {
    if front.known(context).is_none() {
        terms::learn(front, matching, context);
    }
}

/// # Safety
/// The outputs are null or valid for a write.
pub(crate) unsafe fn post(
    front: &mut mq_front,
    matching: &mut Matching,
    pattern: &mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
    out: Outputs,
) -> Ended {
    // SAFETY: as required of the caller.
    match unsafe { extract(front, matching, pattern, out) }? {
        // SAFETY: as required of the caller.
        Some(MQ_NONE) => unsafe { queue_receive(front, matching, pattern, receive, handle) },
        ended => Ok(ended),
    }
}

/// # Safety
/// The outputs are null or valid for a write.
pub(crate) unsafe fn arrive(
    front: &mut mq_front,
    matching: &mut Matching,
    envelope: &mq_envelope,
    message: Message,
    receive: *mut *mut c_void,
) -> Ended {
    // SAFETY: as required of the caller.
    match unsafe { deliver(front, matching, envelope, receive) }? {
        Some(MQ_NONE) => {
            let queued = core::ptr::null_mut();
            // SAFETY: null.
            unsafe { queue_message(front, matching, envelope, message, queued) }
        }
        ended => Ok(ended),
    }
}

/// # Safety
/// The outputs are null or valid for a write.
pub(crate) unsafe fn extract(
    front: &mut mq_front,
    matching: &mut Matching,
    pattern: &mq_pattern,
    out: Outputs,
) -> Ended {
    // SAFETY: as required of the caller.
    let status = unsafe { plain::extract::of(matching.engine_mut(), pattern, out) }?;
    if status == MQ_MATCHED {
        matching.message_left();
        return Ok(Some(status));
    }
    make_known(front, matching, pattern.context);
    // SAFETY: as required of the caller.
    Ok(unsafe { steps::extract(front, pattern, out, Reach::All) })
}

/// # Safety
/// The outputs are null or valid for a write.
pub(crate) unsafe fn find(
    front: &mut mq_front,
    matching: &mut Matching,
    pattern: &mq_pattern,
    found: *mut mq_message_handle,
    out: Outputs,
) -> Ended {
    // SAFETY: as required of the caller.
    let status = unsafe { plain::find::of(matching.engine_mut(), pattern, found, out) }?;
    if status == MQ_MATCHED {
        return Ok(Some(status));
    }
    make_known(front, matching, pattern.context);
    // SAFETY: as required of the caller.
    Ok(unsafe { steps::find(front, pattern, found, out, Reach::All) })
}

/// # Safety
/// `receive` is null or valid for a write.
pub(crate) unsafe fn deliver(
    front: &mut mq_front,
    matching: &mut Matching,
    envelope: &mq_envelope,
    receive: *mut *mut c_void,
) -> Ended {
    // SAFETY: as required of the caller.
    let status = unsafe { plain::deliver::of(matching.engine_mut(), envelope, receive) }?;
    if status == MQ_MATCHED {
        matching.receive_left();
        return Ok(Some(status));
    }
    make_known(front, matching, envelope.context);
    // SAFETY: as required of the caller.
    Ok(unsafe { steps::deliver(front, envelope, receive, Reach::All) })
}

/// # Safety
/// `handle` is null or valid for a write.
pub(crate) unsafe fn queue_receive(
    front: &mut mq_front,
    matching: &mut Matching,
    pattern: &mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
) -> Ended {
    if front.receives.len() > 0 {
        make_known(front, matching, pattern.context);
        // SAFETY: as required of the caller.
        return Ok(unsafe { steps::queue_receive(front, pattern, receive, handle) });
    }
    let engine = matching.engine_mut();
    // SAFETY: as required of the caller.
    let status = unsafe { plain::queue_receive::of(engine, pattern, receive, handle) }?;
    matching.receive_added();
    Ok(Some(status))
}

/// # Safety
/// `queued` is null or valid for a write.
pub(crate) unsafe fn queue_message(
    front: &mut mq_front,
    matching: &mut Matching,
    envelope: &mq_envelope,
    message: Message,
    queued: *mut mq_message_handle,
) -> Ended {
    if front.messages.len() > 0 {
        make_known(front, matching, envelope.context);
        let Message { cookie, bytes } = message;
        // SAFETY: as required of the caller.
        return Ok(unsafe { steps::queue_message(front, envelope, bytes, cookie, queued) });
    }
    let engine = matching.engine_mut();
    // SAFETY: as required of the caller.
    let status = unsafe { plain::queue_message::of(engine, envelope, message, queued) }?;
    matching.message_added();
    Ok(Some(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operation_moves_many_into_queues_that_become_long() {
        let mut queued = 0;
        while queued < 3 * LONG {
            let more = so_many(queued);
            assert!((1..=SOME).contains(&more), "{more} into {queued}");
            let becomes_long = queued <= LONG && queued + more > LONG;
            assert!(!becomes_long || more == 1, "{more} into {queued}");
            queued += more;
        }
        assert_eq!(so_many(LONG + STEPS - 1), 1);
        assert_eq!(so_many(LONG + STEPS), SOME);
    }
}
