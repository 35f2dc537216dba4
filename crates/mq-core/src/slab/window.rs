//! The near slots of a slab as a window, in which the entries of a short queue stand in order.
//!
//! A list is written at both sides of an entry that comes or goes, and so is the list of free
//! slots. In a window neither is: an entry that comes is written behind the last, and when the
//! first leaves, a number grows.

mod away;
mod search;
mod tabled;

pub(crate) use self::away::Leaving;
pub(crate) use self::search::{Sought, TOO_FAR};
use super::{Entry, KEEP_SLOTS, NEAR, NIL, RUN, Slab};
use crate::handle::Handle;

/// With fewer slots than these, a window moves to their beginning if a quarter of them are in use;
/// with more, if half of them are. So each entry is moved a third of a time on average at most, or
/// once.
const FEW: usize = 256;

/// The first slot of a window whose entries stand elsewhere. No slot has this number.
const AWAY: u32 = u32::MAX;

/// The first slot of a window that is tabled. No slot has this number either.
const TABLED: u32 = AWAY - 1;

/// Says that entries have moved, in the word of a window that keeps the last bits of a number for it.
const MOVED: u32 = 1 << 31;

/// The entries of a slab, in order, while none is far and none is on a list.
///
/// They stand one behind the other. One that leaves from the middle leaves a hole, so that all
/// others keep their slots; the first and the last are never holes. When the last slot is used, the
/// window moves to the first slots, if it has left enough of them behind, and otherwise more are
/// made. When it empties, it begins anew.
///
/// While it is *tabled*, tables find its entries where they stand, and which is the first is not known.
/// While it is *away*, the entries are stored and linked by other means, the slab's free slots and
/// its length count, and the window only remembers which slots nobody has used yet.
///
/// | | `head` | `tail` | `holes` |
/// | --- | --- | --- | --- |
/// | short | the first entry | behind the last entry | slots between them without one |
/// | tabled | [`TABLED`] | behind the last entry, or behind holes after it | slots before `tail` without one |
/// | away | [`AWAY`] | the first unused slot; others follow, slot 0 behind the last | unused slots |
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    head: u32,
    tail: u32,
    /// Not fewer bits: the compiler reads 32 where 16 were written, and such a load can not be given
    /// what is still on its way to the cache (store forwarding).
    holes: u32,
    /// When entries have last moved to other slots than their handles say: [`MOVED`], and the last 31
    /// bits of the number that the next one was to get; 0 if none has. Forgotten only when queues have
    /// drained that were deep or tabled.
    moved: u32,
}

impl Window {
    /// A window without entries.
    pub(crate) const EMPTY: Self = Self {
        head: 0,
        tail: 0,
        holes: 0,
        moved: 0,
    };

    /// Whether no entry is in the window. One that is away is not empty.
    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Whether the entries stand elsewhere.
    #[inline(always)]
    pub(crate) const fn is_away(&self) -> bool {
        self.head == AWAY
    }

    /// The number of entries, in a window that is not away.
    #[inline(always)]
    pub(crate) const fn len(&self) -> u32 {
        self.tail - self.lowest() - self.holes
    }

    /// The slot of the first entry; or of the first that there is, if the window is tabled.
    #[inline(always)]
    const fn lowest(&self) -> u32 {
        if self.head == TABLED { 0 } else { self.head }
    }

    /// The slot behind the last entry, in a window that is not away.
    #[inline(always)]
    pub(crate) const fn end(&self) -> u32 {
        self.tail
    }

    /// The slot of the first entry; no slot if the window is away or tabled.
    #[inline(always)]
    pub(crate) const fn first(&self) -> u32 {
        self.head
    }

    /// Whether the entry in a slot is the last.
    #[inline(always)]
    pub(crate) const fn ends_with(&self, slot: u32) -> bool {
        slot + 1 == self.tail
    }

    /// The first entry has left.
    #[inline(always)]
    pub(crate) fn drop_first<K, T>(&mut self, slab: &Slab<K, T>) {
        self.head += 1;
        if self.head == self.tail {
            // What comes next is written where the processor has just been.
            self.head = 0;
            self.tail = 0;
        } else if self.holes > 0 {
            self.skip_holes(slab);
        }
    }

    /// Lets the window begin with an entry again.
    #[cold]
    #[inline(never)]
    fn skip_holes<K, T>(&mut self, slab: &Slab<K, T>) {
        while self.holes > 0 && slab.is_free_near(self.head) {
            self.head += 1;
            self.holes -= 1;
        }
    }

    /// The entry in a slot, which was not the first, has left.
    #[inline(always)]
    pub(crate) fn drop_behind_first<K, T>(&mut self, slab: &Slab<K, T>, slot: u32) {
        if slot + 1 != self.tail {
            self.holes += 1;
            return;
        }
        self.tail = slot;
        if self.holes > 0 {
            self.trim(slab);
        }
    }

    /// Lets the window end with an entry again.
    #[cold]
    #[inline(never)]
    fn trim<K, T>(&mut self, slab: &Slab<K, T>) {
        while self.holes > 0 && slab.is_free_near(self.tail - 1) {
            self.tail -= 1;
            self.holes -= 1;
        }
    }

    /// The entry in a slot has left.
    pub(crate) fn drop_slot<K, T>(&mut self, slab: &Slab<K, T>, slot: u32) {
        if slot == self.head {
            self.drop_first(slab);
        } else {
            self.drop_behind_first(slab, slot);
        }
    }

    /// Moves all entries to the first slots.
    fn move_to_front<K: Copy, T>(&mut self, slab: &mut Slab<K, T>) {
        debug_assert!(!self.is_tabled(), "tables know the slots");
        let mut to = 0;
        for from in self.head..self.tail {
            if !slab.is_free_near(from) {
                slab.move_near(from, to);
                to += 1;
            }
        }
        self.head = 0;
        self.tail = to;
        self.holes = 0;
        self.note_move(slab);
    }

    /// Entries have moved: any that are stored now may be in other slots than their handles say.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "differences are what counts"
    )]
    const fn note_move<K, T>(&mut self, slab: &Slab<K, T>) {
        self.moved = MOVED | slab.next_sequence as u32;
    }

    /// The number of the first entry that has come since entries moved last. It and those behind it are
    /// where their handles say, also in queues that are deep, where none moves. When 2^31 numbers and
    /// more have been given since, this may be greater, but not less: some names are looked for in vain.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "differences are what counts"
    )]
    fn moved_below<K, T>(&self, slab: &Slab<K, T>) -> u64 {
        if self.moved == 0 {
            return 0;
        }
        let given = (slab.next_sequence as u32).wrapping_sub(self.moved) & !MOVED;
        slab.next_sequence - u64::from(given)
    }

    /// Whether there is a slot behind the last entry.
    #[inline(always)]
    pub(crate) const fn has_room<K, T>(&self, slab: &Slab<K, T>) -> bool {
        (self.tail as usize) < slab.near.len()
    }

    /// Writes an entry behind the last, where there must be a slot, and returns that.
    #[inline(always)]
    pub(crate) fn push<K: Copy, T>(&mut self, slab: &mut Slab<K, T>, key: K, payload: T) -> u32 {
        let slot = self.tail;
        let place = &mut slab.near[slot as usize];
        // Word by word, as patterns are cloned: one that was made in memory, as by callers in C, has
        // just been written so.
        #[expect(clippy::clone_on_copy, reason = "a copy is made in one piece")]
        let key = key.clone();
        place.key = key;
        place.sequence = slab.next_sequence;
        place.payload = Some(payload);
        slab.next_sequence += 1;
        self.tail += 1;
        slot
    }

    /// Makes sure that there is a slot behind the last entry, where there is none; `key` may be
    /// any. False if there are as many slots as there may be, and too few are left behind.
    pub(crate) fn make_room<K: Copy, T>(&mut self, slab: &mut Slab<K, T>, key: K) -> bool {
        let slots = slab.near.len();
        let some = if slots < FEW { slots / 4 } else { slots / 2 };
        if slots > 0 && self.len() as usize <= some {
            self.move_to_front(slab);
            return true;
        }
        if slots < NEAR {
            slab.add_near(key);
            return true;
        }
        false
    }

    /// Begins anew, in a slab in which nothing is stored but what is about to leave.
    #[inline(always)]
    pub(crate) const fn restart(&mut self) {
        *self = Self::EMPTY;
    }

    /// The slot of the entry with a name, wherever it has moved. In a window that is tabled no entry
    /// is in a slot before `first`.
    ///
    /// # Cost
    /// Constant for an entry that has not moved, and for a name that was given since entries moved
    /// last. For others a search among those in order; in queues that are deep, a look at all near
    /// slots.
    pub(crate) fn slot_of<K: Copy, T>(
        &self,
        slab: &Slab<K, T>,
        name: Handle,
        first: u32,
    ) -> Option<u32> {
        let there = slab.slot_of(name);
        if there.is_some() || name.sequence() >= self.moved_below(slab) {
            return there;
        }
        if self.is_away() {
            return slab.near_slot_of(name.sequence());
        }
        // A hole has the number of the entry that has left, so that all are in order.
        let first = if self.is_tabled() { first } else { self.head };
        let window = &slab.near[first as usize..self.tail as usize];
        let found = window.binary_search_by_key(&name.sequence(), |entry| entry.sequence);
        let slot = first + u32::try_from(found.ok()?).ok()?;
        (!slab.is_free_near(slot)).then_some(slot)
    }
}

impl<K: Copy, T> Slab<K, T> {
    /// Makes some more near slots that are on no list; `key` may be any.
    fn add_near(&mut self, key: K) {
        let slots = self.near.len();
        if slots == 0 {
            // Most contexts never hold more than one entry, and there may be thousands.
            self.near.reserve_exact(1);
        }
        self.near.push(Entry::free(key, NIL));
        // And others that there is memory for.
        let end = self.near.capacity().min(slots + RUN).min(NEAR);
        self.near.resize_with(end, || Entry::free(key, NIL));
    }

    /// Moves an entry, but for its links, to a free slot, or to its own.
    #[inline(always)]
    fn move_near(&mut self, from: u32, to: u32) {
        // Not a swap: that would read the free slot, which may just have been written, in longer
        // words.
        let entry = &mut self.near[from as usize];
        let (key, sequence, payload) = (entry.key, entry.sequence, entry.payload.take());
        let place = &mut self.near[to as usize];
        place.key = key;
        place.sequence = sequence;
        place.payload = payload;
    }
}

impl<K, T> Slab<K, T> {
    #[inline(always)]
    fn is_free_near(&self, slot: u32) -> bool {
        self.near[slot as usize].payload.is_none()
    }

    /// The near slot of the entry with a number.
    #[cold]
    #[expect(clippy::cast_possible_truncation, reason = "below NEAR")]
    fn near_slot_of(&self, sequence: u64) -> Option<u32> {
        let here = |entry: &Entry<K, T>| entry.sequence == sequence && entry.payload.is_some();
        self.near.iter().position(here).map(|slot| slot as u32)
    }

    /// Gives back what far entries have left behind, when there are none any more and few near
    /// ones, all in the first slots.
    fn drop_far(&mut self) {
        if self.far.take().is_some() {
            self.low = 0;
            self.near.truncate(KEEP_SLOTS);
            self.near.shrink_to(KEEP_SLOTS);
        }
    }
}

#[cfg(test)]
mod tests;
