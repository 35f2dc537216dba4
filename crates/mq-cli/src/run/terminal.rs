//! A terminal as standard input.

use std::io::{self, IsTerminal};
use std::process::{ChildStdin, Stdio};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::stdio::stdin;
use rustix::termios::tcgetpgrp;

use crate::cli::Input;

/// Whether reading the terminal now does not stop the reader.
fn may_be_read() -> bool {
    match tcgetpgrp(stdin()) {
        Ok(group) => group == getpgrp(),
        // A terminal of another session, as after `setsid` or `su -c`: reading it stops nobody.
        Err(error) => error == Errno::NOTTY,
    }
}

/// Rank 0's standard input. A terminal is read by the launcher: a process outside the foreground group
/// would be stopped for reading it, and that group is the launcher's, so that Ctrl-C and Ctrl-Z reach
/// the launcher.
pub(super) fn input(wanted: Input) -> Stdio {
    if wanted == Input::None {
        Stdio::null()
    } else if io::stdin().is_terminal() {
        Stdio::piped()
    } else {
        Stdio::inherit()
    }
}

/// Typed input on its way to rank 0.
pub(super) struct Terminal {
    to: ChildStdin,
    typed: Vec<u8>,
}

impl Terminal {
    pub(super) fn new(to: ChildStdin) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&to, true)?;
        let typed = Vec::new();
        Ok(Self { to, typed })
    }

    /// What must become ready before the next step: rank 0's pipe, or the terminal if the launcher may
    /// read it now.
    pub(super) fn awaited(&self) -> Option<PollFd<'_>> {
        if !self.typed.is_empty() {
            Some(PollFd::new(&self.to, PollFlags::OUT))
        } else if may_be_read() {
            Some(PollFd::from_borrowed_fd(stdin(), PollFlags::IN))
        } else {
            None
        }
    }

    /// Passes on what was typed before, else reads what is typed now; returns whether there can be more.
    pub(super) fn step(&mut self) -> bool {
        if self.typed.is_empty() {
            let mut typed = [0; 4096];
            match rustix::io::read(stdin(), &mut typed) {
                Ok(0) => return false,
                Ok(count) => self.typed.extend_from_slice(&typed[..count]),
                Err(error) => return error == Errno::INTR || error == Errno::AGAIN,
            }
        }
        match rustix::io::write(&self.to, &self.typed) {
            Ok(count) => drop(self.typed.drain(..count)),
            Err(error) => return error == Errno::INTR || error == Errno::AGAIN,
        }
        true
    }
}
