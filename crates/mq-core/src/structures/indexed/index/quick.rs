//! Steps on the index as one: a search, and where it is in vain a place for the newcomer. In three widths, from what is
//! nearly always so to everything.

use super::super::hash::Key;
use super::super::nodes::{Slot, is_receive, posted, slot_of, unexpected};
use super::Index;
use crate::arrangement::Slabs;
use crate::envelope::{Envelope, MatchBits};
use crate::meter::{Meter, Queue};
use crate::pattern::Pattern;
use crate::slab::NIL;

impl<B: MatchBits> Index<B> {
    /// [`post_exact`](Self::post_exact) if little is to be done: where the bucket and the slot are near, and the chain is
    /// empty or begins with the only message of the key. Otherwise [`NIL`], and nothing has changed.
    #[inline(always)]
    pub(in super::super) fn post_quick<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        place: u32,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some(first) = self.chains.near_first(place) else {
            return NIL;
        };
        if first == NIL {
            let Some(slot) = slabs.posted.reserve_near(NIL) else {
                return NIL;
            };
            self.chains.set_near_first(place, posted(slot));
            return posted(slot);
        }
        let Slot::Unexpected(slot) = slot_of(first) else {
            return NIL;
        };
        let Some(entry) = slabs.unexpected.near_entry(slot) else {
            return NIL;
        };
        if entry.next == NIL
            && entry.key.bits() == key.bits
            && entry.key.context() == key.context
            && self.classes.views() == 0
        {
            self.chains.set_near_first(place, entry.home);
            return first;
        }
        NIL
    }

    /// [`post_exact`](Self::post_exact) where other keys share the bucket, but not for a key of which more than one
    /// entry is queued. Then [`NIL`], and nothing has changed.
    #[inline(always)]
    pub(in super::super) fn post_beside<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        place: u32,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let bucket = self.chains.bucket_of(place);
        let first = self.chains.first(bucket);
        let (mut node, mut before) = (first, NIL);
        loop {
            let after = match slot_of(node) {
                Slot::None => break,
                Slot::Unexpected(slot) => {
                    let entry = slabs.unexpected.entry_anywhere(slot);
                    let after = entry.home;
                    if entry.key.bits() == key.bits && entry.key.context() == key.context {
                        if entry.next != NIL {
                            return NIL;
                        }
                        if self.classes.views() > 0 {
                            self.classes.unlink(&slabs.unexpected, slot, self.seed);
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
    pub(in super::super) fn arrive_quick<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        place: u32,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some(first) = self.chains.near_first(place) else {
            return NIL;
        };
        if first == NIL {
            let Some(slot) = slabs.unexpected.reserve_near(NIL) else {
                return NIL;
            };
            self.chains.set_near_first(place, unexpected(slot));
            return unexpected(slot);
        }
        let Slot::Posted(slot) = slot_of(first) else {
            return NIL;
        };
        // While the index is plain all posted receives are fully specified.
        let Some(entry) = slabs.posted.near_entry(slot) else {
            return NIL;
        };
        if entry.next == NIL && entry.key.bits() == key.bits && entry.key.context() == key.context {
            self.chains.set_near_first(place, entry.home);
            return first;
        }
        NIL
    }

    /// [`arrive_plain`](Self::arrive_plain), as [`post_beside`](Self::post_beside).
    #[inline(always)]
    pub(in super::super) fn arrive_beside<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        place: u32,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let bucket = self.chains.bucket_of(place);
        let first = self.chains.first(bucket);
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
    pub(in super::super) fn post_exact<P, R, M>(
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
    pub(in super::super) fn arrive_plain<P, R, M>(
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
}
