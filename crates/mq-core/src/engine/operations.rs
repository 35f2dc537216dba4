//! The operations of an [`Engine`].

use super::Engine;
use super::ledger::Ledger;
use super::object::{own_for_message, own_for_receive};
use crate::collective::CollectiveCall;
use crate::envelope::{ContextId, Envelope, Rank};
use crate::error::{Error, Refused};
use crate::handle::Handle;
use crate::meter::{Meter, Unmetered};
use crate::pattern::{Pattern, Source};
use crate::queues::{Arrive, ArriveOf, EnvelopeOf, MatchQueues, Post, PostOf, SeenMessageOf};

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
            // Rank 0 is in range everywhere.
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
    pub fn probe(&mut self, pattern: &Q::Pattern) -> Result<Option<SeenMessageOf<'_, Q>>, Error> {
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
    ) -> Result<Option<SeenMessageOf<'_, Q>>, Error> {
        let object = self.for_pattern(pattern)?;
        Ok(self.objects[object].queues.probe_metered(pattern, meter))
    }

    /// Takes a posted receive out by its handle; `None` if it has already left the queue: see
    /// [`MatchQueues::cancel`].
    #[inline]
    #[must_use = "`None` means that the receive has matched; otherwise this is the receive"]
    pub fn cancel(&mut self, handle: Handle) -> Option<Q::Receive> {
        let context = self.directory.get(handle.context())?;
        self.objects[context.object()].queues.cancel(handle)
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
}
