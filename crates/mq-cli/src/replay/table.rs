//! The table of one replayed trace, and the lines around it.

use super::{Replayed, Row};
use crate::library::Library;
use crate::report::{self, Cells, counted, decimal, escaped};

const HEADER: [&str; 8] = [
    "structure",
    "ns/op",
    "x list",
    "posted\nvisited",
    "unexpected\nvisited",
    "longest\nposted",
    "longest\nunexpected",
    "peak\nmemory",
];

/// What is said of rows with hindsight.
pub(crate) const HINDSIGHT: &str =
    "clusters was given the trace's own profile, which a library would not have";

/// The header lines, the table, a line for each structure that was timed fewer than `wanted` times, and one about
/// `clusters`.
pub(super) fn render(result: &Replayed, wanted: usize) -> String {
    let rows: Vec<Vec<String>> = result
        .rows
        .iter()
        .map(|row| cells(row, result.list_ns_per_op))
        .collect();
    let mut text = heading(result, wanted);
    text += &report::table(&HEADER, &rows, Cells::Numbers);
    text += &slow(result, wanted);
    if result.rows.iter().any(|row| row.hindsight) {
        text += &format!("{HINDSIGHT}\n");
    }
    text
}

/// What was replayed, whether its pairings were reproduced, and how it was timed.
pub(crate) fn heading(result: &Replayed, wanted: usize) -> String {
    format!(
        "{}: {} in {}; {}\n\
         loop floor {} ns/op, subtracted; median of {}\n",
        escaped(&result.trace),
        counted(result.operations, "operation"),
        counted(result.communicators, Library::context_noun(result.library)),
        pairings(&result.rows),
        decimal(result.floor_ns_per_op),
        counted(wanted, "repetition"),
    )
}

/// A line for each structure that was timed fewer than `wanted` times.
pub(crate) fn slow(result: &Replayed, wanted: usize) -> String {
    let mut text = String::new();
    for row in result.rows.iter().filter(|row| row.repetitions < wanted) {
        text += &format!(
            "{} is slow here and was timed over only {}\n",
            row.structure,
            counted(row.repetitions, "repetition")
        );
    }
    text
}

/// In words, whether the recorded pairings were reproduced.
fn pairings(rows: &[Row]) -> String {
    if rows.iter().all(|row| row.mismatches == 0) {
        return "all pairings reproduced".into();
    }
    let first = rows.first().map_or(0, |row| row.mismatches);
    if rows.iter().all(|row| row.mismatches == first) {
        return format!("{} in every structure", differ(first));
    }
    let each = rows
        .iter()
        .filter(|row| row.mismatches > 0)
        .map(|row| format!("{} in {}", differ(row.mismatches), row.structure));
    each.collect::<Vec<_>>().join(", ")
}

fn differ(mismatches: usize) -> String {
    let verb = if mismatches == 1 { "differs" } else { "differ" };
    format!("{} {verb}", counted(mismatches, "pairing"))
}

fn cells(row: &Row, list_ns_per_op: f64) -> Vec<String> {
    let ratio = if list_ns_per_op > 0.0 {
        ratio_text(row.ns_per_op / list_ns_per_op)
    } else {
        "-".into()
    };
    vec![
        row.structure.clone(),
        decimal(row.ns_per_op),
        ratio,
        decimal(row.posted_searches.mean),
        decimal(row.unexpected_searches.mean),
        report::count(row.max_posted),
        report::count(row.max_unexpected),
        report::bytes(row.peak_bytes),
    ]
}

/// The cost as a multiple of that of `list`; small ratios get one more digit, and tiny ones are not rounded to nothing.
pub(crate) fn ratio_text(ratio: f64) -> String {
    if (0.001..0.1).contains(&ratio) {
        format!("{ratio:.3}")
    } else {
        decimal(ratio)
    }
}
