//! `adaptive`: one list until a search is long, then bins; one list again when drained.
//!
//! Bayatpour, Subramoni, Chakraborty & Panda, "Adaptive and Dynamic Design for MPI Tag Matching",
//! Cluster 2016. Choose it if most programs keep short queues and some do not.
//!
//! Search: as `list`, where at most one search exceeds the threshold before the list becomes `bins`, and then as
//! `bins`. The change relinks all entries, in order, each time that it comes; receives from any source, which
//! bins would not shorten, do not bring it. Memory: that of `bins`, once there were any.

use super::bins::HashedBins;
use super::lane::{Lane, LaneId};
use super::routed::{Route, Routed, Sender};
use crate::config::Config;
use crate::meter::Meter;
use crate::queues::Scope;

/// The `adaptive` structure; see the [module](self).
pub type Adaptive<P, R, M> = Routed<ListThenBins, P, R, M>;

/// One lane, or the bins.
#[derive(Debug)]
pub struct ListThenBins {
    list: Lane,
    bins: HashedBins,
    binned: bool,
    longest_search: u32,
}

impl ListThenBins {
    /// Whether a long search has changed the list into bins.
    #[must_use]
    pub const fn is_binned(&self) -> bool {
        self.binned
    }
}

impl Route for ListThenBins {
    fn from_config(config: &Config) -> Self {
        Self {
            list: Lane::EMPTY,
            bins: HashedBins::from_config(config),
            binned: false,
            longest_search: config.tuning.adaptive_search,
        }
    }

    fn scope() -> Scope {
        Scope::Process
    }

    #[inline]
    fn find(&self, sender: Sender, meter: &mut impl Meter) -> Option<LaneId> {
        if self.binned {
            self.bins.find(sender, meter)
        } else {
            Some(0)
        }
    }

    #[inline]
    fn find_or_make(&mut self, sender: Sender, meter: &mut impl Meter) -> LaneId {
        if self.binned {
            self.bins.find_or_make(sender, meter)
        } else {
            0
        }
    }

    #[inline(always)]
    fn lane(&self, id: LaneId) -> &Lane {
        if self.binned {
            self.bins.lane(id)
        } else {
            &self.list
        }
    }

    #[inline(always)]
    fn lane_mut(&mut self, id: LaneId) -> &mut Lane {
        if self.binned {
            self.bins.lane_mut(id)
        } else {
            &mut self.list
        }
    }

    fn each(&self, visitor: &mut impl FnMut(&Lane)) {
        if self.binned {
            self.bins.each(visitor);
        } else {
            visitor(&self.list);
        }
    }

    #[inline]
    fn searched(&mut self, visited: u32) -> bool {
        if self.binned || visited <= self.longest_search {
            return false;
        }
        self.binned = true;
        self.list = Lane::EMPTY;
        true
    }

    #[inline]
    fn drained(&mut self) {
        self.binned = false;
    }

    fn reset(&mut self) {
        self.binned = false;
        self.list = Lane::EMPTY;
        self.bins.reset();
    }

    fn bytes(&self) -> usize {
        self.bins.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::{MpiEnvelope, MpiPattern};
    use crate::{Arrive, MatchQueues, Post, Source};

    /// Bins would not shorten the walk over them.
    #[test]
    fn receives_from_any_source_make_no_bins() {
        let mut queues = Adaptive::<MpiPattern, i32, ()>::with_config(&Config::default());
        for tag in 0..200 {
            let _ = queues.post(MpiPattern::new(0, Source::Any, tag), tag);
        }
        let _ = queues.arrive(MpiEnvelope::new(0, 1, 199), ());
        assert!(!queues.route().is_binned());
        for tag in 200..400 {
            let _ = queues.arrive(MpiEnvelope::new(0, 1, tag), ());
        }
        let last = MpiPattern::new(0, Source::Any, 399);
        assert!(queues.probe(&last).is_some());
        assert!(matches!(queues.post(last, 0), Post::Matched { .. }));
        assert!(!queues.route().is_binned());
    }

    #[test]
    #[expect(clippy::cast_sign_loss, reason = "ranks are small and positive")]
    fn a_long_search_makes_bins_and_draining_undoes_it() {
        let mut queues = Adaptive::<MpiPattern, i32, ()>::with_config(&Config::default());
        for rank in 0..200 {
            let _ = queues.post(MpiPattern::new(0, rank as u32, 0), rank);
        }
        assert!(!queues.route().is_binned());
        for rank in (0..200).rev() {
            let arrival = queues.arrive(MpiEnvelope::new(0, rank as u32, 0), ());
            assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == rank));
            assert_eq!(queues.route().is_binned(), rank != 0);
        }
    }

    #[test]
    fn a_search_of_exactly_the_threshold_makes_no_bins_yet() {
        let mut config = Config::default();
        config.tuning.adaptive_search = 5;
        let mut queues = Adaptive::<MpiPattern, u32, ()>::with_config(&config);
        for rank in 0..6 {
            let _ = queues.post(MpiPattern::new(0, rank, 0), rank);
        }
        for (rank, is_binned) in [(4, false), (5, true)] {
            assert!(queues.find_receive(&MpiEnvelope::new(0, rank, 0)).is_some());
            assert_eq!(queues.route().is_binned(), is_binned);
        }
    }
}
