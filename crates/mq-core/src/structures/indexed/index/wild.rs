//! The step of a message while receives with wildcards are posted, or have been looking for
//! messages.

use super::super::chains::Probe;
use super::super::hash::Key;
use super::super::nodes::{Slot, is_receive, slot_of, unexpected};
use super::{Index, VIEWS, WILDCARDS};
use crate::arrangement::Slabs;
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::meter::{Meter, Queue};
use crate::pattern::Pattern;
use crate::slab::NIL;

/// A candidate: a probe that has found a receive, and its number; or none, and a number greater
/// than any.
#[derive(Clone, Copy)]
struct Candidate {
    probe: Probe,
    sequence: u64,
}

impl<B: MatchBits> Index<B> {
    /// Whether posted wildcards, all of them of some class, and views are all that a step has to
    /// look at beside the table.
    #[inline(always)]
    pub(in super::super) const fn has_only_wildcards(&self) -> bool {
        self.special & !(WILDCARDS | VIEWS) == 0
    }

    /// A step of a message while the index [has only wildcards](Self::has_only_wildcards): the node
    /// of the receive that takes it, unlinked, or the node of the slot reserved for it, linked and
    /// yet to be filled. [`NIL`], and nothing has changed, if no slot is free, or messages with the
    /// same key are queued.
    #[inline(always)]
    pub(in super::super) fn arrive_among_wildcards<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        context: ContextId,
        bits: B,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let key = |care| Key {
            context,
            bits: bits & care,
            care,
        };
        let Some(exact) = self.candidate(slabs, key(B::ALL)) else {
            return NIL;
        };
        let mut best = exact;
        let mut class = None;
        let mut visited = u32::from(exact.probe.node != NIL);
        for (i, care) in self.classes.masks_in_use() {
            let Some(found) = self.candidate(slabs, key(care)) else {
                return NIL;
            };
            visited += u32::from(found.probe.node != NIL);
            if found.sequence < best.sequence {
                best = found;
                class = Some(i);
            }
        }
        if best.probe.node == NIL {
            let Some(slot) = slabs.unexpected.reserve(exact.probe.first) else {
                return NIL;
            };
            meter.visited(Queue::Posted, visited);
            self.chains.set_first(exact.probe.bucket, unexpected(slot));
            if self.classes.views() > 0 {
                self.link_in_views(slabs, slot, key(B::ALL));
            }
            return unexpected(slot);
        }
        meter.visited(Queue::Posted, visited);
        self.take(slabs, best.probe);
        if let Some(class) = class {
            self.classes.remove_posted_of(class);
            if self.classes.posted() == 0 {
                self.count_special();
            }
        }
        best.probe.node
    }

    /// Looks for the first receive with a key. `None` if messages have it.
    #[inline(always)]
    fn candidate<P, R, M>(&self, slabs: &Slabs<P, R, M>, key: Key<B>) -> Option<Candidate>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let bucket = self.chains.bucket(self.seed.hash(key));
        let first = self.chains.first(bucket);
        let (mut node, mut before) = (first, NIL);
        let sequence = loop {
            let after = match slot_of(node) {
                Slot::None => break u64::MAX,
                Slot::Posted(slot) => {
                    let entry = slabs.posted.entry_anywhere(slot);
                    if is_receive(entry, key) {
                        break entry.sequence;
                    }
                    entry.home
                }
                Slot::Unexpected(slot) => {
                    let entry = slabs.unexpected.entry_anywhere(slot);
                    if key.care == B::ALL
                        && entry.key.bits() == key.bits
                        && entry.key.context() == key.context
                    {
                        return None;
                    }
                    entry.home
                }
            };
            before = node;
            node = after;
        };
        let probe = Probe {
            bucket,
            before,
            node,
            first,
        };
        Some(Candidate { probe, sequence })
    }

    /// Unlinks the receive that a probe has found.
    #[inline(always)]
    fn take<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, probe: Probe)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let entry = slabs.posted.entry_anywhere(probe.node);
        if entry.next != NIL {
            return self.unlink_first(slabs, probe);
        }
        let after = entry.home;
        let nodes = &mut self.nodes(slabs);
        self.chains
            .drop_alone(nodes, probe.bucket, probe.before, after);
    }
}
