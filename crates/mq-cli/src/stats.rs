//! `mq stats`: what an application demanded of its queues.

mod all;
mod lengths;
mod searches;
mod tables;
mod traffic;

use std::path::PathBuf;

use indicatif::ProgressBar;
use mq_core::structures::Kind;
use mq_trace::{ListSearches, Operation, Trace, check_with};
use serde::Serialize;

use self::all::{All, Named};
pub(crate) use self::lengths::Lengths;
pub(crate) use self::searches::Searched;
use self::searches::{SearchLengths, Searches, no_memory};
pub(crate) use self::traffic::Traffic;
use crate::cli::{Format, StatsOptions};
use crate::error::Error;
use crate::input::{CheckedTrace, LoadedTrace, Reading};
use crate::library::Library;
use crate::report::{Fields, JsonList};
use crate::stopping::{self, Kept};
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
    /// Operations that MPI's rules decide differently from the recording.
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
    let (traces, mut reading) = input::traces(&options.traces)?;
    options
        .plot
        .as_deref()
        .map_or(Ok(()), output_file::prepare)?;
    let kept = Kept::new(Printer::new(options, traces.len()), Printer::stopped);
    let described = describe_all(traces, &mut reading, options, &kept);
    kept.show(|printer| match described {
        // Traces that were left out are reported even if nobody reads the output any more.
        Err(Error::ClosedPipe) => reading.verdict(),
        Err(error) => {
            // The failure before is the one that is told.
            let _ = (printer.give_up(), printer.draw());
            Err(error)
        }
        Ok(()) if printer.rows.is_empty() => reading.verdict(),
        Ok(()) => {
            let printed = printer.end();
            printer.draw()?;
            reading.verdict()?;
            printed
        }
    })
}

/// Describes and prints the traces one after the other.
fn describe_all(
    traces: Vec<CheckedTrace>,
    reading: &mut Reading,
    options: &StatsOptions,
    kept: &Kept<Printer>,
) -> Result<(), Error> {
    let is_plotted = options.plot.is_some();
    for checked in traces {
        let Some(LoadedTrace { trace, ended_early }) = reading.read(checked)? else {
            continue;
        };
        let mut queued = is_plotted.then(|| Lengths::new(trace.name(), trace.operations().len()));
        let summary = describe(&trace, ended_early, queued.as_mut())?;
        // Kept in memory only while it is described.
        drop(trace);
        match kept.with(|printer| printer.add(&summary, queued)) {
            // Nobody reads the output any more, but the plot is still wanted.
            Err(Error::ClosedPipe) if is_plotted => {}
            printed => printed?,
        }
    }
    Ok(())
}

/// Prints what is known of each trace at once, and keeps its row of the table of all and its queue lengths.
struct Printer {
    is_summary: bool,
    /// The list of the objects, for JSON output.
    list: Option<JsonList>,
    rows: Vec<Named>,
    plot: Option<PathBuf>,
    lengths: Vec<Lengths>,
    /// The traces that are to be described.
    traces: usize,
}

impl Printer {
    fn new(options: &StatsOptions, traces: usize) -> Self {
        Self {
            is_summary: options.summary,
            list: (options.format == Format::Json).then(JsonList::default),
            rows: Vec::new(),
            plot: options.plot.clone(),
            lengths: Vec::new(),
            traces,
        }
    }

    fn add(&mut self, summary: &Summary, lengths: Option<Lengths>) -> Result<(), Error> {
        let separator = if self.rows.is_empty() { "" } else { "\n" };
        self.rows.push(Named::of(summary));
        self.lengths.extend(lengths);
        match &mut self.list {
            _ if self.is_summary => Ok(()),
            Some(list) => list.add(std::slice::from_ref(summary)),
            None => report::print(&format!("{separator}{}", tables::render(summary))),
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        let rows = std::mem::take(&mut self.rows);
        match self.list.take() {
            Some(list) if !self.is_summary => list.end(),
            Some(_) => report::print_json(&All::of(rows)),
            None if self.is_summary => report::print(&All::of(rows).render()),
            None if rows.len() > 1 => report::print(&format!("\n{}", All::of(rows).render())),
            None => Ok(()),
        }
    }

    /// Ends the list, so that it can be read. A table of some would be taken for that of all.
    fn give_up(&mut self) -> Result<(), Error> {
        let is_begun = !self.is_summary && !self.rows.is_empty();
        let list = self.list.take().filter(|_| is_begun);
        list.map_or(Ok(()), JsonList::end)
    }

    /// Draws the queue lengths, if there are any and they are wanted.
    fn draw(&self) -> Result<(), Error> {
        match &self.plot {
            Some(path) if !self.lengths.is_empty() => {
                plot::save(path, &plot::lengths::draw(&self.lengths)?)
            }
            _ => Ok(()),
        }
    }

    /// Shows what is known when a signal ends the command.
    fn stopped(&mut self, signal: i32) {
        let list = self.list.take().filter(|_| !self.is_summary);
        let shown = [list.map_or(Ok(()), JsonList::end), self.draw()];
        stopping::tell(signal, self.rows.len(), self.traces, "traces", &shown);
    }
}

/// Replays a trace and counts. `ended_early` is why it ends before what it records, if it does; its queue lengths are
/// added to `lengths`.
pub(crate) fn describe(
    trace: &Trace,
    ended_early: Option<String>,
    mut lengths: Option<&mut Lengths>,
) -> Result<Summary, Error> {
    let operations = trace.operations();
    let bar = progress::bar(operations.len() as u64, &trace_names::label(trace.name()));
    let report = check_with(trace, Kind::default(), &mut |sample| {
        if let Some(lengths) = &mut lengths {
            lengths.add(sample.operation, sample.posted, sample.unexpected);
        }
        if sample.operation.is_multiple_of(STEP) {
            bar.set_position(sample.operation as u64);
        }
    });
    let (posted, unexpected) = searches_of_a_list(trace, report.mismatches == 0, &bar)?;
    let library = Library::of(trace.header());
    Ok(Summary {
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
    })
}

/// How long the searches of both queues are in one list for all communicators. If the recorded outcomes are those that
/// MPI demands, that follows from them; only otherwise does a list search, which takes the square of a queue's length.
fn searches_of_a_list(
    trace: &Trace,
    outcomes_are_right: bool,
    bar: &ProgressBar,
) -> Result<(Searches, Searches), Error> {
    let operations = trace.operations();
    let arrivals = trace.messages() as usize;
    let mut posted = Searches::with_room_for(arrivals, trace)?;
    let mut unexpected = Searches::with_room_for(operations.len() - arrivals, trace)?;
    let mut add = |operation: usize, in_posted, in_unexpected| match operations[operation] {
        Operation::Arrive { .. } => posted.add(in_posted),
        Operation::Post { .. } | Operation::Probe { .. } => unexpected.add(in_unexpected),
        Operation::Cancel { .. } => {}
    };
    if outcomes_are_right {
        let searches = ListSearches::of(trace).map_err(|_| no_memory(trace))?;
        for (operation, search) in searches.enumerate() {
            add(operation, search.posted, search.unexpected);
        }
    } else {
        check_with(trace, Kind::List, &mut |sample| {
            add(
                sample.operation,
                sample.posted_visited,
                sample.unexpected_visited,
            );
            if sample.operation.is_multiple_of(STEP) {
                bar.set_position(sample.operation as u64);
            }
        });
    }
    Ok((posted, unexpected))
}
