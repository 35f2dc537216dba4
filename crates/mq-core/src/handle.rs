//! Handles: names of queued entries that outlive them harmlessly.

use core::fmt;

use crate::envelope::ContextId;

/// The name of one queued receive.
///
/// The sequence number is never given twice in a context, not even when the context is freed and
/// created again, so a handle kept after its receive was matched, cancelled or purged names
/// nothing: using it is an ordinary "gone".
///
/// It belongs to the engine that gave it: engines number alike, and in another one it may name
/// another's receive, unless their numbers are kept apart
/// ([`EngineOptions::first_sequence`](crate::EngineOptions::first_sequence)).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle {
    sequence: u64,
    slot: u32,
    context: ContextId,
}

impl Handle {
    /// Names the entry with number `sequence` in storage slot `slot`. For authors of structures.
    #[inline(always)]
    pub const fn new(context: ContextId, slot: u32, sequence: u64) -> Self {
        Self {
            sequence,
            slot,
            context,
        }
    }

    /// The communicator the receive was posted on.
    #[inline(always)]
    pub const fn context(self) -> ContextId {
        self.context
    }

    /// The storage slot. Only the structure that made the handle can use it.
    #[inline(always)]
    pub const fn slot(self) -> u32 {
        self.slot
    }

    /// The number of the receive: the greater of two is the younger, if one object of a structure has
    /// given both. In a context of a `SharedEngine` that is divided, the upper bits say in which shard
    /// it is.
    #[inline(always)]
    pub const fn sequence(self) -> u64 {
        self.sequence
    }
}

/// The name of one unexpected message, from [`MatchQueues::find`](crate::MatchQueues::find) or
/// [`queue_message`](crate::MatchQueues::queue_message); as lasting as a [`Handle`], and no name of a
/// receive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MessageHandle(Handle);

impl MessageHandle {
    /// Names the message that a [`Handle`] of the unexpected queue would. For authors of
    /// structures.
    #[inline(always)]
    pub const fn new(name: Handle) -> Self {
        Self(name)
    }

    /// The context that the message came in.
    #[inline(always)]
    pub const fn context(self) -> ContextId {
        self.0.context()
    }

    /// The storage slot. Only the structure that made the handle can use it.
    #[inline(always)]
    pub const fn slot(self) -> u32 {
        self.0.slot()
    }

    /// The number of the message among those of its queue, as [`Handle::sequence`] among receives.
    #[inline(always)]
    pub const fn sequence(self) -> u64 {
        self.0.sequence()
    }

    /// The name within the unexpected queue, which numbers its entries as the posted queue does: there
    /// it may name a receive.
    #[inline(always)]
    pub(crate) const fn name(self) -> Handle {
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
