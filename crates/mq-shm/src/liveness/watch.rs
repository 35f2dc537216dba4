//! What one process finds out of the lives of the others.

use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{PidfdFlags, Resource, getrlimit, pidfd_open};

use super::kernel::{Identity, OVER, has_died, namespace, number_of, pid, tells_apart, which_live};
use super::{Gone, State, has_ended, left};
use crate::index::Process;
use crate::place::Place;
use crate::segment::{Inode, inode_of};
use crate::sync::Ordering;

/// What one process knows of the lives of the others.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(super) descriptors: Vec<Descriptor>,
    /// How many more may be kept open: the others of a program's open files are its own.
    pub(super) room: u64,
    namespace: u64,
    /// How many more of those without a descriptor have their turn in this look.
    turns: u32,
    /// Whose turn it is first in the next.
    first: usize,
}

/// So many processes of which no descriptor can be kept have their turn in one look: each takes some
/// system calls.
pub(super) const TURNS: u32 = 16;

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
    /// There until the drop.
    pub(super) descriptor: Option<OwnedFd>,
    /// The number of the process that it was opened for.
    number: u32,
    /// Which file that was when it was opened.
    file: Inode,
    /// It has said so when all were asked, and nobody has been told.
    said_to_live: bool,
    /// How often it said that the process lives. Each has a count of its own: where they are asked
    /// one after the other, the same ones would be doubted by a common one, and others never.
    answers: u32,
}

impl Kept {
    /// None, if the kernel does not say which file it is.
    fn new(descriptor: OwnedFd, number: u32) -> Option<Self> {
        let file = inode_of(&descriptor).ok()?;
        Some(Self {
            descriptor: Some(descriptor),
            number,
            file,
            said_to_live: false,
            answers: 0,
        })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        let descriptor = self.descriptor.as_ref();
        descriptor.expect("it is there until the drop").as_fd()
    }

    fn is_same_file(&self) -> bool {
        inode_of(self.descriptor()) == Ok(self.file)
    }

    /// Whether it is of the process with that number, or of one that is over and waited for; `None`
    /// if the kernel does not say.
    fn is_of(&self, number: u32) -> Option<bool> {
        if !self.is_same_file() {
            return Some(false);
        }
        let said = number_of(self.descriptor())?;
        Some(said == OVER || said == i64::from(number))
    }

    /// Whether it is to be believed, when it says that its process has ended, that this one has. One
    /// that is waited for has no number any more by which it could be known: the program may have put
    /// a descriptor of a child of its own here. If that would be the same file, the descriptor's word
    /// counts only where it could not be told otherwise that the number has passed to another.
    fn tells_of(&self, who: Identity) -> bool {
        self.is_same_file()
            && match number_of(self.descriptor()) {
                Some(OVER) => who.started == 0 || tells_apart(self.file),
                Some(number) => number == i64::from(who.number),
                None => false,
            }
    }

    /// Leaves the descriptor open: it is somebody else's, as far as is known.
    fn leave(&mut self) {
        if let Some(descriptor) = self.descriptor.take() {
            let _ = descriptor.into_raw_fd();
        }
    }
}

/// Closes the descriptor, unless it is somebody else's by now: a program may have closed what it did not
/// know, and the number be another file's.
impl Drop for Kept {
    fn drop(&mut self) {
        if self.descriptor.is_none() {
            return;
        }
        let is_ours = match number_of(self.descriptor()) {
            // Where all processes' descriptors are one file, one of a child of the program's own looks the
            // same, if that is over or the kernel does not say whose it is.
            Some(OVER) | None => self.is_same_file() && tells_apart(self.file),
            Some(_) => self.is_of(self.number) == Some(true),
        };
        if !is_ours {
            self.leave();
        }
    }
}

impl Watch {
    pub(crate) fn new(processes: u32) -> Self {
        Self {
            descriptors: (0..processes).map(|_| Descriptor::Unknown).collect(),
            room: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / SHARE,
            namespace: namespace(),
            turns: TURNS,
            first: 0,
        }
    }

    /// With which process a look at all begins.
    pub(crate) const fn first_in_turn(&self) -> usize {
        self.first
    }

    /// The same as [`gone`](Self::gone) in a look at all, which [`ask_all`](Self::ask_all) begins: of those
    /// without a descriptor, where there is no room for more, only some have their turn.
    pub(crate) fn gone_in_turn(&mut self, process: Process, place: &Place) -> Option<Gone> {
        let is_dear = self.room == 0
            && !matches!(self.descriptors[process.index()], Descriptor::Open(_))
            && matches!(State::of(place), State::Joining | State::Joined);
        if is_dear {
            if self.turns == 0 {
                return None;
            }
            self.turns -= 1;
            if self.turns == 0 {
                self.first = (process.index() + 1) % self.descriptors.len();
            }
        }
        self.gone(process, place)
    }

    /// Whether the kernel knows a process by the number in its entry. Threads of one process have no
    /// number of their own, and die together; nor has one that is just joining.
    pub(super) fn can_ask_about(&self, place: &Place) -> bool {
        // JOIN (acquire): what was written before it.
        let number = place.pid.load(Ordering::Acquire);
        let namespace = place.namespace.load(Ordering::Relaxed);
        pid(number).is_some() && self.namespace != 0 && namespace == self.namespace
    }

    /// Asks all descriptors that are kept, in one system call. What one says of a process that lives
    /// holds for the next question whether that has [gone](Self::gone); of others it is asked again.
    pub(crate) fn ask_all(&mut self) {
        self.turns = TURNS;
        let all = self.descriptors.iter_mut();
        let mut kept = all.filter_map(|descriptor| match descriptor {
            Descriptor::Open(kept) => Some(kept),
            Descriptor::Unknown | Descriptor::Refused => None,
        });
        let (first, second) = (kept.next(), kept.next());
        let Some(second) = second else {
            // One is asked when it is wanted; what it said when there were more is old.
            if let Some(only) = first {
                only.said_to_live = false;
            }
            return;
        };
        let kept: Vec<&mut Kept> = first.into_iter().chain([second]).chain(kept).collect();
        let answers = which_live(kept.iter().map(|kept| kept.descriptor()));
        for (kept, lives) in kept.into_iter().zip(answers) {
            kept.said_to_live = lives;
        }
    }

    /// Whether and how a process has ended.
    ///
    /// # Cost
    /// A load if it says so itself, or if its descriptor has just said that it lives; otherwise a
    /// system call, and some more the first time, or if there is no descriptor of it.
    pub(crate) fn gone(&mut self, process: Process, place: &Place) -> Option<Gone> {
        if State::of(place) == State::Absent {
            return None;
        }
        if !has_ended(place) && self.is_dead(process, place) {
            // It may have left properly between the two looks.
            left(place, Gone::Died);
        }
        let how = match State::of(place) {
            State::Left => Gone::Left,
            State::Died => Gone::Died,
            State::Absent | State::Joining | State::Joined => return None,
        };
        // It will not be asked about again, and while it runs its descriptor can be told from others.
        self.give_up(process.index(), true);
        Some(how)
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
        let said_to_live = core::mem::take(&mut kept.said_to_live);
        if !said_to_live && has_died(kept.descriptor())? {
            let tells = kept.tells_of(who);
            if tells {
                // While it is still known whose it is.
                self.give_up(at, true);
            }
            return tells.then_some(true);
        }
        kept.answers = kept.answers.wrapping_add(1);
        let is_doubted = kept.answers.is_multiple_of(DOUBTED);
        (!is_doubted || kept.is_of(who.number) != Some(false)).then_some(false)
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
        let dead = match &opened {
            // The number may have passed to another process before it was opened.
            Ok(open) => Some(who.is_another_now() || has_died(open.as_fd()) == Some(true)),
            Err(Errno::SRCH) => Some(true),
            Err(_) => None,
        };
        self.give_up(at, dead == Some(true));
        match opened {
            Ok(open) if dead == Some(false) && self.room > 0 => {
                if let Some(kept) = Kept::new(open, who.number) {
                    self.room -= 1;
                    self.descriptors[at] = Descriptor::Open(kept);
                }
            }
            Err(_) if dead.is_none() => self.descriptors[at] = Descriptor::Refused,
            _ => {}
        }
        dead
    }

    /// Gives up the descriptor of a process that is kept, if there is one.
    fn give_up(&mut self, at: usize, is_dead: bool) {
        let kept = core::mem::replace(&mut self.descriptors[at], Descriptor::Unknown);
        let Descriptor::Open(mut kept) = kept else {
            return;
        };
        self.room += 1;
        if !is_dead && has_died(kept.descriptor()) == Some(true) {
            // Of another process, since this one lives.
            kept.leave();
        }
    }
}
