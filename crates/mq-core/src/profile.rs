//! [`Clusters`]: which senders a profiled run puts together.

use std::collections::{BTreeMap, BTreeSet};

use crate::envelope::{ContextId, Rank};
use crate::hash::MixMap;

/// A grouping of ranks by their behaviour in a profiled run: the plan of `clusters`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clusters {
    groups: u32,
    group_of: MixMap<(ContextId, Rank), u32>,
}

impl Clusters {
    /// A grouping from pairs of sender and group number. Groups are renumbered without gaps.
    pub fn new(members: impl IntoIterator<Item = ((ContextId, Rank), u32)>) -> Self {
        let mut group_of: MixMap<_, _> = members.into_iter().collect();
        let used: BTreeSet<u32> = group_of.values().copied().collect();
        let dense: BTreeMap<u32, u32> = used.into_iter().zip(0..).collect();
        group_of
            .values_mut()
            .for_each(|group| *group = dense[group]);
        let groups = u32::try_from(dense.len()).unwrap_or(u32::MAX);
        Self { groups, group_of }
    }

    /// Number of groups; senders outside the profile share one more.
    #[must_use]
    pub const fn groups(&self) -> u32 {
        self.groups
    }

    /// The group of a sender; `groups()` if the profile does not know it.
    #[must_use]
    pub fn group_of(&self, context: ContextId, source: Rank) -> u32 {
        self.group_of
            .get(&(context, source))
            .copied()
            .unwrap_or(self.groups)
    }

    /// Every profiled sender and its group, in any order.
    pub fn members(&self) -> impl Iterator<Item = (ContextId, Rank, u32)> + '_ {
        let members = self.group_of.iter();
        members.map(|(&(context, rank), &group)| (context, rank, group))
    }

    /// Groups senders by k-means over how many elements each put into a queue, so that senders of
    /// similar weight share a queue (Ghazimirsaeed & Afsahi 2017).
    ///
    /// `counts` gives the elements of each sender. At most `groups` groups are made, at least one if there are
    /// senders, and no more than there are different counts: senders that are all alike share one.
    #[must_use]
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

/// The index of the nearest centre. The centres ascend: they are means of parts of a sorted list.
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
