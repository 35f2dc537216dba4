//! The linked receives with wildcards.

use super::super::CLASSES;
use super::super::hash::Seed;
use super::super::key::{Key, is_receive};
use super::buckets::{Buckets, are_too_many};
use super::links::link_alone;
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::memory::vec_bytes;
use crate::pattern::Pattern;
use crate::slab::Entry;

/// Marks a candidate without a class.
const NO_CLASS: usize = usize::MAX;

/// Linked receives with one mask.
#[derive(Clone, Copy, Debug)]
struct Class<B> {
    care: B,
    /// The [word](Buckets::word_of) of its mask.
    word: u64,
    posted: u32,
}

/// Receives with wildcards, by what their masks leave of the bits, hashed with the mask: in a table of
/// their own, which is created for the first.
#[derive(Debug)]
pub(super) struct Wild<B> {
    buckets: Buckets,
    classes: Vec<Class<B>>,
    /// The slots of receives without a class, in order.
    others: Vec<u32>,
    /// Linked receives of all classes, and of none.
    posted: u32,
    /// How many there may be before the table must be larger, now or when it is rebuilt.
    room: u32,
    /// The most that were linked at once since the filling began.
    most: u32,
    /// Whether there has been a table since then.
    has_begun: bool,
}

/// A receive with a wildcard that takes a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) slot: u32,
    place: usize,
    class: usize,
}

impl<B: MatchBits> Wild<B> {
    pub(super) const fn new(seed: Seed) -> Self {
        Self {
            buckets: Buckets::new(seed),
            classes: Vec::new(),
            others: Vec::new(),
            posted: 0,
            room: 0,
            most: 0,
            has_begun: false,
        }
    }

    /// Whether none is linked.
    #[inline(always)]
    pub(super) const fn is_empty(&self) -> bool {
        self.posted == 0
    }

    /// Whether there is no room for one more.
    #[inline(always)]
    pub(super) const fn is_full(&self) -> bool {
        self.posted == self.room
    }

    /// Whether the table is to begin anew, and with it that of the other receives: see
    /// [`Buckets::is_worn_out_beside`].
    #[inline(always)]
    pub(super) const fn is_worn_out(&self, others: &Buckets) -> bool {
        self.buckets.is_worn_out_beside(others)
    }

    /// See [`Buckets::replace_if_worn_beside`].
    pub(super) fn replace_if_worn(&mut self, others: &Buckets) -> bool {
        self.buckets.replace_if_worn_beside(others)
    }

    /// See [`Buckets::judge`].
    pub(super) fn judge(&mut self, linked: u32, behind: u32, again: u32) -> bool {
        self.buckets.judge(linked, behind, again)
    }

    /// A filling begins: none is linked. There is room for as many as before, unless the last filling
    /// had far fewer: as it begins, each bucket is written.
    pub(super) fn start(&mut self) {
        let had_table = core::mem::take(&mut self.has_begun);
        let most = core::mem::take(&mut self.most);
        if had_table && (most == 0 || are_too_many(self.room, most)) {
            self.room = with_some_more(most);
        }
        self.forget();
    }

    /// Forgets all, but how many they were.
    pub(super) fn forget(&mut self) {
        self.buckets.forget();
        self.classes.clear();
        self.others.clear();
        self.posted = 0;
    }

    /// Begins anew, with room for `receives`, or as many as before; for some more, if as large a table
    /// serves them too.
    pub(super) fn begin(&mut self, receives: u32) {
        debug_assert!(
            self.classes.is_empty(),
            "words of masks depend on the factor"
        );
        self.room = self.room.max(receives);
        if self.room > 0 {
            self.buckets.begin(self.room);
            self.room = self.buckets.room();
            self.has_begun = true;
        }
    }

    /// All that have come are linked, `linked` of them now, and `behind` of these behind others with
    /// another key.
    pub(super) const fn count_linked(&mut self, linked: u32, behind: u32) {
        self.buckets.count_linked(linked, behind);
        if self.posted > self.most {
            self.most = self.posted;
        }
    }

    /// Puts a receive behind all others of its bucket, of whose last entry this returns the slot; `None` if
    /// there were none, or it has no class.
    pub(super) fn push(&mut self, bits: B, care: B, slot: u32) -> Option<u32> {
        self.posted += 1;
        let known = self.classes.iter().position(|class| class.care == care);
        let class = match known {
            Some(class) => class,
            None if self.classes.len() < CLASSES => self.add_class(care),
            None => {
                self.others.push(slot);
                return None;
            }
        };
        let class = &mut self.classes[class];
        class.posted += 1;
        let place = self.buckets.place_under(bits & care, class.word);
        self.buckets.get_mut(place)?.push(slot)
    }

    /// Links receives with one mask as long as each is the first of its bucket and there is room: see
    /// [`link_alone`]. Mostly all receives with wildcards have the same mask.
    pub(super) fn link_alone<P, R>(
        &mut self,
        entries: &mut [Entry<P, R>],
        first: u32,
        care: B,
    ) -> (u32, u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        // Only to save the call: below, each entry is asked.
        if !entries
            .first()
            .is_some_and(|entry| entry.key.care() == care)
        {
            return (0, 0);
        }
        let is = |class: &&mut Class<B>| class.care == care;
        let Some(class) = self.classes.iter_mut().find(is) else {
            return (0, 0);
        };
        let word = class.word;
        let left = (self.room - self.posted) as usize;
        let span = entries.len().min(left);
        let (buckets, hash) = self.buckets.parts();
        let (alone, passed) = link_alone(&mut entries[..span], first, buckets, |pattern| {
            (pattern.care() == care).then(|| hash.place_under(pattern.bits() & care, word))
        });
        class.posted += alone;
        self.posted += alone;
        (alone, passed)
    }

    /// Makes a class for a mask, and returns its number.
    #[cold]
    #[inline(never)]
    fn add_class(&mut self, care: B) -> usize {
        self.classes.push(Class {
            care,
            word: self.buckets.word_of(care),
            posted: 0,
        });
        self.classes.len() - 1
    }

    /// The first slot of the bucket in which the receives for a message are, or a number that is no
    /// slot, if all receives are of one class.
    #[inline(always)]
    pub(super) fn first_of_one_class(&self, bits: B) -> Option<u32> {
        match self.classes.as_slice() {
            [class] if self.others.is_empty() => {
                let place = self.buckets.place_under(bits & class.care, class.word);
                Some(self.buckets.first(place))
            }
            _ => None,
        }
    }

    /// Takes the receive in the [first slot](Self::first_of_one_class) of a message's bucket off its chain, if
    /// it takes the message: its slot.
    #[inline(always)]
    pub(super) fn take_first_of_one_class<P, R>(
        &mut self,
        near: &[Entry<P, R>],
        context: ContextId,
        bits: B,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let [class] = self.classes.as_mut_slice() else {
            return None;
        };
        if !self.others.is_empty() {
            return None;
        }
        let key = Key::under(context, bits, class.care);
        let place = self.buckets.place_under(key.bits, class.word);
        let bucket = self.buckets.get_mut(place)?;
        let slot = bucket.first();
        let entry = near.get(slot as usize)?;
        if !is_receive(entry, key) {
            return None;
        }
        bucket.drop_first(entry.next);
        self.posted -= 1;
        class.posted -= 1;
        if class.posted == 0 {
            self.classes.clear();
        }
        Some(slot)
    }

    /// The earliest receive of all classes that takes a message, if it is before a slot and all that
    /// may be are first in their buckets, and how many have been compared; `None` if others are.
    #[inline(always)]
    pub(super) fn find_first<P, R>(
        &self,
        near: &[Entry<P, R>],
        context: ContextId,
        bits: B,
        before: u32,
    ) -> Option<(Candidate, u32)>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let mut best = Candidate {
            slot: before,
            place: 0,
            class: 0,
        };
        if !self.others.is_empty() {
            return None;
        }
        let mut visited = 0;
        for (class, &Class { care, word, .. }) in self.classes.iter().enumerate() {
            let key = Key::under(context, bits, care);
            let place = self.buckets.place_under(key.bits, word);
            let slot = self.buckets.first(place);
            if slot < best.slot
                && let Some(entry) = near.get(slot as usize)
            {
                if !is_receive(entry, key) {
                    return None;
                }
                visited += 1;
                best = Candidate { slot, place, class };
            }
        }
        Some((best, visited))
    }

    /// Takes a receive that is the first of its bucket off its chain.
    #[inline(always)]
    pub(super) fn drop_first(&mut self, found: Candidate, second: u32) {
        if let Some(bucket) = self.buckets.get_mut(found.place) {
            bucket.drop_first(second);
        }
        self.leave(found.class);
    }

    /// The earliest receive of all classes that takes a message, if it is before a slot; and how many
    /// have been compared.
    #[inline(always)]
    pub(super) fn find<P, R>(
        &mut self,
        near: &[Entry<P, R>],
        context: ContextId,
        bits: B,
        before: u32,
    ) -> (Candidate, u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let mut best = Candidate {
            slot: before,
            place: 0,
            class: 0,
        };
        let mut visited = 0;
        for (class, &Class { care, word, .. }) in self.classes.iter().enumerate() {
            let key = Key::under(context, bits, care);
            let place = self.buckets.place_under(key.bits, word);
            let mut slot = self.buckets.first(place);
            let mut compared = 0;
            // Chains are in order: no entry of this one is earlier than its first.
            while slot < best.slot {
                let Some(entry) = near.get(slot as usize) else {
                    break;
                };
                compared += 1;
                if is_receive(entry, key) {
                    best = Candidate { slot, place, class };
                    break;
                }
                slot = entry.next;
            }
            self.buckets.count(compared);
            visited += compared;
        }
        for &slot in &self.others {
            let Some(entry) = near.get(slot as usize) else {
                break;
            };
            if slot >= best.slot {
                break;
            }
            visited += 1;
            let pattern = &entry.key;
            let differs = (pattern.bits() ^ bits) & pattern.care();
            if differs == B::ZERO && pattern.context() == context {
                best = Candidate {
                    slot,
                    place: 0,
                    class: NO_CLASS,
                };
            }
        }
        (best, visited)
    }

    /// Takes a receive that was found off its chain.
    #[inline(always)]
    pub(super) fn unlink_found<P, R>(&mut self, near: &mut [Entry<P, R>], found: Candidate) {
        let Some(entry) = near.get(found.slot as usize) else {
            return;
        };
        let before = entry.prev;
        if found.class == NO_CLASS {
            self.leave_others(found.slot);
            return;
        }
        self.buckets.unlink(near, found.place, found.slot, before);
        self.leave(found.class);
    }

    /// Takes a receive with these bits off its chain.
    pub(super) fn unlink<P, R>(
        &mut self,
        near: &mut [Entry<P, R>],
        slot: u32,
        (bits, care): (B, B),
        before: u32,
    ) {
        if self.leave_others(slot) {
            return;
        }
        let is = |class: &Class<B>| class.care == care;
        if let Some(class) = self.classes.iter().position(is) {
            let word = self.classes[class].word;
            let place = self.buckets.place_under(bits & care, word);
            self.buckets.unlink(near, place, slot, before);
            self.leave(class);
        }
    }

    /// A receive has left; false if it has a class.
    fn leave_others(&mut self, slot: u32) -> bool {
        let Ok(at) = self.others.binary_search(&slot) else {
            return false;
        };
        self.others.remove(at);
        self.posted -= 1;
        true
    }

    /// A receive of a class has left its chain.
    #[inline(always)]
    fn leave(&mut self, class: usize) {
        self.posted -= 1;
        if let Some(of) = self.classes.get_mut(class) {
            of.posted -= 1;
            if of.posted == 0 {
                self.classes.swap_remove(class);
            }
        }
    }

    pub(super) const fn bytes(&self) -> usize {
        self.buckets.bytes() + vec_bytes(&self.classes) + vec_bytes(&self.others)
    }

    /// How many there is room for before all are linked anew.
    #[cfg(test)]
    pub(super) const fn room(&self) -> u32 {
        self.room
    }

    /// Gives memory back.
    pub(super) fn release(&mut self) {
        self.buckets.release();
        self.classes = Vec::new();
        self.others = Vec::new();
    }

    /// Forgets all, and how many they were.
    pub(super) fn clear(&mut self) {
        self.forget();
        self.room = 0;
        self.most = 0;
        self.has_begun = false;
    }
}

/// Some more than `receives`, so that the table need not be larger soon; none for none.
pub(super) const fn with_some_more(receives: u32) -> u32 {
    receives + receives.div_ceil(8)
}

/// How many receives have a wildcard.
pub(super) fn count<P: Pattern, R>(entries: &[Entry<P, R>]) -> u32 {
    let is_wild = |entry: &&Entry<P, R>| entry.is_used() && entry.key.care() != MatchBits::ALL;
    entries.iter().filter(is_wild).map(|_| 1).sum()
}

#[cfg(test)]
mod tests;
