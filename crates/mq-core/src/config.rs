//! What a structure is told when it is made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::envelope::{ContextId, Rank};
use crate::structures::Kind;

/// What a structure is told when it is made.
///
/// The default suits a context of unknown size and the default structure.
#[derive(Clone, Debug, Default)]
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

/// A grouping of ranks by their behaviour in a profiled run: the plan of `clusters`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clusters {
    groups: u32,
    group_of: BTreeMap<(ContextId, Rank), u32>,
}

impl Clusters {
    /// A grouping from pairs of sender and group number. Groups are numbered anew, without gaps.
    pub fn new(members: impl IntoIterator<Item = ((ContextId, Rank), u32)>) -> Self {
        let mut group_of: BTreeMap<_, _> = members.into_iter().collect();
        let used: BTreeSet<u32> = group_of.values().copied().collect();
        let dense: BTreeMap<u32, u32> = used.into_iter().zip(0..).collect();
        group_of
            .values_mut()
            .for_each(|group| *group = dense[group]);
        let groups = u32::try_from(dense.len()).unwrap_or(u32::MAX);
        Self { groups, group_of }
    }

    /// Number of groups; senders outside the profile share one more.
    pub const fn groups(&self) -> u32 {
        self.groups
    }

    /// The group of a sender; `groups()` if the profile does not know it.
    pub fn group_of(&self, context: ContextId, source: Rank) -> u32 {
        self.group_of
            .get(&(context, source))
            .copied()
            .unwrap_or(self.groups)
    }

    /// Every profiled sender and its group.
    pub fn members(&self) -> impl Iterator<Item = (ContextId, Rank, u32)> + '_ {
        let members = self.group_of.iter();
        members.map(|(&(context, rank), &group)| (context, rank, group))
    }

    /// Groups senders by k-means over how many elements each put into a queue, so that senders of
    /// like weight share a queue (Ghazimirsaeed & Afsahi 2017).
    ///
    /// `counts` gives the elements of each sender; at most `groups` groups are made, at least
    /// one, and no more than there are different counts: senders that are all alike share one.
    pub fn from_counts(counts: &BTreeMap<(ContextId, Rank), u64>, groups: u32) -> Self {
        let mut values: Vec<u64> = counts.values().copied().collect();
        values.sort_unstable();
        let centres = k_means(&values, groups as usize);
        Self::new(
            counts
                .iter()
                .map(|(&sender, &count)| (sender, nearest(&centres, count))),
        )
    }
}

/// Lloyd's algorithm on sorted numbers, starting from evenly spaced quantiles: deterministic.
fn k_means(sorted: &[u64], groups: usize) -> Vec<u64> {
    const ROUNDS: usize = 64;
    let mut distinct = sorted.to_vec();
    distinct.dedup();
    let groups = groups.max(1).min(distinct.len());
    let quantile = |i: usize| distinct[(2 * i + 1) * distinct.len() / (2 * groups)];
    let mut centres: Vec<u64> = (0..groups).map(quantile).collect();
    for _ in 0..ROUNDS {
        let mut sums = vec![(0_u128, 0_u128); centres.len()];
        for &value in sorted {
            let (sum, members) = &mut sums[nearest(&centres, value) as usize];
            *sum += u128::from(value);
            *members += 1;
        }
        let moved: Vec<u64> = sums
            .iter()
            .filter(|(_, members)| *members > 0)
            .filter_map(|(sum, members)| u64::try_from(sum / members).ok())
            .collect();
        if moved == centres {
            break;
        }
        centres = moved;
    }
    centres
}

/// The nearest of some centres in ascending order, which means of parts of a sorted list are.
#[expect(
    clippy::cast_possible_truncation,
    reason = "fewer centres than u32 groups"
)]
fn nearest(centres: &[u64], value: u64) -> u32 {
    let above = centres.partition_point(|&centre| centre < value);
    let candidates = above.saturating_sub(1)..centres.len().min(above + 1);
    let nearest = candidates.min_by_key(|&i| centres[i].abs_diff(value));
    nearest.unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_separate_heavy_from_light_senders() {
        let counts = (0..10)
            .map(|r| {
                (
                    (ContextId(0), Rank(r)),
                    if r < 3 { 1000 + u64::from(r) } else { 5 },
                )
            })
            .collect();
        let clusters = Clusters::from_counts(&counts, 2);
        assert_eq!(clusters.groups(), 2);
        let group = |r| clusters.group_of(ContextId(0), Rank(r));
        assert_eq!(group(0), group(2));
        assert_ne!(group(0), group(9));
        assert_eq!(group(99), 2, "outside the profile");
    }

    #[test]
    fn as_many_groups_are_made_as_there_are_different_counts() {
        let counts: BTreeMap<_, _> = (0..4)
            .map(|r| ((ContextId(0), Rank(r)), 10 * u64::from(r + 1)))
            .collect();
        for (wanted, made) in [(0, 1), (1, 1), (2, 2), (3, 3), (4, 4), (8, 4), (100, 4)] {
            assert_eq!(
                Clusters::from_counts(&counts, wanted).groups(),
                made,
                "{wanted}"
            );
        }
        let far = [
            ((ContextId(0), Rank(0)), u32::MAX),
            ((ContextId(0), Rank(1)), 7),
        ];
        assert_eq!(Clusters::new(far).groups(), 2);
    }

    #[test]
    fn the_nearest_centre_is_found_from_either_side() {
        for (value, centre) in [
            (0, 0),
            (14, 0),
            (16, 1),
            (20, 1),
            (60, 1),
            (61, 2),
            (900, 2),
        ] {
            assert_eq!(nearest(&[10, 20, 100], value), centre, "{value}");
        }
    }

    #[test]
    fn clusters_of_nothing_are_one_shared_queue() {
        let clusters = Clusters::from_counts(&BTreeMap::new(), 4);
        assert_eq!(clusters.groups(), 0);
        assert_eq!(clusters.group_of(ContextId(0), Rank(1)), 0);
    }
}
