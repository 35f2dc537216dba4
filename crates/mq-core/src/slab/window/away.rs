//! How a window releases its entries, which are then linked by other means, and takes them back.

use super::{AWAY, Window};
use crate::fifo::Fifo;
use crate::slab::{NIL, RUN, Slab};

impl Window {
    /// Releases the entries, which are to be linked by other means: shows them one by one.
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
        // All slots after the last entry are unused, and then all before the first.
        self.tail = if self.tail == slots { 0 } else { self.tail };
        self.head = AWAY;
        self.holes = slots - span;
        leaving
    }

    /// Whether less than a quarter of the slots up to the last entry have been left, in a window that is not away: a
    /// queue that is being filled.
    pub(crate) const fn is_filled(&self) -> bool {
        let left = self.tail - self.len();
        left == 0 || left < self.tail / 4
    }

    /// Frees some of the slots that the window did not use at the end, in a window that is away; false if there are
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

    /// Takes back entries that are near, on no list and given in order: they move to the first slots. An
    /// entry about to leave, if there is one, moves to the slot after them; returns its slot.
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
            // The entry that was there is now where this one was.
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
        self.note_move(slab);
        leaving
    }
}

/// The entries that a window has released.
#[derive(Debug)]
pub(crate) struct Leaving {
    next: u32,
    end: u32,
}

impl Leaving {
    /// No entries.
    pub(crate) const NONE: Self = Self { next: 0, end: 0 };

    /// The entries stay where they are, and slots of holes between them become free. Returns the slot of the first.
    pub(crate) fn free_holes<K, T>(mut self, slab: &mut Slab<K, T>) -> u32 {
        let first = self.next;
        if slab.len != self.end - self.next {
            while self.next(slab).is_some() {}
        }
        first
    }

    /// The keys in a sample of the slots: of entries that are there, or were.
    pub(crate) fn sample<'a, K, T>(
        &self,
        slab: &'a Slab<K, T>,
        of: usize,
    ) -> impl Iterator<Item = &'a K> {
        let left = &slab.near[self.next as usize..self.end as usize];
        left.iter().step_by(of).map(|entry| &entry.key)
    }

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

    /// All entries left, as a list.
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

    /// [`into_list`](Self::into_list) for contiguous entries: most of what becoming deep costs a long
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
