//! The pool of requests. What becomes of those in a set is in [`lists`](super::lists).

use std::sync::{Mutex, PoisonError};

use mq_shm::Process;

use super::RequestId;
use super::lists::{ListOf, Sets};
use super::slot::{Name, Outcome, SPECIAL, Slot, Stage};
use crate::buffer::Buffer;

/// No slot, list or set.
pub(crate) const NONE: u32 = u32::MAX;

/// Slots that are kept. Those after them are far: they are for a burst, and go when it is over.
const NEAR: u32 = 4096;

/// The slots that are far.
#[derive(Debug)]
struct Far {
    /// The first without a request, as of the others.
    free: u32,
    /// Those with a request.
    used: u32,
    /// The generation that the next begin with: no earlier slot in their places had it.
    generation: u32,
}

/// All requests of a process.
#[derive(Debug)]
pub(crate) struct Requests {
    /// Which pool it is, of all that this process has had.
    number: u32,
    pub(super) slots: Vec<Slot>,
    /// The first slot without a request; the others follow it, each the `next` of the one before.
    pub(super) free: u32,
    /// Slots with this number or a greater one are not taken: [`NONE`], or 0 if the far ones are to go first.
    end: u32,
    far: Far,
    pub(super) sets: Sets,
    /// The set all of which somebody is waiting for, or [`NONE`]: nobody will ask for a request in it that
    /// went well and has no handle.
    pub(super) awaited: u32,
}

/// What a request begins with.
#[derive(Debug)]
pub(crate) struct New {
    pub(crate) stage: Stage,
    pub(crate) peer: Process,
    pub(crate) context: u32,
    /// The first word of a message that is sent.
    pub(crate) bits: u64,
    pub(crate) total: u64,
    pub(crate) buffer: Buffer,
    /// The set to which it belongs, or [`NONE`].
    pub(crate) set: u32,
}

impl Default for Requests {
    fn default() -> Self {
        static LAST: Mutex<u32> = Mutex::new(0);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        *last = last.wrapping_add(1);
        Self {
            number: *last,
            slots: Vec::new(),
            free: NONE,
            end: NONE,
            far: Far {
                free: NONE,
                used: 0,
                generation: SPECIAL,
            },
            sets: Sets::default(),
            awaited: NONE,
        }
    }
}

impl Requests {
    /// A new request, whose handle the caller has.
    #[inline(always)]
    pub(crate) fn add(&mut self, new: New) -> Name {
        if self.free >= self.end {
            self.grow();
        }
        let index = self.free;
        let slot = &mut self.slots[index as usize];
        self.free = slot.next;
        slot.stage = new.stage;
        slot.outcome = Outcome::Fine;
        slot.has_handle = true;
        slot.peer = new.peer;
        slot.context = new.context;
        slot.bits = new.bits;
        slot.total = new.total;
        slot.done = 0;
        slot.posted = None;
        // A slot without a request has no buffer to drop.
        core::mem::forget(core::mem::replace(&mut slot.buffer, new.buffer));
        slot.set = new.set;
        let name = Name::new(index, slot.generation);
        if new.set != NONE {
            let list = if new.stage == Stage::Done {
                ListOf::Ready
            } else {
                ListOf::Pending
            };
            let before = self.sets.link(slot, index, list);
            self.set_next(before, index);
        }
        name
    }

    /// Finds a slot without a request, or makes one.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        if self.far.used == 0 {
            self.drop_far();
            self.end = NONE;
        }
        if self.free != NONE {
            return;
        }
        let far = &mut self.far;
        if far.free != NONE {
            let slot = &mut self.slots[far.free as usize];
            self.free = core::mem::replace(&mut far.free, core::mem::replace(&mut slot.next, NONE));
            far.used += 1;
            return;
        }
        self.free = self.slots.len() as u32;
        let generation = if self.free < NEAR {
            0
        } else {
            far.used += 1;
            far.generation
        };
        self.slots.push(Slot::fresh(generation));
    }

    /// Gives the far slots' memory back, none of which has a request.
    fn drop_far(&mut self) {
        let Some(far) = self
            .slots
            .get(NEAR as usize..)
            .filter(|far| !far.is_empty())
        else {
            return;
        };
        let next = far.iter().map(|slot| slot.generation).max();
        let next = next.unwrap_or(u32::MAX);
        if next == u32::MAX {
            // One has had all names, and keeps its place, so that none comes again.
            return;
        }
        self.far.generation = next;
        self.far.free = NONE;
        self.slots.truncate(NEAR as usize);
        // Requests may go on to be one more than the near ones, and one fewer.
        self.slots.shrink_to(2 * NEAR as usize);
    }

    /// A slot whose request is over was linked with those that may have another, and [is special](Slot::is_special).
    #[cold]
    #[inline(never)]
    fn unlink_special(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        self.free = slot.next;
        // A slot that has had all names never has a request again: they are not given twice.
        if index < NEAR {
            return;
        }
        if slot.generation < u32::MAX {
            slot.next = self.far.free;
            self.far.free = index;
        }
        self.far.used -= 1;
        if self.far.used == 0 {
            // With the next request: until then, somebody may look at one.
            self.end = 0;
        }
    }

    #[inline]
    pub(crate) fn name(&self, index: u32) -> Name {
        Name::new(index, self.slots[index as usize].generation)
    }

    /// The id of a request, which no other world of this process has.
    pub(crate) fn id(&self, name: Name) -> RequestId {
        let pool = self.number;
        RequestId { name, pool }
    }

    /// The slot of a request of this pool that is not over.
    pub(crate) fn find_by_id(&self, id: RequestId) -> Option<u32> {
        if id.pool == self.number {
            self.find(id.name)
        } else {
            None
        }
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

    /// Two requests that differ.
    pub(crate) fn two_at_mut(&mut self, one: u32, other: u32) -> (&mut Slot, &mut Slot) {
        let both = [one as usize, other as usize];
        let [one, other] = self.slots.get_disjoint_mut(both).expect("two requests");
        (one, other)
    }

    /// Whether a request has borrowed memory of the user's.
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

    /// Whether any request is in one of these stages. `last` is where one was found last, and the next search begins
    /// there: to ask again and again until there is none does not go over all of them each time.
    pub(crate) fn is_any_in(&self, stages: &[Stage], last: &mut u32) -> bool {
        let (before, after) = self.slots.split_at((*last as usize).min(self.slots.len()));
        let mut all = (0_u32..).zip(before.iter());
        let found = (*last..)
            .zip(after)
            .find(|(_, slot)| stages.contains(&slot.stage));
        let found = found.or_else(|| all.find(|(_, slot)| stages.contains(&slot.stage)));
        *last = found.map_or(0, |(index, _)| index);
        found.is_some()
    }

    /// A request is complete: its set is notified; a request that nobody can ask for is over. Completing it
    /// again has no effect, whatever the cause: segments may be damaged.
    pub(crate) fn complete(&mut self, index: u32, outcome: Outcome) {
        self.complete_inline(index, outcome);
    }

    /// The same, inlined.
    #[inline(always)]
    pub(crate) fn complete_inline(&mut self, index: u32, outcome: Outcome) {
        let slot = &mut self.slots[index as usize];
        if matches!(slot.stage, Stage::Free | Stage::Done) {
            return;
        }
        slot.stage = Stage::Done;
        slot.outcome = outcome;
        if slot.set == NONE {
            if !slot.has_handle {
                self.release(index);
            }
        } else if slot.set == self.awaited && outcome == Outcome::Fine && !slot.has_handle {
            self.sets.forget_pending(slot.set);
            self.end_forgotten(index);
        } else {
            let before = self.sets.link_ready(slot, index);
            self.set_next(before, index);
        }
    }

    /// A request that its set has forgotten is over, and nobody asks for its buffer.
    #[inline(always)]
    pub(super) fn end_forgotten(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.set = NONE;
        slot.next = self.free;
        self.free = index;
        slot.end_without_buffer();
        if slot.is_special() {
            self.unlink_special(index);
        }
    }

    /// The request is over. Returns its buffer.
    #[inline]
    pub(crate) fn release(&mut self, index: u32) -> Buffer {
        if self.slots[index as usize].set != NONE {
            self.unlink(index);
        }
        let slot = &mut self.slots[index as usize];
        slot.set = NONE;
        slot.next = self.free;
        self.free = index;
        let buffer = slot.end();
        if slot.is_special() {
            self.unlink_special(index);
        }
        buffer
    }

    /// Nobody has the handle any more; returns whether that is all, because the set sees the request through.
    #[inline(always)]
    pub(crate) fn leave_to_set(&mut self, name: Name) -> bool {
        let Some(slot) = self.slots.get_mut(name.slot() as usize) else {
            return false;
        };
        if slot.generation != name.generation() || slot.set == NONE || slot.list == ListOf::Reported
        {
            return false;
        }
        slot.has_handle = false;
        true
    }

    /// Nobody has the handle any more.
    #[inline]
    pub(crate) fn drop_handle(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.has_handle = false;
        if slot.stage == Stage::Done && (slot.set == NONE || slot.list == ListOf::Reported) {
            self.release(index);
        }
    }
}

#[cfg(test)]
mod tests;
