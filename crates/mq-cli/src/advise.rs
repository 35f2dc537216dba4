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
use crate::input::{CheckedTrace, LoadedTrace};
use crate::replay::{self, Replayed};
use crate::report::Fields;
use crate::stats::Summary;
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
    /// As if one process had run all traces in sequence.
    together: Advice,
}

/// Advises on the traces; returns whether all pairings were reproduced.
pub(crate) fn run(options: &AdviseOptions) -> Result<bool, Error> {
    let (traces, mut reading) = input::traces(&options.traces)?;
    let choices = choices(replay::structures(&options.timed, &traces)?, &traces);
    let native = native::common_structure(&traces);
    let paths: Vec<&str> = traces.iter().map(|trace| &*trace.facts.name).collect();
    let labels = trace_names::labels(&paths);
    let repetitions = options.timed.repeat as usize;
    let mut reproduced = true;
    let mut advices = Vec::with_capacity(traces.len());
    for (checked, label) in traces.into_iter().zip(&labels) {
        let Some(loaded) = reading.read(checked)? else {
            continue;
        };
        let (replayed, same) = replay::replay(&loaded, &choices, repetitions);
        let LoadedTrace { trace, ended_early } = loaded;
        reproduced &= same;
        let summary = stats::describe(&trace, ended_early, None)?;
        let advice = Advice::on(&trace, summary, &replayed, label, repetitions);
        if options.format == Format::Table && !options.summary {
            let separator = if advices.is_empty() { "" } else { "\n" };
            let text = table::render(&replayed, &advice, repetitions);
            if !has_reader(report::print(&format!("{separator}{text}")))? {
                return reading.verdict().map(|()| reproduced);
            }
        }
        advices.push(advice);
    }
    if advices.is_empty() {
        return reading.verdict().map(|()| reproduced);
    }
    let together = Advice::together(&advices, native, repetitions);
    let printed = match options.format {
        Format::Table if options.summary => report::print(&table::together(&together)),
        Format::Table if advices.len() == 1 => Ok(()),
        Format::Table => report::print(&format!("\n{}", table::together(&together))),
        Format::Json if options.summary => report::print_json(&together),
        Format::Json => report::print_json(&Output {
            traces: advices,
            together,
        }),
    };
    has_reader(printed)?;
    reading.verdict()?;
    Ok(reproduced)
}

/// Whether the output still has a reader.
fn has_reader(printed: Result<(), Error>) -> Result<bool, Error> {
    match printed {
        Err(Error::ClosedPipe) => Ok(false),
        printed => printed.map(|()| true),
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
