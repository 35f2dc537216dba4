//! Storage of queued entries: numbered slots that are reused, and freed after a burst.

mod append;
mod entry;
mod far;
mod links;
mod release;
mod reserve;
mod slabs;
mod window;

use core::fmt;

pub(crate) use self::entry::Entry;
use self::far::Far;
pub use self::slabs::Slabs;
pub(crate) use self::window::{Leaving, Sought, TOO_FAR, Window};
use crate::handle::Handle;
use crate::memory::vec_bytes;

/// No slot. Also ends the links of a [`Fifo`](crate::fifo::Fifo).
pub const NIL: u32 = u32::MAX;

/// Slots are below this number: a structure may use the upper bit for a mark of its own.
pub const SLOTS: u32 = 1 << 31;

/// Bytes that the index of an emptied structure may keep; a structure that holds more frees it.
pub const KEEP_BYTES: usize = 256 << 10;

/// The number that a caller may have numbering start at, at most: 2^64 - 2^48.
pub(crate) const LAST_ASKED: u64 = 0_u64.wrapping_sub(1 << 48);

/// Numbering starts at this at most, so that numbers do not run out: a process never stores 2^47 more entries.
/// Above [`LAST_ASKED`], since the entries of a context that is freed use numbers too, and the next context must
/// not get them again.
const LAST_FIRST: u64 = u64::MAX - (1 << 47);

/// Near slots: those in one piece of memory, which grows by doubling. Slots after it are in chunks.
pub(crate) const NEAR: usize = 4096;

/// Slots that are made together, so that growing happens once in a while, and never by many.
const RUN: usize = 16;

/// Far slots that are prepared together when none is free: how many more entries there may be before a
/// structure must make room again. Entries that leave make room by themselves.
pub(crate) const MORE: u32 = 64;

/// Near slots that are kept when a slab that had far entries is empty: a program that fills and
/// drains short queues in every step does not allocate each time, and a burst leaves little behind.
const KEEP_SLOTS: usize = 128;

/// Marks the code after it as off the common path.
#[cold]
#[inline]
const fn aside() {}

/// Entries of one queue, each with a sequence number that is never given twice.
///
/// A slot number names an entry as long as it is stored; a [`Handle`] names it forever.
///
/// # Cost
/// Insertion and removal are constant, amortised. A queue of up to 4,096 entries lies in one piece
/// of memory, which grows by doubling: at most 2,048 entries are moved at a time. A longer queue adds
/// chunks of 256 entries. They are freed once no more than a quarter of the slots are in use, two with
/// each removal and the others when they empty. When all have left, and the rest drains, 128 slots are
/// kept; a queue that never had more than 4,096 entries keeps its slots.
pub struct Slab<K, T> {
    near: Vec<Entry<K, T>>,
    /// Present from when there were far entries until the slab is empty, or short queues take its
    /// entries back.
    far: Option<Box<Far<K, T>>>,
    /// The first slot of the free list. Like `len`, not kept while a [`Window`] holds the entries.
    free: u32,
    len: u32,
    /// With at most this many entries left, memory is freed.
    low: u32,
    /// How many numbers were skipped, modulo 2^32.
    skipped: u32,
    next_sequence: u64,
}

impl<K: Copy, T> Slab<K, T> {
    /// An empty slab that allocates nothing; its first entry gets the number `first_sequence`, or 2^64 -
    /// 2^47 - 1 if that is less.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "differences are what counts"
    )]
    #[must_use]
    pub const fn new(first_sequence: u64) -> Self {
        let next_sequence = if first_sequence < LAST_FIRST {
            first_sequence
        } else {
            LAST_FIRST
        };
        Self {
            near: Vec::new(),
            far: None,
            free: NIL,
            len: 0,
            low: 0,
            skipped: next_sequence as u32,
            next_sequence,
        }
    }

    /// Stores an entry, newest of all, and returns its slot. `home` is the structure's own mark.
    ///
    /// # Panics
    /// With 2^31 - 256 entries stored.
    #[inline(always)]
    pub fn insert(&mut self, key: K, payload: T, home: u32) -> u32 {
        self.insert_behind(NIL, key, payload, home)
    }

    /// [`insert`](Self::insert) of an entry whose link to the one before it is known.
    #[inline(always)]
    pub(crate) fn insert_behind(&mut self, prev: u32, key: K, payload: T, home: u32) -> u32 {
        let sequence = self.next_sequence;
        let entry = Entry {
            key,
            sequence,
            payload: Some(payload),
            next: NIL,
            prev,
            home,
        };
        let slot = self.free;
        if let Some(place) = self.near.get_mut(slot as usize) {
            self.next_sequence += 1;
            self.len += 1;
            self.free = place.next;
            *place = entry;
            return slot;
        }
        let slot = self.insert_elsewhere(entry);
        self.next_sequence += 1;
        self.len += 1;
        slot
    }

    /// The free list has no near slot.
    #[inline(never)]
    fn insert_elsewhere(&mut self, entry: Entry<K, T>) -> u32 {
        if self.is_full() {
            self.make_room(entry.key);
        }
        let slot = self.free;
        let place = match self.near.get_mut(slot as usize) {
            Some(place) => place,
            None => {
                let place = self.far.as_mut().and_then(|far| far.use_slot(slot));
                place.expect("room was made")
            }
        };
        self.free = place.next;
        *place = entry;
        slot
    }

    /// Makes the next entry's number at least `sequence`, or 2^64 - 2^47 - 1 if that is less.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "differences are what counts"
    )]
    pub fn raise_sequence(&mut self, sequence: u64) {
        let skipped = sequence.min(LAST_FIRST).saturating_sub(self.next_sequence);
        self.skipped = self.skipped.wrapping_add(skipped as u32);
        self.next_sequence += skipped;
    }

    /// How many entries have been stored, wrapping at 2^32: the difference of two results is the number
    /// stored in between.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "differences are what counts"
    )]
    #[must_use]
    pub const fn stored(&self) -> u32 {
        (self.next_sequence as u32).wrapping_sub(self.skipped)
    }

    /// Number of entries stored; of no meaning while a window holds them, which counts its own.
    #[inline(always)]
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether nothing is stored; as [`len`](Self::len), not while a window holds the entries.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number that the next entry will get.
    #[inline(always)]
    #[must_use]
    pub const fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// The key in `slot`.
    #[inline(always)]
    #[must_use]
    pub fn key(&self, slot: u32) -> &K {
        &self.entry(slot).key
    }

    /// The sequence number of the entry in `slot`: smaller is earlier.
    #[inline(always)]
    #[must_use]
    pub fn sequence(&self, slot: u32) -> u64 {
        self.entry(slot).sequence
    }

    /// The structure's mark on the entry in `slot`.
    #[inline(always)]
    #[must_use]
    pub fn home(&self, slot: u32) -> u32 {
        self.entry(slot).home
    }

    /// Changes the structure's mark on the entry in `slot`.
    #[inline(always)]
    pub fn set_home(&mut self, slot: u32, home: u32) {
        self.entry_mut(slot).home = home;
    }

    /// The payload in `slot`, if it is in use.
    #[inline]
    #[must_use]
    pub fn payload(&self, slot: u32) -> Option<&T> {
        self.get(slot)?.payload.as_ref()
    }

    /// The slot that a handle names, unless its entry has left.
    #[inline]
    #[must_use]
    pub fn slot_of(&self, handle: Handle) -> Option<u32> {
        let slot = handle.slot();
        self.holds(slot, handle.sequence()).then_some(slot)
    }

    /// The slot of the earliest entry whose key is `wanted`, in whatever list it is.
    ///
    /// # Cost
    /// Visits every slot.
    pub(crate) fn earliest(&self, mut wanted: impl FnMut(&K) -> bool) -> Option<u32> {
        // Plain words, and a loop for each kind of slot: an iterator over both that keeps the best so far
        // copies it through memory in each round. The keys of free slots are compared too, since which
        // slots are free is hard to predict.
        let (mut earliest, mut found) = (u64::MAX, NIL);
        let mut consider = |slot: u32, entry: &Entry<K, T>| {
            if wanted(&entry.key) && entry.payload.is_some() && entry.sequence <= earliest {
                earliest = entry.sequence;
                found = slot;
            }
        };
        for (slot, entry) in (0..).zip(&self.near) {
            consider(slot, entry);
        }
        for (slot, entry) in self.far.iter().flat_map(|far| far.slots()) {
            consider(slot, entry);
        }
        (found != NIL).then_some(found)
    }

    /// Sequence number and slot of all entries, in no particular order.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u64, u32)> {
        self.used().map(|(slot, entry)| (entry.sequence, slot))
    }

    /// Whether an entry is in a slot, and is the one with this sequence number.
    pub(crate) fn holds(&self, slot: u32, sequence: u64) -> bool {
        let entry = self.get(slot);
        entry.is_some_and(|entry| entry.sequence == sequence && entry.payload.is_some())
    }

    /// All slots in use, earliest entry first.
    ///
    /// # Cost
    /// Visits every slot, sorts, allocates: for purging, dumping and reorganising.
    #[must_use]
    pub fn slots_in_order(&self) -> Vec<u32> {
        let mut slots: Vec<(u64, u32)> = self.numbered().collect();
        slots.sort_unstable();
        slots.into_iter().map(|(_, slot)| slot).collect()
    }
}

impl<K, T> Slab<K, T> {
    #[inline(always)]
    pub(crate) fn entry(&self, slot: u32) -> &Entry<K, T> {
        match self.near.get(slot as usize) {
            Some(entry) => entry,
            None => self.far_entry(slot),
        }
    }

    #[inline(always)]
    pub(crate) fn entry_mut(&mut self, slot: u32) -> &mut Entry<K, T> {
        if (slot as usize) < self.near.len() {
            return &mut self.near[slot as usize];
        }
        self.far_entry_mut(slot)
    }

    /// [`entry`](Self::entry) for the deep form, without a call on the path to far entries.
    #[inline(always)]
    pub(crate) fn entry_inline(&self, slot: u32) -> &Entry<K, T> {
        match self.near.get(slot as usize) {
            Some(entry) => entry,
            None => {
                aside();
                self.far_entry_inline(slot)
            }
        }
    }

    /// [`entry_mut`](Self::entry_mut) for the deep form, without a call on the path to far entries.
    #[inline(always)]
    pub(crate) fn entry_inline_mut(&mut self, slot: u32) -> &mut Entry<K, T> {
        if (slot as usize) < self.near.len() {
            return &mut self.near[slot as usize];
        }
        aside();
        self.far_entry_inline_mut(slot)
    }

    #[inline(always)]
    fn far_entry_inline(&self, slot: u32) -> &Entry<K, T> {
        let entry = self.far.as_ref().and_then(|far| far.get(slot));
        entry.expect("the slot exists")
    }

    #[inline(always)]
    fn far_entry_inline_mut(&mut self, slot: u32) -> &mut Entry<K, T> {
        let entry = self.far.as_mut().and_then(|far| far.get_mut(slot));
        entry.expect("the slot exists")
    }

    #[inline(never)]
    fn far_entry(&self, slot: u32) -> &Entry<K, T> {
        self.far_entry_inline(slot)
    }

    #[inline(never)]
    fn far_entry_mut(&mut self, slot: u32) -> &mut Entry<K, T> {
        self.far_entry_inline_mut(slot)
    }

    fn get(&self, slot: u32) -> Option<&Entry<K, T>> {
        match self.near.get(slot as usize) {
            None if slot as usize >= NEAR => self.far.as_ref()?.get(slot),
            near => near,
        }
    }

    /// The entries stored, in no particular order.
    fn used(&self) -> impl Iterator<Item = (u32, &Entry<K, T>)> {
        let far = self.far.iter().flat_map(|far| far.slots());
        let slots = (0..).zip(&self.near).chain(far);
        slots.filter(|(_, entry)| entry.payload.is_some())
    }

    /// Heap bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        vec_bytes(&self.near) + self.far.as_ref().map_or(0, |far| far.bytes())
    }

    /// About how many slots [`earliest`](Self::earliest) looks at: all there are.
    pub(crate) fn slots(&self) -> u32 {
        let far = self.far.as_ref().map_or(0, |far| far.slots_allocated());
        u32::try_from(self.near.len() + far).unwrap_or(u32::MAX)
    }

    /// Near slots, in use and free: what [`slots_in_order`](Self::slots_in_order) looks at if none
    /// is far.
    pub(crate) fn near_slots(&self) -> usize {
        self.near.len()
    }
}

impl<K, T> fmt::Debug for Slab<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slab")
            .field("len", &self.used().count())
            .field("next_sequence", &self.next_sequence)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
