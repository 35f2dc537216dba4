//! Handles of queued entries. A handle may safely outlive its entry.

use core::fmt;

use crate::envelope::ContextId;

/// Identifies one queued receive.
///
/// The sequence number is never given twice in a context, not even when the context is freed and
/// created again. A handle kept after its receive was matched, cancelled or purged therefore names
/// nothing, and operations report the receive as gone.
///
/// A handle belongs to the engine that gave it. Engines number alike: in another engine it may name
/// one of that engine's receives, unless their numbers are kept apart
/// ([`EngineOptions::first_sequence`](crate::EngineOptions::first_sequence)).
///
/// Handles are ordered so that they can be keys; the order has no other meaning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle {
    sequence: u64,
    slot: u32,
    context: ContextId,
}

impl Handle {
    /// The handle of the entry with number `sequence` in storage slot `slot`. For authors of structures.
    #[inline(always)]
    #[must_use]
    pub const fn new(context: ContextId, slot: u32, sequence: u64) -> Self {
        Self {
            sequence,
            slot,
            context,
        }
    }

    /// The communicator the receive was posted on.
    #[inline(always)]
    #[must_use]
    pub const fn context(self) -> ContextId {
        self.context
    }

    /// The storage slot. Only the structure that made the handle can use it.
    #[inline(always)]
    #[must_use]
    pub const fn slot(self) -> u32 {
        self.slot
    }

    /// The receive's number. Of two numbers given by the same object of a structure, the greater belongs to
    /// the younger receive. In a divided context of a `SharedEngine`, the upper bits name the shard.
    #[inline(always)]
    #[must_use]
    pub const fn sequence(self) -> u64 {
        self.sequence
    }
}

/// Identifies one unexpected message, from [`MatchQueues::find`](crate::MatchQueues::find),
/// [`visit`](crate::MatchQueues::visit) or [`queue_message`](crate::MatchQueues::queue_message). It is as safe to keep
/// as a [`Handle`], but does not name a receive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageHandle(Handle);

impl MessageHandle {
    /// The handle of a message, from a [`Handle`] within the unexpected queue. For authors of structures.
    #[inline(always)]
    #[must_use]
    pub const fn new(handle: Handle) -> Self {
        Self(handle)
    }

    /// The context that the message came in.
    #[inline(always)]
    #[must_use]
    pub const fn context(self) -> ContextId {
        self.0.context()
    }

    /// The storage slot. Only the structure that made the handle can use it.
    #[inline(always)]
    #[must_use]
    pub const fn slot(self) -> u32 {
        self.0.slot()
    }

    /// The message's number within its queue, as [`Handle::sequence`] for receives.
    #[inline(always)]
    #[must_use]
    pub const fn sequence(self) -> u64 {
        self.0.sequence()
    }

    /// The handle within the unexpected queue. The posted queue numbers its entries alike: there it may
    /// name a receive.
    #[inline(always)]
    pub(crate) const fn handle(self) -> Handle {
        self.0
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sequence,
            slot,
            context,
        } = self;
        write!(
            f,
            "Handle(context {context}, slot {slot}, number {sequence})"
        )
    }
}
