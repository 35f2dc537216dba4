//! The entries of a slab as lists see them: all entries, or those of a slab without far entries.

use super::{Entry, Slab};
use crate::fifo::{Keys, Links};

impl<K, T> Links for Slab<K, T> {
    #[inline(always)]
    fn next(&self, slot: u32) -> u32 {
        self.entry(slot).next
    }

    #[inline(always)]
    fn prev(&self, slot: u32) -> u32 {
        self.entry(slot).prev
    }

    #[inline(always)]
    fn set_next(&mut self, slot: u32, next: u32) {
        self.entry_mut(slot).next = next;
    }

    #[inline(always)]
    fn set_prev(&mut self, slot: u32, prev: u32) {
        self.entry_mut(slot).prev = prev;
    }
}

impl<K: Copy, T> Keys<K> for Slab<K, T> {
    #[inline(always)]
    fn key(&self, slot: u32) -> &K {
        &self.entry(slot).key
    }
    #[inline(always)]
    fn next(&self, slot: u32) -> u32 {
        self.entry(slot).next
    }
}

/// The entries of a slab without far entries: only a bounds check is between a slot and its entry, and
/// code for short queues stays short.
pub(crate) struct Near<'a, K, T>(&'a mut [Entry<K, T>]);

/// The keys of a slab without far entries, read only.
pub(crate) struct NearKeys<'a, K, T>(&'a [Entry<K, T>]);

impl<K: Copy, T> Slab<K, T> {
    /// Whether entries may be far: chunks have memory.
    #[inline(always)]
    pub(crate) fn has_far(&self) -> bool {
        self.far.as_ref().is_some_and(|far| !far.is_empty())
    }

    /// The entry in `slot`, if that is a near slot; it may be no slot at all.
    #[inline(always)]
    pub(crate) fn near_entry(&self, slot: u32) -> Option<&Entry<K, T>> {
        self.near.get(slot as usize)
    }

    /// The entry in `slot`, mutable, if that is a near slot; it may be no slot at all.
    #[inline(always)]
    pub(crate) fn near_entry_mut(&mut self, slot: u32) -> Option<&mut Entry<K, T>> {
        self.near.get_mut(slot as usize)
    }

    /// The near slots.
    #[inline(always)]
    pub(crate) fn near_entries(&self) -> &[Entry<K, T>] {
        &self.near
    }

    /// The near slots, mutable.
    #[inline(always)]
    pub(crate) fn near_entries_mut(&mut self) -> &mut [Entry<K, T>] {
        &mut self.near
    }

    #[inline(always)]
    pub(crate) fn near(&mut self) -> Near<'_, K, T> {
        Near(&mut self.near)
    }

    #[inline(always)]
    pub(crate) fn near_keys(&self) -> NearKeys<'_, K, T> {
        NearKeys(&self.near)
    }
}

impl<K: Copy, T> Keys<K> for NearKeys<'_, K, T> {
    #[inline(always)]
    fn key(&self, slot: u32) -> &K {
        &self.0[slot as usize].key
    }
    #[inline(always)]
    fn next(&self, slot: u32) -> u32 {
        self.0[slot as usize].next
    }
}

impl<K, T> Links for Near<'_, K, T> {
    #[inline(always)]
    fn next(&self, slot: u32) -> u32 {
        self.0[slot as usize].next
    }
    #[inline(always)]
    fn prev(&self, slot: u32) -> u32 {
        self.0[slot as usize].prev
    }
    #[inline(always)]
    fn set_next(&mut self, slot: u32, next: u32) {
        self.0[slot as usize].next = next;
    }
    #[inline(always)]
    fn set_prev(&mut self, slot: u32, prev: u32) {
        self.0[slot as usize].prev = prev;
    }
}
