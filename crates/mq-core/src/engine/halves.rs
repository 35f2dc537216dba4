//! The two halves of a step: searching without queueing, and queueing without a search.

use super::Engine;
use super::ledger::Ledger;
use crate::error::{Error, Refused};
use crate::handle::{Handle, MessageHandle};
use crate::meter::{Meter, Unmetered};
use crate::queues::{
    EnvelopeOf, FoundMessageOf, FoundReceiveOf, MatchQueues, TakenMessageOf, TakenReceiveOf,
};

/// Steps in halves, each as in [`MatchQueues`] after checking its arguments: for a library that must
/// act between search and insertion.
///
/// ```
/// use mq_core::mpi::{MpiEnvelope, MpiPattern};
/// use mq_core::structures::Indexed;
/// use mq_core::{ContextOptions, Engine};
///
/// let mut engine: Engine<Indexed<MpiPattern, u64, Box<[u8]>>> = Engine::new();
/// engine.create_context(0, ContextOptions::new())?;
/// let envelope = MpiEnvelope::new(0, 3, 7);
/// if engine.deliver(&envelope)?.is_none() {
///     // Only now is a buffer needed.
///     engine.queue_message(envelope, Box::new([1, 2]))?;
/// }
/// let (handle, _, message) = engine.find(&MpiPattern::new(0, 3, 7))?.expect("it waits");
/// assert_eq!(**message, [1, 2]);
/// assert!(engine.take(handle).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<Q: MatchQueues> Engine<Q> {
    /// Takes an unexpected message out: see [`MatchQueues::extract`].
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    #[inline]
    pub fn extract(&mut self, pattern: &Q::Pattern) -> Result<Option<TakenMessageOf<Q>>, Error> {
        self.extract_metered(pattern, &mut Unmetered)
    }

    /// [`extract`](Self::extract), reporting the cost of its search.
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    #[inline]
    pub fn extract_metered(
        &mut self,
        pattern: &Q::Pattern,
        meter: &mut impl Meter,
    ) -> Result<Option<TakenMessageOf<Q>>, Error> {
        let object = self.for_pattern(pattern)?;
        let taken = self.objects[object].queues.extract_metered(pattern, meter);
        if self.ledger.is_some() {
            self.note_taken(&taken);
        }
        Ok(taken)
    }

    #[cold]
    fn note_taken(&mut self, taken: &Option<TakenMessageOf<Q>>) {
        if let (Some(ledger), Some((envelope, message))) = (&mut self.ledger, taken) {
            ledger.release(envelope, message);
        }
    }

    /// Shows an unexpected message and its handle: see [`MatchQueues::find`].
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    #[inline]
    pub fn find(&mut self, pattern: &Q::Pattern) -> Result<Option<FoundMessageOf<'_, Q>>, Error> {
        self.find_metered(pattern, &mut Unmetered)
    }

    /// [`find`](Self::find), reporting the cost of its search.
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    #[inline]
    pub fn find_metered(
        &mut self,
        pattern: &Q::Pattern,
        meter: &mut impl Meter,
    ) -> Result<Option<FoundMessageOf<'_, Q>>, Error> {
        let object = self.for_pattern(pattern)?;
        Ok(self.objects[object].queues.find_metered(pattern, meter))
    }

    /// Takes out the message whose handle [`find`](Self::find) or [`visit`](Self::visit) has shown; `None` if it has
    /// already left the queue.
    #[inline]
    #[must_use = "this is the message"]
    pub fn take(&mut self, message: MessageHandle) -> Option<TakenMessageOf<Q>> {
        let context = self.directory.get(message.context())?;
        let taken = self.objects[context.object()].queues.take(message);
        if self.ledger.is_some() {
            self.note_taken(&taken);
        }
        taken
    }

    /// Takes the posted receive that matches a message: see [`MatchQueues::deliver`].
    ///
    /// # Errors
    /// Nothing has changed if the context is unknown or the rank out of range.
    #[inline]
    pub fn deliver(
        &mut self,
        envelope: &EnvelopeOf<Q>,
    ) -> Result<Option<TakenReceiveOf<Q>>, Error> {
        self.deliver_metered(envelope, &mut Unmetered)
    }

    /// [`deliver`](Self::deliver), reporting the cost of its search.
    ///
    /// # Errors
    /// As `deliver`.
    #[inline]
    pub fn deliver_metered(
        &mut self,
        envelope: &EnvelopeOf<Q>,
        meter: &mut impl Meter,
    ) -> Result<Option<TakenReceiveOf<Q>>, Error> {
        let object = self.for_envelope(envelope)?;
        Ok(self.objects[object].queues.deliver_metered(envelope, meter))
    }

    /// Shows a posted receive and its handle: see [`MatchQueues::find_receive`].
    ///
    /// # Errors
    /// As [`deliver`](Self::deliver).
    #[inline]
    pub fn find_receive(
        &mut self,
        envelope: &EnvelopeOf<Q>,
    ) -> Result<Option<FoundReceiveOf<'_, Q>>, Error> {
        self.find_receive_metered(envelope, &mut Unmetered)
    }

    /// [`find_receive`](Self::find_receive), reporting the cost of its search.
    ///
    /// # Errors
    /// As [`deliver`](Self::deliver).
    #[inline]
    pub fn find_receive_metered(
        &mut self,
        envelope: &EnvelopeOf<Q>,
        meter: &mut impl Meter,
    ) -> Result<Option<FoundReceiveOf<'_, Q>>, Error> {
        let object = self.for_envelope(envelope)?;
        let queues = &mut self.objects[object].queues;
        Ok(queues.find_receive_metered(envelope, meter))
    }

    /// Queues a receive without a search: see [`MatchQueues::queue_receive`].
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    #[inline]
    pub fn queue_receive(
        &mut self,
        pattern: Q::Pattern,
        receive: Q::Receive,
    ) -> Result<Handle, Refused<Q::Receive>> {
        match self.for_pattern(&pattern) {
            Ok(object) => Ok(self.objects[object].queues.queue_receive(pattern, receive)),
            Err(error) => Err(Refused {
                error,
                payload: receive,
            }),
        }
    }

    /// Queues a message without a search: see [`MatchQueues::queue_message`].
    ///
    /// # Errors
    /// If the context is unknown, the rank out of range, or the budget used up. The message comes back,
    /// and nothing has changed.
    #[inline]
    pub fn queue_message(
        &mut self,
        envelope: EnvelopeOf<Q>,
        message: Q::Message,
    ) -> Result<MessageHandle, Refused<Q::Message>> {
        let object = match self.for_envelope(&envelope) {
            Ok(object) => object,
            Err(error) => {
                return Err(Refused {
                    error,
                    payload: message,
                });
            }
        };
        let queues = &mut self.objects[object].queues;
        if let Some(ledger) = &mut self.ledger {
            return Self::queue_limited(queues, ledger, envelope, message);
        }
        Ok(queues.queue_message(envelope, message))
    }

    #[cold]
    fn queue_limited(
        queues: &mut Q,
        ledger: &mut Ledger<Q::Message>,
        envelope: EnvelopeOf<Q>,
        message: Q::Message,
    ) -> Result<MessageHandle, Refused<Q::Message>> {
        match ledger.room_for(&envelope, &message) {
            Ok(weight) => {
                let handle = queues.queue_message(envelope, message);
                ledger.take(&envelope, weight);
                Ok(handle)
            }
            Err(error) => Err(Refused {
                error,
                payload: message,
            }),
        }
    }
}
