//! The front of an engine: the first few entries, where `mq_inline.h` finds them without a call.
//!
//! While everything that is queued fits here, the inline calls of `mq_inline.h` answer on the spot, in
//! the time that a caller's own list would take. Any other call moves the entries into the queues
//! first ([`settle`]), but for those that only count. The front opens again when
//! the queues are empty ([`reopen`]).

use core::ffi::c_void;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::{Handle, MessageHandle};

use crate::matching::Matching;
use crate::types::{mq_envelope, mq_pattern};

/// How many receives, and how many messages, the front of an engine holds.
pub const MQ_FRONT_SIZE: usize = 4;

/// `mq_handle.slot` and `mq_message.slot` of an entry that was queued in the front.
pub const MQ_FRONT_SLOT: u32 = u32::MAX - 1;

/// An entry in the front of an engine. Not for callers: `mq_inline.h` uses it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_parked {
    /// As in `mq_pattern`.
    pub source: i32,
    /// As in `mq_pattern`; never masked.
    pub tag: i32,
    /// As in `mq_pattern`.
    pub traffic_class: u32,
    /// Unused.
    pub reserved: u32,
    /// What the entry's handle holds.
    pub sequence: u64,
    /// Of a message: what `mq_arrive` was told.
    pub bytes: u64,
    /// The caller's receive or message.
    pub cookie: *mut c_void,
}

/// The front of an engine, at its address. Not for callers: `mq_inline.h` uses it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_front {
    /// 1 if nothing is queued but here, and inline calls for `context` may be answered here.
    pub open: u32,
    /// The context that the entries are of, and for which empty queues can be told without a call.
    pub context: u32,
    /// The last rank of the context.
    pub last_rank: u32,
    /// The promises of the context, as in `mq_context_options`.
    pub promises: u32,
    /// How many receives are here.
    pub receives: u32,
    /// How many messages are here.
    pub messages: u32,
    /// Whether `last_rank` and `promises` are those of `context`.
    pub known: u32,
    /// How many receives are in the queues behind the front, of all contexts, if `known`.
    pub posted: u32,
    /// How many messages are in the queues behind the front, of all contexts, if `known`.
    pub unexpected: u32,
    /// Unused.
    pub reserved: u32,
    /// The sequence number of the next entry.
    pub sequence: u64,
    /// The receives, earliest first.
    pub receive: [mq_parked; MQ_FRONT_SIZE],
    /// The messages, earliest first.
    pub message: [mq_parked; MQ_FRONT_SIZE],
}

impl mq_front {
    const NOTHING: mq_parked = mq_parked {
        source: 0,
        tag: 0,
        traffic_class: 0,
        reserved: 0,
        sequence: 0,
        bytes: 0,
        cookie: core::ptr::null_mut(),
    };

    /// A front that leaves everything to the calls.
    pub(crate) const CLOSED: Self = Self {
        open: 0,
        context: 0,
        last_rank: 0,
        promises: 0,
        receives: 0,
        messages: 0,
        known: 0,
        posted: 0,
        unexpected: 0,
        reserved: 0,
        sequence: 0,
        receive: [Self::NOTHING; MQ_FRONT_SIZE],
        message: [Self::NOTHING; MQ_FRONT_SIZE],
    };
}

/// The names in the queues of entries that were named in the front.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    receives: [Option<(u64, Handle)>; MQ_FRONT_SIZE],
    messages: [Option<(u64, MessageHandle)>; MQ_FRONT_SIZE],
}

impl Aliases {
    /// The name in the queues that a caller's handle stands for.
    pub(crate) fn receive(&self, handle: Handle) -> Option<Handle> {
        if handle.slot() != MQ_FRONT_SLOT {
            return Some(handle);
        }
        let known = self.receives.iter().flatten();
        let mut of_sequence = known.filter(|(sequence, _)| *sequence == handle.sequence());
        of_sequence.next().map(|(_, name)| *name)
    }

    /// The same of a message.
    pub(crate) fn message(&self, message: MessageHandle) -> Option<MessageHandle> {
        let handle = message.name();
        if handle.slot() != MQ_FRONT_SLOT {
            return Some(message);
        }
        let known = self.messages.iter().flatten();
        let mut of_sequence = known.filter(|(sequence, _)| *sequence == handle.sequence());
        of_sequence.next().map(|(_, name)| *name)
    }
}

/// Moves the entries of the front into the queues and closes it.
#[inline]
pub(crate) fn settle(front: &mut mq_front, matching: &mut Matching) {
    if front.open != 0 {
        front.open = 0;
        if front.receives + front.messages > 0 {
            move_in(front, matching);
        }
    }
}

/// Before an operation on `context`: closes the front. True if it knows the context and had nothing in
/// it, so that [`tell`] is all that is left to do afterwards; else [`reopen`] is.
#[inline(always)]
pub(crate) fn prepare(front: &mut mq_front, matching: &mut Matching, context: u32) -> bool {
    if front.known != 0 && front.context == context && front.receives + front.messages == 0 {
        front.open = 0;
        return true;
    }
    settle(front, matching);
    false
}

#[cold]
#[inline(never)]
fn move_in(front: &mut mq_front, matching: &mut Matching) {
    // Only an open front can have named entries, and it opens with empty queues: the names given
    // before are all stale.
    let mut aliases = Aliases::default();
    let context = front.context;
    let parked = &front.receive[..front.receives as usize];
    for (parked, alias) in parked.iter().zip(&mut aliases.receives) {
        // What the header let in is what the calls would have: it made the same checks.
        *alias = pattern_of(context, parked)
            .and_then(|pattern| matching.move_in_receive(pattern, parked.cookie))
            .ok()
            .map(|handle| (parked.sequence, handle));
    }
    let parked = &front.message[..front.messages as usize];
    for (parked, alias) in parked.iter().zip(&mut aliases.messages) {
        *alias = envelope_of(context, parked)
            .and_then(|envelope| matching.move_in_message(envelope, parked.bytes, parked.cookie))
            .ok()
            .map(|name| (parked.sequence, name));
    }
    front.receives = 0;
    front.messages = 0;
    matching.aliases = aliases;
    (front.posted, front.unexpected) = matching.lengths();
}

fn pattern_of(context: u32, parked: &mq_parked) -> Result<MpiPattern, core::ffi::c_int> {
    let pattern = mq_pattern {
        context,
        source: parked.source,
        tag: parked.tag,
        ignore: 0,
        traffic_class: parked.traffic_class,
    };
    pattern.read()
}

fn envelope_of(context: u32, parked: &mq_parked) -> Result<MpiEnvelope, core::ffi::c_int> {
    let envelope = mq_envelope {
        context,
        source: parked.source,
        tag: parked.tag,
        traffic_class: parked.traffic_class,
    };
    envelope.read()
}

/// After an operation on `context`: tells the front what is behind it, and opens it if that is nothing.
#[cold]
#[inline(never)]
pub(crate) fn reopen(front: &mut mq_front, matching: &Matching, context: u32) {
    if matching.may_use_front() {
        if front.known == 0 || front.context != context {
            learn(front, matching, context);
        }
        tell(front, matching);
        front.open &= u32::from(front.known != 0);
    }
}

/// The end of [`reopen`], for a front that knows the context.
#[inline(always)]
pub(crate) const fn tell(front: &mut mq_front, matching: &Matching) {
    let (posted, unexpected) = matching.lengths();
    front.posted = posted;
    front.unexpected = unexpected;
    front.open = (posted | unexpected == 0) as u32;
}

#[cold]
fn learn(front: &mut mq_front, matching: &Matching, context: u32) {
    if let Some((last_rank, promises)) = matching.limits(context) {
        front.context = context;
        front.last_rank = last_rank;
        front.promises = promises;
        front.known = 1;
    }
}

/// Contexts or queues change in some other way than by operations: what the front knows is void.
pub(crate) fn forget(front: &mut mq_front) {
    front.open = 0;
    front.known = 0;
}

/// A closed front whose entries are numbered from `sequence`.
pub(crate) const fn numbered_from(sequence: u64) -> mq_front {
    mq_front {
        sequence,
        ..mq_front::CLOSED
    }
}
