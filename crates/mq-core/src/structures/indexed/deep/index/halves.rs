//! Halves of quick steps, for callers that search first and queue later: where buckets and slots are
//! near, as in `quick.rs`, and the index has nothing else to look at.

use super::super::super::key::Key;
use super::super::nodes::{AGAIN, Slot, posted, slot_in, slot_of, unexpected};
use super::Index;
use crate::arrangement::Slabs;
use crate::envelope::{Envelope, MatchBits};
use crate::pattern::Pattern;
use crate::slab::NIL;

/// How a quick search has ended.
#[derive(Clone, Copy)]
pub(in super::super) enum QuickSearch {
    /// At the node of the wanted entry, unlinked.
    Found(u32),
    /// Nothing was found.
    Nothing,
    /// Undecided; nothing has changed.
    Otherwise,
}

impl<B: MatchBits> Index<B> {
    /// The receive with a key, unlinked, if it is the first in its bucket and the only one with it.
    #[inline(always)]
    pub(in super::super) fn take_receive_quick<P, R, M>(
        &mut self,
        slabs: &Slabs<P, R, M>,
        key: Key<B>,
    ) -> QuickSearch
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let likely = self.likely_bucket(key);
        let Some(first) = self.chains.near_first(likely) else {
            return QuickSearch::Otherwise;
        };
        if first == NIL {
            return QuickSearch::Nothing;
        }
        let Slot::Posted(slot) = slot_of(first) else {
            return match slabs.unexpected.near_entry(slot_in(first)) {
                Some(entry) if entry.key.bits() != key.bits && entry.home == NIL => {
                    QuickSearch::Nothing
                }
                _ => QuickSearch::Otherwise,
            };
        };
        let Some(entry) = slabs.posted.near_entry(slot) else {
            return QuickSearch::Otherwise;
        };
        if entry.key.bits() != key.bits || entry.key.context() != key.context || entry.next != NIL {
            return QuickSearch::Otherwise;
        }
        self.chains.set_near_first(likely, entry.home);
        QuickSearch::Found(first)
    }

    /// The message with a key, unlinked, if it is the first in its bucket and the only one with it.
    #[inline(always)]
    pub(in super::super) fn take_message_quick<P, R, M>(
        &mut self,
        slabs: &Slabs<P, R, M>,
        key: Key<B>,
    ) -> QuickSearch
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let likely = self.likely_bucket(key);
        let Some(first) = self.chains.near_first(likely) else {
            return QuickSearch::Otherwise;
        };
        if first == NIL {
            return QuickSearch::Nothing;
        }
        let Slot::Unexpected(slot) = slot_of(first) else {
            return match slabs.posted.near_entry(first) {
                Some(entry) if entry.key.bits() != key.bits && entry.home == NIL => {
                    QuickSearch::Nothing
                }
                _ => QuickSearch::Otherwise,
            };
        };
        let Some(entry) = slabs.unexpected.near_entry(slot) else {
            return QuickSearch::Otherwise;
        };
        if entry.key.bits() != key.bits || entry.key.context() != key.context || entry.next != NIL {
            return QuickSearch::Otherwise;
        }
        self.chains.set_near_first(likely, entry.home);
        QuickSearch::Found(first)
    }

    /// The slot reserved for a fully specified receive, linked and yet to be filled; [`AGAIN`]
    /// unless its bucket is near and has at most one receive, with another key, and a near slot is free.
    #[inline(always)]
    pub(in super::super) fn queue_receive_quick<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let likely = self.likely_bucket(key);
        let Some(first) = self.chains.near_first(likely) else {
            return AGAIN;
        };
        if first != NIL {
            match slabs.posted.near_entry(first) {
                Some(entry) if entry.key.bits() != key.bits && entry.home == NIL => {}
                _ => return AGAIN,
            }
        }
        let Some(slot) = slabs.posted.reserve_near(first) else {
            return AGAIN;
        };
        self.chains.set_near_first(likely, posted(slot));
        slot
    }

    /// The slot reserved for a message, linked and yet to be filled; [`AGAIN`] unless its
    /// bucket is near and has at most one message, with another key, and a near slot is free.
    #[inline(always)]
    pub(in super::super) fn queue_message_quick<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let likely = self.likely_bucket(key);
        let Some(first) = self.chains.near_first(likely) else {
            return AGAIN;
        };
        if first != NIL {
            match slot_of(first) {
                Slot::Unexpected(slot) => match slabs.unexpected.near_entry(slot) {
                    Some(entry) if entry.key.bits() != key.bits && entry.home == NIL => {}
                    _ => return AGAIN,
                },
                _ => return AGAIN,
            }
        }
        let Some(slot) = slabs.unexpected.reserve_near(first) else {
            return AGAIN;
        };
        self.chains.set_near_first(likely, unexpected(slot));
        slot
    }
}
