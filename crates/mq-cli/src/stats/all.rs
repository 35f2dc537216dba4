//! All described traces side by side: which of the processes of a run searched longest.

use std::path::Path;

use super::Summary;
use super::searches::SearchLengths;
use crate::report::{Cells, count, counted, decimal, percent, table};

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

/// A row for each trace, those with the most entries compared first, and one for all together.
pub(super) fn render(summaries: &[Summary]) -> String {
    let mut sorted: Vec<&Summary> = summaries.iter().collect();
    sorted.sort_by(|a, b| compared(b).total_cmp(&compared(a)));
    let mut rows: Vec<Vec<String>> = sorted
        .iter()
        .map(|summary| {
            let file = Path::new(&summary.trace).file_name();
            let name = file.map_or(summary.trace.as_str().into(), |name| name.to_string_lossy());
            row(&name, std::slice::from_ref(summary))
        })
        .collect();
    rows.push(row("all", &sorted));
    format!(
        "All {}, those with the most entries compared first\n{}",
        counted(summaries.len(), "trace"),
        table(&HEADER, &rows, Cells::Numbers)
    )
}

/// Entries that the searches of a trace were compared with, in one list.
fn compared(summary: &Summary) -> f64 {
    entries(&summary.posted_searches) + entries(&summary.unexpected_searches)
}

fn entries(searches: &SearchLengths) -> f64 {
    searches.mean * searches.searches as f64
}

fn row(name: &str, summaries: &[&Summary]) -> Vec<String> {
    let sum = |of: &dyn Fn(&Summary) -> u64| summaries.iter().map(|s| of(s)).sum::<u64>();
    let most = |of: &dyn Fn(&Summary) -> u64| summaries.iter().map(|s| of(s)).max().unwrap_or(0);
    let share = |part: u64, whole: u64| match whole {
        0 => "-".into(),
        _ => percent(part, whole),
    };
    let mean = |of: &dyn Fn(&Summary) -> &SearchLengths| {
        let all: f64 = summaries.iter().map(|s| entries(of(s))).sum();
        let searches = sum(&|s| of(s).searches as u64);
        decimal(all / searches.max(1) as f64)
    };
    let wildcards = sum(&|s| {
        let traffic = &s.traffic;
        traffic.any_source + traffic.any_tag - traffic.any_source_and_tag
    });
    vec![
        name.to_owned(),
        count(sum(&|s| s.operations as u64)),
        share(wildcards, sum(&|s| s.traffic.posts)),
        share(sum(&|s| s.traffic.unexpected), sum(&|s| s.traffic.arrivals)),
        mean(&|s| &s.posted_searches),
        count(most(&|s| s.posted_searches.max)),
        mean(&|s| &s.unexpected_searches),
        count(most(&|s| s.unexpected_searches.max)),
        count(most(&|s| s.max_posted.max(s.max_unexpected) as u64)),
    ]
}
