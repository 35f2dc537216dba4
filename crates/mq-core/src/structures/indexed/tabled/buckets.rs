//! Buckets, each with a chain of the entries whose keys fall into it, earliest first.

use core::fmt;

use super::super::hash::Seed;
use super::links::ChainLinks;
use crate::envelope::MatchBits;
use crate::hash::mix;
use crate::memory::vec_bytes;
use crate::slab::NIL;

/// No slot, as a bucket or a link of 16 bits has it: what is left of [`NIL`] in them.
pub(super) const NONE: u16 = u16::MAX;

/// The fewest entries that there are buckets for.
const FEWEST: usize = 128;

/// Buckets for each entry, at first; half as many when their number is doubled.
const ROOM: usize = 2;

/// Empty buckets made for up to this many times as many entries are used as they are.
const SHORTER: usize = 8;

/// See [`Buckets::is_worn_out`].
const WEAR: usize = 4;

/// Factors that are tried until one spreads the keys well.
const TRIES: u8 = 8;

/// This many entries are enough to tell how a factor spreads keys.
const ENOUGH: u32 = 16;

/// A factor is good if it puts no more than this many of 256 entries after others with another key, and
/// bad if it puts more than half of them there.
const GOOD: u32 = 12;
const BAD: u32 = 128;

/// How often a long table is rebuilt immediately because its factor is bad.
const AT_ONCE: u8 = 2;

/// This many entries are relinked within half a microsecond.
const QUICK: u32 = 256;

/// The ends of one chain. Without a first, the last means nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    first: u16,
    last: u16,
}

const EMPTY: Bucket = Bucket {
    first: NONE,
    last: NONE,
};

impl Bucket {
    /// A chain of one entry.
    #[inline(always)]
    pub(super) const fn of(slot: u32) -> Self {
        Self {
            first: short(slot),
            last: short(slot),
        }
    }

    /// The first slot of the chain; if there is none, a number that is no slot.
    #[inline(always)]
    pub(super) const fn first(self) -> u32 {
        self.first as u32
    }

    /// Whether the chain has no entry.
    #[inline(always)]
    pub(super) const fn is_empty(self) -> bool {
        self.first == NONE
    }

    /// Takes the first entry off the chain, of which the second is known.
    #[inline(always)]
    pub(super) const fn drop_first(&mut self, second: u32) {
        self.first = short(second);
    }

    /// Puts a slot behind the others, if there are some; returns the one that was the last.
    #[inline(always)]
    pub(super) const fn push_behind(&mut self, slot: u32) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        self.push(slot)
    }

    /// Puts a slot behind all others; returns the one that was the last, if there was any.
    #[inline(always)]
    pub(super) const fn push(&mut self, slot: u32) -> Option<u32> {
        let Self { first, last } = *self;
        self.last = short(slot);
        if first == NONE {
            self.first = short(slot);
            return None;
        }
        Some(last as u32)
    }
}

/// A slot, or the mark of none.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "near slots are few, and NIL becomes NONE"
)]
const fn short(slot: u32) -> u16 {
    slot as u16
}

/// What the hash of a table depends on: multiplication by a secret, of which the upper bits count.
///
/// Any two keys collide under at most one in *n*/2 factors, where *n* is the number of buckets
/// (Dietzfelbinger et al. 1997), and consecutive keys, which programs mostly have, end up far from each
/// other. What keys have in common may still suit a factor badly; a table that notices takes
/// [another](Buckets::is_worn_out). The factor is secret, so nobody can choose tags that collide.
#[derive(Clone, Copy)]
pub(super) struct Hash {
    factor: u64,
    shift: u32,
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hash(..)")
    }
}

impl Hash {
    /// The number of the bucket for the bits that a key must match, which are 0 outside its mask, in a
    /// table whose keys have one mask.
    #[inline(always)]
    pub(super) fn place<B: MatchBits>(self, bits: B) -> usize {
        self.place_under(bits, 0)
    }

    /// The number of the bucket for such bits in a table of several masks, of which each adds its
    /// [word](Self::word_of) to the hash.
    #[inline(always)]
    pub(super) fn place_under<B: MatchBits>(self, bits: B, mask: u64) -> usize {
        let word = bits.fold(self.factor) ^ mask;
        (word.wrapping_mul(self.factor) >> (self.shift % u64::BITS)) as usize
    }

    /// What a mask adds to the hash: as secret as the factor. With known words, masks and bits could be
    /// chosen whose sums are equal, and such keys share a bucket whatever the factor is.
    fn word_of<B: MatchBits>(self, care: B) -> u64 {
        mix((!care).fold(self.factor), self.factor)
    }
}

/// The number of buckets for this many entries.
#[inline(always)]
const fn wanted(entries: u32) -> usize {
    let entries = entries as usize;
    let served = if entries < FEWEST { FEWEST } else { entries };
    served.next_power_of_two() * ROOM
}

/// Whether buckets for `room` entries are too many for `entries`.
pub(super) const fn are_too_many(room: u32, entries: u32) -> bool {
    wanted(room) > SHORTER * wanted(entries)
}

/// A power of two of buckets, or none yet.
#[derive(Debug)]
pub(super) struct Buckets {
    buckets: Vec<Bucket>,
    hash: Hash,
    /// How often an entry was passed on a chain, less one for each entry linked.
    passed: u32,
    /// The factor for the next [`begin`](Self::begin).
    next: u64,
    /// The best factor so far, and how many of 256 entries were behind others.
    best: (u64, u32),
    /// How many factors may still be tried.
    tries: u8,
}

impl Buckets {
    pub(super) const fn new(seed: Seed) -> Self {
        let factor = seed.factor();
        Self {
            buckets: Vec::new(),
            hash: Hash {
                factor,
                shift: u64::BITS - 1,
            },
            passed: 0,
            next: factor,
            best: (factor, u32::MAX),
            tries: TRIES,
        }
    }

    /// The number of the bucket of a key: see [`Hash::place`].
    #[inline(always)]
    pub(super) fn place<B: MatchBits>(&self, bits: B) -> usize {
        self.hash.place(bits)
    }

    /// The number of the bucket of a key whose mask has this word: see [`Hash::place_under`].
    #[inline(always)]
    pub(super) fn place_under<B: MatchBits>(&self, bits: B, mask: u64) -> usize {
        self.hash.place_under(bits, mask)
    }

    /// The word of a mask, until the buckets [begin](Self::begin) anew: see [`Hash::word_of`].
    pub(super) fn word_of<B: MatchBits>(&self, care: B) -> u64 {
        self.hash.word_of(care)
    }

    /// Whether there are enough buckets for this many entries.
    #[inline(always)]
    pub(super) const fn serves(&self, entries: u32) -> bool {
        entries as usize <= self.buckets.len()
    }

    /// How many entries there may be with two buckets or more for each.
    #[expect(clippy::cast_possible_truncation, reason = "near slots are few")]
    pub(super) const fn room(&self) -> u32 {
        (self.buckets.len() / ROOM) as u32
    }

    /// Whether empty buckets are as they would be after [`begin`](Self::begin), or not many more.
    #[inline(always)]
    pub(super) fn suit(&self, entries: u32) -> bool {
        self.next == self.hash.factor && self.buckets.len() <= SHORTER * wanted(entries)
    }

    /// Whether no bucket has an entry.
    pub(super) fn are_empty(&self) -> bool {
        self.buckets.iter().all(|bucket| bucket.is_empty())
    }

    /// Begins anew, with buckets for this many entries.
    pub(super) fn begin(&mut self, entries: u32) {
        let wanted = wanted(entries);
        self.hash.factor = self.next;
        self.hash.shift = u64::BITS - wanted.trailing_zeros();
        self.buckets.clear();
        self.buckets.resize(wanted, EMPTY);
    }

    /// Forgets all entries: there are no buckets until the next [`begin`](Self::begin).
    pub(super) fn forget(&mut self) {
        self.buckets.clear();
    }

    /// Whether chains have been long for at least as many entries as there are buckets: then the table
    /// is to be rebuilt, with [other factors](Self::replace_if_worn).
    #[inline(always)]
    pub(super) const fn is_worn_out(&self) -> bool {
        self.passed as usize > WEAR * self.buckets.len() && !self.buckets.is_empty()
    }

    /// [`is_worn_out`](Self::is_worn_out) for a table that begins anew together with another, which may
    /// be larger.
    #[inline(always)]
    pub(super) const fn is_worn_out_beside(&self, other: &Self) -> bool {
        self.is_worn_out() && self.passed as usize > WEAR * other.buckets.len()
    }

    /// Begins to try other factors, if the table [is worn out](Self::is_worn_out); returns whether
    /// it is.
    #[inline(always)]
    pub(super) fn replace_if_worn(&mut self) -> bool {
        self.is_worn_out() && self.forget_factors()
    }

    /// [`replace_if_worn`](Self::replace_if_worn) for a table that begins anew together with another.
    #[inline(always)]
    pub(super) fn replace_if_worn_beside(&mut self, other: &Self) -> bool {
        self.is_worn_out_beside(other) && self.forget_factors()
    }

    #[cold]
    #[inline(never)]
    const fn forget_factors(&mut self) -> bool {
        self.passed = 0;
        self.tries = TRIES;
        self.best.1 = u32::MAX;
        self.take_another();
        true
    }

    const fn take_another(&mut self) {
        let factor = self.hash.factor.rotate_left(23);
        self.next = factor.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    }

    /// `linked` entries have been linked, and `behind` of them behind others with another key.
    #[inline(always)]
    pub(super) const fn count_linked(&mut self, linked: u32, behind: u32) {
        self.passed = (self.passed + behind).saturating_sub(linked);
    }

    /// All entries, `linked` of them, have been linked, `behind` of them after others with another key:
    /// judges the factor, and returns whether to rebuild the table immediately, which is so if few are
    /// then linked `again`, here and elsewhere, or the factor is bad. While no factor has been good, the
    /// next rebuild takes another, and after the last try the best.
    #[cold]
    pub(super) fn judge(&mut self, linked: u32, behind: u32, again: u32) -> bool {
        if linked < ENOUGH || self.tries == 0 {
            return false;
        }
        let of_256 = 256 * behind / linked;
        if of_256 < self.best.1 {
            self.best = (self.hash.factor, of_256);
        }
        self.tries -= 1;
        if of_256 <= GOOD {
            self.tries = 0;
        } else if self.tries == 0 {
            self.next = self.best.0;
        } else {
            self.take_another();
            let is_early = self.tries + AT_ONCE >= TRIES;
            return of_256 > BAD && is_early || again <= QUICK;
        }
        false
    }

    /// A search has compared this many entries of a chain.
    #[inline(always)]
    pub(super) const fn count(&mut self, visited: u32) {
        self.passed = self.passed.saturating_add(visited.saturating_sub(1));
    }

    /// A bucket by number.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Bucket> {
        self.buckets.get_mut(place)
    }

    /// The first slot of a bucket; [`NIL`] or another number that is no slot if there is none.
    #[inline(always)]
    pub(super) fn first(&self, place: usize) -> u32 {
        self.buckets.get(place).map_or(NIL, |bucket| bucket.first())
    }

    /// All buckets and their hash, to put many entries into.
    #[inline(always)]
    pub(super) const fn parts(&mut self) -> (&mut [Bucket], Hash) {
        (self.buckets.as_mut_slice(), self.hash)
    }

    /// Takes a slot off the chain of its bucket; `before` is the one before it, if it is not the
    /// first.
    pub(super) fn unlink(
        &mut self,
        links: &mut (impl ChainLinks + ?Sized),
        place: usize,
        slot: u32,
        before: u32,
    ) {
        let next = links.next(slot);
        let Some(bucket) = self.buckets.get_mut(place) else {
            return;
        };
        if bucket.first() == slot {
            bucket.drop_first(next);
        } else if next == NIL {
            links.end(before);
            bucket.last = short(before);
        } else {
            links.link(before, next);
        }
    }

    pub(super) const fn bytes(&self) -> usize {
        vec_bytes(&self.buckets)
    }

    /// Gives memory back.
    pub(super) fn release(&mut self) {
        self.buckets = Vec::new();
    }
}
