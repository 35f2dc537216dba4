//! Who is alive.
//!
//! A process says in its [entry](crate::layout) that it has joined and that it leaves. One that
//! dies says nothing, so the others ask the kernel, through a descriptor of the process (`pidfd`),
//! which can not come to mean another process and which also tells of one that is dead and not yet
//! waited for. Where there is no such descriptor, the kernel is asked for a process of that number,
//! and `/proc/PID/stat` for its state and the time of its start.
//!
//! Only an answer counts as a death. That a descriptor or `/proc` is refused, because this process
//! has as many open files as it may or the machine hides other processes, says nothing; nor does a
//! number in another namespace of numbers, as containers have, which is not that of the process
//! here, nor a start in one of times, where boot was at another, nor a `/proc` of another namespace.
//! What dies there is known to its launcher only. And a launcher's word counts only where the kernel can not
//! be asked: what it has started may be a shell that has started the process.
//!
//! A death is noticed by those that wait: while nothing arrives, and before they sleep, but for those
//! who have looked a moment before. They sleep no longer than until it is time for the next look.

mod kernel;
#[cfg(test)]
mod tests;
mod watch;

use core::fmt;

use self::kernel::Start;
pub(crate) use self::kernel::namespace;
#[cfg(not(mq_loom))]
pub(crate) use self::kernel::pid;
pub(crate) use self::watch::Watch;
use crate::error::ShmError;
use crate::index::Process;
use crate::place::Place;
use crate::sync::Ordering;

/// Whether a process that dies without a word will be missed by others of this one's kind: not where there is
/// no `/proc`, as in some containers, by which the kernel's numbers of processes are told from those of other
/// namespaces. There only who has left properly, or was said to have [ended](crate::Mapped::ended) by who
/// has started it, is known to be no more.
#[must_use]
pub fn notices_deaths() -> bool {
    namespace() != 0
}

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
        Self::named(word(place))
    }

    /// What a word of an entry means, which may hold anything: of one that it says nothing known of, the
    /// kernel is asked whether it lives.
    const fn named(word: u32) -> Self {
        match word {
            0 => Self::Absent,
            1 => Self::Joining,
            3 => Self::Left,
            4 => Self::Died,
            _ => Self::Joined,
        }
    }
}

/// The state of a process, as it is written in its entry.
fn word(place: &Place) -> u32 {
    // JOIN (acquire): the entry, and all that the process did before it left.
    place.state.load(Ordering::Acquire)
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
    // Before the place is taken: until its number is there, nobody can find out that it dies.
    let namespace = namespace();
    let start = match Start::of(pid) {
        Start::At(ticks) => ticks,
        Start::Over | Start::Unknown => 0,
    };
    // Relaxed: the entry is read by those that see the next state.
    let absent = State::Absent as u32;
    if !change(place, absent, State::Joining, Ordering::Relaxed) {
        return Err(ShmError::Taken {
            process: process.0,
            pid: holder(place, pid),
        });
    }
    place.namespace.store(namespace, Ordering::Relaxed);
    place.started.store(start, Ordering::Relaxed);
    // JOIN (release): from here on others see if it dies.
    place.pid.store(pid, Ordering::Release);
    Ok(())
}

/// Who has a place that `own` wants; 0 if that has ended before it joined.
fn holder(place: &Place, own: u32) -> u32 {
    /// Who is joining is about to say who it is.
    const LOOKS: usize = 1_000;
    if own == 0 {
        // Of a segment on the heap, all are this process.
        return std::process::id();
    }
    let mut looks = (0..LOOKS).map(|_| place.pid.load(Ordering::Relaxed));
    looks.find(|&pid| pid != 0).unwrap_or(0)
}

/// Shows the others a complete entry. Refused if they have been told that the process has ended,
/// by who took it for another.
pub(crate) fn joined(place: &Place, process: Process) -> Result<(), ShmError> {
    // JOIN (release).
    let joining = State::Joining as u32;
    if change(place, joining, State::Joined, Ordering::Release) {
        return Ok(());
    }
    Err(ShmError::Taken {
        process: process.0,
        pid: 0,
    })
}

/// Says that a process takes nothing more, unless that has been said.
pub(crate) fn left(place: &Place, how: Gone) {
    let to = match how {
        Gone::Left => State::Left,
        Gone::Died => State::Died,
    };
    loop {
        let now = word(place);
        let has_ended = matches!(State::named(now), State::Left | State::Died);
        // JOIN (release).
        if has_ended || change(place, now, to, Ordering::Release) {
            return;
        }
    }
}

/// Changes the state of a process, if its word is this one.
fn change(place: &Place, from: u32, to: State, order: Ordering) -> bool {
    let to = to as u32;
    let state = &place.state;
    state
        .compare_exchange(from, to, order, Ordering::Relaxed)
        .is_ok()
}

/// Whether a process has joined, and its entry is complete.
#[cfg(all(mq_loom, test))]
pub(crate) fn has_joined(place: &Place) -> bool {
    State::of(place) == State::Joined
}

/// Whether a process is known to have ended.
pub(crate) fn has_ended(place: &Place) -> bool {
    matches!(State::of(place), State::Left | State::Died)
}

/// Says that a process has died, as its launcher does, unless it has left, or is another than the
/// one that the launcher has waited for, and lives.
pub(crate) fn ended(place: &Place) {
    let mut watch = Watch::new(1);
    loop {
        let now = word(place);
        match State::named(now) {
            State::Left | State::Died => return,
            State::Joining | State::Joined if watch.can_ask_about(place) => {
                if watch.gone(Process(0), place).is_none() {
                    return;
                }
            }
            // Only if it is as it was when there was nobody to ask about: it may just have joined.
            _ => {
                change(place, now, State::Died, Ordering::Release);
            }
        }
    }
}
