//! What is written to a session's trace, with the session's numbers of contexts. A probe that would see
//! nothing again is left out.

use std::collections::HashSet;

use mq_core::ContextId;
use mq_core::mpi::{MpiEnvelope, MpiPattern};

use super::Watch;
use crate::session::Tally;

/// More probes that differ are recorded each time.
const MISSED: usize = 4096;

impl Watch {
    /// The pattern with the session's number for its context.
    fn pattern_in_session(&self, pattern: &MpiPattern) -> MpiPattern {
        let context = self.session_context(pattern.context());
        MpiPattern::new(context, pattern.source(), pattern.tag())
    }

    fn session_context(&self, context: ContextId) -> u32 {
        self.contexts
            .get(&context.0)
            .map_or(0, |named| named.number)
    }

    pub(super) fn record_receive(&self, pattern: &MpiPattern, matched: Option<u32>) -> u32 {
        let Some(session) = &self.session else {
            return 0;
        };
        session.record(|recorder| recorder.posted(&self.pattern_in_session(pattern), matched))
    }

    pub(super) fn record_message(&self, envelope: &MpiEnvelope, matched: Option<u32>) -> u32 {
        let Some(session) = &self.session else {
            return 0;
        };
        let context = self.session_context(envelope.context());
        let envelope = MpiEnvelope::new(context, envelope.source().0, envelope.tag().0);
        session.record(|recorder| recorder.arrived(&envelope, matched))
    }

    pub(super) fn record_probe(&self, pattern: &MpiPattern, seen: Option<u32>) {
        if let Some(session) = &self.session {
            let pattern = self.pattern_in_session(pattern);
            session.record(|recorder| recorder.probed(&pattern, seen));
        }
    }

    pub(super) fn record_cancel(&self, receive: u32) {
        if let Some(session) = &self.session {
            session.record(|recorder| recorder.cancelled(receive));
        }
    }

    /// The search turned out not to be the first half of a receive: it was a probe.
    pub(super) fn settle_search(&mut self) {
        let Some(search) = self.pending.take() else {
            return;
        };
        self.each_tally(Tally::probed);
        let seen = search.seen.map(|(_, number)| number);
        if seen.is_none() && self.note_missed(&search.pattern) {
            return;
        }
        self.record_probe(&search.pattern, seen);
    }

    /// A message is queued: probes may see it. To empty a set takes the time of its room, so one that has much more
    /// than it held goes.
    pub(super) fn forget_missed(&mut self) {
        if self.missed.capacity() > 8 * self.missed.len() + 64 {
            self.missed = HashSet::new();
        } else {
            self.missed.clear();
        }
    }

    /// Notes a probe that saw nothing; returns whether the trace has one that tells of it: the same, with no message
    /// queued since.
    fn note_missed(&mut self, pattern: &MpiPattern) -> bool {
        let Some(session) = &self.session else {
            return true;
        };
        if self.missed.contains(pattern) {
            session.probe_left_out();
            return true;
        }
        if self.missed.len() < MISSED {
            self.missed.insert(*pattern);
        }
        false
    }
}
