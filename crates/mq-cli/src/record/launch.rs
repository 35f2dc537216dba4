//! Running the command to its end.

use std::io::ErrorKind;
use std::process::{Command, ExitStatus};

use super::interrupts::Interrupts;
use crate::error::Error;

/// What shells add to the number of the signal that killed a command.
const KILLED: i32 = 128;

/// Runs the command and waits for its end; signals that ask for one are passed on to it.
pub(super) fn run(command: &mut Command, interrupts: &mut Interrupts) -> Result<ExitStatus, Error> {
    let started = command.spawn();
    let ended = started.and_then(|child| interrupts.wait(child));
    ended.map_err(|source| Error::Start {
        name: command.get_program().to_string_lossy().into_owned(),
        source,
    })
}

/// The exit code of shells for a command that can not be started.
pub(super) fn code_of_refusal(error: &Error) -> Option<u8> {
    match error {
        Error::Start { source, .. } if source.kind() == ErrorKind::NotFound => Some(127),
        Error::Start { .. } => Some(126),
        _ => None,
    }
}

/// The command's exit code as a shell would give it.
pub(super) fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(KILLED + signal(status)?));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}
