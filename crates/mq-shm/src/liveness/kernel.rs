//! What the kernel says about a process.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open, test_kill_process};
#[cfg(not(mq_loom))]
use rustix::thread::gettid;

use crate::segment::{Inode, inode_of};

/// Which process has joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) number: u32,
    /// See [`Start::At`]; 0 if that is not known.
    pub(super) started: u64,
}

/// This process, as it first found itself.
static OWN: Mutex<Option<Identity>> = Mutex::new(None);

impl Identity {
    /// This process, the same in all its threads: an emulator may tell each another start.
    pub(super) fn own() -> Self {
        let number = std::process::id();
        let Ok(mut own) = OWN.try_lock() else {
            // Another thread finds out, or did when this process was made as its child.
            return Self::of(number);
        };
        match *own {
            Some(known) if known.number == number => known,
            _ => *own.insert(Self::of(number)),
        }
    }

    pub(super) fn of(number: u32) -> Self {
        let started = match Start::of(number) {
            Start::At(ticks) => ticks,
            Start::Over | Start::Unknown => 0,
        };
        Self { number, started }
    }

    /// Whether the number belongs to no process, to one that has ended, or to another one, as far as
    /// can be told without a descriptor.
    pub(super) fn is_dead_by_number(self) -> bool {
        let is_there = pid(self.number).is_none_or(|n| test_kill_process(n) != Err(Errno::SRCH));
        !is_there || {
            let now = Start::of(self.number);
            now == Start::Over || self.is_another(now)
        }
    }

    /// Whether the process of that number is known to be another.
    pub(super) fn is_another_now(self) -> bool {
        self.is_another(Start::of(self.number))
    }

    /// A number passes on once its process has ended, so to one that was started later. (An emulator may tell a
    /// process a later start of itself than the kernel tells others.)
    fn is_another(self, now: Start) -> bool {
        matches!(now, Start::At(ticks) if self.started != 0 && ticks > self.started)
    }
}

/// Whether a process of this process's namespace has ended, or its number belongs to none.
pub(super) fn number_has_ended(number: u32) -> bool {
    let by_number = || Identity { number, started: 0 }.is_dead_by_number();
    pid(number).is_none_or(|pid| match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(open) => says_died(open.as_fd()) == Some(true),
        Err(Errno::SRCH) => true,
        Err(_) => by_number(),
    })
}

/// Waits for nothing.
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Which of these descriptors say that their processes live, all asked together; none if the kernel
/// does not answer.
pub(super) fn which_live<'a>(descriptors: impl Iterator<Item = BorrowedFd<'a>>) -> Vec<bool> {
    let asked = descriptors.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
    let mut asked: Vec<PollFd<'_>> = asked.collect();
    let is_answered = poll(&mut asked, Some(&AT_ONCE)).is_ok();
    let quiet = asked.iter().map(|asked| asked.revents().is_empty());
    quiet.map(|quiet| is_answered && quiet).collect()
}

/// Whether a descriptor says that its process has died; `None` if the descriptor no longer exists.
pub(super) fn says_died(descriptor: BorrowedFd<'_>) -> Option<bool> {
    let mut ready = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    let answer = poll(&mut ready, Some(&AT_ONCE));
    let found = ready[0].revents();
    if found.contains(PollFlags::NVAL) {
        return None;
    }
    Some(answer == Ok(1) && found.contains(PollFlags::IN))
}

/// Reported instead of the number of a process that has ended and been waited for.
pub(super) const OVER: i64 = -1;

/// The number of the process that a descriptor refers to, or [`OVER`]; 0 if it refers to none, `None`
/// if the kernel does not say.
pub(super) fn number_of(descriptor: BorrowedFd<'_>) -> Option<i64> {
    if !proc_is_ours() {
        return None;
    }
    let path = format!("/proc/self/fdinfo/{}", descriptor.as_raw_fd());
    let said = fs::read_to_string(path).ok()?;
    let mut numbers = said.lines().filter_map(|line| line.strip_prefix("Pid:"));
    let known = numbers.next().and_then(|known| known.trim().parse().ok());
    Some(known.unwrap_or(0))
}

/// Whether descriptors of different processes are different files here, given the file of one of
/// another process: they are from Linux 6.9 on. Before that, all are one file, together with
/// everything else that is not a file. `false` if this cannot be told.
pub(super) fn tells_apart(of_another: Inode) -> bool {
    let own = pidfd_open(getpid(), PidfdFlags::empty()).and_then(inode_of);
    own.is_ok_and(|own| own != of_another)
}

/// A process number as the kernel takes it; `None` for an impossible number.
pub(crate) fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(number).ok()?)
}

/// The kernel's number of this thread.
#[cfg(not(mq_loom))]
pub(super) fn thread() -> u32 {
    gettid().as_raw_nonzero().get().cast_unsigned()
}

/// The namespaces in which this process's number and its start time are valid; 0 if the system does
/// not say. The kernel's numbers for them have 32 bits.
///
/// Those of this thread: if the first thread of a process has ended, the process has none any more.
pub(crate) fn namespace() -> u64 {
    let number =
        |of: &str| fs::metadata(format!("/proc/thread-self/ns/{of}")).map_or(0, |of| of.ino());
    match number("pid") {
        0 => 0,
        numbers => numbers ^ (number("time") << 32),
    }
}

/// When a process was started, as the system says now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// In ticks after boot.
    At(u64),
    /// All of it is dead, and it has not been waited for.
    Over,
    /// No process has that number, or the system does not say.
    Unknown,
}

/// Whether the numbers in `/proc` are those of this process's namespace: a process may enter a new one
/// without mounting another `/proc`. Asked each time, since a child (`fork`) may be in another than its parent.
fn proc_is_ours() -> bool {
    let number = std::process::id().to_string();
    fs::read_link("/proc/self").is_ok_and(|own| own == Path::new(&number))
}

impl Start {
    pub(super) fn of(pid: u32) -> Self {
        if !proc_is_ours() {
            return Self::Unknown;
        }
        Self::said_by(&fs::read(format!("/proc/{pid}/stat")).unwrap_or_default())
    }

    /// What `/proc/PID/stat` says (proc(5)).
    pub(super) fn said_by(stat: &[u8]) -> Self {
        // The second field is the program's name in brackets, which may hold anything.
        let name = stat.iter().rposition(|&byte| byte == b')');
        let rest = name.and_then(|end| str::from_utf8(&stat[end + 1..]).ok());
        let mut fields = rest.unwrap_or_default().split_whitespace();
        let Some(state) = fields.next() else {
            return Self::Unknown;
        };
        let mut number = |after| fields.nth(after).and_then(|field| field.parse().ok());
        // The first thread is shown as dead while others run.
        let threads: u64 = number(16).unwrap_or(0);
        if matches!(state, "Z" | "X" | "x") && threads <= 1 {
            return Self::Over;
        }
        number(1).map_or(Self::Unknown, Self::At)
    }
}
