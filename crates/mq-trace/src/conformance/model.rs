//! [`Model`]: the oracle, with the expected behaviour of budgets and marks.

use std::collections::BTreeMap;

use mq_core::{Entry, Envelope, Error, MatchQueues, Pattern, Used};

use super::Setup;
use super::bare::Bare;
use super::engined::weigh;
use super::family::EnvelopeFamily;
use super::step::Step;
use super::subject::{Numbers, Outcome, Subject};
use crate::oracle::Oracle;

/// The oracle, with the budget computed from what it holds.
pub(super) struct Model<P: Pattern> {
    oracle: Bare<Oracle<P, u32, u32>>,
    setup: Setup,
    in_engine: bool,
    /// Whether a high mark was reached and the low mark has not been reached since.
    above: bool,
    crossings: Vec<usize>,
}

impl<P: Pattern> Model<P> {
    /// The model of queues used without an engine.
    pub(super) fn of_queues(setup: &Setup) -> Self {
        Self {
            oracle: Bare::new(setup),
            setup: setup.clone(),
            in_engine: false,
            above: false,
            crossings: Vec::new(),
        }
    }

    /// The model of an engine.
    pub(super) fn of_engine(setup: &Setup) -> Self {
        Self {
            in_engine: true,
            ..Self::of_queues(setup)
        }
    }

    /// The messages of those that `counts` chooses, and their weight.
    fn use_of(&self, counts: impl Fn(&P::Envelope) -> bool) -> Used {
        let mut used = Used::default();
        self.oracle.queues.visit(&mut |entry| {
            if let Entry::Unexpected(_, envelope, queued) = entry
                && counts(&envelope)
            {
                used.entries += 1;
                used.bytes += weigh(queued);
            }
        });
        used
    }

    /// Why a message cannot be queued now, from the messages that are.
    fn refusal(&self, envelope: &P::Envelope, message: u32) -> Option<Error> {
        let wanted = weigh(&message);
        let setup = &self.setup;
        let used = self.use_of(|_| true);
        if let Some(limit) = setup.entry_budget.filter(|&limit| used.entries >= limit) {
            return Some(Error::EntryBudget { limit });
        }
        let exceeded = |used: u64, limit: &u64| used + wanted > *limit;
        if let Some(limit) = setup
            .byte_budget
            .filter(|limit| exceeded(used.bytes, limit))
        {
            return Some(Error::ByteBudget {
                limit,
                used: used.bytes,
                wanted,
            });
        }
        let (context, rank) = (envelope.context(), envelope.source());
        let used = self.use_of(|other| (other.context(), other.source()) == (context, rank));
        let limit = setup.source_entry_budget;
        if let Some(limit) = limit.filter(|&limit| used.entries >= limit) {
            return Some(Error::SourceEntryBudget {
                context,
                rank,
                limit,
            });
        }
        let limit = setup.source_byte_budget;
        let limit = limit.filter(|limit| exceeded(used.bytes, limit))?;
        Some(Error::SourceByteBudget {
            context,
            rank,
            limit,
            used: used.bytes,
            wanted,
        })
    }

    /// Called after a step in which the queue grew by one message, or shrank.
    fn watch(&mut self) {
        let Some((high, low)) = self.setup.marks.filter(|_| self.in_engine) else {
            return;
        };
        let length = self.oracle.queues.unexpected_len();
        if length >= high && !self.above {
            self.above = true;
            self.crossings.push(length);
        } else if length <= low {
            self.above = false;
        }
    }

    fn answer<F: EnvelopeFamily<Pattern = P>>(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Arrive(carried) | Step::ArriveHalves(carried)
                if self.in_engine && self.setup.is_limited() =>
            {
                let message = self.oracle.numbers.messages;
                let Some(error) = self.refusal(&F::envelope(carried), message) else {
                    return self.oracle.perform::<F>(step);
                };
                self.oracle.numbers.next_message::<u32>();
                match self.oracle.perform::<F>(&Step::Deliver(*carried)) {
                    Outcome::Nothing => Outcome::Refused(error, message),
                    matched => matched,
                }
            }
            _ => self.oracle.perform::<F>(step),
        }
    }
}

impl<P: Pattern> Subject<P> for Model<P> {
    fn perform<F: EnvelopeFamily<Pattern = P>>(&mut self, step: &Step) -> Outcome {
        let outcome = self.answer::<F>(step);
        self.watch();
        outcome
    }

    fn numbers(&self) -> &Numbers {
        self.oracle.numbers()
    }

    fn into_numbers(self) -> Numbers {
        self.oracle.into_numbers()
    }

    fn lengths(&self) -> (usize, usize) {
        self.oracle.lengths()
    }

    fn queued_total(&self) -> Option<u32> {
        self.oracle.queued_total()
    }

    fn crossings(&self) -> Vec<usize> {
        self.crossings.clone()
    }

    fn used(&self) -> Option<Used> {
        let is_counted = self.setup.is_limited() || self.setup.marks.is_some();
        if !self.in_engine || !is_counted {
            return None;
        }
        let mut used = self.use_of(|_| true);
        if !self.setup.is_limited_in_bytes() {
            used.bytes = 0;
        }
        Some(used)
    }

    fn contents(&self) -> BTreeMap<u32, Vec<String>> {
        self.oracle.contents()
    }
}
