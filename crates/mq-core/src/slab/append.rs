//! Storing entries in the order of their slots: far slots are taken into use one after another, and none is used again
//! before all have left, or the order is [given up](Slab::seal).

use core::ops::Range;

use super::far::Far;
use super::{Entry, NEAR, Slab};

impl<K: Copy, T> Slab<K, T> {
    /// Takes the far slot after the last for the newest entry, of which nothing but the number is written;
    /// [`fill`](Self::fill) follows before anything else looks at it. `None` if [`extend`](Self::extend) must come
    /// before.
    #[inline(always)]
    pub(crate) fn reserve_last(&mut self) -> Option<u32> {
        let (slot, entry) = self.far.as_mut()?.use_last()?;
        entry.sequence = self.next_sequence;
        self.next_sequence += 1;
        self.len += 1;
        Some(slot)
    }

    /// Makes sure that the next [`reserve_last`](Self::reserve_last) finds a slot, after one that has found none; `key`
    /// may be any.
    ///
    /// # Panics
    /// With 2^31 - 256 slots in use or behind.
    pub(crate) fn extend(&mut self, key: K) {
        let far = self.far.get_or_insert_with(|| Box::new(Far::new()));
        far.extend(key);
    }

    /// Whether [`extend`](Self::extend) must come before the next [`reserve_last`](Self::reserve_last).
    pub(crate) fn is_at_end(&self) -> bool {
        self.far.as_ref().is_none_or(|far| far.is_at_end())
    }

    /// The slot after the last that was taken into use in order; the first far one if none was.
    pub(crate) fn end(&self) -> u32 {
        self.far.as_ref().map_or(NEAR as u32, |far| far.end())
    }

    /// No more slots are taken into use in order: those that are left are like others that are free.
    pub(crate) fn seal(&mut self) {
        if let Some(far) = &mut self.far {
            far.seal();
        }
    }

    /// The entries in the first of some slots, as many as are in one piece of memory, none if they have none; and the
    /// slot where the next piece begins.
    pub(crate) fn piece_mut(&mut self, slots: Range<u32>) -> (&mut [Entry<K, T>], u32) {
        if slots.start as usize >= NEAR {
            let far = self.far.as_mut();
            let end = slots.end;
            return far.map_or((&mut [], end), |far| far.piece_mut(slots));
        }
        let end = self.near.len().min(slots.end as usize);
        let entries = self.near.get_mut(slots.start as usize..end);
        (entries.unwrap_or_default(), slots.end.min(NEAR as u32))
    }
}
