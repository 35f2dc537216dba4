//! What outlives a launcher that is killed.

use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use super::start::THIS;

/// What the launcher says when it needs no guard any more.
const DONE: &str = "done";

/// A process that waits for the launcher's end, and kills what ranks have started if the launcher
/// could not do so itself. (The kernel kills the ranks alone.) Dropping dismisses it.
pub(super) struct Guard {
    process: Child,
    to: Option<ChildStdin>,
}

impl Guard {
    /// Starts it, in a process group of its own: what ends the launcher's does not end it.
    pub(super) fn start() -> io::Result<Self> {
        let mut command = Command::new(THIS);
        command.arg0("mq").arg("guard-ranks").process_group(0);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut process = command.spawn()?;
        let to = process.stdin.take();
        Ok(Self { process, to })
    }

    /// Gives it another process group to guard.
    pub(super) fn add(&mut self, group: u32) {
        self.tell(&format!("{group}"));
    }

    fn tell(&mut self, word: &str) {
        if let Some(to) = &mut self.to {
            // If somebody has killed it, the ranks are watched over by the launcher alone.
            let _ = to.write_all(format!("{word}\n").as_bytes());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.tell(DONE);
        self.to = None;
        let _ = self.process.wait();
    }
}

/// What the guard does.
pub(crate) fn guard_ranks() -> ExitCode {
    let words: Vec<String> = io::stdin().lock().lines().map_while(Result::ok).collect();
    if words.last().is_none_or(|word| word != DONE) {
        for group in words
            .iter()
            .filter_map(|word| Pid::from_raw(word.parse().ok()?))
        {
            // All of it may be gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
    ExitCode::SUCCESS
}
