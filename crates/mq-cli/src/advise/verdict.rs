//! From costs to one sentence.

use mq_core::structures::Kind;
use serde::Serialize;

use super::costs::{Cost, Costs};
use super::evidence::Evidence;
use crate::report::{count, decimal};

/// The share of the time of `list` below which no difference counts, however steady the
/// repetitions are: about what two builds of the same code differ by.
const LEAST_NOISE: f64 = 0.05;
/// No structure gains as much over `list`: from this share on nothing speaks for the default.
const MOST_NOISE: f64 = 1.0;
/// The nanoseconds an operation for which the default is left at all: less is what the same
/// structure differs by between machines, and no message is slower for it.
const LEAST_WORTH: f64 = 2.0;
/// Below so many nanoseconds in all, the clock and a single interrupt decide.
const SHORTEST: f64 = 10_000.0;
/// Up to so many entries compared, a search is short.
const SHORT_SEARCH: f64 = 4.0;
/// Beyond this, how many times less is of no interest.
const MANY: f64 = 10_000.0;

/// Which structure to take. The fields are keys of the JSON output.
#[derive(Serialize)]
pub(super) struct Verdict {
    pub(super) recommended: &'static str,
    pub(super) default: &'static str,
    /// What the library that wrote the trace matches with, if that is known and not `list`.
    pub(super) own: Option<&'static str>,
    /// The share of the time of `list` up to which differences are noise.
    pub(super) noise: f64,
    /// Why, as a sentence or two.
    pub(super) verdict: String,
}

impl Verdict {
    /// The verdict on `place`: the name of a trace, or what stands for several. `own` is what the
    /// library that wrote it matches with, if that is not `list`.
    pub(super) fn on(costs: &Costs, evidence: &Evidence, place: &str, own: Option<Kind>) -> Self {
        let default = Kind::default().name();
        let stay = |reason: String| Self {
            recommended: default,
            default,
            own: own.map(Kind::name),
            noise: LEAST_NOISE,
            verdict: format!("{reason}; stay with {default}, the default."),
        };
        let Some(contest) = Contest::of(costs) else {
            return stay(format!("pairings differ from the recorded ones on {place}"));
        };
        if contest.list.total_ns < SHORTEST {
            return stay(format!("too few operations to tell on {place}"));
        }
        let recommended = contest.winner();
        if contest.noise >= MOST_NOISE && recommended.structure == default {
            return Self {
                noise: contest.noise,
                ..stay(format!(
                    "too noisy to tell on {place}: repetitions differ by {} of the time of list; \
                     advise again on a quieter machine, or with more of them (--repeat)",
                    percent(contest.noise)
                ))
            };
        }
        let verdict = if contest.gains(recommended) {
            contest.gain(recommended, place)
        } else {
            contest.no_gain(recommended, evidence.mean_search(), place)
        };
        let timed = own.and_then(|own| costs.of_kind(own));
        let before = timed.map(|own| against_own(recommended, own));
        let verdict = before.unwrap_or_default() + &verdict;
        Self {
            recommended: recommended.structure,
            default,
            own: own.map(Kind::name),
            noise: contest.noise,
            verdict,
        }
    }
}

/// The structures that matter for the verdict.
struct Contest<'a> {
    list: &'a Cost,
    default: &'a Cost,
    cheapest: &'a Cost,
    noise: f64,
}

impl<'a> Contest<'a> {
    /// None if what to compare with was not timed, or did not reproduce all pairings.
    fn of(costs: &'a Costs) -> Option<Self> {
        if !costs.comparable() {
            return None;
        }
        let list = costs.of_kind(Kind::List)?;
        let default = costs.of_kind(Kind::default())?;
        let cheapest = costs.structures.iter().find(|cost| cost.mismatches == 0)?;
        let spreads = [list, default, cheapest].map(|cost| cost.spread_ns_per_op);
        let spread = spreads.into_iter().fold(0.0, f64::max);
        Some(Self {
            list,
            default,
            cheapest,
            noise: LEAST_NOISE.max(spread / list.ns_per_op),
        })
    }

    /// Whether one is cheaper by more than noise.
    fn beats(&self, one: &Cost, other: &Cost) -> bool {
        other.ns_per_op - one.ns_per_op > self.noise * self.list.ns_per_op
    }

    fn gains(&self, cost: &Cost) -> bool {
        self.beats(cost, self.list)
    }

    /// The default, unless that costs more than need be, and that more matters.
    fn winner(&self) -> &'a Cost {
        let best = if self.gains(self.cheapest) {
            self.cheapest
        } else {
            self.list
        };
        let more = self.default.ns_per_op - best.ns_per_op;
        if self.beats(best, self.default) && more >= LEAST_WORTH {
            best
        } else {
            self.default
        }
    }

    fn gain(&self, winner: &Cost, place: &str) -> String {
        let mut text = format!(
            "{}: {} in matching than list on {place} ({} ns -> {} ns per operation).",
            winner.structure,
            less(winner.ns_per_op, self.list.ns_per_op),
            decimal(self.list.ns_per_op),
            decimal(winner.ns_per_op),
        );
        if winner.structure != self.default.structure {
            text += &format!(
                " {}, the default, takes {} ns.",
                self.default.structure,
                decimal(self.default.ns_per_op)
            );
        } else if self.cheapest.ns_per_op < winner.ns_per_op * (1.0 - self.noise) {
            let difference = winner.ns_per_op - self.cheapest.ns_per_op;
            text += &format!(
                " That is the default; {} takes {} ns, which saves another {} of list's time.",
                self.cheapest.structure,
                decimal(self.cheapest.ns_per_op),
                percent(difference / self.list.ns_per_op),
            );
        } else {
            text += " That is the default, and no structure is faster by more than noise.";
        }
        text
    }

    fn no_gain(&self, winner: &Cost, mean_search: f64, place: &str) -> String {
        let short = mean_search <= SHORT_SEARCH;
        let mean_search = decimal(mean_search);
        let why = if short {
            format!("short queues (mean search length {mean_search})")
        } else {
            format!("mean search length {mean_search}")
        };
        if self.gains(self.cheapest) {
            return format!(
                "{why}: {} gains only {} ns an operation over list on {place}; stay with {}, the \
                 default.",
                self.cheapest.structure,
                decimal(self.list.ns_per_op - self.cheapest.ns_per_op),
                self.default.structure
            );
        }
        let mut text = format!(
            "{why}: what any structure gains over list on {place} is less than noise ({}); ",
            percent(self.noise)
        );
        let default = self.default.structure;
        if winner.structure != default {
            let more = self.default.ns_per_op / self.list.ns_per_op - 1.0;
            text += &format!(
                "{default}, the default, takes {} more: {} serves it best.",
                percent(more),
                winner.structure
            );
        } else if self.beats(self.list, self.default) {
            let more = self.default.ns_per_op - self.list.ns_per_op;
            text += &format!(
                "{default}, the default, takes {} ns more, too little to leave it.",
                decimal(more)
            );
        } else {
            text += &format!("stay with {default}, the default.");
        }
        text
    }
}

/// What changes for who has the library's own structure now.
fn against_own(winner: &Cost, own: &Cost) -> String {
    let name = own.structure;
    if winner.structure == name {
        return format!("{name} is Open MPI's own structure: nothing is to be changed. ");
    }
    let noise = (LEAST_NOISE * own.ns_per_op)
        .max(own.spread_ns_per_op)
        .max(winner.spread_ns_per_op);
    let saved = own.ns_per_op - winner.ns_per_op;
    let compared = if saved > noise {
        let less = less(winner.ns_per_op, own.ns_per_op);
        format!("{less} in matching than {name}, Open MPI's own structure")
    } else if saved < -noise {
        format!("slower in matching than {name}, Open MPI's own structure")
    } else {
        format!("as fast in matching as {name}, Open MPI's own structure, but for noise")
    };
    format!(
        "{}: {compared} ({} ns -> {} ns per operation). ",
        winner.structure,
        decimal(own.ns_per_op),
        decimal(winner.ns_per_op),
    )
}

/// By how much one time is less than another, in words.
fn less(one: f64, other: f64) -> String {
    let times = other / one;
    if times >= MANY {
        format!("more than {} times faster", count(MANY as u64))
    } else if times >= 10.0 {
        format!("{} times faster", count(times.round() as u64))
    } else if times >= 2.0 {
        format!("{times:.1} times faster")
    } else {
        format!("{} less time", percent(1.0 - one / other))
    }
}

/// A share in percent, with a decimal where it is small.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 1.0 {
        format!("{percent:.1}%")
    } else {
        format!("{percent:.0}%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(list: f64, default: f64, bins: f64, mean_search: f64) -> Verdict {
        let costs = [
            (Kind::List, list),
            (Kind::Indexed, default),
            (Kind::Bins, bins),
        ];
        Verdict::on(
            &Costs::measured(&costs),
            &Evidence::searched(mean_search),
            "t",
            None,
        )
    }

    #[test]
    fn a_gain_is_told_in_times_and_nanoseconds() {
        let verdict = verdict(1520.0, 37.0, 40.0, 588.0);
        assert_eq!(verdict.recommended, "indexed");
        let expected = "indexed: 41 times faster in matching than list on t (1,520 ns -> 37.0 ns per \
                        operation). That is the default, and no structure is faster by more than \
                        noise.";
        assert_eq!(verdict.verdict, expected);
    }

    #[test]
    fn the_default_is_not_left_for_little() {
        let verdict = verdict(1000.0, 40.0, 20.0, 400.0);
        assert_eq!(verdict.recommended, "indexed");
        let remark =
            "That is the default; bins takes 20.0 ns, which saves another 2% of list's time.";
        assert!(verdict.verdict.ends_with(remark), "{}", verdict.verdict);
    }

    #[test]
    fn the_default_is_left_for_much() {
        let verdict = verdict(100.0, 90.0, 40.0, 40.0);
        assert_eq!(verdict.recommended, "bins");
        let expected = "bins: 2.5 times faster in matching than list on t (100 ns -> 40.0 ns per \
                        operation). indexed, the default, takes 90.0 ns.";
        assert_eq!(verdict.verdict, expected);
    }

    #[test]
    fn short_queues_gain_nothing() {
        let verdict = verdict(6.69, 6.5, 28.9, 1.3);
        assert_eq!(verdict.recommended, "indexed");
        let expected = "short queues (mean search length 1.30): what any structure gains over list \
                        on t is less than noise (5%); stay with indexed, the default.";
        assert_eq!(verdict.verdict, expected);
    }

    #[test]
    fn a_default_that_costs_more_is_not_recommended() {
        let verdict = verdict(100.0, 112.0, 97.0, 6.0);
        assert_eq!(verdict.recommended, "list");
        let end = "indexed, the default, takes 12% more: list serves it best.";
        assert!(verdict.verdict.ends_with(end), "{}", verdict.verdict);
    }

    #[test]
    fn a_nanosecond_changes_nothing() {
        let one = verdict(6.0, 7.3, 6.1, 0.6);
        assert_eq!(one.recommended, "indexed");
        let end = "noise (5%); indexed, the default, takes 1.30 ns more, too little to leave it.";
        assert!(one.verdict.ends_with(end), "{}", one.verdict);
        let one = verdict(6.0, 6.4, 5.0, 0.6);
        assert_eq!(one.recommended, "indexed");
        let end = ": bins gains only 1.00 ns an operation over list on t; stay with indexed, the default.";
        assert!(one.verdict.ends_with(end), "{}", one.verdict);
    }

    #[test]
    fn what_open_mpi_has_is_compared_first() {
        let own = |default, array| {
            let costs = [
                (Kind::List, 1000.0),
                (Kind::Indexed, default),
                (Kind::Array, array),
            ];
            let (costs, evidence) = (Costs::measured(&costs), Evidence::searched(400.0));
            let verdict = Verdict::on(&costs, &evidence, "t", Some(Kind::Array));
            assert_eq!(verdict.own, Some("array"));
            verdict.verdict
        };
        for (default, array, compared) in [
            (40.0, 120.0, "3.0 times faster in matching than"),
            (40.0, 41.0, "as fast in matching as"),
            (40.0, 20.0, "slower in matching than"),
        ] {
            let text = own(default, array);
            let first = format!("indexed: {compared} array, Open MPI's own structure");
            let then = text.strip_prefix(&first).expect(&text);
            let times = format!(" ({} ns -> 40.0 ns per operation). ", decimal(array));
            assert!(then.contains(&times), "{then}");
            assert!(then.contains(" in matching than list on t ("), "{then}");
        }
        let text = own(400.0, 100.0);
        assert!(text.starts_with("array is Open MPI's own structure: nothing is to be changed. "));
    }

    #[test]
    fn spread_is_noise() {
        let mut costs = Costs::measured(&[(Kind::List, 100.0), (Kind::Indexed, 80.0)]);
        let evidence = Evidence::searched(20.0);
        assert!(
            Verdict::on(&costs, &evidence, "t", None)
                .verdict
                .contains("20% less time")
        );
        costs.structures[0].spread_ns_per_op = 25.0;
        let verdict = Verdict::on(&costs, &evidence, "t", None);
        assert!(verdict.verdict.contains("less than noise (25%)"));
        assert!((verdict.noise - 0.25).abs() < 1e-9);
        costs.structures[0].spread_ns_per_op = 940.0;
        let verdict = Verdict::on(&costs, &evidence, "t", None);
        let said = "too noisy to tell on t: repetitions differ by 940% of the time of list";
        assert!(verdict.verdict.starts_with(said), "{}", verdict.verdict);
        assert_eq!(verdict.recommended, "indexed");
    }

    #[test]
    fn what_cannot_be_compared_changes_nothing() {
        for costs in [
            Costs::measured(&[(Kind::List, 0.5), (Kind::Indexed, 0.0)]),
            {
                let mut costs = Costs::measured(&[(Kind::List, 100.0), (Kind::Indexed, 1.0)]);
                costs.structures[0].mismatches = 1;
                costs
            },
        ] {
            let verdict = Verdict::on(&costs, &Evidence::default(), "t", None);
            assert_eq!(verdict.recommended, "indexed");
            let end = "; stay with indexed, the default.";
            assert!(verdict.verdict.ends_with(end), "{}", verdict.verdict);
        }
    }

    #[test]
    fn no_time_at_all_is_a_multiple_without_end() {
        assert_eq!(less(0.0, 5.0), "more than 10,000 times faster");
        assert_eq!(less(4.0, 5.0), "20% less time");
    }
}
