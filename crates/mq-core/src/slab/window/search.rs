//! The searches of a window, and the holes that they close.

use super::Window;
use crate::slab::{NIL, Slab};

/// Holes that a search passes before it closes them.
pub(super) const HOLES: u32 = 4;

/// The end of a search that may not visit more entries; no slot has this number.
pub(crate) const TOO_FAR: u32 = NIL - 1;

/// Where a search ended, and what it cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sought {
    /// The slot of the entry; [`NIL`] if there is none, [`TOO_FAR`] if there are more entries than the
    /// search may visit.
    pub(crate) slot: u32,
    /// Entries compared, the found one included.
    pub(crate) visited: u32,
}

impl Window {
    /// Finds the earliest entry whose key is `wanted`, if it is among the first `limit` entries, or is
    /// the first.
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

    /// [`find_behind_first`](Self::find_behind_first) in a window without holes; `None` if there are
    /// some.
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
        let (slot, visited) = if span > limit {
            (TOO_FAR, limit)
        } else {
            (NIL, span)
        };
        Some(Sought { slot, visited })
    }

    /// Finds the earliest entry after the first whose key is `wanted`, if it is among the first `limit`
    /// of all; the first has been compared. Closes the holes on the way if there are many.
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
            // Not a branch: which slots are holes is hard to predict.
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
        self.note_move(slab);
    }
}
