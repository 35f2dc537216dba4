//! Writing without the signals that a failed write raises.
//!
//! A pipe that nobody reads any more and a file that is as long as the process may make it raise SIGPIPE and SIGXFSZ,
//! which end a process that has not made arrangements. What a session writes is not worth the application: the write
//! fails, and that is reported where it can be.

use super::undisturbed::undisturbed;

/// Does some writing, [undisturbed], of which a failure is an error and no signal. The thread's mask is what it was
/// when this returns, and a signal of the application's own stays pending.
#[cfg(target_os = "linux")]
pub(super) fn without<T>(write: impl FnOnce() -> T) -> T {
    undisturbed(|| {
        let held = Held::back();
        let written = write();
        drop(held);
        written
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn without<T>(write: impl FnOnce() -> T) -> T {
    undisturbed(write)
}

/// A set of signals, in memory of its own for the functions that fill and read it.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy)]
struct Set(libc::sigset_t);

#[cfg(target_os = "linux")]
impl Set {
    fn empty() -> Self {
        // SAFETY: a set is some words, for which zero is a value: of the empty set, as `sigemptyset` makes it here.
        Self(unsafe { core::mem::zeroed() })
    }

    fn with(mut self, signal: libc::c_int) -> Self {
        // SAFETY: the set is one, and is only ours.
        unsafe { libc::sigaddset(&raw mut self.0, signal) };
        self
    }

    fn has(&self, signal: libc::c_int) -> bool {
        // SAFETY: the set is one.
        unsafe { libc::sigismember(&raw const self.0, signal) == 1 }
    }

    /// The signals that wait for this thread, or for its process.
    fn pending() -> Self {
        let mut set = Self::empty();
        // SAFETY: the set is one, and is only ours.
        unsafe { libc::sigpending(&raw mut set.0) };
        set
    }

    /// Changes the signals that are held back from this thread; returns those that were.
    fn hold_back(&self, how: libc::c_int) -> Self {
        let mut before = Self::empty();
        // SAFETY: both sets are sets, and the second is only ours.
        unsafe { libc::pthread_sigmask(how, &raw const self.0, &raw mut before.0) };
        before
    }

    /// Takes one of these away, if it is pending.
    fn take_one(&self) -> bool {
        let now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the set is one, and nothing is asked about the signal.
        unsafe { libc::sigtimedwait(&raw const self.0, core::ptr::null_mut(), &raw const now) > 0 }
    }
}

/// The two signals, held back from this thread.
#[cfg(target_os = "linux")]
struct Held {
    /// Those that were not pending before: if they are later, a write has raised them.
    ours: Set,
    before: Set,
}

#[cfg(target_os = "linux")]
impl Held {
    fn back() -> Self {
        let pending = Set::pending();
        let (mut all, mut ours) = (Set::empty(), Set::empty());
        for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
            all = all.with(signal);
            if !pending.has(signal) {
                ours = ours.with(signal);
            }
        }
        let before = all.hold_back(libc::SIG_BLOCK);
        Self { ours, before }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Held {
    fn drop(&mut self) {
        while self.ours.take_one() {}
        self.before.hold_back(libc::SIG_SETMASK);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{self, Write};

    use super::*;

    const CHILD: &str = "MQ_TEST_SIGNALS";

    /// Signals end a process unless somebody arranges otherwise, and Rust's runtime does; so a process of its own
    /// takes that back, and writes where nobody reads.
    #[test]
    fn a_pipe_without_a_reader_is_an_error() {
        if std::env::var_os(CHILD).is_none() {
            let again = std::process::Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "session::signals::tests::a_pipe_without_a_reader_is_an_error",
                ])
                .env(CHILD, "1")
                .output()
                .unwrap();
            assert!(again.status.success(), "{again:?}");
            return;
        }
        let (reader, mut writer) = io::pipe().unwrap();
        drop(reader);
        // SAFETY: the default action has no handler that could be wrong.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let mut lost = || without(|| writer.write_all(b"lost")).unwrap_err().kind();
        assert_eq!(lost(), io::ErrorKind::BrokenPipe);
        assert_eq!(lost(), io::ErrorKind::BrokenPipe);
        // One that was on its way before is the application's, and one within is the last that a thread gets.
        let outer = Held::back();
        // SAFETY: the signal is held back.
        unsafe { libc::raise(libc::SIGPIPE) };
        assert_eq!(lost(), io::ErrorKind::BrokenPipe);
        let is_pending = || Set::pending().has(libc::SIGPIPE);
        assert!(is_pending());
        drop(outer);
        assert!(!is_pending());
    }
}
