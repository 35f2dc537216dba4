//! The tables of unexpected messages.

mod masked;

use super::super::hash::Seed;
use super::buckets::Buckets;
use super::links::{find_pending, link_alone, link_behind};
use super::view::WindowView;
use super::{Found, NOT_LINKED, OTHERWISE, TABLES_KEEP};
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::memory::vec_bytes;
use crate::slab::{Entry, NIL, Window};

/// Whether there is a message in a slot, and it is one of these bits.
#[inline(always)]
fn is<E: Envelope>(entry: &Entry<E, impl Sized>, context: ContextId, bits: E::Bits) -> bool {
    let envelope = &entry.key;
    entry.is_used() && envelope.bits() == bits && envelope.context() == context
}

/// All messages of a window by their bits, and by what some masks leave of them. No message is linked
/// in one of these ways before a search in that way.
#[derive(Debug)]
pub(super) struct Messages<B> {
    buckets: Buckets,
    /// The slot of the first that is not linked; all before are.
    linked: u32,
    /// Where a window may end whose searches by bits need nothing but a bucket, and what is not linked; 0 while
    /// there are views.
    limit: u32,
    /// No message is in a slot before this.
    first: u32,
    views: Vec<WindowView<B>>,
    /// Slots that searches without a view have looked at.
    looks: u32,
    /// How many may be left that are not linked by their bits.
    pending: u32,
    seed: Seed,
}

impl<B: MatchBits> Messages<B> {
    pub(super) const fn new(seed: Seed, pending: u32) -> Self {
        Self {
            buckets: Buckets::new(seed),
            linked: 0,
            limit: 0,
            first: 0,
            views: Vec::new(),
            looks: 0,
            pending,
            seed,
        }
    }

    /// The window begins to be tabled, with this slot: nothing is linked by its bits.
    pub(super) fn start_at(&mut self, first: u32) {
        debug_assert!(
            self.buckets.are_empty(),
            "all messages were taken off their chains"
        );
        self.set_first(first);
    }

    /// What is linked is so no more: the window begins with this slot, and its entries may have moved.
    pub(super) fn forget_links(&mut self, first: u32) {
        self.buckets.forget();
        self.set_first(first);
    }

    fn set_first(&mut self, first: u32) {
        self.set_linked(first);
        self.first = first;
        self.views.iter_mut().for_each(WindowView::forget);
    }

    /// All messages have left.
    pub(super) fn rest(&mut self) {
        self.set_linked(0);
        self.first = 0;
        if !self.views.is_empty() {
            self.views.retain_mut(WindowView::rest);
            self.set_limit();
            if self.bytes() > TABLES_KEEP {
                self.views.iter_mut().for_each(WindowView::release);
            }
        }
    }

    /// All messages have been dropped: forgets what searched for them too.
    pub(super) fn clear(&mut self) {
        self.views = Vec::new();
        self.looks = 0;
        self.forget_links(0);
    }

    #[inline(always)]
    const fn set_linked(&mut self, end: u32) {
        self.linked = end;
        self.set_limit();
    }

    #[inline(always)]
    const fn set_limit(&mut self) {
        self.limit = match self.views.is_empty() {
            true => self.linked + self.pending,
            false => 0,
        };
    }

    /// No message is in a slot before this.
    pub(super) const fn first(&self) -> u32 {
        self.first
    }

    /// Whether so many messages are not linked by their bits that they are to be.
    #[inline(always)]
    pub(super) const fn are_behind(&self, window: &Window) -> bool {
        window.end() > self.linked + self.pending
    }

    /// Whether they are not [behind](Self::are_behind), and there is no view.
    #[inline(always)]
    pub(super) const fn are_plain(&self, window: &Window) -> bool {
        window.end() <= self.limit
    }

    /// Whether the table by bits is to begin anew, so that searches are short again.
    pub(super) const fn are_worn_out(&self) -> bool {
        self.buckets.is_worn_out()
    }

    /// Takes the message for a fully specified receive off its chain and out of the window, if it is
    /// the first of its bucket: its slot, [`NIL`] if there is none, [`NOT_LINKED`] if it may only be
    /// one of those, or [`OTHERWISE`] if it may be any. `VIEWED`: there may be views.
    #[inline(always)]
    pub(super) fn take_first<const VIEWED: bool, E>(
        &mut self,
        near: &[Entry<E, impl Sized>],
        window: &mut Window,
        context: ContextId,
        bits: B,
    ) -> u32
    where
        E: Envelope<Bits = B>,
    {
        let place = self.buckets.place(bits);
        let Some(bucket) = self.buckets.get_mut(place) else {
            return OTHERWISE;
        };
        let slot = bucket.first();
        let Some(entry) = near.get(slot as usize) else {
            return match self.linked == window.end() {
                true => NIL,
                false => NOT_LINKED,
            };
        };
        if entry.key.bits() != bits || entry.key.context() != context {
            return OTHERWISE;
        }
        bucket.drop_first(entry.next);
        if VIEWED {
            self.drop_from(window, slot);
        } else if window.drop_tabled(slot) {
            self.linked = slot;
            self.limit = slot + self.pending;
        }
        slot
    }

    /// The slot of the one message that is not linked, which a fully specified receive takes, out of
    /// the window; `None` if there are more, or it is another. For messages that [are plain](Self::are_plain).
    #[inline(always)]
    pub(super) fn take_only_pending<E>(
        &self,
        near: &[Entry<E, impl Sized>],
        window: &mut Window,
        context: ContextId,
        bits: B,
    ) -> Option<u32>
    where
        E: Envelope<Bits = B>,
    {
        let slot = self.linked;
        match near.get(slot as usize) {
            Some(only) if window.ends_with(slot) && is(only, context, bits) => {
                window.drop_tabled(slot);
                Some(slot)
            }
            _ => None,
        }
    }

    /// Takes the message for a fully specified receive out of the window, where it can only be one
    /// that is not linked.
    #[inline(always)]
    pub(super) fn take_pending<E>(
        &mut self,
        near: &[Entry<E, impl Sized>],
        window: &mut Window,
        context: ContextId,
        bits: B,
    ) -> Found
    where
        E: Envelope<Bits = B>,
    {
        let found = self.find_pending(near, window, context, bits);
        if found.slot != NIL {
            self.drop_from(window, found.slot);
        }
        found
    }

    /// The earliest message for a fully specified receive, of those that are not linked.
    #[inline(always)]
    fn find_pending<E>(
        &self,
        near: &[Entry<E, impl Sized>],
        window: &Window,
        context: ContextId,
        bits: B,
    ) -> Found
    where
        E: Envelope<Bits = B>,
    {
        find_pending(near, self.linked..window.end(), |envelope| {
            envelope.bits() == bits && envelope.context() == context
        })
    }

    /// A message that is on no chain of its key leaves. Its slot may be used again, unless it is
    /// still on the chain of a view.
    #[inline(always)]
    fn drop_from(&mut self, window: &mut Window, slot: u32) {
        if !self.views.is_empty() {
            window.leave_hole();
        } else if window.drop_tabled(slot) {
            self.set_linked(self.linked.min(slot));
        }
    }

    /// Links what has come since the last search by a fully specified receive.
    #[inline(never)]
    pub(super) fn link<E>(&mut self, near: &mut [Entry<E, impl Sized>], window: &Window)
    where
        E: Envelope<Bits = B>,
    {
        let (end, queued) = (window.end(), window.len());
        let is_first = self.linked == self.first;
        let mut is_new = self.buckets.replace_if_worn()
            || !self.buckets.serves(queued)
            || is_first && !self.buckets.suit(queued);
        loop {
            if is_new {
                self.buckets.begin(queued);
                self.set_linked(self.first);
            }
            let (linked, behind) = self.link_to(near, end);
            is_new = self.linked == self.first && self.buckets.judge(linked, behind, linked);
            if !is_new {
                self.buckets.count_linked(linked, behind);
                self.set_linked(end);
                return;
            }
        }
    }

    /// Links all messages before a slot that are not; returns how many they are, and how many came to
    /// be behind others with another key.
    #[inline(never)]
    fn link_to<E>(&mut self, near: &mut [Entry<E, impl Sized>], end: u32) -> (u32, u32)
    where
        E: Envelope<Bits = B>,
    {
        let (mut linked, mut behind) = (0, 0);
        let mut slot = self.linked;
        while let Some(entries) = near.get_mut(slot as usize..end as usize)
            && !entries.is_empty()
        {
            let (buckets, hash) = self.buckets.parts();
            let (alone, passed) = link_alone(entries, slot, buckets, |envelope| {
                Some(hash.place(envelope.bits()))
            });
            linked += alone;
            slot += passed;
            // Those that have others before them.
            while slot < end
                && let Some(entry) = near.get_mut(slot as usize)
            {
                if entry.is_used() {
                    let bits = entry.key.bits();
                    let Some(bucket) = self.buckets.get_mut(hash.place(bits)) else {
                        return (linked, behind);
                    };
                    let Some(last) = bucket.push_behind(slot) else {
                        break;
                    };
                    entry.next = NIL;
                    linked += 1;
                    behind += link_behind(near, last, slot, |envelope| envelope.bits() != bits);
                }
                slot += 1;
            }
        }
        (linked, behind)
    }

    /// The earliest message for a fully specified receive.
    pub(super) fn find<E>(
        &mut self,
        near: &[Entry<E, impl Sized>],
        window: &Window,
        context: ContextId,
        bits: B,
    ) -> Found
    where
        E: Envelope<Bits = B>,
    {
        let place = self.buckets.place(bits);
        let (mut slot, mut visited) = (self.buckets.first(place), 0);
        while let Some(entry) = near.get(slot as usize) {
            visited += 1;
            if entry.key.bits() == bits && entry.key.context() == context {
                self.buckets.count(visited);
                return Found { slot, visited };
            }
            slot = entry.next;
        }
        self.buckets.count(visited);
        let mut found = self.find_pending(near, window, context, bits);
        found.visited += visited;
        found
    }

    /// A message leaves: takes it off the chain of its key, if it is on one, and out of the window.
    pub(super) fn drop_slot<E>(
        &mut self,
        near: &mut [Entry<E, impl Sized>],
        window: &mut Window,
        slot: u32,
    ) where
        E: Envelope<Bits = B>,
    {
        if slot < self.linked
            && let Some(entry) = near.get(slot as usize)
        {
            let place = self.buckets.place(entry.key.bits());
            let before = entry.prev;
            self.buckets.unlink(near, place, slot, before);
        }
        self.drop_from(window, slot);
    }

    pub(super) fn bytes(&self) -> usize {
        let views: usize = self.views.iter().map(WindowView::bytes).sum();
        self.buckets.bytes() + views + vec_bytes(&self.views)
    }

    pub(super) fn release(&mut self) {
        self.buckets.release();
        self.views = Vec::new();
        self.set_limit();
    }
}
