//! [`Statistics`]: what a process's queues were asked for, as a list would have served it.

use std::collections::TryReserveError;

use mq_core::{Tag, TrafficClass};

use crate::line::{Line, TagField};
use crate::standing::Standing;

/// The lengths of both queues and of their searches, as in the papers' tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// The posted receive queue (PRQ), which messages search.
    pub posted: QueueStatistics,
    /// The unexpected message queue (UMQ), which receives and probes search.
    pub unexpected: QueueStatistics,
}

/// The statistics of one queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct QueueStatistics {
    /// The most entries queued at a time, of all communicators.
    pub longest: u64,
    /// Of all operations.
    pub all: Counts,
    /// Of those that belong to collective operations, by Open MPI's tags.
    pub collective: Counts,
}

/// Sums over the operations of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Searches of the queue.
    pub searches: u64,
    /// Entries that they compared in one list of all communicators.
    pub visited: u64,
    /// Entries that were queued.
    pub queued: u64,
}

impl Counts {
    /// Entries that a search compared on average; 0 if there were no searches.
    #[must_use]
    pub fn mean_search(&self) -> f64 {
        ratio(self.visited, self.searches)
    }
}

impl Statistics {
    /// The statistics of the valid lines of a trace.
    ///
    /// # Cost
    /// No search is made: it follows from the outcome how many entries a list compares. So each operation takes
    /// time logarithmic in their number.
    #[must_use]
    pub fn of(lines: &[Line]) -> Self {
        let (receives, messages) = entries(lines);
        let room = |entries| Vec::with_capacity(entries + 1);
        Self::counted(lines, room(receives), room(messages))
    }

    /// As [`of`](Self::of), where memory may be short.
    ///
    /// # Errors
    /// There are not 4 bytes for each receive and message.
    pub fn try_of(lines: &[Line]) -> Result<Self, TryReserveError> {
        let (receives, messages) = entries(lines);
        let room = |entries: usize| -> Result<Vec<u32>, TryReserveError> {
            let mut nodes = Vec::new();
            nodes.try_reserve_exact(entries + 1)?;
            Ok(nodes)
        };
        Ok(Self::counted(lines, room(receives)?, room(messages)?))
    }

    /// The statistics, counted in vectors with room for all receives and all messages.
    fn counted(lines: &[Line], receives: Vec<u32>, messages: Vec<u32>) -> Self {
        let (mut posted, mut unexpected) = (Standing::new(receives), Standing::new(messages));
        let (mut receives, mut messages) = (0, 0);
        let mut statistics = Self::default();
        for line in lines {
            match *line {
                Line::Communicator { .. } => {}
                Line::Post { tag, matched, .. } => {
                    let collective = selects_collective(tag);
                    let visited = unexpected.visited(matched);
                    statistics.unexpected.searched(visited, collective);
                    match matched {
                        Some(message) => unexpected.remove(message),
                        None => {
                            posted.add(receives);
                            statistics.posted.queued(posted.length(), collective);
                        }
                    }
                    receives += 1;
                }
                Line::Arrive { tag, matched, .. } => {
                    let collective = is_collective(tag);
                    let visited = posted.visited(matched);
                    statistics.posted.searched(visited, collective);
                    match matched {
                        Some(receive) => posted.remove(receive),
                        None => {
                            unexpected.add(messages);
                            statistics
                                .unexpected
                                .queued(unexpected.length(), collective);
                        }
                    }
                    messages += 1;
                }
                Line::Probe { tag, matched, .. } => {
                    let visited = unexpected.visited(matched);
                    let collective = selects_collective(tag);
                    statistics.unexpected.searched(visited, collective);
                }
                Line::Cancel { receive } => posted.remove(receive),
            }
        }
        statistics
    }

    /// Entries that a search of either queue compared on average.
    #[must_use]
    pub fn mean_search(&self) -> f64 {
        let (posted, unexpected) = (self.posted.all, self.unexpected.all);
        let visited = posted.visited + unexpected.visited;
        ratio(visited, posted.searches + unexpected.searches)
    }

    /// The share of queued entries that belong to collective operations, 0 to 1.
    #[must_use]
    pub fn collective_share(&self) -> f64 {
        let all = self.posted.all.queued + self.unexpected.all.queued;
        ratio(self.collective_queued(), all)
    }

    /// Of the queued entries of collective operations, the share that are unexpected messages, 0 to 1.
    #[must_use]
    pub fn unexpected_share_of_collective(&self) -> f64 {
        ratio(self.unexpected.collective.queued, self.collective_queued())
    }

    fn collective_queued(&self) -> u64 {
        self.posted.collective.queued + self.unexpected.collective.queued
    }
}

impl QueueStatistics {
    fn searched(&mut self, visited: u64, collective: bool) {
        self.each(collective, |counts| {
            counts.searches += 1;
            counts.visited += visited;
        });
    }

    fn queued(&mut self, length: u64, collective: bool) {
        self.longest = self.longest.max(length);
        self.each(collective, |counts| counts.queued += 1);
    }

    fn each(&mut self, collective: bool, count: impl Fn(&mut Counts)) {
        count(&mut self.all);
        if collective {
            count(&mut self.collective);
        }
    }
}

/// The number of receives and of messages.
fn entries(lines: &[Line]) -> (usize, usize) {
    let count = |is_one: fn(&Line) -> bool| lines.iter().filter(|&line| is_one(line)).count();
    let receives = count(|line| matches!(line, Line::Post { .. }));
    (receives, count(|line| matches!(line, Line::Arrive { .. })))
}

fn selects_collective(tag: TagField) -> bool {
    matches!(tag, TagField::Tag(tag) if is_collective(tag))
}

fn is_collective(tag: i32) -> bool {
    TrafficClass::from_open_mpi_tag(Tag(tag)).is_collective()
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_counts_as_a_list_would() {
        let lines: Vec<Line> = [
            "c 0 4 0",
            "p 0 1 5",
            "p 0 2 -12",
            "p 0 3 5",
            "a 0 2 -12 =1",
            "a 0 1 6",
            "a 0 2 7",
            "b 0 2 7 =2",
            "b 0 3 9",
            "p 0 2 7 =2",
            "x 0",
            "a 0 3 5 =2",
            "a 0 1 -12",
        ]
        .iter()
        .map(|line| Line::parse(line).expect("valid"))
        .collect();
        let statistics = Statistics::of(&lines);
        let posted = QueueStatistics {
            longest: 3,
            // The messages compare 2, 2, 2, 1 and 0 receives.
            all: Counts {
                searches: 5,
                visited: 7,
                queued: 3,
            },
            collective: Counts {
                searches: 2,
                visited: 2,
                queued: 1,
            },
        };
        let unexpected = QueueStatistics {
            longest: 2,
            // Receives and probes compare 0, 0, 0, 2, 2 and 2 messages.
            all: Counts {
                searches: 6,
                visited: 6,
                queued: 3,
            },
            collective: Counts {
                searches: 1,
                visited: 0,
                queued: 1,
            },
        };
        assert_eq!(statistics, Statistics { posted, unexpected });
        assert!((statistics.mean_search() - 13.0 / 11.0).abs() < 1e-9);
        assert!((statistics.collective_share() - 1.0 / 3.0).abs() < 1e-9);
        assert!((statistics.unexpected_share_of_collective() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn lines_that_contradict_each_other_are_counted_somehow() {
        let lines: Vec<Line> = ["p 0 1 5 =7", "x 0", "p 0 1 5", "x 1", "x 1", "a 0 1 5 =1"]
            .iter()
            .map(|line| Line::parse(line).expect("valid by itself"))
            .collect();
        let statistics = Statistics::of(&lines);
        assert_eq!(statistics.posted.longest, 1);
        assert_eq!(statistics.posted.all.searches, 1);
        assert_eq!(statistics.unexpected.all.visited, 0);
    }
}
