//! What is recorded about entries that leave without a match: purged, freed with their context, or
//! taken by name.

use std::collections::HashMap;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::{Engine, Entry, Error, Removed, Source};

use super::Watch;
use crate::matching::{Queues, RemovedOf, purge};
use crate::session::{Session, Tally};
use crate::shown::Shown;

/// The numbers of the earliest messages of each envelope that stay queued.
type Staying = HashMap<MpiEnvelope, u32>;

impl Watch {
    pub(crate) fn purge(
        &mut self,
        engine: &mut Engine<Queues>,
        context: Option<u32>,
        select: &mut dyn FnMut(Shown) -> bool,
        back: &mut dyn FnMut(&RemovedOf),
    ) -> Result<(), Error> {
        self.settle_search();
        let mut removed = Vec::new();
        let purged = purge(
            engine,
            context,
            &mut |entry| select(self.shown(&entry)),
            &mut |entry| removed.push(entry),
        );
        self.removed(engine, removed, back);
        purged
    }

    pub(crate) fn free_context(
        &mut self,
        engine: &mut Engine<Queues>,
        context: u32,
        back: &mut dyn FnMut(&RemovedOf),
    ) -> Result<(), Error> {
        self.settle_search();
        let mut removed = Vec::new();
        let freed = engine.free_context(context, &mut |entry| removed.push(entry));
        self.removed(engine, removed, back);
        if freed.is_ok()
            && let Some(named) = self.contexts.remove(&context)
            && let Some(session) = &self.session
        {
            session.context_freed(named.number);
            self.missed.retain(|pattern| pattern.context().0 != context);
        }
        freed
    }

    /// The engine is freed: what is still queued leaves, in the trace and in the counts, as with its context.
    pub(crate) fn engine_freed(&mut self, engine: &mut Engine<Queues>) {
        let all = self.purge(engine, None, &mut |_| true, &mut |_| ());
        debug_assert!(all.is_ok(), "no context was named");
    }

    fn removed(
        &mut self,
        engine: &Engine<Queues>,
        removed: Vec<RemovedOf>,
        back: &mut dyn FnMut(&RemovedOf),
    ) {
        let is_message = |entry: &RemovedOf| matches!(entry, Removed::Unexpected(..));
        let staying = if removed.iter().any(is_message) && self.traces() {
            self.staying(engine)
        } else {
            Staying::new()
        };
        for entry in removed {
            match entry {
                Removed::Posted(pattern, receive) => {
                    let cookie = self.withdrawn(receive);
                    back(&Removed::Posted(pattern, cookie));
                }
                Removed::Unexpected(envelope, message) => {
                    let (message, number) = self.message_left(message);
                    self.each_tally(Tally::removed);
                    self.record_removal(&envelope, number, staying.get(&envelope).copied());
                    back(&Removed::Unexpected(envelope, message));
                }
            }
        }
    }

    /// Whether what is removed is written to a trace.
    fn traces(&self) -> bool {
        self.session.as_deref().is_some_and(Session::traces)
    }

    /// One pass over everything queued, however much is removed.
    fn staying(&self, engine: &Engine<Queues>) -> Staying {
        let mut staying = Staying::new();
        engine.visit(&mut |entry| {
            if let Entry::Unexpected(_, envelope, message) = entry {
                let number = self.messages.get(message.cookie).number;
                let earliest = staying.entry(envelope).or_insert(number);
                *earliest = number.min(*earliest);
            }
        });
        staying
    }

    /// The number of the earliest queued message with this envelope, for a trace.
    pub(super) fn earliest_like(
        &self,
        engine: &mut Engine<Queues>,
        envelope: &MpiEnvelope,
    ) -> Option<u32> {
        if !self.traces() {
            return None;
        }
        let (.., message) = engine.find(&exactly(envelope)).ok().flatten()?;
        Some(self.messages.get(message.cookie).number)
    }

    /// A message left without a receive. The only line that a trace has for this is a receive of
    /// exactly its envelope, which says the same if no earlier message of that envelope `stays`
    /// queued.
    pub(super) fn record_removal(&self, envelope: &MpiEnvelope, number: u32, stays: Option<u32>) {
        if stays.is_some_and(|earlier| earlier < number) {
            if let Some(session) = &self.session {
                session.end_trace("a message was withdrawn before an earlier one like it");
            }
            return;
        }
        self.record_receive(&exactly(envelope), Some(number));
    }
}

/// A receive that asks for exactly this.
fn exactly(envelope: &MpiEnvelope) -> MpiPattern {
    let source = Source::Rank(envelope.source());
    MpiPattern::new(envelope.context().0, source, envelope.tag().0).with_class(envelope.class())
}
