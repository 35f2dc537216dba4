//! The entries of a front: moved into the queues, or shown where they are.

use core::ffi::c_int;

use mq_core::Entry;
use mq_core::mpi::{MpiEnvelope, MpiPattern};

use super::layout::{mq_front, mq_parked};
use super::open::tell_what_is_behind;
use crate::allocator;
use crate::matching::{EntryOf, Matching, Message};
use crate::types::{mq_envelope, mq_pattern};

/// Moves the entries of the front, if it has any, into the queues and closes it. A closed front has
/// none, except while it is [hidden](super::hide).
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

pub(super) const fn envelope_in(parked: &mq_parked) -> mq_envelope {
    mq_envelope {
        context: parked.context(),
        source: parked.source(),
        tag: parked.tag(),
        traffic_class: parked.traffic_class(),
    }
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
