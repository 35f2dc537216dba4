//! The near slots of a slab as a window that holds the entries of a short queue in order.
//!
//! A list is written on both sides of an entry that comes or goes, and so is the list of free slots. A
//! window writes neither: a new entry is written after the last, and when the first leaves, a number
//! grows.

mod away;
mod search;
mod tabled;

pub(crate) use self::away::Leaving;
pub(crate) use self::search::{Sought, TOO_FAR};
use super::{Entry, KEEP_SLOTS, NEAR, Slab};
use crate::handle::Handle;

/// With fewer slots than this, a window moves to the front if a quarter of them are in use; with more,
/// if half of them are. So each entry is moved at most a third of a time on average, or once.
const FEW: usize = 256;

/// The first slot of a window whose entries are elsewhere. No slot has this number.
const AWAY: u32 = u32::MAX;

/// The first slot of a window that is tabled. No slot has this number either.
const TABLED: u32 = AWAY - 1;

/// Marks that entries have moved, in the word of a window that keeps the last bits of a number for it.
const MOVED: u32 = 1 << 31;

/// The entries of a slab, in order, while none is far and none is on a list.
///
/// They stand one after another. An entry that leaves from the middle leaves a hole, so that all others keep
/// their slots; the first and the last are never holes. When the last slot is used, the window moves to the
/// first slots if it has left enough of them free; otherwise more are made. When it empties, it starts over.
///
/// While it is *tabled*, tables find its entries in place, and the first entry is not known. While it is
/// *away*, the entries are stored and linked by other means, the slab's free slots and its length
/// count, and the window only remembers which slots it did not use at the end.
///
/// | | `head` | `tail` | `holes` |
/// | --- | --- | --- | --- |
/// | short | the first entry | after the last entry | slots between them without an entry |
/// | tabled | [`TABLED`] | after the last entry or holes after it | slots before `tail` without an entry |
/// | away | [`AWAY`] | the first unused slot; others follow, slot 0 after the last | unused slots |
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    head: u32,
    tail: u32,
    /// Not fewer bits: the compiler reads 32 where 16 were written, and such a load cannot get what is
    /// still on its way to the cache (store forwarding fails).
    holes: u32,
    /// When entries last moved to slots other than those in their handles: [`MOVED`], and the last 31
    /// bits of the number that the next entry was to get; 0 if none has moved. Forgotten only when deep
    /// or tabled queues have drained.
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

    /// Whether the entries are elsewhere.
    #[inline(always)]
    pub(crate) const fn is_away(&self) -> bool {
        self.head == AWAY
    }

    /// The number of entries, in a window that is not away.
    #[inline(always)]
    pub(crate) const fn len(&self) -> u32 {
        self.tail - self.lowest() - self.holes
    }

    /// The slot of the first entry; in a tabled window, the first slot of all.
    #[inline(always)]
    const fn lowest(&self) -> u32 {
        if self.head == TABLED { 0 } else { self.head }
    }

    /// The slot after the last entry, in a window that is not away.
    #[inline(always)]
    pub(crate) const fn end(&self) -> u32 {
        self.tail
    }

    /// The slot of the first entry; not a slot if the window is away or tabled.
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
            // The next entry is written where the processor has just been.
            self.head = 0;
            self.tail = 0;
        } else if self.holes > 0 {
            self.skip_holes(slab);
        }
    }

    /// Makes the window begin with an entry again.
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

    /// Makes the window end with an entry again.
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

    /// Entries have moved: those stored now may be in slots other than those in their handles.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "differences are what counts"
    )]
    const fn note_move<K, T>(&mut self, slab: &Slab<K, T>) {
        self.moved = MOVED | slab.next_sequence as u32;
    }

    /// The number of the first entry that has come since entries last moved. It and those after it are
    /// where their handles say, also in deep queues, where none moves. If 2^31 numbers or more have been
    /// given since, the result may be too great, but not too small: some entries are searched for needlessly.
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

    /// Whether there is a slot after the last entry.
    #[inline(always)]
    pub(crate) const fn has_room<K, T>(&self, slab: &Slab<K, T>) -> bool {
        (self.tail as usize) < slab.near.len()
    }

    /// Writes an entry after the last, where there must be a slot, and returns that slot.
    #[inline(always)]
    pub(crate) fn push<K: Copy, T>(&mut self, slab: &mut Slab<K, T>, key: K, payload: T) -> u32 {
        let slot = self.tail;
        let place = &mut slab.near[slot as usize];
        // Word by word, as patterns are cloned: a pattern made in memory, as by C callers, has just been
        // written that way.
        #[expect(clippy::clone_on_copy, reason = "a copy is made in one piece")]
        let key = key.clone();
        place.key = key;
        place.sequence = slab.next_sequence;
        place.payload = Some(payload);
        slab.next_sequence += 1;
        self.tail += 1;
        slot
    }

    /// Makes a slot after the last entry, where there is none; `key` may be any. False if there are as
    /// many slots as allowed, and too few are free at the front.
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

    /// Starts over, in a slab in which nothing is stored except an entry about to leave.
    #[inline(always)]
    pub(crate) const fn restart(&mut self) {
        *self = Self::EMPTY;
    }

    /// The slot of the entry with a handle, wherever it has moved. In a tabled window no entry is in a
    /// slot before `first`.
    ///
    /// # Cost
    /// Constant for an entry that has not moved, and for a handle given since entries last moved.
    /// Otherwise a search among the entries in order; in deep queues, a look at all near slots.
    pub(crate) fn slot_of<K: Copy, T>(
        &self,
        slab: &Slab<K, T>,
        handle: Handle,
        first: u32,
    ) -> Option<u32> {
        let there = slab.slot_of(handle);
        if there.is_some() || handle.sequence() >= self.moved_below(slab) {
            return there;
        }
        if self.is_away() {
            return slab.near_slot_of(handle.sequence());
        }
        // A hole keeps the number of the entry that left, so all are in order.
        let first = if self.is_tabled() { first } else { self.head };
        let window = &slab.near[first as usize..self.tail as usize];
        let found = window.binary_search_by_key(&handle.sequence(), |entry| entry.sequence);
        let slot = first + u32::try_from(found.ok()?).ok()?;
        (!slab.is_free_near(slot)).then_some(slot)
    }
}

impl<K: Copy, T> Slab<K, T> {
    /// Moves an entry, without its links, to a free slot, or to its own.
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

    /// Frees what far entries left behind, once there are none and only few near ones, all in the first
    /// slots.
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
