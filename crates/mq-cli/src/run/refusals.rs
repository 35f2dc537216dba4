//! How a process that cannot become the program tells the launcher why.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

/// The program is there but cannot be executed, as shells say it.
const NOT_EXECUTABLE: u8 = 126;
/// There is no such program, as shells say it.
const NOT_FOUND: u8 = 127;

/// A pipe that only a process which could not start its program writes to. It is reached through
/// `/proc`, so that no program inherits a descriptor that it knows nothing of.
pub(super) struct Refusals {
    read: File,
    write: OwnedFd,
}

impl Refusals {
    pub(super) fn new() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let read = read.into();
        Ok(Self { read, write })
    }

    /// What [`tell`] is given.
    pub(super) fn number(&self) -> i32 {
        self.write.as_raw_fd()
    }

    /// Why a program could not be started, if that was told.
    pub(super) fn told(&mut self) -> Option<io::Error> {
        let mut text = [0; 512];
        let count = self.read.read(&mut text).ok()?;
        let text = std::str::from_utf8(&text[..count]).ok()?;
        let number = text.lines().next()?.parse().ok()?;
        Some(io::Error::from_raw_os_error(number))
    }
}

/// Tells the launcher why the program could not be started.
pub(super) fn tell(launcher: i32, number: i32, error: &io::Error) -> io::Result<()> {
    let path = format!("/proc/{launcher}/fd/{number}");
    let code = error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error());
    let mut pipe = OpenOptions::new().write(true).open(path)?;
    pipe.write_all(format!("{code}\n").as_bytes())
}

/// The exit code of a process whose program could not be started.
pub(super) fn code(error: &io::Error) -> u8 {
    match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_EXECUTABLE,
    }
}
