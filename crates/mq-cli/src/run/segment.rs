//! The shared segment of the processes.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use mq_comm::{Gone, Options};
use mq_shm::{Mapped, Process};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};

/// Memory that all processes of a run inherit and that disappears with the last of them: it has no
/// name that could be left behind.
pub(super) struct Segment {
    memory: Mapped,
    /// The descriptor that the ranks inherit.
    file: OwnedFd,
    /// Those of [`COUNT_HERE`] that were invalid, which has been reported.
    ignored: Vec<&'static str>,
}

/// The lowest number for the inherited descriptor, if the limits allow it: scripts that start the
/// ranks' programs open low-numbered descriptors of their own, some shells from 10 on.
const HIGH: i32 = 719;

/// The variables that take effect here and not in the ranks.
const COUNT_HERE: [&str; 2] = [BUFFERS, "MQ_CELLS"];
const BUFFERS: &str = "MQ_SHARED_BUFFERS";

impl Segment {
    /// The value of `MQ_SEGMENT`: `fd:` and the number of the descriptor, the same in every process.
    pub(super) fn variable(&self) -> String {
        format!("fd:{}", self.file.as_raw_fd())
    }

    /// The variables to hide from the ranks, so that they do not complain again.
    pub(super) fn hidden(&self) -> &[&'static str] {
        &self.ignored
    }

    /// Tells the other ranks that one has ended. They would notice by themselves, unless it ended before
    /// it joined. Returns how it has left the world, if it had entered that.
    pub(super) fn ended(&self, rank: usize) -> Option<Gone> {
        // The rank exists: the segment was made for all of them.
        self.memory.ended(Process(rank as u32)).ok()?
    }
}

/// The segment of a run of that many processes. Every child that is started from now on
/// inherits it; this process starts only the ranks' programs.
pub(super) fn segment_for(processes: u32) -> io::Result<Segment> {
    let (options, ignored) = Options::from_environment();
    // Errors in the other variables are reported by rank 0, if it uses them.
    let invalid = |name: &&str| ignored.iter().find(|ignored| ignored.variable == *name);
    for ignored in COUNT_HERE.iter().filter_map(invalid) {
        crate::say(&ignored.to_string());
    }
    let geometry = options.geometry(processes).map_err(|error| {
        let value = std::env::var_os(BUFFERS).unwrap_or_default();
        io::Error::other(format!("{BUFFERS}={}: {error}", value.to_string_lossy()))
    })?;
    let memory = Mapped::create(geometry.for_worlds()).map_err(io::Error::other)?;
    let file = fcntl_dupfd_cloexec(memory.file(), HIGH)
        .or_else(|_| fcntl_dupfd_cloexec(memory.file(), 0))?;
    fcntl_setfd(&file, FdFlags::empty())?;
    Ok(Segment {
        memory,
        file,
        ignored: COUNT_HERE
            .into_iter()
            .filter(|name| invalid(name).is_some())
            .collect(),
    })
}
