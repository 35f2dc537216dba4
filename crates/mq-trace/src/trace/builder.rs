//! A [`Trace`] in the making: lines become operations.

use std::collections::TryReserveError;

use mq_core::mpi::MpiPattern;

use super::{Communicator, Operation, Trace, envelope, pattern};
use crate::header::Header;
use crate::line::{Line, SourceField, TagField};

pub(super) struct Builder {
    trace: Trace,
    /// The operation of each receive, for its cancel.
    posts: Vec<u32>,
}

impl Builder {
    pub(super) fn new(name: &str, header: Header) -> Self {
        let trace = Trace {
            name: name.into(),
            header,
            ..Trace::default()
        };
        Self {
            trace,
            posts: Vec::new(),
        }
    }

    /// Makes room for one more line.
    pub(super) fn reserve(&mut self) -> Result<(), TryReserveError> {
        self.trace.operations.try_reserve(1)?;
        self.trace.outcomes.try_reserve(1)?;
        self.trace.lines.try_reserve(1)?;
        self.posts.try_reserve(1)
    }

    /// Appends a line. Line numbers beyond `u32::MAX` are shown as `u32::MAX`.
    pub(super) fn push(&mut self, number: u64, line: &Line) {
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
                self.trace.receives += 1;
                self.posts.push(index(self.trace.operations.len()));
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
                self.trace.messages += 1;
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
                    && let Operation::Post { cancelled, .. } =
                        &mut self.trace.operations[post as usize]
                {
                    *cancelled = true;
                }
                (Operation::Cancel { receive }, None)
            }
        };
        self.trace.operations.push(operation);
        self.trace.outcomes.push(outcome);
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        self.trace.lines.push(number);
    }

    pub(super) fn finish(self) -> Trace {
        self.trace
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
        let communicators = &mut self.trace.communicators;
        communicators.entry(comm).or_insert(Communicator {
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
}

fn index(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
