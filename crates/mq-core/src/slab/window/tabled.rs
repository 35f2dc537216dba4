//! A window whose entries are also in tables that find them by key.
//!
//! Entries are still written after the last. Code that asks for the first entry finds that it is not a
//! slot; the position of the first is not needed.

use super::{TABLED, Window};
use crate::slab::Slab;

impl Window {
    /// Whether the window is tabled.
    #[inline(always)]
    pub(crate) const fn is_tabled(&self) -> bool {
        self.head == TABLED
    }

    /// The slot after the first `entries` entries, in a window that is not tabled; the first slot if
    /// there are holes between them.
    pub(crate) const fn slot_behind(&self, entries: u32) -> u32 {
        match self.holes {
            0 => self.head + entries,
            _ => self.head,
        }
    }

    /// The window becomes tabled: returns the slot of its first entry.
    pub(crate) const fn begin_tables(&mut self) -> u32 {
        let first = self.head;
        self.holes += first;
        self.head = TABLED;
        first
    }

    /// The window is no longer tabled.
    pub(crate) fn end_tables<K, T>(&mut self, slab: &Slab<K, T>) {
        self.head = 0;
        self.trim(slab);
        self.skip_holes(slab);
    }

    /// The entry in a slot has left a tabled window. Returns whether it was the last: then the window
    /// ends with its slot; otherwise the window has one more hole.
    #[inline(always)]
    pub(crate) const fn drop_tabled(&mut self, slot: u32) -> bool {
        if slot + 1 == self.tail {
            self.tail = slot;
            return true;
        }
        self.holes += 1;
        false
    }

    /// An entry has left a tabled window; its slot must not be used again.
    #[inline(always)]
    pub(crate) const fn leave_hole(&mut self) {
        self.holes += 1;
    }

    /// Whether a tabled window has used up its slots although its queue is shorter: a queue that stays
    /// long and never drains, and would have to be moved and relinked each time.
    pub(crate) const fn is_worn_out(&self) -> bool {
        self.is_tabled() && self.holes >= self.tail / 4
    }

    /// Whether no entry is left in a window that is tabled.
    #[inline(always)]
    pub(crate) const fn has_drained(&self) -> bool {
        self.tail == self.holes
    }
}
