//! Receives that have come since the last search are put on their chains, all together.

use core::ops::Range;

use super::super::links::{link_alone, link_behind};
use super::super::wild::{self, with_some_more};
use super::Receives;
use crate::envelope::{Envelope, MatchBits};
use crate::pattern::Pattern;
use crate::slab::{Entry, NIL, Window};

/// How many receives have been linked, and how many of them came to be behind others with another key.
#[derive(Clone, Copy, Default)]
struct Linked {
    exact: u32,
    behind: u32,
    /// Those with wildcards, which are counted apart.
    wild: u32,
    wild_behind: u32,
}

impl<B: MatchBits> Receives<B> {
    /// Links what has come since the last search.
    #[inline(never)]
    pub(in super::super) fn link<P, R>(&mut self, near: &mut [Entry<P, R>], window: &Window)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let (end, queued) = (window.end(), window.len());
        let is_worn = self.buckets.replace_if_worn() | self.wild.replace_if_worn(&self.buckets);
        let is_first = self.linked == self.first;
        let is_unsuited = is_first && !self.buckets.suit(queued);
        let mut is_new = is_worn || is_unsuited || !self.buckets.serves(queued);
        if is_first && !is_new {
            self.wild.begin(0);
        }
        let mut wild = 0;
        loop {
            if is_new {
                self.forget_links(self.first);
                self.buckets.begin(queued);
                self.wild.begin(wild);
            }
            let Some(linked) = self.link_to(near, end) else {
                wild = with_some_more(self.wildcards(near, end));
                is_new = true;
                continue;
            };
            is_new = self.linked == self.first && self.judge(linked, queued);
            if !is_new {
                self.buckets.count_linked(linked.exact, linked.behind);
                self.wild.count_linked(linked.wild, linked.wild_behind);
                self.linked = end;
                return self.set_limit();
            }
        }
    }

    /// Tells how good the factors of both tables are, and whether they are to begin anew at once, with
    /// `again` receives.
    fn judge(&mut self, linked: Linked, again: u32) -> bool {
        let is_bad = self.buckets.judge(linked.exact, linked.behind, again);
        self.wild.judge(linked.wild, linked.wild_behind, again) || is_bad
    }

    /// How many receives with wildcards there is room for before all are linked anew.
    #[cfg(test)]
    pub(in super::super) const fn room_for_wildcards(&self) -> u32 {
        self.wild.room()
    }

    /// How many receives of a window have a wildcard.
    #[cold]
    fn wildcards<P, R>(&self, near: &[Entry<P, R>], end: u32) -> u32
    where
        P: Pattern,
    {
        let entries = near.get(self.first as usize..end as usize);
        entries.map_or(0, wild::count)
    }

    /// Links all receives before a slot that are not; returns how many, and how many came to be behind
    /// others. `None`, and some are linked, if there is no room for one with a wildcard.
    #[inline(never)]
    fn link_to<P, R>(&mut self, near: &mut [Entry<P, R>], end: u32) -> Option<Linked>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let mut linked = Linked::default();
        let mut slot = self.linked;
        while slot < end {
            let (buckets, hash) = self.buckets.parts();
            let entries = near.get_mut(slot as usize..end as usize)?;
            let (alone, passed) = link_alone(entries, slot, buckets, |pattern| {
                (pattern.care() == B::ALL).then(|| hash.place(pattern.bits()))
            });
            linked.exact += alone;
            slot += passed;
            // Those that have others before them, and those with a wildcard.
            while slot < end {
                let entry = near.get_mut(slot as usize)?;
                let (bits, care) = (entry.key.bits(), entry.key.care());
                if entry.is_used() && care == B::ALL {
                    let bucket = self.buckets.get_mut(hash.place(bits))?;
                    let Some(last) = bucket.push_behind(slot) else {
                        break;
                    };
                    entry.next = NIL;
                    linked.exact += 1;
                    linked.behind +=
                        link_behind(near, last, slot, |pattern| pattern.bits() != bits);
                } else if entry.is_used() {
                    slot += self.link_wildcards(near, slot..end, &mut linked)?;
                }
                slot += 1;
            }
        }
        Some(linked)
    }

    /// Links the first of some slots, a receive with a wildcard, and those after it that have the same mask,
    /// as long as each is the first of its bucket: returns how many slots after the first it has passed.
    /// `None` if there is no room for the first.
    #[inline(always)]
    fn link_wildcards<P, R>(
        &mut self,
        near: &mut [Entry<P, R>],
        slots: Range<u32>,
        linked: &mut Linked,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if self.wild.is_full() {
            return None;
        }
        let (slot, after) = (slots.start, slots.start + 1);
        let entry = near.get_mut(slot as usize)?;
        let (bits, care) = (entry.key.bits(), entry.key.care());
        entry.next = NIL;
        linked.wild += 1;
        if let Some(last) = self.wild.push(bits, care, slot) {
            linked.wild_behind += link_behind(near, last, slot, |pattern| {
                pattern.care() != care || (pattern.bits() ^ bits) & care != B::ZERO
            });
            return Some(0);
        }
        let others = near.get_mut(after as usize..slots.end as usize);
        let (alone, passed) = self
            .wild
            .link_alone(others.unwrap_or_default(), after, care);
        linked.wild += alone;
        Some(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::hash::Seed;
    use super::*;
    use crate::Source;
    use crate::mpi::MpiPattern;
    use crate::slab::Slab;

    #[test]
    fn all_are_counted_that_are_linked() {
        let mut slab: Slab<MpiPattern, u32> = Slab::new(0);
        for tag in 0..60 {
            let source = match tag % 6 {
                0 => Source::from(3),
                _ => Source::Any,
            };
            slab.insert(MpiPattern::new(0, source, tag), 0, NIL);
        }
        (0..60).step_by(7).for_each(|slot| {
            slab.remove(slot);
        });
        let mut receives: Receives<u64> = Receives::new(Seed::new(1), 8);
        receives.buckets.begin(60);
        receives.wild.begin(60);
        let linked = receives.link_to(slab.near_entries_mut(), 60);
        let linked = linked.expect("there is room for all");
        assert_eq!((linked.exact, linked.wild), (8, 43));
        // Each that leaves is counted, and the class goes with its last.
        for slot in (0..60).filter(|slot| slot % 7 != 0) {
            assert!(!receives.wild.is_empty(), "before slot {slot}");
            let pattern = slab.near_entries()[slot as usize].key;
            if pattern.care() != u64::ALL {
                let bits = (pattern.bits(), pattern.care());
                let before = slab.near_entries()[slot as usize].prev;
                receives
                    .wild
                    .unlink(slab.near_entries_mut(), slot, bits, before);
            }
        }
        assert!(receives.wild.is_empty());
        assert_eq!(
            receives.wild.first_of_one_class(1),
            None,
            "no class is left"
        );
    }
}
