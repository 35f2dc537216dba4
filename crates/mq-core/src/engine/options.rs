//! Options of an engine and its contexts.

use core::fmt;

use super::budget::{Budget, HighWater, Used};
use super::ledger::HighWaterCall;
use super::terms::ContextTerms;
use crate::config::Tuning;
use crate::structures::{Choice, Kind};

/// What an engine is created with.
pub struct EngineOptions<M> {
    pub(crate) kind: Kind,
    pub(crate) tuning: Tuning,
    pub(crate) budget: Budget<M>,
    pub(crate) high_water: Option<(HighWater, HighWaterCall)>,
    pub(crate) first_sequence: u64,
}

impl<M> EngineOptions<M> {
    /// The default structure, every parameter at its default, no budget.
    #[must_use]
    pub fn new() -> Self {
        Self {
            kind: Kind::default(),
            tuning: Tuning::default(),
            budget: Budget::UNLIMITED,
            high_water: None,
            first_sequence: 0,
        }
    }

    /// The structure of contexts that name none, for [`AnyQueues`](crate::structures::AnyQueues). In an
    /// [`Engine`](crate::Engine), contexts that name the same kind of a structure of [process
    /// scope](crate::Scope) share one object; a `SharedEngine` has one per place.
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// The structure and the parameters that a user has chosen: [`kind`](Self::kind) and
    /// [`tuning`](Self::tuning) together.
    #[must_use]
    pub fn choice(self, choice: &Choice) -> Self {
        self.kind(choice.kind()).tuning(choice.tuning().clone())
    }

    /// Parameters of the structures.
    #[must_use]
    pub fn tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// How many unexpected messages may be queued, and how large.
    #[must_use]
    pub fn budget(mut self, budget: Budget<M>) -> Self {
        self.budget = budget;
        self
    }

    /// Calls `call` with the current use when the unexpected messages reach a high mark: once, and again
    /// only after they have fallen to the low marks.
    ///
    /// The call comes after the message that reaches the mark has been queued, before the operation returns. An
    /// [`Engine`](crate::Engine) is borrowed meanwhile: to have something done, such as flow control, record it, and
    /// act after the operation. A `SharedEngine` holds no lock of its queues meanwhile, so the call may take messages
    /// out and ask for the use. But it must not let messages arrive, or wait for a thread that does: calls are made
    /// one at a time, and that arrival may have to wait for this one. With a `SharedEngine` the call may come from
    /// another thread's next operation, a moment before the message can be received, and if the use falls and reaches
    /// the mark again before the call is made, there is one call for both.
    ///
    /// If the call panics, the operation does, although its message is queued: it must not be given to the engine
    /// again. Later calls are made as before.
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// use mq_core::mpi::{MpiEnvelope, MpiPattern};
    /// use mq_core::structures::Indexed;
    /// use mq_core::{Budget, ContextOptions, Engine, EngineOptions, HighWater, Used};
    ///
    /// let (note, notes) = channel();
    /// let budget = Budget::UNLIMITED.entries(10);
    /// let options = EngineOptions::new()
    ///     .budget(budget)
    ///     .high_water(HighWater::share_of(&budget, 80, 50), move |used| {
    ///         let _ = note.send(used);
    ///     });
    /// let mut engine: Engine<Indexed<MpiPattern, u64, ()>> = Engine::with_options(options);
    /// engine.create_context(0, ContextOptions::new())?;
    /// for _ in 0..9 {
    ///     let _ = engine.arrive(MpiEnvelope::new(0, 1, 5), ())?;
    /// }
    /// let told: Vec<Used> = notes.try_iter().collect();
    /// assert!(matches!(told[..], [Used { entries: 8, bytes: 0, .. }]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn high_water(
        mut self,
        marks: HighWater,
        call: impl FnMut(Used) + Send + Sync + 'static,
    ) -> Self {
        self.high_water = Some((marks, Box::new(call)));
        self
    }
}

impl<M> EngineOptions<M> {
    /// Numbers handles from `sequence` on, for a caller whose handles of one engine must be stale in the
    /// next. Capped at 2^63, and at 2^56 in a `SharedEngine`: numbers rise with each entry and must not
    /// run out.
    #[must_use]
    pub fn first_sequence(mut self, sequence: u64) -> Self {
        self.first_sequence = sequence.min(1 << 63);
        self
    }
}

impl<M> fmt::Debug for EngineOptions<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineOptions")
            .field("kind", &self.kind)
            .field("tuning", &self.tuning)
            .field("budget", &self.budget)
            .field(
                "high_water",
                &self.high_water.as_ref().map(|(marks, _)| marks),
            )
            .finish_non_exhaustive()
    }
}

impl<M> Default for EngineOptions<M> {
    fn default() -> Self {
        Self::new()
    }
}

/// What a context is created with: its size, its promises (the info assertions of MPI 4.1 §7.4.4),
/// and its structure.
#[derive(Clone, Debug, Default)]
pub struct ContextOptions {
    pub(crate) size: Option<u32>,
    pub(crate) kind: Option<Kind>,
    pub(crate) tuning: Option<Box<Tuning>>,
    pub(crate) no_any_source: bool,
    pub(crate) no_any_tag: bool,
    pub(crate) allow_overtaking: bool,
}

impl ContextOptions {
    /// Unknown size, no promises, the engine's structure.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of ranks that can send on this context: the size of the group, or of the remote group
    /// for an intercommunicator. Ranks outside are refused. Structures that plan by the size need it.
    #[must_use]
    pub fn size(mut self, ranks: u32) -> Self {
        self.size = Some(ranks);
        self
    }

    /// The context's own structure instead of the engine's; see [`EngineOptions::kind`].
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// The context's own parameters instead of the engine's. Contexts that share one object of a structure of
    /// [process scope](crate::Scope) have the parameters of the first.
    #[must_use]
    pub fn tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = Some(Box::new(tuning));
        self
    }

    /// The structure and the parameters that a user has chosen for the context: [`kind`](Self::kind) and
    /// [`tuning`](Self::tuning) together.
    #[must_use]
    pub fn choice(self, choice: &Choice) -> Self {
        self.kind(choice.kind()).tuning(choice.tuning().clone())
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

    /// `mpi_assert_allow_overtaking`: matching need not follow the sending order. A structure may use
    /// this; none in this crate needs to.
    #[must_use]
    pub fn allow_overtaking(mut self) -> Self {
        self.allow_overtaking = true;
        self
    }
}

/// Options with the size and the promises that a context has, to [update](crate::Engine::update_context) it with one of
/// them changed.
impl From<ContextTerms> for ContextOptions {
    fn from(terms: ContextTerms) -> Self {
        Self {
            size: terms.size(),
            no_any_source: terms.no_any_source,
            no_any_tag: terms.no_any_tag,
            allow_overtaking: terms.allow_overtaking,
            ..Self::new()
        }
    }
}
