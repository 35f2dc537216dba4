//! [`Engine`]: contexts, their promises, budgets, and the structure that serves each.

mod budget;
#[cfg(feature = "shared")]
mod common_budget;
mod directory;
mod halves;
mod ledger;
mod options;
mod terms;

use core::fmt;

pub use self::budget::{Budget, HighWater, Used};
#[cfg(feature = "shared")]
pub(crate) use self::common_budget::CommonBudget;
use self::directory::{Context, Directory};
use self::ledger::Ledger;
pub use self::options::{ContextOptions, EngineOptions};
pub use self::terms::Limits;
pub(crate) use self::terms::Terms;
use crate::collective::CollectiveCall;
use crate::config::{Config, Tuning};
use crate::envelope::{ContextId, Envelope, Rank};
use crate::error::{Error, Refused};
use crate::handle::Handle;
use crate::memory::{Footprint, Memory, vec_bytes};
use crate::meter::{Meter, Unmetered};
use crate::pattern::{Pattern, Source};
use crate::queues::{
    Arrive, ArriveOf, Entry, EntryOf, EnvelopeOf, MatchQueues, Post, PostOf, RemovedOf, Scope,
    SeenOf,
};
use crate::structures::Kind;

/// A process's matching engine: any number of contexts over queues of type `Q`.
///
/// `Q` names a structure, for calls that the compiler resolves, or is
/// [`AnyQueues`](crate::structures::AnyQueues), for a choice at run time, per engine or per
/// context. A structure of context scope gets one object a context, so that the cost in one does
/// not grow with another's queues; one of process scope serves all its contexts together, as
/// published.
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
    objects: Vec<Q>,
    free_objects: Vec<u32>,
    /// The object of each structure of process scope in use.
    shared: Vec<(Kind, u32)>,
    /// The structure of contexts that name none.
    kind: Kind,
    tuning: Tuning,
    /// In an engine that counts its unexpected messages.
    ledger: Option<Box<Ledger<Q::Message>>>,
    /// Greater than the number of every handle of a freed context.
    retired: u64,
}

impl<Q: MatchQueues> Default for Engine<Q> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Q: MatchQueues + fmt::Debug> fmt::Debug for Engine<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("objects", &self.objects)
            .field("kind", &self.kind)
            .field("tuning", &self.tuning)
            .field("ledger", &self.ledger)
            .finish_non_exhaustive()
    }
}

/// Contexts.
impl<Q: MatchQueues> Engine<Q> {
    /// An engine without contexts or limits.
    pub fn new() -> Self {
        Self::with_options(EngineOptions::new())
    }

    /// An engine without contexts.
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

    /// Makes a context usable.
    ///
    /// # Errors
    /// [`Error::ContextExists`]; [`Error::NoRanks`] for a size of 0.
    pub fn create_context(&mut self, context: u32, options: ContextOptions) -> Result<(), Error> {
        let id = ContextId(context);
        if self.directory.get(id).is_some() {
            return Err(Error::ContextExists(id));
        }
        let terms = Terms::new(id, &options)?;
        let config = Config {
            kind: options.kind.unwrap_or(self.kind),
            size: options.size,
            allow_overtaking: options.allow_overtaking,
            first_sequence: self.retired,
            tuning: self.tuning.clone(),
        };
        let shares_object = Q::scope(&config) == Scope::Process;
        let object = if shares_object {
            self.shared_object(&config)
        } else {
            self.add_object(&config)
        };
        let context = Context::new(object, terms, shares_object);
        self.directory.insert(id, context);
        Ok(())
    }

    fn shared_object(&mut self, config: &Config) -> u32 {
        let of_kind = self.shared.iter().find(|(kind, _)| *kind == config.kind);
        if let Some(&(_, object)) = of_kind {
            self.objects[object as usize].add_context(config);
            return object;
        }
        let object = self.add_object(config);
        self.shared.push((config.kind, object));
        object
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most one object a context"
    )]
    fn add_object(&mut self, config: &Config) -> u32 {
        let queues = Q::with_config(config);
        if let Some(object) = self.free_objects.pop() {
            self.objects[object as usize] = queues;
            return object;
        }
        if self.objects.is_empty() {
            // Libraries make an engine a communicator: one context, and never a second.
            self.objects.reserve_exact(1);
        }
        self.objects.push(queues);
        self.objects.len() as u32 - 1
    }

    /// Removes a context and hands every entry left in it to `back`, receives first, each queue in
    /// order (`MPI_Comm_free`, MPI 4.1 §7.4.3). Handles of the context stay stale for ever.
    ///
    /// # Cost
    /// Visits and sorts the entries of all contexts that share the structure.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn free_context(
        &mut self,
        context: u32,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) -> Result<(), Error> {
        let id = ContextId(context);
        let found = *self.context(id)?;
        self.purge_object(found.object(), &mut |entry| context_of(entry) == id, back);
        self.directory.remove(id);
        let queues = &mut self.objects[found.object()];
        self.retired = self.retired.max(queues.next_sequence());
        if !found.shares_object {
            *queues = Q::with_config(&Config::default());
            self.free_objects.push(found.object() as u32);
        }
        Ok(())
    }

    /// What a context admits, for a caller that checks arguments itself; `None` if it is unknown.
    pub fn limits(&self, context: u32) -> Option<Limits> {
        let context = self.directory.get(ContextId(context))?;
        Some(context.terms().limits())
    }

    /// The queues for a receive or probe, after the checks that [`post`](Self::post) makes of it: for a
    /// caller that takes its own steps on them.
    ///
    /// Budgets do not see such steps.
    ///
    /// # Errors
    /// As for `post`.
    #[inline]
    pub fn queues_for_receive(
        &mut self,
        context: u32,
        source: Source,
        any_tag: bool,
    ) -> Result<&mut Q, Error> {
        let id = ContextId(context);
        let object = match self.quick_for_receive(id, source, any_tag) {
            Some(object) => object,
            None => self.object_for_receive(id, source, any_tag)?,
        };
        Ok(&mut self.objects[object])
    }

    /// The queues for a message, after the checks that [`arrive`](Self::arrive) makes of it.
    ///
    /// Budgets do not see steps taken on them.
    ///
    /// # Errors
    /// As for `arrive`, but for budgets.
    #[inline]
    pub fn queues_for_message(&mut self, context: u32, source: u32) -> Result<&mut Q, Error> {
        let id = ContextId(context);
        let object = match self.directory.quick(id, Rank(source)) {
            Some(context) => context.object(),
            None => self.object_for_message(id, Rank(source))?,
        };
        Ok(&mut self.objects[object])
    }

    #[inline(always)]
    fn context(&self, id: ContextId) -> Result<&Context, Error> {
        self.directory.get(id).ok_or(Error::UnknownContext(id))
    }
}

/// The entry's context.
fn context_of<P: Pattern, R, M>(entry: &Entry<'_, P, R, M>) -> ContextId {
    match entry {
        Entry::Posted(pattern, _) => pattern.context(),
        Entry::Unexpected(envelope, _) => envelope.context(),
    }
}

/// The operations, each as in [`MatchQueues`] after a check of its arguments.
impl<Q: MatchQueues> Engine<Q> {
    #[inline(always)]
    fn for_pattern(&self, pattern: &Q::Pattern) -> Result<usize, Error> {
        let (id, source, any_tag) = (pattern.context(), pattern.source(), pattern.any_tag());
        match self.quick_for_receive(id, source, any_tag) {
            Some(object) => Ok(object),
            // In words: a reference would have the whole pattern written to memory before.
            None => self.object_for_receive(id, source, any_tag),
        }
    }

    #[inline(always)]
    fn for_envelope(&self, envelope: &EnvelopeOf<Q>) -> Result<usize, Error> {
        let (id, source) = (envelope.context(), envelope.source());
        match self.directory.quick(id, source) {
            Some(context) => Ok(context.object()),
            None => self.object_for_message(id, source),
        }
    }

    /// The object for a receive, if one look at its context tells.
    #[inline(always)]
    fn quick_for_receive(&self, id: ContextId, source: Source, any_tag: bool) -> Option<usize> {
        let rank = match source {
            Source::Any => Rank(0),
            Source::Rank(rank) => rank,
        };
        let context = self.directory.quick(id, rank)?;
        let kept = context.terms().keeps_promises(source, any_tag);
        kept.then_some(context.object())
    }

    #[cold]
    #[inline(never)]
    fn object_for_receive(
        &self,
        id: ContextId,
        source: Source,
        any_tag: bool,
    ) -> Result<usize, Error> {
        let context = self.context(id)?;
        context.terms().check_source(id, source, any_tag)?;
        Ok(context.object())
    }

    #[cold]
    #[inline(never)]
    fn object_for_message(&self, id: ContextId, source: Rank) -> Result<usize, Error> {
        let context = self.context(id)?;
        context.terms().check_rank(id, source)?;
        Ok(context.object())
    }

    /// Posts a receive: see [`MatchQueues::post`].
    ///
    /// # Errors
    /// The receive comes back, and nothing has changed, if its context is unknown, its rank is out
    /// of range, or it is a wildcard that the context promised not to use.
    #[inline(always)]
    pub fn post(
        &mut self,
        pattern: Q::Pattern,
        receive: Q::Receive,
    ) -> Result<PostOf<Q>, Refused<Q::Receive>> {
        self.post_metered(pattern, receive, &mut Unmetered)
    }

    /// [`post`](Self::post), reporting the cost of its search.
    ///
    /// # Errors
    /// As `post`.
    #[inline(always)]
    pub fn post_metered(
        &mut self,
        pattern: Q::Pattern,
        receive: Q::Receive,
        meter: &mut impl Meter,
    ) -> Result<PostOf<Q>, Refused<Q::Receive>> {
        let object = match self.for_pattern(&pattern) {
            Ok(object) => object,
            Err(error) => {
                return Err(Refused {
                    error,
                    payload: receive,
                });
            }
        };
        let queues = &mut self.objects[object];
        if let Some(ledger) = &mut self.ledger {
            return Ok(Self::post_limited(queues, ledger, pattern, receive, meter));
        }
        Ok(queues.post_metered(pattern, receive, meter))
    }

    #[cold]
    #[inline(never)]
    fn post_limited(
        queues: &mut Q,
        ledger: &mut Ledger<Q::Message>,
        pattern: Q::Pattern,
        receive: Q::Receive,
        meter: &mut impl Meter,
    ) -> PostOf<Q> {
        let post = queues.post_metered(pattern, receive, meter);
        if let Post::Matched {
            envelope, message, ..
        } = &post
        {
            ledger.release(envelope, message);
        }
        post
    }

    /// Delivers a message: see [`MatchQueues::arrive`].
    ///
    /// # Errors
    /// The message comes back, and nothing has changed, if its context is unknown, its rank is out
    /// of range, or no receive is posted for it and the budget is used up.
    #[inline(always)]
    pub fn arrive(
        &mut self,
        envelope: EnvelopeOf<Q>,
        message: Q::Message,
    ) -> Result<ArriveOf<Q>, Refused<Q::Message>> {
        self.arrive_metered(envelope, message, &mut Unmetered)
    }

    /// [`arrive`](Self::arrive), reporting the cost of its search.
    ///
    /// # Errors
    /// As `arrive`.
    #[inline(always)]
    pub fn arrive_metered(
        &mut self,
        envelope: EnvelopeOf<Q>,
        message: Q::Message,
        meter: &mut impl Meter,
    ) -> Result<ArriveOf<Q>, Refused<Q::Message>> {
        let object = match self.for_envelope(&envelope) {
            Ok(object) => object,
            Err(error) => {
                return Err(Refused {
                    error,
                    payload: message,
                });
            }
        };
        let queues = &mut self.objects[object];
        if let Some(ledger) = &mut self.ledger {
            // Taken apart: handed on as it is, the answer would be in memory without a budget too.
            return match Self::arrive_limited(queues, ledger, envelope, message, meter) {
                Ok(Arrive::Matched {
                    pattern,
                    receive,
                    message,
                }) => Ok(Arrive::Matched {
                    pattern,
                    receive,
                    message,
                }),
                Ok(Arrive::Unexpected) => Ok(Arrive::Unexpected),
                Err(Refused { error, payload }) => Err(Refused { error, payload }),
            };
        }
        Ok(queues.arrive_metered(envelope, message, meter))
    }

    #[cold]
    #[inline(never)]
    fn arrive_limited(
        queues: &mut Q,
        ledger: &mut Ledger<Q::Message>,
        envelope: EnvelopeOf<Q>,
        message: Q::Message,
        meter: &mut impl Meter,
    ) -> Result<ArriveOf<Q>, Refused<Q::Message>> {
        let weight = match ledger.room_for(&envelope, &message) {
            Ok(weight) => weight,
            Err(error) => {
                // No room to queue it, but a posted receive may still take it.
                return match queues.deliver_metered(&envelope, meter) {
                    Some((pattern, receive)) => Ok(Arrive::Matched {
                        pattern,
                        receive,
                        message,
                    }),
                    None => Err(Refused {
                        error,
                        payload: message,
                    }),
                };
            }
        };
        let arrival = queues.arrive_metered(envelope, message, meter);
        if matches!(arrival, Arrive::Unexpected) {
            ledger.take(&envelope, weight);
        }
        Ok(arrival)
    }

    /// Shows an unexpected message: see [`MatchQueues::probe`].
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    #[inline]
    pub fn probe(&mut self, pattern: &Q::Pattern) -> Result<Option<SeenOf<'_, Q>>, Error> {
        self.probe_metered(pattern, &mut Unmetered)
    }

    /// [`probe`](Self::probe), reporting the cost of its search.
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    #[inline]
    pub fn probe_metered(
        &mut self,
        pattern: &Q::Pattern,
        meter: &mut impl Meter,
    ) -> Result<Option<SeenOf<'_, Q>>, Error> {
        let object = self.for_pattern(pattern)?;
        Ok(self.objects[object].probe_metered(pattern, meter))
    }

    /// Takes a posted receive out by name; `None` if it has left already: see
    /// [`MatchQueues::cancel`].
    #[inline]
    pub fn cancel(&mut self, handle: Handle) -> Option<Q::Receive> {
        let context = self.directory.get(handle.context())?;
        self.objects[context.object()].cancel(handle)
    }

    /// Removes what `select` chooses from all contexts: see [`MatchQueues::purge`].
    pub fn purge(
        &mut self,
        select: &mut dyn FnMut(&EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) {
        for object in 0..self.objects.len() {
            self.purge_object(object, select, back);
        }
    }

    fn purge_object(
        &mut self,
        object: usize,
        select: &mut dyn FnMut(&EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) {
        let ledger = &mut self.ledger;
        self.objects[object].purge(&mut |entry| select(&entry), &mut |removed| {
            if let Some(ledger) = ledger
                && let crate::Removed::Unexpected(envelope, message) = &removed
            {
                ledger.release(envelope, message);
            }
            back(removed);
        });
    }

    /// Shows all entries, context by context: see [`MatchQueues::visit`].
    pub fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Q>)) {
        for queues in &self.objects {
            queues.visit(visitor);
        }
    }

    /// Announces a collective call: see [`MatchQueues::announce`].
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn announce(&mut self, call: &CollectiveCall) -> Result<(), Error> {
        let object = self.context(call.context)?.object();
        self.objects[object].announce(call);
        Ok(())
    }

    /// Posted receives in all contexts.
    pub fn posted_len(&self) -> usize {
        self.objects.iter().map(Q::posted_len).sum()
    }

    /// Unexpected messages in all contexts.
    pub fn unexpected_len(&self) -> usize {
        self.objects.iter().map(Q::unexpected_len).sum()
    }

    /// Unexpected messages in all contexts, and their weight, as the budget counts them; 0 in an engine
    /// that has neither budget nor high-water marks.
    pub fn used(&self) -> Used {
        self.ledger
            .as_ref()
            .map_or_else(Used::default, |ledger| ledger.used())
    }

    /// The queues that serve a context, and a number that contexts share if they share queues.
    pub fn queues(&self, context: u32) -> Option<(usize, &Q)> {
        let object = self.directory.get(ContextId(context))?.object();
        Some((object, &self.objects[object]))
    }

    /// Drops all entries and forgets what was learned from traffic; contexts and memory stay.
    pub fn clear(&mut self) {
        self.objects.iter_mut().for_each(Q::clear);
        if let Some(ledger) = &mut self.ledger {
            ledger.clear();
        }
    }
}

impl<Q: MatchQueues + Footprint> Footprint for Engine<Q> {
    fn memory(&self) -> Memory {
        let own = Memory {
            entries: 0,
            index: self.directory.bytes()
                + vec_bytes(&self.objects)
                + self.ledger.as_ref().map_or(0, |ledger| ledger.heap_bytes()),
        };
        self.objects.iter().map(Q::memory).fold(own, |a, b| a + b)
    }
}

#[cfg(test)]
mod tests;
