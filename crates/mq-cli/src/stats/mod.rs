//! `mq stats`: what an application demanded of its queues.

mod all;
mod lengths;
mod searches;
mod tables;
mod traffic;

use mq_core::structures::Kind;
use mq_trace::{Operation, Sample, Trace, check_with};
use serde::Serialize;

use self::all::{All, Named};
pub(crate) use self::lengths::Lengths;
pub(crate) use self::searches::Searched;
use self::searches::{SearchLengths, Searches};
pub(crate) use self::traffic::Traffic;
use crate::cli::{Format, StatsOptions};
use crate::error::Error;
use crate::input::{Good, Held, Reading};
use crate::library::Library;
use crate::report::{Fields, JsonList};
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
    let (traces, mut reading) = input::traces(&options.traces)?;
    options
        .plot
        .as_deref()
        .map_or(Ok(()), output_file::prepare)?;
    let mut printer = Printer::new(options);
    let lengths = match describe_all(traces, &mut reading, options, &mut printer) {
        Ok(lengths) => lengths,
        // Traces that were left out are reported even if nobody reads the output any more.
        Err(Error::ClosedPipe) => return reading.verdict(),
        Err(error) => {
            printer.give_up();
            return Err(error);
        }
    };
    if printer.rows.is_empty() {
        return reading.verdict();
    }
    let printed = printer.end();
    if let Some(path) = &options.plot {
        plot::save(path, &plot::lengths::draw(&lengths)?)?;
    }
    reading.verdict()?;
    printed
}

/// Describes and prints the traces one after the other; returns their queue lengths, if they are to be plotted.
fn describe_all(
    traces: Vec<Good>,
    reading: &mut Reading,
    options: &StatsOptions,
    printer: &mut Printer,
) -> Result<Vec<Lengths>, Error> {
    let is_plotted = options.plot.is_some();
    let mut lengths = Vec::new();
    for good in traces {
        let Some(Held { trace, ended_early }) = reading.read(good)? else {
            continue;
        };
        let mut queued = is_plotted.then(|| Lengths::new(trace.name(), trace.operations().len()));
        let summary = describe(&trace, ended_early, queued.as_mut())?;
        // Kept in memory only while it is described.
        drop(trace);
        lengths.extend(queued);
        match printer.add(&summary) {
            // Nobody reads the output any more, but the plot is still wanted.
            Err(Error::ClosedPipe) if is_plotted => {}
            printed => printed?,
        }
    }
    Ok(lengths)
}

/// Prints what is known of each trace at once, and keeps its row of the table of all.
struct Printer {
    is_summary: bool,
    /// The list of the objects, for JSON output.
    list: Option<JsonList>,
    rows: Vec<Named>,
}

impl Printer {
    fn new(options: &StatsOptions) -> Self {
        Self {
            is_summary: options.summary,
            list: (options.format == Format::Json).then(JsonList::default),
            rows: Vec::new(),
        }
    }

    fn add(&mut self, summary: &Summary) -> Result<(), Error> {
        let separator = if self.rows.is_empty() { "" } else { "\n" };
        self.rows.push(Named::of(summary));
        match &mut self.list {
            _ if self.is_summary => Ok(()),
            Some(list) => list.add(std::slice::from_ref(summary)),
            None => report::print(&format!("{separator}{}", tables::render(summary))),
        }
    }

    fn end(self) -> Result<(), Error> {
        match self.list {
            Some(list) if !self.is_summary => list.end(),
            Some(_) => report::print_json(&All::of(self.rows)),
            None if self.is_summary => report::print(&All::of(self.rows).render()),
            None if self.rows.len() > 1 => {
                report::print(&format!("\n{}", All::of(self.rows).render()))
            }
            None => Ok(()),
        }
    }

    /// Ends the list, so that it can be read. A table of some would be taken for that of all.
    fn give_up(self) {
        if let Some(list) = self
            .list
            .filter(|_| !self.is_summary && !self.rows.is_empty())
        {
            // The failure before is the one that is told.
            let _ = list.end();
        }
    }
}

/// Replays a trace through `list` and counts. `ended_early` is why it ends before what it records, if it does; its
/// queue lengths are added to `lengths`.
pub(crate) fn describe(
    trace: &Trace,
    ended_early: Option<String>,
    mut lengths: Option<&mut Lengths>,
) -> Result<Summary, Error> {
    let operations = trace.operations();
    let bar = progress::bar(operations.len() as u64, &trace_names::label(trace.name()));
    let arrivals = trace.messages() as usize;
    let mut posted = Searches::with_room_for(arrivals, trace)?;
    let mut unexpected = Searches::with_room_for(operations.len() - arrivals, trace)?;
    let mut observe = |sample: Sample| {
        match operations[sample.operation] {
            Operation::Arrive { .. } => posted.add(sample.posted_visited),
            Operation::Post { .. } | Operation::Probe { .. } => {
                unexpected.add(sample.unexpected_visited);
            }
            Operation::Cancel { .. } => {}
        }
        if let Some(lengths) = &mut lengths {
            lengths.add(sample.operation, sample.posted, sample.unexpected);
        }
        if sample.operation.is_multiple_of(STEP) {
            bar.set_position(sample.operation as u64);
        }
    };
    let report = check_with(trace, Kind::List, &mut observe);
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
