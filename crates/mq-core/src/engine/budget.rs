//! Limits on unexpected messages, and high-water marks below them.

use core::fmt;

/// Limits on unexpected messages: over all contexts of an engine, and for each source of a context.
///
/// Past a limit, [`Engine::arrive`](super::Engine::arrive) still matches posted receives, and hands
/// any other message back as refused. A limit per source keeps room for other senders when one sender
/// floods the engine. A caller that keeps a refused message, to try again later, must also keep what the same source
/// sends after it: the engine would queue a shorter one that fits, but MPI's messages of one source do not overtake
/// each other.
///
/// # Cost
/// Without limits, at most one predicted branch per operation. Limits of the engine take two counters; limits
/// per source take tables with an entry for every source that has messages queued: of 65,536, one operation moves some
/// 500 at most, when a table grows or shrinks.
///
/// # Example
/// ```
/// use mq_core::mpi::{MpiEnvelope, MpiPattern};
/// use mq_core::structures::Indexed;
/// use mq_core::{Budget, ContextId, ContextOptions, Engine, EngineOptions, Error, Rank};
///
/// let budget = Budget::UNLIMITED.entries(1_000).entries_per_source(1);
/// let options = EngineOptions::new().budget(budget);
/// let mut engine: Engine<Indexed<MpiPattern, u64, &str>> = Engine::with_options(options);
/// engine.create_context(0, ContextOptions::new())?;
///
/// let _ = engine.arrive(MpiEnvelope::new(0, 1, 5), "first of rank 1")?;
/// let refused = engine.arrive(MpiEnvelope::new(0, 1, 5), "second").unwrap_err();
/// let (context, rank) = (ContextId(0), Rank(1));
/// assert_eq!(refused.error, Error::SourceEntryBudget { context, rank, limit: 1 });
/// let _ = engine.arrive(MpiEnvelope::new(0, 2, 5), "first of rank 2")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Budget<M> {
    pub(super) entries: usize,
    pub(super) bytes: u64,
    pub(super) source_entries: usize,
    pub(super) source_bytes: u64,
    pub(super) weigh: Option<fn(&M) -> u64>,
}

impl<M> Budget<M> {
    /// No limit but memory.
    pub const UNLIMITED: Self = Self {
        entries: usize::MAX,
        bytes: u64::MAX,
        source_entries: usize::MAX,
        source_bytes: u64::MAX,
        weigh: None,
    };

    /// Limits the number of unexpected messages.
    #[must_use]
    pub const fn entries(mut self, limit: usize) -> Self {
        self.entries = limit;
        self
    }

    /// Limits the total weight of the unexpected messages. `weigh` gives the weight of one, usually
    /// the bytes that it pins. It must return the same for a message that leaves as when it came, and must
    /// not panic: the message could be lost. A `SharedEngine` calls it with locks
    /// held, so it must not use the engine.
    #[must_use]
    pub const fn bytes(mut self, limit: u64, weigh: fn(&M) -> u64) -> Self {
        self.bytes = limit;
        self.weigh = Some(weigh);
        self
    }

    /// Limits the number of unexpected messages from each source of each context.
    #[must_use]
    pub const fn entries_per_source(mut self, limit: usize) -> Self {
        self.source_entries = limit;
        self
    }

    /// Limits the total weight of the unexpected messages from each source of each context. Both byte
    /// limits use the same `weigh`: the one given last.
    #[must_use]
    pub const fn bytes_per_source(mut self, limit: u64, weigh: fn(&M) -> u64) -> Self {
        self.source_bytes = limit;
        self.weigh = Some(weigh);
        self
    }

    pub(super) const fn is_limited(&self) -> bool {
        self.entries != usize::MAX || self.weigh.is_some() || self.limits_sources()
    }

    pub(super) const fn limits_sources(&self) -> bool {
        self.source_entries != usize::MAX || self.source_bytes != u64::MAX
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
            .field("source_entries", &self.source_entries)
            .field("source_bytes", &self.source_bytes)
            .finish_non_exhaustive()
    }
}

/// Unexpected messages, and their total weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Used {
    /// Messages.
    pub entries: usize,
    /// Their weight by [`Budget::bytes`]; 0 if nothing weighs them.
    pub bytes: u64,
}

/// High-water marks on the unexpected messages of an engine: reaching one triggers a call.
///
/// The call comes once, when the use reaches a high mark; the next comes only after the use has fallen
/// to all low marks. A message that is refused reaches no mark: where messages are large compared with the budget,
/// treat a refusal like a mark that is reached.
///
/// Passed to [`EngineOptions::high_water`](super::EngineOptions::high_water).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HighWater {
    high: Used,
    low: Used,
}

impl HighWater {
    /// Marks that are never reached.
    pub const NEVER: Self = {
        let out_of_reach = Used {
            entries: usize::MAX,
            bytes: u64::MAX,
        };
        Self {
            high: out_of_reach,
            low: out_of_reach,
        }
    };

    /// Marks in messages. `high` is at least 1, and `low` below it; a `high` of `usize::MAX` is never reached, and has
    /// no low mark.
    #[must_use]
    pub const fn entries(mut self, high: usize, low: usize) -> Self {
        let high = if high == 0 { 1 } else { high };
        self.high.entries = high;
        self.low.entries = match high {
            usize::MAX => Self::NEVER.low.entries,
            _ if low < high => low,
            _ => high - 1,
        };
        self
    }

    /// Marks in bytes, by the `weigh` of [`Budget::bytes`]: without that they are never reached, as messages weigh
    /// nothing then. For marks without a limit, set the limit to `u64::MAX`. `high` is at least 1, and `low` below it;
    /// a `high` of `u64::MAX` is never reached, and has no low mark.
    #[must_use]
    pub const fn bytes(mut self, high: u64, low: u64) -> Self {
        let high = if high == 0 { 1 } else { high };
        self.high.bytes = high;
        self.low.bytes = match high {
            u64::MAX => Self::NEVER.low.bytes,
            _ if low < high => low,
            _ => high - 1,
        };
        self
    }

    /// Marks in percent of the limits that `budget` puts on the engine, such as 80 and 50.
    #[must_use]
    pub const fn share_of<M>(budget: &Budget<M>, high: u8, low: u8) -> Self {
        let mut marks = Self::NEVER;
        if budget.entries != usize::MAX {
            let limit = budget.entries as u64;
            let high = percent(limit, high) as usize;
            marks = marks.entries(high, percent(limit, low) as usize);
        }
        if budget.bytes != u64::MAX {
            marks = marks.bytes(percent(budget.bytes, high), percent(budget.bytes, low));
        }
        marks
    }

    pub(super) const fn is_reached(&self, used: Used) -> bool {
        let bytes = self.high.bytes != u64::MAX && used.bytes >= self.high.bytes;
        used.entries >= self.high.entries || bytes
    }

    pub(super) const fn is_left(&self, used: Used) -> bool {
        used.entries <= self.low.entries && used.bytes <= self.low.bytes
    }
}

/// A share of a limit, and never more than all of it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "at most the limit, which fits"
)]
const fn percent(limit: u64, share: u8) -> u64 {
    let share = if share > 100 { 100 } else { share };
    (limit as u128 * share as u128 / 100) as u64
}
