//! The slots of a long queue: chunks that come one at a time and go as soon as they are empty.

use core::mem::size_of;

use super::{Entry, NEAR, NIL, RUN};
use crate::memory::vec_bytes;

/// Slots of a chunk: few enough that freeing one is no pause, enough that it is rare.
const CHUNK: usize = 256;

/// Slots from [`NEAR`] on.
///
/// A chunk is allocated when a slot in it is first needed, its slots are made a few at a time, and
/// it is freed when its last entry leaves; so neither growing nor shrinking ever moves or visits
/// more than one chunk's entries. One empty chunk is kept, for a queue whose length swings about a
/// chunk's end.
///
/// Entries go to the free slots of one chunk, the open one, until there are none left; then the
/// first chunk with room is opened, so that entries that stay after a burst gather in the first
/// chunks. A removal sees to it that there is an open slot again: in a queue that stays as long as
/// it is each entry then finds one.
pub(super) struct Far<K, T> {
    /// Of each chunk the slots that have been made; all, unless it is open or has no memory.
    chunks: Vec<Vec<Entry<K, T>>>,
    rooms: Vec<Room>,
    /// A bit for each chunk that is not open and has free slots, allocated or not.
    with_room: Vec<u64>,
    /// No word before this one has a bit set.
    first_word: usize,
    /// Bits set.
    roomy: u32,
    /// The free slots of the open chunk, linked by `next`.
    free: u32,
    /// The open chunk, or [`NIL`].
    open: u32,
    /// Whether all slots of the open chunk have been made, or none is open.
    is_complete: bool,
    /// An allocated chunk without entries, or [`NIL`].
    spare: u32,
    len: u32,
    /// Chunks that have memory.
    allocated: u32,
}

/// The free slots of a chunk that is not open.
#[derive(Clone, Copy)]
struct Room {
    /// Linked by `next`.
    free: u32,
    /// Slots that are not among them.
    used: u32,
}

impl Room {
    const NONE: Self = Self {
        free: NIL,
        used: CHUNK as u32,
    };
    const ALL: Self = Self { free: NIL, used: 0 };
}

/// Chunk and place in it.
#[inline(always)]
const fn split(slot: u32) -> (usize, usize) {
    let i = slot as usize - NEAR;
    (i / CHUNK, i % CHUNK)
}

#[expect(clippy::cast_possible_truncation, reason = "slots are below NIL")]
const fn join(chunk: usize, i: usize) -> u32 {
    (NEAR + chunk * CHUNK + i) as u32
}

impl<K: Copy, T> Far<K, T> {
    /// Stores an entry.
    ///
    /// # Panics
    /// With 2^31 - 256 entries stored.
    #[inline(always)]
    pub(super) fn insert(&mut self, entry: Entry<K, T>) -> u32 {
        self.make_room(entry.key);
        let (slot, place) = self.take_free();
        *place = entry;
        slot
    }

    /// Whether the open chunk has no free slot.
    #[inline(always)]
    pub(super) const fn is_full(&self) -> bool {
        self.free == NIL
    }

    /// Makes sure that the open chunk has a free slot; `key` may be any.
    #[inline(always)]
    pub(super) fn make_room(&mut self, key: K) {
        if self.free == NIL {
            self.open_next(key);
        }
    }

    /// Makes more slots of the open chunk, or opens the first with a free slot; `key` may be any.
    #[inline(never)]
    fn open_next(&mut self, key: K) {
        if !self.is_complete {
            return self.extend(key);
        }
        let chunk = if self.roomy > 0 {
            self.take_roomy()
        } else {
            self.add_chunk()
        };
        self.open(chunk);
        if self.free == NIL {
            self.extend(key);
        }
    }

    /// Makes the next slots of the open chunk, which has no free one.
    fn extend(&mut self, key: K) {
        let chunk = self.open as usize;
        let slots = &mut self.chunks[chunk];
        if slots.capacity() == 0 {
            self.allocated += 1;
        }
        slots.reserve_exact(CHUNK - slots.len());
        let (first, end) = (slots.len(), slots.len() + RUN);
        slots.extend((first..end).map(|i| {
            let next = if i + 1 < end { join(chunk, i + 1) } else { NIL };
            Entry::free(key, next)
        }));
        self.free = join(chunk, first);
        self.is_complete = end == CHUNK;
    }
}

impl<K, T> Far<K, T> {
    pub(super) const fn new() -> Self {
        Self {
            chunks: Vec::new(),
            rooms: Vec::new(),
            with_room: Vec::new(),
            first_word: 0,
            roomy: 0,
            free: NIL,
            open: NIL,
            is_complete: true,
            spare: NIL,
            len: 0,
            allocated: 0,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub(super) fn entry(&self, slot: u32) -> &Entry<K, T> {
        let (chunk, i) = split(slot);
        &self.chunks[chunk][i]
    }

    #[inline(always)]
    pub(super) fn entry_mut(&mut self, slot: u32) -> &mut Entry<K, T> {
        let (chunk, i) = split(slot);
        &mut self.chunks[chunk][i]
    }

    pub(super) fn get(&self, slot: u32) -> Option<&Entry<K, T>> {
        let (chunk, i) = split(slot);
        self.chunks.get(chunk)?.get(i)
    }

    /// Takes a slot of the open chunk, which must have a free one.
    #[inline(always)]
    pub(super) fn take_free(&mut self) -> (u32, &mut Entry<K, T>) {
        let slot = self.free;
        let (chunk, i) = split(slot);
        let entry = &mut self.chunks[chunk][i];
        self.free = entry.next;
        self.len += 1;
        (slot, entry)
    }

    /// Opens a chunk.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "fewer than slots")]
    fn open(&mut self, chunk: usize) {
        if self.spare == chunk as u32 {
            self.spare = NIL;
        }
        self.open = chunk as u32;
        self.free = core::mem::replace(&mut self.rooms[chunk], Room::NONE).free;
        self.is_complete = self.chunks[chunk].len() == CHUNK;
    }

    /// The first chunk with room, which is to be opened.
    fn take_roomy(&mut self) -> usize {
        let words = self.with_room.iter().skip(self.first_word);
        self.first_word += words.take_while(|&&word| word == 0).count();
        let word = &mut self.with_room[self.first_word];
        let bit = word.trailing_zeros() as usize;
        *word &= *word - 1;
        self.roomy -= 1;
        self.first_word * 64 + bit
    }

    /// Opens the first chunk with room, if there is a slot to be had in it and none that could
    /// still be made in the open one.
    #[inline(never)]
    fn open_again(&mut self) {
        if !self.is_complete {
            return;
        }
        let chunk = self.take_roomy();
        self.open(chunk);
    }

    /// The number of a chunk that was none yet.
    #[cold]
    fn add_chunk(&mut self) -> usize {
        let chunk = self.chunks.len();
        assert!(
            join(chunk + 1, 0) < super::SLOTS,
            "a match queue holds at most 2^31 - 256 entries"
        );
        self.chunks.push(Vec::new());
        self.rooms.push(Room::ALL);
        chunk
    }

    /// Takes what `take` takes of an entry in use, and frees its slot.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "fewer than slots")]
    pub(super) fn release<O>(&mut self, slot: u32, take: impl FnOnce(&mut Entry<K, T>) -> O) -> O {
        let (chunk, i) = split(slot);
        let entry = &mut self.chunks[chunk][i];
        let taken = take(entry);
        self.len -= 1;
        if self.open == chunk as u32 {
            entry.next = self.free;
            self.free = slot;
            return taken;
        }
        if self.free == NIL && self.roomy == 0 && self.is_complete {
            // All are full.
            entry.next = NIL;
            self.open = chunk as u32;
            self.free = slot;
            return taken;
        }
        let Room { free, used } = self.rooms[chunk];
        entry.next = free;
        self.rooms[chunk] = Room {
            free: slot,
            used: used - 1,
        };
        if free == NIL {
            self.gained_room(chunk);
        }
        if used == 1 {
            self.emptied(chunk);
        }
        if self.free == NIL {
            self.open_again();
        }
        taken
    }

    /// A full chunk has a free slot.
    #[inline(never)]
    fn gained_room(&mut self, chunk: usize) {
        let word = chunk / 64;
        if word >= self.with_room.len() {
            self.with_room.resize(word + 1, 0);
        }
        self.with_room[word] |= 1 << (chunk % 64);
        self.roomy += 1;
        self.first_word = self.first_word.min(word);
    }

    #[cold]
    #[inline(never)]
    #[expect(clippy::cast_possible_truncation, reason = "fewer than slots")]
    fn emptied(&mut self, chunk: usize) {
        // The one that has just emptied is the one that is needed again if the length swings.
        let before = core::mem::replace(&mut self.spare, chunk as u32);
        if before != NIL {
            self.chunks[before as usize] = Vec::new();
            self.allocated -= 1;
            self.rooms[before as usize].free = NIL;
        }
    }

    /// All slots, in use and free.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u32, &Entry<K, T>)> {
        let chunks = self.chunks.iter().enumerate();
        chunks.flat_map(|(chunk, slots)| {
            let entries = slots.iter().enumerate();
            entries.map(move |(i, entry)| (join(chunk, i), entry))
        })
    }

    pub(super) fn bytes(&self) -> usize {
        let tables = vec_bytes(&self.chunks) + vec_bytes(&self.rooms) + vec_bytes(&self.with_room);
        let chunks = self.allocated as usize * CHUNK * size_of::<Entry<K, T>>();
        size_of::<Self>() + tables + chunks
    }
}
