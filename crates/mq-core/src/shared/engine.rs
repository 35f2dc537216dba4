//! [`SharedEngine`]: contexts by number, for many threads.
//!
//! Its parts have the names of those of [`Engine`](crate::Engine), in `src/engine`.

mod contexts;
mod entries;
mod operations;

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use super::directory::{Directory, Found};
use super::numbers::MOST_AT_FIRST;
use super::options::Sharding;
use super::sync::Mutex;
use crate::config::Tuning;
use crate::engine::{CommonBudget, EngineOptions};
use crate::envelope::ContextId;
use crate::error::Error;
use crate::memory::{Footprint, Memory};
use crate::queues::MatchQueues;
use crate::structures::Kind;

/// A process's matching engine for many threads: the operations of [`Engine`](crate::Engine), with
/// `&self`.
///
/// The halves of steps (`find`, `queue_receive` and the like) and metering are left out. Entries that stay queued are
/// shown to a closure while a lock is held, since they may leave as soon as it is released.
///
/// Contexts share nothing, so threads in different contexts do not slow each other down. The exceptions:
/// the counter of a [budget](EngineOptions::budget) or [mark](EngineOptions::high_water) and, for contexts
/// numbered from 4,096 on, the lock of a map, which readers share.
/// Threads in one context wait for each other until the context is divided into shards: by sender or,
/// if both `MPI_ANY_SOURCE` and `MPI_ANY_TAG` receives were promised away, by everything that is matched.
/// See [`Sharding`], and the [module](super) for how a receive from any source keeps its place in
/// order.
///
/// `Q` is the structure of all queues. Even with one of process scope, contexts do not share queues, since that would
/// mean one lock for all. A divided context has queues for each shard, besides those from before, and each that is used
/// holds what the structure keeps by number of ranks (`array`, 16 bytes a rank) or by profile (`clusters`): use few
/// [shards](Sharding::shards) with such a structure, or [none](super::Divide::Never).
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

/// What a callback that panics leaves behind is said at each operation, and at
/// [`high_water`](EngineOptions::high_water).
impl<Q: MatchQueues> UnwindSafe for SharedEngine<Q> {}
impl<Q: MatchQueues> RefUnwindSafe for SharedEngine<Q> {}

impl<Q: MatchQueues> SharedEngine<Q> {
    /// An engine with the default options, and no contexts yet.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(EngineOptions::new(), Sharding::new())
    }

    /// An engine with these options, and no contexts yet.
    ///
    /// A [high-water](EngineOptions::high_water) call that uses the engine is made before the engine is:
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

    /// A number for another `SharedEngine`, which treats the handles of this one as stale if its own numbers
    /// [begin](EngineOptions::first_sequence) there; none begins above 2^56. Do not compare it with a
    /// [`Handle::sequence`](crate::Handle::sequence), whose upper bits name the shard.
    ///
    /// # Cost
    /// Takes all locks, one context after another.
    pub fn next_sequence(&self) -> u64 {
        let registry = self.registry.lock();
        let contexts = self.directory.contexts();
        let counts = contexts.iter().map(|c| c.lock_all().next_count());
        counts.fold(registry.retired, u64::max)
    }

    #[inline(always)]
    pub(super) fn find(&self, id: ContextId) -> Result<Found<'_, Q>, Error> {
        self.directory.get(id).ok_or(Error::UnknownContext(id))
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
