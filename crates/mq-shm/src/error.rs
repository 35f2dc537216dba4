//! The one error type: what is wrong, where, and what to do.

use std::io;

/// What can go wrong between processes of one machine.
///
/// Full queues and empty ones are not errors but answers.
#[derive(Debug, thiserror::Error)]
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
        "a process of this segment may have {most} bytes of shared buffers at most, not {bytes}"
    )]
    Buffers {
        /// Bytes asked for.
        bytes: u64,
        /// The most for each process.
        most: u64,
    },
    /// No room for a shared buffer.
    #[error(
        "no room for a shared buffer of {bytes} bytes: {longest} are free in a row, of {all} that each process of the segment has; drop others, or start the processes with more bytes for each"
    )]
    NoBuffer {
        /// Bytes asked for.
        bytes: usize,
        /// The most that there are in a row.
        longest: u64,
        /// Those that each process has in all, free or not.
        all: u64,
    },
    /// A process number outside the segment.
    #[error("there is no process {process}: the segment has {processes}, from 0")]
    NoSuchProcess {
        /// The number.
        process: u32,
        /// Processes of the segment.
        processes: u32,
    },
    /// Somebody else is or was this process.
    #[error("process {process} of the segment {}", taken(*pid))]
    Taken {
        /// The number.
        process: u32,
        /// Who has it; 0 if its launcher has said that it ended, before it joined, or if it is just joining
        /// and takes long over that.
        pid: u32,
    },
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
    #[error("{what} is damaged: its {field} is {found}, which can not be ({wanted})")]
    Damaged {
        /// What was opened.
        what: String,
        /// The field of its header.
        field: &'static str,
        /// What stands there.
        found: u64,
        /// What could stand there.
        wanted: String,
    },
    /// A segment for another job, or of a process that was started otherwise.
    #[error(
        "{what} was made for another {field} ({found}) than this process was started for ({expected}): start all processes of a job with the same options"
    )]
    Otherwise {
        /// What was opened.
        what: String,
        /// In what they differ.
        field: &'static str,
        /// That of the segment.
        found: u64,
        /// That of this process.
        expected: u64,
    },
    /// Something in the shared memory that no process of this crate writes.
    #[error("the segment is damaged: {what} of process {process}")]
    Corrupt {
        /// What was found.
        what: &'static str,
        /// Where it came from.
        process: u32,
    },
    /// No memory for a part of the segment.
    #[error(
        "no shared memory for {what} ({bytes} bytes): {source}; free some, or give the job a larger limit"
    )]
    NoMemory {
        /// What the memory was for.
        what: &'static str,
        /// How much.
        bytes: usize,
        /// The system's answer.
        source: io::Error,
    },
    /// The system refused something.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The process at the other end has died or left.
    #[error("process {process} {how}")]
    Gone {
        /// Which.
        process: u32,
        /// How it ended.
        how: crate::liveness::Gone,
    },
}

/// Why a number in a segment is not to be had.
fn taken(pid: u32) -> String {
    if pid == 0 {
        "is over, since what was started in its place ended before it joined, or is just joining"
            .into()
    } else if pid == std::process::id() {
        "is taken by this very process, or was: it joins once".into()
    } else {
        format!(
            "has been taken by pid {pid}: a place is joined once, so give each program a run of its own"
        )
    }
}
