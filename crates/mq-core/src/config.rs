//! What a structure is told when it is made.

use std::sync::Arc;

use crate::structures::Kind;

pub use crate::profile::Clusters;

/// What a structure is told when it is made.
///
/// The default suits a context of unknown size and the default structure.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Config {
    /// Which structure a run-time choice makes; ignored by a structure named by its type.
    pub kind: Kind,
    /// Ranks of the communicator, if known. Structures of process scope are told each
    /// ([`MatchQueues::add_context`](crate::MatchQueues::add_context)).
    pub size: Option<u32>,
    /// Whether the order of matching may be relaxed (`mpi_assert_allow_overtaking`, MPI 4.1
    /// §7.4.4). A structure may ignore it.
    pub allow_overtaking: bool,
    /// The smallest number that handles may use, at most 2^64 - 2^48; keeps those of a freed context
    /// stale.
    pub first_sequence: u64,
    /// Parameters of the structures.
    pub tuning: Tuning,
}

impl Config {
    /// A configuration that makes structure `kind`.
    pub fn of_kind(kind: Kind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// The same for a communicator of `size` ranks.
    #[must_use]
    pub fn with_size(mut self, size: u32) -> Self {
        self.size = Some(size);
        self
    }
}

/// Parameters of the structures; the defaults are those of their papers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tuning {
    /// `indexed`: a search that would visit more entries than this, at most 255, has its queue get
    /// tables. That of a receive or probe with a wildcard may visit six times as many, and some of
    /// those that are longer visit all.
    pub scan_limit: u32,
    /// `indexed`: two queues of more entries than this together, at most 4,096, are made deep
    /// whatever their searches cost, as soon as storage has to grow for one of them. It bounds what
    /// one step moves when the form changes.
    pub short_limit: u32,
    /// `indexed`: what the hash starts from; 0 is as none. Without it every context draws a secret
    /// one, so that nobody can choose tags that collide; with it, runs can be compared instruction
    /// by instruction.
    pub hash_seed: Option<u32>,
    /// `threshold`: what the longest 4-D search is multiplied by to get the communicator size from
    /// which on the 4-D structure is used. At least 1.
    pub adjustment: f64,
    /// `bins`, `adaptive`: number of lists, rounded up to a power of two.
    pub bins: u32,
    /// `adaptive`: the search length, in entries, past which the list becomes bins.
    pub adaptive_search: u32,
    /// `pnp`: the length of a shared queue at which partners are chosen (theta).
    pub partner_threshold: u32,
    /// `pnp`, `col`: dedicated queues are limited to k times the root of the communicator size;
    /// this is k for point-to-point traffic, 8 as in §5.3 of their paper.
    pub point_to_point_k: f64,
    /// The same for collective traffic, for which 2 to 4 were enough in all of its applications
    /// but one.
    pub collective_k: f64,
    /// `clusters`: which ranks share a queue. Without it all ranks share one.
    pub clusters: Option<Arc<Clusters>>,
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
        }
    }
}

impl Tuning {
    /// The limit on dedicated queues in a communicator of `size` ranks.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturating, and negative or NaN k means none"
    )]
    pub(crate) fn dedicated_limit(k: f64, size: u32) -> usize {
        (k * f64::from(size).sqrt()) as usize
    }
}
