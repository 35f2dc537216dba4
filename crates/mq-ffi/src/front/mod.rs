//! The front of an engine: the first entries, kept where `mq_inline.h` finds them without a call.
//!
//! While everything queued fits here, the inline calls of `mq_inline.h` answer on the spot, in the
//! time that a caller's own list would take, and the match operations of the interface do the same
//! ([`steps`]). When it does not fit, and before operations that take entries by other means, the
//! entries move into the queues ([`settle`]). The front opens again when the queues are empty
//! ([`reopen`]), or some time after that if many had to move ([`Rest`]). The few receives that are
//! left when everything else has gone come back to it ([`standing`]), so a receive that stays posted
//! for long does not keep it closed.
//!
//! Receives and messages of all contexts are in one array each, in order and without gaps, every
//! entry with its context. Entries join at the end and leave anywhere, so an array is used from left
//! to right; what is left at its right end moves back to the left, and an array that runs empty
//! starts there again. What calls have to check about a context, its size and its promises, is kept
//! for [`MQ_FRONT_CONTEXTS`] of them; calls for others are answered behind the front.

mod array;
mod layout;
mod memory;
mod rest;
mod standing;
pub(crate) mod steps;

pub(crate) use self::array::Reach;
pub use self::layout::{
    MQ_FRONT_CONTEXTS, MQ_FRONT_LAYOUT, MQ_FRONT_SCAN, MQ_FRONT_SLOT, mq_front, mq_front_queue,
    mq_known, mq_parked,
};
pub(crate) use self::memory::Memory;
pub(crate) use self::rest::Rest;
pub(crate) use self::standing::MOST_BACK;

use core::ffi::c_int;

use mq_core::Entry;
use mq_core::mpi::{MpiEnvelope, MpiPattern};

use crate::allocator;
use crate::matching::{EntryOf, Matching, Message};
use crate::status::{MQ_ERR_ANY_SOURCE, MQ_ERR_ANY_TAG, MQ_ERR_RANK};
use crate::types::{
    MQ_ANY_SOURCE, MQ_ANY_TAG, MQ_NO_ANY_SOURCE, MQ_NO_ANY_TAG, mq_envelope, mq_pattern,
};

/// Gives the front of a new engine its memory.
pub(crate) fn furnish(front: &mut mq_front, matching: &mut Matching) {
    if matching.may_use_front() {
        matching.front_memory = [Memory::new(front.sequence), Memory::new(front.sequence)];
        front.receives = matching.front_memory[0].empty();
        front.messages = matching.front_memory[1].empty();
        matching.rest = Rest::from(front.sequence);
    }
}

/// An open front may yet be able to answer once it knows the context, or once it has room for one
/// more entry if the operation `queues`: whether anything of that was done.
pub(crate) fn prepare(
    front: &mut mq_front,
    matching: &mut Matching,
    context: u32,
    queues: bool,
) -> bool {
    if front.open == 0 {
        return false;
    }
    if front.known(context).is_none() {
        learn(front, matching, context);
        return front.known(context).is_some();
    }
    let [receives, messages] = &mut matching.front_memory;
    queues && receives.grow(&mut front.receives) | messages.grow(&mut front.messages)
}

/// Which array of an open front a search looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Searched {
    Receives,
    Messages,
}

/// Whether a search that found nothing among the first entries of an open front may look at all entries: far
/// entries are seldom wanted if queues are taken in order, for example if a program exchanges something
/// else, on another context, while many messages wait.
pub(crate) fn may_look_at_all(
    front: &mq_front,
    matching: &mut Matching,
    searched: Searched,
    has_wildcard: bool,
) -> bool {
    let [receives, messages] = &mut matching.front_memory;
    let (queue, memory) = match searched {
        Searched::Receives => (&front.receives, receives),
        Searched::Messages => (&front.messages, messages),
    };
    let entries = queue.len();
    front.open != 0
        && entries > MQ_FRONT_SCAN
        && memory.may_be_searched_far(entries, front.sequence, has_wildcard)
}

/// Moves the entries of the front, if it has any, into the queues and closes it. A closed front has
/// none, except while it is [hidden](hide).
#[inline(always)]
pub(crate) fn settle(front: &mut mq_front, matching: &mut Matching) {
    if !is_settled(front) && !front.is_empty() {
        move_in(front, matching);
    }
}

/// Whether the front is known to hold nothing.
#[inline(always)]
pub(crate) const fn is_settled(front: &mq_front) -> bool {
    front.open == 0
}

#[cold]
#[inline(never)]
fn move_in(front: &mut mq_front, matching: &mut Matching) {
    matching.rest.begin(front);
    front.open = 0;
    // Only an open front can have named entries, and it opens with empty queues: of the names given
    // before, only those of receives that came back are not stale.
    let mut aliases = core::mem::take(&mut matching.aliases);
    aliases.clear();
    for parked in front.receives.entries() {
        // What the header admitted is what the calls would have admitted: it made the same checks.
        let moved = pattern_of(&parked)
            .and_then(|pattern| matching.move_in_receive(pattern, parked.cookie));
        if let Ok(name) = moved {
            aliases.add_receive(parked.sequence, name);
        }
    }
    for parked in front.messages.entries() {
        let moved = envelope_of(&parked)
            .and_then(|envelope| matching.move_in_message(envelope, parked.care, parked.cookie));
        if let Ok(name) = moved {
            aliases.add_message(parked.sequence, name);
        }
    }
    matching.aliases = aliases;
    // What was refused up to here came from the system; the operation in progress asks for its own.
    allocator::has_refused();
    let [receives, messages] = &mut matching.front_memory;
    receives.renew(&mut front.receives);
    messages.renew(&mut front.messages);
    tell_what_is_behind(front, matching);
}

fn pattern_of(parked: &mq_parked) -> Result<MpiPattern, c_int> {
    let pattern = mq_pattern {
        context: parked.context(),
        source: parked.source(),
        tag: parked.tag_or_any(),
        ignore: 0,
        traffic_class: parked.traffic_class(),
    };
    pattern.read()
}

fn envelope_of(parked: &mq_parked) -> Result<MpiEnvelope, c_int> {
    envelope_in(parked).read()
}

const fn envelope_in(parked: &mq_parked) -> mq_envelope {
    mq_envelope {
        context: parked.context(),
        source: parked.source(),
        tag: parked.tag(),
        traffic_class: parked.traffic_class(),
    }
}

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
    if matching.may_use_front() && matching.begins() {
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
    } else if (1..=MOST_BACK.into()).contains(&staying)
        && unexpected == 0
        && matching.rest.lets_come_back()
    {
        standing::bring_back(front, matching);
    }
    tell(front, matching);
    if front.open != 0 {
        // Nothing queued was named before it moved, except what has come back.
        matching.aliases.forget();
    }
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
const fn tell_what_is_behind(front: &mut mq_front, matching: &Matching) {
    let (posted, unexpected) = matching.lengths();
    front.no_receives = state(posted == 0);
    front.no_messages = state(unexpected == 0);
}

/// A word of the state.
#[inline(always)]
const fn state(holds: bool) -> u32 {
    if holds { MQ_FRONT_LAYOUT } else { 0 }
}

#[cold]
fn learn(front: &mut mq_front, matching: &Matching, context: u32) {
    if let Some((last_rank, promises)) = matching.limits(context) {
        front.learn(mq_known {
            context,
            last_rank,
            promises,
        });
    }
}

/// A context is removed: what the front knows about it is void.
pub(crate) fn forget(front: &mut mq_front, context: u32) {
    front.forget(context);
}

/// Whether what is queued here could be queued in the context under other terms.
///
/// # Errors
/// `MQ_ERR_RANK`, `MQ_ERR_ANY_SOURCE` or `MQ_ERR_ANY_TAG`.
pub(crate) fn check(
    front: &mq_front,
    context: u32,
    last_rank: u32,
    promises: u32,
) -> Result<(), c_int> {
    let is_out =
        |entry: &mq_parked| entry.source() >= 0 && entry.source().cast_unsigned() > last_rank;
    for receive in front
        .receives
        .entries()
        .filter(|entry| entry.context() == context)
    {
        if is_out(&receive) {
            return Err(MQ_ERR_RANK);
        }
        if receive.source() == MQ_ANY_SOURCE && promises & MQ_NO_ANY_SOURCE != 0 {
            return Err(MQ_ERR_ANY_SOURCE);
        }
        if receive.tag_or_any() == MQ_ANY_TAG && promises & MQ_NO_ANY_TAG != 0 {
            return Err(MQ_ERR_ANY_TAG);
        }
    }
    let mut messages = front
        .messages
        .entries()
        .filter(|entry| entry.context() == context);
    match messages.any(|entry| is_out(&entry)) {
        true => Err(MQ_ERR_RANK),
        false => Ok(()),
    }
}

/// Whether everything queued is here, and nothing here belongs to the context.
pub(crate) fn is_all_there_is_and_lacks(front: &mq_front, context: u32) -> bool {
    let mut entries = front.receives.entries().chain(front.messages.entries());
    front.open != 0 && entries.all(|entry| entry.context() != context)
}

/// Shows every receive here, and then every message.
pub(crate) fn visit(front: &mq_front, visitor: &mut dyn FnMut(EntryOf<'_>)) {
    for parked in front.receives.entries() {
        if let Ok(pattern) = pattern_of(&parked) {
            visitor(Entry::Posted(pattern, &parked.cookie));
        }
    }
    for parked in front.messages.entries() {
        if let Ok(envelope) = envelope_of(&parked) {
            let message = Message {
                cookie: parked.cookie,
                bytes: parked.care,
            };
            visitor(Entry::Unexpected(envelope, &message));
        }
    }
}

/// Called before the caller's functions run: inline calls from them become real calls, which are
/// refused. What is queued here stays here.
pub(crate) const fn hide(front: &mut mq_front, matching: &Matching) {
    // In an engine with a lock they are 0 forever, and inline calls of other threads read them.
    if matching.may_use_front() {
        front.open = 0;
        front.no_receives = 0;
        front.no_messages = 0;
    }
}

/// The end of [`hide`].
pub(crate) const fn show(front: &mut mq_front, matching: &Matching) {
    if matching.may_use_front() {
        tell(front, matching);
    }
}
