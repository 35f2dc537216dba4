//! The table of one advice, and the lines around it.

use super::Advice;
use super::costs::Cost;
use crate::replay::{Replayed, table};
use crate::report::{self, Cells, counted, decimal, escaped};

const HEADER: [&str; 6] = [
    "structure",
    "ns/op",
    "x list",
    "total",
    "of the\nrun",
    "peak\nmemory",
];
/// The column that only traces have whose header tells how long the run took.
const OF_THE_RUN: usize = 4;

/// The prefix of a verdict.
const ARROW: &str = "=> ";
/// Characters in a line of a verdict.
const WIDTH: usize = 80;

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
        escaped(&advice.label),
        costs(advice),
        reasons(advice)
    )
}

fn costs(advice: &Advice) -> String {
    let mut rows: Vec<Vec<String>> = advice.costs.structures.iter().map(cells).collect();
    let mut header = HEADER.to_vec();
    if advice.costs.run_seconds.is_none() {
        header.remove(OF_THE_RUN);
        for row in &mut rows {
            row.remove(OF_THE_RUN);
        }
    }
    report::table(&header, &rows, Cells::Numbers)
}

fn reasons(advice: &Advice) -> String {
    let verdict = verdict(&advice.verdict.verdict);
    format!("{}{}{verdict}\n", run(advice), advice.evidence.lines())
}

/// What the shares of the run are of; empty if there are none.
fn run(advice: &Advice) -> String {
    let Some(seconds) = advice.costs.run_seconds else {
        return String::new();
    };
    let ran = match advice.one {
        Some(_) => "the process ran for",
        None => "the processes ran, added up, for",
    };
    let time = report::time(seconds * 1e9);
    format!("{ran} {time}: matching took the share `of the run` that a replay does, or more\n")
}

/// The verdict after an arrow, in lines that a terminal need not break inside words.
fn verdict(sentences: &str) -> String {
    let lines = report::wrapped(sentences, WIDTH - ARROW.len());
    let indented = format!("\n{}", " ".repeat(ARROW.len()));
    format!("{ARROW}{}", lines.replace('\n', &indented))
}

fn cells(cost: &Cost) -> Vec<String> {
    vec![
        cost.structure.clone(),
        decimal(cost.ns_per_op),
        cost.x_list.map_or_else(|| "-".into(), table::ratio_text),
        report::time(cost.total_ns),
        cost.share_of_run.map_or_else(
            || "-".into(),
            |share| format!("{}%", decimal(share * 100.0)),
        ),
        report::bytes(cost.peak_bytes),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_broken_at_spaces_below_its_first_word() {
        let sentence = "indexed: 41 times faster in matching than list on t (1,520 ns -> 37.0 ns per \
                        operation). That is the default, and no structure is faster by more than noise.";
        let expected = "\
=> indexed: 41 times faster in matching than list on t (1,520 ns -> 37.0 ns per
   operation). That is the default, and no structure is faster by more than
   noise.";
        assert_eq!(verdict(sentence), expected);
    }
}
