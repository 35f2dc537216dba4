//! How entries are put on chains, and where the links of chains are: entries have their own, and a view has an array.

use core::ops::Range;

use super::Found;
use super::buckets::{Bucket, NONE};
use crate::slab::{Entry, NIL};

/// Where the entries of chains keep their links.
pub(super) trait ChainLinks {
    fn next(&self, slot: u32) -> u32;
    /// Has `slot` followed by another.
    fn link(&mut self, slot: u32, next: u32);
    /// Has nothing behind `slot`.
    fn end(&mut self, slot: u32);
}

impl<K, T> ChainLinks for [Entry<K, T>] {
    #[inline(always)]
    fn next(&self, slot: u32) -> u32 {
        self.get(slot as usize).map_or(NIL, |entry| entry.next)
    }

    #[inline(always)]
    fn link(&mut self, slot: u32, next: u32) {
        if let Some(entry) = self.get_mut(slot as usize) {
            entry.next = next;
        }
        if let Some(entry) = self.get_mut(next as usize) {
            entry.prev = slot;
        }
    }

    #[inline(always)]
    fn end(&mut self, slot: u32) {
        if let Some(entry) = self.get_mut(slot as usize) {
            entry.next = NIL;
        }
    }
}

impl ChainLinks for [u16] {
    #[inline(always)]
    fn next(&self, slot: u32) -> u32 {
        match self.get(slot as usize) {
            Some(&next) if next != NONE => next.into(),
            _ => NIL,
        }
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "near slots are few")]
    fn link(&mut self, slot: u32, behind: u32) {
        if let Some(next) = self.get_mut(slot as usize) {
            *next = behind as u16;
        }
    }

    #[inline(always)]
    fn end(&mut self, slot: u32) {
        if let Some(next) = self.get_mut(slot as usize) {
            *next = NONE;
        }
    }
}

/// Looks for the earliest entry in some slots.
#[inline(always)]
pub(super) fn find_pending<K, T>(
    near: &[Entry<K, T>],
    slots: Range<u32>,
    wanted: impl Fn(&K) -> bool,
) -> Found {
    let mut visited = 0;
    for slot in slots {
        let Some(entry) = near.get(slot as usize) else {
            break;
        };
        if entry.is_used() {
            visited += 1;
            if wanted(&entry.key) {
                return Found { slot, visited };
            }
        }
    }
    Found { slot: NIL, visited }
}

/// Links entries as long as each is the first of its bucket: returns how many, and how many slots it has
/// passed: all of them if it met no other entry. Entries without a place are left to the caller, as are
/// others. A function without calls, so that everything is in registers: nearly all entries are alone.
#[inline(never)]
pub(super) fn link_alone<K, T>(
    entries: &mut [Entry<K, T>],
    first: u32,
    buckets: &mut [Bucket],
    place: impl Fn(&K) -> Option<usize>,
) -> (u32, u32) {
    let (mut slot, mut holes) = (first, 0);
    for entry in entries {
        if !entry.is_used() {
            holes += 1;
        } else if let Some(bucket) = place(&entry.key).and_then(|place| buckets.get_mut(place))
            && bucket.is_empty()
        {
            *bucket = Bucket::of(slot);
            entry.next = NIL;
        } else {
            break;
        }
        slot += 1;
    }
    let passed = slot - first;
    (passed - holes, passed)
}

/// Links an entry behind the last of its bucket; 1 if that has another key.
#[inline(never)]
pub(super) fn link_behind<K, T>(
    near: &mut [Entry<K, T>],
    last: u32,
    slot: u32,
    is_other: impl FnOnce(&K) -> bool,
) -> u32 {
    near.link(last, slot);
    let last = near.get(last as usize);
    last.is_some_and(|entry| is_other(&entry.key)).into()
}

/// Links messages, of which the first has this slot, as long as each is the first of its bucket, as
/// [`link_alone`] does for entries that have their links themselves.
#[inline(never)]
pub(super) fn link_alone_in_view<E>(
    entries: &[Entry<E, impl Sized>],
    links: &mut [u16],
    first: u32,
    buckets: &mut [Bucket],
    place: impl Fn(&E) -> usize,
) -> (u32, u32) {
    let (mut slot, mut holes) = (first, 0);
    for (entry, link) in entries.iter().zip(links) {
        if !entry.is_used() {
            holes += 1;
        } else if let Some(bucket) = buckets.get_mut(place(&entry.key))
            && bucket.is_empty()
        {
            *bucket = Bucket::of(slot);
            *link = NONE;
        } else {
            break;
        }
        slot += 1;
    }
    let passed = slot - first;
    (passed - holes, passed)
}
