//! Which files the names given to a command stand for.

use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use mq_trace::{Trace, TraceError, TraceReader, is_of_a_recording};

use crate::error::Error;
use crate::report::counted;
use crate::trace_names;

/// The name of standard input.
const STDIN: &str = "standard input";

/// A directory with traces of a recording that was killed or is still running.
#[derive(Debug)]
pub(super) struct Uncollected {
    directory: PathBuf,
    traces: usize,
}

/// A trace that was named, or found in a named directory.
pub(super) enum Found {
    Stdin,
    Named(PathBuf),
    Inside(PathBuf),
}

impl Found {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Stdin => STDIN.into(),
            Self::Named(path) | Self::Inside(path) => path.display().to_string(),
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdin => None,
            Self::Named(path) | Self::Inside(path) => Some(path),
        }
    }

    pub(super) fn read(&self) -> Result<Trace, TraceError> {
        match self {
            // Opening its path would fail for a socket or another user's file.
            Self::Stdin => Trace::read(TraceReader::from_stream(STDIN, io::stdin())?),
            Self::Named(path) | Self::Inside(path) => Trace::open(path),
        }
    }
}

/// The files that names stand for, each once, and what is left in the directories among them. `-` is standard input.
pub(super) fn of(paths: &[PathBuf]) -> Result<(Vec<Found>, Vec<Uncollected>), Error> {
    let mut files = Vec::with_capacity(paths.len());
    let mut uncollected = Vec::new();
    let mut directories = HashSet::new();
    for path in paths {
        if path.as_os_str() == "-" {
            if files.iter().any(|file| matches!(file, Found::Stdin)) {
                let twice = "`-` is given twice: standard input holds one trace";
                return Err(Error::Usage(twice.into()));
            }
            files.push(Found::Stdin);
            continue;
        }
        if !path.is_dir() {
            files.push(Found::Named(path.clone()));
            continue;
        }
        if !directories.insert(whole(path)) {
            continue;
        }
        let inside = traces_in(path).map_err(|error| Error::list(path, error))?;
        let left = left_behind(path);
        if inside.is_empty() {
            return Err(Error::Usage(format!(
                "{}: the directory has no traces (*.mqt or *.mqt.gz){}",
                path.display(),
                instead(&left)
            )));
        }
        files.extend(inside.into_iter().map(Found::Inside));
        uncollected.extend(left);
    }
    uncollected.retain(|left: &Uncollected| !directories.contains(&whole(&left.directory)));
    Ok((once(files), uncollected))
}

/// Each file once, whatever names lead to it. What is not a file, such as a pipe, gives something else each time.
fn once(files: Vec<Found>) -> Vec<Found> {
    let mut places = HashMap::new();
    let mut distinct: Vec<Found> = Vec::with_capacity(files.len());
    for file in files {
        let Some(path) = file.path().filter(|path| path.is_file()) else {
            distinct.push(file);
            continue;
        };
        match places.entry(whole(path)) {
            Entry::Vacant(free) => {
                free.insert(distinct.len());
                distinct.push(file);
            }
            Entry::Occupied(place) => {
                let before = &mut distinct[*place.get()];
                // One that was named must be readable.
                if matches!(*before, Found::Inside(_)) && matches!(file, Found::Named(_)) {
                    *before = file;
                }
            }
        }
    }
    distinct
}

/// The path without links, if it leads anywhere.
pub(super) fn whole(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The places in a directory where killed or running recordings have left traces.
fn left_behind(directory: &Path) -> Vec<Uncollected> {
    let mut left: Vec<Uncollected> = directory
        .read_dir()
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_of_a_recording(path))
        .filter_map(|directory| {
            let traces = traces_in(&directory).ok()?.len();
            (traces > 0).then_some(Uncollected { directory, traces })
        })
        .collect();
    left.sort_by(|a, b| a.directory.cmp(&b.directory));
    left
}

/// In words, where the traces are that a directory lacks; empty if nowhere.
fn instead(left: &[Uncollected]) -> String {
    match left {
        [] => String::new(),
        [one] => format!(
            ", but {} has traces that a recording did not collect: name that directory",
            one.directory.display()
        ),
        [first, more @ ..] => format!(
            ", but {} and {} more have traces that recordings did not collect: name those directories",
            first.directory.display(),
            more.len()
        ),
    }
}

/// In words, which traces recordings did not collect, beside those that are used.
pub(super) fn uncollected(left: &[Uncollected]) -> Option<String> {
    let traces = left.iter().map(|left| left.traces).sum();
    let traces = counted(traces, "more trace");
    match left {
        [] => None,
        [one] => Some(format!(
            "{} has {traces} that a recording did not collect: name that directory too",
            one.directory.display()
        )),
        [first, more @ ..] => Some(format!(
            "{} and {} more have {traces} that recordings did not collect: name those directories too",
            first.directory.display(),
            more.len()
        )),
    }
}

/// The trace files directly in a directory, recognised by their extensions, in name order, numbers in
/// theirs.
pub(crate) fn traces_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in directory.read_dir()? {
        let path = entry?.path();
        let name = path.file_name().map(std::ffi::OsStr::to_string_lossy);
        let trace = name.is_some_and(|name| name.ends_with(".mqt") || name.ends_with(".mqt.gz"));
        // A dangling link is a trace too, one that cannot be opened.
        let is_file = |path: &Path| path.metadata().map_or(true, |found| found.is_file());
        if trace && is_file(&path) {
            files.push(path);
        }
    }
    files.sort_by_cached_key(|path| (trace_names::sorted(path), path.clone()));
    Ok(files)
}
