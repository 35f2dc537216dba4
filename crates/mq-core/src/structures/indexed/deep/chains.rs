//! The hash table of the deep form: chains of keys, each the first of the entries that have it.
//!
//! A node is an entry. The first entry with a key is in the chain of the key's bucket; the others with
//! the same key form a list after it, in order. All links are in the entries, so the table is one word
//! per bucket and nothing is allocated for a key.

mod size;

use super::heads::{Heads, NEAR_BUCKETS};
use crate::slab::NIL;

/// Where the nodes' links and keys are. Each node has three links: `chain` to the next key of its
/// bucket, used by the first node of a key; `next` and `prev` in the list of nodes with equal keys.
/// `prev` of the first is the last, or [`NIL`] if it is alone.
pub(super) trait Nodes {
    /// What nodes are found by.
    type Key: Copy;

    fn has_key(&self, node: u32, key: Self::Key) -> bool;
    fn chain(&self, node: u32) -> u32;
    fn next(&self, node: u32) -> u32;
    fn prev(&self, node: u32) -> u32;
    fn set_chain(&mut self, node: u32, to: u32);
    fn set_next(&mut self, node: u32, to: u32);
    fn set_prev(&mut self, node: u32, to: u32);
}

/// Nodes of which a table can tell where they belong when it grows.
pub(super) trait HashedNodes: Nodes {
    fn hash(&self, node: u32) -> u32;
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
    /// The table shrinks when there are this many buckets per key.
    sparse: u32,
    /// Removals that have left few keys, in a table that began with the buckets of earlier fillings.
    lingering: u32,
    /// The most keys requested since the table was empty, and in the filling before.
    most: u32,
    most_before: u32,
}

impl Chains {
    /// The bucket of a hash.
    #[inline(always)]
    pub(super) const fn bucket(&self, hash: u32) -> u32 {
        self.bucket_of(self.likely_bucket(hash))
    }

    /// The bucket that a hash would have if the number of buckets were a power of two, for
    /// [`near_first`](Self::near_first).
    #[inline(always)]
    pub(super) const fn likely_bucket(&self, hash: u32) -> u32 {
        hash & self.mask
    }

    /// The bucket of a hash whose [likely bucket](Self::likely_bucket) is known.
    #[inline(always)]
    pub(super) const fn bucket_of(&self, likely: u32) -> u32 {
        if likely < self.buckets {
            likely
        } else {
            likely & (self.mask >> 1)
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
        Probe {
            bucket,
            ..probe(nodes, key, self.first(bucket))
        }
    }

    /// The first node of a bucket.
    #[inline(always)]
    pub(super) fn first(&self, bucket: u32) -> u32 {
        self.heads.get(bucket)
    }

    /// Makes a node the first of a bucket: one that points to the former first, or the one that the
    /// former first points to.
    #[inline(always)]
    pub(super) fn set_first(&mut self, bucket: u32, node: u32) {
        self.heads.set(bucket, node);
    }

    /// [`first`](Self::first), if the likely bucket is near; a number that is not a slot if the
    /// bucket is another one.
    #[inline(always)]
    pub(super) fn near_first(&self, likely: u32) -> Option<u32> {
        self.heads.get_near(likely)
    }

    /// [`set_first`](Self::set_first) of a bucket that is near.
    #[inline(always)]
    pub(super) fn set_near_first(&mut self, bucket: u32, node: u32) {
        self.heads.set_near(bucket, node);
    }

    /// The first node of a bucket, to be changed; `None` where no bucket of its page was ever used.
    #[inline(always)]
    pub(super) fn first_mut(&mut self, bucket: u32) -> Option<&mut u32> {
        self.heads.get_mut(bucket)
    }

    /// Keys that may be stored before more buckets are needed.
    #[inline(always)]
    pub(super) const fn served(&self) -> u32 {
        self.served
    }

    /// How many buckets there are.
    #[inline(always)]
    pub(super) const fn buckets(&self) -> u32 {
        self.buckets
    }

    /// Whether there are more buckets than those that are near.
    pub(super) const fn is_wide(&self) -> bool {
        self.buckets > NEAR_BUCKETS
    }

    /// Removes a node that is alone with its key from its bucket, in which it is between `before`,
    /// [`NIL`] if it is the first, and `after`.
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

    /// Links a node that was just stored, with the first of the chain as its `chain`; its key must not
    /// be read yet.
    #[inline(always)]
    pub(super) fn link_new<N: Nodes>(&mut self, nodes: &mut N, probe: Probe, node: u32) {
        if probe.node == NIL {
            self.heads.set(probe.bucket, node);
        } else {
            append(nodes, probe.node, node);
        }
    }

    /// Puts a node after all others with the key of the probe, or makes it the first.
    #[inline]
    pub(super) fn link<N: Nodes>(&mut self, nodes: &mut N, probe: Probe, node: u32) {
        if link(nodes, probe, node) {
            self.heads.set(probe.bucket, node);
        }
    }

    /// Unlinks the first node of a key, which a probe has found.
    #[inline(always)]
    pub(super) fn unlink_first<N: Nodes>(&mut self, nodes: &mut N, probe: Probe) {
        if let Some(first) = unlink_first(nodes, probe) {
            self.heads.set(probe.bucket, first);
        }
    }

    /// Unlinks any node.
    pub(super) fn unlink<N: Nodes>(&mut self, nodes: &mut N, node: u32, key: N::Key, hash: u32) {
        let probe = self.probe(nodes, key, hash);
        if let Some(first) = unlink(nodes, probe, node) {
            self.heads.set(probe.bucket, first);
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

/// Looks for a key in the chain that begins with a node.
#[inline(always)]
pub(super) fn probe<N: Nodes>(nodes: &N, key: N::Key, first: u32) -> Probe {
    let mut before = NIL;
    let mut node = first;
    while node != NIL && !nodes.has_key(node, key) {
        before = node;
        node = nodes.chain(node);
    }
    Probe {
        bucket: 0,
        before,
        node,
        first,
    }
}

/// Puts a node after all others with the key of the probe, or before the chain; returns whether it is to be the first
/// of the bucket.
#[inline(always)]
pub(super) fn link<N: Nodes>(nodes: &mut N, probe: Probe, node: u32) -> bool {
    nodes.set_next(node, NIL);
    if probe.node == NIL {
        nodes.set_prev(node, NIL);
        nodes.set_chain(node, probe.first);
        return true;
    }
    append(nodes, probe.node, node);
    false
}

/// Unlinks the first node of a key, which a probe has found; returns what is to be the first of the bucket, if that is
/// another then.
#[inline(always)]
pub(super) fn unlink_first<N: Nodes>(nodes: &mut N, probe: Probe) -> Option<u32> {
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
        return Some(successor);
    }
    nodes.set_chain(probe.before, successor);
    None
}

/// Unlinks any node of the key that a probe has found, as [`unlink_first`] does.
#[inline(always)]
pub(super) fn unlink<N: Nodes>(nodes: &mut N, probe: Probe, node: u32) -> Option<u32> {
    if probe.node == node {
        return unlink_first(nodes, probe);
    }
    let (next, prev) = (nodes.next(node), nodes.prev(node));
    nodes.set_next(prev, next);
    if next == NIL {
        let alone = prev == probe.node;
        nodes.set_prev(probe.node, if alone { NIL } else { prev });
    } else {
        nodes.set_prev(next, prev);
    }
    None
}

/// Puts a node after all others of the key whose first node is `first`.
#[inline]
pub(super) fn append<N: Nodes>(nodes: &mut N, first: u32, node: u32) {
    let last = match nodes.prev(first) {
        NIL => first,
        last => last,
    };
    nodes.set_next(last, node);
    nodes.set_prev(node, last);
    nodes.set_prev(first, node);
}
