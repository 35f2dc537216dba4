//! What ranks have started and left, in whatever process group or session it is.

use std::collections::HashSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, kill_process, pidfd_open,
    pidfd_send_signal, set_child_subreaper, waitid,
};

/// The variable by which whatever a run has started is known after the launcher's death.
pub(super) const MARK: &str = "MQ_RUN";
/// How long what was killed may take to end: who waits for a disc takes its time, and nobody waits for
/// that without end.
const PATIENCE: Duration = Duration::from_secs(2);
/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// The processes that become the launcher's children when who started them has ended.
pub(super) struct Orphans {
    /// Children that are nobody's orphans: the guard, and those of whoever became `mq` by `exec`.
    others: HashSet<Pid>,
    /// What the run's own have in their environments, where those others are: they may leave orphans
    /// too.
    mark: Option<Vec<u8>>,
}

impl Orphans {
    /// Makes this process the parent of all that ranks will leave behind. No rank has been started yet.
    pub(super) fn adopted(mark: &str) -> Self {
        // Where the kernel does not know of it, they are left to process 1 as ever.
        let _ = set_child_subreaper(Some(getpid()));
        let others: HashSet<Pid> = children().into_iter().collect();
        // One is the guard.
        let has_strangers = others.len() > 1;
        let mark = has_strangers.then(|| variable(mark));
        Self { others, mark }
    }

    /// Takes notice of those that have ended, lest they stay zombies as long as the run takes. Where the
    /// kernel has no list of children they do: a look at all processes at every end would be too much.
    pub(super) fn bury(&self, ranks: &HashSet<Pid>) {
        let children = listed().unwrap_or_default();
        for pid in children {
            if !self.others.contains(&pid) && !ranks.contains(&pid) {
                has_ended(pid);
            }
        }
    }

    /// Kills those that are left, when there are no ranks any more. Who is killed leaves its own
    /// children, until nobody is left.
    pub(super) fn end(&self) {
        let enough = Instant::now() + PATIENCE;
        loop {
            let mut any = false;
            for pid in children() {
                // Nobody else gets its number before its end has been taken notice of. A program that
                // has changed its user is not killed, and so not waited for.
                let is_ours = !self.others.contains(&pid)
                    && (self.mark.as_ref()).is_none_or(|set| marked(pid, set).is_some());
                if is_ours && kill_process(pid, Signal::KILL).is_ok() {
                    any = true;
                    has_ended(pid);
                }
            }
            if !any || Instant::now() > enough {
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Whether a child has ended, which is taken notice of.
fn has_ended(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    waitid(WaitId::Pid(pid), options).is_ok_and(|ended| ended.is_some())
}

/// The children of this process.
fn children() -> Vec<Pid> {
    listed().unwrap_or_else(|| {
        let own = Some(getpid());
        let all = processes().into_iter();
        all.filter(|&pid| parent(pid) == own).collect()
    })
}

/// The children of this process as the kernel lists them, if it was built to.
fn listed() -> Option<Vec<Pid>> {
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        let list = fs::read_to_string(thread.path().join("children")).ok()?;
        children.extend(list.split_whitespace().filter_map(process));
    }
    Some(children)
}

/// All processes.
fn processes() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| process(entry.file_name().to_str()?))
        .collect()
}

/// A process, by its number.
fn process(number: &str) -> Option<Pid> {
    let number = number.parse::<i32>().ok();
    Pid::from_raw(number.filter(|&number| number > 0)?)
}

/// The parent of a process.
fn parent(pid: Pid) -> Option<Pid> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // In front of it is the name, in brackets, which may have any letters.
    let (_, fields) = stat.rsplit_once(") ")?;
    process(fields.split(' ').nth(1)?)
}

/// A value of [`MARK`] that no other run has.
pub(super) fn mark() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    format!("{}-{now}", std::process::id())
}

/// A mark as it stands in an environment.
fn variable(mark: &str) -> Vec<u8> {
    format!("{MARK}={mark}").into_bytes()
}

/// Kills whatever has a mark in its environment: what a launcher leaves that was killed itself is
/// nobody's child who knows of it.
pub(super) fn kill_marked(mark: &str) {
    let set = variable(mark);
    let enough = Instant::now() + PATIENCE;
    loop {
        let mut any = false;
        for pid in processes() {
            let process = marked(pid, &set);
            any |= process.is_some_and(|it| pidfd_send_signal(it, Signal::KILL).is_ok());
        }
        // Who was killed may have started another just before.
        if !any || Instant::now() > enough {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// A process, if that variable is set in its environment.
fn marked(pid: Pid, set: &[u8]) -> Option<OwnedFd> {
    // First of all: from here on another one that gets its number is not taken for it.
    let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|&byte| byte == 0);
    variables.any(|variable| variable == set).then_some(process)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// A program that ends when its standard input does.
    fn cat() -> Command {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command
    }

    #[test]
    fn children_are_found_by_their_parent() {
        let mut child = cat().spawn().expect("cat starts");
        let pid = Pid::from_child(&child);
        assert_eq!(parent(pid), Some(getpid()));
        assert!(children().contains(&pid));
        assert!(!has_ended(pid));
        drop(child.stdin.take());
        child.wait().expect("it ends");
        assert!(!children().contains(&pid));
    }

    #[test]
    fn who_has_the_mark_is_killed() {
        let (ours, theirs) = (mark(), mark() + "-other");
        let mut marked = cat().env(MARK, &ours).spawn().expect("cat starts");
        let mut other = cat().env(MARK, &theirs).spawn().expect("cat starts");
        kill_marked(&ours);
        assert!(!marked.wait().expect("it ends").success());
        drop(other.stdin.take());
        assert!(other.wait().expect("it ends").success());
    }
}
