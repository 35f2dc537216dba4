//! Leads: one object of a structure for each context, found through a list of contexts.
//!
//! The published per-communicator designs reach a communicator's queues through a list of
//! `ContextIdLead`s, one step per communicator passed (Zounmevo & Afsahi 2014, Table 3).
//! [`Engine`](crate::Engine) gives every context its own `Leads`, so there the list has one member; a
//! `Leads` used without an engine behaves as published.

use crate::collective::CollectiveCall;
use crate::config::Config;
use crate::envelope::{ContextId, Envelope};
use crate::handle::{Handle, MessageHandle};
use crate::memory::{Footprint, Memory, vec_bytes};
use crate::meter::Meter;
use crate::pattern::Pattern;
use crate::queues::{
    ArriveOf, EntryOf, EnvelopeOf, FoundMessageOf, FoundReceiveOf, MatchQueues, PostOf, RemovedOf,
    Scope, TakenMessageOf,
};
use crate::slab::LAST_ASKED;

/// A structure of one context, lifted to many.
///
/// Entries are purged and visited context by context, in the order the contexts were first used.
#[derive(Debug)]
pub struct Leads<S> {
    config: Config,
    contexts: Vec<ContextId>,
    queues: Vec<S>,
    sizes: Vec<Sizes>,
    /// Contexts that are to be planned for another size once they are empty.
    waiting: u32,
    /// Entries that came to queues that no longer exist: of a context that is gone, or that was planned anew.
    queued_before: u32,
}

/// Sizes of a context's communicator.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// What its queues were planned for.
    planned: Option<u32>,
    /// What they are to be planned for as soon as they hold nothing.
    next: Option<u32>,
}

impl<S: MatchQueues> Leads<S> {
    /// The queues of one context, if it was ever used.
    #[must_use]
    pub fn queues(&self, context: ContextId) -> Option<&S> {
        let position = self.contexts.iter().position(|&c| c == context)?;
        self.queues.get(position)
    }

    #[inline]
    fn find_mut(&mut self, context: ContextId, meter: &mut impl Meter) -> Option<&mut S> {
        let position = self.position(context, meter)?;
        self.queues.get_mut(position)
    }

    #[inline]
    fn find_or_make(&mut self, context: ContextId, meter: &mut impl Meter) -> &mut S {
        let position = match self.position(context, meter) {
            Some(position) => {
                if self.waiting > 0 {
                    self.plan_if_empty(position);
                }
                position
            }
            None => self.make(context),
        };
        &mut self.queues[position]
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "there are at most 2^32 contexts"
    )]
    fn position(&self, context: ContextId, meter: &mut impl Meter) -> Option<usize> {
        let position = self.contexts.iter().position(|&c| c == context);
        meter.passed(position.map_or(self.contexts.len(), |p| p + 1) as u32);
        position
    }

    #[cold]
    fn make(&mut self, context: ContextId) -> usize {
        self.contexts.push(context);
        self.queues.push(S::with_config(&self.config));
        self.sizes.push(Sizes {
            planned: self.config.size,
            next: None,
        });
        self.queues.len() - 1
    }

    /// Makes the queues of a context anew, for its next size, if it has one and holds no entries. Handles stay
    /// stale.
    #[cold]
    fn plan_if_empty(&mut self, position: usize) {
        let old = &self.queues[position];
        if old.posted_len() + old.unexpected_len() > 0 {
            return;
        }
        let Some(size) = self.sizes[position].next.take() else {
            return;
        };
        self.waiting -= 1;
        self.queued_before = self.queued_before.wrapping_add(old.queued_total());
        let first = self.config.first_sequence.max(old.next_sequence());
        let config = Config {
            first_sequence: first,
            ..self.config.clone().with_size(size)
        };
        self.queues[position] = S::with_config(&config);
        self.sizes[position].planned = Some(size);
    }
}

impl<S: MatchQueues> MatchQueues for Leads<S> {
    type Pattern = S::Pattern;
    type Receive = S::Receive;
    type Message = S::Message;

    fn with_config(config: &Config) -> Self {
        Self {
            config: config.clone(),
            contexts: Vec::new(),
            queues: Vec::new(),
            sizes: Vec::new(),
            waiting: 0,
            queued_before: 0,
        }
    }

    fn scope(_: &Config) -> Scope {
        Scope::Context
    }

    #[inline]
    fn post_metered(
        &mut self,
        pattern: S::Pattern,
        receive: S::Receive,
        meter: &mut impl Meter,
    ) -> PostOf<Self> {
        self.find_or_make(pattern.context(), meter)
            .post_metered(pattern, receive, meter)
    }

    #[inline]
    fn arrive_metered(
        &mut self,
        envelope: EnvelopeOf<S>,
        message: S::Message,
        meter: &mut impl Meter,
    ) -> ArriveOf<Self> {
        self.find_or_make(envelope.context(), meter)
            .arrive_metered(envelope, message, meter)
    }

    fn extract_metered(
        &mut self,
        pattern: &S::Pattern,
        meter: &mut impl Meter,
    ) -> Option<(EnvelopeOf<S>, S::Message)> {
        self.find_mut(pattern.context(), meter)?
            .extract_metered(pattern, meter)
    }

    fn deliver_metered(
        &mut self,
        envelope: &EnvelopeOf<S>,
        meter: &mut impl Meter,
    ) -> Option<(S::Pattern, S::Receive)> {
        self.find_mut(envelope.context(), meter)?
            .deliver_metered(envelope, meter)
    }

    fn probe_metered(
        &mut self,
        pattern: &S::Pattern,
        meter: &mut impl Meter,
    ) -> Option<(EnvelopeOf<S>, &S::Message)> {
        self.find_mut(pattern.context(), meter)?
            .probe_metered(pattern, meter)
    }

    fn find_metered(
        &mut self,
        pattern: &S::Pattern,
        meter: &mut impl Meter,
    ) -> Option<FoundMessageOf<'_, Self>> {
        self.find_mut(pattern.context(), meter)?
            .find_metered(pattern, meter)
    }

    fn find_receive_metered(
        &mut self,
        envelope: &EnvelopeOf<S>,
        meter: &mut impl Meter,
    ) -> Option<FoundReceiveOf<'_, Self>> {
        self.find_mut(envelope.context(), meter)?
            .find_receive_metered(envelope, meter)
    }

    fn take(&mut self, message: MessageHandle) -> Option<TakenMessageOf<Self>> {
        self.find_mut(message.context(), &mut crate::Unmetered)?
            .take(message)
    }

    fn queue_receive(&mut self, pattern: S::Pattern, receive: S::Receive) -> Handle {
        self.find_or_make(pattern.context(), &mut crate::Unmetered)
            .queue_receive(pattern, receive)
    }

    fn queue_message(&mut self, envelope: EnvelopeOf<Self>, message: S::Message) -> MessageHandle {
        self.find_or_make(envelope.context(), &mut crate::Unmetered)
            .queue_message(envelope, message)
    }

    fn cancel(&mut self, handle: Handle) -> Option<S::Receive> {
        self.find_mut(handle.context(), &mut crate::Unmetered)?
            .cancel(handle)
    }

    fn purge(
        &mut self,
        select: &mut dyn FnMut(EntryOf<'_, Self>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Self>),
    ) {
        // `select` sees all entries before any is removed.
        let mut chosen = Vec::new();
        self.visit(&mut |entry| chosen.push(select(entry)));
        let mut chosen = chosen.into_iter();
        for queues in &mut self.queues {
            queues.purge(&mut |_| chosen.next().unwrap_or(false), back);
        }
    }

    fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Self>)) {
        for queues in &self.queues {
            queues.visit(visitor);
        }
    }

    fn posted_len(&self) -> usize {
        self.queues.iter().map(S::posted_len).sum()
    }

    fn unexpected_len(&self) -> usize {
        self.queues.iter().map(S::unexpected_len).sum()
    }

    fn next_sequence(&self) -> u64 {
        let sequences = self.queues.iter().map(S::next_sequence);
        // Those of a context that no longer exists count too.
        sequences.fold(self.config.first_sequence, u64::max)
    }

    fn queued_total(&self) -> u32 {
        let queued = self.queues.iter().map(S::queued_total);
        queued.fold(self.queued_before, u32::wrapping_add)
    }

    fn raise_sequence(&mut self, sequence: u64) {
        let sequence = sequence.min(LAST_ASKED);
        self.config.first_sequence = self.config.first_sequence.max(sequence);
        self.queues
            .iter_mut()
            .for_each(|q| q.raise_sequence(sequence));
    }

    fn add_context(&mut self, config: &Config) {
        let first = self.config.first_sequence.max(config.first_sequence);
        self.config.first_sequence = first;
        self.queues.iter_mut().for_each(|q| q.add_context(config));
    }

    fn remove_context(&mut self, context: ContextId) {
        let Some(position) = self.contexts.iter().position(|&c| c == context) else {
            return;
        };
        // Its handles stay stale even if a context with this number is created again.
        let queues = self.queues.remove(position);
        let next = queues.next_sequence();
        self.queued_before = self.queued_before.wrapping_add(queues.queued_total());
        self.contexts.remove(position);
        let sizes = self.sizes.remove(position);
        self.waiting -= u32::from(sizes.next.is_some());
        self.config.first_sequence = self.config.first_sequence.max(next);
    }

    /// A context is planned for its size when it is empty, and until then as before: a plan for too few or too
    /// many ranks is still correct. So is one for a size that is not known any more, which stays. Contexts created
    /// later get this size too.
    fn update_context(&mut self, context: ContextId, config: &Config) {
        let Some(size) = config.size else {
            return;
        };
        self.config.size = Some(size);
        let Some(position) = self.contexts.iter().position(|&c| c == context) else {
            return;
        };
        let sizes = &mut self.sizes[position];
        self.waiting -= u32::from(sizes.next.take().is_some());
        if sizes.planned == Some(size) {
            return;
        }
        sizes.next = Some(size);
        self.waiting += 1;
        self.plan_if_empty(position);
    }

    fn clear(&mut self) {
        self.queues.iter_mut().for_each(S::clear);
    }

    fn announce(&mut self, call: &CollectiveCall) {
        if let Some(queues) = self.find_mut(call.context, &mut crate::Unmetered) {
            queues.announce(call);
        }
    }
}

impl<S: Footprint> Footprint for Leads<S> {
    fn memory(&self) -> Memory {
        let leads = Memory {
            entries: 0,
            index: vec_bytes(&self.contexts) + vec_bytes(&self.queues) + vec_bytes(&self.sizes),
        };
        self.queues.iter().map(S::memory).fold(leads, |a, b| a + b)
    }
}

#[cfg(test)]
mod tests;
