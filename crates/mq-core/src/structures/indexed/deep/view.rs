//! A view: the unexpected messages as one class of wildcard receives sees them.

use super::super::hash::Seed;
use super::super::key::{Key, key_of_message};
use super::chains::{Chains, HashedNodes, Nodes, append};
use super::filling::Filling;
use super::paged::Paged;
use crate::envelope::{Envelope, MatchBits};
use crate::slab::{NIL, Slab};

/// The links of one message in the view, and its hash there: by the hash, messages of other keys are
/// recognised without a look at them, and a message that leaves is not hashed again.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    chain: u32,
    next: u32,
    prev: u32,
    hash: u32,
}

/// What messages are found by, and its hash.
#[derive(Clone, Copy, Debug)]
struct Hashed<B> {
    key: Key<B>,
    hash: u32,
}

/// Keeping one message in a view, from arrival to removal, takes as long as a look at this many slots.
pub(super) const KEEPING: u32 = 40;

/// Linking a message for which there is no memory yet takes as long as linking this many others.
const PAGE_COST: usize = 256;

/// A look at more slots than this, most of them far, takes so long that a class that searches at all is
/// better served by a view, whatever that costs arrivals.
pub(super) const LONG: u32 = crate::slab::NEAR as u32;

/// How many messages a view is maintained for without being used, plus four for each that it has held:
/// rebuilding it costs no less.
const PATIENCE: u32 = 256;

/// What a view of `messages` messages may cost without being used, in looks at a slot.
const fn patience(messages: u32) -> u32 {
    messages
        .saturating_mul(4)
        .saturating_add(PATIENCE)
        .saturating_mul(KEEPING)
}

/// The messages by what is left of their bits under one mask, in a table of their own: 16 bytes for
/// each slot and some 7.5 for each key.
#[derive(Debug)]
pub(super) struct View<B> {
    care: B,
    chains: Chains,
    links: Paged<Link>,
    /// What is not linked yet, if messages were there before the view.
    filling: Option<Box<Filling>>,
    /// The most messages that there were since the view was begun.
    most: u32,
    /// Looks at a slot that it has saved, less what it has cost, up to its [`patience`].
    credit: u32,
    /// How often receives have asked since the view was begun, up to what the counter holds.
    times_asked: u8,
}

impl<B: MatchBits> Default for View<B> {
    fn default() -> Self {
        Self {
            care: B::ZERO,
            chains: Chains::default(),
            links: Paged::new(),
            filling: None,
            most: 0,
            credit: 0,
            times_asked: 0,
        }
    }
}

/// The nodes of a view are the slots of the messages.
struct Seen<'a, E: Envelope, M> {
    links: &'a mut Paged<Link>,
    unexpected: &'a Slab<E, M>,
    care: E::Bits,
}

impl<E: Envelope, M> Nodes for Seen<'_, E, M> {
    type Key = Hashed<E::Bits>;

    #[inline]
    fn has_key(&self, node: u32, Hashed { key, hash }: Self::Key) -> bool {
        if self.links.get(node).hash != hash {
            return false;
        }
        let envelope = self.unexpected.key(node);
        envelope.bits() & self.care == key.bits && envelope.context() == key.context
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

impl<E: Envelope, M> HashedNodes for Seen<'_, E, M> {
    #[inline]
    fn hash(&self, node: u32) -> u32 {
        self.links.get(node).hash
    }
}

impl<B: MatchBits> View<B> {
    /// Makes an empty view, whose messages have all left, one under a mask, in which there will be
    /// this many.
    pub(super) fn begin(&mut self, care: B, messages: u32) {
        self.care = care;
        self.most = 0;
        self.credit = patience(0);
        self.times_asked = 0;
        self.chains.prepare(messages);
    }

    /// [Begins](Self::begin) with all messages there are, which searches are to [fill](Self::fill) in.
    pub(super) fn take_up<E, M>(&mut self, care: B, unexpected: &Slab<E, M>)
    where
        E: Envelope<Bits = B>,
    {
        self.begin(care, unexpected.len());
        self.filling = Some(Box::default());
    }

    /// Links some messages, `part` of them at most, if not all are linked.
    #[inline]
    pub(super) fn fill<E: Envelope<Bits = B>, M>(
        &mut self,
        unexpected: &Slab<E, M>,
        seed: Seed,
        part: usize,
    ) {
        if let Some(filling) = self.filling.take() {
            self.fill_some(filling, unexpected, seed, part);
        }
    }

    #[cold]
    #[inline(never)]
    fn fill_some<E: Envelope<Bits = B>, M>(
        &mut self,
        mut filling: Box<Filling>,
        unexpected: &Slab<E, M>,
        seed: Seed,
        part: usize,
    ) {
        let are_all = filling.go_on(unexpected, part, |slot| {
            let cost = if self.links.has_page_of(slot) {
                1
            } else {
                PAGE_COST
            };
            let key = key_of_message(unexpected.key(slot), B::ALL);
            self.link(unexpected, slot, key, seed);
            cost
        });
        self.filling = (!are_all).then_some(filling);
    }

    /// Whether a search that finds nothing has to look at the messages that are not linked.
    #[inline(always)]
    pub(super) const fn is_filling(&self) -> bool {
        self.filling.is_some()
    }

    /// All messages have left, and the view is kept for its memory.
    pub(super) fn rest(&mut self) {
        self.filling = None;
        self.links.rest();
    }

    /// A receive asks, which would otherwise have looked at this many slots.
    fn asked(&mut self, slots: u32) {
        let saved = if slots > LONG { u32::MAX } else { slots };
        self.credit = self.credit.saturating_add(saved).min(patience(self.most));
        self.times_asked = self.times_asked.saturating_add(1);
    }

    /// How often receives have asked since the view was begun, or 255 if oftener.
    pub(super) const fn times_asked(&self) -> u8 {
        self.times_asked
    }

    /// Whether the view has been worthwhile: each message was linked once, and each search by a receive
    /// saved a look at all of them.
    pub(super) const fn was_worth_it(&self) -> bool {
        self.times_asked as u32 >= KEEPING || self.times_asked > 0 && self.most > LONG
    }

    /// Whether an empty one has no more memory than any view.
    pub(super) const fn is_small(&self) -> bool {
        self.chains.is_small()
    }

    /// The earliest message that a receive of the class with this key takes.
    pub(super) fn find<E: Envelope<Bits = B>, M>(
        &mut self,
        key: Key<B>,
        seed: Seed,
        unexpected: &Slab<E, M>,
    ) -> Option<u32> {
        self.asked(unexpected.slots());
        let hash = seed.hash(key);
        let (chains, seen) = self.parts(unexpected);
        let found = chains.probe(&seen, Hashed { key, hash }, hash).node;
        (found != NIL).then_some(found)
    }

    /// The earliest message that a receive of the class with this key takes, unlinked.
    pub(super) fn take<E: Envelope<Bits = B>, M>(
        &mut self,
        key: Key<B>,
        seed: Seed,
        unexpected: &Slab<E, M>,
    ) -> Option<u32> {
        self.asked(unexpected.slots());
        let hash = seed.hash(key);
        let (chains, mut seen) = self.parts(unexpected);
        let probe = chains.probe(&seen, Hashed { key, hash }, hash);
        if probe.node == NIL {
            return None;
        }
        chains.unlink_first(&mut seen, probe);
        self.after_unlinking(unexpected, probe.node);
        Some(probe.node)
    }

    /// Links the newest message, whose key may not be in its slot yet; or leaves it to [`fill`](Self::fill).
    #[inline(always)]
    pub(super) fn link<E: Envelope<Bits = B>, M>(
        &mut self,
        unexpected: &Slab<E, M>,
        slot: u32,
        key: Key<B>,
        seed: Seed,
    ) {
        let messages = unexpected.len();
        if messages > self.most {
            self.grow_to(messages);
        }
        self.credit = self.credit.saturating_sub(KEEPING);
        if self.is_filling() {
            return;
        }
        let key = Key::under(key.context, key.bits, self.care);
        let hash = seed.hash(key);
        let (chains, mut seen) = self.parts(unexpected);
        chains.serve(&mut seen, messages);
        let bucket = chains.bucket(hash);
        let probe = chains.probe_bucket(&seen, Hashed { key, hash }, bucket);
        let link = seen.links.take(slot);
        // One by one: made elsewhere first, it would be copied whole before its parts are in the cache.
        link.hash = hash;
        link.next = NIL;
        link.prev = NIL;
        if probe.node == NIL {
            link.chain = probe.first;
            return chains.set_first(bucket, slot);
        }
        link.chain = NIL;
        append(&mut seen, probe.node, slot);
    }

    /// There are more messages than before.
    #[cold]
    #[inline(never)]
    fn grow_to(&mut self, messages: u32) {
        let more = patience(messages) - patience(self.most);
        self.credit = self.credit.saturating_add(more);
        self.most = messages;
    }

    /// Unlinks a message that is leaving.
    #[inline(always)]
    pub(super) fn unlink<E: Envelope<Bits = B>, M>(&mut self, unexpected: &Slab<E, M>, slot: u32) {
        if let Some(filling) = &self.filling
            && !filling.has_linked(unexpected, slot)
        {
            return;
        }
        let link = *self.links.get(slot);
        let bucket = self.chains.bucket(link.hash);
        if link.next == NIL && self.chains.first(bucket) == slot {
            self.chains.set_first(bucket, link.chain);
        } else {
            let key = key_of_message(unexpected.key(slot), self.care);
            let hash = link.hash;
            let (chains, mut seen) = self.parts(unexpected);
            chains.unlink(&mut seen, slot, Hashed { key, hash }, hash);
        }
        self.after_unlinking(unexpected, slot);
    }

    #[inline(always)]
    fn after_unlinking<E: Envelope<Bits = B>, M>(&mut self, unexpected: &Slab<E, M>, slot: u32) {
        let left = unexpected.len() - 1;
        let (chains, mut seen) = self.parts(unexpected);
        chains.shrink_to(&mut seen, left);
        self.links.let_go(slot);
    }

    fn parts<'a, E: Envelope<Bits = B>, M>(
        &'a mut self,
        unexpected: &'a Slab<E, M>,
    ) -> (&'a mut Chains, Seen<'a, E, M>) {
        let seen = Seen {
            links: &mut self.links,
            unexpected,
            care: self.care,
        };
        (&mut self.chains, seen)
    }

    /// Whether maintaining the view has cost more than it has saved, and more than rebuilding it.
    pub(super) const fn is_stale(&self) -> bool {
        self.credit == 0
    }

    pub(super) fn bytes(&self) -> usize {
        let filling = self.filling.as_ref().map_or(0, |filling| filling.bytes());
        self.chains.bytes() + self.links.bytes() + filling
    }
}
