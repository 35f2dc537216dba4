//! The table of a recording.

use std::collections::BTreeMap;
use std::path::Path;

use super::collect::Collected;
use super::judge::{AT_LEAST, Counts, EACH};
use crate::ended_early;
use crate::library::Library;
use crate::report::{self, Cells, count, counted, escaped, first_names};

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
    let valid = || collected.iter().filter(|one| one.counts().is_some());
    let early = valid().map(|one| (file(one), one.about.ended_early.as_ref()));
    for sentence in ended_early::sentences(early) {
        text += &format!("{}\n", escaped(&sentence));
    }
    text += &spared(collected);
    if !rows.is_empty() && collected.iter().all(is_empty) {
        text += "no operations were recorded";
        // What is said of those that ended early is enough.
        if valid().all(|one| one.about.ended_early.is_none()) {
            text += ": none was made, or all by processes that were killed before any was written";
        }
        text.push('\n');
    }
    text
}

/// A line about the traces that only one structure has replayed, for each that was to replay them too; empty if there
/// is none.
fn spared(collected: &[Collected]) -> String {
    let mut spared: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for one in collected {
        if let Some(structure) = one.counts().and_then(|counts| counts.spared) {
            spared.entry(structure).or_default().push(file(one));
        }
    }
    let most = count(AT_LEAST);
    let line = |(structure, names): (&&str, &Vec<String>)| {
        let names = first_names(names);
        format!(
            "{names} replayed by indexed alone: {structure} would compare more than {most} entries and {EACH} per \
             operation\n"
        )
    };
    spared.iter().map(line).collect()
}

fn is_empty(collected: &Collected) -> bool {
    collected.counts().is_some_and(|counts| {
        counts.receives + counts.messages + counts.probes + counts.cancels == 0
    })
}

fn library(collected: &Collected) -> Option<Library> {
    collected.counts()?.library
}

/// The name of its file.
fn file(collected: &Collected) -> String {
    let name = Path::new(&collected.trace).file_name();
    let name = name.map(|name| escaped(&name.to_string_lossy()));
    name.unwrap_or_default()
}

fn cells(collected: &Collected) -> Option<Vec<String>> {
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
    } = collected.counts()?;
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
