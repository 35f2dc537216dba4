//! `rbtree`: for each context, a red-black tree keyed by rank, with a short lane at each node.
//!
//! The alternative against which Zounmevo & Afsahi 2014, §6, measure the 4-D structure. The tree comes
//! from the intrusive-collections crate. Choose it for comparison.
//!
//! Search: logarithmic in the ranks queued, then the entries of one sender; from any source, all ranks that are
//! queued. Memory: a node for each, created on demand and freed when empty, and 16 bytes, whose place is used
//! again and given back when the context's last entry leaves.

// The adapter macro writes the offset arithmetic of intrusive links.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::cmp::Ordering;

use intrusive_collections::rbtree::Entry;
use intrusive_collections::{KeyAdapter, RBTree, RBTreeAtomicLink, intrusive_adapter};

use super::lane::{Lane, LaneId};
use super::leads::Leads;
use super::pool::Pool;
use super::routed::{Route, Routed, Sender};
use crate::config::Config;
use crate::envelope::Rank;
use crate::meter::Meter;
use crate::queues::Scope;

/// The `rbtree` structure; see the [module](self).
pub type RbTree<P, R, M> = Leads<Routed<RankTree, P, R, M>>;

#[derive(Debug)]
struct Node {
    link: RBTreeAtomicLink,
    rank: Rank,
    lane: LaneId,
}

intrusive_adapter!(ByRank = Box<Node>: Node { link => RBTreeAtomicLink });

impl<'a> KeyAdapter<'a> for ByRank {
    type Key = Counted<'a>;
    fn get_key(&self, node: &'a Node) -> Counted<'a> {
        Counted {
            rank: node.rank,
            compared: None,
        }
    }
}

/// A rank that counts how often it is compared: the nodes a search passes.
#[derive(Debug)]
struct Counted<'a> {
    rank: Rank,
    compared: Option<&'a Cell<u32>>,
}

impl PartialEq for Counted<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Counted<'_> {}

impl PartialOrd for Counted<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Counted<'_> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        for counted in [self.compared, other.compared].into_iter().flatten() {
            counted.set(counted.get() + 1);
        }
        self.rank.cmp(&other.rank)
    }
}

#[derive(Debug)]
struct RankLane {
    rank: Rank,
    lane: Lane,
}

/// The tree of one context.
pub struct RankTree {
    tree: RBTree<ByRank>,
    lanes: Pool<RankLane>,
}

impl RankTree {
    /// Nodes in use: one for each rank that has entries.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.lanes.len()
    }
}

impl core::fmt::Debug for RankTree {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RankTree")
            .field("nodes", &self.nodes())
            .finish_non_exhaustive()
    }
}

impl Route for RankTree {
    fn from_config(_: &Config) -> Self {
        Self {
            tree: RBTree::new(ByRank::new()),
            lanes: Pool::new(),
        }
    }

    fn scope() -> Scope {
        Scope::Context
    }

    #[inline]
    fn find(&self, sender: Sender, meter: &mut impl Meter) -> Option<LaneId> {
        let compared = Cell::new(0);
        let key = Counted {
            rank: sender.rank,
            compared: Some(&compared),
        };
        let lane = self.tree.find(&key).get().map(|node| node.lane);
        meter.passed(compared.get());
        lane
    }

    fn find_or_make(&mut self, sender: Sender, meter: &mut impl Meter) -> LaneId {
        let rank = sender.rank;
        let compared = Cell::new(0);
        let key = Counted {
            rank,
            compared: Some(&compared),
        };
        let node = match self.tree.entry(&key) {
            Entry::Occupied(node) => node,
            Entry::Vacant(place) => {
                let lane = Lane::EMPTY;
                let lane = self.lanes.make(RankLane { rank, lane });
                let link = RBTreeAtomicLink::new();
                place.insert(Box::new(Node { link, rank, lane }))
            }
        };
        meter.passed(compared.get());
        node.get().expect("there or just made").lane
    }

    #[inline(always)]
    fn lane(&self, id: LaneId) -> &Lane {
        &self.lanes.get(id).lane
    }

    #[inline(always)]
    fn lane_mut(&mut self, id: LaneId) -> &mut Lane {
        &mut self.lanes.get_mut(id).lane
    }

    fn each(&self, visitor: &mut impl FnMut(&Lane)) {
        for node in &self.tree {
            visitor(self.lane(node.lane));
        }
    }

    fn emptied(&mut self, id: LaneId) {
        let key = Counted {
            rank: self.lanes.get(id).rank,
            compared: None,
        };
        self.tree.find_mut(&key).remove();
        self.lanes.free(id);
    }

    fn reset(&mut self) {
        self.tree.clear();
        self.lanes.clear();
    }

    fn bytes(&self) -> usize {
        self.nodes() * size_of::<Node>() + self.lanes.bytes()
    }
}
