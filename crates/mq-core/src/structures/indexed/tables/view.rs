//! The messages of a window as one class of wildcard receives sees them.

use super::super::hash::{Key, Seed};
use super::Found;
use super::buckets::{Buckets, Links};
use crate::envelope::{Envelope, MatchBits};
use crate::memory::vec_bytes;
use crate::slab::{Entry, NIL, Window};

/// Messages by what is left of their bits under one mask.
///
/// Messages that leave in other ways stay on their chains until a search passes them: the slots
/// themselves show whether they are used, and none is reused while it may be on a chain.
#[derive(Debug)]
pub(super) struct WindowView<B> {
    pub(super) care: B,
    buckets: Buckets,
    /// What comes behind each slot.
    links: Vec<u16>,
    /// The slot of the first that is not linked.
    linked: u32,
    /// Whether receives of the class have asked since the window was last empty.
    is_asked: bool,
}

impl Links for [u16] {
    #[inline(always)]
    fn next(&self, slot: u32) -> u32 {
        match self.get(slot as usize) {
            Some(&next) if next != u16::MAX => next.into(),
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
            *next = u16::MAX;
        }
    }
}

impl<B: MatchBits> WindowView<B> {
    pub(super) fn new(care: B, seed: Seed) -> Self {
        Self {
            care,
            buckets: Buckets::new(seed),
            links: Vec::new(),
            linked: 0,
            is_asked: false,
        }
    }

    /// The entries of the window have moved, or left.
    pub(super) fn begin(&mut self) {
        self.buckets.forget();
        self.linked = 0;
    }

    /// All messages have left: whether anybody has asked since that was last so.
    pub(super) fn rest(&mut self) -> bool {
        self.begin();
        core::mem::take(&mut self.is_asked)
    }

    /// Links what has come since the last search.
    fn link<E>(&mut self, near: &[Entry<E, impl Sized>], window: &Window, first: u32)
    where
        E: Envelope<Bits = B>,
    {
        self.is_asked = true;
        let (end, queued) = (window.end(), window.len());
        let is_worn = self.buckets.replace_if_worn();
        if self.linked == end && !is_worn {
            return;
        }
        let mut is_new = is_worn || !self.buckets.serves(queued);
        self.links.resize(near.len(), u16::MAX);
        loop {
            if is_new {
                self.buckets.begin(queued);
                self.linked = first;
            }
            let (linked, behind) = self.link_to(near, end);
            is_new = self.linked == first && self.buckets.judge(linked, behind, linked);
            if !is_new {
                self.buckets.count_linked(linked, behind);
                self.linked = end;
                return;
            }
        }
    }

    /// Links all messages before a slot that are not; returns how many they are, and how many came to
    /// be behind others with another key.
    fn link_to<E>(&mut self, near: &[Entry<E, impl Sized>], end: u32) -> (u32, u32)
    where
        E: Envelope<Bits = B>,
    {
        let (buckets, hash) = self.buckets.parts();
        let links = self.links.as_mut_slice();
        let key = |entry: &Entry<E, _>| entry.key.bits() & self.care;
        let (mut linked, mut behind) = (0, 0);
        for slot in self.linked..end {
            let Some(entry) = near.get(slot as usize) else {
                break;
            };
            if !entry.is_used() {
                continue;
            }
            links.end(slot);
            linked += 1;
            let bits = key(entry);
            let Some(bucket) = buckets.get_mut(hash.place(bits)) else {
                break;
            };
            if let Some(last) = bucket.push(slot) {
                links.link(last, slot);
                let before = near.get(last as usize);
                behind += u32::from(before.is_some_and(|entry| key(entry) != bits));
            }
        }
        (linked, behind)
    }

    /// Finds the earliest message of a key, whose mask is that of the view, and takes it off its
    /// chain if it `leaves`. No message is in a slot before `first`.
    pub(super) fn find<E>(
        &mut self,
        near: &[Entry<E, impl Sized>],
        window: &Window,
        first: u32,
        key: Key<B>,
        leaves: bool,
    ) -> Found
    where
        E: Envelope<Bits = B>,
    {
        self.link(near, window, first);
        let links = self.links.as_mut_slice();
        let place = self.buckets.place(key.bits);
        let (mut before, mut slot) = (NIL, self.buckets.first(place));
        let mut visited = 0;
        let mut passed = 0;
        let found = loop {
            let Some(entry) = near.get(slot as usize) else {
                break NIL;
            };
            let next = links.next(slot);
            passed += 1;
            if entry.is_used() {
                visited += 1;
                if key.admits(&entry.key) {
                    if leaves {
                        self.buckets.unlink(links, place, slot, before);
                    }
                    break slot;
                }
                before = slot;
            } else {
                self.buckets.unlink(links, place, slot, before);
            }
            slot = next;
        };
        self.buckets.count(passed);
        Found {
            slot: found,
            visited,
        }
    }

    /// Gives memory back, of a view that is empty.
    pub(super) fn release(&mut self) {
        self.buckets.release();
        self.links = Vec::new();
    }

    pub(super) const fn bytes(&self) -> usize {
        self.buckets.bytes() + vec_bytes(&self.links)
    }
}
