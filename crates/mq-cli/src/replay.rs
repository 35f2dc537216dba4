//! `mq replay`: checks every pairing, then times every structure.

pub(crate) mod table;

use std::path::PathBuf;

use mq_core::structures::{Choice, Kind};
use mq_trace::{ListSearch, ListSearches, Report, Trace, check};
use serde::Serialize;

use crate::cli::{Format, ReplayOptions, Timed};
use crate::error::Error;
use crate::input::{CheckedTrace, LoadedTrace, Reading};
use crate::library::Library;
use crate::report::{Fields, JsonList};
use crate::stopping::{self, Kept};
use crate::timing::{Timing, Timings, measure, ns_per_op};
use crate::{input, mismatches, output_file, plot, progress, report, say, trace_names};

/// The result of one structure on one trace. The fields are the keys of the JSON output.
#[derive(Serialize)]
pub(crate) struct Row {
    trace: String,
    header: Fields,
    /// Why the trace ends before what it records, if it does.
    ended_early: Option<String>,
    /// The structure's name.
    pub(crate) structure: String,
    operations: usize,
    communicators: usize,
    /// Operations whose outcome differs from the recorded one.
    pub(crate) mismatches: usize,
    /// Without the loop floor, and never below 0.
    pub(crate) ns_per_op: f64,
    /// Its time divided by that of `list`, as in the table.
    x_list: Option<f64>,
    floor_ns_per_op: f64,
    /// Searches of the posted queue, by arriving messages.
    posted_searches: Visited,
    /// Searches of the unexpected queue, by receives and probes.
    unexpected_searches: Visited,
    max_posted: usize,
    max_unexpected: usize,
    /// The most heap bytes that the queues held at a time.
    pub(crate) peak_bytes: usize,
    /// Timed repetitions: fewer than requested for a slow structure.
    pub(crate) repetitions: usize,
    /// Their spread, see [`Timing::spread_ns_per_op`].
    pub(crate) spread_ns_per_op: Option<f64>,
    /// Whether it was given what only a run that has ended tells, as `clusters` is.
    pub(crate) hindsight: bool,
}

/// The searches of a queue.
#[derive(Serialize)]
struct Visited {
    searches: u64,
    /// The mean number of entries that a search compares.
    mean: f64,
}

/// The results of all structures on one trace.
pub(crate) struct Replayed {
    /// The trace's name.
    pub(crate) trace: String,
    /// A row for each requested structure, in the order of the request.
    pub(crate) rows: Vec<Row>,
    /// Operations of the trace.
    pub(crate) operations: usize,
    pub(crate) communicators: usize,
    pub(crate) library: Option<Library>,
    pub(crate) floor_ns_per_op: f64,
    pub(crate) list_ns_per_op: f64,
}

/// Replays the traces; returns whether all pairings were reproduced.
pub(crate) fn run(options: &ReplayOptions) -> Result<bool, Error> {
    let (traces, mut reading) = input::traces(&options.traces)?;
    let kinds = structures(&options.timed, &traces)?;
    options
        .plot
        .as_deref()
        .map_or(Ok(()), output_file::prepare)?;
    let kept = Kept::new(Shown::new(options, traces.len()), Shown::stopped);
    let replayed = replay_all(traces, &mut reading, &kinds, options, |result| {
        kept.with(|shown| shown.add(result))
    });
    // What was replayed before a failure took long enough to be kept: the list is ended, and the plot is drawn.
    let (ended, plotted) = kept.show(Shown::end);
    let reproduced = replayed?;
    match ended {
        Err(Error::ClosedPipe) => {}
        ended => ended?,
    }
    plotted?;
    reading.verdict()?;
    Ok(reproduced)
}

/// Replays the traces one after the other, and shows each result; returns whether all pairings were reproduced.
fn replay_all(
    traces: Vec<CheckedTrace>,
    reading: &mut Reading,
    kinds: &[Choice],
    options: &ReplayOptions,
    mut show: impl FnMut(Replayed) -> Result<(), Error>,
) -> Result<bool, Error> {
    let mut reproduced = true;
    for checked in traces {
        let Some(loaded) = reading.read(checked)? else {
            continue;
        };
        let (result, same) = replay(&loaded, kinds, options.timed.repeat as usize);
        reproduced &= same;
        match show(result) {
            // Nobody reads the output any more, but the plot is still wanted.
            Err(Error::ClosedPipe) if options.plot.is_some() => {}
            Err(Error::ClosedPipe) => break,
            shown => shown?,
        }
    }
    Ok(reproduced)
}

/// The results so far. Those of each trace are printed as soon as they are known.
struct Shown {
    repetitions: usize,
    /// The list of the objects, for JSON output.
    list: Option<JsonList>,
    plot: Option<PathBuf>,
    results: Vec<Replayed>,
    /// The traces that are to be replayed.
    traces: usize,
}

impl Shown {
    fn new(options: &ReplayOptions, traces: usize) -> Self {
        Self {
            repetitions: options.timed.repeat as usize,
            list: (options.format == Format::Json).then(JsonList::default),
            plot: options.plot.clone(),
            results: Vec::with_capacity(traces),
            traces,
        }
    }

    fn add(&mut self, result: Replayed) -> Result<(), Error> {
        let printed = match &mut self.list {
            Some(list) => list.add(&result.rows),
            None => {
                let separator = if self.results.is_empty() { "" } else { "\n" };
                let text = table::render(&result, self.repetitions);
                report::print(&format!("{separator}{text}"))
            }
        };
        self.results.push(result);
        printed
    }

    /// Ends the list, and draws the plot if there is something to see: what comes of either.
    fn end(&mut self) -> (Result<(), Error>, Result<(), Error>) {
        let ended = self.list.take().map_or(Ok(()), JsonList::end);
        let plotted = match &self.plot {
            Some(path) if !self.results.is_empty() => {
                plot::costs::draw(&self.results).and_then(|drawn| plot::save(path, &drawn))
            }
            _ => Ok(()),
        };
        (ended, plotted)
    }

    /// The same when a signal ends the replay.
    fn stopped(&mut self, signal: i32) {
        let shown: [_; 2] = self.end().into();
        stopping::tell(signal, self.results.len(), self.traces, "traces", &shown);
    }
}

/// The requested structures. If `array` would use up the memory, it is refused, or, if it was not
/// requested by name, left out with a message.
pub(crate) fn structures(timed: &Timed, traces: &[CheckedTrace]) -> Result<Vec<Choice>, Error> {
    let mut choices = timed.structures();
    let mut facts = traces.iter().map(|trace| &trace.facts);
    let Some(facts) = facts
        .find(|facts| facts.has_too_many_ranks())
        .filter(|_| choices.contains(&Kind::Array.into()))
    else {
        return Ok(choices);
    };
    let reason = format!(
        "{}: `array` would keep 16 bytes for each of {} ranks",
        facts.name,
        report::count(facts.array_ranks)
    );
    if timed.names(Kind::Array) {
        let refusal = format!("{reason}; name other structures with --structure");
        return Err(Error::Usage(refusal));
    }
    say(&format!("{reason} and is left out"));
    choices.retain(|choice| choice.kind() != Kind::Array);
    Ok(choices)
}

/// Whether a structure can hold every trace.
pub(crate) fn fits(kind: Kind, traces: &[CheckedTrace]) -> bool {
    kind != Kind::Array || !traces.iter().any(|trace| trace.facts.has_too_many_ranks())
}

/// Entries that `list` compares in one replay, at most, if nobody has asked for its time: half a minute or less.
const MOST_OF_LIST: u64 = 20_000_000_000;

/// Whether `list`, for which nobody has asked, is timed all the same, to compare with.
fn is_for_a_list(trace: &Trace) -> bool {
    let searches = ListSearches::of(trace);
    let visited = searches.map_or(0, |all| all.map(ListSearch::visited).sum());
    if visited > MOST_OF_LIST {
        say(&format!(
            "{}: `list` would compare {} entries in each repetition and is not timed; name it with --structure to \
             compare with it",
            trace.name(),
            report::count(visited)
        ));
    }
    visited <= MOST_OF_LIST
}

/// Checks and times one trace; the second value says whether all pairings were reproduced.
pub(crate) fn replay(
    loaded: &LoadedTrace,
    choices: &[Choice],
    repetitions: usize,
) -> (Replayed, bool) {
    let trace = &loaded.trace;
    let mut to_time = choices.to_vec();
    let list = Choice::from(Kind::List);
    if !choices.contains(&list) && is_for_a_list(trace) {
        to_time.push(list);
    }
    let steps = choices.len() + (to_time.len() + 1) * (repetitions + 1);
    let bar = progress::bar(steps as u64, &trace_names::label(trace.name()));

    let reports: Vec<(Choice, Report)> = choices
        .iter()
        .map(|choice| {
            let checked = (choice.clone(), check(trace, choice.clone()));
            bar.inc(1);
            checked
        })
        .collect();
    let timings = measure(trace, &to_time, repetitions, &bar);
    drop(bar);
    let differ = mismatches::sentences(trace.name(), &reports);
    differ.iter().for_each(|sentence| say(sentence));

    let result = Replayed::new(loaded, &reports, &timings);
    let reproduced = result.rows.iter().all(|row| row.mismatches == 0);
    (result, reproduced)
}

impl Replayed {
    /// Combines the results of checking and timing; both begin with the same structures.
    fn new(loaded: &LoadedTrace, reports: &[(Choice, Report)], timings: &Timings) -> Self {
        let trace = &loaded.trace;
        let operations = trace.operations().len();
        let floor = ns_per_op(timings.floor, operations);
        let net = |timing: &Timing| (timing.ns_per_op(operations) - floor).max(0.0);
        let mut timed = timings.structures.iter();
        let list = timed.find(|(choice, _)| choice.kind() == Kind::List);
        let list = list.map_or(0.0, |(_, timing)| net(timing));
        let rows = reports.iter().zip(&timings.structures);
        let rows = rows.map(|((choice, report), (_, timing))| Row {
            ns_per_op: net(timing),
            x_list: (list > 0.0).then(|| net(timing) / list),
            floor_ns_per_op: floor,
            repetitions: timing.repetitions,
            spread_ns_per_op: timing.spread_ns_per_op(operations),
            ..Row::of(loaded, choice, report)
        });
        Self {
            trace: trace.name().into(),
            rows: rows.collect(),
            operations,
            communicators: trace.communicators().len(),
            library: Library::of(trace.header()),
            floor_ns_per_op: floor,
            list_ns_per_op: list,
        }
    }
}

impl Row {
    /// A row without times.
    fn of(loaded: &LoadedTrace, choice: &Choice, report: &Report) -> Self {
        let LoadedTrace { trace, ended_early } = loaded;
        Self {
            trace: trace.name().into(),
            header: Fields::of(trace.header()),
            ended_early: ended_early.clone(),
            structure: choice.to_string(),
            operations: report.operations,
            communicators: trace.communicators().len(),
            mismatches: report.mismatches,
            ns_per_op: 0.0,
            x_list: None,
            floor_ns_per_op: 0.0,
            posted_searches: Visited {
                searches: report.posted_searches,
                mean: report.mean_posted_visited(),
            },
            unexpected_searches: Visited {
                searches: report.unexpected_searches,
                mean: report.mean_unexpected_visited(),
            },
            max_posted: report.max_posted,
            max_unexpected: report.max_unexpected,
            peak_bytes: report.peak_bytes,
            repetitions: 0,
            spread_ns_per_op: None,
            hindsight: choice.kind() == Kind::Clusters,
        }
    }
}
