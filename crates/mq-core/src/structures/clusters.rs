//! `clusters`: one lane for each group of senders that a profiled run put together.
//!
//! Ghazimirsaeed & Afsahi 2017, described in Ghazimirsaeed et al. 2019, §3: ranks are grouped by
//! k-means over a profile of the queues, and each group has a queue. Static: without a profile
//! ([`Tuning::clusters`](crate::config::Tuning::clusters)) all senders share one. Choose it for
//! comparison, or for a program that runs a thousand times.
//!
//! Search: the entries of a group; from any source, all groups. Memory: 16 bytes per group; the table of the profiled
//! senders is the profile's own.

use std::sync::Arc;

use super::lane::{Lane, LaneId};
use super::routed::{Route, Routed, Sender};
use crate::config::{Clusters, Config};
use crate::memory::vec_bytes;
use crate::meter::Meter;
use crate::queues::Scope;

/// The `clusters` structure; see the [module](self).
pub type ClusteredLists<P, R, M> = Routed<Groups, P, R, M>;

/// Lanes by group; the last is for senders outside the profile.
#[derive(Debug)]
pub struct Groups {
    lanes: Vec<Lane>,
    profile: Option<Arc<Clusters>>,
}

impl Groups {
    #[inline(always)]
    fn group(&self, sender: Sender) -> LaneId {
        let group_of = |profile: &Arc<Clusters>| profile.group_of(sender.context, sender.rank);
        self.profile.as_ref().map_or(0, group_of)
    }
}

impl Route for Groups {
    fn from_config(config: &Config) -> Self {
        let profile = config.tuning.clusters.clone();
        let groups = profile.as_deref().map_or(0, Clusters::groups);
        Self {
            lanes: vec![Lane::EMPTY; groups as usize + 1],
            profile,
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
        vec_bytes(&self.lanes)
    }
}
