//! How a process that cannot execute the program tells the launcher why.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::proc;
use crate::error::not_started;
use crate::{FAILED, exit};

/// The steps of a process up to executing the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Arranging to be killed when the launcher dies.
    Life,
    /// Restoring the launcher's original limit of open files.
    OpenFiles,
    /// Binding itself to its core.
    Core,
    /// Executing the program.
    Program,
}

impl Step {
    const ALL: [Self; 4] = [Self::Life, Self::OpenFiles, Self::Core, Self::Program];

    /// The step has failed.
    pub(super) fn failed(self, error: io::Error) -> Refusal {
        Refusal { step: self, error }
    }
}

/// Why a process cannot execute the program.
#[derive(Debug)]
pub(super) struct Refusal {
    step: Step,
    error: io::Error,
}

impl Refusal {
    /// As a sentence; only the last step can fail because of the program.
    pub(super) fn sentence(&self, program: &OsStr) -> String {
        let error = &self.error;
        let step = match self.step {
            Step::Life => "be tied to its parent's life",
            Step::OpenFiles => "restore the limit of open files",
            Step::Core => "be bound to its core",
            Step::Program => return not_started(program, error),
        };
        format!("a process cannot be started: it cannot {step}: {error}")
    }

    /// The exit code of the process.
    pub(super) fn code(&self) -> u8 {
        match self.step {
            Step::Program => exit::of_refusal(&self.error),
            _ => FAILED,
        }
    }
}

/// A pipe that only processes that could not start their program write to. It is reached through
/// `/proc`, so that no program inherits a descriptor that it does not know of.
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

    /// The descriptor number that [`tell`] takes.
    pub(super) fn number(&self) -> i32 {
        self.write.as_raw_fd()
    }

    /// The processes that have reported by now that they could not start the program, and why.
    pub(super) fn told(&mut self) -> Vec<(u32, Refusal)> {
        let mut text = Vec::new();
        // Ends with an error once the pipe is empty.
        let _ = self.read.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text);
        text.lines().filter_map(report).collect()
    }
}

/// What [`tell`] has written in a line.
fn report(line: &str) -> Option<(u32, Refusal)> {
    let mut words = line.split(' ');
    let mut next = || words.next();
    let step = Step::ALL.get(next()?.parse::<usize>().ok()?)?;
    let error = io::Error::from_raw_os_error(next()?.parse().ok()?);
    let pid = next()?.parse().ok()?;
    Some((pid, step.failed(error)))
}

/// Tells the launcher why the program could not be started.
///
/// # Errors
/// As of writing, or if the launcher is not in `/proc`, or another process there.
pub(super) fn tell(launcher: i32, number: i32, refusal: &Refusal) -> io::Result<()> {
    if !proc::is_ours() {
        return Err(Errno::SRCH.into());
    }
    let path = format!("/proc/{launcher}/fd/{number}");
    let code = refusal.error.raw_os_error();
    let code = code.unwrap_or(Errno::INVAL.raw_os_error());
    let mut pipe = OpenOptions::new().write(true).open(path)?;
    let pid = std::process::id();
    pipe.write_all(format!("{} {code} {pid}\n", refusal.step as usize).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_told_with_its_error() {
        let mut refusals = Refusals::new().expect("a pipe");
        assert!(refusals.told().is_empty());
        let own = i32::try_from(std::process::id()).expect("a process");
        for step in Step::ALL {
            let denied = step.failed(Errno::ACCESS.into());
            tell(own, refusals.number(), &denied).expect("told");
        }
        let told = refusals.told();
        assert_eq!(told.len(), Step::ALL.len());
        for ((pid, refusal), step) in told.into_iter().zip(Step::ALL) {
            assert_eq!((pid, refusal.step), (std::process::id(), step));
            assert_eq!(refusal.error.kind(), io::ErrorKind::PermissionDenied);
        }
    }

    #[test]
    fn the_program_is_to_blame_for_its_own_step_alone() {
        let of = |step: Step, error: Errno| {
            let refusal = step.failed(error.into());
            (refusal.sentence(OsStr::new("./p")), refusal.code())
        };
        let (sentence, code) = of(Step::Core, Errno::NOENT);
        let expected = "a process cannot be started: it cannot be bound to its core: ";
        assert!(sentence.starts_with(expected), "{sentence}");
        assert_eq!(code, FAILED);
        let (sentence, code) = of(Step::Program, Errno::NOENT);
        assert!(sentence.starts_with("./p: there is no such "), "{sentence}");
        assert_eq!(code, 127);
        assert_eq!(of(Step::Program, Errno::NOEXEC).1, 126);
    }
}
