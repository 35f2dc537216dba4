//! What one process finds out about whether the others live.

use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{PidfdFlags, Resource, getrlimit, pidfd_open};

use super::kernel::{
    Identity, OVER, namespace, number_of, pid, says_died, tells_apart, which_live,
};
use super::{Gone, State, has_ended, record_end};
use crate::ids::Process;
use crate::place::Place;
use crate::segment::{Inode, inode_of};
use crate::sync::Ordering;

/// What one process knows about whether the others live.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(super) descriptors: Vec<Descriptor>,
    /// How many more may be kept open: the rest of a program's open files are its own.
    pub(super) room: u64,
    /// The process that watches.
    own: Identity,
    namespace: u64,
    /// The last descriptor that was asked for was refused for want of files or memory.
    is_short: bool,
    /// How many more processes without a descriptor have their turn in this look.
    turns: u32,
    /// Which process has its turn first in the next look.
    first: usize,
}

/// This many processes of which no descriptor can be had or kept have their turn in one look: each takes some
/// system calls.
pub(super) const TURNS_PER_LOOK: u32 = 16;

/// Of this many answers of a descriptor that its process lives, one is believed only once it is known that
/// the descriptor still refers to that process.
pub(super) const DOUBTED: u32 = 64;

/// Of this many files that a process may open, one is a descriptor kept here.
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
    /// Present until the drop.
    pub(super) descriptor: Option<OwnedFd>,
    /// The number of the process that it was opened for.
    number: u32,
    /// The file it referred to when it was opened.
    file: Inode,
    /// That file is of no other process: while the descriptor refers to it, it is still this one.
    is_unique: bool,
    /// It said so when all were asked, and that answer has not been used yet.
    said_to_live: bool,
    /// How often it said that the process lives. Each has its own count: with a common one, if they are
    /// asked one after the other, the same ones would always be doubted, and others never.
    answers: u32,
}

impl Kept {
    /// `None` if the kernel does not say which file it is.
    fn new(descriptor: OwnedFd, number: u32) -> Option<Self> {
        let file = inode_of(&descriptor).ok()?;
        Some(Self {
            descriptor: Some(descriptor),
            number,
            file,
            is_unique: tells_apart(file),
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

    /// Whether it refers to the process with that number, or to one that has ended and been waited for;
    /// `None` if the kernel does not say.
    fn is_of(&self, number: u32) -> Option<bool> {
        if !self.is_same_file() {
            return Some(false);
        }
        if self.is_unique {
            return Some(true);
        }
        let said = number_of(self.descriptor())?;
        Some(said == OVER || said == i64::from(number))
    }

    /// Whether to believe it when it says that its process has ended: the program may have put a descriptor of a
    /// child of its own here. If that would be the same file, the process's number decides; one that has been
    /// waited for has none any more, and the descriptor's word counts only if there is no other way to tell that
    /// the number has passed to another process.
    fn tells_of(&self, who: Identity) -> bool {
        let is_its_number = || match number_of(self.descriptor()) {
            Some(OVER) => who.started == 0,
            Some(number) => number == i64::from(who.number),
            None => false,
        };
        self.is_same_file() && (self.is_unique || is_its_number())
    }

    /// Leaves the descriptor open: as far as is known, it is not this crate's any more.
    fn leave(&mut self) {
        if let Some(descriptor) = self.descriptor.take() {
            let _ = descriptor.into_raw_fd();
        }
    }
}

/// Closes the descriptor, unless it is not this crate's any more: a program may have closed what it did not
/// know, and the number may be another file's.
impl Drop for Kept {
    fn drop(&mut self) {
        if self.descriptor.is_none() {
            return;
        }
        // If all processes' descriptors are one file, a descriptor of a child of the program's own
        // looks the same, if that child has ended or the kernel does not say whose it is.
        let is_its_number = || number_of(self.descriptor()) == Some(i64::from(self.number));
        if !(self.is_same_file() && (self.is_unique || is_its_number())) {
            self.leave();
        }
    }
}

impl Watch {
    pub(crate) fn new(processes: u32) -> Self {
        Self {
            descriptors: (0..processes).map(|_| Descriptor::Unknown).collect(),
            room: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / SHARE,
            own: Identity::own(),
            namespace: namespace(),
            is_short: false,
            turns: TURNS_PER_LOOK,
            first: 0,
        }
    }

    /// The process with which a look at all begins.
    pub(crate) const fn first_in_turn(&self) -> usize {
        self.first
    }

    /// Like [`find_end`](Self::find_end), in a look at all, which [`ask_all`](Self::ask_all) begins: of the
    /// processes without a descriptor, if there is no room for more or the kernel gives none, only some have their
    /// turn.
    pub(crate) fn find_end_in_turn(&mut self, process: Process, place: &Place) -> Option<Gone> {
        let asks = match self.descriptors[process.index()] {
            Descriptor::Open(_) => false,
            Descriptor::Unknown => self.room == 0 || self.is_short,
            Descriptor::Refused => true,
        };
        let is_dear = asks && matches!(State::of(place), State::Joining | State::Joined);
        if is_dear {
            if self.turns == 0 {
                return None;
            }
            self.turns -= 1;
            if self.turns == 0 {
                self.first = (process.index() + 1) % self.descriptors.len();
            }
        }
        self.find_end(process, place)
    }

    /// The process of an entry, if its number is one of this process's namespace.
    fn named(&self, place: &Place) -> Option<Identity> {
        // JOIN (acquire): what was written before it.
        let number = place.pid.load(Ordering::Acquire);
        let started = place.started.load(Ordering::Relaxed);
        let namespace = place.namespace.load(Ordering::Relaxed);
        let is_known = pid(number).is_some() && self.namespace != 0 && namespace == self.namespace;
        is_known.then_some(Identity { number, started })
    }

    /// Whether an entry is of this process, another thread of which has joined: it dies with it.
    pub(super) fn is_own(&self, place: &Place) -> bool {
        self.named(place) == Some(self.own)
    }

    /// Whether the kernel can be asked about another process by the number in its entry: one that is just joining has
    /// none yet.
    pub(super) fn can_ask_about(&self, place: &Place) -> bool {
        self.named(place).is_some_and(|who| who != self.own)
    }

    /// Asks all kept descriptors in one system call. If one says that its process lives, that holds for the
    /// next question whether the process [has ended](Self::find_end); others are asked again.
    pub(crate) fn ask_all(&mut self) {
        self.turns = TURNS_PER_LOOK;
        let all = self.descriptors.iter_mut();
        let mut kept = all.filter_map(|descriptor| match descriptor {
            Descriptor::Open(kept) => Some(kept),
            Descriptor::Unknown | Descriptor::Refused => None,
        });
        let (first, second) = (kept.next(), kept.next());
        let Some(second) = second else {
            // A single one is asked when it is needed; what it said when there were more is old.
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

    /// Finds out whether and how a process has ended, and records a death in its entry.
    ///
    /// # Cost
    /// A load if the process says so itself, or if its descriptor has just said that it lives; otherwise a
    /// system call, and some more the first time, or if there is no descriptor of it.
    pub(crate) fn find_end(&mut self, process: Process, place: &Place) -> Option<Gone> {
        if State::of(place) == State::Absent {
            return None;
        }
        if !has_ended(place) && self.find_death(process, place) {
            // It may have left properly between the two looks.
            record_end(place, Gone::Died);
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

    /// Finds out whether a process has stopped running, and keeps a descriptor of it or gives one up.
    fn find_death(&mut self, process: Process, place: &Place) -> bool {
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

    /// What the kept descriptor of a process says, if there is one and it is to be believed. A program may
    /// have closed what it did not know, and the number may be another file's.
    fn by_descriptor(&mut self, at: usize, who: Identity) -> Option<bool> {
        let Descriptor::Open(kept) = &mut self.descriptors[at] else {
            return None;
        };
        let said_to_live = core::mem::take(&mut kept.said_to_live);
        if !said_to_live && says_died(kept.descriptor())? {
            let tells = kept.tells_of(who);
            if tells {
                // While it is still known which process it refers to.
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
        self.is_short = matches!(opened, Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM));
        if self.is_short {
            return None;
        }
        let dead = match &opened {
            // The number may have passed to another process before it was opened.
            Ok(open) => Some(who.is_another_now() || says_died(open.as_fd()) == Some(true)),
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

    /// Gives up the kept descriptor of a process, if there is one.
    fn give_up(&mut self, at: usize, is_dead: bool) {
        let kept = core::mem::replace(&mut self.descriptors[at], Descriptor::Unknown);
        let Descriptor::Open(mut kept) = kept else {
            return;
        };
        self.room += 1;
        if !is_dead && says_died(kept.descriptor()) == Some(true) {
            // It refers to another process, since this one lives.
            kept.leave();
        }
    }
}
