//! The exit code of the command.

use std::io;
use std::process::ExitStatus;

/// What shells add to the number of the signal that killed a command.
const KILLED: i32 = 128;

/// The exit code of shells for a command that can not be started.
pub(super) fn code_of_refusal(error: &io::Error) -> u8 {
    match error.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
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
