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
//! here, nor a `/proc` of another namespace. What dies there is known to its launcher only. And a
//! launcher's word counts only where the kernel can not be asked: what it has started may be a shell
//! that has started the process.
//!
//! A death is noticed by those that wait: while nothing arrives, and before they sleep.

use core::fmt;
use std::fs;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Resource, getrlimit, pidfd_open, test_kill_process};

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
    place.namespace.store(namespace(), Ordering::Relaxed);
    let start = match Start::of(pid) {
        Start::At(ticks) => ticks,
        Start::Over | Start::Unknown => 0,
    };
    place.started.store(start, Ordering::Relaxed);
    // JOIN (release): from here on others see if it dies.
    place.pid.store(pid, Ordering::Release);
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

/// Says that a process has died, as its launcher does, unless it has left, or is another than the
/// one that the launcher has waited for, and lives.
pub(crate) fn ended(place: &Place) {
    let mut watch = Watch::new(1);
    let is_here = matches!(State::of(place), State::Joining | State::Joined);
    if is_here && watch.can_ask_about(place) && watch.gone(Process(0), place).is_none() {
        return;
    }
    if State::of(place) != State::Left {
        left(place, Gone::Died);
    }
}

/// What one process knows of the lives of the others.
#[derive(Debug)]
pub(crate) struct Watch {
    descriptors: Vec<Descriptor>,
    /// How many more may be kept open: the others of a program's open files are its own.
    room: u64,
    namespace: u64,
    /// How often descriptors said that a process lives.
    alive: u32,
}

/// Of so many answers of descriptors that a process lives, one is not believed before it is known
/// that the descriptor is still of that process.
const DOUBTED: u32 = 64;

/// Of so many files that a process may open, one is a descriptor kept here.
const SHARE: u64 = 4;

#[derive(Debug)]
enum Descriptor {
    /// Not asked for so far, or refused for now.
    Unknown,
    Open(OwnedFd),
    /// The kernel has none to give.
    Refused,
}

impl Watch {
    pub(crate) fn new(processes: u32) -> Self {
        Self {
            descriptors: (0..processes).map(|_| Descriptor::Unknown).collect(),
            room: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / SHARE,
            namespace: namespace(),
            alive: 0,
        }
    }

    /// Whether the kernel knows a process by the number in its entry. Threads of one process have no
    /// number of their own, and die together; nor has one that is just joining.
    fn can_ask_about(&self, place: &Place) -> bool {
        // JOIN (acquire): what was written before it.
        let number = place.pid.load(Ordering::Acquire);
        let namespace = place.namespace.load(Ordering::Relaxed);
        pid(number).is_some() && self.namespace != 0 && namespace == self.namespace
    }

    /// Whether and how a process has ended.
    ///
    /// # Cost
    /// A load if it says so itself; otherwise a system call, and some more the first time, or if
    /// there is no descriptor of it.
    pub(crate) fn gone(&mut self, process: Process, place: &Place) -> Option<Gone> {
        match State::of(place) {
            State::Absent => None,
            State::Left => Some(Gone::Left),
            State::Died => Some(Gone::Died),
            State::Joining | State::Joined => {
                let dead = self.dead(process, place);
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

    /// Whether it is known that a process does not run any more.
    fn dead(&mut self, process: Process, place: &Place) -> bool {
        if !self.can_ask_about(place) {
            return false;
        }
        let number = place.pid.load(Ordering::Relaxed);
        let Some(pid) = pid(number) else {
            return false;
        };
        let started = place.started.load(Ordering::Relaxed);
        let descriptor = &mut self.descriptors[process.index()];
        // A program may have closed what it did not know, and the number be another file's: what is
        // to count is asked again.
        if let Descriptor::Open(open) = descriptor
            && has_died(open) == Some(false)
        {
            self.alive = self.alive.wrapping_add(1);
            if !self.alive.is_multiple_of(DOUBTED) || is_of(open, number) {
                return false;
            }
        }
        let kept = core::mem::replace(descriptor, Descriptor::Unknown);
        if !matches!(kept, Descriptor::Refused) {
            match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(open) => {
                    // The number may have passed to another process before it was opened.
                    let dead =
                        Start::of(number).is_another_than(started) || has_died(&open) == Some(true);
                    if let Descriptor::Open(kept) = kept {
                        self.room += 1;
                        if !dead {
                            let _ = kept.into_raw_fd();
                        }
                    }
                    if !dead && self.room > 0 {
                        self.room -= 1;
                        *descriptor = Descriptor::Open(open);
                    }
                    return dead;
                }
                Err(Errno::SRCH) => {
                    self.room += u64::from(matches!(kept, Descriptor::Open(_)));
                    return true;
                }
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => *descriptor = kept,
                Err(_) => *descriptor = Descriptor::Refused,
            }
        } else {
            *descriptor = kept;
        }
        test_kill_process(pid) == Err(Errno::SRCH)
            || match Start::of(number) {
                Start::Over => true,
                start => start.is_another_than(started),
            }
    }
}

/// Whether the process of a descriptor has died; `None` if the descriptor is no more.
fn has_died(descriptor: &OwnedFd) -> Option<bool> {
    let mut ready = [PollFd::new(descriptor, PollFlags::IN)];
    let now = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let answer = poll(&mut ready, Some(&now));
    let found = ready[0].revents();
    if found.contains(PollFlags::NVAL) {
        return None;
    }
    Some(answer == Ok(1) && found.contains(PollFlags::IN))
}

/// Whether a descriptor is of the process with that number, as far as the kernel says.
fn is_of(descriptor: &OwnedFd, number: u32) -> bool {
    if !proc_is_ours() {
        return true;
    }
    let path = format!("/proc/self/fdinfo/{}", descriptor.as_raw_fd());
    let Ok(said) = fs::read_to_string(path) else {
        return true;
    };
    let mut numbers = said.lines().filter_map(|line| line.strip_prefix("Pid:"));
    numbers
        .next()
        .is_some_and(|known| known.trim().parse() == Ok(number))
}

/// A process number as the kernel takes it; none of what can not be one.
pub(crate) fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(number).ok()?)
}

/// The namespace in which this process's number means it; 0 where the system does not say.
pub(crate) fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |of| of.ino())
}

/// When a process was started, as the system says now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// In ticks after boot.
    At(u64),
    /// It is dead, and nobody has waited for it.
    Over,
    /// There is none of that number, or the system does not say.
    Unknown,
}

/// Whether the numbers in `/proc` are those of this process's namespace: a new one may have been
/// entered without mounting another.
fn proc_is_ours() -> bool {
    static OURS: OnceLock<bool> = OnceLock::new();
    *OURS.get_or_init(|| {
        let number = std::process::id().to_string();
        fs::read_link("/proc/self").is_ok_and(|own| own == Path::new(&number))
    })
}

impl Start {
    fn of(pid: u32) -> Self {
        if !proc_is_ours() {
            return Self::Unknown;
        }
        let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The second field is the program's name in brackets, which may hold anything.
        let name = stat.iter().rposition(|&byte| byte == b')');
        let rest = name.and_then(|end| str::from_utf8(&stat[end + 1..]).ok());
        let mut fields = rest.unwrap_or_default().split_whitespace();
        match fields.next() {
            Some("Z" | "X" | "x") => Self::Over,
            Some(_) => {
                let ticks = fields.nth(18).and_then(|field| field.parse().ok());
                ticks.map_or(Self::Unknown, Self::At)
            }
            None => Self::Unknown,
        }
    }

    /// Whether it is known of another process than of the one that was started then; 0 if that is
    /// not known.
    fn is_another_than(self, started: u64) -> bool {
        matches!(self, Self::At(ticks) if started != 0 && ticks != started)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    #[test]
    fn this_process_has_started_and_none_has_number_0() {
        let me = std::process::id();
        assert!(matches!(Start::of(me), Start::At(ticks) if ticks > 0));
        assert_eq!(Start::of(0), Start::Unknown);
        assert_ne!(namespace(), 0);
    }

    /// A process that runs until it is killed, and its entry.
    fn joined_by_a_child() -> (Child, Place) {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let place = Place::default();
        join(&place, Process(1), child.id()).unwrap();
        joined(&place);
        (child, place)
    }

    /// Joins for this process, with another start and in another namespace of numbers.
    fn another(place: &Place, process: Process) {
        join(place, process, std::process::id()).unwrap();
        place.started.fetch_add(1, Ordering::Relaxed);
        place.namespace.fetch_add(1, Ordering::Relaxed);
        joined(place);
    }

    #[test]
    fn what_is_not_known_is_no_death() {
        let place = Place::default();
        another(&place, Process(0));
        assert_eq!(Watch::new(1).gone(Process(0), &place), None, "a container");
        let place = Place::default();
        join(&place, Process(0), std::process::id()).unwrap();
        joined(&place);
        place.started.store(0, Ordering::Relaxed);
        let mut watch = Watch::new(1);
        assert_eq!(watch.gone(Process(0), &place), None, "its start");
        watch.descriptors[0] = Descriptor::Refused;
        assert_eq!(watch.gone(Process(0), &place), None, "and no descriptor");
        place.pid.store(u32::MAX, Ordering::Relaxed);
        assert_eq!(watch.gone(Process(0), &place), None, "no number");
    }

    #[test]
    fn deaths_are_found_without_descriptors() {
        let (mut child, place) = joined_by_a_child();
        let mut watch = Watch::new(2);
        watch.descriptors[1] = Descriptor::Refused;
        assert_eq!(watch.gone(Process(1), &place), None);
        child.kill().unwrap();
        // Before anybody has waited for it.
        while watch.gone(Process(1), &place).is_none() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        place.state.store(State::Joined as u32, Ordering::Relaxed);
        assert_eq!(watch.gone(Process(1), &place), Some(Gone::Died), "after");
    }

    #[test]
    fn one_that_dies_while_it_joins_is_found() {
        let mut child = Command::new("true").spawn().unwrap();
        let place = Place::default();
        join(&place, Process(1), child.id()).unwrap();
        child.wait().unwrap();
        assert_eq!(Watch::new(2).gone(Process(1), &place), Some(Gone::Died));
    }

    #[test]
    fn a_process_is_gone_when_it_is_dead_and_nobody_waited_for_it() {
        let (mut child, place) = joined_by_a_child();
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
    fn a_descriptor_that_is_another_file_s_now_is_no_death() {
        let (mut child, place) = joined_by_a_child();
        let mut watch = Watch::new(2);
        assert_eq!(watch.gone(Process(1), &place), None);
        let Descriptor::Open(open) = &mut watch.descriptors[1] else {
            panic!("{:?}", watch.descriptors[1]);
        };
        // As a program may make of what it did not know. There is always something to read here.
        let file = fs::File::open("/dev/zero").unwrap();
        rustix::io::dup2(&file, open).unwrap();
        assert_eq!(has_died(open), Some(true));
        assert_eq!(watch.gone(Process(1), &place), None);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(watch.gone(Process(1), &place), Some(Gone::Died));
    }

    #[test]
    fn a_descriptor_that_is_another_file_s_now_hides_no_death() {
        let (mut child, place) = joined_by_a_child();
        let mut watch = Watch::new(2);
        let ask = |watch: &mut Watch| watch.gone(Process(1), &place);
        assert_eq!(ask(&mut watch), None);
        let room = watch.room;
        for _ in 0..2 * DOUBTED {
            assert_eq!(ask(&mut watch), None, "it lives");
        }
        assert_eq!(watch.room, room, "its descriptor is believed");
        let Descriptor::Open(open) = &mut watch.descriptors[1] else {
            panic!("{:?}", watch.descriptors[1]);
        };
        // There is never anything to read here.
        let (empty, _writer) = std::io::pipe().unwrap();
        rustix::io::dup2(&empty, open).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let found = (0..DOUBTED).find_map(|_| ask(&mut watch));
        assert_eq!(found, Some(Gone::Died));
    }

    #[test]
    fn a_few_open_files_are_enough() {
        let (mut child, place) = joined_by_a_child();
        let mut watch = Watch::new(2);
        watch.room = 0;
        assert_eq!(watch.gone(Process(1), &place), None);
        assert!(matches!(watch.descriptors[1], Descriptor::Unknown));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(watch.gone(Process(1), &place), Some(Gone::Died));
        assert_eq!(watch.room, 0);
    }

    #[test]
    fn a_launcher_s_word_counts_where_the_kernel_has_none() {
        // It has waited for a shell; the process that the shell has started is there.
        let (mut child, place) = joined_by_a_child();
        ended(&place);
        assert_eq!(State::of(&place), State::Joined);
        child.kill().unwrap();
        child.wait().unwrap();
        ended(&place);
        assert_eq!(State::of(&place), State::Died);
        let place = Place::default();
        ended(&place);
        assert_eq!(State::of(&place), State::Died, "before it joined");
        let place = Place::default();
        another(&place, Process(0));
        ended(&place);
        assert_eq!(State::of(&place), State::Died, "in a container");
        let place = Place::default();
        left(&place, Gone::Left);
        ended(&place);
        assert_eq!(State::of(&place), State::Left);
    }

    #[test]
    fn a_process_joins_once() {
        let place = Place::default();
        join(&place, Process(3), 77).unwrap();
        let error = join(&place, Process(3), 78).unwrap_err().to_string();
        assert!(error.contains("77"), "{error}");
    }
}
