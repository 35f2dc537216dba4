//! The table of receives with wildcards: chains, and beside each bucket a mark of what is in it.
//!
//! Every message searches this table, mostly without a match, for each class of wildcards. A bucket that
//! is not empty says little, and looking at its entries touches memory that has long been cold. Sixteen
//! bits per bucket, of which a key sets two, rule out all but a few in a hundred such keys, and the
//! marks of ten thousand receives fit in the processor's nearest cache.

use super::chains::{Chains, HashedNodes, Nodes, Probe};
use crate::memory::vec_bytes;
use crate::slab::NIL;

/// Buckets that have marks: as they grow, at most as many bytes are moved at once.
const MOST: usize = 1 << 16;

/// Chains with a mark for each bucket.
#[derive(Debug, Default)]
pub(super) struct Marked {
    chains: Chains,
    /// For each bucket, of the first [`MOST`], the [`mark`]s of the keys that were put into it since it
    /// was empty.
    marks: Vec<u16>,
    /// How many buckets there were when the marks were last brought into line with them; 0 before
    /// the first key.
    buckets: u32,
}

/// Two of sixteen bits, or one, from a part of the hash that does not determine the bucket.
#[inline(always)]
const fn mark(hash: u32) -> u16 {
    (1 << (hash >> 28)) | (1 << ((hash >> 24) & 15))
}

/// How many of `keys` keys the chains count: two thirds, since marks say more than empty buckets do. Then
/// there are five buckets for four keys, and a bucket with its mark takes no more per key than a bucket
/// does elsewhere.
const fn counted(keys: u32) -> u32 {
    keys - keys / 3
}

/// What may be in a bucket without marks.
const ALL: u16 = u16::MAX;

/// The bucket that this one was split from.
const fn origin(bucket: u32) -> u32 {
    match bucket.checked_ilog2() {
        Some(bit) => bucket - (1 << bit),
        None => 0,
    }
}

impl Marked {
    /// `keys` keys are to be stored in a table that has none.
    pub(super) fn prepare(&mut self, keys: u32) {
        self.chains.prepare(counted(keys));
        self.marks.clear();
        self.begin();
    }

    /// Makes the marks of a table that has no keys.
    fn begin(&mut self) {
        self.buckets = self.chains.buckets();
        self.marks.resize((self.buckets as usize).min(MOST), 0);
    }

    /// The number of buckets may have changed.
    #[inline(always)]
    fn follow(&mut self) {
        if self.buckets != self.chains.buckets() {
            self.follow_to(self.chains.buckets());
        }
    }

    #[cold]
    #[inline(never)]
    fn follow_to(&mut self, buckets: u32) {
        if self.buckets == 0 {
            return self.begin();
        }
        for bucket in self.buckets..buckets {
            if let Some(&marks) = self.marks.get(origin(bucket) as usize)
                && self.marks.len() < MOST
            {
                self.marks.push(marks);
                self.left(bucket);
            }
            self.left(origin(bucket));
        }
        for bucket in (buckets..self.buckets).rev() {
            let marks = match bucket as usize {
                marked if marked < MOST => self.marks.pop().unwrap_or(ALL),
                _ => ALL,
            };
            if let Some(all) = self.marks.get_mut(origin(bucket) as usize) {
                *all |= marks;
                self.left(origin(bucket));
            }
        }
        self.buckets = buckets;
        let marks = self.marks.len();
        if self.marks.capacity() > 2 * marks {
            self.marks.shrink_to(marks + marks / 2);
        }
    }

    /// Puts a node behind all others with its key; `keys` are stored then.
    #[inline(always)]
    pub(super) fn put<N: HashedNodes>(
        &mut self,
        nodes: &mut N,
        node: u32,
        key: N::Key,
        hash: u32,
        keys: u32,
    ) {
        self.chains.serve(nodes, counted(keys));
        self.follow();
        let likely = self.chains.likely_bucket(hash);
        if self.chains.near_first(likely) == Some(NIL) {
            nodes.set_next(node, NIL);
            nodes.set_prev(node, NIL);
            nodes.set_chain(node, NIL);
            if let Some(marks) = self.marks.get_mut(likely as usize) {
                *marks = mark(hash);
            }
            return self.chains.set_near_first(likely, node);
        }
        let bucket = self.chains.bucket_of(likely);
        let probe = self.chains.probe_bucket(nodes, key, bucket);
        self.chains.link(nodes, probe, node);
        if let Some(marks) = self.marks.get_mut(bucket as usize) {
            *marks |= mark(hash);
        }
    }

    /// The bucket of a hash, if a key of that hash may be there.
    #[inline(always)]
    pub(super) fn marked_bucket(&self, hash: u32) -> Option<u32> {
        let bucket = self.chains.bucket(hash);
        match self.marks.get(bucket as usize) {
            Some(marks) if !marks & mark(hash) != 0 => None,
            _ => Some(bucket),
        }
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
            self.unmark(bucket);
        }
    }

    /// Nodes have left a bucket.
    #[inline(always)]
    fn left(&mut self, bucket: u32) {
        if self.chains.first(bucket) == NIL {
            self.unmark(bucket);
        }
    }

    #[inline(always)]
    fn unmark(&mut self, bucket: u32) {
        if let Some(marks) = self.marks.get_mut(bucket as usize) {
            *marks = 0;
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

    /// A removal has left `keys` keys: removes some of the buckets if these are few.
    #[inline(always)]
    pub(super) fn shrink_to<N: Nodes>(&mut self, nodes: &mut N, keys: u32) {
        self.chains.shrink_to(nodes, counted(keys));
        self.follow();
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
    use super::super::super::hash::Seed;
    use super::super::super::key::key_of_receive;
    use super::super::nodes::{Both, posted};
    use super::*;
    use crate::Source;
    use crate::arrangement::Slabs;
    use crate::config::Config;
    use crate::mpi::MpiPattern;

    #[test]
    fn marks_hide_no_key_and_most_that_are_not_there() {
        grow_and_shrink(30_000, 8);
        // Of more buckets than have marks.
        grow_and_shrink(120_000, 65);
    }

    /// With at most `most_keys` keys; of 100 others `most` may seem to be there.
    fn grow_and_shrink(most_keys: i32, most: usize) {
        let mut slabs: Slabs<MpiPattern, u32, u32> = Slabs::new(&Config::default());
        let seed = Seed::new(1);
        let pattern = |tag| MpiPattern::new(0, Source::Any, tag);
        let key = |tag| key_of_receive(&pattern(tag));
        let hash = |tag| seed.hash(key(tag));
        let mut table = Marked::default();
        let mut slots = Vec::new();
        // As it grows: its buckets are split.
        for tag in 0..most_keys {
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
            let strangers = most_keys..2 * most_keys;
            let found = strangers.filter(|&tag| table.marked_bucket(hash(tag)).is_some());
            found.count() * 100 / most_keys as usize
        };
        assert!(in_vain(&table) <= most, "{} of 100", in_vain(&table));
        // As it shrinks: they are merged.
        while let Some((tag, slot)) = slots.pop() {
            if slots.len() % 5000 == 0 {
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
        assert!(table.bytes() < 64 << 10, "{} bytes", table.bytes());
    }
}
