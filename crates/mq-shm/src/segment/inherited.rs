//! How a child comes to the segment of its parent: by a descriptor that it inherits, whose number it is told.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::dup;

use super::mapped::{Mapped, system};
use crate::error::ShmError;

impl Mapped {
    /// A descriptor of the segment that the programs which this process starts inherit, while it is open. They are to
    /// be told its number, in a variable of the environment or as an argument, and open it by
    /// [`inherited`](Self::inherited).
    ///
    /// Every program that is started meanwhile inherits it, by whichever thread: drop it when those that are to have
    /// it run.
    ///
    /// # Errors
    /// [`ShmError::System`] if the system has no more descriptors to give, or if the program has closed the segment's.
    pub fn inheritable(&self) -> Result<OwnedFd, ShmError> {
        let what = "making a descriptor of the segment for other programs";
        self.check_file(what)?;
        dup(self.file()).map_err(system(what))
    }

    /// Opens the segment behind a descriptor that this process has inherited, by its number; `what` names it in
    /// errors.
    ///
    /// The descriptor itself stays open, as it is not known whose it is: programs that this process starts inherit it
    /// too. This is a new one of the same file, which they do not.
    ///
    /// # Errors
    /// As [`open`](Self::open); [`ShmError::System`] if there is no such descriptor, if it is of something that cannot
    /// be opened to read and write, or without `/proc`.
    pub fn inherited(number: u32, what: &str) -> Result<Self, ShmError> {
        // It may be anything: what would wait for another process, or become the terminal of this one, does not.
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let path = format!("/proc/self/fd/{number}");
        let opened = rustix::fs::open(path, flags, Mode::empty());
        let file = opened.map_err(system(&format!(
            "opening {what}, which is to be a descriptor that was inherited"
        )))?;
        Self::open(file, what)
    }
}
