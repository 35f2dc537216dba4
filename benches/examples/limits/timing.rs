//! Running streams against the clock, each structure within an allowance.
//!
//! A structure runs the steps once to warm up. The rest of its allowance determines how often it is
//! repeated, taking turns with the others. In each turn the steps run once before they are timed, or the
//! caches would be as eleven other structures left them. A structure that cannot finish the steps within
//! the allowance is measured over a part of them: the first whole units or, if a queue is too deep to be
//! drained once, parts of the drain (see [`parts`]).

use std::cell::OnceCell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use mq_core::structures::Kind;

use crate::bare::BareTable;
use crate::parts::{Drain, cost_of_parts};
use crate::stream::Stream;
use crate::subject::{Steps, subject};

/// How long things are measured.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Repetitions of a measurement, if they fit.
    pub(crate) repeat: u32,
    /// Time for one structure in one row.
    pub(crate) allowance: Duration,
    /// Only check that everything runs.
    pub(crate) quick: bool,
}

impl Plan {
    /// The most entries of a queue.
    pub(crate) fn deepest(&self) -> u32 {
        if self.quick { 4096 } else { u32::MAX }
    }
}

/// Nanoseconds per pair.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) median: f64,
    pub(crate) best: f64,
    /// Whether it was measured over a part of the steps, once.
    pub(crate) part: bool,
}

/// What a table says about figures marked by [`show`].
pub(crate) const MARK: &str = "`~`: too slow for its time, measured once: the mean of the first pairs that fitted, or of \
     eight parts, evenly spread, of filling and draining a deep queue once";

/// Steps between clock readings while the speed of a structure is unknown.
const LOOK: usize = 64;

/// The cost of a stream in each structure, which take turns.
pub(crate) fn measure(stream: &Stream, kinds: &[Kind], plan: Plan) -> Vec<Cost> {
    take_turns(series(stream, kinds, plan), plan)
}

/// The same, taking turns with a stream without wildcards in a [`BareTable`], if the table can match it.
pub(crate) fn measure_beside_table(
    stream: &Stream,
    in_full: &Stream,
    kinds: &[Kind],
    plan: Plan,
) -> (Vec<Cost>, Option<Cost>) {
    let mut all = series(stream, kinds, plan);
    all.extend(BareTable::for_stream(in_full).map(|table| Series::of_table(table, in_full, plan)));
    let mut costs = take_turns(all, plan);
    let bare = (costs.len() > kinds.len()).then(|| costs.pop()).flatten();
    (costs, bare)
}

fn series<'a>(stream: &'a Stream, kinds: &[Kind], plan: Plan) -> Vec<Series<'a>> {
    let drain = OnceCell::new();
    (kinds.iter())
        .map(|&kind| Series::new(kind, stream, &drain, plan))
        .collect()
}

fn take_turns(mut series: Vec<Series<'_>>, plan: Plan) -> Vec<Cost> {
    for _ in 0..plan.repeat {
        series.iter_mut().for_each(Series::repeat);
    }
    series.into_iter().map(Series::cost).collect()
}

/// The repetitions of one structure.
struct Series<'a> {
    subject: Box<dyn Steps>,
    stream: &'a Stream,
    rounds: u32,
    wanted: usize,
    times: Vec<f64>,
    part: bool,
}

impl<'a> Series<'a> {
    /// Warms up, which also shows how slow the structure is.
    fn new(kind: Kind, stream: &'a Stream, drain: &OnceCell<Drain>, plan: Plan) -> Self {
        let mut this = Self::untried(subject(kind, stream.ranks()), stream);
        match this.trial(plan.allowance / 2) {
            Trial::Whole(one) => this.plan(one, plan),
            Trial::Units(nanoseconds) => this.once(nanoseconds),
            Trial::NotOne => {
                let ranks = stream.ranks();
                let drain = drain.get_or_init(|| Drain::of(&stream.steps[..stream.unit], ranks));
                this.once(cost_of_parts(kind, ranks, drain, plan.allowance / 2));
            }
        }
        this
    }

    /// A table is never too slow.
    fn of_table(table: BareTable, stream: &'a Stream, plan: Plan) -> Self {
        let mut this = Self::untried(Box::new(table), stream);
        if let Trial::Whole(one) = this.trial(Duration::MAX) {
            this.plan(one, plan);
        }
        this
    }

    fn untried(mut subject: Box<dyn Steps>, stream: &'a Stream) -> Self {
        subject.run(&stream.fill);
        Self {
            subject,
            stream,
            rounds: stream.rounds,
            wanted: 0,
            times: Vec::new(),
            part: false,
        }
    }

    /// All steps once, or as many as fit.
    fn trial(&mut self, allowance: Duration) -> Trial {
        let (unit, steps) = (self.stream.unit, &self.stream.steps);
        let start = Instant::now();
        let mut whole = None;
        let (mut done, mut matched) = (0, 0);
        for steps in steps.chunks(LOOK) {
            matched += black_box(self.subject.run(steps));
            done += steps.len();
            let elapsed = start.elapsed();
            if done / unit > (done - steps.len()) / unit {
                whole = Some(elapsed.as_nanos() as f64 / (done as f64 / 2.0));
            }
            if elapsed > allowance && done < self.stream.steps.len() {
                return whole.map_or(Trial::NotOne, Trial::Units);
            }
        }
        let time = start.elapsed();
        // A structure that refuses or misses would be fast.
        assert_eq!(matched, done / 2, "one of each pair matches the other");
        Trial::Whole(time)
    }

    /// Plans as many repetitions as fit into the time left, with the intended number of rounds if that
    /// many fit.
    fn plan(&mut self, one: Duration, plan: Plan) {
        let left = plan.allowance.saturating_sub(one).as_secs_f64();
        let fitting = (left / one.as_secs_f64().max(1e-9)) as u32;
        // One more round in each turn.
        if fitting < 2 {
            return self.once(self.pair(one, 1));
        }
        self.rounds = self.rounds.min(fitting - 1);
        self.wanted = plan.repeat.min(fitting / (self.rounds + 1)) as usize;
    }

    fn once(&mut self, nanoseconds: f64) {
        self.times.push(nanoseconds);
        self.part = true;
    }

    fn repeat(&mut self) {
        if self.times.len() >= self.wanted {
            return;
        }
        black_box(self.subject.run(&self.stream.steps));
        let start = Instant::now();
        for _ in 0..self.rounds {
            black_box(self.subject.run(&self.stream.steps));
        }
        let pair = self.pair(start.elapsed(), self.rounds);
        self.times.push(pair);
    }

    /// Nanoseconds of a pair, of so many rounds.
    fn pair(&self, time: Duration, rounds: u32) -> f64 {
        let pairs = f64::from(rounds) * self.stream.steps.len() as f64 / 2.0;
        time.as_nanos() as f64 / pairs
    }

    fn cost(self) -> Cost {
        let Self {
            mut times, part, ..
        } = self;
        times.sort_unstable_by(f64::total_cmp);
        Cost {
            median: times[times.len() / 2],
            best: times[0],
            part,
        }
    }
}

/// The cost of the steps the first time.
enum Trial {
    /// The time of all steps.
    Whole(Duration),
    /// Some units did not fit: nanoseconds per pair in those that did.
    Units(f64),
    /// Not even one unit fitted.
    NotOne,
}

/// A cost, as a table shows it: the median, and the best in brackets; or the only one, marked.
pub(crate) fn show(cost: Cost) -> String {
    match cost.part {
        true => show_median(cost),
        false => format!("{} ({})", digits(cost.median), digits(cost.best)),
    }
}

/// Only the median, marked likewise.
pub(crate) fn show_median(cost: Cost) -> String {
    let mark = if cost.part { "~" } else { "" };
    format!("{mark}{}", digits(cost.median))
}

pub(crate) fn digits(nanoseconds: f64) -> String {
    match nanoseconds {
        0.0..9.95 => format!("{nanoseconds:.1}"),
        _ => format!("{nanoseconds:.0}"),
    }
}
