//! The sets of the pool, and the lists in which their requests are.

use super::pool::{NONE, Requests};
use super::slot::{Outcome, Slot, Stage};
use crate::error::Error;

/// What its set knows of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListOf {
    /// Not complete.
    Pending = 0,
    /// Complete, and not reported.
    Ready = 1,
    /// Reported, and its handle still exists.
    Reported = 2,
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
    len: u32,
}

const EMPTY: List = List {
    first: NONE,
    last: NONE,
    len: 0,
};

/// Complete requests are in a list; pending ones are only counted, since nobody looks for them before the set
/// ends.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Set {
    pending: u32,
    ready: List,
    reported: List,
}

impl Set {
    const EMPTY: Self = Self {
        pending: 0,
        ready: EMPTY,
        reported: EMPTY,
    };

    #[inline(always)]
    fn list(&mut self, list: ListOf) -> Option<&mut List> {
        match list {
            ListOf::Pending => None,
            ListOf::Ready => Some(&mut self.ready),
            ListOf::Reported => Some(&mut self.reported),
        }
    }

    /// Appends a request to a list; returns its predecessor.
    #[inline(always)]
    fn append(&mut self, index: u32, to: ListOf) -> u32 {
        let Some(list) = self.list(to) else {
            self.pending += 1;
            return NONE;
        };
        let before = core::mem::replace(&mut list.last, index);
        list.len += 1;
        if before == NONE {
            list.first = index;
        }
        before
    }
}

/// All sets of a process.
#[derive(Debug, Default)]
pub(super) struct Sets {
    all: Vec<Set>,
    free: Vec<u32>,
}

impl Sets {
    /// The first half of linking a request of a set: returns its predecessor, or [`NONE`].
    #[inline(always)]
    pub(super) fn link(&mut self, slot: &mut Slot, index: u32, to: ListOf) -> u32 {
        slot.list = to;
        slot.next = NONE;
        slot.previous = self.all[slot.set as usize].append(index, to);
        slot.previous
    }

    /// A pending request of a set is over, and is not reported.
    #[inline(always)]
    pub(super) fn forget_pending(&mut self, set: u32) {
        self.all[set as usize].pending -= 1;
    }

    /// A pending request of a set is ready; links it as [`link`](Self::link) does.
    #[inline(always)]
    pub(super) fn link_ready(&mut self, slot: &mut Slot, index: u32) -> u32 {
        slot.list = ListOf::Ready;
        slot.next = NONE;
        let set = &mut self.all[slot.set as usize];
        set.pending -= 1;
        slot.previous = set.append(index, ListOf::Ready);
        slot.previous
    }
}

impl Requests {
    /// A new, empty set.
    pub(crate) fn add_set(&mut self) -> u32 {
        let set = Set::EMPTY;
        if let Some(index) = self.sets.free.pop() {
            self.sets.all[index as usize] = set;
            return index;
        }
        self.sets.all.push(set);
        self.sets.all.len() as u32 - 1
    }

    /// The set is over; its requests go on without it.
    pub(crate) fn remove_set(&mut self, set: u32) {
        for index in self.pending(set) {
            self.remove_from_set(index);
        }
        for list in [ListOf::Ready, ListOf::Reported] {
            while let Some(index) = self.first(set, list) {
                self.remove_from_set(index);
                if !self.at(index).has_handle {
                    self.release(index);
                }
            }
        }
        if self.awaited == set {
            // A panic has ended the wait.
            self.awaited = NONE;
        }
        self.sets.free.push(set);
    }

    /// Moves a request into a set, out of the one it was in.
    pub(crate) fn join(&mut self, index: u32, set: u32) {
        self.remove_from_set(index);
        let slot = self.at_mut(index);
        slot.set = set;
        let list = if slot.stage == Stage::Done {
            ListOf::Ready
        } else {
            ListOf::Pending
        };
        self.link(index, list);
    }

    /// Takes a request out of its set.
    pub(crate) fn remove_from_set(&mut self, index: u32) {
        if self.at(index).set != NONE {
            self.unlink(index);
            self.at_mut(index).set = NONE;
        }
    }

    /// The first request of the list of those that are ready, or reported.
    #[inline]
    pub(crate) fn first(&self, set: u32, list: ListOf) -> Option<u32> {
        let set = &self.sets.all[set as usize];
        let first = if list == ListOf::Reported {
            set.reported.first
        } else {
            set.ready.first
        };
        (first != NONE).then_some(first)
    }

    /// The requests of a set that are not complete.
    ///
    /// # Cost
    /// A look at every slot of the pool.
    #[cold]
    pub(crate) fn pending(&self, set: u32) -> Vec<u32> {
        if self.pending_len(set) == 0 {
            return Vec::new();
        }
        self.all()
            .filter(|(_, slot)| slot.set == set && slot.list == ListOf::Pending)
            .map(|(index, _)| index)
            .collect()
    }

    /// How many requests of a set are not complete.
    #[inline]
    pub(crate) fn pending_len(&self, set: u32) -> u32 {
        self.sets.all[set as usize].pending
    }

    /// Somebody waits for all requests of a set, and will get them reported [together](Self::report_all): from now on,
    /// those that succeed and have no handle are released at once.
    pub(crate) fn await_all(&mut self, set: u32) {
        self.awaited = set;
    }

    /// Nobody waits for all of a set any more.
    pub(crate) fn await_none(&mut self) {
        self.awaited = NONE;
    }

    /// How many requests of a set are complete and not reported.
    #[inline]
    pub(crate) fn ready_len(&self, set: u32) -> u32 {
        self.sets.all[set as usize].ready.len
    }

    /// Reports everything that is ready: requests without a handle are over. Returns the first failure, if
    /// any.
    pub(crate) fn report_all(&mut self, set: u32) -> Result<(), Error> {
        let mut failed = NONE;
        let ready = core::mem::replace(&mut self.sets.all[set as usize].ready, EMPTY);
        let mut at = ready.first;
        let mut result = Ok(());
        while at != NONE {
            let index = at;
            let slot = &mut self.slots[index as usize];
            at = slot.next;
            if slot.outcome != Outcome::Fine && failed == NONE {
                failed = index;
                result = slot.result().map(|_| ());
            }
            if slot.has_handle {
                self.link(index, ListOf::Reported);
            } else {
                self.end_forgotten(index);
            }
        }
        result
    }

    /// Moves a request of a set on to the ready or the reported ones.
    #[inline]
    pub(crate) fn move_to(&mut self, index: u32, list: ListOf) {
        self.unlink(index);
        self.link(index, list);
    }

    fn link(&mut self, index: u32, to: ListOf) {
        let slot = &mut self.slots[index as usize];
        let before = self.sets.link(slot, index, to);
        self.set_next(before, index);
    }

    /// The second half of linking: another request follows `before`, if there is one.
    #[inline(always)]
    pub(super) fn set_next(&mut self, before: u32, next: u32) {
        if before != NONE {
            self.slots[before as usize].next = next;
        }
    }

    pub(super) fn unlink(&mut self, index: u32) {
        let slot = &self.slots[index as usize];
        let set = &mut self.sets.all[slot.set as usize];
        let Some(list) = set.list(slot.list) else {
            set.pending -= 1;
            return;
        };
        let (previous, next) = (slot.previous, slot.next);
        list.len -= 1;
        if previous == NONE {
            list.first = next;
        }
        if next == NONE {
            list.last = previous;
        }
        if previous != NONE {
            self.slots[previous as usize].next = next;
        }
        if next != NONE {
            self.slots[next as usize].previous = previous;
        }
    }
}
