//! What a structure is created with.

use std::sync::Arc;

use crate::structures::Kind;

pub use crate::own::Own;
pub use crate::profile::Clusters;

/// What a structure is created with.
///
/// The default suits a context of unknown size and the default structure.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Config {
    /// The structure to create. Only [`AnyQueues`](crate::structures::AnyQueues) looks at it: any other type is one
    /// structure.
    pub kind: Kind,
    /// Ranks of the communicator, if known. Structures of process scope get each communicator's size by
    /// [`MatchQueues::add_context`](crate::MatchQueues::add_context).
    pub size: Option<u32>,
    /// Whether the matching order may be relaxed (`mpi_assert_allow_overtaking`, MPI 4.1 §7.4.4). A
    /// structure may ignore it.
    pub allow_overtaking: bool,
    /// The smallest number that handles may use, at most 2^64 - 2^48. It keeps handles of a freed context stale and,
    /// where a `SharedEngine` has several queues for one context, their entries in order.
    pub first_sequence: u64,
    /// Parameters of the structures.
    pub tuning: Tuning,
}

impl Config {
    /// A configuration for structure `kind`.
    #[must_use]
    pub fn of_kind(kind: Kind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// Sets the number of ranks of the communicator.
    #[must_use]
    pub fn with_size(mut self, size: u32) -> Self {
        self.size = Some(size);
        self
    }
}

/// Parameters of the structures. The defaults of `adjustment`, `partner_threshold` and the two k are those of the
/// papers, which leave `bins` and `adaptive_search` to the user; those of `indexed` are measured ones. A value outside
/// its range counts as the nearest one inside.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tuning {
    /// `indexed`: a search that would visit more entries than this, 1 to 255, makes its queue build
    /// tables. A search for a receive or probe with a wildcard may visit three times as many, and some
    /// longer ones visit all.
    pub scan_limit: u32,
    /// `indexed`: if the two queues together hold more entries than this, at most 4,096, they become
    /// deep as soon as one of them has used up its slots, whatever their searches cost. It bounds what
    /// one step indexes when the form changes.
    pub short_limit: u32,
    /// `indexed`: the seed of the hash; 0 counts as none. Without a seed every context draws a secret
    /// one, so that nobody can choose tags that collide; with a seed, runs can be compared instruction
    /// by instruction.
    pub hash_seed: Option<u32>,
    /// `threshold`: the 4-D structure is used if the communicator has at least as many ranks as the longest
    /// 4-D search has steps, times this factor. At least 1.
    pub adjustment: f64,
    /// `bins`, `adaptive`: number of lists, rounded up to a power of two, at most 2^24.
    pub bins: u32,
    /// `adaptive`: the search length, in entries, past which the list becomes bins.
    pub adaptive_search: u32,
    /// `pnp`: the length of a shared queue at which partners are chosen (theta), at least 1.
    pub partner_threshold: u32,
    /// `pnp`, `col`: dedicated queues are limited to k times the square root of the communicator size;
    /// this is k for point-to-point traffic, 8 as in §5.3 of their paper. There are none if it is 0 or
    /// less, and never more than 2^20.
    pub point_to_point_k: f64,
    /// `col`: k for collective traffic. In that paper 2 to 4 were enough for all applications but one.
    pub collective_k: f64,
    /// `clusters`: which ranks share a queue. If absent, all ranks share one.
    pub clusters: Option<Arc<Clusters>>,
    /// Parameters of a structure of one's own. Those of the library ignore them.
    pub own: Own,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            scan_limit: 12,
            short_limit: 4096,
            hash_seed: None,
            adjustment: 2.0,
            bins: 256,
            adaptive_search: 64,
            partner_threshold: 100,
            point_to_point_k: 8.0,
            collective_k: 8.0,
            clusters: None,
            own: Own::default(),
        }
    }
}

impl Tuning {
    /// A changed copy: `Tuning::default().with(|t| t.scan_limit = 4)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The limit on dedicated queues in a communicator of `size` ranks.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturating, and negative or NaN k means none"
    )]
    pub(crate) fn dedicated_limit(k: f64, size: u32) -> usize {
        const MOST: usize = 1 << 20;
        MOST.min((k * f64::from(size).sqrt()) as usize)
    }
}
