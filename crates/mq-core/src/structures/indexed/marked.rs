//! The table of receives with wildcards: chains, and beside each bucket a mark of what is in it.
//!
//! Every message asks this table, mostly in vain, for each class of wildcards. That a bucket is not
//! empty says little at two keys for three buckets, and a look at its entries is a look at memory
//! that nobody has touched for long. Eight bits of each bucket tell seven of eight such keys apart,
//! and those of ten thousand receives are in the processor's nearest cache.

use super::chains::{Chains, Nodes, Probe};
use crate::memory::vec_bytes;
use crate::slab::NIL;

/// Chains with a mark for each bucket.
#[derive(Debug, Default)]
pub(super) struct Marked {
    chains: Chains,
    /// For each bucket the [`mark`]s of the keys that were put into it since it was empty.
    marks: Vec<u8>,
}

/// One of eight bits of a hash that has nothing to do with its bucket.
#[inline(always)]
const fn mark(hash: u32) -> u8 {
    1 << (hash >> 29)
}

/// The bucket that this one was split from.
const fn origin(bucket: usize) -> usize {
    match bucket.checked_ilog2() {
        Some(bit) => bucket - (1 << bit),
        None => 0,
    }
}

impl Marked {
    /// So many keys are to be stored in a table that has none.
    pub(super) fn prepare(&mut self, keys: u32) {
        self.chains.prepare(keys);
        self.follow();
    }

    /// Adds buckets if there are too few for so many keys.
    #[inline(always)]
    fn serve<N: Nodes>(&mut self, nodes: &mut N, keys: u32) {
        self.chains.serve(nodes, keys);
        if self.marks.len() != self.chains.buckets() as usize {
            self.follow();
        }
    }

    /// The number of buckets has changed.
    #[expect(clippy::cast_possible_truncation, reason = "numbers of buckets")]
    #[cold]
    #[inline(never)]
    fn follow(&mut self) {
        let buckets = self.chains.buckets() as usize;
        if self.marks.is_empty() {
            self.marks = vec![0; buckets];
        }
        for bucket in self.marks.len()..buckets {
            self.marks.push(self.marks[origin(bucket)]);
            self.left(bucket as u32);
            self.left(origin(bucket) as u32);
        }
        while self.marks.len() > buckets
            && let Some(mark) = self.marks.pop()
        {
            let origin = origin(self.marks.len());
            self.marks[origin] |= mark;
        }
        if self.marks.capacity() > 4 * buckets {
            self.marks.shrink_to(2 * buckets);
        }
    }

    /// Puts a node behind all others with its key; `keys` are stored then.
    #[inline(always)]
    pub(super) fn put<N: Nodes>(
        &mut self,
        nodes: &mut N,
        node: u32,
        key: N::Key,
        hash: u32,
        keys: u32,
    ) {
        self.serve(nodes, keys);
        let place = self.chains.place(hash);
        if self.chains.near_first(place) == Some(NIL) {
            nodes.set_next(node, NIL);
            nodes.set_prev(node, NIL);
            nodes.set_chain(node, NIL);
            self.marks[place as usize] = mark(hash);
            return self.chains.set_near_first(place, node);
        }
        let bucket = self.chains.bucket_of(place);
        let probe = self.chains.probe_bucket(nodes, key, bucket);
        self.chains.link(nodes, probe, node);
        self.marks[bucket as usize] |= mark(hash);
    }

    /// The bucket of a hash, if a key of that hash may be there.
    #[inline(always)]
    pub(super) fn marked_bucket(&self, hash: u32) -> Option<u32> {
        let bucket = self.chains.bucket(hash);
        let marks = self.marks.get(bucket as usize)?;
        (marks & mark(hash) != 0).then_some(bucket)
    }

    /// The first node of a bucket.
    #[inline(always)]
    pub(super) fn first(&self, bucket: u32) -> u32 {
        self.chains.first(bucket)
    }

    /// Looks for a key.
    #[inline(always)]
    pub(super) fn probe<N: Nodes>(&self, nodes: &N, key: N::Key, hash: u32) -> Probe {
        self.marked_bucket(hash).map_or(Probe::NOWHERE, |bucket| {
            self.chains.probe_bucket(nodes, key, bucket)
        })
    }

    /// Makes a node, or none, the first of a bucket.
    #[inline(always)]
    pub(super) fn set_first(&mut self, bucket: u32, node: u32) {
        self.chains.set_first(bucket, node);
        if node == NIL {
            self.marks[bucket as usize] = 0;
        }
    }

    /// Nodes have left a bucket.
    #[inline(always)]
    fn left(&mut self, bucket: u32) {
        if self.chains.first(bucket) == NIL {
            self.marks[bucket as usize] = 0;
        }
    }

    /// Unlinks the first node of a key, which a probe has found.
    #[inline(always)]
    pub(super) fn unlink_first<N: Nodes>(&mut self, nodes: &mut N, probe: Probe) {
        self.chains.unlink_first(nodes, probe);
        self.left(probe.bucket);
    }

    /// Unlinks any node.
    pub(super) fn unlink<N: Nodes>(&mut self, nodes: &mut N, node: u32, key: N::Key, hash: u32) {
        self.chains.unlink(nodes, node, key, hash);
        self.left(self.chains.bucket(hash));
    }

    /// A removal has left so many keys: removes some of the buckets if these are few.
    #[inline(always)]
    pub(super) fn shrink_to<N: Nodes>(&mut self, nodes: &mut N, keys: u32) {
        self.chains.shrink_to(nodes, keys);
        if self.marks.len() != self.chains.buckets() as usize {
            self.follow();
        }
    }

    /// Whether there are no more buckets than in a table that never grew.
    pub(super) const fn is_small(&self) -> bool {
        self.chains.is_small()
    }

    pub(super) fn bytes(&self) -> usize {
        self.chains.bytes() + vec_bytes(&self.marks)
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::Seed;
    use super::super::nodes::{Both, key_of_receive, posted};
    use super::*;
    use crate::Source;
    use crate::arrangement::Slabs;
    use crate::config::Config;
    use crate::mpi::MpiPattern;

    const KEYS: i32 = 30_000;

    #[test]
    fn marks_hide_no_key_and_most_that_are_not_there() {
        let mut slabs: Slabs<MpiPattern, u32, u32> = Slabs::new(&Config::default());
        let seed = Seed::new(1);
        let pattern = |tag| MpiPattern::new(0, Source::Any, tag);
        let key = |tag| key_of_receive(&pattern(tag));
        let hash = |tag| seed.hash(key(tag));
        let mut table = Marked::default();
        let mut slots = Vec::new();
        // As it grows: its buckets are split.
        for tag in 0..KEYS {
            let slot = slabs.posted.insert(pattern(tag), 0, NIL);
            slots.push((tag, slot));
            let slabs = &mut slabs;
            let keys = tag as u32 + 1;
            table.put(
                &mut Both { slabs, seed },
                posted(slot),
                key(tag),
                hash(tag),
                keys,
            );
        }
        let in_vain = |table: &Marked| {
            let strangers = KEYS..2 * KEYS;
            let found = strangers.filter(|&tag| table.marked_bucket(hash(tag)).is_some());
            found.count() * 100 / KEYS as usize
        };
        assert!(in_vain(&table) <= 15, "{} of 100", in_vain(&table));
        // As it shrinks: they are merged.
        while let Some((tag, slot)) = slots.pop() {
            if slots.len() % 1000 == 0 {
                for &(tag, slot) in &slots {
                    let slabs = &mut slabs;
                    let probe = table.probe(&Both { slabs, seed }, key(tag), hash(tag));
                    assert_eq!(probe.node, posted(slot), "of {} keys", slots.len());
                }
            }
            let nodes = &mut Both {
                slabs: &mut slabs,
                seed,
            };
            table.unlink(nodes, posted(slot), key(tag), hash(tag));
            table.shrink_to(nodes, slots.len() as u32);
            slabs.posted.remove(slot);
        }
        assert_eq!(in_vain(&table), 0, "empty buckets have no marks");
    }
}
