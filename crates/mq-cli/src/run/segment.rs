//! The shared memory of the processes.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use mq_comm::Options;
use mq_shm::{Mapped, Process};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};

/// Memory that all processes of a run inherit, and that is gone with the last of them: it has no
/// name that could stay behind.
pub(super) struct Segment {
    memory: Mapped,
    /// The descriptor that the ranks inherit.
    file: OwnedFd,
    /// Whether [`BUFFERS`] was wrong, which has been said.
    buffers_ignored: bool,
}

/// The least number of the descriptor that the ranks inherit, if they may have so many: scripts that
/// start the ranks' programs open descriptors of their own by small numbers, shells some from 10 on.
const HIGH: i32 = 719;

/// The variable that counts here and not in the ranks.
pub(super) const BUFFERS: &str = "MQ_SHARED_BUFFERS";

impl Segment {
    /// What `MQ_SEGMENT` says: `fd:` and the number of the descriptor, the same in every process.
    pub(super) fn variable(&self) -> String {
        format!("fd:{}", self.file.as_raw_fd())
    }

    /// The variables that the ranks are not to find, lest they complain once more.
    pub(super) fn hidden(&self) -> &'static [&'static str] {
        if self.buffers_ignored {
            &[BUFFERS]
        } else {
            &[]
        }
    }

    /// Tells the other ranks of one that has ended. They would find out by themselves, but for one
    /// that ended before it had joined.
    pub(super) fn ended(&self, rank: usize) {
        // There is such a rank: the segment is for all of them.
        let _ = self.memory.ended(Process(rank as u32));
    }
}

/// The segment of a run of that many processes. Every child that is started from now on
/// inherits it; this process runs no other program than the ranks'.
pub(super) fn segment_for(processes: u32) -> io::Result<Segment> {
    let (options, ignored) = Options::from_environment();
    // What is wrong with the others is said by rank 0, if it heeds them.
    let ignored = ignored.iter().find(|ignored| ignored.variable == BUFFERS);
    if let Some(ignored) = ignored {
        crate::say(&ignored.to_string());
    }
    let geometry = options.geometry(processes).map_err(|error| {
        let value = std::env::var_os(BUFFERS).unwrap_or_default();
        io::Error::other(format!("{BUFFERS}={}: {error}", value.to_string_lossy()))
    })?;
    let memory = Mapped::create(geometry).map_err(io::Error::other)?;
    let file = fcntl_dupfd_cloexec(memory.file(), HIGH)
        .or_else(|_| fcntl_dupfd_cloexec(memory.file(), 0))?;
    fcntl_setfd(&file, FdFlags::empty())?;
    Ok(Segment {
        memory,
        file,
        buffers_ignored: ignored.is_some(),
    })
}
