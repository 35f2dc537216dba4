//! What an engine and its contexts are told when they are made.

use core::fmt;

use super::budget::Budget;
use crate::config::Tuning;
use crate::structures::Kind;

/// What an engine is told when it is made.
pub struct EngineOptions<M> {
    pub(crate) kind: Kind,
    pub(crate) tuning: Tuning,
    pub(crate) budget: Budget<M>,
    pub(crate) first_sequence: u64,
}

impl<M> EngineOptions<M> {
    /// The default structure, the papers' parameters, no limits.
    pub fn new() -> Self {
        Self {
            kind: Kind::default(),
            tuning: Tuning::default(),
            budget: Budget::UNLIMITED,
            first_sequence: 0,
        }
    }

    /// The structure of contexts that name none. Heeded by
    /// [`AnyQueues`](crate::structures::AnyQueues).
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Parameters of the structures.
    #[must_use]
    pub fn tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// Limits on unexpected messages.
    #[must_use]
    pub fn budget(mut self, budget: Budget<M>) -> Self {
        self.budget = budget;
        self
    }
}

impl<M> EngineOptions<M> {
    /// Numbers handles from here on: for a caller whose handles of one engine must be stale in the
    /// next.
    #[must_use]
    pub fn first_sequence(mut self, sequence: u64) -> Self {
        self.first_sequence = sequence;
        self
    }
}

impl<M> fmt::Debug for EngineOptions<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineOptions")
            .field("kind", &self.kind)
            .field("tuning", &self.tuning)
            .field("budget", &self.budget)
            .finish()
    }
}

impl<M> Default for EngineOptions<M> {
    fn default() -> Self {
        Self::new()
    }
}

/// What a context is told when it is made: its size, its promises (the info assertions of
/// MPI 4.1 §7.4.4), and its structure.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextOptions {
    pub(crate) size: Option<u32>,
    pub(crate) kind: Option<Kind>,
    pub(crate) no_any_source: bool,
    pub(crate) no_any_tag: bool,
    pub(crate) allow_overtaking: bool,
}

impl ContextOptions {
    /// Unknown size, no promises, the engine's structure.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of ranks that can send on this context: the group's size, or the remote group's
    /// for an intercommunicator. Ranks outside are refused; structures that plan by it need it.
    #[must_use]
    pub fn size(mut self, ranks: u32) -> Self {
        self.size = Some(ranks);
        self
    }

    /// A structure of its own. Heeded by [`AnyQueues`](crate::structures::AnyQueues).
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// `mpi_assert_no_any_source`: receives from any source are refused.
    #[must_use]
    pub fn no_any_source(mut self) -> Self {
        self.no_any_source = true;
        self
    }

    /// `mpi_assert_no_any_tag`: receives of any tag, masked ones included, are refused.
    #[must_use]
    pub fn no_any_tag(mut self) -> Self {
        self.no_any_tag = true;
        self
    }

    /// `mpi_assert_allow_overtaking`: matching need not follow the order of sending. A structure
    /// may use it; none of those here needs to.
    #[must_use]
    pub fn allow_overtaking(mut self) -> Self {
        self.allow_overtaking = true;
        self
    }
}
