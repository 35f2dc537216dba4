//! The earliest of the first matches of several lists, by sequence number.

use crate::fifo::Fifo;
use crate::slab::{NIL, Slab};

/// A search of several lists for the earliest match.
pub(crate) trait ListSearch {
    /// Searches one more list.
    fn search<K: Copy, T>(&mut self, list: Fifo, slab: &Slab<K, T>, wanted: impl FnMut(&K) -> bool);

    /// Whether there is a match.
    fn has_found(&self) -> bool;
}

/// The earliest match so far, and the cost of finding it.
///
/// Entries newer than the best match so far are not compared: each list is in order, so its search
/// ends there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Best {
    /// The slot of the match.
    pub(crate) slot: Option<u32>,
    sequence: u64,
    /// Entries compared in all lists.
    pub(crate) visited: u32,
    /// How many of them are on the list beside the others.
    beside: u32,
}

impl Best {
    pub(crate) const NONE: Self = Self {
        slot: None,
        sequence: u64::MAX,
        visited: 0,
        beside: 0,
    };

    /// Entries compared outside the list beside the others: those that a better arrangement could avoid.
    #[inline]
    pub(crate) const fn visited_in_lists(&self) -> u32 {
        self.visited - self.beside
    }

    /// [`search`](ListSearch::search), inlined into the caller, which mostly has only one list.
    #[inline(always)]
    pub(crate) fn search_inline<K: Copy, T>(
        &mut self,
        list: Fifo,
        slab: &Slab<K, T>,
        wanted: impl FnMut(&K) -> bool,
    ) {
        if self.slot.is_some() {
            return self.search_for_earlier(list, slab, wanted);
        }
        let search = list.find(slab, wanted);
        self.visited += search.visited;
        if let Some(slot) = search.found {
            self.keep(slot, slab.sequence(slot));
        }
    }

    /// Searches a list after others in which there is a match.
    #[inline(never)]
    fn search_for_earlier<K: Copy, T>(
        &mut self,
        list: Fifo,
        slab: &Slab<K, T>,
        mut wanted: impl FnMut(&K) -> bool,
    ) {
        let mut slot = list.first();
        while slot != NIL {
            let entry = slab.entry(slot);
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

impl ListSearch for Best {
    #[inline]
    fn search<K: Copy, T>(
        &mut self,
        list: Fifo,
        slab: &Slab<K, T>,
        wanted: impl FnMut(&K) -> bool,
    ) {
        self.search_inline(list, slab, wanted);
    }

    #[inline]
    fn has_found(&self) -> bool {
        self.slot.is_some()
    }
}

/// A [`Best`] with one list beside the others, such as that of receives from any source, which is walked in step with
/// them.
#[derive(Debug)]
pub(crate) struct Beside {
    best: Best,
    /// The next entry of the list beside the others, or [`NIL`].
    next: u32,
}

impl Beside {
    /// A search of lists and of this one beside them.
    pub(crate) const fn new(list: Fifo) -> Self {
        Self {
            best: Best::NONE,
            next: list.first(),
        }
    }

    /// Searches one more list whose entries count as those beside.
    pub(crate) fn search_also<K: Copy, T>(
        &mut self,
        list: Fifo,
        slab: &Slab<K, T>,
        wanted: impl FnMut(&K) -> bool,
    ) {
        let before = self.best.visited_in_lists();
        self.search(list, slab, wanted);
        self.best.beside += self.best.visited_in_lists() - before;
    }

    /// Searches what is left of the list beside the others.
    pub(crate) fn finish<K: Copy, T>(
        mut self,
        slab: &Slab<K, T>,
        mut wanted: impl FnMut(&K) -> bool,
    ) -> Best {
        self.search_beside(u64::MAX, slab, &mut wanted);
        self.best
    }

    /// Searches the list beside the others while its entries come before a number and before a match.
    fn search_beside<K: Copy, T>(
        &mut self,
        before: u64,
        slab: &Slab<K, T>,
        wanted: &mut impl FnMut(&K) -> bool,
    ) {
        let before = before.min(self.best.sequence);
        while self.next != NIL {
            let slot = self.next;
            let entry = slab.entry(slot);
            if entry.sequence > before {
                return;
            }
            self.best.visited += 1;
            self.best.beside += 1;
            self.next = entry.next;
            if wanted(&entry.key) {
                self.next = NIL;
                return self.best.keep(slot, entry.sequence);
            }
        }
    }
}

impl ListSearch for Beside {
    fn search<K: Copy, T>(
        &mut self,
        list: Fifo,
        slab: &Slab<K, T>,
        mut wanted: impl FnMut(&K) -> bool,
    ) {
        let mut slot = list.first();
        while slot != NIL {
            let entry = slab.entry(slot);
            self.search_beside(entry.sequence, slab, &mut wanted);
            if entry.sequence > self.best.sequence {
                return;
            }
            self.best.visited += 1;
            if wanted(&entry.key) {
                return self.best.keep(slot, entry.sequence);
            }
            slot = entry.next;
        }
    }

    #[inline]
    fn has_found(&self) -> bool {
        self.best.has_found()
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
            let mut both = Beside::new(beside);
            both.search(first, &slab, |&k| k == key);
            both.search(second, &slab, |&k| k == key);
            let best = both.finish(&slab, |&k| k == key);
            let counts = (best.visited, best.visited_in_lists());
            (best.slot.map(|slot| *slab.key(slot)), counts)
        };
        // As many as one merged list would take, and those that were not yet known to be newer.
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
        let visited: Vec<_> = found.iter().map(|&(_, (visited, _))| visited).collect();
        assert_eq!(visited, [1, 2, 5, 4, 5, 6, 6]);
        let in_lists: Vec<_> = found.iter().map(|&(_, (_, in_lists))| in_lists).collect();
        assert_eq!(in_lists, [1, 1, 3, 2, 3, 3, 3]);
    }
}
