//! The steps of the deep form of `indexed`, [of receives](post) and [of messages](arrive), and
//! [halves](halves) of them.
//!
//! Each whole step returns the node where it ended: that of an unlinked entry of the searched queue, or
//! that of a slot of the other queue, reserved for the newcomer and linked, which the caller fills. So
//! only words pass between them.
//!
//! Buckets are added where storage adds slots, so that common steps count nothing. Steps that find two
//! other keys in their bucket check whether there are too many keys, since slots may have been those of
//! receives with wildcards, which need no bucket. A step that finds no free slot returns, and is repeated.

mod arrive;
mod halves;
mod post;

use super::Indexed;
use super::index::Index;
use super::nodes::{posted, slot_in, unexpected};
use crate::pattern::Pattern;
use crate::slab::SLOTS;

/// Whether a search has found a slot.
#[inline(always)]
pub(super) const fn is_slot(found: u32) -> bool {
    found < SLOTS
}

/// What is done before a step that needs room, and after one that takes an entry.
impl<P: Pattern, R, M> Indexed<P, R, M> {
    #[cold]
    #[inline(never)]
    pub(super) fn make_room_for_receive(&mut self, pattern: P) {
        if !self.posted.free_unused(&mut self.slabs.posted) {
            self.slabs.posted.make_room(pattern);
        }
        deep(&mut self.index).serve(&mut self.slabs);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn make_room_for_message(&mut self, envelope: P::Envelope) {
        if !self.unexpected.free_unused(&mut self.slabs.unexpected) {
            self.slabs.unexpected.make_room(envelope);
        }
        deep(&mut self.index).serve(&mut self.slabs);
    }

    /// An entry is off all lists and will be removed: returns its node, which may be another then.
    #[inline(always)]
    fn before_removal(&mut self, node: u32) -> u32 {
        let len = self.slabs.posted.len() + self.slabs.unexpected.len();
        if len <= deep(&mut self.index).low() {
            return self.shorten(len - 1, node);
        }
        node
    }

    /// [`before_removal`](Self::before_removal) of the receive in a slot: returns its slot.
    pub(super) fn before_removal_of_receive(&mut self, slot: u32) -> u32 {
        self.before_removal(posted(slot))
    }

    /// [`before_removal`](Self::before_removal) of the message in a slot: returns its slot.
    pub(super) fn before_removal_of_message(&mut self, slot: u32) -> u32 {
        slot_in(self.before_removal(unexpected(slot)))
    }
}

/// The index of deep queues.
#[inline(always)]
pub(super) fn deep<B>(index: &mut Option<Box<Index<B>>>) -> &mut Index<B> {
    match index {
        Some(index) => index,
        None => unreachable!("deep queues have an index"),
    }
}
