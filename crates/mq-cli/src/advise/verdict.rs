//! From costs to one sentence.

use mq_core::structures::Kind;
use serde::Serialize;

use super::costs::{Cost, Costs};
use super::evidence::Evidence;
use crate::report::{count, counted, decimal, share};
use crate::timing::FEWEST;

/// The share of `list`'s time below which no difference counts, however steady the repetitions are:
/// about the difference between two builds of the same code.
const LEAST_NOISE: f64 = 0.05;
/// No structure can gain this much over `list`: with this much noise or more, nothing speaks for the default.
const MOST_NOISE: f64 = 1.0;
/// The smallest gain, in nanoseconds per operation, that is worth leaving the default: a smaller gain is
/// within the same structure's variation between machines, and forgoing it slows down no message.
const LEAST_WORTH: f64 = 2.0;
/// Below this total in nanoseconds, the clock and a single interrupt decide.
const SHORTEST: f64 = 10_000.0;
/// A search that compares up to this many entries is short.
const SHORT_SEARCH: f64 = 4.0;
/// Beyond this, the exact factor is of no interest.
const MANY: f64 = 10_000.0;

/// Which structure to use. The fields are keys of the JSON output.
#[derive(Serialize)]
pub(super) struct Verdict {
    pub(super) recommended: String,
    pub(super) default: &'static str,
    /// The structure of the library that wrote the trace, if it is known and not `list`.
    pub(super) own: Option<&'static str>,
    /// The share of `list`'s time up to which differences are noise; none if unknown, because of too few
    /// repetitions or operations, or because pairings differ.
    pub(super) noise: Option<f64>,
    /// Why, as a sentence or two.
    pub(super) verdict: String,
}

impl Verdict {
    /// The verdict on `place`: the name of a trace, or a phrase for several. `own` is the structure of the
    /// library that wrote it, if that is not `list`.
    pub(super) fn on(costs: &Costs, evidence: &Evidence, place: &str, own: Option<Kind>) -> Self {
        let default = Kind::default().name();
        let stay = |reason: String| Self {
            recommended: default.into(),
            default,
            own: own.map(Kind::name),
            noise: None,
            verdict: format!("{reason}; stay with {default}, the default."),
        };
        let Some(contest) = Contest::of(costs) else {
            return stay(format!("pairings differ from the recorded ones on {place}"));
        };
        if contest.list.total_ns < SHORTEST {
            return stay(format!("too few operations to tell on {place}"));
        }
        if contest.repetitions < FEWEST {
            return stay(contest.too_seldom(place));
        }
        let recommended = contest.winner();
        if contest.noise >= MOST_NOISE && recommended.structure == default {
            return Self {
                noise: Some(contest.noise),
                ..stay(format!(
                    "too noisy to tell on {place}: repetitions differ by {} of the time of list; \
                     try again on a quieter machine, or with more repetitions (--repeat)",
                    share(contest.noise)
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
        let verdict =
            before.unwrap_or_default() + &verdict + contest.out_of_reach(recommended, costs);
        Self {
            recommended: recommended.structure.clone(),
            default,
            own: own.map(Kind::name),
            noise: Some(contest.noise),
            verdict,
        }
    }
}

/// The structures that matter for the verdict.
struct Contest<'a> {
    list: &'a Cost,
    default: &'a Cost,
    cheapest: &'a Cost,
    /// The fewest repetitions of any of them.
    repetitions: usize,
    noise: f64,
}

impl<'a> Contest<'a> {
    /// None if a structure to compare with was not timed, or did not reproduce all pairings.
    fn of(costs: &'a Costs) -> Option<Self> {
        if !costs.comparable() {
            return None;
        }
        let list = costs.of_kind(Kind::List)?;
        let default = costs.of_kind(Kind::default())?;
        // `clusters` has the trace's own profile here, and none in a library: it cannot be recommended.
        let clusters = Kind::Clusters.name();
        let can_be_chosen = |cost: &&Cost| cost.mismatches == 0 && cost.structure != clusters;
        let cheapest = costs.structures.iter().find(can_be_chosen)?;
        let compared = [list, default, cheapest];
        let spreads = compared.iter().filter_map(|cost| cost.spread_ns_per_op);
        let spread = spreads.fold(0.0, f64::max);
        let repetitions = compared.map(|cost| cost.repetitions).into_iter().min();
        Some(Self {
            list,
            default,
            cheapest,
            repetitions: repetitions.unwrap_or(0),
            noise: LEAST_NOISE.max(spread / list.ns_per_op),
        })
    }

    /// The measured costs, which have too few repetitions to tell gains from noise.
    fn too_seldom(&self, place: &str) -> String {
        let mut costs = vec![self.list, self.default];
        let cheapest = &self.cheapest.structure;
        if costs.iter().all(|cost| cost.structure != *cheapest) {
            costs.push(self.cheapest);
        }
        // A slow structure gets few repetitions whatever was requested.
        let is_choice = costs.iter().all(|cost| cost.repetitions < FEWEST);
        let how = if is_choice { " (--repeat)" } else { "" };
        let times = costs
            .iter()
            .map(|cost| format!("{} ns in {}", decimal(cost.ns_per_op), cost.structure));
        format!(
            "only {} to tell gains from noise on {place}, and at least {FEWEST} are needed{how}: an \
             operation takes {}",
            counted(self.repetitions, "repetition"),
            times.collect::<Vec<_>>().join(", ")
        )
    }

    /// Whether `one` is cheaper by more than noise.
    fn beats(&self, one: &Cost, other: &Cost) -> bool {
        other.ns_per_op - one.ns_per_op > self.noise * self.list.ns_per_op
    }

    fn gains(&self, cost: &Cost) -> bool {
        self.beats(cost, self.list)
    }

    /// What to say of `clusters`, if it is faster than what is recommended.
    fn out_of_reach(&self, recommended: &Cost, costs: &Costs) -> &'static str {
        match costs.of_kind(Kind::Clusters) {
            Some(clusters) if clusters.mismatches == 0 && self.beats(clusters, recommended) => {
                " (clusters had the trace's own profile, which a library has not.)"
            }
            _ => "",
        }
    }

    /// The default, unless another structure is cheaper by a difference that matters.
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
                share(difference / self.list.ns_per_op),
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
            format!("short searches (mean length {mean_search})")
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
            share(self.noise)
        );
        let default = &self.default.structure;
        if winner.structure != *default {
            let more = self.default.ns_per_op / self.list.ns_per_op - 1.0;
            text += &format!(
                "{default}, the default, takes {} more: {} serves it best.",
                share(more),
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

/// The change for a user of the library's own structure.
fn against_own(winner: &Cost, own: &Cost) -> String {
    let name = &own.structure;
    if winner.structure == *name {
        return format!("{name} is Open MPI's own structure: nothing needs to change. ");
    }
    let Some((own_spread, spread)) = own.spread_ns_per_op.zip(winner.spread_ns_per_op) else {
        return format!(
            "{name}, Open MPI's own structure, was timed too seldom to compare with it. "
        );
    };
    let noise = (LEAST_NOISE * own.ns_per_op).max(own_spread).max(spread);
    let saved = own.ns_per_op - winner.ns_per_op;
    let compared = if saved > noise {
        let less = less(winner.ns_per_op, own.ns_per_op);
        format!("{less} in matching than {name}, Open MPI's own structure")
    } else if saved < -noise {
        format!("slower in matching than {name}, Open MPI's own structure")
    } else {
        format!("as fast in matching as {name}, Open MPI's own structure, within noise")
    };
    format!(
        "{}: {compared} ({} ns -> {} ns per operation). ",
        winner.structure,
        decimal(own.ns_per_op),
        decimal(winner.ns_per_op),
    )
}

/// In words, by how much one time is less than another.
fn less(one: f64, other: f64) -> String {
    let times = other / one;
    if times >= MANY {
        format!("more than {} times faster", count(MANY as u64))
    } else if times >= 10.0 {
        format!("{} times faster", count(times.round() as u64))
    } else if times >= 2.0 {
        format!("{times:.1} times faster")
    } else {
        format!("{} less time", share(1.0 - one / other))
    }
}

#[cfg(test)]
mod tests;
