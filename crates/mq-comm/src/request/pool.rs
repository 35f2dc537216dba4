//! The pool, and the lists that its requests are in.

use mq_shm::Process;

use super::slot::{Name, Outcome, Slot, Stage};
use crate::buffer::Buffer;
use crate::error::Error;

/// No slot, list or set.
pub(crate) const NONE: u32 = u32::MAX;

/// What its set knows of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListOf {
    /// Not complete.
    Pending = 0,
    /// Complete, and nobody has been told.
    Ready = 1,
    /// Told, and its handle is still there.
    Told = 2,
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

/// What is complete is in a list; what is not is only counted, since nobody looks for it before the set ends.
#[derive(Clone, Copy, Debug)]
struct Set {
    pending: u32,
    ready: List,
    told: List,
}

impl Set {
    const EMPTY: Self = Self {
        pending: 0,
        ready: EMPTY,
        told: EMPTY,
    };
}

/// All requests of a process.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    slots: Vec<Slot>,
    free: Vec<u32>,
    sets: Vec<Set>,
    free_sets: Vec<u32>,
}

impl Requests {
    /// A new request, of which the caller has the handle.
    #[inline]
    pub(crate) fn add(&mut self, stage: Stage, peer: Process, buffer: Buffer) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| self.grow());
        let slot = &mut self.slots[index as usize];
        slot.stage = stage;
        slot.outcome = Outcome::Fine;
        slot.handle = true;
        slot.peer = peer;
        slot.done = 0;
        slot.total = 0;
        slot.posted = None;
        slot.buffer = buffer;
        index
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        self.slots.push(Slot::fresh());
        self.slots.len() as u32 - 1
    }

    #[inline]
    pub(crate) fn name(&self, index: u32) -> Name {
        Name::new(index, self.slots[index as usize].generation)
    }

    /// The slot of a request that is not over.
    #[inline]
    pub(crate) fn find(&self, name: Name) -> Option<u32> {
        let slot = self.slots.get(name.slot() as usize)?;
        (slot.generation == name.generation() && slot.stage != Stage::Free).then_some(name.slot())
    }

    #[inline]
    pub(crate) fn at(&self, index: u32) -> &Slot {
        &self.slots[index as usize]
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, index: u32) -> &mut Slot {
        &mut self.slots[index as usize]
    }

    /// Whether a request has memory of the user's.
    pub(crate) fn is_lent(&self, index: u32) -> bool {
        let slot = self.at(index);
        slot.stage != Stage::Free && !slot.buffer.is_owned()
    }

    /// Every request that is not over.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &Slot)> {
        (0..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.stage != Stage::Free)
    }

    /// Every request in a stage.
    pub(crate) fn in_stage(&self, stage: Stage) -> Vec<u32> {
        self.all()
            .filter(|(_, slot)| slot.stage == stage)
            .map(|(index, _)| index)
            .collect()
    }

    /// A request is complete: its set hears of it; one that nobody can ask for is over.
    #[inline]
    pub(crate) fn complete(&mut self, index: u32, outcome: Outcome) {
        let slot = &mut self.slots[index as usize];
        debug_assert!(!matches!(slot.stage, Stage::Free | Stage::Done));
        slot.stage = Stage::Done;
        slot.outcome = outcome;
        if slot.set != NONE {
            self.sets[slot.set as usize].pending -= 1;
            self.link(index, ListOf::Ready);
        } else if !slot.handle {
            self.release(index);
        }
    }

    /// The request is over. Gives its buffer back.
    #[inline]
    pub(crate) fn release(&mut self, index: u32) -> Buffer {
        if self.slots[index as usize].set != NONE {
            self.unlink(index);
        }
        let slot = &mut self.slots[index as usize];
        slot.set = NONE;
        slot.stage = Stage::Free;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index);
        core::mem::replace(&mut slot.buffer, Buffer::EMPTY)
    }

    /// Takes a request out of its set.
    pub(crate) fn leave(&mut self, index: u32) {
        if self.slots[index as usize].set != NONE {
            self.unlink(index);
            self.slots[index as usize].set = NONE;
        }
    }

    /// Nobody has the handle any more.
    #[inline]
    pub(crate) fn drop_handle(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.handle = false;
        let told = slot.set == NONE || slot.list == ListOf::Told;
        if slot.stage == Stage::Done && told {
            self.release(index);
        }
    }

    /// A new, empty set.
    pub(crate) fn add_set(&mut self) -> u32 {
        let set = Set::EMPTY;
        if let Some(index) = self.free_sets.pop() {
            self.sets[index as usize] = set;
            return index;
        }
        self.sets.push(set);
        self.sets.len() as u32 - 1
    }

    /// The set is over; its requests go on without it.
    pub(crate) fn remove_set(&mut self, set: u32) {
        for index in self.pending(set) {
            self.leave(index);
        }
        for list in [ListOf::Ready, ListOf::Told] {
            while let Some(index) = self.first(set, list) {
                self.leave(index);
                if !self.slots[index as usize].handle {
                    self.release(index);
                }
            }
        }
        self.free_sets.push(set);
    }

    /// Puts a request into a set, out of the one it was in.
    #[inline]
    pub(crate) fn join(&mut self, index: u32, set: u32) {
        if self.slots[index as usize].set != NONE {
            self.unlink(index);
        }
        let slot = &mut self.slots[index as usize];
        slot.set = set;
        let list = if slot.stage == Stage::Done {
            ListOf::Ready
        } else {
            ListOf::Pending
        };
        self.link(index, list);
    }

    /// The first request of the list of those that are ready, or told.
    #[inline]
    pub(crate) fn first(&self, set: u32, list: ListOf) -> Option<u32> {
        let set = &self.sets[set as usize];
        let first = if list == ListOf::Told {
            set.told.first
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
        if self.sets[set as usize].pending == 0 {
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
        self.sets[set as usize].pending
    }

    /// How many requests of a set are complete without anybody having been told.
    #[inline]
    pub(crate) fn ready_len(&self, set: u32) -> u32 {
        self.sets[set as usize].ready.len
    }

    /// Tells of everything that is ready: what has no handle is over. The first that has failed, if any has.
    #[inline]
    pub(crate) fn tell_all(&mut self, set: u32) -> Result<(), Error> {
        let mut result = Ok(());
        let ready = core::mem::replace(&mut self.sets[set as usize].ready, EMPTY);
        let mut at = ready.first;
        while at != NONE {
            let index = at;
            let slot = &mut self.slots[index as usize];
            at = slot.next;
            if slot.outcome != Outcome::Fine && result.is_ok() {
                result = slot.result().map(|_| ());
            }
            if slot.handle {
                self.link(index, ListOf::Told);
            } else {
                slot.set = NONE;
                drop(self.release(index));
            }
        }
        result
    }

    /// A request of a set moves on, to be ready or told.
    #[inline]
    pub(crate) fn move_to(&mut self, index: u32, list: ListOf) {
        self.unlink(index);
        self.link(index, list);
    }

    #[inline]
    fn link(&mut self, index: u32, to: ListOf) {
        let slot = &mut self.slots[index as usize];
        slot.list = to;
        let set = &mut self.sets[slot.set as usize];
        let list = match to {
            ListOf::Pending => {
                set.pending += 1;
                return;
            }
            ListOf::Ready => &mut set.ready,
            ListOf::Told => &mut set.told,
        };
        let before = core::mem::replace(&mut list.last, index);
        list.len += 1;
        slot.previous = before;
        slot.next = NONE;
        if before == NONE {
            list.first = index;
        } else {
            self.slots[before as usize].next = index;
        }
    }

    #[inline]
    fn unlink(&mut self, index: u32) {
        let slot = &self.slots[index as usize];
        let set = &mut self.sets[slot.set as usize];
        let list = match slot.list {
            ListOf::Pending => {
                set.pending -= 1;
                return;
            }
            ListOf::Ready => &mut set.ready,
            ListOf::Told => &mut set.told,
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

#[cfg(test)]
mod tests {
    use super::super::slot::ANYONE;
    use super::*;

    fn ready(requests: &Requests, set: u32) -> Vec<u32> {
        let mut all = Vec::new();
        let mut at = requests.first(set, ListOf::Ready);
        while let Some(index) = at {
            all.push(index);
            let next = requests.at(index).next;
            at = (next != NONE).then_some(next);
        }
        assert_eq!(requests.ready_len(set) as usize, all.len());
        all
    }

    fn pending(requests: &Requests, set: u32) -> Vec<u32> {
        let all = requests.pending(set);
        assert_eq!(requests.pending_len(set) as usize, all.len());
        all
    }

    #[test]
    fn requests_become_ready_in_the_order_in_which_they_complete() {
        let mut requests = Requests::default();
        let set = requests.add_set();
        let all: Vec<u32> = (0..5)
            .map(|_| requests.add(Stage::Posted, ANYONE, Buffer::EMPTY))
            .collect();
        for &index in &all {
            requests.join(index, set);
        }
        for at in [3, 0, 4] {
            requests.complete(all[at], Outcome::Fine);
        }
        assert_eq!(ready(&requests, set), [3, 0, 4]);
        assert_eq!(pending(&requests, set), [1, 2]);
        requests.release(0);
        requests.release(1);
        assert_eq!(ready(&requests, set), [3, 4]);
        assert_eq!(pending(&requests, set), [2]);
        requests.drop_handle(4);
        assert_eq!(ready(&requests, set), [3, 4]);
        assert!(requests.tell_all(set).is_ok());
        assert_eq!(ready(&requests, set), [0_u32; 0]);
        assert_eq!(requests.at(4).stage, Stage::Free);
        assert_eq!(requests.first(set, ListOf::Told), Some(3));
        requests.remove_set(set);
        assert_eq!(requests.at(3).set, NONE);
        assert_eq!(requests.add_set(), set);
    }

    #[test]
    fn names_of_requests_that_are_over_name_nothing() {
        let mut requests = Requests::default();
        let first = requests.add(Stage::Posted, ANYONE, Buffer::EMPTY);
        let name = requests.name(first);
        assert_eq!(requests.find(name), Some(first));
        requests.release(first);
        assert_eq!(requests.find(name), None);
        let second = requests.add(Stage::Posted, ANYONE, Buffer::EMPTY);
        assert_eq!(second, first);
        assert_eq!(requests.find(name), None);
        assert_eq!(requests.find(Name::new(77, 0)), None);
    }

    #[test]
    fn a_request_that_nobody_can_ask_for_is_over_when_it_completes() {
        let mut requests = Requests::default();
        let index = requests.add(Stage::Posted, ANYONE, Buffer::owned(vec![1_u8]));
        let name = requests.name(index);
        requests.drop_handle(index);
        assert!(requests.find(name).is_some());
        requests.complete(index, Outcome::Fine);
        assert!(requests.find(name).is_none());
    }
}
