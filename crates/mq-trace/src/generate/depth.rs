//! Patterns of queue depth: one queue is filled to a depth and drained, round after round.

use core::fmt;
use std::collections::TryReserveError;

use mq_core::mpi::MpiPattern;
use mq_core::{Config, MatchQueues};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::names::named;
use super::outcomes::resolve;
use crate::line::{Line, SourceField, TagField};
use crate::oracle::Oracle;
use crate::trace::Trace;

named! {
    /// The order in which the filled queue is drained.
    Order {
        /// First in, first out: every search ends at the head of the queue.
        Forward = "forward",
        /// Last in, first out: every search of a list visits the whole queue.
        Reverse = "reverse",
        /// Shuffled: a search of a list visits half the queue on average.
        Random = "random",
    }
}

named! {
    /// Which queue is filled.
    Filled {
        /// Receives are posted before their messages arrive.
        Posted = "posted",
        /// Messages arrive before their receives are posted.
        Unexpected = "unexpected",
    }
}

named! {
    /// What distinguishes the messages.
    KeyedBy {
        /// Each comes from another rank, all with one tag.
        Source = "source",
        /// All come from one rank, each with another tag.
        Tag = "tag",
    }
}

/// A queue filled to a depth and drained in some order, round after round.
///
/// ```
/// use mq_trace::generate::{DepthPattern, Order};
///
/// let pattern = DepthPattern::default().with(|p| (p.depth, p.order) = (64, Order::Random));
/// assert_eq!(pattern.trace().operations().len(), 128);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct DepthPattern {
    /// Entries in the filled queue, over all communicators.
    pub depth: u32,
    /// The order in which it is drained.
    pub order: Order,
    /// Which queue is filled.
    pub filled: Filled,
    /// What distinguishes the entries.
    pub keyed_by: KeyedBy,
    /// Share of receives from any source, 0 to 1.
    pub any_source: f64,
    /// Share of receives of any tag, 0 to 1; independent of `any_source`.
    pub any_tag: f64,
    /// Communicators that the entries are dealt to in turn.
    pub contexts: u32,
    /// How often the queue is filled and drained.
    pub rounds: u32,
    /// Seed of all random choices.
    pub seed: u64,
}

/// 1024 unexpected messages from as many ranks, taken in reverse order, once.
impl Default for DepthPattern {
    fn default() -> Self {
        Self {
            depth: 1024,
            order: Order::Reverse,
            filled: Filled::Unexpected,
            keyed_by: KeyedBy::Source,
            any_source: 0.0,
            any_tag: 0.0,
            contexts: 1,
            rounds: 1,
            seed: 0,
        }
    }
}

/// The tag of messages told apart by source, and the rank of those told apart by tag.
const COMMON: u32 = 1;

impl DepthPattern {
    /// The same pattern with a change: `DepthPattern::default().with(|p| p.depth = 64)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The pattern as lines without outcomes.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.made(Vec::with_capacity(self.room()))
    }

    /// The number of its lines.
    fn room(&self) -> usize {
        let operations = 2 * u64::from(self.depth) * u64::from(self.rounds);
        usize::try_from(operations + u64::from(self.contexts.max(1))).unwrap_or(0)
    }

    /// Its lines without outcomes, in a vector that has none.
    fn made(&self, mut lines: Vec<Line>) -> Vec<Line> {
        let mut random = StdRng::seed_from_u64(self.seed);
        let contexts = self.contexts.max(1);
        lines.extend((0..contexts).map(|comm| self.declare(comm)));
        for _ in 0..self.rounds {
            self.round(&mut random, &mut lines);
        }
        lines
    }

    /// The pattern as a trace in memory, without outcomes: for timing.
    #[must_use]
    pub fn trace(&self) -> Trace {
        Trace::from_lines(&self.to_string(), &self.lines())
    }

    /// The pattern as lines with the outcomes that the matching rules give.
    ///
    /// # Cost
    /// Quadratic in the depth; `progress` gets the number of operations done.
    pub fn resolved(&self, progress: &mut dyn FnMut(usize)) -> Vec<Line> {
        Self::with_outcomes(self.lines(), progress)
    }

    /// As [`resolved`](Self::resolved), where memory may be short.
    ///
    /// # Errors
    /// There is not enough for the lines; nothing was made.
    pub fn try_resolved(
        &self,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Line>, TryReserveError> {
        let mut lines = Vec::new();
        lines.try_reserve_exact(self.room())?;
        Ok(Self::with_outcomes(self.made(lines), progress))
    }

    fn with_outcomes(mut lines: Vec<Line>, progress: &mut dyn FnMut(usize)) -> Vec<Line> {
        let oracle = Oracle::<MpiPattern, u32, u32>::with_config(&Config::default());
        resolve(&mut lines, oracle, progress);
        lines
    }

    fn declare(&self, comm: u32) -> Line {
        let size = match self.keyed_by {
            KeyedBy::Source => self.depth.max(1),
            KeyedBy::Tag => COMMON + 1,
        };
        Line::Communicator {
            comm,
            size,
            my_rank: 0,
        }
    }

    fn round(&self, random: &mut StdRng, lines: &mut Vec<Line>) {
        let mut drained: Vec<u32> = (0..self.depth).collect();
        match self.order {
            Order::Forward => {}
            Order::Reverse => drained.reverse(),
            Order::Random => drained.shuffle(random),
        }
        match self.filled {
            Filled::Posted => {
                lines.extend((0..self.depth).map(|i| self.post(i, random)));
                lines.extend(drained.iter().map(|&i| self.arrive(i)));
            }
            Filled::Unexpected => {
                lines.extend((0..self.depth).map(|i| self.arrive(i)));
                lines.extend(drained.iter().map(|&i| self.post(i, random)));
            }
        }
    }

    /// The communicator, source and tag of entry `i`.
    fn key(&self, i: u32) -> (u32, u32, i32) {
        let comm = i % self.contexts.max(1);
        match self.keyed_by {
            KeyedBy::Source => (comm, i, COMMON.cast_signed()),
            KeyedBy::Tag => (comm, COMMON, (i & 0x7fff_ffff).cast_signed()),
        }
    }

    fn arrive(&self, i: u32) -> Line {
        let (comm, source, tag) = self.key(i);
        Line::Arrive {
            comm,
            source,
            tag,
            matched: None,
        }
    }

    fn post(&self, i: u32, random: &mut StdRng) -> Line {
        let (comm, source, tag) = self.key(i);
        let any_source = random.random_bool(probability(self.any_source));
        let any_tag = random.random_bool(probability(self.any_tag));
        Line::Post {
            comm,
            source: if any_source {
                SourceField::Any
            } else {
                SourceField::Rank(source)
            },
            tag: if any_tag {
                TagField::Any
            } else {
                TagField::Tag(tag)
            },
            matched: None,
        }
    }
}

impl fmt::Display for DepthPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            depth,
            order,
            filled,
            keyed_by,
            ..
        } = self;
        write!(f, "{order}-{filled}-by-{keyed_by}-{depth}")
    }
}

/// A share as a probability: what is no number is none.
fn probability(share: f64) -> f64 {
    if share > 0.0 { share.min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use mq_core::structures::Kind;

    #[test]
    fn every_pattern_is_reproduced_by_every_structure() {
        for &order in Order::ALL {
            for &filled in Filled::ALL {
                for &keyed_by in KeyedBy::ALL {
                    let pattern = DepthPattern {
                        depth: 150,
                        order,
                        filled,
                        keyed_by,
                        any_source: 0.1,
                        any_tag: 0.1,
                        contexts: 3,
                        rounds: 2,
                        seed: 7,
                    };
                    let trace = Trace::from_lines("test", &pattern.resolved(&mut |_| ()));
                    for &kind in Kind::ALL {
                        let report = check(&trace, kind);
                        assert_eq!(report.first_mismatch, None, "{kind} on {pattern}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_order_decides_what_a_list_visits() {
        let depth = 64;
        for (order, mean) in [(Order::Forward, 1.0), (Order::Reverse, 32.5)] {
            let pattern = DepthPattern {
                depth,
                order,
                ..DepthPattern::default()
            };
            let report = check(&pattern.trace(), Kind::List);
            assert!(
                (report.mean_unexpected_visited() - mean).abs() < 1e-9,
                "{order}"
            );
        }
    }

    #[test]
    fn shares_beyond_all_and_none_are_all_and_none() {
        let lines = |any_source| {
            let pattern = DepthPattern {
                any_source,
                ..DepthPattern::default()
            };
            pattern.lines()
        };
        assert_eq!(lines(7.0), lines(1.0));
        assert_eq!(lines(-1.0), lines(0.0));
        assert_eq!(lines(f64::NAN), lines(0.0));
    }

    #[test]
    fn the_same_seed_gives_the_same_lines() {
        let pattern = DepthPattern {
            order: Order::Random,
            any_source: 0.5,
            ..DepthPattern::default()
        };
        assert_eq!(pattern.lines(), pattern.lines());
        assert_ne!(pattern.lines(), DepthPattern { seed: 1, ..pattern }.lines());
    }
}
