//! [`SharedContext`]: a context that a library keeps in its communicator.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use super::context::Context;
use crate::collective::CollectiveCall;
use crate::engine::ContextTerms;
use crate::envelope::ContextId;
use crate::error::{Error, Refused};
use crate::handle::{Handle, MessageHandle};
use crate::queues::{
    ArriveOf, EntryOf, EnvelopeOf, MatchQueues, PostOf, RemovedOf, TakenMessageOf, TakenReceiveOf,
};

/// One context of a [`SharedEngine`](super::SharedEngine), without the lookup: for the communicator
/// object of a library.
///
/// Cheap to clone and to send. Once the context is freed, every operation reports it as unknown, even if
/// a context with the same number has been created since.
///
/// It keeps the context and what is queued in it: that outlives the engine, unless the context is freed before. So a
/// receive that owns a `SharedContext`, to cancel itself for instance, is never dropped as long as it is queued.
///
/// ```
/// use mq_core::mpi::{MpiEnvelope, MpiPattern};
/// use mq_core::shared::SharedEngine;
/// use mq_core::structures::Indexed;
/// use mq_core::{Arrive, ContextOptions};
///
/// let engine: SharedEngine<Indexed<MpiPattern, u32, u32>> = SharedEngine::new();
/// let context = engine.create_context(3, ContextOptions::new().size(2))?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| context.post(MpiPattern::new(3, 1, 7), 10));
///     scope.spawn(|| context.arrive(MpiEnvelope::new(3, 1, 7), 20));
/// });
/// assert_eq!((context.posted_len()?, context.unexpected_len()?), (0, 0));
/// # Ok::<(), mq_core::Error>(())
/// ```
pub struct SharedContext<Q: MatchQueues> {
    pub(super) context: Arc<Context<Q>>,
    pub(super) life: u64,
}

impl<Q: MatchQueues> Clone for SharedContext<Q> {
    fn clone(&self) -> Self {
        Self {
            context: Arc::clone(&self.context),
            life: self.life,
        }
    }
}

impl<Q: MatchQueues> fmt::Debug for SharedContext<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedContext")
            .field("id", &self.context.id)
            .field("life", &self.life)
            .finish_non_exhaustive()
    }
}

/// As for the [`SharedEngine`](super::SharedEngine).
impl<Q: MatchQueues> UnwindSafe for SharedContext<Q> {}
impl<Q: MatchQueues> RefUnwindSafe for SharedContext<Q> {}

/// The same context, in the same life.
impl<Q: MatchQueues> PartialEq for SharedContext<Q> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.context, &other.context) && self.life == other.life
    }
}

impl<Q: MatchQueues> Eq for SharedContext<Q> {}

impl<Q: MatchQueues> SharedContext<Q> {
    pub(super) fn new(context: Arc<Context<Q>>, life: u64) -> Self {
        Self { context, life }
    }

    /// The context's number.
    #[must_use]
    pub fn id(&self) -> ContextId {
        self.context.id
    }

    /// Posts a receive: see [`SharedEngine::post`](super::SharedEngine::post).
    ///
    /// # Errors
    /// As for the method of [`SharedEngine`](super::SharedEngine), and [`Error::OtherContext`].
    #[inline(always)]
    pub fn post(
        &self,
        pattern: Q::Pattern,
        receive: Q::Receive,
    ) -> Result<PostOf<Q>, Refused<Q::Receive>> {
        self.context.post(Some(self.life), pattern, receive)
    }

    /// A message arrives: see [`SharedEngine::arrive`](super::SharedEngine::arrive).
    ///
    /// # Errors
    /// As for the method of [`SharedEngine`](super::SharedEngine), and [`Error::OtherContext`].
    #[inline(always)]
    pub fn arrive(
        &self,
        envelope: EnvelopeOf<Q>,
        message: Q::Message,
    ) -> Result<ArriveOf<Q>, Refused<Q::Message>> {
        self.context.arrive(Some(self.life), envelope, message)
    }

    /// The envelope of an unexpected message: see
    /// [`SharedEngine::probe`](super::SharedEngine::probe).
    ///
    /// # Errors
    /// As for the method of [`SharedEngine`](super::SharedEngine), and [`Error::OtherContext`].
    pub fn probe(&self, pattern: &Q::Pattern) -> Result<Option<EnvelopeOf<Q>>, Error> {
        self.probe_with(pattern, |envelope, _| envelope)
    }

    /// Shows an unexpected message to `see`: see
    /// [`SharedEngine::probe_with`](super::SharedEngine::probe_with).
    ///
    /// # Errors
    /// As for the method of [`SharedEngine`](super::SharedEngine), and [`Error::OtherContext`].
    pub fn probe_with<T>(
        &self,
        pattern: &Q::Pattern,
        see: impl FnOnce(EnvelopeOf<Q>, &Q::Message) -> T,
    ) -> Result<Option<T>, Error> {
        self.find_with(pattern, |_, envelope, message| see(envelope, message))
    }

    /// Shows an unexpected message and its handle to `see`: see
    /// [`SharedEngine::find_with`](super::SharedEngine::find_with).
    ///
    /// # Errors
    /// As for the method of [`SharedEngine`](super::SharedEngine), and [`Error::OtherContext`].
    pub fn find_with<T>(
        &self,
        pattern: &Q::Pattern,
        see: impl FnOnce(MessageHandle, EnvelopeOf<Q>, &Q::Message) -> T,
    ) -> Result<Option<T>, Error> {
        self.context.find_with(Some(self.life), pattern, see)
    }

    /// Takes an unexpected message out: see
    /// [`SharedEngine::extract`](super::SharedEngine::extract).
    ///
    /// # Errors
    /// As for the method of [`SharedEngine`](super::SharedEngine), and [`Error::OtherContext`].
    pub fn extract(&self, pattern: &Q::Pattern) -> Result<Option<TakenMessageOf<Q>>, Error> {
        self.context.extract(Some(self.life), pattern)
    }

    /// Takes the posted receive that matches a message: see
    /// [`SharedEngine::deliver`](super::SharedEngine::deliver).
    ///
    /// # Errors
    /// As for the method of [`SharedEngine`](super::SharedEngine), and [`Error::OtherContext`].
    pub fn deliver(&self, envelope: &EnvelopeOf<Q>) -> Result<Option<TakenReceiveOf<Q>>, Error> {
        self.context.deliver(Some(self.life), envelope)
    }

    /// Takes a posted receive out by its handle; `None` if it has already left the queue: see
    /// [`SharedEngine::cancel`](super::SharedEngine::cancel).
    #[must_use = "`None` means that the receive has matched; otherwise this is the receive"]
    pub fn cancel(&self, handle: Handle) -> Option<Q::Receive> {
        let own = handle.context() == self.context.id;
        own.then(|| self.context.cancel(Some(self.life), handle))
            .flatten()
    }

    /// Takes an unexpected message out by its handle; `None` if it has already left the queue: see
    /// [`SharedEngine::take`](super::SharedEngine::take).
    #[must_use = "this is the message"]
    pub fn take(&self, message: MessageHandle) -> Option<TakenMessageOf<Q>> {
        let own = message.context() == self.context.id;
        own.then(|| self.context.take(Some(self.life), message))
            .flatten()
    }

    /// Removes the entries that `select` chooses: see [`SharedEngine::purge`](super::SharedEngine::purge).
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn purge(
        &self,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) -> Result<(), Error> {
        self.context.purge_alive(Some(self.life), select, back)
    }

    /// Shows all entries: see [`SharedEngine::visit`](super::SharedEngine::visit).
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Q>)) -> Result<(), Error> {
        let all = self.context.lock_alive(Some(self.life))?;
        all.visit(visitor);
        Ok(())
    }

    /// Announces a collective call on this context: see
    /// [`SharedEngine::announce`](super::SharedEngine::announce).
    ///
    /// # Errors
    /// [`Error::UnknownContext`], and [`Error::OtherContext`].
    pub fn announce(&self, call: &CollectiveCall) -> Result<(), Error> {
        self.context.check_own(call.context)?;
        self.context.announce(Some(self.life), call)
    }

    /// Posted receives at one moment.
    ///
    /// # Cost
    /// Takes all locks of the context.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn posted_len(&self) -> Result<usize, Error> {
        Ok(self.lengths()?.0)
    }

    /// Unexpected messages at one moment.
    ///
    /// # Cost
    /// Takes all locks of the context.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn unexpected_len(&self) -> Result<usize, Error> {
        Ok(self.lengths()?.1)
    }

    /// Posted receives and unexpected messages at one moment.
    ///
    /// # Cost
    /// Takes all locks of the context.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn lengths(&self) -> Result<(usize, usize), Error> {
        self.context.lengths(Some(self.life))
    }

    /// The size and the promises of the context, for a caller that checks arguments itself.
    ///
    /// # Cost
    /// Takes the lock of the undivided queues, which operations on a divided context otherwise avoid.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn terms(&self) -> Result<ContextTerms, Error> {
        let standing = self.context.undivided().standing;
        standing.check_alive(self.context.id, Some(self.life))?;
        Ok(standing.terms.shown())
    }

    /// Divides the context into shards now, whatever [`Divide`](super::Divide) says: for a library that
    /// knows that threads are coming. Does nothing if the context is already divided.
    ///
    /// # Cost
    /// Takes all locks of the context; allocates the shards; visits and sorts the entries, which stay where
    /// they are.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn divide(&self) -> Result<(), Error> {
        self.shards()?;
        self.context.divide(Some(self.life));
        Ok(())
    }

    /// The number of shards the context is divided into now; `None` while it is undivided.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn shards(&self) -> Result<Option<usize>, Error> {
        let all = self.context.lock_alive(Some(self.life))?;
        Ok(all
            .undivided
            .standing
            .mode
            .is_divided()
            .then_some(all.shards.len()))
    }
}
