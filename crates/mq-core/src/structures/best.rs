//! The earliest of the first matches of several lists: where order is decided by sequence number.

use crate::fifo::Fifo;
use crate::slab::{NIL, Slab};

/// The earliest match so far, and the cost of finding it.
///
/// No entry is compared that is newer than the best match so far: each list is in order, so a search
/// of it ends there. A list that entries may be on beside the others, as receives from any source are, is
/// walked together with them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Best {
    /// The slot of the match.
    pub(crate) slot: Option<u32>,
    sequence: u64,
    /// Entries compared in all lists.
    pub(crate) visited: u32,
    /// The next entry of the list beside the others, or [`NIL`].
    beside: u32,
}

impl Best {
    /// A search of lists with none beside them.
    pub(crate) const NONE: Self = Self::beside(Fifo::EMPTY);

    /// A search of lists and of one beside them, which [`finish`](Self::finish) ends.
    #[inline]
    pub(crate) const fn beside(list: Fifo) -> Self {
        Self {
            slot: None,
            sequence: u64::MAX,
            visited: 0,
            beside: list.first(),
        }
    }

    /// Searches one more list.
    #[inline]
    pub(crate) fn search<K: Copy, T>(
        &mut self,
        list: Fifo,
        slab: &Slab<K, T>,
        wanted: impl FnMut(&K) -> bool,
    ) {
        if self.beside != NIL || self.slot.is_some() {
            return self.search_in_order(list, slab, wanted);
        }
        let search = list.find(slab, wanted);
        self.visited += search.visited;
        if let Some(slot) = search.found {
            self.keep(slot, slab.sequence(slot));
        }
    }

    /// [`search`](Self::search) where something else decides how far.
    fn search_in_order<K: Copy, T>(
        &mut self,
        list: Fifo,
        slab: &Slab<K, T>,
        mut wanted: impl FnMut(&K) -> bool,
    ) {
        let mut slot = list.first();
        while slot != NIL {
            let entry = slab.entry(slot);
            self.search_beside(entry.sequence, slab, &mut wanted);
            if entry.sequence > self.sequence {
                return;
            }
            self.visited += 1;
            if wanted(&entry.key) {
                return self.keep(slot, entry.sequence);
            }
            slot = entry.next;
        }
    }

    /// Searches what is left of the list beside the others.
    #[inline]
    pub(crate) fn finish<K: Copy, T>(
        &mut self,
        slab: &Slab<K, T>,
        mut wanted: impl FnMut(&K) -> bool,
    ) {
        self.search_beside(u64::MAX, slab, &mut wanted);
    }

    /// Searches the list beside the others as far as its entries come before a number and a match.
    #[inline]
    fn search_beside<K: Copy, T>(
        &mut self,
        before: u64,
        slab: &Slab<K, T>,
        wanted: &mut impl FnMut(&K) -> bool,
    ) {
        let before = before.min(self.sequence);
        while self.beside != NIL {
            let slot = self.beside;
            let entry = slab.entry(slot);
            if entry.sequence > before {
                return;
            }
            self.visited += 1;
            self.beside = entry.next;
            if wanted(&entry.key) {
                self.beside = NIL;
                return self.keep(slot, entry.sequence);
            }
        }
    }

    /// Compares one more candidate.
    #[inline]
    pub(crate) fn consider<K: Copy, T>(&mut self, slot: u32, slab: &Slab<K, T>) {
        self.visited += 1;
        let sequence = slab.sequence(slot);
        if sequence < self.sequence {
            self.keep(slot, sequence);
        }
    }

    #[inline]
    const fn keep(&mut self, slot: u32, sequence: u64) {
        self.slot = Some(slot);
        self.sequence = sequence;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries in order, each with the list it is on.
    fn lists<const N: usize>(entries: &[(usize, char)]) -> (Slab<char, ()>, [Fifo; N]) {
        let mut slab = Slab::new(0);
        let mut lists = [Fifo::EMPTY; N];
        for &(list, key) in entries {
            let slot = slab.insert(key, (), 0);
            lists[list].push_back(&mut slab, slot);
        }
        (slab, lists)
    }

    #[test]
    fn nothing_newer_than_the_best_so_far_is_compared() {
        let entries = [(0, 'a'), (1, 'b'), (0, 'c'), (1, 'd'), (1, 'e'), (0, 'f')];
        let (slab, [first, second]) = lists(&entries);
        let search = |key: char| {
            let mut best = Best::NONE;
            best.search(first, &slab, |&k| k == key);
            best.search(second, &slab, |&k| k == key);
            (best.slot.map(|slot| *slab.key(slot)), best.visited)
        };
        assert_eq!(search('a'), (Some('a'), 1));
        assert_eq!(search('c'), (Some('c'), 3));
        assert_eq!(search('d'), (Some('d'), 5));
        assert_eq!(search('x'), (None, 6));
    }

    #[test]
    fn a_list_beside_others_is_walked_together_with_them() {
        let entries = [(0, 'a'), (2, 'b'), (1, 'c'), (2, 'd'), (0, 'e'), (2, 'f')];
        let (slab, [first, second, beside]) = lists(&entries);
        let search = |key: char| {
            let mut best = Best::beside(beside);
            best.search(first, &slab, |&k| k == key);
            best.search(second, &slab, |&k| k == key);
            best.finish(&slab, |&k| k == key);
            (best.slot.map(|slot| *slab.key(slot)), best.visited)
        };
        // As many as one list would take, but for those of a list that were not known to be newer.
        let found: Vec<_> = ['a', 'b', 'c', 'd', 'e', 'f', 'x'].map(search).into();
        let keys: Vec<_> = found.iter().map(|&(key, _)| key).collect();
        assert_eq!(
            keys,
            [
                Some('a'),
                Some('b'),
                Some('c'),
                Some('d'),
                Some('e'),
                Some('f'),
                None
            ]
        );
        let visited: Vec<_> = found.iter().map(|&(_, visited)| visited).collect();
        assert_eq!(visited, [1, 2, 5, 4, 5, 6, 6]);
    }
}
