//! The match operations while entries are moving from the front into the queues: some move with each operation,
//! since all at once would be a pause.
//!
//! What is in the queues is earlier than what is still in the front. So an operation searches the queues first, and
//! then all entries of the front; what it queues goes behind those of its kind in the front, or into the queues
//! if there are none.
//!
//! Each step returns `None` if the front cannot judge the operation, or has no room for what it queues; nothing has
//! changed then, and the rest of the entries has to move.

use core::ffi::{c_int, c_void};

use super::array::Reach;
use super::layout::{MOVING, mq_front};
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
pub(crate) fn move_some(front: &mut mq_front, matching: &mut Matching) -> bool {
    !is_settled(front) && !front.is_empty() && move_next(front, matching)
}

#[cold]
#[inline(never)]
fn move_next(front: &mut mq_front, matching: &mut Matching) -> bool {
    if front.open != MOVING {
        matching.rest.single_steps = SINGLE_STEPS;
    }
    let (posted, unexpected) = matching.lengths();
    let queued = posted as usize + unexpected as usize;
    let most = so_many(queued, &mut matching.rest.single_steps);
    move_in(front, matching, most);
    !front.is_empty()
}

/// When a queue has to grow where more than this many are queued, the default structure begins to index them all, in
/// so many steps of as many microseconds as an operation may take. Entries that move are mostly of one kind in
/// one context, to which this applies.
pub(super) const LONG: usize = 4096;
const SINGLE_STEPS: u8 = 6;

/// How many move with an operation into queues that hold so many: where these become long, none after the one that
/// makes them so, and then one at a time, as often as is left. That is counted, since what is taken meanwhile may keep
/// them as long as they are.
fn so_many(queued: usize, single_steps: &mut u8) -> usize {
    if queued + SOME <= LONG || *single_steps == 0 {
        return SOME;
    }
    *single_steps -= 1;
    LONG.saturating_sub(queued) + 1
}

/// How many entries may be queued in a front while those of one kind move, which are so many: one with each operation.
pub(super) const fn newcomers(moving: usize) -> usize {
    moving / SOME + SINGLE_STEPS as usize + 1
}

/// A step has ended, which may have taken the last entry out of the front.
pub(crate) fn after(front: &mut mq_front, matching: &mut Matching) {
    end_if_empty(front, matching);
    if is_settled(front) && matching.lengths() == (0, 0) {
        emptied(front, matching);
    }
}

/// Gives arrays that are full more room: those of one kind may move before any of the other.
fn make_room(front: &mut mq_front, matching: &mut Matching) {
    let [receives, messages] = &mut matching.front_memory;
    if receives.grow(&mut front.receives) {
        receives.extend(&mut front.receives);
    }
    if messages.grow(&mut front.messages) {
        messages.extend(&mut front.messages);
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
        make_room(front, matching);
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
        make_room(front, matching);
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
    fn one_entry_makes_queues_long_and_few_come_alone_after_it() {
        for taken_by_each in [0, 1] {
            let (mut queued, mut left, mut operations) = (0, SINGLE_STEPS, 0);
            let mut were_long = false;
            while queued < 3 * LONG {
                let more = so_many(queued, &mut left);
                assert!((1..=SOME).contains(&more), "{more} into {queued}");
                if queued + more > LONG && !were_long {
                    were_long = true;
                    assert_eq!(queued + more, LONG + 1);
                    assert_eq!(left, SINGLE_STEPS - 1);
                }
                queued += more - taken_by_each;
                operations += 1;
            }
            assert_eq!(left, 0);
            assert!(operations < 3 * LONG / SOME + 10, "{operations}");
        }
    }
}
