//! The operations of a [`SharedEngine`].

use super::SharedEngine;
use crate::collective::CollectiveCall;
use crate::envelope::Envelope;
use crate::error::{Error, Refused};
use crate::handle::{Handle, MessageHandle};
use crate::pattern::Pattern;
use crate::queues::{ArriveOf, EnvelopeOf, MatchQueues, PostOf, TakenMessageOf, TakenReceiveOf};

/// The operations, each as in [`MatchQueues`] after checking its arguments.
///
/// # Cost
/// An operation on an undivided context takes one lock. In a divided context, a message and a receive from a named
/// source take the lock of their shard, and sometimes that of the undivided queues, which hold what was queued before
/// the division, and receives from any source: a message, while one of those is there or, if its shard had receives
/// before the division, any receive from then; a receive, while they hold messages of its shard. An operation for any
/// source takes all locks, in an allocated list. Finding a context numbered below 4,096 writes nothing.
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
        self.find_with(pattern, |_, envelope, message| see(envelope, message))
    }

    /// [`probe_with`](Self::probe_with), which also shows the message's handle: by it, [`take`](Self::take) removes
    /// this very message, unless another thread has taken it in between. For a thread that looks at a message before
    /// it decides whether to take it.
    ///
    /// ```
    /// use mq_core::mpi::{MpiEnvelope, MpiPattern};
    /// use mq_core::shared::SharedEngine;
    /// use mq_core::structures::Indexed;
    /// use mq_core::{ContextOptions, Source};
    ///
    /// let engine: SharedEngine<Indexed<MpiPattern, u32, Vec<u8>>> = SharedEngine::new();
    /// engine.create_context(0, ContextOptions::new())?;
    /// let _ = engine.arrive(MpiEnvelope::new(0, 1, 7), vec![0; 64])?;
    /// let room = 100;
    /// let any = MpiPattern::new(0, Source::Any, 7);
    /// let fits = engine.find_with(&any, |handle, _, bytes| (bytes.len() <= room).then_some(handle))?;
    /// let taken = fits.flatten().and_then(|handle| engine.take(handle));
    /// assert_eq!(taken.map(|(_, bytes)| bytes.len()), Some(64));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    pub fn find_with<T>(
        &self,
        pattern: &Q::Pattern,
        see: impl FnOnce(MessageHandle, EnvelopeOf<Q>, &Q::Message) -> T,
    ) -> Result<Option<T>, Error> {
        self.find(pattern.context())?.find_with(None, pattern, see)
    }

    /// Takes an unexpected message out: see [`MatchQueues::extract`].
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    pub fn extract(&self, pattern: &Q::Pattern) -> Result<Option<TakenMessageOf<Q>>, Error> {
        self.find(pattern.context())?.extract(None, pattern)
    }

    /// Takes the posted receive that matches a message: see [`MatchQueues::deliver`].
    ///
    /// # Errors
    /// Nothing has changed if the context is unknown or the rank out of range.
    pub fn deliver(&self, envelope: &EnvelopeOf<Q>) -> Result<Option<TakenReceiveOf<Q>>, Error> {
        self.find(envelope.context())?.deliver(None, envelope)
    }

    /// Takes a posted receive out by its handle; `None` if it has already left the queue: see
    /// [`MatchQueues::cancel`].
    ///
    /// # Cost
    /// One lock; otherwise as [`MatchQueues::cancel`].
    #[must_use = "`None` means that the receive has matched; otherwise this is the receive"]
    pub fn cancel(&self, handle: Handle) -> Option<Q::Receive> {
        self.directory.get(handle.context())?.cancel(None, handle)
    }

    /// Takes an unexpected message out by the handle that [`visit`](Self::visit) or [`find_with`](Self::find_with) has
    /// shown; `None` if it has already left the queue. For a message that has waited too long, say, and that
    /// nobody is to receive.
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
    /// let mut handle = None;
    /// engine.visit(&mut |entry| match entry {
    ///     Entry::Unexpected(shown, _, &"late") => handle = Some(shown),
    ///     _ => {}
    /// });
    /// let handle = handle.expect("it is queued");
    /// assert_eq!(engine.take(handle), Some((MpiEnvelope::new(0, 1, 7), "late")));
    /// assert_eq!(engine.take(handle), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// One lock, or all of the context for a message from before it was divided; otherwise as
    /// [`MatchQueues::take`].
    #[must_use = "this is the message"]
    pub fn take(&self, message: MessageHandle) -> Option<TakenMessageOf<Q>> {
        self.directory.get(message.context())?.take(None, message)
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
}
