//! [`Engine`]: contexts, their promises, budgets, and the structure that serves each.

mod budget;
#[cfg(feature = "shared")]
mod common_budget;
mod contexts;
mod directory;
mod entries;
mod halves;
mod ledger;
mod object;
mod operations;
mod options;
mod terms;
mod update;

use core::fmt;

pub use self::budget::{Budget, HighWater, Used};
#[cfg(feature = "shared")]
pub(crate) use self::common_budget::CommonBudget;
use self::directory::Directory;
use self::ledger::Ledger;
use self::object::{Object, Shared, serves_own};
pub use self::options::{ContextOptions, EngineOptions};
pub use self::terms::ContextTerms;
pub(crate) use self::terms::Terms;
use crate::config::Tuning;
use crate::envelope::{ContextId, Rank};
use crate::error::Error;
use crate::memory::{Footprint, Memory, vec_bytes};
use crate::pattern::Source;
use crate::queues::MatchQueues;
use crate::structures::Kind;

/// A process's matching engine: any number of contexts over queues of type `Q`.
///
/// `Q` is a structure, for calls resolved at compile time, or
/// [`AnyQueues`](crate::structures::AnyQueues), for a choice at run time, per engine or per
/// context. With a structure of [context scope](crate::Scope), as the default is, each context has queues of its
/// own, so that the cost in one context does not grow with another's queues. With one of process scope, all
/// contexts of that structure share their queues, as published.
///
/// # Example
/// ```
/// use mq_core::mpi::{MpiEnvelope, MpiPattern};
/// use mq_core::structures::{AnyQueues, Kind};
/// use mq_core::{Arrive, Budget, ContextOptions, Engine, EngineOptions, Error};
///
/// type Queues = AnyQueues<MpiPattern, u64, Vec<u8>>;
/// let options = EngineOptions::new()
///     .kind(Kind::Indexed)
///     .budget(Budget::UNLIMITED.entries(1));
/// let mut engine: Engine<Queues> = Engine::with_options(options);
/// engine.create_context(0, ContextOptions::new().size(8).kind(Kind::Array))?;
///
/// // The first unexpected message uses up the budget; the second comes back whole.
/// let queued = engine.arrive(MpiEnvelope::new(0, 1, 5), vec![1])?;
/// assert!(matches!(queued, Arrive::Unexpected));
/// let refused = engine.arrive(MpiEnvelope::new(0, 2, 5), vec![2]).unwrap_err();
/// assert_eq!(refused.error, Error::EntryBudget { limit: 1 });
/// assert_eq!(refused.payload, [2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Engine<Q: MatchQueues> {
    directory: Directory,
    objects: Vec<Object<Q>>,
    free_objects: Vec<u32>,
    /// The process-scope structures in use.
    of_process: Vec<Shared>,
    /// The structure of contexts that name none.
    kind: Kind,
    tuning: Tuning,
    /// Present in an engine that counts its unexpected messages.
    ledger: Option<Box<Ledger<Q::Message>>>,
    /// Greater than all handle numbers of freed contexts.
    retired: u64,
}

impl<Q: MatchQueues> Default for Engine<Q> {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows settings and how many entries there are, so that payloads need not be `Debug`.
impl<Q: MatchQueues> fmt::Debug for Engine<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("tuning", &self.tuning)
            .field("ledger", &self.ledger)
            .field("posted", &self.posted_len())
            .field("unexpected", &self.unexpected_len())
            .finish_non_exhaustive()
    }
}

/// Making an engine.
impl<Q: MatchQueues> Engine<Q> {
    /// An engine with the default options, and no contexts yet.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(EngineOptions::new())
    }

    /// An engine with these options, and no contexts yet.
    #[must_use]
    pub fn with_options(options: EngineOptions<Q::Message>) -> Self {
        Self {
            directory: Directory::default(),
            objects: Vec::new(),
            free_objects: Vec::new(),
            of_process: Vec::new(),
            kind: options.kind,
            tuning: options.tuning,
            ledger: Ledger::new(options.budget, options.high_water),
            retired: options.first_sequence,
        }
    }

    /// The default structure of contexts that name none. It has an effect only with
    /// [`AnyQueues`](crate::structures::AnyQueues); otherwise the type `Q` decides.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// A number greater than those of all handles of this engine. Another engine whose numbers
    /// [begin](EngineOptions::first_sequence) there treats them as stale; none begins above 2^63.
    pub fn next_sequence(&self) -> u64 {
        let objects = self.objects.iter();
        let numbers = objects.map(|object| object.queues.next_sequence());
        numbers.fold(self.retired, u64::max)
    }
}

/// Queues, for callers that take their own steps on them.
impl<Q: MatchQueues> Engine<Q> {
    /// The queues for a receive or probe, after the checks that [`post`](Self::post) makes: for a
    /// caller that takes its own steps on them.
    ///
    /// Budgets do not see such steps: in an engine with a budget, take every step on a context this
    /// way, or none. A message queued past the budget is still subtracted from it when the engine takes
    /// the message.
    ///
    /// # Errors
    /// As for `post`.
    #[inline]
    pub fn queues_for_receive(
        &mut self,
        context: impl Into<ContextId>,
        source: impl Into<Source>,
        any_tag: bool,
    ) -> Result<&mut Q, Error> {
        let (id, source) = (context.into(), source.into());
        let object = self.object_for_receive(id, source, any_tag)?;
        Ok(&mut self.objects[object].queues)
    }

    /// The queues for a message, after the checks that [`arrive`](Self::arrive) makes.
    ///
    /// Budgets do not see steps taken on them, as with
    /// [`queues_for_receive`](Self::queues_for_receive).
    ///
    /// # Errors
    /// As for `arrive`, except that budgets are not checked.
    #[inline]
    pub fn queues_for_message(
        &mut self,
        context: impl Into<ContextId>,
        source: impl Into<Rank>,
    ) -> Result<&mut Q, Error> {
        let object = self.object_for_message(context.into(), source.into())?;
        Ok(&mut self.objects[object].queues)
    }

    /// The queues for a message from `source`, or for a receive that names this source and its whole tag, looked up
    /// by the number of the context alone: the quickest way, which finds those of contexts below 4,096 if no budget
    /// counts their messages. `None` is not an error: ask [`queues_for_message`](Self::queues_for_message) or
    /// [`queues_for_receive`](Self::queues_for_receive) then, which find all queues and report errors.
    #[inline(always)]
    pub fn queues_by_number(
        &mut self,
        context: impl Into<ContextId>,
        source: impl Into<Rank>,
    ) -> Option<&mut Q> {
        let (id, source) = (context.into(), source.into());
        let object = match serves_own(&self.objects, id, source) {
            true => id.0 as usize,
            false => self.directory.quick(id, source)?.object(),
        };
        Some(&mut self.objects.get_mut(object)?.queues)
    }
}

impl<Q: MatchQueues + Footprint> Footprint for Engine<Q> {
    fn memory(&self) -> Memory {
        let own = Memory {
            entries: 0,
            index: self.directory.bytes()
                + vec_bytes(&self.objects)
                + vec_bytes(&self.free_objects)
                + vec_bytes(&self.of_process)
                + self.ledger.as_ref().map_or(0, |ledger| {
                    size_of::<Ledger<Q::Message>>() + ledger.heap_bytes()
                }),
        };
        let memories = self.objects.iter().map(|object| object.queues.memory());
        memories.fold(own, |a, b| a + b)
    }
}

#[cfg(test)]
mod tests;
