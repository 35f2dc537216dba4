//! What outlives a launcher that is killed.

use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use super::orphans;
use super::signals::Signals;
use super::start::THIS;

/// What the launcher says when it needs no guard any more.
const DONE: &str = "done";

/// A process that waits for the launcher's end, and kills what ranks have started if the launcher
/// could not do so itself. (The kernel kills the ranks alone.) Dropping dismisses it.
pub(super) struct Guard {
    process: Child,
    to: Option<ChildStdin>,
    mark: String,
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
        // It is none of what it guards, and not of another run either, of which this one is a part.
        command.env_remove(orphans::MARK);
        let mut process = command.spawn()?;
        let to = process.stdin.take();
        let mark = orphans::mark();
        let mut guard = Self {
            process,
            to,
            mark: mark.clone(),
        };
        guard.tell(&mark);
        Ok(guard)
    }

    /// What ranks have in their environment, in [`orphans::MARK`], and what they start inherits.
    pub(super) fn mark(&self) -> &str {
        &self.mark
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
    // What a batch system sends to every process of a job is for the launcher and the ranks.
    let _held = Signals::kept_off();
    let words: Vec<String> = io::stdin().lock().lines().map_while(Result::ok).collect();
    if words.last().is_none_or(|word| word != DONE)
        && let Some((mark, groups)) = words.split_first()
    {
        for group in groups
            .iter()
            .filter_map(|word| Pid::from_raw(word.parse().ok()?))
        {
            // All of it may be gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // What has left its group has another parent by now, and cannot be known by that.
        orphans::kill_marked(mark);
    }
    ExitCode::SUCCESS
}
