//! First-in first-out lists threaded through numbered slots, mostly those of a [`Slab`].

use crate::slab::{NIL, Slab};

/// Where the links of a list are kept.
pub trait Links {
    /// The slot behind `slot`, or [`NIL`].
    fn next(&self, slot: u32) -> u32;
    /// The slot before `slot`, or [`NIL`].
    fn prev(&self, slot: u32) -> u32;
    /// Changes the slot behind `slot`.
    fn set_next(&mut self, slot: u32, next: u32);
    /// Changes the slot before `slot`.
    fn set_prev(&mut self, slot: u32, prev: u32);
}

/// A doubly linked list of slots: append at the tail, search from the head, unlink
/// anywhere, each link constant time. An entry is on at most one list at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fifo {
    head: u32,
    tail: u32,
}

/// Where a search ended, and what it cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Search {
    /// The slot of the earliest entry that was wanted.
    pub found: Option<u32>,
    /// Entries compared, the found one included.
    pub visited: u32,
}

impl Fifo {
    /// The empty list.
    pub const EMPTY: Self = Self {
        head: NIL,
        tail: NIL,
    };

    /// Whether no entry is linked.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// The slot of the earliest entry.
    #[inline(always)]
    pub const fn head(&self) -> Option<u32> {
        if self.head == NIL {
            None
        } else {
            Some(self.head)
        }
    }

    /// Links the entry in `slot` behind all others.
    #[inline]
    pub fn push_back(&mut self, links: &mut impl Links, slot: u32) {
        links.set_next(slot, NIL);
        links.set_prev(slot, self.tail);
        if self.tail == NIL {
            self.head = slot;
        } else {
            links.set_next(self.tail, slot);
        }
        self.tail = slot;
    }

    /// Unlinks the entry in `slot`, which must be on this list.
    #[inline]
    pub fn unlink(&mut self, links: &mut impl Links, slot: u32) {
        let (prev, next) = (links.prev(slot), links.next(slot));
        if prev == NIL {
            self.head = next;
        } else {
            links.set_next(prev, next);
        }
        if next == NIL {
            self.tail = prev;
        } else {
            links.set_prev(next, prev);
        }
    }

    /// Finds the earliest entry whose key is `wanted`.
    #[inline]
    pub fn find<K: Copy, T>(
        &self,
        slab: &Slab<K, T>,
        mut wanted: impl FnMut(&K) -> bool,
    ) -> Search {
        let mut slot = self.head;
        let mut visited = 0;
        while slot != NIL {
            visited += 1;
            if wanted(slab.key(slot)) {
                return Search {
                    found: Some(slot),
                    visited,
                };
            }
            slot = slab.next(slot);
        }
        Search {
            found: None,
            visited,
        }
    }

    /// The slots of the list, earliest first.
    pub fn slots<'a, K: Copy, T>(&self, slab: &'a Slab<K, T>) -> impl Iterator<Item = u32> + 'a {
        let next = |slot: u32| (slot != NIL).then_some(slot);
        core::iter::successors(next(self.head), move |&slot| next(slab.next(slot)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlinking_keeps_the_order_of_the_rest() {
        let mut slab = Slab::new(0);
        let mut list = Fifo::EMPTY;
        let slots: Vec<u32> = (0..5).map(|key| slab.insert(key, (), 0)).collect();
        for &slot in &slots {
            list.push_back(&mut slab, slot);
        }
        for (gone, left) in [(2, &[0, 1, 3, 4][..]), (0, &[1, 3, 4]), (4, &[1, 3])] {
            list.unlink(&mut slab, slots[gone]);
            let keys: Vec<usize> = list.slots(&slab).map(|s| *slab.key(s)).collect();
            assert_eq!(keys, left);
        }
    }

    #[test]
    fn a_search_counts_what_it_compared() {
        let mut slab = Slab::new(0);
        let mut list = Fifo::EMPTY;
        for key in 0..4 {
            let slot = slab.insert(key, (), 0);
            list.push_back(&mut slab, slot);
        }
        assert_eq!(list.find(&slab, |&key| key == 2).visited, 3);
        let missing = list.find(&slab, |_| false);
        assert_eq!((missing.found, missing.visited), (None, 4));
    }
}
