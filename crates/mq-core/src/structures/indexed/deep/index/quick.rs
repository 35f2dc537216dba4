//! Steps on the index, a search and, if it finds nothing, a place for the newcomer, in the widths below a
//! [whole](super::whole) one: the nearly universal case (`_quick`), several entries with the key (`_of_several`), and
//! other keys in the bucket (`_beside`).

use super::super::super::key::Key;
use super::super::chains::{Probe, append};
use super::super::nodes::{AGAIN, Slot, are_of_one_queue, posted, slot_in, slot_of, unexpected};
use super::Index;
use crate::arrangement::Slabs;
use crate::envelope::{Envelope, MatchBits};
use crate::pattern::Pattern;
use crate::slab::{NIL, Slab};

/// How a quick step has ended.
#[derive(Clone, Copy)]
pub(in super::super) enum Quick {
    /// At the node of the wanted entry, unlinked.
    Found(u32),
    /// At the node of the slot reserved for the newcomer, linked and yet to be filled.
    Queued(u32),
    /// At the first of several entries with the key; nothing has changed.
    Several,
    /// Anywhere else; nothing has changed.
    Beside,
}

/// What was found in a bucket, behind `before`.
const fn probe(bucket: u32, before: u32, node: u32) -> Probe {
    Probe {
        bucket,
        before,
        node,
        ..Probe::NOWHERE
    }
}

/// Makes the second of several entries with a key the first, in place of node `first`, except in the
/// bucket; returns its node. `None`, and nothing has changed, if one of the two is not near, or the
/// second is of the other queue because it was queued without a search.
#[inline(always)]
pub(super) fn promote_second<K: Copy, T>(slab: &mut Slab<K, T>, first: u32) -> Option<u32> {
    let entry = slab.near_entry(slot_in(first))?;
    let (second, last, home) = (entry.next, entry.prev, entry.home);
    if !are_of_one_queue(first, second) {
        return None;
    }
    let slot = slot_in(second);
    let entry = slab.near_entry_mut(slot)?;
    entry.prev = if last == second { NIL } else { last };
    entry.home = home;
    Some(second)
}

impl<B: MatchBits> Index<B> {
    /// [`post_whole`](Self::post_whole) if little is to be done: where the bucket and the slots are
    /// near, and the chain is empty, or is one receive with another key, or begins with the only
    /// message of the key. Linking in views, and unlinking, is the caller's.
    #[inline(always)]
    pub(in super::super) fn post_quick<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        likely: u32,
    ) -> Quick
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some(first) = self.chains.near_first(likely) else {
            return Quick::Beside;
        };
        if first == NIL {
            let Some(slot) = slabs.posted.reserve_near(NIL) else {
                return Quick::Beside;
            };
            self.chains.set_near_first(likely, posted(slot));
            return Quick::Queued(posted(slot));
        }
        let Slot::Unexpected(slot) = slot_of(first) else {
            // It goes before the one receive there, if that has another key.
            match slabs.posted.near_entry(first) {
                Some(entry) if entry.key.bits() != key.bits && entry.home == NIL => {}
                _ => return Quick::Beside,
            }
            let Some(slot) = slabs.posted.reserve_near(first) else {
                return Quick::Beside;
            };
            self.chains.set_near_first(likely, posted(slot));
            return Quick::Queued(posted(slot));
        };
        let Some(entry) = slabs.unexpected.near_entry(slot) else {
            return Quick::Beside;
        };
        if entry.key.bits() != key.bits || entry.key.context() != key.context {
            return Quick::Beside;
        }
        if entry.next != NIL {
            return Quick::Several;
        }
        self.chains.set_near_first(likely, entry.home);
        Quick::Found(first)
    }

    /// The first of several messages with the key that [`post_quick`](Self::post_quick) has met at
    /// this bucket, unlinked; [`AGAIN`] if the second is not near.
    #[inline(always)]
    pub(in super::super) fn take_message_of_several<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        likely: u32,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let first = self.chains.near_first(likely).unwrap_or(NIL);
        let next = match slot_of(first) {
            Slot::Unexpected(_) => promote_second(&mut slabs.unexpected, first),
            _ => None,
        };
        let Some(next) = next else { return AGAIN };
        self.chains.set_near_first(likely, next);
        first
    }

    /// [`post_whole`](Self::post_whole) where other keys share the bucket, or several entries have
    /// the key.
    #[inline(always)]
    pub(in super::super) fn post_beside<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        likely: u32,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let mut bucket = self.chains.bucket_of(likely);
        let mut first = self.chains.first(bucket);
        let (mut node, mut before) = (first, NIL);
        loop {
            let after = match slot_of(node) {
                Slot::None => break,
                Slot::Unexpected(slot) => {
                    let entry = slabs.unexpected.entry_inline(slot);
                    let after = entry.home;
                    if entry.key.bits() == key.bits && entry.key.context() == key.context {
                        let several = entry.next != NIL;
                        if self.classes.views() > 0 {
                            self.classes.unlink(&slabs.unexpected, slot);
                        }
                        if several {
                            self.unlink_first(slabs, probe(bucket, before, node));
                            return node;
                        }
                        let nodes = &mut self.nodes(slabs);
                        self.chains.drop_alone(nodes, bucket, before, after);
                        return node;
                    }
                    after
                }
                Slot::Posted(slot) => {
                    let entry = slabs.posted.entry_inline(slot);
                    if entry.key.bits() == key.bits && entry.key.context() == key.context {
                        return self.append_receive(slabs, node);
                    }
                    entry.home
                }
            };
            before = node;
            node = after;
        }
        if self.is_crowded(slabs) {
            (bucket, first) = self.serve_for(slabs, key);
        }
        let Some(slot) = slabs.posted.reserve(first) else {
            return AGAIN;
        };
        self.chains.set_first(bucket, posted(slot));
        posted(slot)
    }

    /// [`arrive_whole`](Self::arrive_whole), as [`post_quick`](Self::post_quick).
    #[inline(always)]
    pub(in super::super) fn arrive_quick<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        likely: u32,
    ) -> Quick
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some(first) = self.chains.near_first(likely) else {
            return Quick::Beside;
        };
        if first == NIL {
            let Some(slot) = slabs.unexpected.reserve_near(NIL) else {
                return Quick::Beside;
            };
            self.chains.set_near_first(likely, unexpected(slot));
            return Quick::Queued(unexpected(slot));
        }
        let Slot::Posted(slot) = slot_of(first) else {
            match slabs.unexpected.near_entry(slot_in(first)) {
                Some(entry) if entry.key.bits() != key.bits && entry.home == NIL => {}
                _ => return Quick::Beside,
            }
            let Some(slot) = slabs.unexpected.reserve_near(first) else {
                return Quick::Beside;
            };
            self.chains.set_near_first(likely, unexpected(slot));
            return Quick::Queued(unexpected(slot));
        };
        // Receives with wildcards are in another table.
        let Some(entry) = slabs.posted.near_entry(slot) else {
            return Quick::Beside;
        };
        if entry.key.bits() != key.bits || entry.key.context() != key.context {
            return Quick::Beside;
        }
        if entry.next != NIL {
            return Quick::Several;
        }
        self.chains.set_near_first(likely, entry.home);
        Quick::Found(first)
    }

    /// [`take_message_of_several`](Self::take_message_of_several), of receives.
    #[inline(always)]
    pub(in super::super) fn take_receive_of_several<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        likely: u32,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let first = self.chains.near_first(likely).unwrap_or(NIL);
        let next = match slot_of(first) {
            Slot::Posted(_) => promote_second(&mut slabs.posted, first),
            _ => None,
        };
        let Some(next) = next else { return AGAIN };
        self.chains.set_near_first(likely, next);
        first
    }

    /// [`arrive_whole`](Self::arrive_whole), as [`post_beside`](Self::post_beside).
    #[inline(always)]
    pub(in super::super) fn arrive_beside<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        likely: u32,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let mut bucket = self.chains.bucket_of(likely);
        let mut first = self.chains.first(bucket);
        let (mut node, mut before) = (first, NIL);
        loop {
            let after = match slot_of(node) {
                Slot::None => break,
                Slot::Posted(slot) => {
                    // Receives with wildcards are in another table.
                    let entry = slabs.posted.entry_inline(slot);
                    let after = entry.home;
                    if entry.key.bits() == key.bits && entry.key.context() == key.context {
                        if entry.next != NIL {
                            self.unlink_first(slabs, probe(bucket, before, node));
                            return node;
                        }
                        let nodes = &mut self.nodes(slabs);
                        self.chains.drop_alone(nodes, bucket, before, after);
                        return node;
                    }
                    after
                }
                Slot::Unexpected(slot) => {
                    let entry = slabs.unexpected.entry_inline(slot);
                    if entry.key.bits() == key.bits && entry.key.context() == key.context {
                        return self.append_message(slabs, node);
                    }
                    entry.home
                }
            };
            before = node;
            node = after;
        }
        if self.is_crowded(slabs) {
            (bucket, first) = self.serve_for(slabs, key);
        }
        let Some(slot) = slabs.unexpected.reserve(first) else {
            return AGAIN;
        };
        self.chains.set_first(bucket, unexpected(slot));
        unexpected(slot)
    }

    /// Adds buckets to a table that [is crowded](Self::is_crowded): the bucket of a key that is not in
    /// it, and the first node there.
    #[cold]
    #[inline(never)]
    fn serve_for<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, key: Key<B>) -> (u32, u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        self.serve(slabs);
        let bucket = self.bucket_of(self.likely_bucket(key));
        (bucket, self.chains.first(bucket))
    }

    /// Reserves a slot for a receive behind the others with its key, of which `first` is the first;
    /// [`AGAIN`] if there is none.
    #[inline(never)]
    fn append_receive<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, first: u32) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some(slot) = slabs.posted.reserve(NIL) else {
            return AGAIN;
        };
        append(&mut self.nodes(slabs), first, posted(slot));
        posted(slot)
    }

    /// Reserves a slot for a message behind the others with its key, of which `first` is the first;
    /// [`AGAIN`] if there is none.
    #[inline(never)]
    fn append_message<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, first: u32) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some(slot) = slabs.unexpected.reserve(NIL) else {
            return AGAIN;
        };
        append(&mut self.nodes(slabs), first, unexpected(slot));
        unexpected(slot)
    }

    /// Unlinks an entry that a probe has found, the first of those with its key.
    #[inline(never)]
    pub(super) fn unlink_first<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, probe: Probe)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let nodes = &mut self.nodes(slabs);
        self.chains.unlink_first(nodes, probe);
    }
}
