//! The one error type: what is wrong, where, and what to do.

use core::fmt;
use std::io;

use crate::ids::Process;

/// Errors between processes of one machine.
///
/// Full and empty queues are not errors but ordinary results.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ShmError {
    /// A segment for no process, or for too many.
    #[error("a segment is for 1 to {most} processes, not {processes}", most = crate::layout::MAX_PROCESSES)]
    Processes {
        /// Processes asked for.
        processes: u32,
    },
    /// Too few or too many cells.
    #[error("a process has 2 to 65536 cells, not {cells}")]
    Cells {
        /// Cells asked for.
        cells: u32,
    },
    /// Too many bytes of shared buffers.
    #[error(
        "a process of this segment can have at most {most} bytes of shared buffers, not {bytes}"
    )]
    Buffers {
        /// Bytes asked for.
        bytes: u64,
        /// The most for each process.
        most: u64,
    },
    /// No room for a shared buffer.
    #[error(
        "no room for a shared buffer of {bytes} bytes: the largest free range is {longest} of {all} bytes per process; drop other buffers, or start the processes with more bytes for each"
    )]
    NoBuffer {
        /// Bytes asked for.
        bytes: usize,
        /// The longest free range.
        longest: u64,
        /// The total for each process, free or not.
        all: u64,
    },
    /// A process number outside the segment.
    #[error(
        "process {process} is out of range: the segment has {processes} processes, numbered from 0"
    )]
    NoSuchProcess {
        /// The number.
        process: Process,
        /// Processes of the segment.
        processes: u32,
    },
    /// The number is or was in use in this segment.
    #[error("process {process} of the segment {}", taken(*pid))]
    Taken {
        /// The number.
        process: Process,
        /// The pid of its holder; 0 if its launcher has reported that it ended before joining, or if it is
        /// joining and that takes long.
        pid: u32,
    },
    /// All numbers are or were in use in this segment.
    #[error(
        "all {processes} processes of the segment have joined, and a place can be joined only once: make segments for more processes than will ever join, those that end and are replaced included"
    )]
    Full {
        /// Processes of the segment.
        processes: u32,
    },
    /// A segment [for worlds](crate::Geometry::for_worlds), which other endpoints may not join.
    #[error(
        "the segment is for worlds of mq-comm, which trust each other with memory that they share: only they may join it"
    )]
    ForWorlds,
    /// The memory is not a segment.
    #[error("{what} is not a segment of mq: it begins with {found:#018x}")]
    Foreign {
        /// What was opened.
        what: String,
        /// Its first eight bytes.
        found: u64,
    },
    /// A segment of another version of this crate.
    #[error(
        "{what} has layout version {found}, this program has {wanted}: build all processes of a job from one version of mq"
    )]
    Version {
        /// What was opened.
        what: String,
        /// Its version.
        found: u64,
        /// This program's.
        wanted: u32,
    },
    /// A segment whose header contradicts itself or its length.
    #[error("{what} is damaged: its {field} is {found}, which is invalid ({wanted})")]
    Damaged {
        /// What was opened.
        what: String,
        /// The field of its header.
        field: &'static str,
        /// The value found.
        found: u64,
        /// The values that would be valid.
        wanted: String,
    },
    /// A segment for another job, or of a process that was started with other options.
    #[error(
        "{what} was made for another {field} ({found}) than this process was started for ({expected}): start all processes of a job with the same options"
    )]
    Mismatch {
        /// What was opened.
        what: String,
        /// What differs.
        field: &'static str,
        /// The segment's value.
        found: u64,
        /// This process's value.
        expected: u64,
    },
    /// The shared memory holds something that no process of this crate writes.
    #[error("the segment is damaged: {what} of process {process}")]
    Corrupt {
        /// What was found.
        what: &'static str,
        /// Where it came from.
        process: Process,
    },
    /// No memory for a part of the segment.
    #[error(
        "no shared memory for {what} ({bytes} bytes): {reason}; free some, or give the job a larger limit"
    )]
    NoMemory {
        /// What the memory was for.
        what: &'static str,
        /// How much.
        bytes: usize,
        /// The system's answer.
        reason: io::Error,
    },
    /// The system refused something.
    #[error("{what}: {reason}")]
    System {
        /// What was tried.
        what: String,
        /// The system's answer.
        reason: io::Error,
    },
    /// The process at the other end has died or left.
    #[error("process {process} {how}")]
    Gone {
        /// Which process.
        process: Process,
        /// How it ended.
        how: crate::liveness::Gone,
    },
}

/// The sentence: a `main` that returns the error prints that.
impl fmt::Debug for ShmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a process number of a segment cannot be had.
fn taken(pid: u32) -> String {
    if pid == 0 {
        "ended before joining, or is joining right now".into()
    } else if pid == std::process::id() {
        "is or was this very process, which can join only once".into()
    } else {
        format!(
            "has been taken by pid {pid}: a place can be joined only once, so give each program its own run"
        )
    }
}
