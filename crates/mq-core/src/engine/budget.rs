//! Limits on unexpected messages, and what is used of them.

use core::fmt;

use crate::error::Error;

/// Limits on unexpected messages, over all contexts of an engine.
///
/// Past a limit, [`Engine::arrive`](super::Engine::arrive) still matches posted receives, and hands
/// any other message back as refused.
pub struct Budget<M> {
    entries: usize,
    bytes: u64,
    weigh: Option<fn(&M) -> u64>,
}

impl<M> Budget<M> {
    /// No limit but memory.
    pub const UNLIMITED: Self = Self {
        entries: usize::MAX,
        bytes: u64::MAX,
        weigh: None,
    };

    /// Limits the number of unexpected messages.
    #[must_use]
    pub const fn entries(mut self, limit: usize) -> Self {
        self.entries = limit;
        self
    }

    /// Limits the sum of what `weigh` says of the unexpected messages, usually the bytes that each
    /// pins. `weigh` must say the same of a message when it leaves as when it came.
    #[must_use]
    pub const fn bytes(mut self, limit: u64, weigh: fn(&M) -> u64) -> Self {
        self.bytes = limit;
        self.weigh = Some(weigh);
        self
    }

    pub(super) const fn is_limited(&self) -> bool {
        self.entries != usize::MAX || self.weigh.is_some()
    }
}

impl<M> Default for Budget<M> {
    fn default() -> Self {
        Self::UNLIMITED
    }
}

impl<M> Clone for Budget<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Budget<M> {}

impl<M> fmt::Debug for Budget<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("entries", &self.entries)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// What the unexpected messages use of the budget; kept only when there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    pub(super) entries: usize,
    pub(super) bytes: u64,
}

impl Used {
    /// What a message weighs, if there is room for it.
    pub(super) fn room_for<M>(&self, budget: &Budget<M>, message: &M) -> Result<u64, Error> {
        if self.entries >= budget.entries {
            let limit = budget.entries;
            return Err(Error::EntryBudget { limit });
        }
        let wanted = budget.weigh.map_or(0, |weigh| weigh(message));
        if wanted > budget.bytes.saturating_sub(self.bytes) {
            return Err(Error::ByteBudget {
                limit: budget.bytes,
                used: self.bytes,
                wanted,
            });
        }
        Ok(wanted)
    }

    /// A message of weight `bytes` was queued.
    pub(super) fn take(&mut self, bytes: u64) {
        self.entries += 1;
        self.bytes += bytes;
    }

    /// A message has left.
    pub(super) fn release<M>(&mut self, budget: &Budget<M>, message: &M) {
        // Saturating, for a `weigh` that does not say the same twice.
        self.entries = self.entries.saturating_sub(1);
        let weight = budget.weigh.map_or(0, |weigh| weigh(message));
        self.bytes = self.bytes.saturating_sub(weight);
    }
}
