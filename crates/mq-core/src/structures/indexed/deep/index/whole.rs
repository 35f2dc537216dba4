//! Whole steps on the index: a search and, if it finds nothing, a place for the newcomer, whatever is in the bucket.
//! [`quick`](super::quick) has the same for the cases that need less.

use super::super::super::key::Key;
use super::super::nodes::{AGAIN, Slot, posted, slot_of, unexpected};
use super::Index;
use crate::arrangement::Slabs;
use crate::envelope::{Envelope, MatchBits};
use crate::meter::{Meter, Queue};
use crate::pattern::Pattern;

impl<B: MatchBits> Index<B> {
    /// A step of a fully specified receive: the node of the message that it takes, unlinked, or the
    /// node of the slot reserved for it, linked and yet to be filled. [`AGAIN`] if there is
    /// no slot.
    #[inline(always)]
    pub(in super::super) fn post_whole<P, R, M>(
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
                self.classes.unlink(&nodes.slabs.unexpected, slot);
            }
            self.chains.unlink_first(nodes, probe);
            return probe.node;
        }
        let Some(slot) = nodes.slabs.posted.reserve(probe.first) else {
            return AGAIN;
        };
        meter.visited(Queue::Unexpected, 0);
        self.chains.link_new(nodes, probe, posted(slot));
        posted(slot)
    }

    /// A step of a message while the index [is plain](Self::is_plain): the node of the receive that
    /// takes it, unlinked, or the node of the slot reserved for it, linked and yet to be filled.
    #[inline(always)]
    pub(in super::super) fn arrive_whole<P, R, M>(
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
            return AGAIN;
        };
        meter.visited(Queue::Posted, 0);
        self.chains.link_new(nodes, probe, unexpected(slot));
        unexpected(slot)
    }
}
