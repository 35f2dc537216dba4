//! The entries of both queues as nodes of one table.

use super::super::hash::Seed;
use super::super::key::{Key, is_receive, key_of_message, key_of_receive};
use super::chains::{HashedNodes, Nodes};
use crate::arrangement::Slabs;
use crate::envelope::{Envelope, MatchBits};
use crate::pattern::{BitsOf, Pattern};
use crate::slab::{NIL, SLOTS};

/// Marks the nodes of unexpected messages; slots are smaller.
const UNEXPECTED: u32 = SLOTS;

/// In place of a node or a slot: nothing has changed, and what was to be done is to be done again in a slower way.
pub(in crate::structures::indexed) const AGAIN: u32 = NIL;

/// Whether a search has found a slot.
#[inline(always)]
pub(in crate::structures::indexed) const fn is_slot(found: u32) -> bool {
    found < SLOTS
}

/// The node of the posted receive in a slot.
#[inline(always)]
pub(super) const fn posted(slot: u32) -> u32 {
    slot
}

/// The node of the unexpected message in a slot.
#[inline(always)]
pub(super) const fn unexpected(slot: u32) -> u32 {
    slot | UNEXPECTED
}

/// The slot of a valid node, in its queue.
#[inline(always)]
pub(in crate::structures::indexed) const fn slot_in(node: u32) -> u32 {
    node & !UNEXPECTED
}

/// Whether two nodes are of entries of the same queue. [`NIL`] counts for the queue of messages; it is
/// not a slot there either.
#[inline(always)]
pub(super) const fn are_of_one_queue(one: u32, other: u32) -> bool {
    (one ^ other) & UNEXPECTED == 0
}

/// The slot of a node, by queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    None,
    Posted(u32),
    Unexpected(u32),
}

#[inline(always)]
pub(super) const fn slot_of(node: u32) -> Slot {
    if node & UNEXPECTED == 0 {
        Slot::Posted(node)
    } else if node == NIL {
        Slot::None
    } else {
        Slot::Unexpected(node & !UNEXPECTED)
    }
}

/// The entries of both queues. The links `next` and `prev` are those of the slab; `chain` is
/// `home`.
pub(super) struct Both<'a, P: Pattern, R, M> {
    pub(super) slabs: &'a mut Slabs<P, R, M>,
    pub(super) seed: Seed,
}

/// Evaluates an expression for a node's entry, whichever queue it is in.
macro_rules! entry {
    ($self:ident, $node:ident, $get:ident, $entry:ident => $do:expr) => {
        if $node & UNEXPECTED == 0 {
            let $entry = $self.slabs.posted.$get($node);
            $do
        } else {
            let $entry = $self.slabs.unexpected.$get($node & !UNEXPECTED);
            $do
        }
    };
}

impl<P: Pattern, R, M> Nodes for Both<'_, P, R, M> {
    type Key = Key<BitsOf<P>>;

    #[inline(always)]
    fn has_key(&self, node: u32, key: Self::Key) -> bool {
        if node & UNEXPECTED == 0 {
            return is_receive(self.slabs.posted.entry_inline(node), key);
        }
        // Messages have no other key here than all of their bits.
        let envelope = &self.slabs.unexpected.entry_inline(node & !UNEXPECTED).key;
        envelope.bits() == key.bits
            && key.care == BitsOf::<P>::ALL
            && envelope.context() == key.context
    }

    #[inline(always)]
    fn chain(&self, node: u32) -> u32 {
        entry!(self, node, entry_inline, entry => entry.home)
    }

    #[inline(always)]
    fn next(&self, node: u32) -> u32 {
        entry!(self, node, entry_inline, entry => entry.next)
    }

    #[inline(always)]
    fn prev(&self, node: u32) -> u32 {
        entry!(self, node, entry_inline, entry => entry.prev)
    }

    #[inline(always)]
    fn set_chain(&mut self, node: u32, to: u32) {
        entry!(self, node, entry_inline_mut, entry => entry.home = to);
    }

    #[inline(always)]
    fn set_next(&mut self, node: u32, to: u32) {
        entry!(self, node, entry_inline_mut, entry => entry.next = to);
    }

    #[inline(always)]
    fn set_prev(&mut self, node: u32, to: u32) {
        entry!(self, node, entry_inline_mut, entry => entry.prev = to);
    }
}

impl<P: Pattern, R, M> HashedNodes for Both<'_, P, R, M> {
    #[inline]
    fn hash(&self, node: u32) -> u32 {
        if node & UNEXPECTED == 0 {
            return self
                .seed
                .hash(key_of_receive(&self.slabs.posted.entry_inline(node).key));
        }
        let envelope = self.slabs.unexpected.key(node & !UNEXPECTED);
        self.seed.hash(key_of_message(envelope, BitsOf::<P>::ALL))
    }
}
