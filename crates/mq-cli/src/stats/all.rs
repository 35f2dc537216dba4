//! All described traces side by side: shows which processes of a run searched longest.

use serde::Serialize;

use super::Summary;
use super::searches::{SearchLengths, Searched};
use crate::report::{Cells, Fields, count, counted, decimal, percent, some, table};
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
pub(super) struct All<'a> {
    /// Traces with the most entries compared come first.
    traces: Vec<Named<'a>>,
    all: Row,
}

/// The row of one trace.
#[derive(Serialize)]
struct Named<'a> {
    trace: &'a str,
    header: &'a Fields,
    ended_early: Option<&'a str>,
    /// Its unique name in a table.
    #[serde(skip)]
    name: String,
    #[serde(flatten)]
    row: Row,
}

/// The figures of one trace or of several together.
#[derive(Serialize)]
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

impl<'a> All<'a> {
    pub(super) fn of(summaries: &'a [Summary]) -> Self {
        let paths: Vec<&str> = summaries.iter().map(|summary| &*summary.trace).collect();
        let names = trace_names::distinct(&paths);
        let named = summaries.iter().zip(names).map(|(summary, name)| Named {
            trace: &summary.trace,
            header: &summary.header,
            ended_early: summary.ended_early.as_deref(),
            name,
            row: Row::of(std::slice::from_ref(summary)),
        });
        let mut traces: Vec<Named<'_>> = named.collect();
        traces.sort_by(|a, b| b.row.compared().total_cmp(&a.row.compared()));
        let all = Row::of(summaries);
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
        let some = some(&differ);
        format!("mismatches: {some}; {}\n", super::MISMATCHES)
    }
}

impl Row {
    fn of(summaries: &[Summary]) -> Self {
        let sum = |of: &dyn Fn(&Summary) -> u64| summaries.iter().map(of).sum::<u64>();
        let most = |of: &dyn Fn(&Summary) -> u64| summaries.iter().map(of).max().unwrap_or(0);
        Self {
            operations: sum(&|s| s.operations as u64),
            mismatches: sum(&|s| s.mismatches as u64),
            receives: sum(&|s| s.traffic.receives),
            wildcard_receives: sum(&|s| s.traffic.wildcard_receives),
            messages: sum(&|s| s.traffic.messages),
            unexpected: sum(&|s| s.traffic.unexpected),
            max_posted: most(&|s| s.max_posted as u64),
            max_unexpected: most(&|s| s.max_unexpected as u64),
            posted_searches: together(summaries.iter().map(|s| &s.posted_searches)),
            unexpected_searches: together(summaries.iter().map(|s| &s.unexpected_searches)),
        }
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

/// The searches of all traces together.
fn together<'a>(all: impl Iterator<Item = &'a SearchLengths>) -> Searched {
    all.map(Searched::of)
        .fold(Searched::default(), |sum, one| sum.with(&one))
}
