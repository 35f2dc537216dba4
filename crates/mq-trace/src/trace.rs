//! [`Trace`]: a whole trace in memory, ready to be replayed.

use std::collections::BTreeMap;
use std::collections::TryReserveError;
use std::io::BufRead;
use std::path::Path;

use mq_core::config::Clusters;
use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::{ContextId, ContextOptions, Engine, MatchQueues, Rank, Source, Tag, TrafficClass};

use crate::error::TraceError;
use crate::header::Header;
use crate::line::{Line, SourceField, TagField};
use crate::reader::TraceReader;

/// One match operation, in the form that a structure accepts.
///
/// Receives and messages are numbered from 0 in the order of their operations; the numbers are the
/// payloads of a replay.
///
/// Further operations would break programs that match on this, which is intended: whoever replays a trace has
/// to perform each of them, and a replay without some would be one of another trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A receive was posted.
    Post {
        /// What it asks for.
        pattern: MpiPattern,
        /// Whether a later operation cancels it, so its handle must be kept.
        cancelled: bool,
    },
    /// A message arrived.
    Arrive {
        /// What it carries.
        envelope: MpiEnvelope,
    },
    /// A probe.
    Probe {
        /// What it asks for.
        pattern: MpiPattern,
    },
    /// A queued receive was cancelled.
    Cancel {
        /// The receive's number.
        receive: u32,
    },
}

/// One communicator of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Communicator {
    /// Its number.
    pub comm: u32,
    /// Ranks that structures plan for: the declared size, or more if larger ranks occur (the
    /// remote group of an intercommunicator).
    pub size: u32,
    /// The size that the trace declares, if it does.
    pub declared_size: Option<u32>,
    /// This process's rank, if declared.
    pub my_rank: Option<u32>,
}

/// A trace in memory.
///
/// # Cost
/// 48 bytes per operation.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    name: String,
    header: Header,
    operations: Vec<Operation>,
    /// What the MPI library decided, by operation.
    outcomes: Vec<Option<u32>>,
    /// The line of each operation in the file.
    lines: Vec<u32>,
    communicators: BTreeMap<u32, Communicator>,
    receives: u32,
    messages: u32,
    /// The operation of each receive, while reading.
    posts: Vec<u32>,
}

impl Trace {
    /// Reads a trace file, gzip or plain.
    ///
    /// # Errors
    /// If the file cannot be read or is malformed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        Self::read(TraceReader::open(path)?)
    }

    /// Reads all of a trace.
    ///
    /// # Errors
    /// If the source cannot be read or is malformed, or there is not enough memory for all of it.
    pub fn read(mut reader: TraceReader<impl BufRead>) -> Result<Self, TraceError> {
        let mut trace = Self::named(reader.name(), reader.header().clone());
        for numbered in &mut reader {
            let numbered = numbered?;
            trace.reserve().map_err(|_| TraceError::Memory {
                name: trace.name.clone(),
                line: numbered.number,
            })?;
            trace.push(numbered.number, &numbered.line);
        }
        Ok(trace)
    }

    /// A trace of valid lines, numbered as they would be after a header.
    #[must_use]
    pub fn from_lines(name: &str, lines: &[Line]) -> Self {
        let mut trace = Self::named(name, Header::new());
        for (number, line) in (2..).zip(lines) {
            trace.push(number, line);
        }
        trace
    }

    fn named(name: &str, header: Header) -> Self {
        Self {
            name: name.into(),
            header,
            ..Self::default()
        }
    }

    /// Makes room for one more line.
    fn reserve(&mut self) -> Result<(), TryReserveError> {
        self.operations.try_reserve(1)?;
        self.outcomes.try_reserve(1)?;
        self.lines.try_reserve(1)?;
        self.posts.try_reserve(1)
    }

    /// Appends a line. Line numbers beyond `u32::MAX` are shown as `u32::MAX`.
    fn push(&mut self, number: u64, line: &Line) {
        let (operation, outcome) = match *line {
            Line::Communicator {
                comm,
                size,
                my_rank,
            } => return self.declare(comm, size, my_rank),
            Line::Post {
                comm,
                source,
                tag,
                matched,
            } => {
                let pattern = self.pattern(comm, source, tag);
                self.receives += 1;
                self.posts.push(index(self.operations.len()));
                let cancelled = false;
                (Operation::Post { pattern, cancelled }, matched)
            }
            Line::Arrive {
                comm,
                source,
                tag,
                matched,
            } => {
                self.saw_rank(comm, source);
                self.messages += 1;
                let envelope = envelope(comm, source, tag);
                (Operation::Arrive { envelope }, matched)
            }
            Line::Probe {
                comm,
                source,
                tag,
                matched,
            } => {
                let pattern = self.pattern(comm, source, tag);
                (Operation::Probe { pattern }, matched)
            }
            Line::Cancel { receive } => {
                let post = self.posts.get(receive as usize);
                if let Some(&post) = post
                    && let Operation::Post { cancelled, .. } = &mut self.operations[post as usize]
                {
                    *cancelled = true;
                }
                (Operation::Cancel { receive }, None)
            }
        };
        self.operations.push(operation);
        self.outcomes.push(outcome);
        self.lines.push(u32::try_from(number).unwrap_or(u32::MAX));
    }

    fn pattern(&mut self, comm: u32, source: SourceField, tag: TagField) -> MpiPattern {
        match source {
            SourceField::Any => {
                self.communicator(comm);
            }
            SourceField::Rank(rank) => self.saw_rank(comm, rank),
        }
        pattern(comm, source, tag)
    }

    fn communicator(&mut self, comm: u32) -> &mut Communicator {
        self.communicators.entry(comm).or_insert(Communicator {
            comm,
            size: 1,
            declared_size: None,
            my_rank: None,
        })
    }

    fn saw_rank(&mut self, comm: u32, rank: u32) {
        let communicator = self.communicator(comm);
        communicator.size = communicator.size.max(rank.saturating_add(1));
    }

    fn declare(&mut self, comm: u32, size: u32, my_rank: u32) {
        let communicator = self.communicator(comm);
        communicator.size = communicator.size.max(size);
        communicator.declared_size = Some(size);
        communicator.my_rank = Some(my_rank);
    }

    /// The file or stream the trace came from.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first line of the file.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// All operations, in order.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// What the MPI library decided in operation `i`: the message or receive that was matched.
    ///
    /// # Panics
    /// If the trace has no operation `i`.
    #[must_use]
    pub fn outcome(&self, i: usize) -> Option<u32> {
        self.outcomes[i]
    }

    /// The line of operation `i`.
    ///
    /// # Panics
    /// If the trace has no operation `i`.
    #[must_use]
    pub fn line_number(&self, i: usize) -> u32 {
        self.lines[i]
    }

    /// All communicators, by number.
    #[must_use]
    pub fn communicators(&self) -> impl ExactSizeIterator<Item = Communicator> + '_ {
        self.communicators.values().copied()
    }

    /// Number of receives posted.
    #[must_use]
    pub const fn receives(&self) -> u32 {
        self.receives
    }

    /// Number of messages that arrived.
    #[must_use]
    pub const fn messages(&self) -> u32 {
        self.messages
    }

    /// Creates the trace's communicators in an engine that has none of them.
    pub fn create_contexts<Q: MatchQueues>(&self, engine: &mut Engine<Q>) {
        for Communicator { comm, size, .. } in self.communicators() {
            let created = engine.create_context(comm, ContextOptions::new().size(size));
            debug_assert!(created.is_ok(), "communicators have distinct numbers");
        }
    }

    /// The profile for the `clusters` structure: senders grouped by how many elements each put into the
    /// queues, in at most as many groups as `col` and `pnp` may have lists by default.
    #[must_use]
    pub fn clusters(&self) -> Clusters {
        let mut counts = BTreeMap::<(ContextId, Rank), u64>::new();
        for (i, operation) in self.operations.iter().enumerate() {
            // An entry that is matched immediately is in no queue.
            if self.outcome(i).is_some() {
                continue;
            }
            let sender = match operation {
                Operation::Post { pattern, .. } => match pattern.source() {
                    Source::Any => continue,
                    Source::Rank(rank) => (pattern.context(), rank),
                },
                Operation::Arrive { envelope } => (envelope.context(), envelope.source()),
                Operation::Probe { .. } | Operation::Cancel { .. } => continue,
            };
            *counts.entry(sender).or_insert(0) += 1;
        }
        let largest = self.communicators().map(|c| c.size).max().unwrap_or(1);
        Clusters::from_counts(&counts, 8 * largest.isqrt())
    }
}

/// What a receive or a probe with these fields asks for.
pub(crate) fn pattern(comm: u32, source: SourceField, tag: TagField) -> MpiPattern {
    let source = match source {
        SourceField::Any => Source::Any,
        SourceField::Rank(rank) => Source::Rank(Rank(rank)),
    };
    match tag {
        TagField::Any => MpiPattern::new(comm, source, TagSelector::Any),
        TagField::Tag(tag) => {
            let class = TrafficClass::from_open_mpi_tag(Tag(tag));
            MpiPattern::new(comm, source, tag).with_class(class)
        }
    }
}

/// What a message with these fields carries.
pub(crate) fn envelope(comm: u32, source: u32, tag: i32) -> MpiEnvelope {
    let class = TrafficClass::from_open_mpi_tag(Tag(tag));
    MpiEnvelope::new(comm, source, tag).with_class(class)
}

fn index(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_made_by_what_was_queued() {
        let lines = ["p 0 1 5", "a 0 1 5 =0", "a 0 2 5", "a 0 2 6", "a 0 3 5"];
        let parsed: Vec<Line> = lines
            .iter()
            .map(|line| Line::parse(line).expect("valid"))
            .collect();
        let clusters = Trace::from_lines("t", &parsed).clusters();
        let members: Vec<_> = clusters
            .members()
            .map(|(_, rank, group)| (rank.0, group))
            .collect();
        // Each queued as many as the receive of the first, or one more.
        let of = |rank| {
            members
                .iter()
                .find(|member| member.0 == rank)
                .map(|member| member.1)
        };
        assert_eq!(members.len(), 3);
        assert_eq!(of(1), of(3));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn an_undeclared_or_late_communicator_is_as_large_as_its_ranks_say() {
        let lines = [
            "a 1 6 0", "c 2 3 0", "a 2 1 0", "p 2 7 0", "c 1 4 2", "a 3 1 0",
        ];
        let lines = lines.map(|line| Line::parse(line).expect("valid"));
        let trace = Trace::from_lines("test", &lines);
        let sizes: Vec<_> = trace
            .communicators()
            .map(|c| (c.comm, c.size, c.declared_size, c.my_rank))
            .collect();
        let expected = [
            (1, 7, Some(4), Some(2)),
            (2, 8, Some(3), Some(0)),
            (3, 2, None, None),
        ];
        assert_eq!(sizes, expected);
    }

    #[test]
    fn operations_are_compact() {
        assert!(size_of::<Operation>() <= 40);
    }
}
