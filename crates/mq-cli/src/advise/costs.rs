//! What each structure costs.

use mq_core::structures::Kind;
use serde::Serialize;

use crate::replay::{Replayed, Row};

/// The costs of the structures, cheapest first. The fields are keys of the JSON output.
#[derive(Serialize)]
pub(super) struct Costs {
    pub(super) operations: usize,
    /// How long the process ran, several processes in sequence, if that is known.
    pub(super) run_seconds: Option<f64>,
    pub(super) structures: Vec<Cost>,
}

/// The cost of one structure; the loop floor is subtracted from times.
#[derive(Serialize, Clone)]
pub(super) struct Cost {
    pub(super) structure: String,
    pub(super) ns_per_op: f64,
    /// Its time divided by that of `list`; none if that is 0.
    pub(super) x_list: Option<f64>,
    pub(super) total_ns: f64,
    /// The part of the run's time that this is; none if that is not known.
    pub(super) share_of_run: Option<f64>,
    pub(super) peak_bytes: usize,
    pub(super) mismatches: usize,
    /// Timed repetitions; for several traces the fewest.
    pub(super) repetitions: usize,
    /// Spread of the repetitions around their median; none if there are too few.
    pub(super) spread_ns_per_op: Option<f64>,
}

impl Costs {
    /// The costs of one replayed trace, of a process that ran for `run_seconds`.
    pub(super) fn of(replayed: &Replayed, run_seconds: Option<f64>) -> Self {
        let operations = replayed.operations;
        let cost = |row: &Row| Cost {
            structure: row.structure.clone(),
            ns_per_op: row.ns_per_op,
            x_list: None,
            total_ns: row.ns_per_op * operations as f64,
            share_of_run: None,
            peak_bytes: row.peak_bytes,
            mismatches: row.mismatches,
            repetitions: row.repetitions,
            spread_ns_per_op: row.spread_ns_per_op,
        };
        Self::new(
            operations,
            run_seconds,
            replayed.rows.iter().map(cost).collect(),
        )
    }

    /// The costs of several traces in sequence; all have the same structures.
    pub(super) fn together<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let mut operations = 0;
        let mut run_seconds = Some(0.0);
        // Each with the sum of its spreads, in nanoseconds.
        let mut sums: Vec<(Cost, Option<f64>)> = Vec::new();
        for costs in all {
            operations += costs.operations;
            let both = run_seconds.zip(costs.run_seconds);
            run_seconds = both.map(|(all, one)| all + one);
            for cost in &costs.structures {
                let whole = |spread: f64| spread * costs.operations as f64;
                let spread_ns = cost.spread_ns_per_op.map(whole);
                let mut before = sums.iter_mut();
                match before.find(|(sum, _)| sum.structure == cost.structure) {
                    Some((sum, total_spread_ns)) => {
                        sum.total_ns += cost.total_ns;
                        let spreads = total_spread_ns.zip(spread_ns);
                        *total_spread_ns = spreads.map(|(one, other)| one + other);
                        sum.repetitions = sum.repetitions.min(cost.repetitions);
                        sum.mismatches += cost.mismatches;
                        sum.peak_bytes = sum.peak_bytes.max(cost.peak_bytes);
                    }
                    None => sums.push((cost.clone(), spread_ns)),
                }
            }
        }
        let each = |sum: f64| sum / operations.max(1) as f64;
        let structures = sums.into_iter().map(|(sum, total_spread_ns)| Cost {
            ns_per_op: each(sum.total_ns),
            spread_ns_per_op: total_spread_ns.map(each),
            ..sum
        });
        Self::new(operations, run_seconds, structures.collect())
    }

    fn new(operations: usize, run_seconds: Option<f64>, mut structures: Vec<Cost>) -> Self {
        structures.sort_by(|a, b| a.ns_per_op.total_cmp(&b.ns_per_op));
        let mut costs = Self {
            operations,
            run_seconds: run_seconds.filter(|&seconds| seconds > 0.0),
            structures,
        };
        let list = costs.of_kind(Kind::List).map_or(0.0, |list| list.ns_per_op);
        for cost in &mut costs.structures {
            cost.x_list = (list > 0.0).then(|| cost.ns_per_op / list);
            cost.share_of_run = costs.run_seconds.map(|run| cost.total_ns / 1e9 / run);
        }
        costs
    }

    /// Whether the structures that every verdict compares with reproduced all pairings.
    pub(super) fn comparable(&self) -> bool {
        let mut compared = [Kind::List, Kind::default()].into_iter();
        compared.all(|kind| self.of_kind(kind).is_some_and(|cost| cost.mismatches == 0))
    }

    /// The cost of one structure, if it was timed.
    pub(super) fn of_kind(&self, kind: Kind) -> Option<&Cost> {
        let mut structures = self.structures.iter();
        structures.find(|cost| cost.structure == kind.name())
    }
}

#[cfg(test)]
impl Costs {
    /// Costs in nanoseconds per operation, from many repetitions without spread over 10,000 operations.
    pub(super) fn measured(costs: &[(Kind, f64)]) -> Self {
        let operations = 10_000;
        let cost = |&(kind, ns_per_op): &(Kind, f64)| Cost {
            structure: kind.name().into(),
            ns_per_op,
            x_list: None,
            total_ns: ns_per_op * operations as f64,
            share_of_run: None,
            peak_bytes: 0,
            mismatches: 0,
            repetitions: 15,
            spread_ns_per_op: Some(0.0),
        };
        Self::new(operations, None, costs.iter().map(cost).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_several_traces_are_added() {
        let short = Costs::measured(&[(Kind::List, 5.0), (Kind::Indexed, 6.0)]);
        let mut deep = Costs::measured(&[(Kind::List, 95.0), (Kind::Indexed, 14.0)]);
        deep.structures[1].peak_bytes = 7;
        assert_eq!(
            deep.structures[1].structure, "list",
            "the cheapest is first"
        );
        let together = Costs::together([short, deep].iter());
        assert_eq!(together.operations, 20_000);
        let rows: Vec<_> = together
            .structures
            .iter()
            .map(|cost| {
                (
                    &*cost.structure,
                    cost.ns_per_op,
                    cost.x_list,
                    cost.peak_bytes,
                )
            })
            .collect();
        let expected = [
            ("indexed", 10.0, Some(0.2), 0),
            ("list", 50.0, Some(1.0), 7),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn the_share_of_the_run_is_known_if_all_runs_are() {
        let costs = |seconds| {
            let costs = Costs::measured(&[(Kind::List, 5.0), (Kind::Indexed, 6.0)]);
            Costs::new(costs.operations, seconds, costs.structures)
        };
        let share = |costs: &Costs| costs.of_kind(Kind::List).and_then(|list| list.share_of_run);
        let near = |share: Option<f64>, expected: f64| {
            assert!(
                share.is_some_and(|share| (share / expected - 1.0).abs() < 1e-9),
                "{share:?}"
            );
        };
        near(share(&costs(Some(0.001))), 0.05);
        let (one, other) = (costs(Some(0.001)), costs(Some(0.003)));
        near(share(&Costs::together([one, other].iter())), 0.025);
        let (one, other) = (costs(Some(0.001)), costs(None));
        assert_eq!(share(&Costs::together([one, other].iter())), None);
        assert_eq!(share(&costs(Some(0.0))), None);
    }

    #[test]
    fn one_trace_that_was_repeated_too_seldom_is_enough_not_to_know() {
        let often = || Costs::measured(&[(Kind::List, 5.0)]);
        let mut seldom = often();
        seldom.structures[0].repetitions = 3;
        seldom.structures[0].spread_ns_per_op = None;
        let known = Costs::together([often(), often()].iter());
        assert_eq!(known.structures[0].spread_ns_per_op, Some(0.0));
        let together = Costs::together([often(), seldom].iter());
        let list = &together.structures[0];
        assert_eq!((list.repetitions, list.spread_ns_per_op), (3, None));
    }

    #[test]
    fn nothing_is_no_multiple_of_nothing() {
        let costs = Costs::measured(&[(Kind::List, 0.0), (Kind::Indexed, 0.1)]);
        assert!(costs.structures.iter().all(|cost| cost.x_list.is_none()));
        assert_eq!(Costs::together([].iter()).operations, 0);
    }
}
