//! First-in first-out lists threaded through numbered slots, mostly those of a [`Slab`].

use crate::slab::{NIL, Slab};

/// Where the links of a list are kept.
pub(crate) trait Links {
    /// The slot after `slot`, or [`NIL`].
    fn next(&self, slot: u32) -> u32;
    /// The slot before `slot`, or [`NIL`].
    fn prev(&self, slot: u32) -> u32;
    /// Changes the slot after `slot`.
    fn set_next(&mut self, slot: u32, next: u32);
    /// Changes the slot before `slot`.
    fn set_prev(&mut self, slot: u32, prev: u32);
}

/// Where the keys of a list's entries are, and the way from one to the next.
pub(crate) trait Keys<K> {
    /// The key in `slot`.
    fn key(&self, slot: u32) -> &K;
    /// The slot after `slot`, or [`NIL`].
    fn next(&self, slot: u32) -> u32;
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
    /// The slot of the earliest wanted entry.
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

    /// The list of entries that are linked already, from the first to the last.
    pub(crate) const fn between(first: u32, last: u32) -> Self {
        Self {
            head: first,
            tail: last,
        }
    }

    /// Whether no entry is linked.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// Links the entry in `slot` after all others.
    #[inline(always)]
    pub fn push_back<K: Copy, T>(&mut self, slab: &mut Slab<K, T>, slot: u32) {
        if slab.has_far() {
            self.push_back_far(slab, slot);
        } else {
            self.link_back(&mut slab.near(), slot);
        }
    }

    #[inline(never)]
    fn push_back_far<K: Copy, T>(&mut self, slab: &mut Slab<K, T>, slot: u32) {
        self.link_back(slab, slot);
    }

    /// Unlinks the entry in `slot`, which must be on this list.
    #[inline(always)]
    pub fn unlink<K: Copy, T>(&mut self, slab: &mut Slab<K, T>, slot: u32) {
        if slab.has_far() {
            self.unlink_far(slab, slot);
        } else {
            self.unlink_from(&mut slab.near(), slot);
        }
    }

    #[inline(never)]
    fn unlink_far<K: Copy, T>(&mut self, slab: &mut Slab<K, T>, slot: u32) {
        self.unlink_from(slab, slot);
    }

    /// Finds the earliest entry whose key is `wanted`.
    #[inline(always)]
    pub fn find<K: Copy, T>(&self, slab: &Slab<K, T>, wanted: impl FnMut(&K) -> bool) -> Search {
        if slab.has_far() {
            self.find_far(slab, wanted)
        } else {
            self.find_by(&slab.near_keys(), wanted)
        }
    }

    #[inline(never)]
    fn find_far<K: Copy, T>(&self, slab: &Slab<K, T>, wanted: impl FnMut(&K) -> bool) -> Search {
        self.find_by(slab, wanted)
    }

    /// [`push_back`](Self::push_back), wherever the links are.
    #[inline(always)]
    pub(crate) fn link_back(&mut self, links: &mut impl Links, slot: u32) {
        links.set_next(slot, NIL);
        links.set_prev(slot, self.tail);
        if self.tail == NIL {
            self.head = slot;
        } else {
            links.set_next(self.tail, slot);
        }
        self.tail = slot;
    }

    /// Stores an entry in a slab without far entries and links it after all others, as one step.
    #[inline(always)]
    pub(crate) fn insert_back<K: Copy, T>(
        &mut self,
        slab: &mut Slab<K, T>,
        key: K,
        payload: T,
    ) -> u32 {
        let tail = self.tail;
        let slot = slab.insert_behind(tail, key, payload, 0);
        if tail == NIL {
            self.head = slot;
        } else {
            slab.near().set_next(tail, slot);
        }
        self.tail = slot;
        slot
    }

    /// Forgets the entries before the one in `slot`, which is on this list; all if it is [`NIL`].
    pub(crate) fn begin_at(&mut self, links: &mut impl Links, slot: u32) {
        if slot == NIL {
            *self = Self::EMPTY;
        } else {
            self.head = slot;
            links.set_prev(slot, NIL);
        }
    }

    /// [`unlink`](Self::unlink), wherever the links are.
    #[inline(always)]
    pub(crate) fn unlink_from(&mut self, links: &mut impl Links, slot: u32) {
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

    /// [`find`](Self::find), wherever the keys are.
    #[inline(always)]
    pub(crate) fn find_by<K>(
        &self,
        keys: &impl Keys<K>,
        mut wanted: impl FnMut(&K) -> bool,
    ) -> Search {
        let mut slot = self.head;
        let mut visited = 0;
        while slot != NIL {
            visited += 1;
            if wanted(keys.key(slot)) {
                return Search {
                    found: Some(slot),
                    visited,
                };
            }
            slot = keys.next(slot);
        }
        Search {
            found: None,
            visited,
        }
    }

    /// The slot of the earliest entry, or [`NIL`].
    #[inline(always)]
    pub(crate) const fn first(&self) -> u32 {
        self.head
    }

    /// The slots of the list, earliest first.
    pub fn slots<'a, K: Copy, T>(&self, slab: &'a Slab<K, T>) -> impl Iterator<Item = u32> + 'a {
        let next = |slot: u32| (slot != NIL).then_some(slot);
        core::iter::successors(next(self.head), move |&slot| next(Links::next(slab, slot)))
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
