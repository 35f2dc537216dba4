//! The table of one advice, and the lines around it.

use super::Advice;
use super::costs::Cost;
use crate::replay::{Replayed, table};
use crate::report::{self, Cells, counted, decimal};

const HEADER: [&str; 5] = ["structure", "ns/op", "x list", "total", "peak\nmemory"];

/// The advice on one trace.
pub(super) fn render(replayed: &Replayed, advice: &Advice, wanted: usize) -> String {
    let heading = table::heading(replayed, wanted);
    let slow = table::slow(replayed, wanted);
    format!("{heading}{}{slow}{}", costs(advice), reasons(advice))
}

/// The advice on all traces.
pub(super) fn together(advice: &Advice) -> String {
    let operations = counted(advice.costs.operations, "operation");
    format!(
        "{}: {operations}; times added, the highest peak\n{}{}",
        advice.trace,
        costs(advice),
        reasons(advice)
    )
}

fn costs(advice: &Advice) -> String {
    let rows: Vec<Vec<String>> = advice.costs.structures.iter().map(cells).collect();
    report::table(&HEADER, &rows, Cells::Numbers)
}

fn reasons(advice: &Advice) -> String {
    format!("{}=> {}\n", advice.evidence.lines(), advice.verdict.verdict)
}

fn cells(cost: &Cost) -> Vec<String> {
    vec![
        cost.structure.into(),
        decimal(cost.ns_per_op),
        cost.x_list.map_or_else(|| "-".into(), table::ratio_text),
        report::time(cost.total_ns),
        report::bytes(cost.peak_bytes),
    ]
}
