//! Exit codes as shells define them.

use std::io;
use std::process::{ExitCode, ExitStatus};

/// The program is there but cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// The program does not exist.
const NOT_FOUND: u8 = 127;
/// What is added to the number of the signal that killed a process.
const KILLED: i32 = 128;

/// How the programs that a command has run have ended.
pub(crate) struct Ended {
    pub(crate) code: ExitCode,
    /// Whether SIGINT has ended them.
    pub(crate) is_interrupted: bool,
}

/// Exit code of a process that exited with this status.
pub(crate) fn of_status(status: i32) -> u8 {
    u8::try_from(status).unwrap_or(u8::MAX)
}

/// Exit code of a process that a signal killed.
pub(crate) fn of_signal(signal: i32) -> u8 {
    of_status(KILLED + signal)
}

/// Exit code of a process that has ended.
pub(crate) fn of_ended(status: ExitStatus) -> u8 {
    let exited = status.code().map(of_status);
    let killed = || signal(status).map(of_signal);
    exited.or_else(killed).unwrap_or(u8::MAX)
}

/// Whether SIGINT has killed a process.
pub(crate) fn is_interrupt(status: ExitStatus) -> bool {
    const SIGINT: i32 = 2;
    signal(status) == Some(SIGINT)
}

/// Exit code for a program that could not be started.
pub(crate) fn of_refusal(error: &io::Error) -> u8 {
    match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_EXECUTABLE,
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_told_from_exits() {
        assert_eq!((of_status(7), of_signal(9)), (7, 137));
        assert_eq!(of_signal(40), 168);
        assert_eq!(of_status(-1), u8::MAX);
    }

    #[cfg(unix)]
    #[test]
    fn what_wait_gives_is_read() {
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(of_ended(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(of_ended(ExitStatus::from_raw(15)), 128 + 15);
    }
}
