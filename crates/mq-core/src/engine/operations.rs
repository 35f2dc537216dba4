//! The operations of an [`Engine`].

use super::ledger::Ledger;
use super::object::{own_for_message, own_for_receive};
use super::{Engine, Used};
use crate::collective::CollectiveCall;
use crate::envelope::{ContextId, Envelope, Rank};
use crate::error::{Error, Refused};
use crate::handle::Handle;
use crate::meter::{Meter, Unmetered};
use crate::pattern::{Pattern, Source};
use crate::queues::{
    Arrive, ArriveOf, Entry, EntryOf, EnvelopeOf, MatchQueues, Post, PostOf, RemovedOf, SeenOf,
};

/// The operations, each as in [`MatchQueues`] after checking its arguments.
impl<Q: MatchQueues> Engine<Q> {
    #[inline(always)]
    pub(super) fn for_pattern(&self, pattern: &Q::Pattern) -> Result<usize, Error> {
        // By value: a reference would first have the whole pattern written to memory.
        self.object_for_receive(pattern.context(), pattern.source(), pattern.any_tag())
    }

    #[inline(always)]
    pub(super) fn for_envelope(&self, envelope: &EnvelopeOf<Q>) -> Result<usize, Error> {
        self.object_for_message(envelope.context(), envelope.source())
    }

    /// The object for a receive.
    #[inline(always)]
    pub(super) fn object_for_receive(
        &self,
        id: ContextId,
        source: Source,
        any_tag: bool,
    ) -> Result<usize, Error> {
        let rank = match source {
            Source::Any => Rank(0),
            Source::Rank(rank) => rank,
        };
        match self.directory.quick(id, rank) {
            Some(context) if context.terms().keeps_promises(source, any_tag) => {
                Ok(context.object())
            }
            _ => self.checked_for_receive(id, source, any_tag),
        }
    }

    /// The object for a message.
    #[inline(always)]
    pub(super) fn object_for_message(&self, id: ContextId, source: Rank) -> Result<usize, Error> {
        match self.directory.quick(id, source) {
            Some(context) => Ok(context.object()),
            None => self.checked_for_message(id, source),
        }
    }

    #[cold]
    #[inline(never)]
    fn checked_for_receive(
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
    fn checked_for_message(&self, id: ContextId, source: Rank) -> Result<usize, Error> {
        let context = self.context(id)?;
        context.terms().check_rank(id, source)?;
        Ok(context.object())
    }

    /// Posts a receive: see [`MatchQueues::post`].
    ///
    /// # Errors
    /// If the context is unknown, the rank out of range, or the receive uses a wildcard that the
    /// context promised not to use. The receive comes back, and nothing has changed.
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
        let queues = 'queues: {
            if let Some(queues) = own_for_receive(&mut self.objects, &pattern) {
                break 'queues queues;
            }
            let queues = match self.for_pattern(&pattern) {
                Ok(object) => &mut self.objects[object].queues,
                Err(error) => {
                    return Err(Refused {
                        error,
                        payload: receive,
                    });
                }
            };
            // An engine with a ledger finds all contexts this way, so that the other path need not
            // check for one.
            if let Some(ledger) = &mut self.ledger {
                return Ok(Self::post_limited(queues, ledger, pattern, receive, meter));
            }
            queues
        };
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

    /// A message arrives: see [`MatchQueues::arrive`].
    ///
    /// # Errors
    /// If the context is unknown, the rank out of range, or no receive matches and the budget is used
    /// up. The message comes back, and nothing has changed.
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
        let (id, source) = (envelope.context(), envelope.source());
        let queues = 'queues: {
            if let Some(queues) = own_for_message(&mut self.objects, id, source) {
                break 'queues queues;
            }
            let queues = match self.object_for_message(id, source) {
                Ok(object) => &mut self.objects[object].queues,
                Err(error) => {
                    return Err(Refused {
                        error,
                        payload: message,
                    });
                }
            };
            if let Some(ledger) = &mut self.ledger {
                // Taken apart: passed on whole, the answer would go through memory even without a
                // budget.
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
            queues
        };
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
        Ok(self.objects[object].queues.probe_metered(pattern, meter))
    }

    /// Takes a posted receive out by name; `None` if it has already left the queue: see
    /// [`MatchQueues::cancel`].
    #[inline]
    #[must_use = "`None` means that the receive has matched; otherwise this is the receive"]
    pub fn cancel(&mut self, handle: Handle) -> Option<Q::Receive> {
        let context = self.directory.get(handle.context())?;
        self.objects[context.object()].queues.cancel(handle)
    }

    /// Removes the entries that `select` chooses from all contexts, object by object, as
    /// [`visit`](Self::visit) shows them: `select` is asked about all entries of an object before any of it is
    /// removed. See [`MatchQueues::purge`].
    ///
    /// # Cost
    /// Visits and sorts all entries; allocates.
    ///
    /// # Panics
    /// If `select` or `back` does. After a panic of `back`, the entries that were chosen and not yet handed back stay
    /// queued.
    pub fn purge(
        &mut self,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) {
        for object in 0..self.objects.len() {
            self.purge_object(object, select, back);
        }
    }

    /// Removes the entries that `select` chooses from one context: communicator free, revoke.
    ///
    /// # Cost
    /// Visits and sorts the entries of the context or, with a structure of
    /// [process scope](crate::Scope), of all contexts; allocates.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    ///
    /// # Panics
    /// As [`purge`](Self::purge).
    pub fn purge_context(
        &mut self,
        context: impl Into<ContextId>,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) -> Result<(), Error> {
        let id = context.into();
        let object = self.context(id)?.object();
        self.purge_object(
            object,
            &mut |entry| entry.context() == id && select(entry),
            back,
        );
        Ok(())
    }

    pub(super) fn purge_object(
        &mut self,
        object: usize,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) {
        let ledger = &mut self.ledger;
        self.objects[object]
            .queues
            .purge(&mut |entry| select(entry), &mut |removed| {
                if let Some(ledger) = ledger
                    && let crate::Removed::Unexpected(envelope, message) = &removed
                {
                    ledger.release(envelope, message);
                }
                back(removed);
            });
    }

    /// Shows all entries, object by object. A structure has one object per context or, if it is of
    /// [process scope](crate::Scope), one for all contexts, with their entries mixed. See
    /// [`MatchQueues::visit`].
    pub fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Q>)) {
        // Contexts may be many, and most of them idle.
        for queues in self.objects.iter().map(|object| &object.queues) {
            if queues.posted_len() + queues.unexpected_len() > 0 {
                queues.visit(visitor);
            }
        }
    }

    /// Announces a collective call: see [`MatchQueues::announce`].
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn announce(&mut self, call: &CollectiveCall) -> Result<(), Error> {
        let object = self.context(call.context)?.object();
        self.objects[object].queues.announce(call);
        Ok(())
    }

    /// Posted receives in all contexts.
    ///
    /// # Cost
    /// Asks the queues of every context, and the [places](Self::create_context) of freed ones, as `unexpected_len` and
    /// [`memory`](crate::Footprint::memory) do.
    #[must_use]
    pub fn posted_len(&self) -> usize {
        self.objects
            .iter()
            .map(|object| object.queues.posted_len())
            .sum()
    }

    /// Unexpected messages in all contexts.
    #[must_use]
    pub fn unexpected_len(&self) -> usize {
        self.objects
            .iter()
            .map(|object| object.queues.unexpected_len())
            .sum()
    }

    /// Posted receives and unexpected messages in one context.
    ///
    /// # Cost
    /// Constant if the structure is of context scope, as `indexed` is; otherwise visits the entries of
    /// all contexts.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn context_lengths(&self, context: impl Into<ContextId>) -> Result<(usize, usize), Error> {
        let id = context.into();
        let found = self.context(id)?;
        let queues = &self.objects[found.object()].queues;
        let (mut posted, mut unexpected) = (queues.posted_len(), queues.unexpected_len());
        if found.shares_object && posted + unexpected > 0 {
            (posted, unexpected) = (0, 0);
            queues.visit(&mut |entry| match entry {
                _ if entry.context() != id => {}
                Entry::Posted(..) => posted += 1,
                Entry::Unexpected(..) => unexpected += 1,
            });
        }
        Ok((posted, unexpected))
    }

    /// Unexpected messages in all contexts, and their weight, as the budget counts them; 0 in an
    /// engine with neither budget nor high-water marks.
    pub fn used(&self) -> Used {
        self.ledger
            .as_ref()
            .map_or_else(Used::default, |ledger| ledger.used())
    }

    /// The queues that serve a context, and a number that contexts share if they share queues.
    pub fn queues(&self, context: impl Into<ContextId>) -> Option<(usize, &Q)> {
        let object = self.directory.get(context.into())?.object();
        Some((object, &self.objects[object].queues))
    }

    /// Drops all entries and forgets what was learned about senders, calls and lengths. Contexts stay,
    /// and so does as much memory as if the entries had left one by one.
    ///
    /// # Panics
    /// If dropping a payload panics; the engine is unusable then.
    pub fn clear(&mut self) {
        self.objects
            .iter_mut()
            .for_each(|object| object.queues.clear());
        if let Some(ledger) = &mut self.ledger {
            ledger.clear();
        }
    }
}
