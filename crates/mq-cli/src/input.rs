//! Reading the traces that a command was given.

use std::io;
use std::path::{Path, PathBuf};

use mq_trace::{Trace, TraceError, TraceReader};

use crate::error::Error;
use crate::report::counted;
use crate::{progress, say};

/// How the names of directories begin where `mq record` has traces written; those of recordings that
/// were killed stay.
pub(crate) const RECORDING: &str = "recording-";

/// What standard input is called.
const STDIN: &str = "standard input";

/// Traces in directories that are not used: those that can not be read, which is said where they are
/// left out, and those that recordings did not collect.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct LeftOut {
    files: usize,
    of: usize,
    uncollected: Vec<Uncollected>,
}

impl LeftOut {
    /// Another trace is left out, which could be read before.
    pub(crate) fn one_more(&mut self, error: &Error) {
        say(&error.to_string());
        self.files += 1;
    }

    /// What is to be said in the end, when all that can be done is done.
    pub(crate) fn verdict(&self) -> Result<(), Error> {
        let unread = (self.files > 0).then(|| {
            let of = counted(self.of, "trace");
            format!("{} of {of} could not be read and were left out", self.files)
        });
        match (self.uncollected(), unread) {
            (None, None) => Ok(()),
            (Some(sentence), None) | (None, Some(sentence)) => Err(Error::Usage(sentence)),
            (Some(first), Some(second)) => {
                say(&first);
                Err(Error::Usage(second))
            }
        }
    }

    /// Which traces recordings did not collect, as a sentence.
    fn uncollected(&self) -> Option<String> {
        let traces = self.uncollected.iter().map(|left| left.traces).sum();
        let traces = counted(traces, "more trace");
        match &self.uncollected[..] {
            [] => None,
            [one] => Some(format!(
                "{} has {traces} that a recording did not collect: name that too",
                one.directory.display()
            )),
            [first, more @ ..] => Some(format!(
                "{} and {} more have {traces} that recordings did not collect: name those too",
                first.directory.display(),
                more.len()
            )),
        }
    }
}

/// A directory where a recording that was killed, or goes on, has left traces.
#[derive(Debug)]
struct Uncollected {
    directory: PathBuf,
    traces: usize,
}

/// A trace that was named, or found in a directory that was.
enum Found {
    Stdin,
    Named(PathBuf),
    Inside(PathBuf),
}

impl Found {
    fn name(&self) -> String {
        match self {
            Self::Stdin => STDIN.into(),
            Self::Named(path) | Self::Inside(path) => path.display().to_string(),
        }
    }

    fn read(&self) -> Result<Trace, TraceError> {
        match self {
            // By its path it could not be opened where it is a socket, or another user's.
            Self::Stdin => Trace::read(TraceReader::from_stream(STDIN, io::stdin())?),
            Self::Named(path) | Self::Inside(path) => Trace::open(path),
        }
    }

    /// Reads it to its end without keeping it, if it can be read once more.
    fn check(&self) -> Result<Good, TraceError> {
        match self {
            Self::Named(path) | Self::Inside(path) if path.is_file() => {
                for line in TraceReader::open(path)? {
                    line?;
                }
                Ok(Good::There(path.clone(), matches!(self, Self::Inside(_))))
            }
            _ => self.read().map(Good::Read),
        }
    }
}

/// A trace that was read to its end, and is good.
pub(crate) enum Good {
    /// It was not kept, and can be read again; whether it was found in a directory.
    There(PathBuf, bool),
    /// It was kept: a pipe hands it out once.
    Read(Trace),
}

impl Good {
    /// Whether the others are to go on without it, if it has changed for the worse: a recording may
    /// write on.
    pub(crate) fn may_be_left_out(&self) -> bool {
        matches!(self, Self::There(_, true))
    }

    /// The trace, in memory.
    pub(crate) fn trace(self) -> Result<Trace, Error> {
        match self {
            Self::There(path, _) => {
                let _spinner = progress::spinner(&format!("reading {}", path.display()));
                Ok(Trace::open(path)?)
            }
            Self::Read(trace) => Ok(trace),
        }
    }
}

/// Reads all traces, so that a malformed one is refused before any work is done. A directory stands
/// for the traces in it: of those, one that can not be read is left out. `-` stands for standard
/// input.
///
/// # Cost
/// 48 bytes of memory an operation, over all traces.
pub(crate) fn traces(paths: &[PathBuf]) -> Result<(Vec<Trace>, LeftOut), Error> {
    each(paths, |found, _| found.read())
}

/// As [`traces`], for work that needs one of them at a time.
///
/// # Cost
/// Several files are read twice, here and by [`Good::trace`]. 12 bytes of memory an operation of the
/// longest while they are read here; 48 an operation of those that are kept.
pub(crate) fn checked(paths: &[PathBuf]) -> Result<(Vec<Good>, LeftOut), Error> {
    each(paths, |found, of| match of {
        1 => found.read().map(Good::Read),
        _ => found.check(),
    })
}

/// Takes what is found at each of the paths by `take`, which is also told how many there are.
fn each<T>(
    paths: &[PathBuf],
    take: impl Fn(&Found, usize) -> Result<T, TraceError>,
) -> Result<(Vec<T>, LeftOut), Error> {
    let (files, uncollected) = files(paths)?;
    let mut traces = Vec::with_capacity(files.len());
    let mut left_out = LeftOut {
        files: 0,
        of: files.len(),
        uncollected,
    };
    let mut last = None;
    for file in &files {
        let spinner = progress::spinner(&format!("reading {}", file.name()));
        let read = take(file, files.len());
        drop(spinner);
        match (read, file) {
            (Ok(trace), _) => traces.push(trace),
            (Err(error), Found::Inside(_)) => {
                if let Some(before) = last.replace(error) {
                    say(&before.to_string());
                }
                left_out.files += 1;
            }
            (Err(error), _) => return Err(error.into()),
        }
    }
    match last {
        Some(error) if traces.is_empty() => {
            // Nothing is left to be done.
            left_out.uncollected().iter().for_each(|more| say(more));
            return Err(error.into());
        }
        Some(error) => say(&error.to_string()),
        None => {}
    }
    Ok((traces, left_out))
}

fn files(paths: &[PathBuf]) -> Result<(Vec<Found>, Vec<Uncollected>), Error> {
    let mut files = Vec::with_capacity(paths.len());
    let mut uncollected = Vec::new();
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
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let named: Vec<PathBuf> = paths.iter().map(|path| whole(path)).collect();
    uncollected.retain(|left| !named.contains(&whole(&left.directory)));
    Ok((files, uncollected))
}

/// Where recordings that were killed, or go on, have left traces in a directory.
fn left_behind(directory: &Path) -> Vec<Uncollected> {
    let mut left: Vec<Uncollected> = directory
        .read_dir()
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().map(std::ffi::OsStr::to_string_lossy);
            name.is_some_and(|name| name.starts_with(RECORDING))
        })
        .filter_map(|directory| {
            let traces = traces_in(&directory).ok()?.len();
            (traces > 0).then_some(Uncollected { directory, traces })
        })
        .collect();
    left.sort_by(|a, b| a.directory.cmp(&b.directory));
    left
}

/// Where the traces are that a directory has not, in words; nothing if nowhere.
fn instead(left: &[Uncollected]) -> String {
    match left {
        [] => String::new(),
        [one] => format!(
            ", but {} has, which a recording did not collect: name that",
            one.directory.display()
        ),
        [first, more @ ..] => format!(
            ", but {} and {} more have, which recordings did not collect: name those",
            first.directory.display(),
            more.len()
        ),
    }
}

/// The trace files that stand in a directory itself, known by their endings, in the order of their
/// names.
pub(crate) fn traces_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in directory.read_dir()? {
        let path = entry?.path();
        let name = path.file_name().map(std::ffi::OsStr::to_string_lossy);
        let trace = name.is_some_and(|name| name.ends_with(".mqt") || name.ends_with(".mqt.gz"));
        // A link that leads nowhere is a trace too, one that can not be opened.
        let is_file = |path: &Path| path.metadata().map_or(true, |found| found.is_file());
        if trace && is_file(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
