//! [`Engine`]: contexts, their promises, budgets, and the structure that serves each.

mod budget;
#[cfg(feature = "shared")]
mod common_budget;
mod directory;
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
use self::directory::{Context, Directory};
use self::ledger::Ledger;
use self::object::{Object, own_for_message};
pub use self::options::{ContextOptions, EngineOptions};
pub use self::terms::Limits;
pub(crate) use self::terms::Terms;
use crate::config::{Config, Tuning};
use crate::envelope::{ContextId, Envelope, Rank};
use crate::error::Error;
use crate::memory::{Footprint, Memory, vec_bytes};
use crate::pattern::{Pattern, Source};
use crate::queues::{Entry, MatchQueues, RemovedOf, Scope};
use crate::structures::Kind;

/// A process's matching engine: any number of contexts over queues of type `Q`.
///
/// `Q` is a structure, for calls resolved at compile time, or
/// [`AnyQueues`](crate::structures::AnyQueues), for a choice at run time, per engine or per
/// context. A structure of context scope gets one object per context, so that the cost in one context
/// does not grow with another's queues. One of process scope serves all contexts that name the same kind,
/// as published.
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
    /// The object of each process-scope structure in use.
    shared: Vec<(Kind, u32)>,
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

/// Contexts.
impl<Q: MatchQueues> Engine<Q> {
    /// An engine without contexts or limits.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(EngineOptions::new())
    }

    /// An engine without contexts.
    #[must_use]
    pub fn with_options(options: EngineOptions<Q::Message>) -> Self {
        Self {
            directory: Directory::default(),
            objects: Vec::new(),
            free_objects: Vec::new(),
            shared: Vec::new(),
            kind: options.kind,
            tuning: options.tuning,
            ledger: Ledger::new(options.budget, options.high_water),
            retired: options.first_sequence,
        }
    }

    /// What the options say of contexts that name no structure. Only [`AnyQueues`](crate::structures::AnyQueues) heeds
    /// it: elsewhere the type is the structure.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// A number greater than those of all handles of this engine: another engine that
    /// [begins](EngineOptions::first_sequence) there treats them as stale, unless it is above 2^63, where none begins.
    pub fn next_sequence(&self) -> u64 {
        let objects = self.objects.iter();
        let numbers = objects.map(|object| object.queues.next_sequence());
        numbers.fold(self.retired, u64::max)
    }

    /// Creates a context.
    ///
    /// # Cost
    /// The place of a freed context is reused: an engine keeps what it took for the most contexts that it ever
    /// had at a time, some 200 bytes each with `indexed`, and every operation that visits all contexts visits
    /// all of these places. If contexts do not come in the order of their numbers, there may be twice as many.
    ///
    /// # Errors
    /// [`Error::ContextExists`]; [`Error::NoRanks`] for a size of 0.
    pub fn create_context(
        &mut self,
        context: impl Into<ContextId>,
        options: ContextOptions,
    ) -> Result<(), Error> {
        let id = context.into();
        if self.directory.get(id).is_some() {
            return Err(Error::ContextExists(id));
        }
        let terms = Terms::new(id, &options)?;
        let mut config = self.config_of(&options);
        if let Some(tuning) = options.tuning {
            config.tuning = *tuning;
        }
        let shares_object = Q::scope(&config) == Scope::Process;
        let object = if shares_object {
            self.shared_object(id, &config)
        } else {
            self.add_object(id, &config)
        };
        self.enter(id, Context::new(object, terms, shares_object));
        Ok(())
    }

    /// The configuration for the queues of a context with these options.
    fn config_of(&self, options: &ContextOptions) -> Config {
        Config {
            kind: options.kind.unwrap_or(self.kind),
            size: options.size,
            allow_overtaking: options.allow_overtaking,
            first_sequence: self.retired,
            tuning: self.tuning.clone(),
        }
    }

    /// Registers a context with its terms.
    fn enter(&mut self, id: ContextId, mut context: Context) {
        if self.ledger.is_none() {
            context = context.quick();
            if context.object() == id.0 as usize {
                self.objects[context.object()].serve_own(context.terms());
            }
        }
        self.directory.insert(id, context);
    }

    fn shared_object(&mut self, id: ContextId, config: &Config) -> u32 {
        let of_kind = self.shared.iter().find(|(kind, _)| *kind == config.kind);
        if let Some(&(_, object)) = of_kind {
            self.objects[object as usize].queues.add_context(config);
            return object;
        }
        let object = self.add_object(id, config);
        self.shared.push((config.kind, object));
        object
    }

    /// A new object for the queues of a context, with the context's own number if that is available.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most two objects a context"
    )]
    fn add_object(&mut self, id: ContextId, config: &Config) -> u32 {
        self.make_objects_below(id);
        let object = Object::new(Q::with_config(config));
        if let Some(number) = self.free_object(id) {
            self.objects[number as usize] = object;
            return number;
        }
        if self.objects.is_empty() {
            // Libraries make one engine per communicator: one context, and never a second.
            self.objects.reserve_exact(1);
        }
        self.objects.push(object);
        self.objects.len() as u32 - 1
    }

    /// Whether `more` further objects may be free: at most one more than are in use.
    fn may_be_free(&self, more: usize) -> bool {
        let free = self.free_objects.len();
        free + more <= self.objects.len() - free + 1
    }

    /// Adds free objects, unless too many, so that the next object has the context's number: programs
    /// number their contexts from 0 or 1, but do not create them in that order.
    #[expect(clippy::cast_possible_truncation, reason = "as in `add_object`")]
    fn make_objects_below(&mut self, id: ContextId) {
        let (objects, wanted) = (self.objects.len(), id.0 as usize);
        if wanted <= objects || !self.may_be_free(wanted - objects) {
            return;
        }
        // An eighth more, so that numbers with gaps do not have all of them moved each time.
        self.objects
            .reserve_exact((wanted + 1 - objects).max(objects / 8));
        for number in objects..wanted {
            let queues = Q::with_config(&Config::default());
            self.objects.push(Object::new(queues));
            self.free_objects.push(number as u32);
        }
    }

    /// A free object: the one with the context's own number, if it is among those freed last, or the last of those.
    /// None if there is none, or if the next one to be made has that number and not too many are free.
    fn free_object(&mut self, id: ContextId) -> Option<u32> {
        const LOOKED_AT: usize = 64;
        let recent = self.free_objects.iter().rev().take(LOOKED_AT);
        let back = recent.clone().position(|&number| number == id.0);
        if back.is_none() && self.objects.len() == id.0 as usize && self.may_be_free(0) {
            return None;
        }
        let at = self.free_objects.len().checked_sub(back.unwrap_or(0) + 1)?;
        Some(self.free_objects.swap_remove(at))
    }

    /// Removes a context and hands every entry left in it to `back`, receives first, each queue in
    /// order (`MPI_Comm_free`, MPI 4.1 §7.4.3). Handles of the context stay stale forever.
    ///
    /// # Cost
    /// Visits and sorts the entries of all contexts that share the structure.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    ///
    /// # Panics
    /// If `back` does: the entries that were not yet handed back stay queued, and the context exists.
    pub fn free_context(
        &mut self,
        context: impl Into<ContextId>,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) -> Result<(), Error> {
        let id = context.into();
        let found = *self.context(id)?;
        self.purge_object(found.object(), &mut |entry| context_of(entry) == id, back);
        self.directory.remove(id);
        let object = &mut self.objects[found.object()];
        if found.object() == id.0 as usize {
            object.serve_others();
        }
        object.queues.remove_context(id);
        self.retired = self.retired.max(object.queues.next_sequence());
        if !found.shares_object {
            object.queues = Q::with_config(&Config::default());
            self.free_objects.push(found.object() as u32);
        }
        Ok(())
    }

    /// What a context admits, for a caller that checks arguments itself; `None` for an unknown context.
    pub fn limits(&self, context: impl Into<ContextId>) -> Option<Limits> {
        let context = self.directory.get(context.into())?;
        Some(context.terms().limits())
    }

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

    /// The queues for a message from `source`, or for a receive that names this source and its whole tag,
    /// if one look finds them, which requires that contexts are numbered from 0 and no budget counts
    /// their messages. `None` is not an error: ask [`queues_for_message`](Self::queues_for_message) or
    /// [`queues_for_receive`](Self::queues_for_receive), which report any error.
    #[inline(always)]
    pub fn own_queues(
        &mut self,
        context: impl Into<ContextId>,
        source: impl Into<Rank>,
    ) -> Option<&mut Q> {
        own_for_message(&mut self.objects, context.into(), source.into())
    }

    #[inline(always)]
    fn context(&self, id: ContextId) -> Result<&Context, Error> {
        self.directory.get(id).ok_or(Error::UnknownContext(id))
    }
}

/// The entry's context.
fn context_of<P: Pattern, R, M>(entry: Entry<'_, P, R, M>) -> ContextId {
    match entry {
        Entry::Posted(pattern, _) => pattern.context(),
        Entry::Unexpected(envelope, _) => envelope.context(),
    }
}

impl<Q: MatchQueues + Footprint> Footprint for Engine<Q> {
    fn memory(&self) -> Memory {
        let own = Memory {
            entries: 0,
            index: self.directory.bytes()
                + vec_bytes(&self.objects)
                + vec_bytes(&self.free_objects)
                + vec_bytes(&self.shared)
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
