//! The index of the deep form: entries of either queue, found by what they must match exactly.

use super::chains::{Chains, Probe};
use super::classes::Classes;
use super::hash::{Key, Seed};
use super::nodes::{
    Both, Slot, is_receive, key_of_message, key_of_receive, posted, slot_of, unexpected,
};
use crate::arrangement::Slabs;
use crate::envelope::{Envelope, MatchBits};
use crate::fifo::Fifo;
use crate::meter::{Meter, Queue};
use crate::pattern::{Pattern, matches};
use crate::slab::NIL;

use super::super::best::Best;
use super::SHORT;

/// The mark of a receive that is on the list of those without a class. No node has this number.
const UNINDEXED: u32 = NIL - 1;

/// All entries by key, and the classes of wildcards in use.
///
/// The first node of a key stands for a queue: a receive that is posted and a message that is
/// unexpected never have the same key, or they would have matched.
#[derive(Debug)]
pub(super) struct Index<B> {
    chains: Chains,
    seed: Seed,
    classes: Classes<B>,
    /// Receives whose mask found no class, by slot.
    unindexed: Fifo,
    /// Where the last search of a step for an exact key has ended, if it found nothing.
    place: Probe,
    /// Removals that have left few entries.
    few: u32,
    /// With so many entries left something is to be done: see [`low`](Self::low).
    low: u32,
    /// Posted receives other than fully specified ones, and views: 0 if a step has nothing to look at but
    /// the table.
    special: u32,
}

impl<B: MatchBits> Index<B> {
    pub(super) fn new(seed: u32) -> Self {
        Self {
            chains: Chains::default(),
            seed: Seed::new(seed),
            classes: Classes::default(),
            unindexed: Fifo::EMPTY,
            place: Probe::NOWHERE,
            few: 0,
            low: SHORT,
            special: 0,
        }
    }

    /// After a change to the classes or the unindexed receives.
    #[inline(always)]
    fn count_special(&mut self) {
        self.special =
            self.classes.posted() + self.classes.views() + u32::from(!self.unindexed.is_empty());
    }

    /// Whether receives other than fully specified ones are posted.
    #[inline(always)]
    fn has_wildcards(&self) -> bool {
        self.classes.posted() > 0 || !self.unindexed.is_empty()
    }

    #[inline(always)]
    fn probe<P, R, M>(&self, slabs: &mut Slabs<P, R, M>, key: Key<B>) -> Probe
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let nodes = self.nodes(slabs);
        self.chains.probe(&nodes, key, self.seed.hash(key))
    }

    #[inline(always)]
    const fn nodes<'a, P: Pattern, R, M>(
        &self,
        slabs: &'a mut Slabs<P, R, M>,
    ) -> Both<'a, P, R, M> {
        let seed = self.seed;
        Both { slabs, seed }
    }

    /// Whether steps have to look beyond the table: at other masks, or at views.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        self.special == 0
    }

    /// With so many entries left the queues may become short, or the table smaller.
    #[inline(always)]
    pub(super) const fn low(&self) -> u32 {
        self.low
    }

    /// One more entry is to be queued: adds buckets if it needs them. Moves keys, so before a search.
    #[inline]
    pub(super) fn serve<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let keys = slabs.posted.len() + slabs.unexpected.len() + 1;
        let nodes = &mut self.nodes(slabs);
        self.chains.serve(nodes, keys);
        self.low = SHORT.max(self.chains.few());
    }

    /// Removes buckets that are too many for the entries left.
    pub(super) fn shrink<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let nodes = &mut self.nodes(slabs);
        self.chains.shrink(nodes);
        self.low = SHORT.max(self.chains.few());
    }

    /// [`post_exact`](Self::post_exact) if little is to be done: where the chain is empty or begins with the only
    /// message of the key. Otherwise [`NIL`], and nothing has changed.
    #[inline(always)]
    pub(super) fn post_quick<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, key: Key<B>) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some((bucket, first)) = self.chains.quick_first(self.seed.hash(key)) else {
            return NIL;
        };
        if first == NIL {
            let Some(slot) = slabs.posted.reserve(NIL) else {
                return NIL;
            };
            self.chains.set_quick_first(bucket, posted(slot));
            return posted(slot);
        }
        let Slot::Unexpected(slot) = slot_of(first) else {
            return NIL;
        };
        let entry = slabs.unexpected.entry_anywhere(slot);
        if entry.next == NIL
            && entry.key.bits() == key.bits
            && entry.key.context() == key.context
            && self.classes.views() == 0
        {
            self.chains.set_quick_first(bucket, entry.home);
            return first;
        }
        NIL
    }

    /// [`post_exact`](Self::post_exact) where other keys share the bucket, but not for a key of which more than one
    /// entry is queued, or a message that is to leave a view too. Then [`NIL`], and nothing has changed.
    #[inline(always)]
    pub(super) fn post_beside<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, key: Key<B>) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let (bucket, first) = self.chains.first(self.seed.hash(key));
        let (mut node, mut before) = (first, NIL);
        loop {
            let after = match slot_of(node) {
                Slot::None => break,
                Slot::Unexpected(slot) => {
                    let entry = slabs.unexpected.entry_anywhere(slot);
                    let after = entry.home;
                    if entry.key.bits() == key.bits && entry.key.context() == key.context {
                        if entry.next != NIL || self.classes.views() > 0 {
                            return NIL;
                        }
                        let nodes = &mut self.nodes(slabs);
                        self.chains.drop_alone(nodes, bucket, before, after);
                        return node;
                    }
                    after
                }
                Slot::Posted(slot) => {
                    let entry = slabs.posted.entry_anywhere(slot);
                    if is_receive(entry, key) {
                        return NIL;
                    }
                    entry.home
                }
            };
            before = node;
            node = after;
        }
        let Some(slot) = slabs.posted.reserve(first) else {
            return NIL;
        };
        self.chains.set_first(bucket, posted(slot));
        posted(slot)
    }

    /// [`arrive_plain`](Self::arrive_plain), as [`post_quick`](Self::post_quick).
    #[inline(always)]
    pub(super) fn arrive_quick<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, key: Key<B>) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some((bucket, first)) = self.chains.quick_first(self.seed.hash(key)) else {
            return NIL;
        };
        if first == NIL {
            let Some(slot) = slabs.unexpected.reserve(NIL) else {
                return NIL;
            };
            self.chains.set_quick_first(bucket, unexpected(slot));
            return unexpected(slot);
        }
        let Slot::Posted(slot) = slot_of(first) else {
            return NIL;
        };
        // While the index is plain all posted receives are fully specified.
        let entry = slabs.posted.entry_anywhere(slot);
        if entry.next == NIL && entry.key.bits() == key.bits && entry.key.context() == key.context {
            self.chains.set_quick_first(bucket, entry.home);
            return first;
        }
        NIL
    }

    /// [`arrive_plain`](Self::arrive_plain), as [`post_beside`](Self::post_beside).
    #[inline(always)]
    pub(super) fn arrive_beside<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, key: Key<B>) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let (bucket, first) = self.chains.first(self.seed.hash(key));
        let (mut node, mut before) = (first, NIL);
        loop {
            let after = match slot_of(node) {
                Slot::None => break,
                Slot::Posted(slot) => {
                    // While the index is plain all posted receives are fully specified.
                    let entry = slabs.posted.entry_anywhere(slot);
                    let after = entry.home;
                    if entry.key.bits() == key.bits && entry.key.context() == key.context {
                        if entry.next != NIL {
                            return NIL;
                        }
                        let nodes = &mut self.nodes(slabs);
                        self.chains.drop_alone(nodes, bucket, before, after);
                        return node;
                    }
                    after
                }
                Slot::Unexpected(slot) => {
                    let entry = slabs.unexpected.entry_anywhere(slot);
                    if entry.key.bits() == key.bits && entry.key.context() == key.context {
                        return NIL;
                    }
                    entry.home
                }
            };
            before = node;
            node = after;
        }
        let Some(slot) = slabs.unexpected.reserve(first) else {
            return NIL;
        };
        self.chains.set_first(bucket, unexpected(slot));
        unexpected(slot)
    }

    /// A step of a fully specified receive: the node of the message that it takes, unlinked, or the node
    /// of the slot reserved for it, linked and yet to be filled. [`NIL`], and nothing has changed, if there is no slot.
    #[inline(always)]
    pub(super) fn post_exact<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let nodes = &mut self.nodes(slabs);
        let probe = self.chains.probe(nodes, key, self.seed.hash(key));
        if let Slot::Unexpected(slot) = slot_of(probe.node) {
            meter.visited(Queue::Unexpected, 1);
            if self.classes.views() > 0 {
                self.classes
                    .unlink(&nodes.slabs.unexpected, slot, self.seed);
            }
            self.chains.unlink_first(nodes, probe);
            return probe.node;
        }
        let Some(slot) = nodes.slabs.posted.reserve(probe.first) else {
            return NIL;
        };
        meter.visited(Queue::Unexpected, 0);
        self.chains.link_new(nodes, probe, posted(slot));
        posted(slot)
    }

    /// A step of a message while the index [is plain](Self::is_plain): the node of the receive that takes
    /// it, unlinked, or the node of the slot reserved for it, linked and yet to be filled.
    #[inline(always)]
    pub(super) fn arrive_plain<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let nodes = &mut self.nodes(slabs);
        let probe = self.chains.probe(nodes, key, self.seed.hash(key));
        if let Slot::Posted(_) = slot_of(probe.node) {
            meter.visited(Queue::Posted, 1);
            self.chains.unlink_first(nodes, probe);
            return probe.node;
        }
        let Some(slot) = nodes.slabs.unexpected.reserve(probe.first) else {
            return NIL;
        };
        meter.visited(Queue::Posted, 0);
        self.chains.link_new(nodes, probe, unexpected(slot));
        unexpected(slot)
    }

    /// The message that a receive takes, unlinked; or [`NIL`], and
    /// [`link_exact_receive`](Self::link_exact_receive) or [`link_posted`](Self::link_posted) may follow.
    #[inline(always)]
    pub(super) fn unlink_message_for<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if key.care != B::ALL {
            return self.unlink_message_for_wildcard(slabs, key, meter);
        }
        let probe = self.probe(slabs, key);
        let Slot::Unexpected(slot) = slot_of(probe.node) else {
            meter.visited(Queue::Unexpected, 0);
            self.place = probe;
            return NIL;
        };
        meter.visited(Queue::Unexpected, 1);
        if self.classes.views() > 0 {
            self.classes.unlink(&slabs.unexpected, slot, self.seed);
        }
        let nodes = &mut self.nodes(slabs);
        self.chains.unlink_first(nodes, probe);
        slot
    }

    #[inline(never)]
    fn unlink_message_for_wildcard<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let found = self.find_unexpected(slabs, key, meter);
        let Some(slot) = found else { return NIL };
        self.unlink_unexpected(slabs, slot);
        slot
    }

    /// The receive that takes a message, unlinked; or [`NIL`], and
    /// [`link_message`](Self::link_message) may follow.
    #[inline(always)]
    pub(super) fn unlink_receive_for<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let probe = self.probe(slabs, key_of_message(envelope, B::ALL));
        if self.has_wildcards() {
            return self.unlink_earliest(slabs, envelope, probe, meter);
        }
        let Slot::Posted(slot) = slot_of(probe.node) else {
            meter.visited(Queue::Posted, 0);
            self.place = probe;
            return NIL;
        };
        meter.visited(Queue::Posted, 1);
        let nodes = &mut self.nodes(slabs);
        self.chains.unlink_first(nodes, probe);
        slot
    }

    #[inline(never)]
    fn unlink_earliest<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        envelope: &P::Envelope,
        exact: Probe,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some(slot) = self.earliest_posted(slabs, envelope, exact, meter) else {
            self.place = exact;
            return NIL;
        };
        if posted(slot) == exact.node {
            let nodes = &mut self.nodes(slabs);
            self.chains.unlink_first(nodes, exact);
        } else {
            self.unlink_posted(slabs, slot);
        }
        slot
    }

    /// The earliest of an exact candidate and the candidates of all wildcard classes in use.
    #[inline(never)]
    fn earliest_posted<P, R, M>(
        &self,
        slabs: &mut Slabs<P, R, M>,
        envelope: &P::Envelope,
        exact: Probe,
        meter: &mut impl Meter,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let mut best = Best::NONE;
        if let Slot::Posted(slot) = slot_of(exact.node) {
            best.consider(slot, &slabs.posted);
        }
        for care in self.classes.masks_posted() {
            let probe = self.probe(slabs, key_of_message(envelope, care));
            if let Slot::Posted(slot) = slot_of(probe.node) {
                best.consider(slot, &slabs.posted);
            }
        }
        if !self.unindexed.is_empty() {
            best.search(self.unindexed, &slabs.posted, |p| matches(p, envelope));
        }
        meter.visited(Queue::Posted, best.visited);
        best.slot
    }

    /// The earliest posted receive that matches a message.
    pub(super) fn find_posted<P, R, M>(
        &self,
        slabs: &mut Slabs<P, R, M>,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let probe = self.probe(slabs, key_of_message(envelope, B::ALL));
        self.earliest_posted(slabs, envelope, probe, meter)
    }

    /// The earliest unexpected message that a receive with this key matches.
    pub(super) fn find_unexpected<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        meter: &mut impl Meter,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let found = if key.care == B::ALL {
            match slot_of(self.probe(slabs, key).node) {
                Slot::Unexpected(slot) => Some(slot),
                _ => None,
            }
        } else if slabs.unexpected.is_empty() {
            None
        } else if let Some(view) = self.classes.view(key.care, &slabs.unexpected, self.seed) {
            let found = view.find(key, self.seed, &slabs.unexpected);
            self.count_special();
            found
        } else {
            // A mask without a view asks every message.
            let messages = &slabs.unexpected;
            meter.visited(Queue::Unexpected, messages.len());
            return messages.earliest(|envelope| key.admits(envelope));
        };
        meter.visited(Queue::Unexpected, u32::from(found.is_some()));
        found
    }

    /// The `home` to store an entry with that was just looked for in vain.
    #[inline(always)]
    pub(super) const fn home(&self) -> u32 {
        self.place.first
    }

    /// Links a message that was looked for in vain and is now stored, with [`home`](Self::home).
    #[inline(always)]
    pub(super) fn link_message<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let place = self.place;
        let nodes = &mut self.nodes(slabs);
        self.chains.link_new(nodes, place, unexpected(slot));
        if self.classes.views() > 0 {
            self.classes.link(&slabs.unexpected, slot, self.seed);
            self.count_special();
        }
    }

    /// Links the newest posted receive of any kind, whatever its links say.
    pub(super) fn link_posted<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let key = key_of_receive(slabs.posted.key(slot));
        if key.care != B::ALL {
            let indexed = self.classes.add_posted(key.care);
            if !indexed {
                slabs.posted.set_home(slot, UNINDEXED);
                self.unindexed.push_back(&mut slabs.posted, slot);
            }
            self.count_special();
            if !indexed {
                return;
            }
        }
        slabs.posted.set_home(slot, NIL);
        self.serve(slabs);
        let probe = self.probe(slabs, key);
        let nodes = &mut self.nodes(slabs);
        self.chains.link(nodes, probe, posted(slot));
    }

    /// Links the newest unexpected message, whatever its links say.
    pub(super) fn link_unexpected<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        self.serve(slabs);
        let key = key_of_message(slabs.unexpected.key(slot), B::ALL);
        let probe = self.probe(slabs, key);
        let nodes = &mut self.nodes(slabs);
        self.chains.link(nodes, probe, unexpected(slot));
        if self.classes.views() > 0 {
            self.classes.link(&slabs.unexpected, slot, self.seed);
            self.count_special();
        }
    }

    /// Unlinks a posted receive, wherever it is.
    pub(super) fn unlink_posted<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if slabs.posted.home(slot) == UNINDEXED {
            self.unindexed.unlink(&mut slabs.posted, slot);
            return self.count_special();
        }
        let key = key_of_receive(slabs.posted.key(slot));
        if key.care != B::ALL {
            self.classes.remove_posted(key.care);
            self.count_special();
        }
        let nodes = &mut self.nodes(slabs);
        self.chains
            .unlink(nodes, posted(slot), key, self.seed.hash(key));
    }

    /// Unlinks an unexpected message, wherever it is.
    pub(super) fn unlink_unexpected<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if self.classes.views() > 0 {
            self.classes.unlink(&slabs.unexpected, slot, self.seed);
        }
        let key = key_of_message(slabs.unexpected.key(slot), B::ALL);
        let nodes = &mut self.nodes(slabs);
        self.chains
            .unlink(nodes, unexpected(slot), key, self.seed.hash(key));
    }

    /// One more removal has left few entries: whether there have been so many since the queues became
    /// deep that they pay for a look at all slots.
    pub(super) const fn has_paid_for(&mut self, slots: usize) -> bool {
        self.few += 1;
        self.few as usize * 4 >= slots
    }

    /// All entries have been unlinked: forgets the classes of wildcards.
    pub(super) fn rest(&mut self) {
        self.classes.rest();
        self.unindexed = Fifo::EMPTY;
        self.special = 0;
        self.few = 0;
        self.chains.rest();
        self.low = SHORT.max(self.chains.few());
    }

    /// Wildcard classes for which messages are indexed.
    #[cfg(test)]
    pub(super) const fn views(&self) -> u32 {
        self.classes.views()
    }

    /// Heap bytes, those of this object included.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.chains.bytes() + self.classes.bytes()
    }
}
