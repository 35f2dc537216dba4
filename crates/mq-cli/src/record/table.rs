//! The table of a recording.

use std::path::Path;

use super::collect::{Collected, Counts, Outcome};
use crate::library::Library;
use crate::report::{self, Cells, count, counted, escaped};

/// The columns, of which the second has the name of what a library's contexts are.
const fn header(contexts: &str) -> [&str; 9] {
    [
        "trace",
        contexts,
        "receives",
        "messages",
        "probes",
        "cancels",
        "mis-\nmatches",
        "longest\nposted",
        "longest\nunexpected",
    ]
}

/// The number of traces, their place, a row for each valid one, and a line for each that ended before its process.
pub(super) fn render(output: &Path, collected: &[Collected]) -> String {
    let rows: Vec<Vec<String>> = collected.iter().filter_map(cells).collect();
    let invalid = collected.len() - rows.len();
    let place = escaped(&output.display().to_string());
    let mut text = format!("{} in {place}", counted(rows.len(), "trace"));
    if invalid > 0 {
        text += &format!("; {} cannot be collected and stay", report::count(invalid));
        text += if invalid == 1 { "s" } else { "" };
        text += " as written";
    }
    text.push('\n');
    if !rows.is_empty() {
        let contexts = match Library::splits_communicators(collected.iter().find_map(library)) {
            true => "contexts",
            false => "communi-\ncators",
        };
        text += &report::table(&header(contexts), &rows, Cells::Numbers);
    }
    for line in collected.iter().filter_map(ended) {
        text += &line;
    }
    if !rows.is_empty() && collected.iter().all(is_empty) {
        text += "no operations: none was made, or all in the last 0.1 s of processes that were killed, which is lost\n";
    }
    text
}

fn ended(collected: &Collected) -> Option<String> {
    let Outcome::Valid(counts) = &collected.outcome else {
        return None;
    };
    let reason = escaped(counts.ended_early.as_ref()?);
    Some(format!("{} ended early: {reason}\n", file(collected)))
}

fn is_empty(collected: &Collected) -> bool {
    match &collected.outcome {
        Outcome::Valid(counts) => {
            counts.receives + counts.messages + counts.probes + counts.cancels == 0
        }
        Outcome::Invalid { .. } => false,
    }
}

fn library(collected: &Collected) -> Option<Library> {
    match &collected.outcome {
        Outcome::Valid(counts) => counts.library,
        Outcome::Invalid { .. } => None,
    }
}

/// The name of its file.
fn file(collected: &Collected) -> String {
    let name = Path::new(&collected.trace).file_name();
    let name = name.map(|name| escaped(&name.to_string_lossy()));
    name.unwrap_or_default()
}

fn cells(collected: &Collected) -> Option<Vec<String>> {
    let Outcome::Valid(counts) = &collected.outcome else {
        return None;
    };
    let Counts {
        communicator_count,
        receives,
        messages,
        probes,
        cancels,
        mismatches,
        max_posted,
        max_unexpected,
        ..
    } = counts;
    Some(vec![
        file(collected),
        count(*communicator_count),
        count(*receives),
        count(*messages),
        count(*probes),
        count(*cancels),
        count(*mismatches),
        count(*max_posted),
        count(*max_unexpected),
    ])
}
