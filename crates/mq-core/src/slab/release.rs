//! Removing entries, and giving back the memory of a burst.

use super::{Entry, KEEP_SLOTS, NIL, Slab, aside};

/// Lists the free slots among some slots, whose first has number `first`, in order; returns the first
/// free one, or [`NIL`].
#[expect(clippy::cast_possible_truncation, reason = "at most NEAR")]
pub(super) fn list_free<K, T>(entries: &mut [Entry<K, T>], first: u32) -> u32 {
    let mut free = NIL;
    let mut slot = first + entries.len() as u32;
    for entry in entries.iter_mut().rev() {
        slot -= 1;
        if entry.payload.is_none() {
            entry.next = free;
            free = slot;
        }
    }
    free
}

impl<K: Copy, T> Slab<K, T> {
    /// Removes the entry in `slot`, which must be stored and on no list.
    ///
    /// # Panics
    /// If the slot is free: a bug in the calling structure.
    #[inline(always)]
    pub fn remove(&mut self, slot: u32) -> (K, T) {
        let Some(entry) = self.near.get_mut(slot as usize) else {
            aside();
            let taken = self.release_far(slot).take();
            self.left();
            return taken;
        };
        let taken = entry.take();
        entry.next = self.free;
        self.free = slot;
        self.left();
        taken
    }

    /// Takes the entry in `slot` out, which must be near and stored, and leaves the slot to a
    /// [`Window`].
    ///
    /// # Panics
    /// If the slot is free or not a slot: a bug in the calling structure.
    #[inline(always)]
    pub(crate) fn take_near(&mut self, slot: u32) -> (K, T) {
        self.near[slot as usize].take()
    }

    /// Frees a far slot; the entry must be taken from it before anything else is done.
    #[inline(never)]
    fn release_far(&mut self, slot: u32) -> &mut Entry<K, T> {
        let far = self.far.as_mut().expect("far slots exist");
        let (entry, all) = far.release(slot, &mut self.free);
        if !all {
            self.low = u32::MAX;
        }
        entry
    }

    /// An entry has left.
    #[inline(always)]
    fn left(&mut self) {
        self.len -= 1;
        if self.len <= self.low {
            self.few_left();
        }
    }

    /// No entry is left, or few for the number of slots. Kept out of line together with its check, which would
    /// otherwise run at every removal.
    #[inline(never)]
    fn few_left(&mut self) {
        if self.far.is_some() {
            self.give_back();
        }
    }

    /// Gives back far slots, some with each removal; all when none is left.
    #[cold]
    #[inline(never)]
    fn give_back(&mut self) {
        let Some(far) = &mut self.far else { return };
        if self.len == 0 {
            return self.after_burst();
        }
        far.free_vacant();
        if self.len <= far.low() {
            if far.begin_sweep() {
                self.free = NIL;
            }
            far.sweep();
        }
        self.low = far.low();
    }

    /// Also frees the near slots when the last entry of a burst has left; the next entries start again at
    /// slot 0 and are laid out in order.
    #[cold]
    #[inline(never)]
    fn after_burst(&mut self) {
        self.near.clear();
        self.near.shrink_to(KEEP_SLOTS);
        self.free = NIL;
        self.low = 0;
        // Last: if dropping a near payload panics, the next call has to come here again.
        self.far = None;
    }

    /// Gives back slots that were made ready in an empty slab, and not used.
    pub(crate) fn rest(&mut self) {
        if self.len == 0 && self.far.is_some() {
            self.after_burst();
        }
    }

    /// Drops all entries, and keeps as much memory as if they had left one by one. Earlier handles stay
    /// stale.
    pub fn clear(&mut self) {
        self.len = 0;
        if self.far.is_some() {
            return self.after_burst();
        }
        self.near.clear();
        self.free = NIL;
    }

    /// [`clear`](Self::clear) for a slab whose [`Window`] [starts over](Window::restart): its slots stay
    /// too.
    pub(crate) fn clear_window(&mut self) {
        self.len = 0;
        if self.far.is_some() {
            return self.after_burst();
        }
        for entry in &mut self.near {
            entry.payload = None;
        }
    }
}
