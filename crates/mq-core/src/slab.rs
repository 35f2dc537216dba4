//! Storage of queued entries: numbered slots that are reused, and given back after a burst.

use core::fmt;

use crate::fifo::Links;
use crate::handle::Handle;
use crate::memory::vec_bytes;

/// No slot. Also ends the links of a [`Fifo`](crate::fifo::Fifo).
pub const NIL: u32 = u32::MAX;

/// An empty slab holds at most this many bytes: more is given back when the last entry leaves, less
/// is kept, so that a program that fills and drains its queues in every step does not allocate each
/// time.
pub const KEEP_BYTES: usize = 256 << 10;

/// A slab of at most this many slots is left as it is when entries leave.
const TIDY_SLOTS: usize = 64;

/// A slab that holds less than one entry for so many slots gives back the slots behind the last one
/// in use.
const THIN: u32 = 8;

/// One queued entry: its key, its place in order, its links and the caller's payload.
struct Entry<K, T> {
    key: K,
    sequence: u64,
    payload: Option<T>,
    next: u32,
    prev: u32,
    home: u32,
}

/// Entries of one queue, each with a sequence number that is never given twice.
///
/// A slot number names an entry as long as it is stored; a [`Handle`] names it for ever.
///
/// # Cost
/// Insertion and removal are constant, amortised; growing doubles the storage. A slab that has emptied
/// holds at most [`KEEP_BYTES`]; one that is down to an eighth gives back what lies behind the last
/// slot in use.
pub struct Slab<K, T> {
    entries: Vec<Entry<K, T>>,
    free: u32,
    len: u32,
    /// With fewer entries than this it is worth looking for slots to give back.
    thin_below: u32,
    next_sequence: u64,
}

impl<K: Copy, T> Slab<K, T> {
    /// An empty slab that allocates nothing; its first entry gets the number `first_sequence`.
    pub const fn new(first_sequence: u64) -> Self {
        Self {
            entries: Vec::new(),
            free: NIL,
            len: 0,
            thin_below: 0,
            next_sequence: first_sequence,
        }
    }

    /// Stores an entry, newest of all, and returns its slot. `home` is the structure's own mark.
    ///
    /// # Panics
    /// With 2^32 - 1 entries stored.
    #[inline]
    pub fn insert(&mut self, key: K, payload: T, home: u32) -> u32 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.len += 1;
        let entry = Entry {
            key,
            sequence,
            payload: Some(payload),
            next: NIL,
            prev: NIL,
            home,
        };
        let slot = self.free;
        if slot == NIL {
            return self.push(entry);
        }
        let place = &mut self.entries[slot as usize];
        self.free = place.next;
        *place = entry;
        slot
    }

    #[expect(clippy::cast_possible_truncation, reason = "checked")]
    fn push(&mut self, entry: Entry<K, T>) -> u32 {
        let slot = self.entries.len();
        assert!(
            slot < NIL as usize,
            "a match queue holds at most 2^32 - 1 entries"
        );
        self.entries.push(entry);
        if slot >= TIDY_SLOTS {
            self.thin_below = (slot as u32 / THIN).max(1);
        }
        slot as u32
    }

    /// Removes the entry in `slot`, which must be stored and on no list.
    ///
    /// # Panics
    /// If the slot is free: a fault of the structure that calls.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> (K, T) {
        let entry = &mut self.entries[slot as usize];
        let key = entry.key;
        let payload = entry.payload.take().expect("the slot is in use");
        entry.next = self.free;
        self.free = slot;
        self.len -= 1;
        if self.len < self.thin_below {
            self.thin();
        }
        (key, payload)
    }

    /// Few slots are in use: gives back those behind the last one, if they are half or more. If none
    /// is in use, the next burst starts again at slot 0 and is laid out in order.
    ///
    /// # Cost
    /// Linear in the slots given back and in those that stay; if a late entry holds them all, linear
    /// in the free slots behind it.
    #[cold]
    fn thin(&mut self) {
        let last = self.entries.iter().rposition(|e| e.payload.is_some());
        let slots = last.map_or(0, |last| last + 1);
        if slots > self.entries.len() / 2 {
            // Wait until most of the entries that hold the slots have left too.
            self.thin_below = self.len / 4 + 1;
            return;
        }
        self.entries.truncate(slots);
        if vec_bytes(&self.entries) > KEEP_BYTES {
            self.entries.shrink_to(2 * slots);
        }
        self.link_free();
        self.thin_below = if slots > TIDY_SLOTS {
            self.len / 4 + 1
        } else {
            0
        };
    }

    /// Links all free slots, the lowest first: what comes next goes to the front.
    #[expect(clippy::cast_possible_truncation, reason = "slots are below NIL")]
    fn link_free(&mut self) {
        self.free = NIL;
        for (slot, entry) in self.entries.iter_mut().enumerate().rev() {
            if entry.payload.is_none() {
                entry.next = self.free;
                self.free = slot as u32;
            }
        }
    }

    /// Drops all entries. Handles of before stay stale.
    pub fn clear(&mut self) {
        self.len = 0;
        self.entries.clear();
        self.thin();
    }

    /// Makes the next entry's number at least `sequence`.
    pub fn raise_sequence(&mut self, sequence: u64) {
        self.next_sequence = self.next_sequence.max(sequence);
    }

    /// Number of entries stored.
    #[inline(always)]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether nothing is stored.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number that the next entry will get.
    #[inline(always)]
    pub const fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// The key in `slot`.
    #[inline(always)]
    pub fn key(&self, slot: u32) -> &K {
        &self.entries[slot as usize].key
    }

    /// The place in order of the entry in `slot`: smaller is earlier.
    #[inline(always)]
    pub fn sequence(&self, slot: u32) -> u64 {
        self.entries[slot as usize].sequence
    }

    /// The structure's mark on the entry in `slot`.
    #[inline(always)]
    pub fn home(&self, slot: u32) -> u32 {
        self.entries[slot as usize].home
    }

    /// Changes the structure's mark on the entry in `slot`.
    #[inline(always)]
    pub fn set_home(&mut self, slot: u32, home: u32) {
        self.entries[slot as usize].home = home;
    }

    /// The payload in `slot`, if it is in use.
    #[inline]
    pub fn payload(&self, slot: u32) -> Option<&T> {
        self.entries.get(slot as usize)?.payload.as_ref()
    }

    /// The slot that a handle names, unless its entry has left.
    #[inline]
    pub fn slot_of(&self, handle: Handle) -> Option<u32> {
        let slot = handle.slot();
        let entry = self.entries.get(slot as usize)?;
        (entry.sequence == handle.sequence() && entry.payload.is_some()).then_some(slot)
    }

    /// The slot of the earliest entry whose key is `wanted`, in whatever list it is.
    ///
    /// # Cost
    /// Visits every slot.
    #[expect(clippy::cast_possible_truncation, reason = "slots are below NIL")]
    pub fn earliest(&self, mut wanted: impl FnMut(&K) -> bool) -> Option<u32> {
        let used = self.entries.iter().enumerate();
        used.filter(|(_, entry)| entry.payload.is_some() && wanted(&entry.key))
            .min_by_key(|(_, entry)| entry.sequence)
            .map(|(slot, _)| slot as u32)
    }

    /// All slots in use, earliest entry first.
    ///
    /// # Cost
    /// Visits every slot, sorts, allocates: for purging, dumping and reorganising.
    #[expect(clippy::cast_possible_truncation, reason = "slots are below NIL")]
    pub fn slots_in_order(&self) -> Vec<u32> {
        let mut slots: Vec<u32> = (0..self.entries.len() as u32)
            .filter(|&slot| self.payload(slot).is_some())
            .collect();
        slots.sort_unstable_by_key(|&slot| self.sequence(slot));
        slots
    }

    /// Heap bytes held.
    pub const fn bytes(&self) -> usize {
        vec_bytes(&self.entries)
    }

    /// Number of slots, in use and free: what [`slots_in_order`](Self::slots_in_order) looks at.
    pub const fn slots(&self) -> usize {
        self.entries.len()
    }
}

impl<K, T> Links for Slab<K, T> {
    #[inline(always)]
    fn next(&self, slot: u32) -> u32 {
        self.entries[slot as usize].next
    }

    #[inline(always)]
    fn prev(&self, slot: u32) -> u32 {
        self.entries[slot as usize].prev
    }

    #[inline(always)]
    fn set_next(&mut self, slot: u32, next: u32) {
        self.entries[slot as usize].next = next;
    }

    #[inline(always)]
    fn set_prev(&mut self, slot: u32, prev: u32) {
        self.entries[slot as usize].prev = prev;
    }
}

impl<K, T> fmt::Debug for Slab<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slab")
            .field("len", &self.len)
            .field("slots", &self.entries.len())
            .field("next_sequence", &self.next_sequence)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContextId;

    #[test]
    fn a_handle_does_not_name_the_next_user_of_its_slot() {
        let mut slab = Slab::new(5);
        let slot = slab.insert('a', 1, 0);
        let handle = Handle::new(ContextId(0), slot, slab.sequence(slot));
        assert_eq!(slab.slot_of(handle), Some(slot));
        slab.remove(slot);
        assert_eq!(slab.slot_of(handle), None);
        assert_eq!(slab.insert('b', 2, 0), slot);
        assert_eq!(slab.slot_of(handle), None);
    }

    #[test]
    fn a_drained_burst_gives_its_memory_back() {
        let mut slab = Slab::new(0);
        for i in 0..1_000_000_u32 {
            slab.insert(i, i, 0);
        }
        assert!(slab.bytes() > KEEP_BYTES);
        for slot in slab.slots_in_order() {
            slab.remove(slot);
        }
        assert_eq!(slab.bytes(), 0);
    }

    #[test]
    fn a_burst_goes_although_an_early_entry_stays() {
        let mut slab = Slab::new(0);
        let stays = slab.insert(0, 0, 0);
        let slots: Vec<u32> = (1..200_000_u32).map(|i| slab.insert(i, i, 0)).collect();
        let full = slab.bytes();
        for &slot in &slots {
            slab.remove(slot);
        }
        assert!(
            slab.bytes() <= KEEP_BYTES,
            "{} of {full} bytes",
            slab.bytes()
        );
        assert_eq!(slab.slots_in_order(), [stays]);
        let next = slab.insert(9, 9, 0);
        assert_eq!(slab.slots_in_order(), [stays, next]);
    }

    #[test]
    fn a_late_entry_holds_the_slots_only_as_long_as_it_stays() {
        let mut slab = Slab::new(0);
        let slots: Vec<u32> = (0..100_000_u32).map(|i| slab.insert(i, i, 0)).collect();
        for &slot in &slots {
            slab.remove(slot);
        }
        assert!(slab.bytes() <= KEEP_BYTES, "{} bytes", slab.bytes());
    }

    #[test]
    fn a_small_burst_keeps_its_memory_and_its_layout() {
        let mut slab = Slab::new(0);
        let slots: Vec<u32> = (0..100_u32).map(|i| slab.insert(i, i, 0)).collect();
        let bytes = slab.bytes();
        for &slot in slots.iter().rev() {
            slab.remove(slot);
        }
        let again: Vec<u32> = (0..100_u32).map(|i| slab.insert(i, i, 0)).collect();
        assert_eq!((slots, bytes), (again, slab.bytes()));
    }

    #[test]
    fn order_is_that_of_insertion_whatever_the_slots() {
        let mut slab = Slab::new(0);
        let first = slab.insert(0, (), 0);
        slab.insert(1, (), 0);
        slab.remove(first);
        slab.insert(2, (), 0);
        let keys: Vec<i32> = slab
            .slots_in_order()
            .iter()
            .map(|&s| *slab.key(s))
            .collect();
        assert_eq!(keys, [1, 2]);
    }
}
