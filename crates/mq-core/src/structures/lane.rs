//! Lanes: the posted and the unexpected list of senders that share them.

use crate::fifo::Fifo;

/// The number of a lane within its structure.
pub type LaneId = u32;

/// Both queues of the senders that a structure keeps together.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// Posted receives, earliest first.
    pub posted: Fifo,
    /// Unexpected messages, earliest first.
    pub unexpected: Fifo,
}

impl Lane {
    /// Nothing queued.
    pub const EMPTY: Self = Self {
        posted: Fifo::EMPTY,
        unexpected: Fifo::EMPTY,
    };

    /// Whether both queues are empty.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.posted.is_empty() && self.unexpected.is_empty()
    }
}
