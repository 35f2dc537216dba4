//! The slots of a long queue: chunks that come one at a time and go as soon as they are empty.

use core::cmp::Reverse;
use core::mem::size_of;
use std::collections::BinaryHeap;

use super::{Entry, NEAR, NIL};
use crate::memory::vec_bytes;

/// Slots of a chunk: few enough that making or freeing one is no pause, enough that it is rare.
const CHUNK: usize = 256;

/// Slots from [`NEAR`] on.
///
/// A chunk is allocated when a slot in it is first needed and freed when its last entry leaves, so
/// neither growing nor shrinking ever moves or visits more than one chunk's entries. One empty chunk
/// is kept, for a queue whose length swings about a chunk's end.
pub(super) struct Far<K, T> {
    chunks: Vec<Chunk<K, T>>,
    /// The chunks with a free slot, allocated or not. Entries go to the one that comes first, so that those
    /// that stay after a burst gather there.
    with_room: BinaryHeap<Reverse<u32>>,
    /// An allocated chunk without entries.
    spare: Option<u32>,
    len: usize,
}

/// `CHUNK` slots, or none.
struct Chunk<K, T> {
    entries: Vec<Entry<K, T>>,
    /// The free slots, by number in the chunk, linked by `next`.
    free: u32,
    used: u32,
}

impl<K, T> Chunk<K, T> {
    const UNALLOCATED: Self = Self {
        entries: Vec::new(),
        free: NIL,
        used: 0,
    };

    const fn is_full(&self) -> bool {
        self.used as usize == CHUNK
    }
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

impl<K, T> Far<K, T> {
    pub(super) const fn new() -> Self {
        Self {
            chunks: Vec::new(),
            with_room: BinaryHeap::new(),
            spare: None,
            len: 0,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub(super) fn entry(&self, slot: u32) -> &Entry<K, T> {
        let (chunk, i) = split(slot);
        &self.chunks[chunk].entries[i]
    }

    #[inline(always)]
    pub(super) fn entry_mut(&mut self, slot: u32) -> &mut Entry<K, T> {
        let (chunk, i) = split(slot);
        &mut self.chunks[chunk].entries[i]
    }

    pub(super) fn get(&self, slot: u32) -> Option<&Entry<K, T>> {
        let (chunk, i) = split(slot);
        self.chunks.get(chunk)?.entries.get(i)
    }

    /// Takes a slot that has been used before out of those that are free; the entry goes there next.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "chunks and their slots are fewer than slots"
    )]
    pub(super) fn reuse(&mut self) -> Option<u32> {
        let chunk = self.with_room.peek()?.0 as usize;
        let place = &mut self.chunks[chunk];
        let i = place.free as usize;
        place.free = place.entries.get(i)?.next;
        self.use_one(chunk as u32);
        Some(join(chunk, i))
    }

    /// Stores an entry when there is no slot to [`reuse`](Self::reuse).
    pub(super) fn push(&mut self, entry: Entry<K, T>) -> u32 {
        let chunk = match self.with_room.peek() {
            Some(&Reverse(chunk)) => chunk,
            None => self.add_chunk(),
        };
        let entries = &mut self.chunks[chunk as usize].entries;
        if entries.is_empty() {
            entries.reserve_exact(CHUNK);
        }
        let slot = join(chunk as usize, entries.len());
        entries.push(entry);
        self.use_one(chunk);
        slot
    }

    /// One more slot of the chunk is in use, which is the first with room.
    fn use_one(&mut self, chunk: u32) {
        self.len += 1;
        let place = &mut self.chunks[chunk as usize];
        place.used += 1;
        if place.is_full() {
            self.with_room.pop();
        }
        if self.spare == Some(chunk) {
            self.spare = None;
        }
    }

    #[cold]
    #[expect(clippy::cast_possible_truncation, reason = "fewer than slots")]
    fn add_chunk(&mut self) -> u32 {
        let chunk = self.chunks.len();
        assert!(
            join(chunk + 1, 0) < super::SLOTS,
            "a match queue holds at most 2^31 - 256 entries"
        );
        self.chunks.push(Chunk::UNALLOCATED);
        self.with_room.push(Reverse(chunk as u32));
        chunk as u32
    }

    /// Frees a slot whose payload has been taken.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "chunks and their slots are fewer than slots"
    )]
    pub(super) fn release(&mut self, slot: u32) {
        let (chunk, i) = split(slot);
        let place = &mut self.chunks[chunk];
        if place.is_full() {
            self.with_room.push(Reverse(chunk as u32));
        }
        self.len -= 1;
        place.entries[i].next = place.free;
        place.free = i as u32;
        place.used -= 1;
        if place.used == 0 {
            self.emptied(chunk as u32);
        }
    }

    #[cold]
    fn emptied(&mut self, chunk: u32) {
        // The one that has just emptied is the one that is needed again if the length swings.
        if let Some(before) = self.spare.replace(chunk)
            && before != chunk
        {
            self.chunks[before as usize] = Chunk::UNALLOCATED;
        }
    }

    /// All slots, in use and free.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u32, &Entry<K, T>)> {
        let chunks = self.chunks.iter().enumerate();
        chunks.flat_map(|(chunk, place)| {
            let entries = place.entries.iter().enumerate();
            entries.map(move |(i, entry)| (join(chunk, i), entry))
        })
    }

    pub(super) fn bytes(&self) -> usize {
        let entries: usize = self.chunks.iter().map(|c| vec_bytes(&c.entries)).sum();
        let with_room = self.with_room.capacity() * size_of::<u32>();
        size_of::<Self>() + vec_bytes(&self.chunks) + with_room + entries
    }
}
