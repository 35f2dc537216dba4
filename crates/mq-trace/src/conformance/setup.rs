//! [`Setup`]: the settings under which structures are compared.

use std::sync::Arc;

use mq_core::config::Clusters;
use mq_core::structures::Kind;
use mq_core::{ContextId, HighWater, Rank, Tuning};

use super::{CONTEXTS, RANKS};

/// The settings under which structures are compared.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// Parameters of the structures.
    pub tuning: Tuning,
    /// The structure of each context of an engine in which structures are chosen at run time; `None`: each has
    /// another. When it is freed and created anew, it has in turn one that no other has, and one that another has.
    pub kind: Option<Kind>,
    /// The communicator size given to structures.
    pub size: Option<u32>,
    /// Budget of unexpected messages, for comparisons through an engine.
    pub entry_budget: Option<usize>,
    /// Budget of bytes; message `n` weighs `n % 7` bytes.
    pub byte_budget: Option<u64>,
    /// Budget of unexpected messages from each source.
    pub source_entry_budget: Option<usize>,
    /// Budget of bytes in unexpected messages from each source.
    pub source_byte_budget: Option<u64>,
    /// High-water marks, for comparisons through an engine: high and low, in messages.
    pub marks: Option<(usize, usize)>,
    /// The shards of a divided context of a shared engine.
    pub shards: usize,
}

impl Setup {
    /// The same setup with a change: `Setup::small().with(|s| s.size = None)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The papers' parameters.
    #[must_use]
    pub fn published() -> Self {
        Self {
            tuning: Tuning::default(),
            kind: None,
            size: Some(RANKS),
            entry_budget: None,
            byte_budget: None,
            source_entry_budget: None,
            source_byte_budget: None,
            marks: None,
            shards: 4,
        }
    }

    /// Parameters small enough for short sequences to reach every change of form: within a few entries,
    /// lists become bins, and partners, levels and groups appear.
    #[must_use]
    pub fn small() -> Self {
        let groups = (0..CONTEXTS).flat_map(|context| {
            (0..RANKS / 2).map(move |rank| ((ContextId(context), Rank(rank)), rank % 3))
        });
        let mut small = Self::published();
        let tuning = &mut small.tuning;
        tuning.scan_limit = 2;
        tuning.short_limit = 6;
        // A difference from the oracle is reproducible.
        tuning.hash_seed = Some(0x5a3c_96e4);
        tuning.adjustment = 1.0;
        tuning.bins = 4;
        tuning.adaptive_search = 2;
        tuning.partner_threshold = 3;
        tuning.point_to_point_k = 1.0;
        tuning.collective_k = 1.5;
        tuning.clusters = Some(Arc::new(Clusters::new(groups)));
        small
    }

    /// A [small](Self::small) setup whose queues of any length stay in their windows, where `indexed` has tables.
    #[must_use]
    pub fn small_in_windows() -> Self {
        let mut small = Self::small();
        small.tuning.short_limit = Tuning::default().short_limit;
        small
    }

    /// A small setup with a size smaller than most of the ranks used: the ranks outside share what others have
    /// to themselves. Not for comparisons through an engine, which refuses such ranks.
    #[must_use]
    pub fn small_and_told_too_little() -> Self {
        Self {
            size: Some(8),
            ..Self::small()
        }
    }

    /// The setup that a byte chooses for the fuzz target `operations`, and for the test that replays its
    /// corpus; and whether to go through an engine.
    #[must_use]
    pub fn chosen(choice: u8) -> (Self, bool) {
        let has_engine = choice & 128 != 0;
        let setup = match (choice & 64 != 0, choice & 32 != 0) {
            (true, true) => Self::published(),
            (true, false) => Self::small_in_windows(),
            (false, true) if !has_engine => Self::small_and_told_too_little(),
            (false, _) => Self::small(),
        };
        let setup = setup.hashed_from(1 + u32::from(choice));
        let is_limited = has_engine && choice & 16 == 0;
        let setup = match is_limited {
            true => setup
                .with_budgets(12, 40)
                .with_source_budgets(4, 12)
                .with_marks(8, 3),
            false => setup,
        };
        (setup, has_engine)
    }

    /// This setup for engines, which refuse ranks beyond the size of a context.
    #[must_use]
    pub fn of_all_ranks(mut self) -> Self {
        self.size = self.size.map(|size| size.max(RANKS));
        self
    }

    /// This setup with another hash seed.
    #[must_use]
    pub const fn hashed_from(mut self, seed: u32) -> Self {
        self.tuning.hash_seed = Some(seed);
        self
    }

    /// This setup with budgets.
    #[must_use]
    pub fn with_budgets(mut self, entries: usize, bytes: u64) -> Self {
        self.entry_budget = Some(entries);
        self.byte_budget = Some(bytes);
        self
    }

    /// This setup with budgets for each source.
    #[must_use]
    pub fn with_source_budgets(mut self, entries: usize, bytes: u64) -> Self {
        self.source_entry_budget = Some(entries);
        self.source_byte_budget = Some(bytes);
        self
    }

    /// This setup with a high and a low water mark.
    #[must_use]
    pub fn with_marks(mut self, high: usize, low: usize) -> Self {
        self.marks = Some((high, low));
        self
    }

    /// This setup with this structure in all contexts, if it is chosen at run time.
    #[must_use]
    pub const fn of_kind(mut self, kind: Option<Kind>) -> Self {
        self.kind = kind;
        self
    }

    pub(super) fn kind_of_context(&self, made: usize) -> Kind {
        let joins = made > CONTEXTS as usize && !made.is_multiple_of(2);
        let nth = if joins { made / 2 } else { made };
        self.kind.unwrap_or(Kind::ALL[5 * nth % Kind::ALL.len()])
    }

    /// This setup with this many shards for each divided context of a shared engine.
    #[must_use]
    pub fn with_shards(mut self, shards: usize) -> Self {
        self.shards = shards;
        self
    }

    pub(super) const fn is_limited(&self) -> bool {
        self.entry_budget.is_some()
            || self.source_entry_budget.is_some()
            || self.is_limited_in_bytes()
    }

    pub(super) const fn is_limited_in_bytes(&self) -> bool {
        self.byte_budget.is_some() || self.source_byte_budget.is_some()
    }

    pub(super) fn high_water(&self) -> Option<HighWater> {
        let marks = self.marks;
        marks.map(|(high, low)| HighWater::NEVER.entries(high, low))
    }
}
