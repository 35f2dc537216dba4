//! `mq stats`: what an application demanded of its queues.

mod all;
mod lengths;
mod searches;
mod tables;
mod traffic;

use mq_core::structures::Kind;
use mq_trace::{Operation, Sample, Trace, check_with};
use serde::Serialize;

use self::all::All;
pub(crate) use self::lengths::Lengths;
pub(crate) use self::searches::Searched;
use self::searches::{SearchLengths, Searches};
pub(crate) use self::traffic::Traffic;
use crate::cli::{Format, StatsOptions};
use crate::error::Error;
use crate::library::Library;
use crate::report::Fields;
use crate::{input, output_file, plot, progress, report, trace_names};

/// Operations between two steps of the progress bar.
const STEP: usize = 4096;

/// What mismatches are, for people.
const MISMATCHES: &str =
    "recorded outcomes that differ from MPI's rules; mq replay names the first";

/// The contents of a trace. The fields are the keys of the JSON output.
#[derive(Serialize)]
pub(crate) struct Summary {
    trace: String,
    /// The fields of the trace's header.
    pub(crate) header: Fields,
    /// Why it ends before what it records, if it does.
    pub(crate) ended_early: Option<String>,
    operations: usize,
    /// Operations that `list` decides differently from the recording.
    mismatches: usize,
    /// The library that wrote it, if that is known.
    #[serde(skip)]
    library: Option<Library>,
    /// Whether a collective operation's messages can be told by their tags, as in Open MPI.
    tags_tell_classes: bool,
    #[serde(flatten)]
    pub(crate) traffic: Traffic,
    /// The most posted receives queued at a time.
    pub(crate) max_posted: usize,
    /// The most unexpected messages queued at a time.
    pub(crate) max_unexpected: usize,
    /// Searches of the posted queue, by arriving messages, in one list for all communicators.
    pub(crate) posted_searches: SearchLengths,
    /// Searches of the unexpected queue, by receives and probes, in one list for all communicators.
    pub(crate) unexpected_searches: SearchLengths,
}

/// Describes the traces.
pub(crate) fn run(options: &StatsOptions) -> Result<(), Error> {
    let (traces, mut left_out) = input::traces(&options.traces)?;
    options
        .plot
        .as_deref()
        .map_or(Ok(()), output_file::prepare)?;
    let mut summaries = Vec::with_capacity(traces.len());
    let mut lengths = Vec::with_capacity(traces.len());
    for good in traces {
        let ended_early = good.facts.ended_early.clone();
        let Some(trace) = left_out.read(good)? else {
            continue;
        };
        // Kept in memory only while it is described.
        let (summary, queued) = describe(&trace, ended_early);
        summaries.push(summary);
        lengths.push(queued);
    }
    if summaries.is_empty() {
        return left_out.verdict();
    }
    if let Some(path) = &options.plot {
        plot::save(path, &plot::lengths::draw(&lengths)?)?;
    }
    let all = All::of(&summaries);
    let printed = match (options.format, options.summary) {
        (Format::Json, false) => report::print_json(&summaries),
        (Format::Json, true) => report::print_json(&all),
        (Format::Table, true) => report::print(&all.render()),
        (Format::Table, false) => {
            let mut texts: Vec<String> = summaries.iter().map(tables::render).collect();
            if summaries.len() > 1 {
                texts.push(all.render());
            }
            report::print(&texts.join("\n"))
        }
    };
    // Traces that were left out are reported even if nobody reads the output any more.
    left_out.verdict()?;
    printed
}

/// Replays a trace through `list` and counts. `ended_early` is why it ends before what it records, if it does.
pub(crate) fn describe(trace: &Trace, ended_early: Option<String>) -> (Summary, Lengths) {
    let operations = trace.operations();
    let bar = progress::bar(operations.len() as u64, &trace_names::label(trace.name()));
    let mut posted = Searches::default();
    let mut unexpected = Searches::default();
    let mut lengths = Lengths::new(trace.name(), operations.len());
    let mut observe = |sample: Sample| {
        match operations[sample.operation] {
            Operation::Arrive { .. } => posted.add(sample.posted_visited),
            Operation::Post { .. } | Operation::Probe { .. } => {
                unexpected.add(sample.unexpected_visited);
            }
            Operation::Cancel { .. } => {}
        }
        lengths.add(sample.operation, sample.posted, sample.unexpected);
        if sample.operation.is_multiple_of(STEP) {
            bar.set_position(sample.operation as u64);
        }
    };
    let report = check_with(trace, Kind::List, &mut observe);
    let library = Library::of(trace.header());
    let summary = Summary {
        trace: trace.name().into(),
        header: Fields::of(trace.header()),
        ended_early,
        operations: operations.len(),
        mismatches: report.mismatches,
        library,
        tags_tell_classes: library == Some(Library::OpenMpi),
        traffic: Traffic::of(trace),
        max_posted: report.max_posted,
        max_unexpected: report.max_unexpected,
        posted_searches: posted.lengths(),
        unexpected_searches: unexpected.lengths(),
    };
    (summary, lengths)
}
