//! Processes that ranks started and left behind, in any process group or session.

use std::collections::HashSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpgid, getpid, kill_process, pidfd_open,
    pidfd_send_signal, set_child_subreaper, test_kill_process, waitid,
};

use super::proc;

/// The variable that identifies everything a run has started, after the launcher's death.
pub(super) const MARK: &str = "MQ_RUN";
/// How long killed processes may take to end: one that waits for a disc takes its time, and the launcher
/// does not wait for it forever.
const PATIENCE: Duration = Duration::from_secs(2);
/// The time between two checks.
const PAUSE: Duration = Duration::from_millis(1);

/// The most processes of other users that are named.
const MOST_NAMED: usize = 8;

/// Said of what cannot be found.
const UNLISTED: &str = "something that ranks started is left, and /proc, which is of another PID namespace, does not \
                        tell what";

/// The processes that become the launcher's children when their parent ends.
pub(super) struct Orphans {
    /// Children that are not orphans: the guard, and those of the process that became `mq` by `exec`.
    others: HashSet<Pid>,
    /// What the run's own processes have in their environments, if there are such other children, which
    /// may leave orphans too.
    mark: Option<Vec<u8>>,
    /// `/proc` tells nothing of this process's children, and whatever lives after the ranks is of theirs.
    is_unlisted: bool,
}

impl Orphans {
    /// Makes this process the parent of all that ranks will leave behind. Called before any rank starts, when it may
    /// have no child but the guard.
    pub(super) fn adopted(mark: &str, is_guard_only_child: bool) -> Self {
        // If the kernel does not support it, orphans go to process 1 as usual.
        let _ = set_child_subreaper(Some(getpid()));
        let others: HashSet<Pid> = children().into_iter().collect();
        // One of them is the guard.
        let has_strangers = others.len() > 1;
        let mark = has_strangers.then(|| variable(mark));
        // All others in a namespace end with its first process.
        let ends_all = getpid().is_init();
        Self {
            others,
            mark,
            is_unlisted: is_guard_only_child && !ends_all && !proc::is_ours(),
        }
    }

    /// Whether there are any besides the ranks.
    pub(super) fn are_left(&self, ranks: &HashSet<Pid>) -> bool {
        let mut children = children().into_iter();
        children.any(|pid| {
            let is_left = !self.others.contains(&pid) && !ranks.contains(&pid) && !reap(pid);
            let is_ours = |set: &Vec<u8>| matches!(look(pid, set), Look::Marked(_));
            is_left && self.mark.as_ref().is_none_or(is_ours)
        })
    }

    /// Reaps those that have ended, so that they do not stay zombies for the whole run. If the kernel
    /// lists no children they do stay: scanning all processes at every end would cost too much.
    pub(super) fn bury(&self, ranks: &HashSet<Pid>) {
        let children = proc::children().unwrap_or_default();
        for pid in children {
            if !self.others.contains(&pid) && !ranks.contains(&pid) {
                reap(pid);
            }
        }
    }

    /// A child that may live on.
    pub(super) fn leave(&mut self, pid: Pid) {
        self.others.insert(pid);
        self.is_unlisted = false;
    }

    /// Kills the remaining ones when there are no ranks and no guard any more, again and again, since a killed process
    /// leaves its own children. `groups` are those that the ranks led. Returns what is to be said of those that are
    /// left.
    pub(super) fn end(&self, groups: &[Pid]) -> Vec<String> {
        let enough = Instant::now() + PATIENCE;
        loop {
            let mut any = false;
            let mut refusing = Vec::new();
            for pid in children() {
                if self.others.contains(&pid) {
                    continue;
                }
                // Its number is not reused before it is reaped. A program that has changed its user
                // cannot be killed, so it is not waited for.
                let mark = self.mark.as_ref().map(|set| look(pid, set));
                let is_ours = matches!(mark, None | Some(Look::Marked(_)));
                any |= matches!(mark, Some(Look::Unknown));
                if is_ours && kill_process(pid, Signal::KILL).is_ok() {
                    any = true;
                    reap(pid);
                }
                let rank = rank_of(pid, groups);
                // The environment of another user's process cannot be read.
                if (is_ours || rank.is_some()) && test_kill_process(pid) == Err(Errno::PERM) {
                    refusing.push((pid, rank));
                }
            }
            if !any || Instant::now() > enough {
                let unlisted = self.is_unlisted && reap_until(enough);
                return left(&refusing, unlisted);
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The rank that led the process group in which a process is.
fn rank_of(pid: Pid, groups: &[Pid]) -> Option<usize> {
    let its = getpgid(Some(pid)).ok()?;
    groups.iter().position(|&group| group == its)
}

/// What is said of the processes that may not be ended, each with its rank, and of what is not listed.
fn left(refusing: &[(Pid, Option<usize>)], unlisted: bool) -> Vec<String> {
    let each = |&(pid, rank): &(Pid, Option<usize>)| {
        let name = proc::name(pid).map_or(String::new(), |name| format!(" ({name})"));
        let whose = match rank {
            Some(rank) => format!("of rank {rank}"),
            None => "that a rank started".into(),
        };
        format!("process {pid}{name} {whose} is left: it belongs to another user")
    };
    let mut said: Vec<String> = refusing.iter().take(MOST_NAMED).map(each).collect();
    match refusing.len().saturating_sub(MOST_NAMED) {
        0 => {}
        1 => said.push("one more process of another user is left".into()),
        more => said.push(format!("{more} more processes of other users are left")),
    }
    said.extend(unlisted.then(|| UNLISTED.into()));
    said
}

/// Whether this process has a child, be it one that has ended.
pub(super) fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, options), Err(Errno::CHILD))
}

/// Reaps children as they end, until then or until none is left; returns whether one is.
fn reap_until(deadline: Instant) -> bool {
    loop {
        match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) if Instant::now() > deadline => return true,
            Ok(None) => thread::sleep(PAUSE),
            Err(_) => return false,
        }
    }
}

/// Reaps a child if it has ended; returns whether it has.
fn reap(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    waitid(WaitId::Pid(pid), options).is_ok_and(|ended| ended.is_some())
}

/// The children of this process.
fn children() -> Vec<Pid> {
    proc::children().unwrap_or_else(|| {
        let own = Some(getpid());
        let all = proc::processes().into_iter();
        all.filter(|&pid| proc::parent(pid) == own).collect()
    })
}

/// A value of [`MARK`] that no other run has.
pub(super) fn mark() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    format!("{}-{now}", std::process::id())
}

/// A mark as an entry of an environment.
fn variable(mark: &str) -> Vec<u8> {
    format!("{MARK}={mark}").into_bytes()
}

/// Kills everything with a mark in its environment: what a killed launcher leaves behind is not a child
/// of any process that knows of it.
pub(super) fn kill_marked(mark: &str) {
    let set = variable(mark);
    let enough = Instant::now() + PATIENCE;
    loop {
        let mut any = false;
        for pid in proc::processes() {
            any |= match look(pid, &set) {
                Look::Marked(Some(process)) => pidfd_send_signal(process, Signal::KILL).is_ok(),
                Look::Marked(None) => kill_process(pid, Signal::KILL).is_ok(),
                Look::Other => false,
                Look::Unknown => true,
            };
        }
        // A killed process may have started another just before.
        if !any || Instant::now() > enough {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Whose a process is.
enum Look {
    /// It has the mark, and this descriptor, if the kernel gives any: before Linux 5.3 it does not, and in some
    /// containers it may not.
    Marked(Option<OwnedFd>),
    Other,
    /// It is in the middle of an `exec`, or was when it was looked at: nothing says yet whose it is.
    Unknown,
}

/// Whether that variable is set in the environment of a process.
fn look(pid: Pid, set: &[u8]) -> Look {
    // First, so that a later process with the same number is not mistaken for it.
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => Some(process),
        Err(Errno::SRCH) => return Look::Other,
        Err(_) => None,
    };
    let path = format!("/proc/{pid}/environ");
    let Ok(environment) = fs::read(&path) else {
        return Look::Other;
    };
    if environment.is_empty() {
        // Of a process that may not be read the kernel would hide the addresses; this one may be.
        let is_in_exec = proc::stat(pid).is_some_and(|stat| has_memory_only(&stat));
        let is_empty = fs::read(&path).is_ok_and(|environment| environment.is_empty());
        return if is_in_exec || !is_empty {
            Look::Unknown
        } else {
            Look::Other
        };
    }
    let mut variables = environment.split(|&byte| byte == 0);
    if variables.any(|variable| variable == set) {
        Look::Marked(process)
    } else {
        Look::Other
    }
}

/// Whether a process, by its `stat`, has memory and no place of its environment in it yet. A kernel's thread has
/// neither.
fn has_memory_only(stat: &str) -> bool {
    let (memory, environment) = (proc::field(stat, 23), proc::field(stat, 51));
    memory.is_some_and(|size| size != "0") && environment == Some("0")
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
        assert_eq!(proc::parent(pid), Some(getpid()));
        assert!(children().contains(&pid));
        assert!(!reap(pid));
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

    #[test]
    fn a_process_in_exec_has_memory_and_no_environment() {
        let stat = |memory, environment| {
            let mut fields = vec!["7"; 50];
            (fields[20], fields[48]) = (memory, environment);
            format!("5 (a) 0) {}\n", fields.join(" "))
        };
        assert!(has_memory_only(&stat("4096", "0")));
        assert!(!has_memory_only(&stat("4096", "140727507914731")));
        assert!(!has_memory_only(&stat("0", "0")), "a kernel's thread");
        assert!(!has_memory_only(""));

        let mut child = cat().env_clear().spawn().expect("cat starts");
        let pid = Pid::from_child(&child);
        let is_other = (0..2_000).any(|_| {
            thread::sleep(PAUSE);
            matches!(look(pid, &variable(&mark())), Look::Other)
        });
        assert!(is_other, "an environment that is empty is one");
        drop(child.stdin.take());
        child.wait().expect("it ends");
    }
}
