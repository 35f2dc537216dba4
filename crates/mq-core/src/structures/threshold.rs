//! `threshold`: a list for small communicators, the 4-D structure for large ones.
//!
//! Zounmevo & Afsahi 2014, §4.3: the 4-D structure pays off once the communicator has at least as
//! many ranks as the longest 4-D search has steps (`3 * span + 1`), times an adjustment (2.0 unless
//! set). The choice is made when the context is first used, or its size changes. Choose it if `4d` would suit but
//! most communicators are small.
//!
//! Search and memory: those of the one that was chosen.

use super::four_d::{Cube, UNKNOWN_SIZE, span_bits};
use super::lane::{Lane, LaneId};
use super::leads::Leads;
use super::routed::{Route, Routed, Sender};
use crate::config::{Config, Tuning};
use crate::meter::Meter;
use crate::queues::Scope;

/// The `threshold` structure; see the [module](self).
pub type Threshold<P, R, M> = Leads<Routed<ListOrCube, P, R, M>>;

/// The communicator size from which on `threshold` uses the 4-D structure for a communicator of
/// `size` ranks: 26, 50, 98 and 194 up to 256, 4,096, 65,536 and 1,048,576 ranks.
#[must_use]
pub fn size_threshold(size: u32, tuning: &Tuning) -> f64 {
    let span = 1_u32 << span_bits(size);
    f64::from(3 * span + 1) * tuning.adjustment.max(1.0)
}

/// One list, or a cube.
#[derive(Debug)]
pub enum ListOrCube {
    /// All ranks share a lane.
    List(Lane),
    /// Ranks are split as in `4d`.
    Cube(Cube),
}

impl Route for ListOrCube {
    fn from_config(config: &Config) -> Self {
        let size = config.size.unwrap_or(UNKNOWN_SIZE);
        if f64::from(size) < size_threshold(size, &config.tuning) {
            Self::List(Lane::EMPTY)
        } else {
            Self::Cube(Cube::from_config(config))
        }
    }

    fn scope() -> Scope {
        Scope::Context
    }

    #[inline]
    fn find(&self, sender: Sender, meter: &mut impl Meter) -> Option<LaneId> {
        match self {
            Self::List(_) => Some(0),
            Self::Cube(cube) => cube.find(sender, meter),
        }
    }

    #[inline]
    fn find_or_make(&mut self, sender: Sender, meter: &mut impl Meter) -> LaneId {
        match self {
            Self::List(_) => 0,
            Self::Cube(cube) => cube.find_or_make(sender, meter),
        }
    }

    #[inline(always)]
    fn lane(&self, id: LaneId) -> &Lane {
        match self {
            Self::List(lane) => lane,
            Self::Cube(cube) => cube.lane(id),
        }
    }

    #[inline(always)]
    fn lane_mut(&mut self, id: LaneId) -> &mut Lane {
        match self {
            Self::List(lane) => lane,
            Self::Cube(cube) => cube.lane_mut(id),
        }
    }

    fn each(&self, visitor: &mut impl FnMut(&Lane)) {
        match self {
            Self::List(lane) => visitor(lane),
            Self::Cube(cube) => cube.each(visitor),
        }
    }

    fn emptied(&mut self, id: LaneId) {
        if let Self::Cube(cube) = self {
            cube.emptied(id);
        }
    }

    fn reset(&mut self) {
        match self {
            Self::List(lane) => *lane = Lane::EMPTY,
            Self::Cube(cube) => cube.reset(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::List(_) => 0,
            Self::Cube(cube) => cube.bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "small integers are exact")]
    fn thresholds_are_those_of_the_paper() {
        let tuning = Tuning::default();
        for (size, threshold) in [(256, 26.0), (4_096, 50.0), (65_536, 98.0), (1 << 20, 194.0)] {
            assert_eq!(size_threshold(size, &tuning), threshold);
        }
    }

    #[test]
    fn the_choice_follows_the_size() {
        let made = |size| ListOrCube::from_config(&Config::default().with_size(size));
        assert!(matches!(made(25), ListOrCube::List(_)));
        assert!(matches!(made(26), ListOrCube::Cube(_)));
    }
}
