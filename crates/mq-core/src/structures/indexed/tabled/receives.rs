//! The tables of posted receives.

mod linking;
mod wildcards;

use super::super::hash::Seed;
use super::buckets::Buckets;
use super::links::find_pending;
use super::wild::Wild;
use super::{Found, NOT_LINKED, OTHERWISE, TABLES_KEEP};
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::pattern::{BitsOf, Pattern, matches};
use crate::slab::{Entry, NIL, Window};

/// In place of a slot: a receive with a wildcard is earlier than what the message has found, if it takes the message.
pub(super) const WILDCARD_FIRST: u32 = NOT_LINKED;

/// Whether there is a receive in a slot, and it takes a message.
#[inline(always)]
fn takes<P: Pattern, R>(entry: &Entry<P, R>, context: ContextId, bits: BitsOf<P>) -> bool {
    let pattern = &entry.key;
    entry.is_used()
        && (pattern.bits() ^ bits) & pattern.care() == MatchBits::ZERO
        && pattern.context() == context
}

/// All receives of a window: the fully specified ones by their bits, the others in a table of
/// [their own](Wild).
#[derive(Debug)]
pub(super) struct Receives<B> {
    buckets: Buckets,
    /// The slot of the first that is not linked; all before are.
    linked: u32,
    /// Where a window may end whose searches need nothing but a bucket, and what is not linked; 0
    /// while linked receives have wildcards.
    limit: u32,
    /// No receive is in a slot before this.
    first: u32,
    /// How many may be left that are not linked.
    pending: u32,
    wild: Wild<B>,
}

impl<B: MatchBits> Receives<B> {
    pub(super) const fn new(seed: Seed, pending: u32) -> Self {
        Self {
            buckets: Buckets::new(seed),
            linked: 0,
            limit: 0,
            first: 0,
            pending,
            wild: Wild::new(seed),
        }
    }

    /// The window begins to be tabled, with this slot: nothing is linked.
    pub(super) fn start_at(&mut self, first: u32) {
        debug_assert!(
            self.buckets.are_empty(),
            "all receives were taken off their chains"
        );
        self.wild.start();
        self.set_first(first);
    }

    /// What is linked is so no more: the window begins with this slot, and its entries may have moved.
    pub(super) fn forget_links(&mut self, first: u32) {
        self.buckets.forget();
        self.wild.forget();
        self.set_first(first);
    }

    const fn set_first(&mut self, first: u32) {
        self.linked = first;
        self.limit = first + self.pending;
        self.first = first;
    }

    /// All receives have left, each off its chain. Of long queues not everything is kept.
    pub(super) fn rest(&mut self) {
        if self.bytes() > TABLES_KEEP {
            self.wild.release();
        }
        self.linked = 0;
        self.limit = self.pending;
        self.first = 0;
    }

    /// All receives have been dropped, or are to be found otherwise: forgets also how many of them had
    /// wildcards.
    pub(super) fn clear(&mut self) {
        self.forget_links(0);
        self.wild.clear();
    }

    /// No receive is in a slot before this.
    pub(super) const fn first(&self) -> u32 {
        self.first
    }

    /// Whether so many receives of a window are not linked that they are to be.
    #[inline(always)]
    pub(super) const fn are_behind(&self, window: &Window) -> bool {
        window.end() > self.linked + self.pending
    }

    /// Whether they are not [behind](Self::are_behind), and no linked receive has a wildcard.
    #[inline(always)]
    pub(super) const fn are_plain(&self, window: &Window) -> bool {
        window.end() <= self.limit
    }

    /// Whether the tables are to begin anew, so that searches are short again.
    pub(super) const fn are_worn_out(&self) -> bool {
        self.buckets.is_worn_out() || self.wild.is_worn_out(&self.buckets)
    }

    /// Takes the receive for a message off its chain and out of the window, if it is the first of
    /// its bucket, in tables that [are plain](Self::are_plain): its slot, [`NIL`] if there is none,
    /// [`NOT_LINKED`] if it may only be one of those, or [`OTHERWISE`] if it may be any.
    #[inline(always)]
    pub(super) fn take_first<P, R>(
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
        // None has a wildcard.
        if entry.key.bits() != bits || entry.key.context() != context {
            return OTHERWISE;
        }
        bucket.drop_first(entry.next);
        if window.drop_tabled(slot) {
            self.linked = slot;
            self.limit = slot + self.pending;
        }
        slot
    }

    /// The slot of the one receive that is not linked, which takes the message, out of the window;
    /// `None` if there are more, or it does not.
    #[inline(always)]
    pub(super) fn take_only_pending<P, R>(
        &self,
        near: &[Entry<P, R>],
        window: &mut Window,
        context: ContextId,
        bits: B,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let slot = self.linked;
        match near.get(slot as usize) {
            Some(only) if window.ends_with(slot) && takes(only, context, bits) => {
                // Those that are linked end before it, also then.
                window.drop_tabled(slot);
                Some(slot)
            }
            _ => None,
        }
    }

    /// Takes the receive for a message out of the window, where it can only be one that is not
    /// linked.
    #[inline(always)]
    pub(super) fn take_pending<P, R>(
        &self,
        near: &[Entry<P, R>],
        window: &mut Window,
        envelope: &P::Envelope,
    ) -> Found
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let found = self.find_pending(near, window, envelope);
        if found.slot != NIL {
            // Those that are linked end before it, also then.
            window.drop_tabled(found.slot);
        }
        found
    }

    /// The earliest receive that takes a message, of those that are not linked.
    #[inline(always)]
    fn find_pending<P, R>(
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

    #[inline(always)]
    const fn set_limit(&mut self) {
        self.limit = match self.wild.is_empty() {
            true => self.linked + self.pending,
            false => 0,
        };
    }

    /// A receive leaves the window that was linked, and is off its chain.
    #[inline(always)]
    fn drop_linked(&mut self, window: &mut Window, slot: u32) {
        if window.drop_tabled(slot) {
            self.linked = self.linked.min(slot);
        }
        self.set_limit();
    }

    /// Takes the earliest receive for a message off its chain and out of the window: that of its key,
    /// or one with a wildcard, or else one that is not linked.
    #[inline(always)]
    pub(super) fn take<P, R>(
        &mut self,
        near: &mut [Entry<P, R>],
        window: &mut Window,
        envelope: &P::Envelope,
    ) -> Found
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let (context, bits) = (envelope.context(), envelope.bits());
        let place = self.buckets.place(bits);
        let exact = self.find_key(near, place, context, bits);
        let (candidate, more) = self.wild.find(near, context, bits, exact.slot);
        let visited = exact.visited + more;
        let slot = candidate.slot;
        if slot == NIL {
            let mut found = self.take_pending(near, window, envelope);
            found.visited += visited;
            return found;
        }
        if slot == exact.slot {
            let before = near.get(slot as usize).map_or(NIL, |entry| entry.prev);
            self.buckets.unlink(near, place, slot, before);
        } else {
            self.wild.unlink_found(near, candidate);
        }
        self.drop_linked(window, slot);
        Found { slot, visited }
    }

    /// The earliest receive for a message, which stays: that of its key, or one with a wildcard, or else
    /// one that is not linked.
    pub(super) fn find<P, R>(
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
        let place = self.buckets.place(bits);
        let exact = self.find_key(near, place, context, bits);
        let (candidate, more) = self.wild.find(near, context, bits, exact.slot);
        let (slot, visited) = (candidate.slot, exact.visited + more);
        if slot != NIL {
            return Found { slot, visited };
        }
        let mut found = self.find_pending(near, window, envelope);
        found.visited += visited;
        found
    }

    /// The earliest fully specified receive of a key, in its bucket.
    #[inline(always)]
    fn find_key<P, R>(
        &mut self,
        near: &[Entry<P, R>],
        place: usize,
        context: ContextId,
        bits: B,
    ) -> Found
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
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
            if entry.key.bits() == bits && entry.key.context() == context {
                break;
            }
            found.slot = entry.next;
        }
        self.buckets.count(found.visited);
        found
    }

    /// A receive leaves: takes it off its chain, if it is on one, and out of the window.
    pub(super) fn drop_slot<P, R>(
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
            if care == B::ALL {
                let place = self.buckets.place(bits);
                self.buckets.unlink(near, place, slot, before);
            } else {
                self.wild.unlink(near, slot, (bits, care), before);
            }
        }
        self.drop_linked(window, slot);
    }

    pub(super) const fn bytes(&self) -> usize {
        self.buckets.bytes() + self.wild.bytes()
    }

    pub(super) fn release(&mut self) {
        self.buckets.release();
        self.wild.release();
    }
}
