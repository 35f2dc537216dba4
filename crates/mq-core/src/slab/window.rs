//! The near slots of a slab as a window, in which the entries of a short queue stand in order.
//!
//! A list is written at both sides of an entry that comes or goes, and so is the list of free
//! slots. In a window neither is: an entry that comes is written behind the last, and when the
//! first leaves, a number grows.

use super::{Entry, KEEP_SLOTS, NEAR, NIL, RUN, Slab};
use crate::fifo::Fifo;
use crate::handle::Handle;

/// Holes that a search passes before it closes them.
const HOLES: u32 = 4;

/// With fewer slots than these, a window moves to their beginning if a quarter of them are in use;
/// with more, if half of them are. So each entry is moved a third of a time on average at most, or
/// once.
const FEW: usize = 256;

/// The first slot of a window whose entries stand elsewhere. No slot has this number.
const AWAY: u32 = u32::MAX;

/// The end of a search that may not visit more entries; no slot has this number.
pub(crate) const TOO_FAR: u32 = NIL - 1;

/// The entries of a slab, in order, while none is far and none is on a list.
///
/// They stand one behind the other. One that leaves from the middle leaves a hole, so that all
/// others keep their slots; the first and the last are never holes. When the last slot is used, the
/// window moves to the first slots, if it has left enough of them behind, and otherwise more are
/// made. When it empties, it begins anew.
///
/// While it is *away*, the entries are stored and linked by other means, the slab's free slots and
/// its length count, and the window only remembers which slots nobody has used yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// The slot of the first entry. Away, [`AWAY`].
    head: u32,
    /// The slot behind the last. Away, the slot from which on slots are unused.
    tail: u32,
    /// Holes between the entries. Away, the number of unused slots.
    holes: u32,
    /// Entries that came before this number may be in other slots than their handles say.
    moved_before: u64,
}

/// Where a search ended, and what it cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sought {
    /// The slot of the entry; [`NIL`] if there is none, [`TOO_FAR`] if there are more than it may
    /// visit.
    pub(crate) slot: u32,
    /// Entries compared, the found one included.
    pub(crate) visited: u32,
}

impl Window {
    /// A window without entries.
    pub(crate) const EMPTY: Self = Self {
        head: 0,
        tail: 0,
        holes: 0,
        moved_before: 0,
    };

    /// Whether no entry is in the window. One that is away is not empty.
    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Whether the entries stand elsewhere.
    #[inline(always)]
    pub(crate) const fn is_away(&self) -> bool {
        self.head == AWAY
    }

    /// The number of entries, in a window that is not away.
    #[inline(always)]
    pub(crate) const fn len(&self) -> u32 {
        self.tail - self.head - self.holes
    }

    /// The slot of the first entry; no slot if the window is away.
    #[inline(always)]
    pub(crate) const fn first(&self) -> u32 {
        self.head
    }

    /// The first entry has left.
    #[inline(always)]
    pub(crate) fn drop_first<K, T>(&mut self, slab: &Slab<K, T>) {
        self.head += 1;
        if self.head == self.tail {
            // What comes next is written where the processor has just been.
            self.head = 0;
            self.tail = 0;
        } else if self.holes > 0 {
            self.skip_holes(slab);
        }
    }

    /// Lets the window begin with an entry again.
    #[cold]
    #[inline(never)]
    fn skip_holes<K, T>(&mut self, slab: &Slab<K, T>) {
        while self.holes > 0 && slab.is_free_near(self.head) {
            self.head += 1;
            self.holes -= 1;
        }
    }

    /// The entry in a slot, which was not the first, has left.
    #[inline(always)]
    pub(crate) fn drop_behind_first<K, T>(&mut self, slab: &Slab<K, T>, slot: u32) {
        if slot + 1 != self.tail {
            self.holes += 1;
            return;
        }
        self.tail = slot;
        if self.holes > 0 {
            self.trim(slab);
        }
    }

    /// Lets the window end with an entry again.
    #[cold]
    #[inline(never)]
    fn trim<K, T>(&mut self, slab: &Slab<K, T>) {
        while self.holes > 0 && slab.is_free_near(self.tail - 1) {
            self.tail -= 1;
            self.holes -= 1;
        }
    }

    /// The entry in a slot has left.
    pub(crate) fn drop_slot<K, T>(&mut self, slab: &Slab<K, T>, slot: u32) {
        if slot == self.head {
            self.drop_first(slab);
        } else {
            self.drop_behind_first(slab, slot);
        }
    }

    /// Finds the earliest entry whose key is `wanted`, if it is among the first `limit`, or the
    /// first.
    pub(crate) fn find<K: Copy, T>(
        &mut self,
        slab: &mut Slab<K, T>,
        limit: u32,
        mut wanted: impl FnMut(&K) -> bool,
    ) -> Sought {
        if self.is_empty() {
            return Sought {
                slot: NIL,
                visited: 0,
            };
        }
        let slot = self.head;
        if wanted(&slab.near[slot as usize].key) {
            return Sought { slot, visited: 1 };
        }
        self.find_behind_first(slab, limit, wanted)
    }

    /// [`find_behind_first`](Self::find_behind_first) in a window without holes; `None` if there
    /// are some.
    #[inline(always)]
    pub(crate) fn find_without_holes<K, T>(
        &self,
        slab: &Slab<K, T>,
        limit: u32,
        mut wanted: impl FnMut(&K) -> bool,
    ) -> Option<Sought> {
        if self.holes > 0 {
            return None;
        }
        let span = self.tail - self.head;
        let end = self.head + span.min(limit);
        let entries = slab.near.get(self.head as usize + 1..end as usize)?;
        for (slot, entry) in (self.head + 1..).zip(entries) {
            if wanted(&entry.key) {
                let visited = slot - self.head + 1;
                return Some(Sought { slot, visited });
            }
        }
        Some(Sought {
            slot: if span > limit { TOO_FAR } else { NIL },
            visited: end - self.head,
        })
    }

    /// Finds the earliest entry behind the first whose key is `wanted`, if it is among the first
    /// `limit` of all; the first has been compared. Closes the holes on the way if they are many.
    #[inline(always)]
    pub(crate) fn find_behind_first<K: Copy, T>(
        &mut self,
        slab: &mut Slab<K, T>,
        limit: u32,
        mut wanted: impl FnMut(&K) -> bool,
    ) -> Sought {
        let mut visited = 1;
        let mut slot = self.head + 1;
        let found = loop {
            if slot == self.tail {
                break NIL;
            }
            let entry = &slab.near[slot as usize];
            // Not a branch: which slots are holes is hard to foresee.
            let is_entry = entry.payload.is_some();
            visited += u32::from(is_entry);
            if visited > limit {
                visited = limit;
                break TOO_FAR;
            }
            if wanted(&entry.key) && is_entry {
                break slot;
            }
            slot += 1;
        };
        if slot - self.head > visited + HOLES {
            self.close_holes_before(slab, slot);
        }
        let slot = found;
        Sought { slot, visited }
    }

    /// Moves the entries before a slot up to it, so that there is no hole between them.
    #[cold]
    #[inline(never)]
    fn close_holes_before<K: Copy, T>(&mut self, slab: &mut Slab<K, T>, end: u32) {
        let mut to = end;
        for from in (self.head..end).rev() {
            if !slab.is_free_near(from) {
                to -= 1;
                slab.move_near(from, to);
            }
        }
        self.holes -= to - self.head;
        self.head = to;
        self.moved_before = slab.next_sequence;
    }

    /// Moves all entries to the first slots.
    fn move_to_front<K: Copy, T>(&mut self, slab: &mut Slab<K, T>) {
        let mut to = 0;
        for from in self.head..self.tail {
            if !slab.is_free_near(from) {
                slab.move_near(from, to);
                to += 1;
            }
        }
        self.head = 0;
        self.tail = to;
        self.holes = 0;
        self.moved_before = slab.next_sequence;
    }

    /// Whether there is a slot behind the last entry.
    #[inline(always)]
    pub(crate) const fn has_room<K, T>(&self, slab: &Slab<K, T>) -> bool {
        (self.tail as usize) < slab.near.len()
    }

    /// Writes an entry behind the last, where there must be a slot, and returns that.
    #[inline(always)]
    pub(crate) fn push<K: Copy, T>(&mut self, slab: &mut Slab<K, T>, key: K, payload: T) -> u32 {
        let slot = self.tail;
        let place = &mut slab.near[slot as usize];
        place.key = key;
        place.sequence = slab.next_sequence;
        place.payload = Some(payload);
        slab.next_sequence += 1;
        self.tail += 1;
        slot
    }

    /// Makes sure that there is a slot behind the last entry, where there is none; `key` may be
    /// any. False if there are as many slots as there may be, and too few are left behind.
    pub(crate) fn make_room<K: Copy, T>(&mut self, slab: &mut Slab<K, T>, key: K) -> bool {
        let slots = slab.near.len();
        let some = if slots < FEW { slots / 4 } else { slots / 2 };
        if slots > 0 && self.len() as usize <= some {
            self.move_to_front(slab);
            return true;
        }
        if slots < NEAR {
            slab.add_near(key);
            return true;
        }
        false
    }

    /// Lets go of the entries, which are to be linked by other means: shows them one by one.
    #[expect(clippy::cast_possible_truncation, reason = "at most NEAR")]
    pub(crate) fn leave<K, T>(&mut self, slab: &mut Slab<K, T>) -> Leaving {
        let leaving = Leaving {
            next: self.head,
            end: self.tail,
        };
        slab.len = self.len();
        slab.free = NIL;
        let slots = slab.near.len() as u32;
        let span = self.tail - self.head;
        // All slots behind the last entry are unused, and then all before the first.
        self.tail = if self.tail == slots { 0 } else { self.tail };
        self.head = AWAY;
        self.holes = slots - span;
        leaving
    }

    /// Frees some of the slots that were never used, in a window that is away; false if there are
    /// none.
    pub(crate) fn free_unused<K, T>(&mut self, slab: &mut Slab<K, T>) -> bool {
        let some = self.holes.min(RUN as u32);
        for _ in 0..some {
            let slot = self.tail;
            slab.near[slot as usize].next = slab.free;
            slab.free = slot;
            let is_last = slot as usize + 1 == slab.near.len();
            self.tail = if is_last { 0 } else { slot + 1 };
        }
        self.holes -= some;
        some > 0
    }

    /// Begins anew, in a slab in which nothing is stored but what is about to leave.
    pub(crate) const fn restart(&mut self) {
        self.head = 0;
        self.tail = 0;
        self.holes = 0;
    }

    /// Takes entries back that are near, on no list and given in order: they come to stand in the
    /// first slots. One that is about to leave comes to stand behind them, if there is one; returns
    /// its slot.
    pub(crate) fn come_back<K, T>(
        &mut self,
        slab: &mut Slab<K, T>,
        entries: &mut [u32],
        leaving: Option<u32>,
    ) -> Option<u32> {
        let mut leaving = leaving;
        let mut to = 0;
        for at in 0..entries.len() {
            let from = entries[at];
            slab.near.swap(from as usize, to as usize);
            // Who was there is now where this one has been.
            for other in entries[at..].iter_mut().chain(leaving.as_mut()) {
                if *other == to {
                    *other = from;
                }
            }
            to += 1;
        }
        if let Some(slot) = &mut leaving {
            slab.near.swap(*slot as usize, to as usize);
            *slot = to;
        }
        slab.drop_far();
        self.restart();
        self.tail = to;
        self.moved_before = slab.next_sequence;
        leaving
    }

    /// The slot of the entry with a name, wherever it has moved.
    pub(crate) fn slot_of<K: Copy, T>(&self, slab: &Slab<K, T>, name: Handle) -> Option<u32> {
        let there = slab.slot_of(name);
        if there.is_none() && name.sequence() < self.moved_before {
            return slab.near_slot_of(name.sequence());
        }
        there
    }
}

/// What a window has let go of.
#[derive(Debug)]
pub(crate) struct Leaving {
    next: u32,
    end: u32,
}

impl Leaving {
    /// The slot of the next entry, whose links are free to be written. Slots of holes on the way
    /// become free.
    #[inline(always)]
    pub(crate) fn next<K, T>(&mut self, slab: &mut Slab<K, T>) -> Option<u32> {
        while self.next != self.end {
            let slot = self.next;
            self.next += 1;
            let entry = &mut slab.near[slot as usize];
            if entry.payload.is_some() {
                return Some(slot);
            }
            entry.next = slab.free;
            slab.free = slot;
        }
        None
    }

    /// All that are left, on a list.
    pub(crate) fn into_list<K, T>(mut self, slab: &mut Slab<K, T>) -> Fifo {
        if slab.len == self.end - self.next {
            return self.into_list_without_holes(slab);
        }
        let Some(first) = self.next(slab) else {
            return Fifo::EMPTY;
        };
        slab.near[first as usize].prev = NIL;
        let mut last = first;
        while let Some(slot) = self.next(slab) {
            slab.near[slot as usize].prev = last;
            slab.near[last as usize].next = slot;
            last = slot;
        }
        slab.near[last as usize].next = NIL;
        Fifo::between(first, last)
    }

    /// The same if each stands right behind the one before: most of what becoming deep costs a long
    /// queue in one operation.
    fn into_list_without_holes<K, T>(self, slab: &mut Slab<K, T>) -> Fifo {
        let Self { next: first, end } = self;
        let entries = &mut slab.near[first as usize..end as usize];
        for (slot, entry) in (first..).zip(entries.iter_mut()) {
            entry.prev = slot.wrapping_sub(1);
            entry.next = slot + 1;
        }
        let [first_entry, .., last_entry] = entries else {
            if let [entry] = entries {
                (entry.prev, entry.next) = (NIL, NIL);
                return Fifo::between(first, first);
            }
            return Fifo::EMPTY;
        };
        first_entry.prev = NIL;
        last_entry.next = NIL;
        Fifo::between(first, end - 1)
    }
}

impl<K: Copy, T> Slab<K, T> {
    /// Makes some more near slots that are on no list; `key` may be any.
    fn add_near(&mut self, key: K) {
        let slots = self.near.len();
        if slots == 0 {
            // Most contexts never hold more than one entry, and there may be thousands.
            self.near.reserve_exact(1);
        }
        self.near.push(Entry::free(key, NIL));
        // And others that there is memory for.
        let end = self.near.capacity().min(slots + RUN).min(NEAR);
        self.near.resize_with(end, || Entry::free(key, NIL));
    }

    /// Moves an entry, but for its links, to a free slot, or to its own.
    #[inline(always)]
    fn move_near(&mut self, from: u32, to: u32) {
        // Not a swap: that would read the free slot, which may just have been written, in longer
        // words.
        let entry = &mut self.near[from as usize];
        let (key, sequence, payload) = (entry.key, entry.sequence, entry.payload.take());
        let place = &mut self.near[to as usize];
        place.key = key;
        place.sequence = sequence;
        place.payload = payload;
    }
}

impl<K, T> Slab<K, T> {
    #[inline(always)]
    fn is_free_near(&self, slot: u32) -> bool {
        self.near[slot as usize].payload.is_none()
    }

    /// The near slot of the entry with a number.
    #[cold]
    #[expect(clippy::cast_possible_truncation, reason = "below NEAR")]
    fn near_slot_of(&self, sequence: u64) -> Option<u32> {
        let here = |entry: &Entry<K, T>| entry.sequence == sequence && entry.payload.is_some();
        self.near.iter().position(here).map(|slot| slot as u32)
    }

    /// Gives back what far entries have left behind, when there are none any more and few near
    /// ones, all in the first slots.
    fn drop_far(&mut self) {
        if self.far.take().is_some() {
            self.near.truncate(KEEP_SLOTS);
            self.near.shrink_to(KEEP_SLOTS);
        }
    }
}

#[cfg(test)]
mod tests;
