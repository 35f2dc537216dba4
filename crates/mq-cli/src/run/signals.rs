//! Signals to the launcher.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use nix::sys::signal::SigSet;
use rustix::process::{Signal, getpgid, getpgrp, getppid, getsid};
use signal_hook::consts::{
    SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ,
};
use signal_hook::flag;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use signal_hook::low_level::emulate_default_handler;

pub(super) use crate::signals::describe;

use super::proc;

/// The signals that are passed on to the ranks.
const PASSED_ON: [i32; 9] = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU, SIGCONT, SIGTSTP,
];

/// Signals, held until they are fetched.
pub(super) struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
}

impl Signals {
    /// Holds signals from now on. Those that are ignored, as under `nohup`, stay ignored here and, by
    /// inheritance, in the ranks.
    pub(super) fn held() -> io::Result<Self> {
        let ignored = ignored();
        let wanted = PASSED_ON.into_iter().filter(|signal| !ignored(*signal));
        let (read, write) = UnixStream::pair()?;
        // SIGCHLD is handled even if it was ignored: the children's status would be lost otherwise.
        let signals = wanted.chain([SIGCHLD]);
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, signals)?;
        // It is unblocked too: a parent that waits for such signals may have left them blocked.
        let mut ends = SigSet::empty();
        ends.add(nix::sys::signal::SIGCHLD);
        ends.thread_unblock()?;
        // Output that would be too large for its file is an error of the write, as on a full disk, and no reason to
        // end. The ranks get the signal all the same: `exec` resets a handler.
        if !ignored(SIGXFSZ) {
            flag::register(SIGXFSZ, Arc::default())?;
        }
        Ok(Self { delivery })
    }

    /// Holds the signals that may be sent to all processes of a job, in a process that must outlive the others.
    pub(super) fn kept_off() -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let signals = PASSED_ON.into_iter().filter(|&signal| signal != SIGCONT);
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, signals)?;
        Ok(Self { delivery })
    }

    /// A descriptor that becomes readable when a signal has come.
    pub(super) fn awaited(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }

    /// The signals that have come.
    pub(super) fn come(&mut self) -> Vec<i32> {
        self.delivery.pending().collect()
    }
}

/// The signals that this process inherited as ignored.
pub(crate) fn ignored() -> impl Fn(i32) -> bool {
    let mask = proc::ignored_signals();
    move |signal| mask >> (signal - 1) & 1 == 1
}

/// Stops the launcher until SIGCONT, as an unhandled SIGTSTP would.
pub(super) fn stop() {
    let _ = emulate_default_handler(SIGTSTP);
}

/// Whether an unhandled SIGTSTP would stop this process: not if nobody in its session, such as a shell with job
/// control, could have it go on. The kernel asks the same, of the whole process group.
pub(super) fn may_stop() -> bool {
    let (group, session) = (getpgrp(), getsid(None).ok());
    let mut above = getppid();
    while let Some(parent) = above {
        match getpgid(Some(parent)) {
            Ok(its) if its == group => above = proc::parent(parent),
            Ok(_) => return getsid(Some(parent)).ok() == session,
            Err(_) => return false,
        }
    }
    false
}

/// A signal in the form in which it can be sent.
pub(super) fn sendable(signal: i32) -> Option<Signal> {
    Signal::from_named_raw(signal)
}
