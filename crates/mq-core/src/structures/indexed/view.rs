//! A view: the unexpected messages as one class of wildcard receives sees them.

use super::chains::{Chains, Nodes};
use super::hash::{Key, Seed};
use super::nodes::key_of_message;
use super::paged::Paged;
use crate::envelope::{Envelope, MatchBits};
use crate::slab::{NIL, Slab};

/// The links of one message in the view.
#[derive(Clone, Copy, Debug)]
struct Link {
    chain: u32,
    next: u32,
    prev: u32,
}

/// Messages that a view is kept up for without being asked, beside four for each slot.
const PATIENCE: usize = 256;

/// The messages by what is left of their bits under one mask, in a table of their own: 12 bytes for
/// each slot and some 6 for each key.
#[derive(Debug)]
pub(super) struct View<B> {
    care: B,
    chains: Chains,
    links: Paged<Link>,
    /// Slots that have been linked at some time.
    slots: usize,
    /// Messages linked since a receive last asked.
    unused: usize,
}

/// Links that even a small view has room for.
const LEAST_LINKS: usize = 1024;

impl<B: MatchBits> Default for View<B> {
    fn default() -> Self {
        Self {
            care: B::ZERO,
            chains: Chains::default(),
            links: Paged::new(),
            slots: 0,
            unused: 0,
        }
    }
}

/// The nodes of a view are the slots of the messages.
struct Seen<'a, E: Envelope, M> {
    links: &'a mut Paged<Link>,
    unexpected: &'a Slab<E, M>,
    care: E::Bits,
    seed: Seed,
}

impl<E: Envelope, M> Nodes for Seen<'_, E, M> {
    type Key = Key<E::Bits>;

    #[inline]
    fn has_key(&self, node: u32, key: Self::Key) -> bool {
        let envelope = self.unexpected.key(node);
        envelope.bits() & self.care == key.bits && envelope.context() == key.context
    }
    #[inline]
    fn hash(&self, node: u32) -> u32 {
        let envelope = self.unexpected.key(node);
        self.seed.hash(key_of_message(envelope, self.care))
    }
    #[inline]
    fn chain(&self, node: u32) -> u32 {
        self.links.get(node).chain
    }
    #[inline]
    fn next(&self, node: u32) -> u32 {
        self.links.get(node).next
    }
    #[inline]
    fn prev(&self, node: u32) -> u32 {
        self.links.get(node).prev
    }
    #[inline]
    fn set_chain(&mut self, node: u32, to: u32) {
        self.links.get_mut(node).chain = to;
    }
    #[inline]
    fn set_next(&mut self, node: u32, to: u32) {
        self.links.get_mut(node).next = to;
    }
    #[inline]
    fn set_prev(&mut self, node: u32, to: u32) {
        self.links.get_mut(node).prev = to;
    }
}

impl<B: MatchBits> View<B> {
    /// Makes an empty view, whose messages have all left, one of all messages there are, under a
    /// mask.
    pub(super) fn take_up<E: Envelope<Bits = B>, M>(
        &mut self,
        care: B,
        seed: Seed,
        unexpected: &Slab<E, M>,
    ) {
        self.care = care;
        self.slots = 0;
        for slot in unexpected.slots_in_order() {
            let key = key_of_message(unexpected.key(slot), B::ALL);
            self.link(unexpected, slot, key, seed);
        }
        self.unused = 0;
    }

    /// Whether it has no more memory than any view.
    pub(super) fn is_small(&self) -> bool {
        self.chains.is_small() && self.links.capacity() <= LEAST_LINKS
    }

    /// The earliest message that a receive of the class with this key takes.
    pub(super) fn find<E: Envelope<Bits = B>, M>(
        &mut self,
        key: Key<B>,
        seed: Seed,
        unexpected: &Slab<E, M>,
    ) -> Option<u32> {
        self.unused = 0;
        let (chains, seen) = self.parts(unexpected, seed);
        let found = chains.probe(&seen, key, seed.hash(key)).node;
        (found != NIL).then_some(found)
    }

    /// Links the newest message, whose key may not be in its slot yet.
    pub(super) fn link<E: Envelope<Bits = B>, M>(
        &mut self,
        unexpected: &Slab<E, M>,
        slot: u32,
        key: Key<B>,
        seed: Seed,
    ) {
        const UNLINKED: Link = Link {
            chain: NIL,
            next: NIL,
            prev: NIL,
        };
        self.unused += 1;
        self.slots = self.slots.max(slot as usize + 1);
        self.links.reach(slot, UNLINKED);
        let key = Key {
            bits: key.bits & self.care,
            care: self.care,
            ..key
        };
        let keys = unexpected.len();
        let (chains, mut seen) = self.parts(unexpected, seed);
        chains.serve(&mut seen, keys);
        let probe = chains.probe(&seen, key, seed.hash(key));
        chains.link(&mut seen, probe, slot);
    }

    /// Unlinks a message that is leaving.
    pub(super) fn unlink<E: Envelope<Bits = B>, M>(
        &mut self,
        unexpected: &Slab<E, M>,
        slot: u32,
        seed: Seed,
    ) {
        let key = key_of_message(unexpected.key(slot), self.care);
        let left = unexpected.len() - 1;
        let (chains, mut seen) = self.parts(unexpected, seed);
        chains.unlink(&mut seen, slot, key, seed.hash(key));
        chains.shrink_to(&mut seen, left);
    }

    fn parts<'a, E: Envelope<Bits = B>, M>(
        &'a mut self,
        unexpected: &'a Slab<E, M>,
        seed: Seed,
    ) -> (&'a mut Chains, Seen<'a, E, M>) {
        let seen = Seen {
            links: &mut self.links,
            unexpected,
            care: self.care,
            seed,
        };
        (&mut self.chains, seen)
    }

    /// Whether it has been kept up for longer than it would take to make it again.
    pub(super) const fn is_stale(&self) -> bool {
        self.unused > 4 * self.slots + PATIENCE
    }

    pub(super) fn bytes(&self) -> usize {
        self.chains.bytes() + self.links.bytes()
    }
}
