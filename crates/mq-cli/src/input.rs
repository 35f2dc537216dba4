//! Reading the traces given to a command.

mod files;
mod warnings;

use std::path::{Path, PathBuf};

use mq_trace::{Header, Trace, TraceError};

use self::files::{Found, Uncollected};
use crate::error::Error;
use crate::report::counted;
use crate::{array_ranks, ended_early, progress, say};

pub(crate) use self::files::traces_in;

/// The reading of traces that have been looked at. It knows which traces of directories are not used: those that cannot
/// be read, which are reported when they are left out, and those that recordings did not collect.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Reading {
    left_out: usize,
    total: usize,
    uncollected: Vec<Uncollected>,
}

impl Reading {
    /// A trace, in memory; none if it is left out, although it could be read before: a recording may still be
    /// writing the traces of a directory.
    pub(crate) fn read(&mut self, checked: CheckedTrace) -> Result<Option<LoadedTrace>, Error> {
        let (path, is_inside) = match checked.source {
            Source::Read(trace) => {
                let ended_early = checked.facts.ended_early;
                return Ok(Some(LoadedTrace { trace, ended_early }));
            }
            Source::File { path, is_inside } => (path, is_inside),
        };
        let spinner = progress::spinner(&format!("reading {}", path.display()));
        let read = Trace::open(&path);
        drop(spinner);
        match read {
            Err(error) if is_inside => {
                say(&error.to_string());
                self.left_out += 1;
                Ok(None)
            }
            read => Ok(Some(LoadedTrace::of(read?, Some(&path)))),
        }
    }

    /// The error to report at the end, when everything possible is done.
    pub(crate) fn verdict(&self) -> Result<(), Error> {
        let unread = (self.left_out > 0).then(|| {
            let total = counted(self.total, "trace");
            format!(
                "{} of {total} could not be read and were left out",
                self.left_out
            )
        });
        match (files::uncollected(&self.uncollected), unread) {
            (None, None) => Ok(()),
            (Some(sentence), None) | (None, Some(sentence)) => Err(Error::Usage(sentence)),
            (Some(first), Some(second)) => {
                say(&first);
                Err(Error::Usage(second))
            }
        }
    }
}

/// A trace in memory.
pub(crate) struct LoadedTrace {
    pub(crate) trace: Trace,
    /// Why it ends before what it records, if it does: by what was read, since its process may have come to the end
    /// after it was first looked at.
    pub(crate) ended_early: Option<String>,
}

impl LoadedTrace {
    fn of(trace: Trace, path: Option<&Path>) -> Self {
        let ended_early = ended_early::of(path, trace.header());
        Self { trace, ended_early }
    }
}

/// A trace that was read to its end and is valid; [`Reading::read`] returns it.
pub(crate) struct CheckedTrace {
    pub(crate) facts: Facts,
    source: Source,
}

enum Source {
    /// Not kept, since it can be read again.
    File {
        path: PathBuf,
        /// Whether it was found in a directory.
        is_inside: bool,
    },
    /// Kept: the only one, or from a pipe, which can be read only once.
    Read(Trace),
}

/// What has to be known of all traces before work on the first begins.
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) header: Header,
    /// Why it ends before what it records, if it does.
    pub(crate) ended_early: Option<String>,
    /// [`array_ranks::of`]
    pub(crate) array_ranks: u64,
}

impl Facts {
    fn of(trace: &Trace, path: Option<&Path>) -> Self {
        Self {
            name: trace.name().into(),
            ended_early: ended_early::of(path, trace.header()),
            header: trace.header().clone(),
            array_ranks: array_ranks::of(trace),
        }
    }

    /// Whether `array` would keep memory for too many ranks.
    pub(crate) const fn has_too_many_ranks(&self) -> bool {
        self.array_ranks > array_ranks::MOST
    }
}

/// Reads all traces, so that a malformed one is rejected before any work is done. A directory stands
/// for the traces in it; those that cannot be read are left out. `-` stands for standard input. A file that is named
/// more than once is one trace.
///
/// # Cost
/// Several files are read twice, here and by [`Reading::read`], and one at a time is in memory, at 48 bytes per
/// operation; what comes through a pipe stays there.
pub(crate) fn traces(paths: &[PathBuf]) -> Result<(Vec<CheckedTrace>, Reading), Error> {
    let (files, uncollected) = files::of(paths)?;
    let mut traces = Vec::with_capacity(files.len());
    let mut reading = Reading {
        left_out: 0,
        total: files.len(),
        uncollected,
    };
    let mut last = None;
    for file in &files {
        let spinner = progress::spinner(&format!("reading {}", file.name()));
        let read = check(file, files.len());
        drop(spinner);
        match (read, file) {
            (Ok(trace), _) => traces.push(trace),
            (Err(error), Found::Inside(_)) => {
                if let Some(before) = last.replace(error) {
                    say(&before.to_string());
                }
                reading.left_out += 1;
            }
            (Err(error), _) => return Err(error.into()),
        }
    }
    match last {
        Some(error) if traces.is_empty() => {
            // Nothing is left to do.
            let uncollected = files::uncollected(&reading.uncollected);
            uncollected.iter().for_each(|more| say(more));
            return Err(error.into());
        }
        Some(error) => say(&error.to_string()),
        None => {}
    }
    warnings::warn(&traces, &files);
    Ok((traces, reading))
}

/// Reads a trace to its end; keeps it if it is the only one, or cannot be read again.
fn check(file: &Found, total: usize) -> Result<CheckedTrace, TraceError> {
    let trace = file.read()?;
    let facts = Facts::of(&trace, file.path());
    let source = match file {
        Found::Named(path) | Found::Inside(path) if total > 1 && path.is_file() => Source::File {
            path: path.clone(),
            is_inside: matches!(file, Found::Inside(_)),
        },
        _ => Source::Read(trace),
    };
    Ok(CheckedTrace { facts, source })
}
