//! The linked receives with wildcards.

mod search;
#[cfg(test)]
mod tests;

use super::super::CLASSES;
use super::super::hash::Seed;
use super::buckets::{Buckets, are_too_many};
use super::links::link_alone;
use crate::envelope::{Envelope, MatchBits};
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
