//! A pool of objects that structures create on demand: ranks, planes, segments.

use crate::memory::vec_bytes;
use crate::slab::NIL;

/// A pool of objects that are created on demand and freed when empty.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Pool<T> {
    pub(crate) const fn new() -> Self {
        Self {
            items: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Stores an item under a number that no other item has.
    #[expect(clippy::cast_possible_truncation, reason = "checked")]
    pub(crate) fn make(&mut self, item: T) -> u32 {
        if let Some(id) = self.free.pop() {
            self.items[id as usize] = item;
            return id;
        }
        let id = self.items.len();
        assert!(
            id < NIL as usize,
            "a structure holds at most 2^32 - 1 objects"
        );
        self.items.push(item);
        id as u32
    }

    /// Frees the number `id` for reuse; freeing the last item gives back the memory of a burst.
    pub(crate) fn free(&mut self, id: u32) {
        self.free.push(id);
        if self.free.len() == self.items.len() {
            self.clear();
        }
    }

    /// Frees everything.
    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.free.clear();
        if self.bytes() > crate::slab::KEEP_BYTES {
            *self = Self::new();
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, id: u32) -> &T {
        &self.items[id as usize]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, id: u32) -> &mut T {
        &mut self.items[id as usize]
    }

    /// Number of items in use.
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    pub(crate) const fn bytes(&self) -> usize {
        vec_bytes(&self.items) + vec_bytes(&self.free)
    }
}
