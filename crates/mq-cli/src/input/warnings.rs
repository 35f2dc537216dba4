//! What is said of traces before anything is done with them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use mq_trace::is_of_a_recording;

use super::files::{Found, whole};
use super::{CheckedTrace, Facts};
use crate::jobs::Jobs;
use crate::report::Fields;
use crate::{ended_early, say};

/// Says what the traces themselves do not show: that they end early, or that a directory has not those of all ranks, or
/// several of one.
pub(super) fn warn(traces: &[CheckedTrace], files: &[Found]) {
    let facts = || traces.iter().map(|trace| &trace.facts);
    let early = facts().map(|facts| (facts.name.clone(), facts.ended_early.as_ref()));
    ended_early::sentences(early)
        .iter()
        .for_each(|early| say(early));
    // Whoever names a single file wants no other; but one in a directory that was named is not missing there.
    let mut directories: BTreeMap<PathBuf, (PathBuf, Vec<&Facts>)> = BTreeMap::new();
    for file in files {
        if let Found::Inside(path) = file {
            let directory = recorded_into(path);
            let whole = whole(&directory);
            directories.entry(whole).or_insert((directory, Vec::new()));
        }
    }
    let paths = files
        .iter()
        .filter_map(|file| Some((file.name(), file.path()?)));
    let paths: HashMap<String, &Path> = paths.collect();
    for facts in facts() {
        let directory = paths
            .get(&facts.name)
            .map(|path| whole(&recorded_into(path)));
        if let Some((_, inside)) = directory.and_then(|whole| directories.get_mut(&whole)) {
            inside.push(facts);
        }
    }
    for (directory, inside) in directories.values() {
        let headers = inside.iter().map(|facts| Fields::of(&facts.header));
        let headers: Vec<Fields> = headers.collect();
        let names = inside.iter().map(|facts| &*facts.name);
        let jobs = Jobs::of(names.zip(&headers));
        for sentence in jobs.missing().iter().chain(&jobs.repeated()) {
            say(&format!("{}: {sentence}", directory.display()));
        }
    }
}

/// The directory into which a trace was recorded: what a recording did not collect is in one inside it.
fn recorded_into(trace: &Path) -> PathBuf {
    let directory = trace.parent().unwrap_or(Path::new(""));
    let outer = directory.parent().filter(|_| is_of_a_recording(directory));
    match outer.unwrap_or(directory) {
        here if here.as_os_str().is_empty() => PathBuf::from("."),
        directory => directory.to_owned(),
    }
}
