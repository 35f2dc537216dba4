//! [`Trace`]: a whole trace in memory, ready to be replayed.

mod builder;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

use mq_core::config::Clusters;
use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::{
    ContextId, ContextOptions, Engine, Error, MatchQueues, Rank, Source, Tag, TrafficClass,
};

use self::builder::Builder;
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
/// 44 bytes per operation; up to 48 while it is read.
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
        let mut builder = Builder::new(reader.name(), reader.header().clone());
        while let Some(numbered) = reader.next() {
            let numbered = numbered?;
            builder.reserve().map_err(|_| TraceError::Memory {
                name: reader.name().into(),
                line: numbered.number,
            })?;
            builder.push(numbered.number, &numbered.line);
        }
        Ok(builder.finish())
    }

    /// A trace of valid lines, numbered as they would be after a header.
    #[must_use]
    pub fn from_lines(name: &str, lines: &[Line]) -> Self {
        let mut builder = Builder::new(name, Header::new());
        for (number, line) in (2..).zip(lines) {
            builder.push(number, line);
        }
        builder.finish()
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
    ///
    /// # Errors
    /// [`Error::ContextExists`] for the first that the engine has; those before it have been created.
    pub fn create_contexts<Q: MatchQueues>(&self, engine: &mut Engine<Q>) -> Result<(), Error> {
        self.communicators().try_for_each(|communicator| {
            let options = ContextOptions::new().size(communicator.size);
            engine.create_context(communicator.comm, options)
        })
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

#[cfg(test)]
mod tests;
