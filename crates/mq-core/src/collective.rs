//! Collective calls, announced to structures that plan with them.

use crate::envelope::{ContextId, TrafficClass};

/// One call of a collective operation: the parameters that its queue behaviour depends on.
///
/// Libraries choose a collective's algorithm by message size and communicator size, and the
/// algorithm decides what the queues see (Ghazimirsaeed et al. 2019, §4.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct CollectiveCall {
    /// The communicator of the call.
    pub context: ContextId,
    /// The operation.
    pub operation: TrafficClass,
    /// The size range of its messages; see [`size_class`](Self::size_class).
    pub size_class: u8,
    /// The number of ranks of the communicator; 0 if unknown.
    pub communicator_size: u32,
}

impl CollectiveCall {
    /// A call that moves `bytes` bytes per message.
    pub fn new(
        context: impl Into<ContextId>,
        operation: TrafficClass,
        bytes: usize,
        communicator_size: u32,
    ) -> Self {
        Self {
            context: context.into(),
            operation,
            size_class: Self::size_class(bytes),
            communicator_size,
        }
    }

    /// The range of a message size: 0 for nothing, else one more than the binary logarithm.
    #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
    #[must_use]
    pub const fn size_class(bytes: usize) -> u8 {
        (usize::BITS - bytes.leading_zeros()) as u8
    }
}
