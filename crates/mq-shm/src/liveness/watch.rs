//! What one process finds out of the lives of the others.

use std::os::fd::{IntoRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{PidfdFlags, Resource, getrlimit, pidfd_open};

use super::kernel::{Identity, has_died, is_of, namespace, pid};
use super::{Gone, State, has_ended, left};
use crate::index::Process;
use crate::place::Place;
use crate::sync::Ordering;

/// What one process knows of the lives of the others.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(super) descriptors: Vec<Descriptor>,
    /// How many more may be kept open: the others of a program's open files are its own.
    pub(super) room: u64,
    namespace: u64,
}

/// Of so many answers of a descriptor that its process lives, one is not believed before it is known
/// that the descriptor is still of that process.
pub(super) const DOUBTED: u32 = 64;

/// Of so many files that a process may open, one is a descriptor kept here.
const SHARE: u64 = 4;

#[derive(Debug)]
pub(super) enum Descriptor {
    /// Not asked for so far, or refused for now.
    Unknown,
    Open(Kept),
    /// The kernel has none to give.
    Refused,
}

/// A descriptor that is kept open.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) descriptor: OwnedFd,
    /// How often it said that the process lives. Each has a count of its own: where they are asked
    /// one after the other, the same ones would be doubted by a common one, and others never.
    alive: u32,
}

impl Watch {
    pub(crate) fn new(processes: u32) -> Self {
        Self {
            descriptors: (0..processes).map(|_| Descriptor::Unknown).collect(),
            room: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / SHARE,
            namespace: namespace(),
        }
    }

    /// Whether the kernel knows a process by the number in its entry. Threads of one process have no
    /// number of their own, and die together; nor has one that is just joining.
    pub(super) fn can_ask_about(&self, place: &Place) -> bool {
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
        if State::of(place) == State::Absent {
            return None;
        }
        if !has_ended(place) && self.is_dead(process, place) {
            // It may have left properly between the two looks.
            left(place, Gone::Died);
        }
        match State::of(place) {
            State::Left => Some(Gone::Left),
            State::Died => Some(Gone::Died),
            State::Absent | State::Joining | State::Joined => None,
        }
    }

    /// Whether it is known that a process does not run any more.
    fn is_dead(&mut self, process: Process, place: &Place) -> bool {
        if !self.can_ask_about(place) {
            return false;
        }
        let who = Identity {
            number: place.pid.load(Ordering::Relaxed),
            started: place.started.load(Ordering::Relaxed),
        };
        let at = process.index();
        (self.by_descriptor(at, who))
            .or_else(|| self.by_another_descriptor(at, who))
            .unwrap_or_else(|| who.is_dead_by_number())
    }

    /// What the descriptor of a process says that is kept, if there is one and it is to be believed. A
    /// program may have closed what it did not know, and the number be another file's.
    fn by_descriptor(&mut self, at: usize, who: Identity) -> Option<bool> {
        let Descriptor::Open(kept) = &mut self.descriptors[at] else {
            return None;
        };
        match has_died(&kept.descriptor)? {
            true => (is_of(&kept.descriptor, who.number) == Some(true)).then_some(true),
            false => {
                kept.alive = kept.alive.wrapping_add(1);
                let is_doubted = kept.alive.is_multiple_of(DOUBTED);
                let is_believed = !is_doubted || is_of(&kept.descriptor, who.number) != Some(false);
                is_believed.then_some(false)
            }
        }
    }

    /// What a new descriptor says, which is kept if the process lives; `None` if there is none.
    fn by_another_descriptor(&mut self, at: usize, who: Identity) -> Option<bool> {
        if matches!(self.descriptors[at], Descriptor::Refused) {
            return None;
        }
        let opened = pidfd_open(pid(who.number)?, PidfdFlags::empty());
        if let Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) = opened {
            return None;
        }
        let kept = core::mem::replace(&mut self.descriptors[at], Descriptor::Unknown);
        if let Descriptor::Open(kept) = kept {
            self.room += 1;
            if is_of(&kept.descriptor, who.number) != Some(true) {
                // Somebody else's file, as far as is known: it is not to be closed here.
                let _ = kept.descriptor.into_raw_fd();
            }
        }
        match opened {
            Ok(open) => {
                // The number may have passed to another process before it was opened.
                let dead = who.is_another_now() || has_died(&open) == Some(true);
                if !dead && self.room > 0 {
                    self.room -= 1;
                    self.descriptors[at] = Descriptor::Open(Kept {
                        descriptor: open,
                        alive: 0,
                    });
                }
                Some(dead)
            }
            Err(Errno::SRCH) => Some(true),
            Err(_) => {
                self.descriptors[at] = Descriptor::Refused;
                None
            }
        }
    }
}
