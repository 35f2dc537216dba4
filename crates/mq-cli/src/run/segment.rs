//! The shared memory of the processes.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};

/// Memory that all processes of a run inherit, and that is gone with the last of them: it has no name
/// that could stay behind.
pub(super) struct Segment {
    file: OwnedFd,
}

impl Segment {
    /// What `MQ_SEGMENT` says: `fd:` and the number of the descriptor, the same in every process.
    pub(super) fn variable(&self) -> String {
        format!("fd:{}", self.file.as_raw_fd())
    }
}

/// The segment of a run of that many processes, empty as yet. Every child that is started from now on
/// inherits it; this process runs no other program than the ranks'.
pub(super) fn segment_for(_processes: u32) -> io::Result<Segment> {
    let file = memfd_create("mq-segment", MemfdFlags::empty())?;
    Ok(Segment { file })
}
