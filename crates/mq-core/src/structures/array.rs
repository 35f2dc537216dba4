//! `array`: for each context, an array with a posted and an unexpected list for every rank.
//!
//! Open MPI's design as described by Zounmevo & Afsahi 2014, §5. Choose it for communicators of a
//! few hundred ranks that talk to most peers: no lookup is faster, and no structure takes more memory where
//! few peers are queued (where most are, trees of ranks take more).
//!
//! Search: the entries of one sender; a receive from any source asks every rank, if there is any
//! message. Memory: 16 bytes per rank (32 in the paper), all allocated when the context first queues and
//! kept when its queues become empty, where the paper gives them back.

use super::lane::{Lane, LaneId};
use super::leads::Leads;
use super::routed::{Route, Routed, Sender};
use crate::config::Config;
use crate::memory::vec_bytes;
use crate::meter::Meter;
use crate::queues::Scope;

/// The `array` structure; see the [module](self).
pub type Array<P, R, M> = Leads<Routed<RankHeads, P, R, M>>;

/// One lane per rank, and one more shared by all ranks beyond: those outside the communicator's size,
/// and those past 2^24, so that a nonsensical size does not take all memory.
#[derive(Debug)]
pub struct RankHeads {
    size: u32,
    heads: Vec<Lane>,
}

impl RankHeads {
    /// The most ranks that get a head: sixteen times the largest communicator of the paper.
    pub const MOST: u32 = 1 << 24;

    /// Rank heads allocated, the shared one not counted.
    #[must_use]
    pub const fn allocated(&self) -> usize {
        self.heads.len().saturating_sub(1)
    }

    #[inline(always)]
    fn position(&self, sender: Sender) -> LaneId {
        sender.rank.0.min(self.size)
    }

    #[cold]
    fn allocate(&mut self) {
        self.heads = vec![Lane::EMPTY; self.size as usize + 1];
    }
}

impl Route for RankHeads {
    fn from_config(config: &Config) -> Self {
        Self {
            size: config.size.unwrap_or(0).min(Self::MOST),
            heads: Vec::new(),
        }
    }

    fn scope() -> Scope {
        Scope::Context
    }

    #[inline]
    fn find(&self, sender: Sender, meter: &mut impl Meter) -> Option<LaneId> {
        meter.passed(1);
        (!self.heads.is_empty()).then(|| self.position(sender))
    }

    #[inline]
    fn find_or_make(&mut self, sender: Sender, meter: &mut impl Meter) -> LaneId {
        meter.passed(1);
        if self.heads.is_empty() {
            self.allocate();
        }
        self.position(sender)
    }

    #[inline(always)]
    fn lane(&self, id: LaneId) -> &Lane {
        &self.heads[id as usize]
    }

    #[inline(always)]
    fn lane_mut(&mut self, id: LaneId) -> &mut Lane {
        &mut self.heads[id as usize]
    }

    fn each(&self, visitor: &mut impl FnMut(&Lane)) {
        self.heads.iter().for_each(visitor);
    }

    fn reset(&mut self) {
        self.heads.fill(Lane::EMPTY);
    }

    fn bytes(&self) -> usize {
        vec_bytes(&self.heads)
    }
}
