//! The hash table of the deep form: chains of keys, each the first of the entries that have it.
//!
//! A node is an entry. The first entry with a key stands in the chain of the key's bucket; the others
//! with the same key form a list behind it, in order. All links are in the entries, so the table is
//! one word a bucket and nothing is allocated for a key.
//!
//! Buckets come and go in small groups (linear hashing, Litwin 1980), so that what one operation moves is bounded,
//! whatever the size. Steps do not count keys: the owner says how many there may be before it stores one
//! ([`Chains::serve`]), and when few are left ([`Chains::shrink`]).
//!
//! Programs fill and drain their queues in every step. Adding 90,000 buckets anew for each 60,000 entries took half of the
//! time of such a queue; so a table that has emptied begins with the buckets that the last two fillings both
//! needed, whose memory comes when they are used.

use super::heads::{Heads, NEAR, PAGE};
use crate::slab::NIL;

/// Buckets there are at least.
const FEWEST: u32 = PAGE;

/// Buckets that an emptied table begins with at most: 512 KiB, if all are used.
const MOST_AT_ONCE: u32 = 1 << 17;

/// Keys for which room is made beyond those asked for: those that storage may take in before it asks again.
const AHEAD: u32 = 16;

/// Buckets added in one go at most, a few microseconds: more than are asked for at a time, so that the table catches up.
const SPLITS: u32 = 128;

/// Buckets that are split together, so that their entries are fetched from memory together.
const BATCH: u32 = 64;

/// Buckets removed in one go, some of a microsecond: they hold few keys.
const MERGES: u32 = 512;

/// The table shrinks when so many buckets are there for each key; and one that began with those of former fillings, when
/// so many are.
const SPARSE: u32 = 8;
const SPARSE_AT_FIRST: u32 = 64;

/// Where the nodes' links and keys are. Each node has three links: `chain` to the next key of its
/// bucket, used by the first node of a key; `next` and `prev` in the list of nodes with equal keys.
/// `prev` of the first is the last, or [`NIL`] if it is alone.
pub(super) trait Nodes {
    /// What nodes are found by.
    type Key: Copy;

    fn has_key(&self, node: u32, key: Self::Key) -> bool;
    fn hash(&self, node: u32) -> u32;
    fn chain(&self, node: u32) -> u32;
    fn next(&self, node: u32) -> u32;
    fn prev(&self, node: u32) -> u32;
    fn set_chain(&mut self, node: u32, to: u32);
    fn set_next(&mut self, node: u32, to: u32);
    fn set_prev(&mut self, node: u32, to: u32);
}

/// Where a search ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) bucket: u32,
    /// The key before the one found in the chain, or [`NIL`].
    pub(super) before: u32,
    /// The first node with the key, or [`NIL`].
    pub(super) node: u32,
    /// The first node of the chain, or [`NIL`]: what a node with a new key has to point to.
    pub(super) first: u32,
}

impl Probe {
    pub(super) const NOWHERE: Self = Self {
        bucket: 0,
        before: NIL,
        node: NIL,
        first: NIL,
    };
}

/// The buckets.
#[derive(Debug)]
pub(super) struct Chains {
    heads: Heads,
    buckets: u32,
    /// The power of two at or above `buckets`, less one.
    mask: u32,
    /// Keys that may be stored before more buckets are needed.
    served: u32,
    /// The table shrinks when so many buckets are there for each key.
    sparse: u32,
    /// Removals that have left few keys, in a table that began with the buckets of former fillings.
    lingering: u32,
    /// The most keys that were asked for since the table was empty, and in the filling before.
    most: u32,
    most_before: u32,
}

impl Default for Chains {
    fn default() -> Self {
        Self {
            heads: Heads::new(),
            buckets: FEWEST,
            mask: FEWEST - 1,
            served: served_by(FEWEST),
            sparse: SPARSE,
            lingering: 0,
            most: 0,
            most_before: 0,
        }
    }
}

/// Three buckets for two keys, so that a key costs six bytes.
const fn buckets_for(keys: u32) -> u32 {
    keys.saturating_add(keys / 2)
}

const fn served_by(buckets: u32) -> u32 {
    buckets - buckets / 3
}

impl Chains {
    /// The bucket of a hash.
    #[inline(always)]
    pub(super) const fn bucket(&self, hash: u32) -> u32 {
        self.bucket_of(self.place(hash))
    }

    /// The bucket that a hash would have if the buckets were a power of two, for [`near_first`](Self::near_first).
    #[inline(always)]
    pub(super) const fn place(&self, hash: u32) -> u32 {
        hash & self.mask
    }

    /// The bucket of a [`place`](Self::place).
    #[inline(always)]
    pub(super) const fn bucket_of(&self, place: u32) -> u32 {
        if place < self.buckets {
            place
        } else {
            place & (self.mask >> 1)
        }
    }

    /// Looks for a key.
    #[inline(always)]
    pub(super) fn probe<N: Nodes>(&self, nodes: &N, key: N::Key, hash: u32) -> Probe {
        self.probe_bucket(nodes, key, self.bucket(hash))
    }

    /// [`probe`](Self::probe) in the bucket of the key.
    #[inline(always)]
    pub(super) fn probe_bucket<N: Nodes>(&self, nodes: &N, key: N::Key, bucket: u32) -> Probe {
        let first = self.first(bucket);
        let mut before = NIL;
        let mut node = first;
        while node != NIL && !nodes.has_key(node, key) {
            before = node;
            node = nodes.chain(node);
        }
        Probe {
            bucket,
            before,
            node,
            first,
        }
    }

    /// The first node of a bucket.
    #[inline(always)]
    pub(super) fn first(&self, bucket: u32) -> u32 {
        self.heads.get(bucket)
    }

    /// Makes a node the first of a bucket: one that points to the former first, or the one that this points to.
    #[inline(always)]
    pub(super) fn set_first(&mut self, bucket: u32, node: u32) {
        self.heads.set(bucket, node);
    }

    /// [`first`](Self::first), if the bucket of a place is near; the number of no slot if its bucket is another.
    #[inline(always)]
    pub(super) fn near_first(&self, place: u32) -> Option<u32> {
        self.heads.get_near(place)
    }

    /// [`set_first`](Self::set_first) of a bucket that is near.
    #[inline(always)]
    pub(super) fn set_near_first(&mut self, bucket: u32, node: u32) {
        self.heads.set_near(bucket, node);
    }

    /// Removes a node that is alone with its key from its bucket, in which it is between `before`, [`NIL`] if it is
    /// the first, and `after`.
    #[inline(always)]
    pub(super) fn drop_alone<N: Nodes>(
        &mut self,
        nodes: &mut N,
        bucket: u32,
        before: u32,
        after: u32,
    ) {
        if before == NIL {
            self.heads.set(bucket, after);
        } else {
            nodes.set_chain(before, after);
        }
    }

    /// Links a node that was just stored, with the first of the chain as its `chain`; nobody may look at its key yet.
    #[inline(always)]
    pub(super) fn link_new<N: Nodes>(&mut self, nodes: &mut N, probe: Probe, node: u32) {
        if probe.node == NIL {
            self.heads.set(probe.bucket, node);
        } else {
            append(nodes, probe.node, node);
        }
    }

    /// Puts a node behind all others with the key of the probe, or makes it the first.
    #[inline]
    pub(super) fn link<N: Nodes>(&mut self, nodes: &mut N, probe: Probe, node: u32) {
        nodes.set_next(node, NIL);
        if probe.node == NIL {
            nodes.set_prev(node, NIL);
            nodes.set_chain(node, probe.first);
            return self.heads.set(probe.bucket, node);
        }
        append(nodes, probe.node, node);
    }

    /// Unlinks the first node of a key, which a probe has found.
    #[inline(always)]
    pub(super) fn unlink_first<N: Nodes>(&mut self, nodes: &mut N, probe: Probe) {
        let next = nodes.next(probe.node);
        let after = nodes.chain(probe.node);
        let successor = if next == NIL {
            after
        } else {
            let last = nodes.prev(probe.node);
            nodes.set_prev(next, if last == next { NIL } else { last });
            nodes.set_chain(next, after);
            next
        };
        if probe.before == NIL {
            self.heads.set(probe.bucket, successor);
        } else {
            nodes.set_chain(probe.before, successor);
        }
    }

    /// Unlinks any node.
    pub(super) fn unlink<N: Nodes>(&mut self, nodes: &mut N, node: u32, key: N::Key, hash: u32) {
        let probe = self.probe(nodes, key, hash);
        if probe.node == node {
            return self.unlink_first(nodes, probe);
        }
        let (next, prev) = (nodes.next(node), nodes.prev(node));
        nodes.set_next(prev, next);
        if next == NIL {
            let alone = prev == probe.node;
            nodes.set_prev(probe.node, if alone { NIL } else { prev });
        } else {
            nodes.set_prev(next, prev);
        }
    }

    /// Adds buckets if there are too few for so many keys; some now and some with the next keys, if they are many:
    /// meanwhile chains are longer than they should be. Moves keys, so not between a probe and the use of it.
    #[inline]
    pub(super) fn serve<N: Nodes>(&mut self, nodes: &mut N, keys: u32) {
        self.most = self.most.max(keys);
        if keys > self.served {
            self.grow(nodes, keys);
        }
    }

    /// So many keys are to be stored in a table that has none.
    pub(super) fn prepare(&mut self, keys: u32) {
        self.most = self.most.max(keys);
        if keys <= self.served {
            return;
        }
        let mut buckets = buckets_for(keys + AHEAD);
        if buckets <= NEAR {
            // Their memory is there. [`Heads::reach`]
            buckets = buckets.next_power_of_two();
        }
        self.heads.reach(self.buckets, buckets);
        self.buckets = buckets;
        self.mask = self.buckets.next_power_of_two() - 1;
        self.served = served_by(self.buckets);
        self.sparse = SPARSE;
    }

    #[cold]
    #[inline(never)]
    fn grow<N: Nodes>(&mut self, nodes: &mut N, keys: u32) {
        let wanted = buckets_for(keys.saturating_add(AHEAD)).min(self.buckets + SPLITS);
        self.heads.reach(self.buckets, wanted);
        while self.buckets < wanted {
            self.split(nodes, wanted);
        }
        self.served = served_by(self.buckets);
        self.sparse = SPARSE;
    }

    /// Adds some buckets, `wanted` in all at most, and moves to them what belongs there from those they were part of.
    fn split<N: Nodes>(&mut self, nodes: &mut N, wanted: u32) {
        let added = self.buckets;
        if added > self.mask {
            self.mask = 2 * self.mask + 1;
        }
        let bit = self.mask / 2 + 1;
        let run = (wanted - added).min(self.mask + 1 - added).min(BATCH);
        self.buckets = added + run;
        // The entries are anywhere. Here none has to wait for the one before it.
        let mut hashes = [0; BATCH as usize];
        for (hash, added) in hashes.iter_mut().zip(added..self.buckets) {
            let first = self.heads.get(added - bit);
            if first != NIL {
                *hash = nodes.hash(first);
            }
        }
        for (&hash, added) in hashes.iter().zip(added..self.buckets) {
            let first = self.heads.get(added - bit);
            if first != NIL {
                self.split_one(nodes, first, hash, added, bit);
            }
        }
    }

    /// Moves to a bucket what belongs there of the chain that begins with a node of this hash.
    #[inline(always)]
    fn split_one<N: Nodes>(&mut self, nodes: &mut N, first: u32, hash: u32, added: u32, bit: u32) {
        let mut after = nodes.chain(first);
        if after == NIL {
            if hash & bit != 0 {
                self.heads.set(added - bit, NIL);
                self.heads.set(added, first);
            }
            return;
        }
        let (mut node, mut hash) = (first, hash);
        let mut heads = [NIL; 2];
        loop {
            let list = &mut heads[usize::from(hash & bit != 0)];
            nodes.set_chain(node, *list);
            *list = node;
            if after == NIL {
                break;
            }
            node = after;
            after = nodes.chain(node);
            hash = nodes.hash(node);
        }
        self.heads.set(added - bit, heads[0]);
        self.heads.set(added, heads[1]);
    }

    /// With so many keys left the table is to [`shrink`](Self::shrink); 0 if it is as small as it gets.
    #[inline(always)]
    pub(super) const fn few(&self) -> u32 {
        if self.buckets > NEAR {
            self.buckets / self.sparse
        } else {
            0
        }
    }

    /// One more removal has left [`few`](Self::few) keys: removes some of the buckets. In a table that began with those
    /// of former fillings this has to happen so often that it is not just being emptied, as it was before.
    pub(super) fn shrink<N: Nodes>(&mut self, nodes: &mut N) {
        if self.sparse == SPARSE_AT_FIRST && self.lingering < self.few() {
            self.lingering += 1;
            return;
        }
        let least = (self.buckets - MERGES.min(self.buckets)).max(NEAR);
        while self.buckets > least {
            self.merge(nodes);
        }
        self.heads.truncate(least);
        self.served = served_by(least);
    }

    /// Removes the last bucket; its chain goes to the front of the one it was split from.
    fn merge<N: Nodes>(&mut self, nodes: &mut N) {
        let removed = self.buckets - 1;
        let into = removed & (self.mask >> 1);
        let first = self.heads.get(removed);
        if first != NIL {
            let mut last = first;
            while nodes.chain(last) != NIL {
                last = nodes.chain(last);
            }
            nodes.set_chain(last, self.heads.get(into));
            self.heads.set(into, first);
            self.heads.set(removed, NIL);
        }
        self.buckets = removed;
        if removed == (self.mask >> 1) + 1 {
            self.mask >>= 1;
        }
    }

    /// No key is left: gives back the memory of all but the near buckets, and begins the next filling with as many as
    /// the last two have needed.
    pub(super) fn rest(&mut self) {
        let again = self.most.min(self.most_before);
        self.most_before = core::mem::take(&mut self.most);
        let wanted = buckets_for(again).min(MOST_AT_ONCE);
        if self.buckets > NEAR || wanted > NEAR {
            self.heads.clear_pages();
            let before = self.buckets.min(NEAR);
            self.buckets = wanted.max(before);
            self.heads.reach(before, self.buckets);
            self.heads.truncate(self.buckets);
            self.mask = self.buckets.next_power_of_two() - 1;
            self.served = served_by(self.buckets);
            self.sparse = SPARSE_AT_FIRST;
            self.lingering = 0;
        }
    }

    /// Whether there are no more buckets than in a table that never grew.
    pub(super) const fn is_small(&self) -> bool {
        self.heads.is_small()
    }

    pub(super) fn bytes(&self) -> usize {
        self.heads.bytes()
    }
}

/// Puts a node behind all others of the key whose first node is `first`.
#[inline(never)]
fn append<N: Nodes>(nodes: &mut N, first: u32, node: u32) {
    let last = match nodes.prev(first) {
        NIL => first,
        last => last,
    };
    nodes.set_next(last, node);
    nodes.set_prev(node, last);
    nodes.set_prev(first, node);
}
