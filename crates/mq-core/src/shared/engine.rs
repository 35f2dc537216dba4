//! [`SharedEngine`]: contexts by number, for many threads.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use super::context::Context;
use super::directory::{Directory, Found};
use super::numbers::MOST_AT_FIRST;
use super::options::Sharding;
use super::shared_context::SharedContext;
use super::sync::Mutex;
use crate::collective::CollectiveCall;
use crate::config::{Config, Tuning};
use crate::engine::{CommonBudget, ContextOptions, EngineOptions, Limits, Terms, Used};
use crate::envelope::{ContextId, Envelope};
use crate::error::{Error, Refused};
use crate::handle::{Handle, MessageHandle};
use crate::memory::{Footprint, Memory};
use crate::pattern::Pattern;
use crate::queues::{
    ArriveOf, DeliveredOf, EntryOf, EnvelopeOf, MatchQueues, PostOf, RemovedOf, TakenOf,
};
use crate::structures::Kind;

/// A process's matching engine for many threads: the whole steps of [`Engine`](crate::Engine), with
/// `&self`.
///
/// The halves of steps (`find`, `queue_receive` and the like) and metering are left out. What an
/// operation shows, it shows under the lock, since an entry may leave at any moment.
///
/// Contexts share nothing, so threads in different contexts do not slow each other down. The exceptions:
/// the counter of a [budget](EngineOptions::budget) or [mark](EngineOptions::high_water) and, for contexts
/// numbered from 4,096 on, the lock of a map, which readers share.
/// Threads in one context wait for each other until the context is divided into shards: by sender or,
/// if both `MPI_ANY_SOURCE` and `MPI_ANY_TAG` receives were promised away, by everything that is matched.
/// See [`Sharding`], and the [module](super) for how a receive from any source keeps its place in
/// order.
///
/// `Q` is the structure in every place of a context. Each place has its own object even of a structure
/// of process scope, since one object for all contexts would mean one lock. A divided context has one
/// object per shard and one more, and each that is used holds what the structure keeps by number of ranks
/// (`array`, 16 bytes a rank) or by profile (`clusters`): use few [shards](Sharding::shards) with such a
/// structure, or [none](super::Divide::Never).
///
/// # Order
/// Each operation takes effect at one moment between call and return. An arriving message takes the
/// earliest posted receive that matches it. A receive takes, among one sender's messages, the earliest
/// that it matches. If the receive names no sender, a divided context is free to choose the sender; but
/// once such a receive has taken a message, or such a probe has shown one, messages that arrive later
/// overtake none that waits. An undivided context answers exactly as [`Engine`](crate::Engine) does.
///
/// # Example
/// ```
/// use mq_core::mpi::{MpiEnvelope, MpiPattern};
/// use mq_core::shared::SharedEngine;
/// use mq_core::structures::Indexed;
/// use mq_core::{Arrive, ContextOptions, Post};
///
/// let engine: SharedEngine<Indexed<MpiPattern, u32, Vec<u8>>> = SharedEngine::new();
/// engine.create_context(0, ContextOptions::new().size(4))?;
///
/// std::thread::scope(|scope| {
///     for sender in 0..4 {
///         let engine = &engine;
///         scope.spawn(move || engine.arrive(MpiEnvelope::new(0, sender, 7), vec![1, 2]));
///     }
///     for sender in 0..4 {
///         let engine = &engine;
///         scope.spawn(move || engine.post(MpiPattern::new(0, sender, 7), sender));
///     }
/// });
/// assert_eq!((engine.posted_len(), engine.unexpected_len()), (0, 0));
/// # Ok::<(), mq_core::Error>(())
/// ```
pub struct SharedEngine<Q: MatchQueues> {
    directory: Directory<Q>,
    /// The structure of contexts that name none.
    kind: Kind,
    tuning: Tuning,
    sharding: Sharding,
    budget: Option<Arc<CommonBudget<Q::Message>>>,
    /// Held while a context is created or freed.
    registry: Mutex<Registry>,
}

/// What creating and freeing contexts records.
struct Registry {
    /// Greater than all handle numbers of freed contexts.
    retired: u64,
}

impl<Q: MatchQueues> Default for SharedEngine<Q> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Q: MatchQueues> fmt::Debug for SharedEngine<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedEngine")
            .field("tuning", &self.tuning)
            .field("sharding", &self.sharding)
            .finish_non_exhaustive()
    }
}

/// What a callback that panics leaves behind is said with each operation.
impl<Q: MatchQueues> UnwindSafe for SharedEngine<Q> {}
impl<Q: MatchQueues> RefUnwindSafe for SharedEngine<Q> {}

/// Contexts.
impl<Q: MatchQueues> SharedEngine<Q> {
    /// An engine without contexts or limits.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(EngineOptions::new(), Sharding::new())
    }

    /// An engine without contexts.
    ///
    /// A [high-water](EngineOptions::high_water) call that uses the engine gets it before it exists:
    ///
    /// ```
    /// use std::sync::{Arc, Weak};
    ///
    /// use mq_core::mpi::{MpiEnvelope, MpiPattern};
    /// use mq_core::shared::{SharedEngine, Sharding};
    /// use mq_core::structures::Indexed;
    /// use mq_core::{ContextOptions, EngineOptions, HighWater, Source};
    ///
    /// type Queues = Indexed<MpiPattern, u32, u32>;
    ///
    /// let engine = Arc::new_cyclic(|engine: &Weak<SharedEngine<Queues>>| {
    ///     let engine = Weak::clone(engine);
    ///     let marks = HighWater::NEVER.entries(2, 0);
    ///     // The oldest message of tag 7 is dropped.
    ///     let options = EngineOptions::new().high_water(marks, move |_| {
    ///         if let Some(engine) = engine.upgrade() {
    ///             let _ = engine.extract(&MpiPattern::new(0, Source::Any, 7));
    ///         }
    ///     });
    ///     SharedEngine::with_options(options, Sharding::new())
    /// });
    /// engine.create_context(0, ContextOptions::new())?;
    /// for number in 0..2 {
    ///     let _ = engine.arrive(MpiEnvelope::new(0, 1, 7), number)?;
    /// }
    /// assert_eq!(engine.extract(&MpiPattern::new(0, 1, 7))?, Some((MpiEnvelope::new(0, 1, 7), 1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_options(options: EngineOptions<Q::Message>, sharding: Sharding) -> Self {
        let retired = options.first_sequence.min(MOST_AT_FIRST);
        Self {
            directory: Directory::new(),
            sharding,
            budget: CommonBudget::new(options.budget, options.high_water).map(Arc::new),
            kind: options.kind,
            tuning: options.tuning,
            registry: Mutex::new(Registry { retired }),
        }
    }

    /// Another `SharedEngine` that [begins](EngineOptions::first_sequence) at this number treats the
    /// handles of this one as stale, unless it is above 2^56, where none begins. Do not compare it with a
    /// [`Handle::sequence`], whose upper bits name the shard.
    ///
    /// # Cost
    /// Takes all locks, one context after another.
    pub fn next_sequence(&self) -> u64 {
        let registry = self.registry.lock();
        let contexts = self.directory.contexts();
        let counts = contexts.iter().map(|c| c.lock_all().next_count());
        counts.fold(registry.retired, u64::max)
    }

    /// Creates a context, and returns its [`SharedContext`], which saves looking it up.
    ///
    /// # Cost
    /// Contexts are created one at a time. A context below 4,096 stays in memory, empty, after it is freed,
    /// for reuse: some 700 bytes, and its shards if it had any.
    ///
    /// # Errors
    /// [`Error::ContextExists`]; [`Error::NoRanks`] for a size of 0.
    pub fn create_context(
        &self,
        context: impl Into<ContextId>,
        options: ContextOptions,
    ) -> Result<SharedContext<Q>, Error> {
        let id = context.into();
        let registry = self.registry.lock();
        let found = self.directory.get(id).map(|found| Arc::clone(&found));
        let known = found.is_some();
        let context = found.unwrap_or_else(|| {
            let budget = self.budget.clone();
            Arc::new(Context::new(id, self.sharding, budget))
        });
        let terms = Terms::new(id, &options);
        let config = Config {
            kind: options.kind.unwrap_or(self.kind),
            size: options.size,
            allow_overtaking: options.allow_overtaking,
            first_sequence: registry.retired,
            tuning: match options.tuning {
                Some(tuning) => *tuning,
                None => self.tuning.clone(),
            },
        };
        let life = context.begin(terms, config)?;
        if !known {
            self.directory.insert(id, Arc::clone(&context));
        }
        drop(registry);
        Ok(SharedContext::new(context, life))
    }

    /// Removes a context and hands every entry left in it to `back`, all receives first
    /// (`MPI_Comm_free`, MPI 4.1 §7.4.3). Handles of the context stay stale forever.
    ///
    /// Operations that other threads have already begun take effect before, or find the context unknown.
    /// Entries of each place are handed back in order; an undivided context has one place.
    ///
    /// # Cost
    /// Takes all locks of the context; visits and sorts its entries. `back` is called with no lock
    /// held; if it panics, the remaining entries are dropped.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn free_context(
        &self,
        context: impl Into<ContextId>,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) -> Result<(), Error> {
        let id = context.into();
        let mut registry = self.registry.lock();
        let (removed, retired) = self.find(id)?.end()?;
        registry.retired = registry.retired.max(retired);
        self.directory.remove(id);
        drop(registry);
        removed.into_iter().for_each(back);
        Ok(())
    }

    /// The [`SharedContext`] of a context; `None` if it is unknown.
    ///
    /// # Cost
    /// Takes the lock of the undivided queues: keep what it returns, and do not ask for it in every operation.
    pub fn context(&self, context: impl Into<ContextId>) -> Option<SharedContext<Q>> {
        let found = self.directory.get(context.into())?;
        let life = found.undivided().standing.life_now()?;
        Some(SharedContext::new(Arc::clone(&found), life))
    }

    /// What a context admits, for a caller that checks arguments itself; `None` for an unknown context.
    ///
    /// # Cost
    /// Takes the lock of the undivided queues, which operations on a divided context otherwise avoid.
    pub fn limits(&self, context: impl Into<ContextId>) -> Option<Limits> {
        let found = self.directory.get(context.into())?;
        let standing = found.undivided().standing;
        standing.life_now().map(|_| standing.terms.limits())
    }

    #[inline(always)]
    pub(super) fn find(&self, id: ContextId) -> Result<Found<'_, Q>, Error> {
        self.directory.get(id).ok_or(Error::UnknownContext(id))
    }
}

/// The operations, each as in [`MatchQueues`] after checking its arguments.
///
/// # Cost
/// An operation on an undivided context takes one lock. In a divided context, a message and a receive
/// from a named source take the lock of their shard. A message also takes that of the undivided
/// queues, but only while these hold receives from any source or, if its shard had receives from
/// before the division, any receive from then; a receive, only while they hold messages of its shard
/// from before the division. An operation for any source takes all locks, in an allocated list.
/// Finding a context numbered below 4,096 writes nothing.
impl<Q: MatchQueues> SharedEngine<Q> {
    /// Posts a receive: see [`MatchQueues::post`].
    ///
    /// # Errors
    /// If the context is unknown, the rank out of range, or the receive uses a wildcard that the
    /// context promised not to use. The receive comes back, and nothing has changed.
    #[inline(always)]
    pub fn post(
        &self,
        pattern: Q::Pattern,
        receive: Q::Receive,
    ) -> Result<PostOf<Q>, Refused<Q::Receive>> {
        match self.find(pattern.context()) {
            Ok(context) => context.post(None, pattern, receive),
            Err(error) => Err(Refused {
                error,
                payload: receive,
            }),
        }
    }

    /// A message arrives: see [`MatchQueues::arrive`].
    ///
    /// # Errors
    /// If the context is unknown, the rank out of range, or no receive matches and the budget is used
    /// up. The message comes back, and nothing has changed.
    #[inline(always)]
    pub fn arrive(
        &self,
        envelope: EnvelopeOf<Q>,
        message: Q::Message,
    ) -> Result<ArriveOf<Q>, Refused<Q::Message>> {
        match self.find(envelope.context()) {
            Ok(context) => context.arrive(None, envelope, message),
            Err(error) => Err(Refused {
                error,
                payload: message,
            }),
        }
    }

    /// The envelope of the earliest unexpected message that `pattern` matches (`MPI_Iprobe`, MPI 4.1
    /// §3.8.1). The message may leave as soon as this returns: threads that probe and then receive
    /// should use [`extract`](Self::extract).
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    pub fn probe(&self, pattern: &Q::Pattern) -> Result<Option<EnvelopeOf<Q>>, Error> {
        self.probe_with(pattern, |envelope, _| envelope)
    }

    /// Shows the earliest unexpected message that `pattern` matches to `see`, under the lock: `see`
    /// must not call the engine.
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    pub fn probe_with<T>(
        &self,
        pattern: &Q::Pattern,
        see: impl FnOnce(EnvelopeOf<Q>, &Q::Message) -> T,
    ) -> Result<Option<T>, Error> {
        self.find(pattern.context())?.probe_with(None, pattern, see)
    }

    /// Takes an unexpected message out: see [`MatchQueues::extract`].
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    pub fn extract(&self, pattern: &Q::Pattern) -> Result<Option<TakenOf<Q>>, Error> {
        self.find(pattern.context())?.extract(None, pattern)
    }

    /// Takes the posted receive that matches a message: see [`MatchQueues::deliver`].
    ///
    /// # Errors
    /// Nothing has changed if the context is unknown or the rank out of range.
    pub fn deliver(&self, envelope: &EnvelopeOf<Q>) -> Result<Option<DeliveredOf<Q>>, Error> {
        self.find(envelope.context())?.deliver(None, envelope)
    }

    /// Takes a posted receive out by name; `None` if it has already left the queue: see
    /// [`MatchQueues::cancel`].
    ///
    /// # Cost
    /// One lock; otherwise as [`MatchQueues::cancel`].
    #[must_use = "`None` means that the receive has matched; otherwise this is the receive"]
    pub fn cancel(&self, handle: Handle) -> Option<Q::Receive> {
        self.directory.get(handle.context())?.cancel(None, handle)
    }

    /// Takes an unexpected message out by the name that [`visit`](Self::visit) has shown; `None` if it has already
    /// left the queue. For a message that has waited too long, say, and that nobody is to receive.
    ///
    /// ```
    /// use mq_core::mpi::MpiEnvelope;
    /// use mq_core::shared::SharedEngine;
    /// use mq_core::structures::Indexed;
    /// use mq_core::{ContextOptions, Entry};
    ///
    /// let engine: SharedEngine<Indexed<mq_core::mpi::MpiPattern, u32, &str>> = SharedEngine::new();
    /// engine.create_context(0, ContextOptions::new())?;
    /// let _ = engine.arrive(MpiEnvelope::new(0, 1, 7), "late")?;
    /// let mut name = None;
    /// engine.visit(&mut |entry| match entry {
    ///     Entry::Unexpected(message, _, &"late") => name = Some(message),
    ///     _ => {}
    /// });
    /// let name = name.expect("it is queued");
    /// assert_eq!(engine.take(name), Some((MpiEnvelope::new(0, 1, 7), "late")));
    /// assert_eq!(engine.take(name), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// One lock, or all of the context for a message from before it was divided; otherwise as
    /// [`MatchQueues::take`].
    #[must_use = "this is the message"]
    pub fn take(&self, message: MessageHandle) -> Option<TakenOf<Q>> {
        self.directory.get(message.context())?.take(None, message)
    }

    /// Removes the entries that `select` chooses, context by context, each at one moment: see
    /// [`MatchQueues::purge`]. Each context's receives are handed back first, and the entries of each
    /// place in order.
    ///
    /// # Cost
    /// Takes all locks of a context while `select` looks at it, so `select` must not call the engine;
    /// `back` is called with no lock held.
    ///
    /// # Panics
    /// If a callback panics. If `select` panics, nothing has left the context it was looking at; if `back`
    /// panics, the entries already removed from that context but not yet passed to `back` are dropped;
    /// those that were not selected stay queued.
    pub fn purge(
        &self,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) {
        for context in self.directory.contexts() {
            let mut all = context.lock_all();
            let removed = context.purge(&mut all, &mut |entry| select(entry));
            drop(all);
            removed.into_iter().for_each(&mut *back);
        }
    }

    /// Removes the entries that `select` chooses from one context, as [`purge`](Self::purge) does from all.
    ///
    /// # Cost
    /// Takes all locks of the context; visits and sorts its entries; allocates.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    ///
    /// # Panics
    /// As `purge`.
    pub fn purge_context(
        &self,
        context: impl Into<ContextId>,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) -> Result<(), Error> {
        self.find(context.into())?.purge_alive(None, select, back)
    }

    /// Shows all entries, context by context, each at one moment, and place by place: see
    /// [`MatchQueues::visit`]. The visitor must not call the engine; the names that it sees may be used
    /// afterwards, and name nothing once their entries have left.
    ///
    /// # Cost
    /// Takes all locks of a context while it is shown.
    pub fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Q>)) {
        for context in self.directory.contexts() {
            context.lock_all().visit(visitor);
        }
    }

    /// Posted receives and unexpected messages in one context, at one moment.
    ///
    /// # Cost
    /// Takes all locks of the context.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn context_lengths(&self, context: impl Into<ContextId>) -> Result<(usize, usize), Error> {
        self.find(context.into())?.lengths(None)
    }

    /// Announces a collective call: see [`MatchQueues::announce`].
    ///
    /// # Cost
    /// Takes all locks of the context.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn announce(&self, call: &CollectiveCall) -> Result<(), Error> {
        self.find(call.context)?.announce(None, call)
    }

    /// The contexts that existed when each was asked, in no order.
    ///
    /// # Cost
    /// Takes the lock of each context's undivided queues in turn; allocates.
    #[must_use]
    pub fn contexts(&self) -> Vec<ContextId> {
        let contexts = self.directory.contexts();
        let present = contexts
            .iter()
            .filter(|context| context.undivided().standing.is_alive(None));
        present.map(|context| context.id).collect()
    }

    /// Drops all entries and forgets what was learned from traffic, context by context, each at one
    /// moment. Contexts, their shards and memory stay. Entries are dropped with no lock held.
    ///
    /// # Cost
    /// Takes all locks of each context in turn.
    pub fn clear(&self) {
        for context in self.directory.contexts() {
            drop(context.clear());
        }
    }

    /// Unexpected messages in all contexts, and their weight, as the budget counts them; 0 in an
    /// engine with neither budget nor high-water marks.
    pub fn used(&self) -> Used {
        let budget = self.budget.as_ref();
        budget.map_or_else(Used::default, |budget| budget.used())
    }

    /// Posted receives in all contexts, each counted at one moment.
    ///
    /// # Cost
    /// Takes all locks of each context in turn, as do `unexpected_len` and `memory`.
    pub fn posted_len(&self) -> usize {
        let contexts = self.directory.contexts();
        contexts.iter().map(|c| c.lock_all().posted_len()).sum()
    }

    /// Unexpected messages in all contexts, each counted at one moment.
    ///
    /// # Cost
    /// As for `posted_len`.
    pub fn unexpected_len(&self) -> usize {
        let contexts = self.directory.contexts();
        contexts.iter().map(|c| c.lock_all().unexpected_len()).sum()
    }
}

impl<Q: MatchQueues + Footprint> Footprint for SharedEngine<Q> {
    fn memory(&self) -> Memory {
        let budget = self.budget.as_ref();
        let own = Memory {
            entries: 0,
            index: self.directory.bytes() + budget.map_or(0, |budget| budget.heap_bytes()),
        };
        let contexts = self.directory.contexts();
        let memories = contexts.iter().map(|context| context.memory());
        memories.fold(own, |a, b| a + b)
    }
}
