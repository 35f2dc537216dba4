//! The processes of a run, from their start until none is left.

use std::collections::HashSet;
use std::process::Child;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgid, kill_process, kill_process_group, waitid,
};

use signal_hook::consts::{SIGTTIN, SIGTTOU};

use super::guard::Guard;
use super::orphans::Orphans;
use super::signals;
use crate::{exit, say};

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Exited(i32),
    Killed(i32),
}

impl End {
    /// The exit code as a shell would give it.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Exited(status) => exit::of_status(status),
            Self::Killed(signal) => exit::of_signal(signal),
        }
    }

    /// What is said of this many ranks that have ended like this.
    pub(super) fn told_of(self, ranks: usize) -> String {
        match self {
            Self::Exited(status) => format!("exited with status {status}"),
            Self::Killed(signal) => {
                let were = if ranks == 1 { "was" } else { "were" };
                format!("{were} killed by {}", signals::describe(signal))
            }
        }
    }
}

/// Ranks, each with its process number, as the subject of a sentence.
pub(super) fn named(ranks: &[(usize, u32)], of: usize) -> String {
    match ranks {
        [] => "no rank".into(),
        [(rank, pid)] => format!("rank {rank} (pid {pid})"),
        [(rank, pid), ..] => {
            format!(
                "{} of {of} ranks, rank {rank} (pid {pid}) first,",
                ranks.len()
            )
        }
    }
}

struct Member {
    process: Child,
    ended: bool,
    /// It has been said that it was stopped by the terminal.
    is_told: bool,
}

impl Member {
    /// The process, and the process group that it leads.
    fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }
}

/// The processes, by rank. Those that have ended stay zombies until the last one has ended, so a
/// process group that is sent a signal is always the rank's, never a later one with the same number.
/// Dropping kills what is left.
pub(super) struct Ranks {
    members: Vec<Member>,
    guard: Option<Guard>,
    orphans: Orphans,
    /// Those that still run are not waited for.
    given_up: bool,
}

impl Ranks {
    /// No ranks yet.
    pub(super) fn new(guard: Guard) -> Self {
        Self {
            members: Vec::new(),
            orphans: Orphans::adopted(guard.mark(), guard.is_only_child()),
            guard: Some(guard),
            given_up: false,
        }
    }

    /// Adds the next rank: a process that leads its own process group.
    pub(super) fn add(&mut self, process: Child) {
        if let Some(guard) = &mut self.guard {
            guard.add(process.id());
        }
        self.members.push(Member {
            process,
            ended: false,
            is_told: false,
        });
    }

    /// How many had not ended at the last check.
    pub(super) fn running(&self) -> usize {
        self.members.iter().filter(|member| !member.ended).count()
    }

    /// Those that had not ended at the last check, with their process numbers.
    pub(super) fn left(&self) -> Vec<(usize, u32)> {
        let members = self.members.iter().enumerate();
        let left = members.filter(|(_, member)| !member.ended);
        left.map(|(rank, member)| (rank, member.process.id()))
            .collect()
    }

    /// Kills a rank; returns whether that was not allowed.
    pub(super) fn refuses_kill(&self, rank: usize) -> bool {
        kill_is_refused(self.members[rank].pid())
    }

    /// From now on nobody waits for those that have not ended.
    pub(super) fn give_up(&mut self) {
        self.given_up = true;
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// The process number of a rank.
    pub(super) fn pid(&self, rank: usize) -> u32 {
        self.members[rank].process.id()
    }

    /// The ranks that have ended since the last check, in rank order.
    pub(super) fn look(&mut self) -> Vec<(usize, End)> {
        self.orphans.bury(&self.pids());
        let mut ends = Vec::new();
        for (rank, member) in self.members.iter_mut().enumerate() {
            if !member.ended
                && let Some(end) = end_of(member.pid())
            {
                member.ended = true;
                ends.push((rank, end));
            }
        }
        ends
    }

    /// Continues the ranks that are stopped, and their groups: a stopped process heeds no signal.
    pub(super) fn wake(&self) {
        let members = self.members.iter().filter(|member| !member.ended);
        for pid in members.map(Member::pid) {
            if stopped_by(pid).is_some() {
                let _ = kill_process_group(pid, Signal::CONT);
            }
        }
    }

    /// The ranks that the terminal has stopped since the last check, and the signals by which it has.
    pub(super) fn stopped_by_terminal(&mut self) -> Vec<(usize, i32)> {
        let mut all = Vec::new();
        for (rank, member) in self.members.iter_mut().enumerate() {
            if !member.ended
                && !member.is_told
                && let Some(signal @ (SIGTTIN | SIGTTOU)) = stopped_by(member.pid())
            {
                member.is_told = true;
                all.push((rank, signal));
            }
        }
        all
    }

    /// Whether something that ranks have started is there after them.
    pub(super) fn have_left_others(&self) -> bool {
        self.orphans.are_left(&self.pids())
    }

    fn pids(&self) -> HashSet<Pid> {
        self.members.iter().map(Member::pid).collect()
    }

    /// Sends a signal to every rank and to what it has started in its process group.
    pub(super) fn send(&self, signal: Signal) {
        for member in &self.members {
            let pid = member.pid();
            // A group of zombies accepts the signal silently. One of another user refuses it, which is told when it
            // matters: when the rank does not end.
            let _ = kill_process_group(pid, signal);
            // The rank itself may have moved to another group.
            if getpgid(Some(pid)).is_ok_and(|group| group != pid) {
                let _ = kill_process(pid, signal);
            }
        }
    }

    /// Kills all that is left of the ranks and what they have started, and waits for the ranks to end, but for those
    /// that are given up or may not be signalled. Returns what is to be said of what is left.
    pub(super) fn clear(&mut self) -> Vec<String> {
        if self.members.is_empty() && self.guard.is_none() {
            return Vec::new();
        }
        self.send(Signal::KILL);
        let groups: Vec<Pid> = self.members.iter().map(Member::pid).collect();
        // Before the groups' numbers can be reused.
        self.guard = None;
        for (rank, mut member) in self.members.drain(..).enumerate() {
            let pid = member.pid();
            if member.ended || !self.given_up && !kill_is_refused(pid) {
                let _ = member.process.wait();
                continue;
            }
            if !self.given_up {
                say(&format!(
                    "rank {rank} (pid {pid}) cannot be ended: it runs as another user"
                ));
            }
            self.orphans.leave(pid);
        }
        // What ranks started outside their groups is a child of the launcher by now.
        self.orphans.end(&groups)
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        for sentence in self.clear() {
            say(&sentence);
        }
    }
}

/// Kills a process; returns whether that was not allowed.
fn kill_is_refused(pid: Pid) -> bool {
    kill_process(pid, Signal::KILL) == Err(Errno::PERM)
}

/// The signal that has stopped a process, if it is stopped.
fn stopped_by(pid: Pid) -> Option<i32> {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), options).ok()??.stopping_signal()
}

/// How a process ended, if it has; it stays a zombie.
fn end_of(pid: Pid) -> Option<End> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = loop {
        match waitid(WaitId::Pid(pid), options) {
            Err(Errno::INTR) => {}
            status => break status.ok()??,
        }
    };
    let killed = || status.terminating_signal().map(End::Killed);
    status.exit_status().map(End::Exited).or_else(killed)
}
