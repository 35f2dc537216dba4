//! The slots of a long queue: chunks that are added one at a time and freed when few entries are left.

use core::mem::size_of;
use core::ops::Range;

use super::release::list_free;
use super::{Entry, NEAR, NIL};
use crate::memory::vec_bytes;

/// Slots of a chunk: few enough that making or freeing one is no pause, enough that it is rare.
const CHUNK: usize = 256;

/// Slots that are listed together: a fraction of a chunk.
const FAR_RUN: usize = super::MORE as usize;

/// The most near slots searched for free ones when more slots are needed.
const NEAR_LOOKS: usize = 8 * FAR_RUN;

/// The most chunks that a removal frees, and that it looks at.
const FREED: u32 = 2;
const LOOKS: u32 = 32;

/// Slots from [`NEAR`] on.
///
/// Their entries never move; one table of chunks locates the slots. Free slots of all chunks are on the
/// slab's single list, so storing and removing entries only counts the used slots of a chunk. The list
/// need not be complete: a slot is free if it has no payload. So when few entries are left, the whole
/// list is forgotten, all chunks are [unlisted](Self::unlisted), and those that are empty, or become so,
/// are freed. When slots are needed again they are listed from the first on, near ones before far ones,
/// so that entries left from a burst and later ones gather there.
///
/// Or slots are [used in order](Self::use_last), until that is [given up](Self::seal): then none is listed, and a chunk
/// is freed when it becomes empty.
pub(super) struct Far<K, T> {
    chunks: Vec<Chunk<K, T>>,
    /// The free slots from this one on are on no list.
    unlisted: u32,
    /// The chunk of those slots, if they have never been used, or [`NIL`].
    untouched: u32,
    /// No near slot below this one is free and on no list.
    near_unlisted: u32,
    /// How many chunks, from the first on, a sweep has yet to look at.
    sweep: u32,
    /// A chunk that became empty while it was not listed, or [`NIL`].
    vacant: u32,
    /// Chunks that have memory.
    allocated: u32,
    /// The next slot to be taken into use in order.
    end: u32,
    /// Before this slot there is memory for that.
    ready: u32,
}

struct Chunk<K, T> {
    slots: Option<Box<[Entry<K, T>; CHUNK]>>,
    used: u32,
}

/// Chunk, and index in it.
#[inline(always)]
const fn split(slot: u32) -> (usize, usize) {
    let i = (slot as usize).wrapping_sub(NEAR);
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
            unlisted: NEAR as u32,
            untouched: NIL,
            near_unlisted: NEAR as u32,
            sweep: 0,
            vacant: NIL,
            allocated: 0,
            end: NEAR as u32,
            ready: NEAR as u32,
        }
    }

    /// The next slot in order, and its entry; none if [`extend`](Self::extend) must come before.
    #[inline(always)]
    pub(super) fn use_last(&mut self) -> Option<(u32, &mut Entry<K, T>)> {
        let slot = self.end;
        if slot == self.ready {
            return None;
        }
        let (chunk, i) = split(slot);
        let chunk = self.chunks.get_mut(chunk)?;
        let entry = &mut chunk.slots.as_deref_mut()?[i];
        chunk.used += 1;
        self.end += 1;
        Some((slot, entry))
    }

    /// Whether there are no slots ready to be taken into use in order.
    pub(super) const fn is_at_end(&self) -> bool {
        self.end == self.ready
    }

    /// The slot after the last that was taken into use in order.
    pub(super) const fn end(&self) -> u32 {
        self.end
    }

    /// No more slots are taken into use in order: the chunk of the next one is like others that are not listed.
    pub(super) fn seal(&mut self) {
        self.ready = self.end;
        let (at, _) = split(self.end);
        if self.chunks.get(at).is_some_and(|chunk| chunk.used == 0) {
            self.free_chunk(at);
        }
    }

    /// The entries in the first of some slots, as many as are in one chunk, none if that has no memory; and the slot
    /// where the next chunk begins.
    pub(super) fn piece_mut(&mut self, slots: Range<u32>) -> (&mut [Entry<K, T>], u32) {
        let (at, i) = split(slots.start);
        let end = slots.end.min(join(at + 1, 0));
        let len = (end - slots.start) as usize;
        let chunk = self.chunks.get_mut(at);
        let entries = chunk.and_then(|chunk| chunk.slots.as_deref_mut());
        let entries = entries.map_or(&mut [][..], |entries| &mut entries[i..i + len]);
        (entries, end)
    }

    /// Whether no chunk has memory.
    #[inline(always)]
    pub(super) const fn is_empty(&self) -> bool {
        self.allocated == 0
    }

    #[inline(always)]
    pub(super) fn get(&self, slot: u32) -> Option<&Entry<K, T>> {
        let (chunk, i) = split(slot);
        Some(&self.chunks.get(chunk)?.slots.as_deref()?[i])
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Entry<K, T>> {
        let (chunk, i) = split(slot);
        Some(&mut self.chunks.get_mut(chunk)?.slots.as_deref_mut()?[i])
    }

    /// The entry of a slot just taken off the free list; none if the list has ended.
    #[inline(always)]
    pub(super) fn use_slot(&mut self, slot: u32) -> Option<&mut Entry<K, T>> {
        let (chunk, i) = split(slot);
        let chunk = self.chunks.get_mut(chunk)?;
        chunk.used += 1;
        Some(&mut chunk.slots.as_deref_mut()?[i])
    }

    /// Frees the slot of an entry; the caller then takes the entry from it. The slot becomes the first of
    /// the free list, if it is to be listed. False if [`free_vacant`](Self::free_vacant) must follow once
    /// the entry has been taken.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "fewer than slots")]
    pub(super) fn release(&mut self, slot: u32, free: &mut u32) -> (&mut Entry<K, T>, bool) {
        let (at, i) = split(slot);
        let chunk = &mut self.chunks[at];
        let entry = &mut chunk.slots.as_deref_mut().expect("the slot is in use")[i];
        chunk.used -= 1;
        if slot < self.unlisted {
            entry.next = *free;
            *free = slot;
        } else if chunk.used == 0 {
            self.vacant = at as u32;
            return (entry, false);
        }
        (entry, true)
    }

    /// Frees the chunk that has become empty, unless some of its slots are listed.
    pub(super) fn free_vacant(&mut self) {
        let chunk = core::mem::replace(&mut self.vacant, NIL);
        let is_next = self.end < self.ready && split(self.end).0 == chunk as usize;
        if chunk != NIL && !is_next {
            self.free_chunk(chunk as usize);
        }
    }

    fn free_chunk(&mut self, chunk: usize) {
        if join(chunk, 0) >= self.unlisted && self.chunks[chunk].slots.take().is_some() {
            self.allocated -= 1;
        }
    }

    /// With this many entries in the slab, or fewer, memory is to be given back, by
    /// [`sweep`](Self::sweep).
    pub(super) const fn low(&self) -> u32 {
        if self.sweep > 0 {
            return u32::MAX;
        }
        if self.unlisted as usize == NEAR {
            return 0;
        }
        // After a sweep far slots may be listed, or passed by where all are used, before all near ones
        // have been looked at: those that have are what counts.
        (self.near_unlisted + self.unlisted - NEAR as u32) / 4
    }

    /// Few entries are left: forgets which slots are listed, and begins to give back the chunks that
    /// are empty. False if that has begun before; otherwise the slab forgets its list.
    #[expect(clippy::cast_possible_truncation, reason = "fewer than slots")]
    pub(super) fn begin_sweep(&mut self) -> bool {
        if self.sweep > 0 {
            return false;
        }
        self.unlisted = NEAR as u32;
        self.untouched = NIL;
        self.near_unlisted = 0;
        self.sweep = self.chunks.len() as u32;
        true
    }

    /// Lists some free near slots, after the list was forgotten, and returns the first; [`NIL`] if none
    /// was found. For an empty list: only then is every free slot on no list.
    pub(super) fn list_near(&mut self, near: &mut [Entry<K, T>]) -> u32 {
        let begin = self.near_unlisted as usize;
        for at in (begin..near.len().min(begin + NEAR_LOOKS)).step_by(FAR_RUN) {
            let end = near.len().min(at + FAR_RUN);
            let free = list_free(&mut near[at..end], self.near_unlisted);
            self.near_unlisted += FAR_RUN as u32;
            if free != NIL {
                return free;
            }
        }
        NIL
    }

    /// Frees some of the empty chunks that are not listed.
    pub(super) fn sweep(&mut self) {
        let (mut looks, mut freed) = (LOOKS, FREED);
        while self.sweep > 0 && looks > 0 && freed > 0 {
            let at = self.sweep as usize - 1;
            if join(at, 0) < self.unlisted {
                self.sweep = 0;
                return;
            }
            let chunk = &mut self.chunks[at];
            if chunk.used == 0 && chunk.slots.is_some() {
                self.free_chunk(at);
                freed -= 1;
            }
            if self.chunks[at].slots.is_none() && at + 1 == self.chunks.len() {
                self.chunks.pop();
            }
            looks -= 1;
            self.sweep -= 1;
        }
    }

    /// The slots of chunks that have some in use.
    pub(super) fn slots(&self) -> impl Iterator<Item = (u32, &Entry<K, T>)> {
        let chunks = self.chunks.iter().enumerate();
        chunks
            .filter(|(_, chunk)| chunk.used > 0)
            .flat_map(|(at, chunk)| {
                let slots = chunk.slots.iter().flat_map(|slots| slots.iter());
                slots
                    .enumerate()
                    .map(move |(i, entry)| (join(at, i), entry))
            })
    }

    /// [`bytes`](Self::bytes), by a look at each chunk.
    #[cfg(test)]
    pub(super) fn recount(&self) -> usize {
        let chunks = self.chunks.iter().filter(|chunk| chunk.slots.is_some());
        let slots = chunks.count() * CHUNK;
        size_of::<Self>() + vec_bytes(&self.chunks) + slots * size_of::<Entry<K, T>>()
    }

    /// Slots that have memory.
    pub(super) const fn slots_allocated(&self) -> usize {
        self.allocated as usize * CHUNK
    }

    pub(super) fn bytes(&self) -> usize {
        let slots = self.slots_allocated() * size_of::<Entry<K, T>>();
        size_of::<Self>() + vec_bytes(&self.chunks) + slots
    }
}

impl<K: Copy, T> Far<K, T> {
    /// Makes sure that there is memory for the next slots in order; `key` may be any. No sweep removes the places of
    /// chunks meanwhile, since nothing is listed.
    ///
    /// # Panics
    /// With 2^31 - 256 slots in use or behind.
    pub(super) fn extend(&mut self, key: K) {
        let (at, i) = split(self.end);
        self.add_chunks_to(at);
        let first = join(at, 0);
        self.chunks[at].slots.get_or_insert_with(|| {
            self.allocated += 1;
            new_chunk(key, first)
        });
        self.ready = join(at, i - i % FAR_RUN + FAR_RUN);
    }

    /// Makes sure that there is a place for a chunk that exists or is the next.
    fn add_chunks_to(&mut self, at: usize) {
        if at == self.chunks.len() {
            assert!(
                join(at + 1, 0) < super::SLOTS,
                "a match queue holds at most 2^31 - 256 entries"
            );
            self.chunks.push(Chunk {
                slots: None,
                used: 0,
            });
        }
    }

    /// Lists more free slots, and returns the first; `key` may be any.
    ///
    /// # Panics
    /// With 2^31 - 256 entries stored.
    pub(super) fn list_more(&mut self, key: K) -> u32 {
        loop {
            let (at, i) = split(self.unlisted);
            self.add_chunks_to(at);
            let chunk = &mut self.chunks[at];
            if i == 0 && chunk.used as usize == CHUNK {
                self.unlisted += CHUNK as u32;
                continue;
            }
            let slots = chunk.slots.get_or_insert_with(|| {
                self.allocated += 1;
                self.untouched = at as u32;
                new_chunk(key, self.unlisted)
            });
            let free = match self.untouched == at as u32 {
                true => self.unlisted,
                false => list_free(&mut slots[i..i + FAR_RUN], self.unlisted),
            };
            self.unlisted += FAR_RUN as u32;
            if free != NIL {
                return free;
            }
        }
    }
}

/// A chunk of free slots, listed in runs; `first` is the number of its first slot.
fn new_chunk<K: Copy, T>(key: K, first: u32) -> Box<[Entry<K, T>; CHUNK]> {
    let mut slots = Vec::with_capacity(CHUNK);
    slots.resize_with(CHUNK, || Entry::free(&key, NIL));
    for (run, slot) in slots.chunks_mut(FAR_RUN).zip((first..).step_by(FAR_RUN)) {
        for (entry, next) in run.iter_mut().zip(slot + 1..slot + FAR_RUN as u32) {
            entry.next = next;
        }
    }
    match slots.into_boxed_slice().try_into() {
        Ok(slots) => slots,
        Err(_) => unreachable!("a chunk has {CHUNK} slots"),
    }
}
