//! `clusters`: one lane for each group of senders that a profiled run put together.
//!
//! Ghazimirsaeed & Afsahi 2017, described in Ghazimirsaeed et al. 2019, §3: ranks are grouped by
//! k-means over a profile of the queues, and each group has a queue. Static: without a profile
//! ([`Tuning::clusters`](crate::config::Tuning::clusters)) all senders share one. Choose it for
//! comparison, or for a program that runs a thousand times.
//!
//! Search: the entries of a group. Memory: a table of the profiled senders and 16 bytes per group.

use super::lane::{Lane, LaneId};
use super::routed::{Route, Routed, Sender};
use crate::config::Config;
use crate::hash::MixMap;
use crate::memory::vec_bytes;
use crate::meter::Meter;
use crate::queues::Scope;

/// The `clusters` structure; see the [module](self).
pub type ClusteredLists<P, R, M> = Routed<Groups, P, R, M>;

/// Lanes by group; the last is for senders outside the profile.
#[derive(Debug)]
pub struct Groups {
    lanes: Vec<Lane>,
    group_of: MixMap<Sender, LaneId>,
}

impl Groups {
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "as many lanes as u32 groups"
    )]
    fn group(&self, sender: Sender) -> LaneId {
        let other = self.lanes.len() as LaneId - 1;
        self.group_of.get(&sender).copied().unwrap_or(other)
    }
}

impl Route for Groups {
    fn from_config(config: &Config) -> Self {
        let plan = config.tuning.clusters.as_deref();
        let groups = plan.map_or(0, super::Clusters::groups);
        let members = plan.into_iter().flat_map(super::Clusters::members);
        Self {
            lanes: vec![Lane::EMPTY; groups as usize + 1],
            group_of: members
                .map(|(context, rank, group)| (Sender { context, rank }, group))
                .collect(),
        }
    }

    fn scope() -> Scope {
        Scope::Process
    }

    #[inline]
    fn find(&self, sender: Sender, meter: &mut impl Meter) -> Option<LaneId> {
        meter.passed(1);
        Some(self.group(sender))
    }

    #[inline]
    fn find_or_make(&mut self, sender: Sender, meter: &mut impl Meter) -> LaneId {
        meter.passed(1);
        self.group(sender)
    }

    #[inline(always)]
    fn lane(&self, id: LaneId) -> &Lane {
        &self.lanes[id as usize]
    }

    #[inline(always)]
    fn lane_mut(&mut self, id: LaneId) -> &mut Lane {
        &mut self.lanes[id as usize]
    }

    fn each(&self, visitor: &mut impl FnMut(&Lane)) {
        self.lanes.iter().for_each(visitor);
    }

    fn reset(&mut self) {
        self.lanes.fill(Lane::EMPTY);
    }

    fn bytes(&self) -> usize {
        vec_bytes(&self.lanes) + self.group_of.allocation_size()
    }
}
