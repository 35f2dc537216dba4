//! All described traces side by side: shows which processes of a run searched longest.

use serde::Serialize;

use super::Summary;
use super::searches::Searched;
use crate::report::{Cells, Fields, count, counted, decimal, first_names, percent, table};
use crate::trace_names;

const HEADER: [&str; 9] = [
    "trace",
    "operations",
    "wild-\ncards",
    "unex-\npected",
    "posted:\nmean",
    "longest\nsearch",
    "unexpected:\nmean",
    "longest\nsearch",
    "longest\nqueue",
];

/// A row for each trace and one for all together. The fields are keys of the JSON output.
#[derive(Serialize)]
pub(super) struct All {
    /// Traces with the most entries compared come first.
    traces: Vec<Named>,
    all: Row,
}

/// The row of one trace.
#[derive(Serialize)]
pub(super) struct Named {
    trace: String,
    header: Fields,
    ended_early: Option<String>,
    /// Its unique name in a table.
    #[serde(skip)]
    name: String,
    #[serde(flatten)]
    row: Row,
}

/// The figures of one trace or of several together.
#[derive(Serialize, Default)]
struct Row {
    operations: u64,
    mismatches: u64,
    receives: u64,
    wildcard_receives: u64,
    messages: u64,
    unexpected: u64,
    max_posted: u64,
    max_unexpected: u64,
    posted_searches: Searched,
    unexpected_searches: Searched,
}

impl Named {
    /// The row of a described trace.
    pub(super) fn of(summary: &Summary) -> Self {
        Self {
            trace: summary.trace.clone(),
            header: summary.header.clone(),
            ended_early: summary.ended_early.clone(),
            name: String::new(),
            row: Row::of(summary),
        }
    }
}

impl All {
    pub(super) fn of(mut traces: Vec<Named>) -> Self {
        let paths: Vec<&str> = traces.iter().map(|one| &*one.trace).collect();
        let names = trace_names::distinct(&paths);
        for (one, name) in traces.iter_mut().zip(names) {
            one.name = name;
        }
        let all = Row::together(traces.iter().map(|one| &one.row));
        traces.sort_by(|a, b| b.row.compared().total_cmp(&a.row.compared()));
        Self { traces, all }
    }

    /// The table.
    pub(super) fn render(&self) -> String {
        let traces = self.traces.iter();
        let mut rows: Vec<Vec<String>> = traces.map(|one| one.row.cells(&one.name)).collect();
        rows.push(self.all.cells("all"));
        let table = table(&HEADER, &rows, Cells::Numbers);
        format!("{}\n{table}{}", self.heading(), self.mismatches())
    }

    fn heading(&self) -> String {
        let traces = counted(self.traces.len(), "trace");
        match self.traces.len() {
            1 => traces,
            _ => format!("All {traces}, those with the most entries compared first"),
        }
    }

    /// A line about the traces that differ from MPI's rules; empty if none does.
    fn mismatches(&self) -> String {
        let differ = self.traces.iter().filter(|one| one.row.mismatches > 0);
        let differ: Vec<String> = differ
            .map(|one| format!("{} in {}", count(one.row.mismatches), one.name))
            .collect();
        if differ.is_empty() {
            return String::new();
        }
        let named = first_names(&differ);
        format!("mismatches: {named}; {}\n", super::MISMATCHES)
    }
}

impl Row {
    fn of(summary: &Summary) -> Self {
        Self {
            operations: summary.operations as u64,
            mismatches: summary.mismatches as u64,
            receives: summary.traffic.receives,
            wildcard_receives: summary.traffic.wildcard_receives,
            messages: summary.traffic.messages,
            unexpected: summary.traffic.unexpected,
            max_posted: summary.max_posted as u64,
            max_unexpected: summary.max_unexpected as u64,
            posted_searches: Searched::of(&summary.posted_searches),
            unexpected_searches: Searched::of(&summary.unexpected_searches),
        }
    }

    fn together<'a>(rows: impl Iterator<Item = &'a Self>) -> Self {
        rows.fold(Self::default(), |sum, one| Self {
            operations: sum.operations + one.operations,
            mismatches: sum.mismatches + one.mismatches,
            receives: sum.receives + one.receives,
            wildcard_receives: sum.wildcard_receives + one.wildcard_receives,
            messages: sum.messages + one.messages,
            unexpected: sum.unexpected + one.unexpected,
            max_posted: sum.max_posted.max(one.max_posted),
            max_unexpected: sum.max_unexpected.max(one.max_unexpected),
            posted_searches: sum.posted_searches.with(&one.posted_searches),
            unexpected_searches: sum.unexpected_searches.with(&one.unexpected_searches),
        })
    }

    /// Entries that the searches compared, in one list.
    fn compared(&self) -> f64 {
        self.posted_searches.entries() + self.unexpected_searches.entries()
    }

    fn cells(&self, name: &str) -> Vec<String> {
        vec![
            name.to_owned(),
            count(self.operations),
            percent(self.wildcard_receives, self.receives),
            percent(self.unexpected, self.messages),
            decimal(self.posted_searches.mean),
            count(self.posted_searches.max),
            decimal(self.unexpected_searches.mean),
            count(self.unexpected_searches.max),
            count(self.max_posted.max(self.max_unexpected)),
        ]
    }
}
