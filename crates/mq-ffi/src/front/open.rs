//! When a front is open, and what it knows of the queues behind it.

use super::layout::{MOVING, MQ_FRONT_LAYOUT, mq_front};
use super::standing::{self, MOST_BACK};
use super::terms::learn;
use crate::matching::Matching;

/// After an operation on `context`, before which the queues were this long: updates what the front
/// knows of the queues behind it, and opens it if they are empty.
pub(crate) fn reopen(
    front: &mut mq_front,
    matching: &mut Matching,
    context: u32,
    before: (u32, u32),
) {
    if matching.may_use_front() {
        if front.known(context).is_none() {
            learn(front, matching, context);
        }
        let (begins, has_left) = matching.compare(before);
        if begins {
            matching.rest.count();
        }
        let staying = if has_left { matching.lengths().0 } else { 0 };
        look_behind(front, matching, staying);
    }
}

/// A step of [`plain`](crate::plain) has taken the last receive out, or the last message:
/// [`reopen`], for an engine that may have no front.
#[cold]
#[inline(never)]
pub(crate) fn emptied(front: &mut mq_front, matching: &mut Matching) {
    if matching.may_use_front() {
        look_behind(front, matching, matching.lengths().0);
    }
}

/// A step of [`plain`](crate::plain) has queued one of few receives, or the first message. If others
/// have left since one was last queued, the receives other than the one just queued are ones that stay.
#[cold]
#[inline(never)]
pub(crate) fn filled(front: &mut mq_front, matching: &mut Matching) {
    if matching.may_use_front() && matching.note_few() {
        matching.rest.count();
        look_behind(front, matching, matching.lengths().0.saturating_sub(1));
    }
}

/// Updates what the front knows of the queues behind it, and opens it if they are empty or hold only
/// receives of which this many stay for longer than others: it takes a few back.
fn look_behind(front: &mut mq_front, matching: &mut Matching, staying: u32) {
    let (posted, unexpected) = matching.lengths();
    if (posted, unexpected) == (0, 0) {
        matching.rest.emptied();
        // Whatever was named before it moved has left.
        matching.aliases.forget();
        // So has what owed memory.
        matching.begin_anew();
        if matching.rest.is_on() && front.is_empty() {
            let [receives, messages] = &mut matching.front_memory;
            receives.shrink(&mut front.receives);
            messages.shrink(&mut front.messages);
        }
    } else if (1..=MOST_BACK.into()).contains(&staying)
        && unexpected == 0
        && matching.rest.lets_come_back()
    {
        standing::bring_back(front, matching);
    }
    tell(front, matching);
}

const fn tell(front: &mut mq_front, matching: &Matching) {
    tell_what_is_behind(front, matching);
    front.open = if matching.rest.is_on() {
        0
    } else {
        front.no_receives & front.no_messages
    };
}

#[inline(always)]
pub(super) const fn tell_what_is_behind(front: &mut mq_front, matching: &Matching) {
    let (posted, unexpected) = matching.lengths();
    front.no_receives = state(posted == 0);
    front.no_messages = state(unexpected == 0);
}

/// A word of the state.
#[inline(always)]
const fn state(holds: bool) -> u32 {
    if holds { MQ_FRONT_LAYOUT } else { 0 }
}

/// Called before the caller's functions run: inline calls from them become real calls, which are
/// refused. What is queued here stays here. Returns whether entries are [moving](super::moving), for [`show`].
pub(crate) const fn hide(front: &mut mq_front, matching: &Matching) -> bool {
    let is_moving = front.open == MOVING;
    // In an engine with a lock they are 0 forever, and inline calls of other threads read them.
    if matching.may_use_front() {
        front.open = 0;
        front.no_receives = 0;
        front.no_messages = 0;
    }
    is_moving
}

/// The end of [`hide`].
pub(crate) const fn show(front: &mut mq_front, matching: &Matching, is_moving: bool) {
    if is_moving {
        front.open = MOVING;
    } else if matching.may_use_front() {
        tell(front, matching);
    }
}
