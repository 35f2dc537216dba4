//! Running the command to its end.

use std::process::{Command, ExitStatus};

use crate::error::Error;

/// What shells add to the number of the signal that killed a command.
const KILLED: i32 = 128;

/// Runs the command and waits for its end.
pub(super) fn run(command: &mut Command) -> Result<ExitStatus, Error> {
    command.status().map_err(|source| Error::Start {
        name: command.get_program().to_string_lossy().into_owned(),
        source,
    })
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
