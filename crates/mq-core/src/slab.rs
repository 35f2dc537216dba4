//! Storage of queued entries: numbered slots that are reused, and given back after a burst.

use core::fmt;

use crate::fifo::Links;
use crate::handle::Handle;
use crate::memory::vec_bytes;

/// No slot. Also ends the links of a [`Fifo`](crate::fifo::Fifo).
pub const NIL: u32 = u32::MAX;

/// Storage of more bytes than this is given back whole when its last entry leaves; less is kept,
/// so that a program that fills and drains its queues in every step does not allocate each time.
pub const KEEP_BYTES: usize = 1 << 20;

/// A slab that empties after holding more entries than this starts again at slot 0, so that the
/// next burst is laid out in order.
const TIDY_ENTRIES: usize = 64;

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
/// Insertion and removal are constant; growing doubles the storage. Memory is given back when the
/// slab empties and holds more than [`KEEP_BYTES`].
pub struct Slab<K, T> {
    entries: Vec<Entry<K, T>>,
    free: u32,
    len: u32,
    next_sequence: u64,
}

impl<K: Copy, T> Slab<K, T> {
    /// An empty slab that allocates nothing; its first entry gets the number `first_sequence`.
    pub const fn new(first_sequence: u64) -> Self {
        Self {
            entries: Vec::new(),
            free: NIL,
            len: 0,
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
        if self.len == 0 && self.entries.len() > TIDY_ENTRIES {
            self.tidy();
        }
        (key, payload)
    }

    /// All slots are free: start again in order, and return a burst's memory.
    #[cold]
    fn tidy(&mut self) {
        self.entries.clear();
        self.free = NIL;
        if vec_bytes(&self.entries) > KEEP_BYTES {
            self.entries = Vec::new();
        }
    }

    /// Drops all entries. Handles of before stay stale.
    pub fn clear(&mut self) {
        self.len = 0;
        self.tidy();
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
