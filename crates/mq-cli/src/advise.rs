//! `mq advise`: which structure an application would gain from.

mod costs;
mod evidence;
mod native;
mod table;
mod verdict;

use mq_core::structures::{Choice, Kind};
use mq_trace::{Span, Trace};
use serde::Serialize;

use self::costs::Costs;
use self::evidence::Evidence;
use self::verdict::Verdict;
use crate::cli::{AdviseOptions, Format};
use crate::error::Error;
use crate::input::{CheckedTrace, LoadedTrace, Reading};
use crate::replay::{self, Replayed};
use crate::report::Fields;
use crate::stats::Summary;
use crate::stopping::{self, Kept};
use crate::{input, report, stats, trace_names};

/// The advice on one trace, or on all together. The fields are keys of the JSON output.
#[derive(Serialize)]
struct Advice {
    trace: String,
    /// The name of the trace in sentences.
    #[serde(skip)]
    label: String,
    #[serde(flatten)]
    one: Option<OfOne>,
    #[serde(flatten)]
    costs: Costs,
    #[serde(flatten)]
    evidence: Evidence,
    #[serde(flatten)]
    verdict: Verdict,
}

/// What only one trace has.
#[derive(Serialize)]
struct OfOne {
    header: Fields,
    /// Why it ends before what it records, if it does.
    ended_early: Option<String>,
    communicators: usize,
    /// The time of the loop alone, which is subtracted.
    floor_ns_per_op: f64,
}

/// The JSON output.
#[derive(Serialize)]
struct Output {
    traces: Vec<Advice>,
    /// As if one process had run all traces in sequence; not there if some were left undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    together: Option<Advice>,
}

/// Advises on the traces; returns whether all pairings were reproduced.
pub(crate) fn run(options: &AdviseOptions) -> Result<bool, Error> {
    let (traces, mut reading) = input::traces(&options.traces)?;
    let choices = choices(replay::structures(&options.timed, &traces)?, &traces);
    let native = native::common_structure(&traces);
    let repetitions = options.timed.repeat as usize;
    let kept = Kept::new(Shown::new(options, traces.len()), Shown::stopped);
    let advised = advise_on_all(traces, &mut reading, &choices, repetitions, &kept);
    kept.show(|shown| match advised {
        Err(Error::ClosedPipe) => reading.verdict().map(|()| shown.reproduced),
        Err(error) => {
            // The failure before is the one that is told.
            let _ = shown.give_up();
            Err(error)
        }
        Ok(()) if shown.advices.is_empty() => reading.verdict().map(|()| shown.reproduced),
        Ok(()) => {
            match shown.end(native, repetitions) {
                Err(Error::ClosedPipe) => {}
                ended => ended?,
            }
            reading.verdict()?;
            Ok(shown.reproduced)
        }
    })
}

/// Replays the traces one after the other, and keeps the advice on each.
fn advise_on_all(
    traces: Vec<CheckedTrace>,
    reading: &mut Reading,
    choices: &[Choice],
    repetitions: usize,
    kept: &Kept<Shown>,
) -> Result<(), Error> {
    let paths: Vec<&str> = traces.iter().map(|trace| &*trace.facts.name).collect();
    let labels = trace_names::labels(&paths);
    for (checked, label) in traces.into_iter().zip(&labels) {
        let Some(loaded) = reading.read(checked)? else {
            continue;
        };
        let (replayed, same) = replay::replay(&loaded, choices, repetitions);
        let LoadedTrace { trace, ended_early } = loaded;
        let summary = stats::describe(&trace, ended_early, None)?;
        let advice = Advice::on(&trace, summary, &replayed, label, repetitions);
        kept.with(|shown| {
            shown.reproduced &= same;
            shown.add(advice, &replayed, repetitions)
        })?;
    }
    Ok(())
}

/// The advice so far. In a table, that on each trace is printed as soon as it is known.
struct Shown {
    format: Format,
    is_summary: bool,
    advices: Vec<Advice>,
    /// Whether all pairings were reproduced.
    reproduced: bool,
    /// The traces that are to be replayed.
    traces: usize,
}

impl Shown {
    fn new(options: &AdviseOptions, traces: usize) -> Self {
        Self {
            format: options.format,
            is_summary: options.summary,
            advices: Vec::with_capacity(traces),
            reproduced: true,
            traces,
        }
    }

    fn add(
        &mut self,
        advice: Advice,
        replayed: &Replayed,
        repetitions: usize,
    ) -> Result<(), Error> {
        let printed = match self.format {
            Format::Table if !self.is_summary => {
                let separator = if self.advices.is_empty() { "" } else { "\n" };
                let text = table::render(replayed, &advice, repetitions);
                report::print(&format!("{separator}{text}"))
            }
            _ => Ok(()),
        };
        self.advices.push(advice);
        printed
    }

    /// Prints what is to be said of all traces, after the last.
    fn end(&mut self, native: Option<Kind>, repetitions: usize) -> Result<(), Error> {
        let together = Advice::together(&self.advices, native, repetitions);
        match self.format {
            Format::Table if self.is_summary => report::print(&table::together(&together)),
            Format::Table if self.advices.len() == 1 => Ok(()),
            Format::Table => report::print(&format!("\n{}", table::together(&together))),
            Format::Json if self.is_summary => report::print_json(&together),
            Format::Json => self.print_list(Some(together)),
        }
    }

    /// Prints the advice on each trace that was replayed, if nobody has seen it yet. That on some together would be
    /// taken for that on all.
    fn give_up(&mut self) -> Result<(), Error> {
        match self.format {
            Format::Json if !self.is_summary && !self.advices.is_empty() => self.print_list(None),
            _ => Ok(()),
        }
    }

    fn print_list(&mut self, together: Option<Advice>) -> Result<(), Error> {
        let traces = std::mem::take(&mut self.advices);
        report::print_json(&Output { traces, together })
    }

    /// Shows what is known when a signal ends the command.
    fn stopped(&mut self, signal: i32) {
        let done = self.advices.len();
        let shown = [self.give_up()];
        stopping::tell(signal, done, self.traces, "traces", &shown);
    }
}

/// The requested structures, the two that every verdict compares with, and those of the libraries that
/// wrote the traces, unless a trace is too large for one.
fn choices(mut asked: Vec<Choice>, traces: &[CheckedTrace]) -> Vec<Choice> {
    let native = traces
        .iter()
        .filter_map(|trace| native::structure_of(&trace.facts.header))
        .filter(|&native| replay::fits(native, traces));
    for kind in [Kind::List, Kind::default()].into_iter().chain(native) {
        let choice = Choice::from(kind);
        if !asked.contains(&choice) {
            asked.push(choice);
        }
    }
    asked
}

impl Advice {
    fn on(
        trace: &Trace,
        summary: Summary,
        replayed: &Replayed,
        label: &str,
        wanted: usize,
    ) -> Self {
        let native = native::structure_of(trace.header());
        let run_seconds = match Span::of(trace.header()) {
            Span::Of(time) => Some(time.as_secs_f64()),
            _ => None,
        };
        let (costs, evidence) = (Costs::of(replayed, run_seconds), Evidence::of(&summary));
        Self {
            trace: trace.name().into(),
            label: label.into(),
            one: Some(OfOne {
                header: summary.header,
                ended_early: summary.ended_early,
                communicators: replayed.communicators,
                floor_ns_per_op: replayed.floor_ns_per_op,
            }),
            verdict: Verdict::on(&costs, &evidence, label, native, wanted),
            costs,
            evidence,
        }
    }

    fn together(advices: &[Self], native: Option<Kind>, wanted: usize) -> Self {
        let costs = Costs::together(advices.iter().map(|advice| &advice.costs));
        let evidence = Evidence::together(advices.iter().map(|advice| &advice.evidence));
        let (trace, label) = match advices {
            [one] => (one.trace.clone(), one.label.clone()),
            several => {
                let all = format!("all {} traces together", report::count(several.len()));
                (all.clone(), all)
            }
        };
        let on = differing(advices).unwrap_or_else(|| label.clone());
        Self {
            verdict: Verdict::on(&costs, &evidence, &on, native, wanted),
            trace,
            label,
            one: None,
            costs,
            evidence,
        }
    }
}

/// In words, on which of several traces pairings differ; none if they differ on none.
fn differing(advices: &[Advice]) -> Option<String> {
    let differ = advices.iter().filter(|advice| !advice.costs.comparable());
    let labels: Vec<String> = differ.map(|advice| advice.label.clone()).collect();
    if advices.len() < 2 || labels.is_empty() {
        return None;
    }
    let (some, all) = (report::count(labels.len()), report::count(advices.len()));
    Some(format!(
        "{some} of {all} traces ({})",
        report::first_names(&labels)
    ))
}
