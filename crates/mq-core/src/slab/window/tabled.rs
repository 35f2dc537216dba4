//! A window whose entries are also in tables that find them by key.
//!
//! Entries are written behind the last as ever, and who asks for the first finds that it is no
//! slot. Where the first is, nobody has to know.

use super::{TABLED, Window};
use crate::slab::Slab;

impl Window {
    /// Whether the window is tabled.
    #[inline(always)]
    pub(crate) const fn is_tabled(&self) -> bool {
        self.head == TABLED
    }

    /// The slot behind the first entries, so many, in a window that is not tabled; the first if there
    /// are holes between them.
    pub(crate) const fn slot_behind(&self, entries: u32) -> u32 {
        match self.holes {
            0 => self.head + entries,
            _ => self.head,
        }
    }

    /// From now on the window is tabled: returns the slot of its first entry.
    pub(crate) const fn begin_tables(&mut self) -> u32 {
        let first = self.head;
        self.holes += first;
        self.head = TABLED;
        first
    }

    /// The window is tabled no more.
    pub(crate) fn end_tables<K, T>(&mut self, slab: &Slab<K, T>) {
        self.head = 0;
        self.trim(slab);
        self.skip_holes(slab);
    }

    /// The entry in a slot has left a window that is tabled. Returns whether it was the last: then
    /// the window ends with its slot, and otherwise it has one hole more.
    #[inline(always)]
    pub(crate) const fn drop_tabled(&mut self, slot: u32) -> bool {
        if slot + 1 == self.tail {
            self.tail = slot;
            return true;
        }
        self.holes += 1;
        false
    }

    /// An entry has left a window that is tabled, whose slot is not to be used again.
    #[inline(always)]
    pub(crate) const fn leave_hole(&mut self) {
        self.holes += 1;
    }

    /// Whether a window that is tabled has used up its slots for a queue that is shorter: one that
    /// stays long and never drains, which had to be moved and linked anew each time.
    pub(crate) const fn is_worn_out(&self) -> bool {
        self.is_tabled() && self.holes >= self.tail / 4
    }

    /// Whether no entry is left in a window that is tabled.
    #[inline(always)]
    pub(crate) const fn has_drained(&self) -> bool {
        self.tail == self.holes
    }
}
