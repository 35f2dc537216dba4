//! The entries of a front: moved into the queues, or shown where they are.

use core::ffi::c_int;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::{ContextId, Handle, MessageHandle};

use super::layout::{MOVING, MQ_FRONT_SLOT, mq_front, mq_front_queue, mq_parked};
use super::moving::newcomers;
use super::open::tell_what_is_behind;
use crate::matching::{Matching, Message};
use crate::shown::Shown;
use crate::types::{mq_envelope, mq_pattern};

/// A call moves so many entries, or all if they are no more, which takes some microseconds. Those that stay are
/// searched one by one by each call until they have moved, so that fewer at a time would cost more.
pub(super) const SOME: usize = 128;

/// Moves the entries of the front, if it has any, into the queues and closes it. A closed front has
/// none, except while it is [hidden](super::hide).
#[inline(always)]
pub(crate) fn settle(front: &mut mq_front, matching: &mut Matching) {
    if !is_settled(front) && !front.is_empty() {
        move_in(front, matching, usize::MAX);
    }
}

/// Whether the front is known to hold nothing.
#[inline(always)]
pub(crate) const fn is_settled(front: &mq_front) -> bool {
    front.open == 0
}

/// Moves the first of the front's entries into the queues, at most so many; receives before messages. Those that
/// are behind the front are always earlier than those in it.
#[cold]
#[inline(never)]
pub(super) fn move_in(front: &mut mq_front, matching: &mut Matching, most: usize) {
    if front.open != MOVING {
        begin(front, matching);
    }
    let mut left = most;
    let mut aliases = core::mem::take(&mut matching.aliases);
    while left > 0
        && let Some(parked) = front.receives.pop()
    {
        left -= 1;
        // What the header admitted is what the calls would have admitted: it made the same checks.
        let moved = pattern_of(&parked)
            .and_then(|pattern| matching.move_in_receive(pattern, parked.cookie));
        if let Ok(name) = moved {
            aliases.add_receive(parked.sequence, name);
        }
    }
    while left > 0
        && let Some(parked) = front.messages.pop()
    {
        left -= 1;
        let moved = envelope_of(&parked)
            .and_then(|envelope| matching.move_in_message(envelope, parked.care, parked.cookie));
        if let Ok(name) = moved {
            aliases.add_message(parked.sequence, name);
        }
    }
    matching.aliases = aliases;
    // What was refused up to here came from the system.
    matching.owe_refusals();
    end_if_empty(front, matching);
}

/// If entries are moving, moves the rest.
#[inline(always)]
pub(crate) fn end_moving(front: &mut mq_front, matching: &mut Matching) {
    if front.open == MOVING {
        move_in(front, matching, usize::MAX);
    }
}

/// The entries begin to move.
fn begin(front: &mut mq_front, matching: &mut Matching) {
    matching.rest.begin(front);
    // Only an open front can have named entries, and it opens with empty queues: of the names given
    // before, only those of receives that came back are not stale.
    matching.aliases.clear();
    // Those of a kind of which there are none in the front are queued where they stay.
    let will_move = |array: &mq_front_queue| match array.len() {
        0 => 0,
        queued => queued + newcomers(queued),
    };
    let (receives, messages) = (will_move(&front.receives), will_move(&front.messages));
    matching.aliases.reserve(receives, messages);
    front.open = MOVING;
    front.no_receives = 0;
    front.no_messages = 0;
    let [receives, messages] = &matching.front_memory;
    receives.extend(&mut front.receives);
    messages.extend(&mut front.messages);
}

/// If all entries have moved, or have left, closes the front.
pub(super) fn end_if_empty(front: &mut mq_front, matching: &mut Matching) {
    if front.is_empty() {
        let [receives, messages] = &mut matching.front_memory;
        receives.renew(&mut front.receives);
        messages.renew(&mut front.messages);
        front.open = 0;
        tell_what_is_behind(front, matching);
    }
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

pub(super) const fn envelope_in(parked: &mq_parked) -> mq_envelope {
    mq_envelope {
        context: parked.context(),
        source: parked.source(),
        tag: parked.tag(),
        traffic_class: parked.traffic_class(),
    }
}

fn name_of(parked: &mq_parked) -> Handle {
    Handle::new(ContextId(parked.context()), MQ_FRONT_SLOT, parked.sequence)
}

/// Shows every receive here, and then every message.
pub(crate) fn visit(front: &mq_front, visitor: &mut dyn FnMut(Shown)) {
    for parked in front.receives.entries() {
        if let Ok(pattern) = pattern_of(&parked) {
            visitor(Shown::Posted(name_of(&parked), pattern, parked.cookie));
        }
    }
    for parked in front.messages.entries() {
        if let Ok(envelope) = envelope_of(&parked) {
            let name = MessageHandle::new(name_of(&parked));
            let message = Message {
                cookie: parked.cookie,
                bytes: parked.care,
            };
            visitor(Shown::Unexpected(name, envelope, message));
        }
    }
}
