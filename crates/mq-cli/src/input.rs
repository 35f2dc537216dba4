//! Reading the traces that a command was given.

use std::io;
use std::path::{Path, PathBuf};

use mq_trace::Trace;

use crate::error::Error;
use crate::{progress, say};

/// How the names of directories begin where `mq record` has traces written; those of recordings that
/// were killed stay.
pub(crate) const RECORDING: &str = "recording-";

/// Traces in directories that can not be read, which is said where they are left out.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct LeftOut {
    files: usize,
    of: usize,
}

impl LeftOut {
    /// What is to be said in the end, when all that can be done is done.
    pub(crate) fn verdict(&self) -> Result<(), Error> {
        match self.files {
            0 => Ok(()),
            files => Err(Error::Usage(format!(
                "{files} of {} traces could not be read and were left out",
                self.of
            ))),
        }
    }
}

/// A file that was named, or found in a directory that was.
struct Found {
    path: PathBuf,
    named: bool,
}

/// Reads all traces, so that a malformed one is refused before any work is done. A directory stands
/// for the traces in it: of those, one that can not be read is left out. `-` stands for standard
/// input.
///
/// # Cost
/// 48 bytes of memory an operation, over all traces.
pub(crate) fn traces(paths: &[PathBuf]) -> Result<(Vec<Trace>, LeftOut), Error> {
    let files = files(paths)?;
    let mut traces = Vec::with_capacity(files.len());
    let mut left_out = LeftOut {
        files: 0,
        of: files.len(),
    };
    let mut last = None;
    for Found { path, named } in &files {
        let spinner = progress::spinner(&format!("reading {}", path.display()));
        let read = Trace::open(path);
        drop(spinner);
        match read {
            Ok(trace) => traces.push(trace),
            Err(error) if *named => return Err(error.into()),
            Err(error) => {
                if let Some(before) = last.replace(error) {
                    say(&before.to_string());
                }
                left_out.files += 1;
            }
        }
    }
    match last {
        // Nothing is left to be done.
        Some(error) if traces.is_empty() => return Err(error.into()),
        Some(error) => say(&error.to_string()),
        None => {}
    }
    Ok((traces, left_out))
}

fn files(paths: &[PathBuf]) -> Result<Vec<Found>, Error> {
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        if !path.is_dir() {
            let path = match path.as_os_str() == "-" {
                true => PathBuf::from("/dev/stdin"),
                false => path.clone(),
            };
            files.push(Found { path, named: true });
            continue;
        }
        let inside = traces_in(path).map_err(|error| Error::list(path, error))?;
        if inside.is_empty() {
            let left = left_behind(path);
            return Err(Error::Usage(format!(
                "{}: the directory has no traces (*.mqt or *.mqt.gz){left}",
                path.display()
            )));
        }
        files.extend(inside.into_iter().map(|path| Found { path, named: false }));
    }
    Ok(files)
}

/// Where recordings that were killed, or go on, have left traces in a directory, in words; nothing if
/// nowhere.
fn left_behind(directory: &Path) -> String {
    let with_traces = |path: &PathBuf| traces_in(path).is_ok_and(|traces| !traces.is_empty());
    let mut left: Vec<PathBuf> = directory
        .read_dir()
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().map(std::ffi::OsStr::to_string_lossy);
            name.is_some_and(|name| name.starts_with(RECORDING))
        })
        .filter(with_traces)
        .collect();
    left.sort();
    match &left[..] {
        [] => String::new(),
        [one] => format!(
            ", but {} has, which a recording did not collect: name that",
            one.display()
        ),
        [first, more @ ..] => format!(
            ", but {} and {} more have, which recordings did not collect: name those",
            first.display(),
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
        if trace && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
