//! The hash table of the deep form: chains of keys, each the first of the entries that have it.
//!
//! A node is an entry. The first entry with a key stands in the chain of the key's bucket; the others
//! with the same key form a list behind it, in order. All links are in the entries, so the table is
//! one word a bucket and nothing is allocated for a key.
//!
//! The table grows and shrinks by one bucket at a time (linear hashing, Litwin 1980): what one
//! operation moves is a few chains, whatever the size.

use super::paged::Paged;
use crate::slab::NIL;

/// Buckets there are at least: one page.
const FEWEST: u32 = 1024;

/// Buckets that are kept however few the keys are, 32 KiB.
const KEPT: u32 = 8192;

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
    bucket: u32,
    /// The key before the one found in the chain, or [`NIL`].
    before: u32,
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
    heads: Paged<u32>,
    buckets: u32,
    /// The power of two at or below `buckets`, less one.
    low_mask: u32,
    /// Keys there is room for before a bucket is added.
    room: u32,
    /// The room beyond which buckets are removed.
    room_limit: u32,
}

/// Keys that so many buckets serve: two for three buckets, so that a key costs six bytes.
const fn capacity(buckets: u32) -> u32 {
    (buckets as u64 * 2 / 3) as u32
}

impl Default for Chains {
    fn default() -> Self {
        let mut heads = Paged::new();
        heads.reach(FEWEST - 1, NIL);
        Self {
            heads,
            buckets: FEWEST,
            low_mask: FEWEST - 1,
            room: capacity(FEWEST),
            room_limit: u32::MAX,
        }
    }
}

impl Chains {
    #[inline(always)]
    const fn bucket(&self, hash: u32) -> u32 {
        let bucket = hash & (self.low_mask << 1 | 1);
        if bucket < self.buckets {
            bucket
        } else {
            hash & self.low_mask
        }
    }

    /// Looks for a key.
    #[inline(always)]
    pub(super) fn probe<N: Nodes>(&self, nodes: &N, key: N::Key, hash: u32) -> Probe {
        let bucket = self.bucket(hash);
        let first = *self.heads.get(bucket);
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

    /// Makes a node, which points to the first of the bucket, the first; it is the only one with its
    /// key, and knows.
    #[inline(always)]
    fn push_key<N: Nodes>(&mut self, nodes: &mut N, bucket: u32, node: u32) {
        *self.heads.get_mut(bucket) = node;
        if self.room == 0 {
            self.split(nodes);
        }
        self.room -= 1;
    }

    /// The bucket of a hash and the first node of its chain, unless the table is to grow or to shrink first.
    #[inline(always)]
    pub(super) fn quick_head(&self, hash: u32) -> Option<(u32, u32)> {
        // No room wraps to the most.
        if self.room.wrapping_sub(1) >= self.room_limit {
            return None;
        }
        let bucket = self.bucket(hash);
        Some((bucket, *self.heads.get(bucket)))
    }

    /// Makes a new key the only one of an empty bucket with a [`quick_head`](Self::quick_head).
    #[inline(always)]
    pub(super) fn set_only(&mut self, bucket: u32, node: u32) {
        *self.heads.get_mut(bucket) = node;
        self.room -= 1;
    }

    /// Removes the first key of a bucket with a [`quick_head`](Self::quick_head), behind which is `after`.
    #[inline(always)]
    pub(super) fn drop_first(&mut self, bucket: u32, after: u32) {
        *self.heads.get_mut(bucket) = after;
        self.room += 1;
    }

    /// The number of buckets has changed.
    fn limit_room(&mut self) {
        self.room_limit = if self.buckets > KEPT {
            capacity(self.buckets) - self.buckets / 4
        } else {
            u32::MAX
        };
    }

    /// Makes sure that [`link_reserved`](Self::link_reserved) has room for a key. Before the probe, for
    /// this moves keys.
    #[inline(always)]
    pub(super) fn make_room<N: Nodes>(&mut self, nodes: &mut N) {
        if self.room == 0 {
            self.split(nodes);
        }
    }

    /// [`link`](Self::link) of a node whose key nobody may look at yet, with the first of the chain as
    /// its `chain`.
    #[inline(always)]
    pub(super) fn link_reserved<N: Nodes>(&mut self, nodes: &mut N, probe: Probe, node: u32) {
        if probe.node == NIL {
            *self.heads.get_mut(probe.bucket) = node;
            self.room -= 1;
        } else {
            append(nodes, probe.node, node);
        }
    }

    /// [`link`](Self::link) of a node that was just stored, with the first of the chain as its `chain`.
    #[inline(always)]
    pub(super) fn link_new<N: Nodes>(&mut self, nodes: &mut N, probe: Probe, node: u32) {
        if probe.node == NIL {
            self.push_key(nodes, probe.bucket, node);
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
            return self.push_key(nodes, probe.bucket, node);
        }
        append(nodes, probe.node, node);
    }

    /// Unlinks the first node of a key, which a probe has found.
    #[inline(always)]
    pub(super) fn unlink_first<N: Nodes>(&mut self, nodes: &mut N, probe: Probe) {
        let next = nodes.next(probe.node);
        let after = nodes.chain(probe.node);
        let successor = if next == NIL {
            self.room += 1;
            after
        } else {
            let last = nodes.prev(probe.node);
            nodes.set_prev(next, if last == next { NIL } else { last });
            nodes.set_chain(next, after);
            next
        };
        if probe.before == NIL {
            *self.heads.get_mut(probe.bucket) = successor;
        } else {
            nodes.set_chain(probe.before, successor);
        }
        if self.room > self.room_limit {
            self.shrink(nodes);
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

    /// Adds a bucket, and moves to it what belongs there from the one it was part of.
    #[inline(never)]
    fn split<N: Nodes>(&mut self, nodes: &mut N) {
        while self.room == 0 {
            self.split_one(nodes);
        }
    }

    fn split_one<N: Nodes>(&mut self, nodes: &mut N) {
        let added = self.buckets;
        let buckets = added + 1;
        self.room += capacity(buckets) - capacity(added);
        self.heads.reach(added, NIL);
        if added > 2 * self.low_mask + 1 {
            self.low_mask = 2 * self.low_mask + 1;
        }
        self.buckets = buckets;
        self.limit_room();
        let old = added & self.low_mask;
        let mut node = *self.heads.get(old);
        let (mut stay, mut go) = (NIL, NIL);
        while node != NIL {
            let after = nodes.chain(node);
            let list = if self.bucket(nodes.hash(node)) == old {
                &mut stay
            } else {
                &mut go
            };
            nodes.set_chain(node, *list);
            *list = node;
            node = after;
        }
        *self.heads.get_mut(old) = stay;
        *self.heads.get_mut(added) = go;
    }

    /// Removes some buckets, which are more than four times as many as the keys: keys leave one at a
    /// time, so the buckets keep up.
    #[cold]
    #[inline(never)]
    fn shrink<N: Nodes>(&mut self, nodes: &mut N) {
        for _ in 0..8 {
            if self.room > self.room_limit {
                self.merge(nodes);
            }
        }
    }

    /// Removes the last bucket; its chain goes to the front of the one it was split from.
    fn merge<N: Nodes>(&mut self, nodes: &mut N) {
        let removed = self.buckets - 1;
        self.room -= capacity(self.buckets) - capacity(removed);
        self.buckets = removed;
        self.limit_room();
        if removed == self.low_mask {
            self.low_mask >>= 1;
        }
        let into = removed & self.low_mask;
        let first = core::mem::replace(self.heads.get_mut(removed), NIL);
        if first != NIL {
            let mut last = first;
            while nodes.chain(last) != NIL {
                last = nodes.chain(last);
            }
            nodes.set_chain(last, *self.heads.get(into));
            *self.heads.get_mut(into) = first;
        }
        self.heads.truncate(removed);
    }

    /// No key is left: gives back the buckets that are too many to keep.
    pub(super) fn rest(&mut self) {
        self.buckets = self.buckets.min(KEPT);
        self.room = capacity(self.buckets);
        self.low_mask = self.low_mask.min(KEPT / 2 - 1);
        self.limit_room();
        self.heads.truncate(self.buckets);
    }

    /// Whether there are no more buckets than in a table that never grew.
    pub(super) const fn is_small(&self) -> bool {
        self.buckets == FEWEST
    }

    pub(super) const fn bytes(&self) -> usize {
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
