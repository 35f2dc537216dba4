//! The tables of posted receives.

use super::super::hash::{Key, Seed};
use super::buckets::Buckets;
use super::{Found, NOT_LINKED, PENDING, find_pending, link_behind};
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::memory::vec_bytes;
use crate::pattern::{Pattern, matches};
use crate::slab::{Entry, NIL, TOO_FAR, Window};

/// Linked receives with one mask.
#[derive(Clone, Copy, Debug)]
struct Class<B> {
    care: B,
    posted: u32,
}

/// All receives of a window by what they must match, in one table whatever their masks: what a mask
/// leaves of the bits is hashed with the mask.
#[derive(Debug)]
pub(in super::super) struct Receives<B> {
    buckets: Buckets,
    /// The slot of the first that is not linked; all before are.
    linked: u32,
    /// Where a window may end whose searches need nothing but a bucket, and what is not linked;
    /// 0 while linked receives have wildcards.
    limit: u32,
    /// No receive is in a slot before this.
    first: u32,
    /// The masks of linked receives with wildcards.
    classes: Vec<Class<B>>,
}

impl<B: MatchBits> Receives<B> {
    pub(super) fn new(seed: Seed) -> Self {
        Self {
            buckets: Buckets::new(seed),
            linked: 0,
            limit: 0,
            first: 0,
            classes: Vec::new(),
        }
    }

    /// The window begins to be tabled, with this slot, or its entries have moved.
    pub(in super::super) fn begin(&mut self, first: u32) {
        self.buckets.forget();
        self.classes.clear();
        self.linked = first;
        self.limit = first + PENDING;
        self.first = first;
    }

    /// All receives have left, each off its chain.
    pub(in super::super) fn rest(&mut self) {
        self.linked = 0;
        self.limit = PENDING;
        self.first = 0;
    }

    /// No receive is in a slot before this.
    pub(in super::super) const fn first(&self) -> u32 {
        self.first
    }

    /// Whether so many receives of a window are not linked that they are to be.
    #[inline(always)]
    pub(in super::super) const fn are_behind(&self, window: &Window) -> bool {
        window.end() > self.linked + PENDING
    }

    /// Whether it is not so, and no linked receive has a wildcard.
    #[inline(always)]
    pub(in super::super) const fn are_plain(&self, window: &Window) -> bool {
        window.end() <= self.limit
    }

    /// Takes the receive for a message off its chain and out of the window, if it is the first of
    /// its bucket, in tables that [are plain](Self::are_plain): its slot, [`NIL`] if there is none,
    /// [`NOT_LINKED`] if it may only be one of those, or [`TOO_FAR`] if it may be any.
    #[inline(always)]
    pub(in super::super) fn take_first<P, R>(
        &mut self,
        near: &[Entry<P, R>],
        window: &mut Window,
        context: ContextId,
        bits: B,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let place = self.buckets.place(bits, B::ALL);
        let Some(bucket) = self.buckets.get_mut(place) else {
            return TOO_FAR;
        };
        let slot = bucket.first();
        let Some(entry) = near.get(slot as usize) else {
            return match self.linked == window.end() {
                true => NIL,
                false => NOT_LINKED,
            };
        };
        // None has a wildcard.
        if entry.key.bits() != bits || entry.key.context() != context {
            return TOO_FAR;
        }
        bucket.drop_first(entry.next);
        if window.drop_tabled(slot) {
            self.linked = slot;
            self.limit = slot + PENDING;
        }
        slot
    }

    /// Links what has come since the last search.
    #[inline(never)]
    pub(in super::super) fn link<P, R>(&mut self, near: &mut [Entry<P, R>], window: &Window)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let (end, queued) = (window.end(), window.len());
        let mut is_new = !self.buckets.serves(queued) || self.buckets.is_worn_out();
        loop {
            if is_new {
                self.begin(self.first);
                self.buckets.begin(queued);
            }
            let behind = self.link_to(near, end);
            let linked = end - self.linked;
            is_new = self.linked == self.first && self.buckets.are_crowded(linked, behind);
            if !is_new {
                self.buckets.count_linked(linked, behind);
                self.linked = end;
                return self.set_limit();
            }
        }
    }

    /// Links all receives before a slot that are not; returns how many came to be behind others with
    /// another key.
    #[inline(never)]
    #[expect(clippy::cast_possible_truncation, reason = "near slots are few")]
    fn link_to<P, R>(&mut self, near: &mut [Entry<P, R>], end: u32) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let (buckets, hash) = self.buckets.parts();
        let mut behind = 0;
        let end = (end as usize).min(near.len());
        for at in self.linked as usize..end {
            let entry = &mut near[at];
            if !entry.is_used() {
                continue;
            }
            entry.next = NIL;
            let (bits, care) = (entry.key.bits(), entry.key.care());
            let place = if care == B::ALL {
                hash.place(bits, B::ALL)
            } else {
                add_to(&mut self.classes, care);
                hash.place(bits & care, care)
            };
            let Some(bucket) = buckets.get_mut(place) else {
                break;
            };
            let slot = at as u32;
            if let Some(last) = bucket.push(slot) {
                behind += link_behind(near, last, slot, |pattern| pattern.bits() != bits);
            }
        }
        behind
    }

    #[inline(always)]
    const fn set_limit(&mut self) {
        self.limit = match self.classes.is_empty() {
            true => self.linked + PENDING,
            false => 0,
        };
    }

    /// A receive of this mask has left its chain.
    fn leave_class(&mut self, care: B) {
        let is = |class: &Class<B>| class.care == care;
        let Some(at) = self.classes.iter().position(is) else {
            return;
        };
        self.classes[at].posted -= 1;
        if self.classes[at].posted == 0 {
            self.classes.swap_remove(at);
        }
    }

    /// The earliest receive that takes a message: that of its key, or one of each mask, or else one
    /// that is not linked.
    pub(in super::super) fn find<P, R>(
        &mut self,
        near: &[Entry<P, R>],
        window: &Window,
        envelope: &P::Envelope,
    ) -> Found
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let (context, bits) = (envelope.context(), envelope.bits());
        let mut best = self.find_key(near, Key::exact(context, bits));
        for at in 0..self.classes.len() {
            let care = self.classes[at].care;
            let bits = bits & care;
            let found = self.find_key(
                near,
                Key {
                    context,
                    bits,
                    care,
                },
            );
            best.visited += found.visited;
            // Slots are in order of posting, and none is greater than all.
            best.slot = best.slot.min(found.slot);
        }
        if best.slot != NIL {
            return best;
        }
        let pending = self.find_pending(near, window, envelope);
        Found {
            slot: pending.slot,
            visited: best.visited + pending.visited,
        }
    }

    /// The earliest receive that takes a message, of those that are not linked.
    #[inline(always)]
    pub(in super::super) fn find_pending<P, R>(
        &self,
        near: &[Entry<P, R>],
        window: &Window,
        envelope: &P::Envelope,
    ) -> Found
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        find_pending(near, self.linked..window.end(), |pattern| {
            matches(pattern, envelope)
        })
    }

    /// The earliest receive of a key.
    #[inline]
    fn find_key<P, R>(&mut self, near: &[Entry<P, R>], key: Key<B>) -> Found
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let place = self.buckets.place(key.bits, key.care);
        let mut found = Found {
            slot: self.buckets.first(place),
            visited: 0,
        };
        loop {
            let Some(entry) = near.get(found.slot as usize) else {
                found.slot = NIL;
                break;
            };
            found.visited += 1;
            let pattern = &entry.key;
            if (pattern.bits() ^ key.bits) & key.care == B::ZERO
                && pattern.care() == key.care
                && pattern.context() == key.context
            {
                break;
            }
            found.slot = entry.next;
        }
        self.buckets.count(found.visited);
        found
    }

    /// A receive leaves: takes it off its chain, if it is on one, and out of the window.
    pub(in super::super) fn drop_slot<P, R>(
        &mut self,
        near: &mut [Entry<P, R>],
        window: &mut Window,
        slot: u32,
    ) where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if slot < self.linked
            && let Some(entry) = near.get(slot as usize)
        {
            let (bits, care, before) = (entry.key.bits(), entry.key.care(), entry.prev);
            let place = self.buckets.place(bits & care, care);
            self.buckets.unlink(near, place, slot, before);
            if care != B::ALL {
                self.leave_class(care);
            }
        }
        if window.drop_tabled(slot) {
            self.linked = self.linked.min(slot);
        }
        self.set_limit();
    }

    pub(super) const fn bytes(&self) -> usize {
        self.buckets.bytes() + vec_bytes(&self.classes)
    }

    pub(super) fn release(&mut self) {
        self.buckets.release();
        self.classes = Vec::new();
    }
}

/// Counts a receive that has come onto a chain.
#[cold]
fn add_to<B: MatchBits>(classes: &mut Vec<Class<B>>, care: B) {
    match classes.iter_mut().find(|class| class.care == care) {
        Some(class) => class.posted += 1,
        None => classes.push(Class { care, posted: 1 }),
    }
}
