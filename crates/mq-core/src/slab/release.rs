//! Removing entries, and giving back the memory of a burst.

use super::{Entry, KEEP_SLOTS, NIL, Slab, aside};

/// Lists the free slots among some, of which `first` is the number of the first, in order; returns
/// the first, or [`NIL`].
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
    /// If the slot is free: a fault of the structure that calls.
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
    /// If the slot is free or none: a fault of the structure that calls.
    #[inline(always)]
    pub(crate) fn take_near(&mut self, slot: u32) -> (K, T) {
        self.near[slot as usize].take()
    }

    /// Frees a far slot, from which the entry is to be taken before anything else is done.
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

    /// No entry is left, or few are for so many slots. A call, and the question in it: asked where
    /// entries are removed, it would be asked of each.
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

    /// Gives the near slots back too when the last entry of a burst has left; what comes next
    /// starts again at slot 0 and is laid out in order.
    #[cold]
    #[inline(never)]
    fn after_burst(&mut self) {
        self.far = None;
        self.near.clear();
        self.near.shrink_to(KEEP_SLOTS);
        self.free = NIL;
        self.low = 0;
    }

    /// Drops all entries, and keeps as much memory as if they had left one by one. Handles of before
    /// stay stale.
    pub fn clear(&mut self) {
        self.len = 0;
        if self.far.is_some() {
            return self.after_burst();
        }
        self.near.clear();
        self.free = NIL;
    }

    /// [`clear`](Self::clear) where a [`Window`] is told to [begin anew](Window::restart): its slots
    /// stay too.
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
