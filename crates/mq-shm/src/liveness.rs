//! Which processes are alive.
//!
//! A process records in its [entry](crate::layout) that it has joined and that it leaves. A process that dies
//! records nothing, so the others ask the kernel, through a process descriptor (`pidfd`), which can never
//! come to mean another process and also reports a process that is dead but not yet waited for. Without such
//! a descriptor, the kernel is asked for a process of that number, and `/proc/PID/stat` for its state and
//! start time.
//!
//! Only a positive answer counts as a death. If a descriptor or `/proc` is refused, because this process has
//! reached its limit of open files or the machine hides other processes, that proves nothing. Nor does a
//! number from another PID namespace, as containers have, which means a different process here; nor a start
//! time from another time namespace, where boot was at another time; nor a `/proc` of another namespace.
//! Deaths there are known only to the launcher. A launcher's word counts only if the kernel cannot be asked:
//! what the launcher started may be a shell that has started the process.
//!
//! Processes that wait notice deaths: while nothing arrives they check before each sleep, unless they have
//! checked a moment before. They sleep no longer than until the next check is due.
//!
//! A process that replaces its program (`exec`) lives on for the kernel, with its number and start time, and no
//! destructor runs: the others wait for messages from it until the new program ends, which finds its place
//! [taken](crate::ShmError::Taken). So it must drop its [`Endpoint`](crate::Endpoint) before, which tells the others
//! that it leaves; the new program may join in another place.

mod kernel;
#[cfg(all(test, not(mq_loom)))]
mod tests;
mod watch;

use core::fmt;

use self::kernel::Identity;
pub(crate) use self::kernel::namespace;
#[cfg(not(mq_loom))]
pub(crate) use self::kernel::pid;
pub(crate) use self::watch::Watch;
use crate::error::ShmError;
use crate::ids::Process;
use crate::place::Place;
use crate::sync::Ordering;

/// Whether others in this one's environment will notice if a process dies without leaving. They
/// will not if there is no `/proc`, as in some containers: from it this crate learns which
/// namespace a process number belongs to. There a process is known to be gone only if it has left
/// properly, or if its launcher has reported that it has [ended](crate::Mapped::ended).
#[must_use]
pub fn notices_deaths() -> bool {
    namespace() != 0
}

/// The state recorded in a process's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum State {
    /// It has not joined yet.
    Absent = 0,
    /// It is writing its entry.
    Joining = 1,
    /// It has joined, and may have died since.
    Joined = 2,
    /// It has left, and takes nothing any more.
    Left = 3,
    /// It has died, as another process has found.
    Died = 4,
}

impl State {
    pub(crate) fn of(place: &Place) -> Self {
        Self::named(word(place))
    }

    /// The meaning of an entry's word, which may hold anything: if the word is unknown, the kernel is asked
    /// whether the process is alive.
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

/// The state of a process, as written in its entry.
fn word(place: &Place) -> u32 {
    // JOIN (acquire): the entry, and all that the process did before it left.
    place.state.load(Ordering::Acquire)
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
    // Before the place is taken: until the pid is there, nobody can notice its death.
    let namespace = namespace();
    let who = match std::process::id() == pid {
        true => Identity::own(),
        false => Identity::of(pid),
    };
    // Relaxed: the entry is read by those that see the next state.
    let absent = State::Absent as u32;
    if !change(place, absent, State::Joining, Ordering::Relaxed) {
        return Err(ShmError::Taken {
            process,
            pid: pid_of_occupant(place, pid),
        });
    }
    place.namespace.store(namespace, Ordering::Relaxed);
    place.started.store(who.started, Ordering::Relaxed);
    // In the models nobody is bound to cores.
    #[cfg(not(mq_loom))]
    place.thread.store(kernel::thread(), Ordering::Relaxed);
    // JOIN (release): from here on others notice if it dies.
    place.pid.store(pid, Ordering::Release);
    Ok(())
}

/// The pid of the process in a place that `own` wants; 0 if it ended before it joined.
fn pid_of_occupant(place: &Place, own: u32) -> u32 {
    /// A process that is joining is about to write its pid.
    const LOOKS: usize = 1_000;
    if own == 0 {
        // In a segment on the heap, all are this process.
        return std::process::id();
    }
    let mut looks = (0..LOOKS).map(|_| place.pid.load(Ordering::Relaxed));
    looks.find(|&pid| pid != 0).unwrap_or(0)
}

/// Shows the others a complete entry. Refused if they have been told, by a launcher that mistook this process
/// for another, that it has ended.
pub(crate) fn joined(place: &Place, process: Process) -> Result<(), ShmError> {
    // JOIN (release).
    let joining = State::Joining as u32;
    if change(place, joining, State::Joined, Ordering::Release) {
        return Ok(());
    }
    Err(ShmError::Taken { process, pid: 0 })
}

/// Records that a process takes nothing more, unless that is already recorded.
pub(crate) fn record_end(place: &Place, how: Gone) {
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

/// Changes the state of a process if its word still has the given value.
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

/// Whether a process that this one has identified by that number, as one of its own namespace, has ended: whatever
/// its entry says of namespaces.
pub(crate) fn number_has_ended(number: u32) -> bool {
    kernel::number_has_ended(number)
}

/// For a launcher: marks a process as dead, unless it has left, or lives (then it is another than the launcher has
/// waited for). Returns how it has ended, if it had joined.
pub(crate) fn mark_end(place: &Place) -> Option<Gone> {
    let mut watch = Watch::new(1);
    let had_joined = place.pid.load(Ordering::Relaxed) != 0;
    loop {
        let now = word(place);
        match State::named(now) {
            State::Left => return Some(Gone::Left),
            State::Died => return had_joined.then_some(Gone::Died),
            // A thread of this process.
            State::Joining | State::Joined if watch.is_own(place) => return None,
            State::Joining | State::Joined if watch.can_ask_about(place) => {
                watch.find_end(Process(0), place)?;
            }
            // Only if the word is unchanged since there was nobody to ask about: it may just have joined.
            _ => {
                change(place, now, State::Died, Ordering::Release);
            }
        }
    }
}
