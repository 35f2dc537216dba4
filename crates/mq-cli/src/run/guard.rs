//! The guard, which outlives a launcher that is killed.

use std::ffi::CStr;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::set_name;

use super::orphans;
use super::signals::Signals;
use super::start::THIS;

/// What lists of processes call it.
const NAME: &CStr = c"mq-guard";

/// Sent by the launcher when it no longer needs a guard.
const DONE: &str = "done";

/// A process that waits for the launcher's end, and kills what ranks have started if the launcher
/// could not do so itself. (The kernel kills only the ranks.) Dropping dismisses the guard.
pub(super) struct Guard {
    process: Child,
    to: Option<ChildStdin>,
    mark: String,
    is_only_child: bool,
}

impl Guard {
    /// Starts it in its own process group, so that a signal to the launcher's group does not end it.
    pub(super) fn start() -> io::Result<Self> {
        let mut command = Command::new(THIS);
        command.arg0("mq").arg("guard-ranks").process_group(0);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // It must not carry the mark of what it guards, nor that of an enclosing run.
        command.env_remove(orphans::MARK);
        let is_only_child = !orphans::has_children();
        let mut process = command.spawn()?;
        let to = process.stdin.take();
        let mark = orphans::mark();
        let mut guard = Self {
            process,
            to,
            mark: mark.clone(),
            is_only_child,
        };
        guard.tell(&mark);
        Ok(guard)
    }

    /// The value of [`orphans::MARK`] in the ranks' environment, which what they start inherits.
    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// Whether the launcher had no other child when it started the guard.
    pub(super) const fn is_only_child(&self) -> bool {
        self.is_only_child
    }

    /// Adds a process group to guard.
    pub(super) fn add(&mut self, group: u32) {
        self.tell(&format!("{group}"));
    }

    fn tell(&mut self, word: &str) {
        if let Some(to) = &mut self.to {
            // If the guard was killed, only the launcher watches over the ranks.
            let _ = to.write_all(format!("{word}\n").as_bytes());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.tell(DONE);
        self.to = None;
        // It may have been stopped, and would be waited for.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs the guard.
pub(crate) fn guard_ranks() -> ExitCode {
    // It was started from `/proc/self/exe`, and `ps` and `top` would call it `exe`.
    let _ = set_name(NAME);
    // Signals that a batch system sends to every process of a job are for the launcher and the ranks.
    let _held = Signals::kept_off();
    let words: Vec<String> = io::stdin().lock().lines().map_while(Result::ok).collect();
    if words.last().is_none_or(|word| word != DONE)
        && let Some((mark, groups)) = words.split_first()
    {
        for group in groups
            .iter()
            .filter_map(|word| Pid::from_raw(word.parse().ok()?))
        {
            // The whole group may be gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // Processes that left their group have another parent by now; only the mark identifies them.
        orphans::kill_marked(mark);
    }
    ExitCode::SUCCESS
}
