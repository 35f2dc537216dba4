//! Who is alive.
//!
//! A process says in its [entry](crate::layout) that it has joined and that it leaves. One that
//! dies says nothing, so the others ask the kernel, through a descriptor of the process (`pidfd`),
//! which can not come to mean another process and which also tells of one that is dead and not yet
//! waited for. Where the kernel has no such descriptors, `/proc/PID/stat` answers: its state, and
//! the time of its start.
//!
//! A death is noticed by those that wait: while nothing arrives, and before they sleep.

use core::fmt;
use std::fs;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::error::ShmError;
use crate::index::Process;
use crate::place::Place;
use crate::sync::Ordering;

/// What a process's entry says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum State {
    /// It has not been here.
    Absent = 0,
    /// It is writing its entry.
    Joining = 1,
    /// It is here, or has died here.
    Joined = 2,
    /// It has left, and takes nothing any more.
    Left = 3,
    /// It has died, as one of the others has found.
    Died = 4,
}

impl State {
    pub(crate) fn of(place: &Place) -> Self {
        // JOIN (acquire): the entry, and all that the process did before it left.
        match place.state.load(Ordering::Acquire) {
            1 => Self::Joining,
            2 => Self::Joined,
            3 => Self::Left,
            4 => Self::Died,
            _ => Self::Absent,
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// It has left: everything that it sent has arrived.
    Left,
    /// It has died: everything that it sent whole has arrived.
    Died,
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Left => "has left",
            Self::Died => "has died",
        })
    }
}

/// Writes the entry of a process that joins.
pub(crate) fn join(place: &Place, process: Process, pid: u32) -> Result<(), ShmError> {
    let from = State::Absent as u32;
    let to = State::Joining as u32;
    // Relaxed: the entry is read by those that see the next state.
    place
        .state
        .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
        .map_err(|_| ShmError::Taken {
            process: process.0,
            pid: place.pid.load(Ordering::Relaxed),
        })?;
    place.pid.store(pid, Ordering::Relaxed);
    place
        .started
        .store(started(pid).unwrap_or(0), Ordering::Relaxed);
    Ok(())
}

/// Shows the others a complete entry.
pub(crate) fn joined(place: &Place) {
    // JOIN (release).
    place.state.store(State::Joined as u32, Ordering::Release);
}

/// Says that a process takes nothing more.
pub(crate) fn left(place: &Place, how: Gone) {
    let state = match how {
        Gone::Left => State::Left,
        Gone::Died => State::Died,
    };
    // JOIN (release).
    place.state.store(state as u32, Ordering::Release);
}

/// Whether a process has joined, and its entry is complete.
#[cfg(all(loom, test))]
pub(crate) fn has_joined(place: &Place) -> bool {
    State::of(place) == State::Joined
}

/// Whether a process is known to have ended.
pub(crate) fn has_ended(place: &Place) -> bool {
    matches!(State::of(place), State::Left | State::Died)
}

/// Says that a process has died, unless it has left.
pub(crate) fn ended(place: &Place) {
    if State::of(place) != State::Left {
        left(place, Gone::Died);
    }
}

/// What one process knows of the lives of the others.
#[derive(Debug)]
pub(crate) struct Watch {
    descriptors: Vec<Descriptor>,
}

#[derive(Debug)]
enum Descriptor {
    /// Not asked for so far.
    Unknown,
    Open(OwnedFd),
    /// The kernel has none to give.
    Refused,
}

impl Watch {
    pub(crate) fn new(processes: u32) -> Self {
        Self {
            descriptors: (0..processes).map(|_| Descriptor::Unknown).collect(),
        }
    }

    /// Whether and how a process has ended.
    ///
    /// # Cost
    /// A load if it says so itself; otherwise a system call, and two more the first time.
    pub(crate) fn gone(&mut self, process: Process, place: &Place) -> Option<Gone> {
        match State::of(place) {
            State::Absent | State::Joining => None,
            State::Left => Some(Gone::Left),
            State::Died => Some(Gone::Died),
            State::Joined => {
                let pid = place.pid.load(Ordering::Relaxed);
                let started = place.started.load(Ordering::Relaxed);
                let dead = self.dead(process, pid, started);
                // It may have left properly between the two looks.
                match State::of(place) {
                    State::Left => Some(Gone::Left),
                    _ if dead => {
                        left(place, Gone::Died);
                        Some(Gone::Died)
                    }
                    _ => None,
                }
            }
        }
    }

    fn dead(&mut self, process: Process, pid: u32, started: u64) -> bool {
        // Threads of one process have no number of their own, and die together.
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
            return false;
        };
        let descriptor = &mut self.descriptors[process.index()];
        if matches!(descriptor, Descriptor::Unknown) {
            *descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(open) => Descriptor::Open(open),
                Err(Errno::SRCH) => return true,
                Err(_) => Descriptor::Refused,
            };
            // The number may have passed to another process before it was opened.
            if self::started(pid.as_raw_nonzero().get() as u32).is_some_and(|now| now != started) {
                return true;
            }
        }
        match descriptor {
            Descriptor::Open(open) => {
                let mut ready = [PollFd::new(open, PollFlags::IN)];
                let now = rustix::event::Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                };
                matches!(poll(&mut ready, Some(&now)), Ok(1))
            }
            _ => self::started(pid.as_raw_nonzero().get() as u32) != Some(started),
        }
    }
}

/// When a process that runs was started, in ticks after boot; nothing for a dead one.
fn started(pid: u32) -> Option<u64> {
    if pid == 0 {
        return None;
    }
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in brackets, which may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_started_and_no_other_is_it() {
        let me = std::process::id();
        assert!(started(me).is_some());
        assert_eq!(started(0), None);
    }

    #[test]
    fn a_process_is_gone_when_it_is_dead_and_nobody_waited_for_it() {
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .unwrap();
        let place = Place::default();
        join(&place, Process(1), child.id()).unwrap();
        joined(&place);
        let mut watch = Watch::new(2);
        assert_eq!(watch.gone(Process(1), &place), None);
        child.kill().unwrap();
        while watch.gone(Process(1), &place).is_none() {
            std::thread::yield_now();
        }
        assert_eq!(watch.gone(Process(1), &place), Some(Gone::Died));
        child.wait().unwrap();
    }

    #[test]
    fn another_process_of_the_same_number_is_not_the_one_that_joined() {
        let place = Place::default();
        join(&place, Process(0), std::process::id()).unwrap();
        place.started.fetch_add(1, Ordering::Relaxed);
        joined(&place);
        assert_eq!(Watch::new(1).gone(Process(0), &place), Some(Gone::Died));
    }

    #[test]
    fn a_process_joins_once() {
        let place = Place::default();
        join(&place, Process(3), 77).unwrap();
        let error = join(&place, Process(3), 78).unwrap_err().to_string();
        assert!(error.contains("77"), "{error}");
    }
}
