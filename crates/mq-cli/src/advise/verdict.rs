//! From costs to one sentence.

use mq_core::structures::Kind;
use serde::Serialize;

use super::costs::{Cost, Costs};
use super::evidence::Evidence;
use crate::report::{count, counted, decimal, share};
use crate::timing::{FEWEST, SLOWEST};

/// The share of the slower structure's time below which no difference counts, however steady the repetitions are:
/// about the difference between two builds of the same code.
const LEAST_NOISE: f64 = 0.05;
/// What takes more than this many times as long is slower, whatever the spread of its repetitions is.
const FAR: f64 = 2.0;
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
    /// The share of `list`'s time up to which a difference between it and what is recommended is noise; none if
    /// unknown, because of too few repetitions or operations, or because pairings differ.
    pub(super) noise: Option<f64>,
    /// Why, as a sentence or two.
    pub(super) verdict: String,
}

impl Verdict {
    /// The verdict on `place`: the name of a trace, or a phrase for several. `native` is the structure of the
    /// library that wrote it, if that is not `list`; `wanted` is the number of repetitions asked for.
    pub(super) fn on(
        costs: &Costs,
        evidence: &Evidence,
        place: &str,
        native: Option<Kind>,
        wanted: usize,
    ) -> Self {
        let default = Kind::default().name();
        let stay = |reason: String| Self {
            recommended: default.into(),
            default,
            own: native.map(Kind::name),
            noise: None,
            verdict: format!("{reason}; stay with {default}, the default."),
        };
        let timed = native.and_then(|native| costs.of_kind(native));
        let Some(contest) = Contest::of(costs, timed) else {
            return stay(format!("pairings differ from the recorded ones on {place}"));
        };
        if contest.list.total_ns < SHORTEST {
            return stay(format!("too few operations to tell on {place}"));
        }
        let recommended = contest.winner();
        let repetitions = contest.repetitions(recommended);
        if repetitions < FEWEST {
            return stay(contest.too_seldom(repetitions, place, wanted));
        }
        if contest.noise >= MOST_NOISE && recommended.structure == default {
            return Self {
                noise: contest.noise_from_list(),
                ..stay(contest.too_noisy(place))
            };
        }
        let verdict = if contest.gains(recommended) {
            contest.gain(recommended, place)
        } else {
            contest.no_gain(recommended, evidence.mean_search(), place)
        };
        let before = timed.map(|native| against_native(recommended, native));
        let verdict = before.unwrap_or_default() + &verdict + out_of_reach(recommended, costs);
        Self {
            recommended: recommended.structure.clone(),
            default,
            own: native.map(Kind::name),
            noise: contest.noise_from_list(),
            verdict,
        }
    }
}

/// The structures that matter for the verdict.
struct Contest<'a> {
    list: &'a Cost,
    default: &'a Cost,
    /// The cheapest that is worth leaving the default; if none is, of those that are cheaper than the default by more
    /// than noise, than `list`, or at all.
    cheapest: &'a Cost,
    /// What the library has without mq, if it can be compared with.
    native: Option<&'a Cost>,
    /// The share of `list`'s time up to which a difference between it and the winner is noise.
    noise: f64,
}

impl<'a> Contest<'a> {
    /// None if a structure to compare with was not timed, or did not reproduce all pairings.
    fn of(costs: &'a Costs, native: Option<&'a Cost>) -> Option<Self> {
        if !costs.comparable() {
            return None;
        }
        let list = costs.of_kind(Kind::List)?;
        let default = costs.of_kind(Kind::default())?;
        // `clusters` has the trace's own profile here, and none in a library: it cannot be recommended.
        let clusters = Kind::Clusters.name();
        let can_be_chosen = |cost: &&Cost| cost.mismatches == 0 && cost.structure != clusters;
        let candidates = || costs.structures.iter().filter(can_be_chosen);
        let cheapest = candidates()
            .find(|cost| is_worth(cost, default))
            .or_else(|| candidates().find(|cost| beats(cost, default)))
            .or_else(|| candidates().find(|cost| beats(cost, list)))
            .or_else(|| candidates().next())?;
        let is_known = |native: &&Cost| native.mismatches == 0 && native.spread_ns_per_op.is_some();
        let mut contest = Self {
            list,
            default,
            cheapest,
            native: native.filter(is_known),
            noise: LEAST_NOISE,
        };
        let spread = spread(list).max(spread(contest.winner()));
        contest.noise = LEAST_NOISE.max(spread / list.ns_per_op);
        Some(contest)
    }

    /// What is noise in a difference from `list`, if that was repeated often enough to show it.
    fn noise_from_list(&self) -> Option<f64> {
        self.list.spread_ns_per_op.map(|_| self.noise)
    }

    /// The fewest repetitions of the structures whose spread matters: that of `list` does not where it is far behind,
    /// as on the deep queues that make it slow.
    fn repetitions(&self, winner: &Cost) -> usize {
        let is_close = self.list.ns_per_op <= FAR * winner.ns_per_op;
        let list = is_close.then_some(self.list);
        let compared = [self.default, self.cheapest].into_iter().chain(list);
        compared.map(|cost| cost.repetitions).min().unwrap_or(0)
    }

    /// The measured costs, which have too few repetitions to tell gains from noise.
    fn too_seldom(&self, repetitions: usize, place: &str, wanted: usize) -> String {
        let mut costs = vec![self.list, self.default];
        let cheapest = &self.cheapest.structure;
        if costs.iter().all(|cost| cost.structure != *cheapest) {
            costs.push(self.cheapest);
        }
        let how = if wanted < FEWEST {
            " (--repeat)".to_owned()
        } else {
            let longest = SLOWEST.as_secs();
            format!(
                ", which a structure that takes more than {longest} s for the trace does not get"
            )
        };
        let times = costs
            .iter()
            .map(|cost| format!("{} ns in {}", decimal(cost.ns_per_op), cost.structure));
        format!(
            "only {} to tell gains from noise on {place}, and at least {FEWEST} are needed{how}: an \
             operation takes {}",
            counted(repetitions, "repetition"),
            times.collect::<Vec<_>>().join(", ")
        )
    }

    fn too_noisy(&self, place: &str) -> String {
        format!(
            "too noisy to tell on {place}: repetitions differ by {} of the time of list; try again on \
             a quieter machine, or with more repetitions (--repeat)",
            share(self.noise)
        )
    }

    fn gains(&self, cost: &Cost) -> bool {
        beats(cost, self.list)
    }

    /// The default, unless another structure is cheaper by a difference that matters; and nothing that is slower
    /// than what the library has anyway.
    fn winner(&self) -> &'a Cost {
        let best = if self.gains(self.cheapest) {
            self.cheapest
        } else {
            self.list
        };
        let winner = if is_worth(best, self.default) {
            best
        } else {
            self.default
        };
        self.native
            .filter(|native| is_worth(native, winner))
            .unwrap_or(winner)
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
        } else if beats(self.cheapest, winner) {
            text += &format!(
                " That is the default; {} takes {} ns, {} ns less: too little to leave it.",
                self.cheapest.structure,
                decimal(self.cheapest.ns_per_op),
                decimal(winner.ns_per_op - self.cheapest.ns_per_op),
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
        let (gained, then) = (self.gained(winner, place), self.consequence(winner));
        format!("{why}: {gained}; {then}.")
    }

    /// What the cheapest gains over `list`, if the winner gains nothing.
    fn gained(&self, winner: &Cost, place: &str) -> String {
        let Self {
            list,
            default,
            cheapest,
            ..
        } = self;
        let is_default = winner.structure == default.structure;
        let noise = share(self.noise);
        if !is_default || !self.gains(cheapest) {
            let what = if is_default || winner.structure == list.structure {
                "any structure"
            } else {
                winner.structure.as_str()
            };
            return format!("what {what} gains over list on {place} is less than noise ({noise})");
        }
        let saved = decimal(list.ns_per_op - cheapest.ns_per_op);
        let (cheapest_name, default_name) = (&cheapest.structure, &default.structure);
        if beats(cheapest, default) {
            format!("{cheapest_name} gains only {saved} ns an operation over list on {place}")
        } else {
            format!(
                "{cheapest_name} gains {saved} ns an operation over list on {place}, and over \
                 {default_name} no more than noise ({noise})"
            )
        }
    }

    /// What to use, if the winner gains nothing over `list`.
    fn consequence(&self, winner: &Cost) -> String {
        let default = &self.default.structure;
        if winner.structure != *default {
            let more = self.default.ns_per_op / winner.ns_per_op - 1.0;
            format!(
                "{default}, the default, takes {} more: {} serves it best",
                share(more),
                winner.structure
            )
        } else if beats(self.list, self.default) {
            let more = self.default.ns_per_op - self.list.ns_per_op;
            format!(
                "{default}, the default, takes {} ns more than list, too little to leave it",
                decimal(more)
            )
        } else {
            format!("stay with {default}, the default")
        }
    }
}

/// 0 if there are too few repetitions to tell, which matters only where [`Contest::repetitions`] counts them.
fn spread(cost: &Cost) -> f64 {
    cost.spread_ns_per_op.unwrap_or(0.0)
}

/// Whether `one` is cheaper by more than noise: that of the two alone, since what separates fast structures may be
/// less than the noise of one that takes a hundred times as long.
fn beats(one: &Cost, other: &Cost) -> bool {
    let least = LEAST_NOISE * other.ns_per_op;
    other.ns_per_op - one.ns_per_op > least.max(spread(one)).max(spread(other))
}

/// Whether `one` is cheaper by so much that it is worth leaving `other`.
fn is_worth(one: &Cost, other: &Cost) -> bool {
    beats(one, other) && other.ns_per_op - one.ns_per_op >= LEAST_WORTH
}

/// What to say of `clusters`, if it is faster than what is recommended.
fn out_of_reach(recommended: &Cost, costs: &Costs) -> &'static str {
    match costs.of_kind(Kind::Clusters) {
        Some(clusters) if clusters.mismatches == 0 && beats(clusters, recommended) => {
            " (clusters was given the trace's own profile, which a library would not have.)"
        }
        _ => "",
    }
}

/// The change for a user of the library's own structure.
fn against_native(winner: &Cost, native: &Cost) -> String {
    let name = &native.structure;
    if winner.structure == *name {
        return format!("{name} is Open MPI's own structure: nothing needs to change. ");
    }
    if native.spread_ns_per_op.is_none() || winner.spread_ns_per_op.is_none() {
        return format!(
            "{name}, Open MPI's own structure, was timed too seldom to compare with it. "
        );
    }
    let compared = if beats(winner, native) {
        let less = less(winner.ns_per_op, native.ns_per_op);
        format!("{less} in matching than {name}, Open MPI's own structure")
    } else if beats(native, winner) {
        format!("slower in matching than {name}, Open MPI's own structure")
    } else if (native.ns_per_op - winner.ns_per_op).abs() <= LEAST_NOISE * native.ns_per_op {
        format!("as fast in matching as {name}, Open MPI's own structure, within noise")
    } else {
        let noisier = if spread(native) > spread(winner) {
            native
        } else {
            winner
        };
        format!(
            "not told apart in matching from {name}, Open MPI's own structure, since half of the repetitions of {} \
             are spread over {} ns",
            noisier.structure,
            decimal(2.0 * spread(noisier)),
        )
    };
    format!(
        "{}: {compared} ({} ns -> {} ns per operation). ",
        winner.structure,
        decimal(native.ns_per_op),
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
