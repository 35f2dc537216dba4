//! Reading the traces given to a command.

use std::collections::hash_map::{Entry, HashMap};
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use mq_core::structures::RankHeads;
use mq_trace::{Header, Trace, TraceError, TraceReader, is_of_a_recording};

use crate::error::Error;
use crate::ranks::Jobs;
use crate::report::{Fields, counted};
use crate::{ended, progress, say, trace_names};

/// The name of standard input.
const STDIN: &str = "standard input";

/// Traces in directories that are not used: those that cannot be read, which are reported when they
/// are left out, and those that recordings did not collect.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct LeftOut {
    files: usize,
    of: usize,
    uncollected: Vec<Uncollected>,
}

impl LeftOut {
    /// A trace, in memory; none if it is left out, although it could be read before: a recording may still be
    /// writing the traces of a directory.
    pub(crate) fn read(&mut self, good: Good) -> Result<Option<Held>, Error> {
        let (path, is_inside) = match good.source {
            Source::Read(trace) => {
                let ended_early = good.facts.ended_early;
                return Ok(Some(Held { trace, ended_early }));
            }
            Source::There(path, is_inside) => (path, is_inside),
        };
        let spinner = progress::spinner(&format!("reading {}", path.display()));
        let read = Trace::open(&path);
        drop(spinner);
        match read {
            Err(error) if is_inside => {
                say(&error.to_string());
                self.files += 1;
                Ok(None)
            }
            read => Ok(Some(Held::of(read?, Some(&path)))),
        }
    }

    /// The error to report at the end, when everything possible is done.
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

    /// A sentence about the traces that recordings did not collect.
    fn uncollected(&self) -> Option<String> {
        let traces = self.uncollected.iter().map(|left| left.traces).sum();
        let traces = counted(traces, "more trace");
        match &self.uncollected[..] {
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
}

/// A directory with traces of a recording that was killed or is still running.
#[derive(Debug)]
struct Uncollected {
    directory: PathBuf,
    traces: usize,
}

/// A trace that was named, or found in a named directory.
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

    fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdin => None,
            Self::Named(path) | Self::Inside(path) => Some(path),
        }
    }

    fn read(&self) -> Result<Trace, TraceError> {
        match self {
            // Opening its path would fail for a socket or another user's file.
            Self::Stdin => Trace::read(TraceReader::from_stream(STDIN, io::stdin())?),
            Self::Named(path) | Self::Inside(path) => Trace::open(path),
        }
    }

    /// Reads it to its end; keeps it if it is the only one, or cannot be read again.
    fn check(&self, of: usize) -> Result<Good, TraceError> {
        let trace = self.read()?;
        let facts = Facts::of(&trace, self.path());
        let source = match self {
            Self::Named(path) | Self::Inside(path) if of > 1 && path.is_file() => {
                Source::There(path.clone(), matches!(self, Self::Inside(_)))
            }
            _ => Source::Read(trace),
        };
        Ok(Good { facts, source })
    }
}

/// A trace in memory.
pub(crate) struct Held {
    pub(crate) trace: Trace,
    /// Why it ends before what it records, if it does: by what was read, since its process may have come to the end
    /// after it was first looked at.
    pub(crate) ended_early: Option<String>,
}

impl Held {
    fn of(trace: Trace, path: Option<&Path>) -> Self {
        let ended_early = ended::of(path, trace.header());
        Self { trace, ended_early }
    }
}

/// A trace that was read to its end and is valid; [`LeftOut::read`] has it.
pub(crate) struct Good {
    pub(crate) facts: Facts,
    source: Source,
}

enum Source {
    /// Not kept, since it can be read again; and whether it was found in a directory.
    There(PathBuf, bool),
    /// Kept: the only one, or from a pipe, which can be read only once.
    Read(Trace),
}

/// The most ranks, over all communicators, for which `array` is used: 2 GiB.
pub(crate) const MAX_ARRAY_RANKS: u64 = 1 << 27;

/// The ranks for which `array` would keep memory.
pub(crate) fn array_ranks(trace: &Trace) -> u64 {
    let heads = |size: u32| u64::from(size.min(RankHeads::MOST));
    trace.communicators().map(|comm| heads(comm.size)).sum()
}

/// What has to be known of all traces before work on the first begins.
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) header: Header,
    /// Why it ends before what it records, if it does.
    pub(crate) ended_early: Option<String>,
    /// [`array_ranks`]
    pub(crate) array_ranks: u64,
}

impl Facts {
    fn of(trace: &Trace, path: Option<&Path>) -> Self {
        Self {
            name: trace.name().into(),
            ended_early: ended::of(path, trace.header()),
            header: trace.header().clone(),
            array_ranks: array_ranks(trace),
        }
    }

    /// Whether `array` would keep memory for too many ranks.
    pub(crate) const fn has_too_many_ranks(&self) -> bool {
        self.array_ranks > MAX_ARRAY_RANKS
    }
}

/// Reads all traces, so that a malformed one is rejected before any work is done. A directory stands
/// for the traces in it; those that cannot be read are left out. `-` stands for standard input. A file that is named
/// more than once is one trace.
///
/// # Cost
/// Several files are read twice, here and by [`LeftOut::read`], and one at a time is in memory, at 48 bytes per
/// operation; what comes through a pipe stays there.
pub(crate) fn traces(paths: &[PathBuf]) -> Result<(Vec<Good>, LeftOut), Error> {
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
        let read = file.check(files.len());
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
            // Nothing is left to do.
            left_out.uncollected().iter().for_each(|more| say(more));
            return Err(error.into());
        }
        Some(error) => say(&error.to_string()),
        None => {}
    }
    tell(&traces, &files);
    Ok((traces, left_out))
}

/// Says what the traces themselves do not show: that they end early, or that a directory has not those of all ranks, or
/// several of one.
fn tell(traces: &[Good], files: &[Found]) {
    let facts = || traces.iter().map(|good| &good.facts);
    let early = facts().map(|facts| (facts.name.clone(), facts.ended_early.as_ref()));
    ended::sentences(early).iter().for_each(|early| say(early));
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

fn files(paths: &[PathBuf]) -> Result<(Vec<Found>, Vec<Uncollected>), Error> {
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
fn whole(path: &Path) -> PathBuf {
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
