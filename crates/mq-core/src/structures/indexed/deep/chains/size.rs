//! The number of buckets.
//!
//! Buckets are added and removed in small groups (linear hashing, Litwin 1980), so that one operation
//! moves a bounded number of entries, whatever the size. Steps do not count keys: the owner says how many
//! there may be before it stores one ([`Chains::serve`]), and when few are left ([`Chains::shrink`]).
//!
//! Programs fill and drain their queues in every step. Adding the buckets again for each 60,000 entries
//! took half of the time of such a queue; so an emptied table begins with the buckets that the last two
//! fillings both needed, whose memory is allocated on use.

use super::super::heads::{Heads, NEAR_BUCKETS, PAGE};
use super::{Chains, HashedNodes, Nodes};
use crate::slab::{MORE, NIL};

/// The fewest buckets.
const FEWEST: u32 = PAGE;

/// The most buckets that an emptied table begins with: 512 KiB, if all are used.
const MOST_AT_ONCE: u32 = 1 << 17;

/// Keys for which room is made beyond those asked for: those that storage makes slots for before it
/// asks again.
const AHEAD: u32 = MORE;

/// The most buckets added in one go, a few microseconds: more than are requested at a time, so that the
/// table catches up.
const SPLITS: u32 = 128;

/// Buckets that are split together, so that their entries are fetched from memory together.
const BATCH: u32 = 64;

/// Buckets removed in one go, some of a microsecond: they hold few keys.
const MERGES: u32 = 512;

/// The table shrinks when there are this many buckets per key; the second limit is for a table that
/// began with the buckets of earlier fillings.
const SPARSE: u32 = 8;
const SPARSE_AT_FIRST: u32 = 64;

/// Fifteen buckets for eight keys, so that a key costs seven and a half bytes, and three of five
/// newcomers find their bucket empty, which cannot be predicted. The [near](NEAR_BUCKETS) buckets, whose
/// steps are quicker, serve some more keys than that before others are added.
const fn buckets_for(keys: u32) -> u32 {
    if keys <= SERVED_NEAR && keys > served_at_most(NEAR_BUCKETS) {
        return NEAR_BUCKETS;
    }
    keys.saturating_add(keys - keys / 8)
}

/// Keys that the near buckets serve.
const SERVED_NEAR: u32 = NEAR_BUCKETS / 3 * 2;

const fn served_by(buckets: u32) -> u32 {
    let served = served_at_most(buckets);
    if buckets >= NEAR_BUCKETS && served < SERVED_NEAR {
        return SERVED_NEAR;
    }
    served
}

/// Keys for which this many buckets are [enough](buckets_for).
const fn served_at_most(buckets: u32) -> u32 {
    buckets / 15 * 8 + buckets % 15 * 8 / 15
}

impl Default for Chains {
    fn default() -> Self {
        let mut chains = Self::unprepared();
        chains.heads.make();
        chains
    }
}

impl Chains {
    /// A table without buckets: [`prepare`](Self::prepare) comes before anything is looked for.
    pub(in super::super) const fn unprepared() -> Self {
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

    /// Adds buckets if there are too few for `keys` keys; if many are needed, some now and some with the
    /// next keys: meanwhile chains are longer than they should be. Moves keys, so it must not come between
    /// a probe and its use.
    #[inline]
    pub(in super::super) fn serve<N: HashedNodes>(&mut self, nodes: &mut N, keys: u32) {
        self.most = self.most.max(keys);
        if keys > self.served {
            self.grow(nodes, keys);
        }
    }

    /// `keys` keys are to be stored in a table that has none.
    pub(in super::super) fn prepare(&mut self, keys: u32) {
        self.heads.make();
        self.most = self.most.max(keys);
        if keys <= self.served {
            return;
        }
        let mut buckets = buckets_for(keys + AHEAD);
        if buckets <= NEAR_BUCKETS {
            // [`Heads::reach`] makes as many of these.
            buckets = buckets.next_power_of_two();
        }
        self.heads.reach(self.buckets, buckets);
        self.buckets = buckets;
        self.mask = mask_of(self.buckets);
        self.served = served_by(self.buckets);
        self.sparse = SPARSE;
    }

    #[cold]
    #[inline(never)]
    fn grow<N: HashedNodes>(&mut self, nodes: &mut N, keys: u32) {
        let wanted = buckets_for(keys.saturating_add(AHEAD)).min(self.buckets + SPLITS);
        self.heads.reach(self.buckets, wanted);
        while self.buckets < wanted {
            self.split(nodes, wanted);
        }
        self.served = served_by(self.buckets);
        self.sparse = SPARSE;
    }

    /// Adds some buckets, `wanted` in all at most, and moves to them what belongs there from those
    /// they were part of.
    fn split<N: HashedNodes>(&mut self, nodes: &mut N, wanted: u32) {
        let added = self.buckets;
        if added > self.mask {
            self.mask = self.mask << 1 | 1;
        }
        let bit = self.mask / 2 + 1;
        let run = (wanted - added).min(self.mask - added + 1).min(BATCH);
        self.buckets = added + run;
        // The entries are scattered. Here no load has to wait for the previous one.
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
    fn split_one<N: HashedNodes>(
        &mut self,
        nodes: &mut N,
        first: u32,
        hash: u32,
        added: u32,
        bit: u32,
    ) {
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

    /// With this many keys left the table is to [`shrink`](Self::shrink); 0 if it is as small as it
    /// gets.
    #[inline(always)]
    pub(in super::super) const fn few(&self) -> u32 {
        if self.buckets > NEAR_BUCKETS {
            self.buckets / self.sparse
        } else {
            0
        }
    }

    /// One more removal has left [`few`](Self::few) keys: removes some of the buckets. A table that began
    /// with those of earlier fillings first needs many such removals, which show that it is not just being
    /// emptied, as before.
    pub(in super::super) fn shrink<N: Nodes>(&mut self, nodes: &mut N) {
        if self.sparse == SPARSE_AT_FIRST && self.lingering < self.few() {
            self.lingering += 1;
            return;
        }
        let least = (self.buckets - MERGES.min(self.buckets)).max(NEAR_BUCKETS);
        while self.buckets > least {
            self.merge(nodes);
        }
        self.heads.truncate(least);
        self.served = served_by(least);
    }

    /// A removal has left `keys` keys: removes some of the buckets if these are few.
    #[inline(always)]
    pub(in super::super) fn shrink_to<N: Nodes>(&mut self, nodes: &mut N, keys: u32) {
        if keys < self.few() {
            self.shrink(nodes);
        }
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

    /// No key is left: frees the memory of all but the near buckets, and begins the next filling with as
    /// many as the last two needed, including the keys that came after the last request: a table that
    /// grew once would later take itself for one that is being emptied.
    pub(in super::super) fn rest(&mut self) {
        let again = self.most.min(self.most_before);
        self.most_before = core::mem::take(&mut self.most);
        let wanted = buckets_for(again.saturating_add(AHEAD)).min(MOST_AT_ONCE);
        if self.buckets > NEAR_BUCKETS || wanted > NEAR_BUCKETS {
            self.heads.clear_pages();
            let before = self.buckets.min(NEAR_BUCKETS);
            self.buckets = wanted.max(before);
            self.heads.reach(before, self.buckets);
            self.heads.truncate(self.buckets);
            self.mask = mask_of(self.buckets);
            self.served = served_by(self.buckets);
            self.sparse = SPARSE_AT_FIRST;
            self.lingering = 0;
        }
    }
}

/// The bits of a hash that number this many buckets, or fewer.
const fn mask_of(buckets: u32) -> u32 {
    match buckets.checked_next_power_of_two() {
        Some(power) => power - 1,
        None => u32::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_serve_the_keys_that_they_are_for_and_more_serve_no_fewer() {
        let keys = (1..3 * NEAR_BUCKETS).chain([1 << 20, (1 << 31) - 1]);
        for keys in keys {
            let buckets = buckets_for(keys);
            assert!(served_by(buckets) >= keys, "{buckets} for {keys}");
            assert!(u64::from(buckets) <= u64::from(keys) * 2, "for {keys}");
            assert!(mask_of(buckets) >= buckets - 1, "for {keys}");
        }
        for buckets in FEWEST..4 * NEAR_BUCKETS {
            assert!(
                served_by(buckets) <= served_by(buckets + 1),
                "{buckets} and one more"
            );
        }
    }
}
