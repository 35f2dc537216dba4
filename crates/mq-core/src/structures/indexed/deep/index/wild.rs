//! Posted receives with wildcards, and the step of a message while there are some.
//!
//! They are in a table of their own. With one table for all receives, a message would look at an entry of
//! the whole queue, anywhere in memory, for each class and mostly without a match. A table that is as
//! small as the wildcards are few shows that the bucket is empty.

use super::super::super::key::{Key, is_receive};
use super::super::chains::Probe;
use super::super::nodes::{AGAIN, Both, Slot, posted, slot_of, unexpected};
use super::Index;
use super::quick::promote_second;
use crate::arrangement::Slabs;
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::meter::{Meter, Queue};
use crate::pattern::Pattern;
use crate::slab::NIL;

/// The earliest of the receives that a message may take.
pub(super) struct Earliest {
    /// Where it is; no node if there is none.
    pub(super) probe: Probe,
    /// Its class, if it has a wildcard.
    pub(super) class: Option<usize>,
    /// Receives that were compared.
    pub(super) visited: u32,
}

/// Which receives with wildcards there are for a message.
#[derive(Clone, Copy)]
pub(in super::super) enum Wildcards {
    None,
    /// Those of this class, under a key that is the first in its bucket, and of which the earliest is
    /// in this slot.
    One {
        class: usize,
        bucket: u32,
        slot: u32,
    },
    /// Others, or several.
    Some,
}

impl<B: MatchBits> Index<B> {
    /// Indexes a receive that is newer than those indexed, or puts it on the list of those without a
    /// class. [`update_deviations`](Self::update_deviations) is to follow.
    #[inline(always)]
    pub(super) fn index_wildcard<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        slot: u32,
        key: Key<B>,
    ) where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if !self.classes.add_posted(key.care) {
            return self.leave_unindexed(slabs, slot);
        }
        let hash = self.seed.hash(key);
        let mut nodes = self.nodes(slabs);
        let keys = self.classes.posted();
        let wild = self.wild.get_or_insert_default();
        wild.put(&mut nodes, posted(slot), key, hash, keys);
    }

    /// Looks for the receives of a class with a key.
    #[inline(always)]
    fn probe_wildcards<P, R, M>(&self, slabs: &mut Slabs<P, R, M>, key: Key<B>) -> Probe
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let nodes = self.nodes(slabs);
        self.wild.as_ref().map_or(Probe::NOWHERE, |wild| {
            wild.probe(&nodes, key, self.seed.hash(key))
        })
    }

    /// The earliest of what was found under a message's exact key, if that is a receive, and of the
    /// candidates of all classes in use.
    #[inline(always)]
    pub(super) fn earliest<P, R, M>(
        &self,
        slabs: &mut Slabs<P, R, M>,
        context: ContextId,
        bits: B,
        exact: Probe,
    ) -> Earliest
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let mut best = Earliest {
            probe: exact,
            class: None,
            visited: 0,
        };
        let mut number = u64::MAX;
        if let Slot::Posted(slot) = slot_of(exact.node) {
            best.visited = 1;
            number = slabs.posted.entry_inline(slot).sequence;
        } else {
            best.probe.node = NIL;
        }
        for (i, care) in self.classes.masks_in_use() {
            let probe = self.probe_wildcards(slabs, Key::under(context, bits, care));
            if let Slot::Posted(slot) = slot_of(probe.node) {
                best.visited += 1;
                let sequence = slabs.posted.entry_inline(slot).sequence;
                if sequence < number {
                    number = sequence;
                    best.probe = probe;
                    best.class = Some(i);
                }
            }
        }
        best
    }

    /// Unlinks an indexed receive with a wildcard. [`update_deviations`](Self::update_deviations) is to
    /// follow.
    pub(super) fn unlink_wildcard<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        slot: u32,
        key: Key<B>,
    ) where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        self.classes.remove_posted(key.care);
        let hash = self.seed.hash(key);
        let nodes = &mut self.nodes(slabs);
        if let Some(wild) = &mut self.wild {
            wild.unlink(nodes, posted(slot), key, hash);
            wild.shrink_to(nodes, self.classes.posted());
        }
    }

    /// Unlinks the receive of a class that a probe has found. [`update_deviations`](Self::update_deviations)
    /// is to follow.
    #[inline(always)]
    pub(super) fn take_wildcard<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        probe: Probe,
        class: usize,
    ) where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        self.classes.remove_posted_of(class);
        let nodes = &mut self.nodes(slabs);
        if let Some(wild) = &mut self.wild {
            wild.unlink_first(nodes, probe);
            wild.shrink_to(nodes, self.classes.posted());
        }
    }

    /// The first class, and the bucket there, in which there may be a receive for a message, in an
    /// index that [has only wildcards](Self::has_only_wildcards), without a look at one: `None` if
    /// there is none for it.
    #[inline(always)]
    pub(in super::super) fn marked_class(
        &self,
        context: ContextId,
        bits: B,
    ) -> Option<(usize, u32)> {
        let wild = self.wild.as_ref()?;
        self.classes.masks_in_use().find_map(|(class, care)| {
            let hash = self.seed.hash(Key::under(context, bits, care));
            Some((class, wild.marked_bucket(hash)?))
        })
    }

    /// Which receives with wildcards a message may take, in such an index; the first may be those
    /// that [`marked_class`](Self::marked_class) has found.
    #[inline(always)]
    pub(in super::super) fn wildcards_for<P, R, M>(
        &self,
        slabs: &Slabs<P, R, M>,
        context: ContextId,
        bits: B,
        (first_class, first_bucket): (usize, u32),
    ) -> Wildcards
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let mut found = Wildcards::None;
        let Some(wild) = &self.wild else {
            return found;
        };
        for (class, care) in self.classes.masks_in_use() {
            if class < first_class {
                continue;
            }
            let key = Key::under(context, bits, care);
            let bucket = if class == first_class {
                first_bucket
            } else {
                match wild.marked_bucket(self.seed.hash(key)) {
                    Some(bucket) => bucket,
                    None => continue,
                }
            };
            let first = wild.first(bucket);
            let mut node = first;
            while let Slot::Posted(slot) = slot_of(node) {
                let entry = slabs.posted.entry_inline(slot);
                if is_receive(entry, key) {
                    match found {
                        Wildcards::None if first == node => {
                            found = Wildcards::One {
                                class,
                                bucket,
                                slot,
                            };
                        }
                        _ => return Wildcards::Some,
                    }
                    break;
                }
                node = entry.home;
            }
        }
        found
    }

    /// The step of a message that takes the first receive of one class, if little is to be done: that
    /// is alone with its key, or it and the next are near, and the bucket of the message's own key
    /// is empty or has one receive's key. Its node, unlinked, and how many were compared; [`AGAIN`]
    /// otherwise, or if the message takes another.
    #[inline(always)]
    pub(in super::super) fn take_wildcard_quick<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        (class, bucket, slot): (usize, u32, u32),
    ) -> (u32, u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        const OTHERWISE: (u32, u32) = (AGAIN, 0);
        let entry = slabs.posted.entry_inline(slot);
        let mut visited = 1;
        match slot_of(self.chains.first(self.bucket_of(self.likely_bucket(key)))) {
            Slot::None => {}
            Slot::Posted(other) => {
                let other = slabs.posted.entry_inline(other);
                if other.key.bits() == key.bits && other.key.context() == key.context {
                    if other.sequence < entry.sequence {
                        return OTHERWISE;
                    }
                    visited = 2;
                } else if other.home != NIL {
                    return OTHERWISE;
                }
            }
            Slot::Unexpected(_) => return OTHERWISE,
        }
        let after = match entry.next {
            NIL => Some(entry.home),
            _ => promote_second(&mut slabs.posted, posted(slot)),
        };
        let (Some(after), Some(wild)) = (after, &mut self.wild) else {
            return OTHERWISE;
        };
        wild.set_first(bucket, after);
        self.classes.remove_posted_of(class);
        let left = self.classes.posted();
        let seed = self.seed;
        wild.shrink_to(&mut Both { slabs, seed }, left);
        if left == 0 {
            self.update_deviations();
        }
        (posted(slot), visited)
    }

    /// A step of a message while the index [has only wildcards](Self::has_only_wildcards): the node
    /// of the receive that takes it, unlinked, or the node of the slot reserved for it, linked and
    /// yet to be filled. [`AGAIN`] if no slot is free, or messages with the same key are queued.
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
        if self.is_crowded(slabs) {
            self.serve(slabs);
        }
        let exact = self.probe(slabs, Key::exact(context, bits));
        if let Slot::Unexpected(_) = slot_of(exact.node) {
            return AGAIN;
        }
        let Earliest {
            probe,
            class,
            visited,
        } = self.earliest(slabs, context, bits, exact);
        if probe.node == NIL {
            let Some(slot) = slabs.unexpected.reserve(exact.first) else {
                return AGAIN;
            };
            meter.visited(Queue::Posted, visited);
            self.chains.set_first(exact.bucket, unexpected(slot));
            if self.classes.views() > 0 {
                self.link_in_views(slabs, slot, Key::exact(context, bits));
            }
            return unexpected(slot);
        }
        meter.visited(Queue::Posted, visited);
        match class {
            None => self.unlink_first(slabs, probe),
            Some(class) => {
                self.take_wildcard(slabs, probe, class);
                if self.classes.posted() == 0 {
                    self.update_deviations();
                }
            }
        }
        probe.node
    }
}
