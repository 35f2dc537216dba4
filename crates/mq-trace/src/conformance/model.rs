//! [`Model`]: the oracle, and the budget as it should be.

use std::collections::BTreeMap;

use mq_core::{Entry, Error, MatchQueues, Pattern};

use super::Setup;
use super::family::Family;
use super::step::Step;
use super::subject::{Bare, Outcome, Subject, weigh};
use crate::oracle::Oracle;

/// The oracle, with the budget worked out from what it holds.
pub(super) struct Model<P: Pattern> {
    oracle: Bare<Oracle<P, u32, u32>>,
    setup: Setup,
    in_engine: bool,
}

impl<P: Pattern> Model<P> {
    /// The model of queues used alone.
    pub(super) fn of_queues(setup: &Setup) -> Self {
        Self {
            oracle: Bare::new(setup),
            setup: setup.clone(),
            in_engine: false,
        }
    }

    /// The model of an engine.
    pub(super) fn of_engine(setup: &Setup) -> Self {
        Self {
            in_engine: true,
            ..Self::of_queues(setup)
        }
    }

    const fn is_limited(&self) -> bool {
        self.setup.entry_budget.is_some() || self.setup.byte_budget.is_some()
    }

    /// Why a message cannot be queued now, from the messages that are.
    fn refusal(&self, message: u32) -> Option<Error> {
        let queues = &self.oracle.queues;
        if let Some(limit) = self.setup.entry_budget
            && queues.unexpected_len() >= limit
        {
            return Some(Error::EntryBudget { limit });
        }
        let limit = self.setup.byte_budget?;
        let mut used = 0;
        queues.visit(&mut |entry| {
            if let Entry::Unexpected(_, queued) = entry {
                used += weigh(queued);
            }
        });
        let wanted = weigh(&message);
        (used + wanted > limit).then_some(Error::ByteBudget {
            limit,
            used,
            wanted,
        })
    }
}

impl<P: Pattern> Subject<P> for Model<P> {
    fn perform<F: Family<Pattern = P>>(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Arrive(carried) | Step::ArriveHalves(carried)
                if self.in_engine && self.is_limited() =>
            {
                let message = self.oracle.numbers.messages;
                let Some(error) = self.refusal(message) else {
                    return self.oracle.perform::<F>(step);
                };
                self.oracle.numbers.next_message();
                match self.oracle.perform::<F>(&Step::Deliver(*carried)) {
                    Outcome::Nothing => Outcome::Refused(error, message),
                    matched => matched,
                }
            }
            _ => self.oracle.perform::<F>(step),
        }
    }

    fn lengths(&self) -> (usize, usize) {
        self.oracle.lengths()
    }

    fn contents(&self) -> BTreeMap<u32, Vec<String>> {
        self.oracle.contents()
    }
}
