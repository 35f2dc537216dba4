//! [`Workload`]: one process of an application, as its queues see it.

use core::fmt;
use std::collections::TryReserveError;

use mq_core::mpi::MpiPattern;
use mq_core::structures::Indexed;
use mq_core::{Config, MatchQueues};

use super::depth::Filled;
use super::fit::Fit;
use super::halo::Neighbors;
use super::model::Model;
use super::outcomes::resolve;
use super::process::Process;
use super::statistics::Statistics;
use super::stream::Stream;
use super::{amr, fds, gather, halo, nbody, published, radix};
use crate::line::Line;

/// The most processes of a workload.
pub const MAX_RANKS: u32 = 1 << 20;

/// One process of an application, round after round.
///
/// ```
/// use mq_trace::generate::{Model, Statistics, Workload};
///
/// let workload = Workload::new(Model::Nbody, 256).with(|w| w.rank = 1);
/// let lines = workload.resolved(&mut |_| ());
/// assert_eq!(Statistics::of(&lines).posted.longest, 255);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Workload {
    /// The application.
    pub model: Model,
    /// Its processes, 2 to [`MAX_RANKS`]; a number beyond is taken for the nearest of these.
    pub ranks: u32,
    /// The process whose operations are made; a number that is not below `ranks` is taken for the last.
    pub rank: u32,
    /// How often it does what it does.
    pub rounds: u32,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Workload {
    /// Rank 0 of an application on this many processes, for 16 rounds, with seed 0.
    #[must_use]
    pub const fn new(model: Model, ranks: u32) -> Self {
        Self {
            model,
            ranks,
            rank: 0,
            rounds: 16,
            seed: 0,
        }
    }

    /// The same workload with a change: `Workload::new(Model::Nbody, 256).with(|w| w.rank = 1)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// How many operations it has.
    #[must_use]
    pub fn operations(&self) -> u64 {
        let (process, rounds) = (self.process(), self.rounds);
        let receives = match self.model {
            Model::Halo(neighbors) => halo::receives(process, neighbors, rounds),
            Model::Gather { .. } => gather::receives(process, rounds),
            Model::Nbody => nbody::receives(process, rounds),
            Model::Radix(keys) => radix::receives(process, keys, rounds),
            Model::Amr => amr::receives(process, rounds),
            Model::Fds => fds::receives(process, rounds),
        };
        // Each has its message.
        2 * receives
    }

    /// The operations as lines without outcomes.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.made(Vec::with_capacity(self.room()))
    }

    /// The number of its lines.
    fn room(&self) -> usize {
        usize::try_from(self.operations() + 1).unwrap_or(0)
    }

    /// Its lines without outcomes, in a vector that has none.
    fn made(&self, lines: Vec<Line>) -> Vec<Line> {
        let mut stream = Stream::new(self.process(), self.seed, lines);
        let (made, rounds) = (&mut stream, self.rounds);
        match self.model {
            Model::Halo(neighbors) => halo::run(made, neighbors, rounds),
            Model::Gather { order, filled } => gather::run(made, order, filled, rounds),
            Model::Nbody => nbody::run(made, rounds),
            Model::Radix(keys) => radix::run(made, keys, rounds),
            Model::Amr => amr::run(made, rounds),
            Model::Fds => fds::run(made, rounds),
        }
        stream.into_lines()
    }

    /// The operations as lines with the outcomes that the matching rules give.
    ///
    /// # Cost
    /// `indexed` gives them: an oracle would take days for the longest queues. `progress` gets the number of
    /// operations done.
    pub fn resolved(&self, progress: &mut dyn FnMut(usize)) -> Vec<Line> {
        self.with_outcomes(self.lines(), progress)
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
        Ok(self.with_outcomes(self.made(lines), progress))
    }

    fn with_outcomes(&self, mut lines: Vec<Line>, progress: &mut dyn FnMut(usize)) -> Vec<Line> {
        let config = Config::default().with_size(self.process().ranks);
        let queues = Indexed::<MpiPattern, u32, u32>::with_config(&config);
        resolve(&mut lines, queues, progress);
        lines
    }

    /// What was published of this process of the application, beside the statistics of its lines.
    #[must_use]
    pub fn fit(&self, statistics: &Statistics) -> Fit {
        let process = self.process();
        let configurations = match self.model {
            Model::Halo(Neighbors::All) => published::halo(),
            Model::Gather {
                filled: Filled::Posted,
                ..
            } if gather::is_root(process) => published::gather(),
            Model::Halo(_) | Model::Gather { .. } => Vec::new(),
            Model::Nbody => published::nbody(process),
            Model::Radix(keys) => published::radix(process, keys),
            Model::Amr => published::amr(),
            Model::Fds => published::fds(process),
        };
        Fit::of(&configurations, process.ranks, statistics)
    }

    fn process(&self) -> Process {
        let ranks = self.ranks.clamp(2, MAX_RANKS);
        let rank = self.rank.min(ranks - 1);
        Process { ranks, rank }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Process { ranks, rank } = self.process();
        write!(f, "{}-{ranks}-r{rank}", self.model.name())
    }
}
