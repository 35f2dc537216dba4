//! Turning what the processes wrote into validated traces.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use mq_core::structures::{Choice, Kind};
use mq_trace::{Report, Trace, TraceError, TraceWriter, check};
use serde::Serialize;

use super::output::Scratch;
use super::written::Written;
use crate::error::Error;
use crate::library::Library;
use crate::stats::Traffic;
use crate::{ended, input, mismatches, output_file, progress};

/// The result for one process's trace. The fields are keys of the JSON output.
#[derive(Serialize)]
pub(super) struct Collected {
    /// Where the trace is now.
    pub(super) trace: String,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Outcome {
    /// It was compressed and moved to the output directory.
    Valid(Counts),
    /// It stays where the process wrote it.
    Invalid { error: String },
}

/// The contents of a valid trace.
#[derive(Serialize)]
pub(super) struct Counts {
    #[serde(skip)]
    pub(super) library: Option<Library>,
    pub(super) communicator_count: usize,
    /// Receives posted.
    pub(super) receives: u64,
    /// Messages that arrived.
    pub(super) messages: u64,
    pub(super) probes: u64,
    pub(super) cancels: u64,
    /// Operations that the first judge decides differently from the library.
    pub(super) mismatches: usize,
    pub(super) max_posted: usize,
    pub(super) max_unexpected: usize,
    /// Whether the process was killed while it wrote a line, which was left out.
    pub(super) unfinished_line: bool,
    /// Why the library ended the trace before its process, if it did.
    pub(super) ended_early: Option<String>,
    /// What the judges say against it.
    differences: Vec<String>,
}

/// Two that share no search: a mistake of one is not taken for a rule of MPI.
fn judges(trace: &Trace) -> [Kind; 2] {
    let other = match input::array_ranks(trace) {
        ..=input::MAX_ARRAY_RANKS => Kind::Array,
        _ => Kind::Bins,
    };
    [Kind::Indexed, other]
}

/// How long processes may take to end after the command: after `MPI_Abort`, MPICH's `mpirun` is sometimes the first.
const PATIENCE: Duration = Duration::from_secs(2);
/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(20);

impl Collected {
    /// What is wrong with the trace, if anything.
    pub(super) fn complaints(&self) -> &[String] {
        match &self.outcome {
            Outcome::Valid(counts) => &counts.differences,
            Outcome::Invalid { error } => core::slice::from_ref(error),
        }
    }

    /// What is not as the process left it.
    pub(super) fn notice(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Valid(counts) if counts.unfinished_line => Some(format!(
                "{}: without the last line, which the process did not finish",
                self.trace
            )),
            _ => None,
        }
    }
}

/// Reads every trace that the processes wrote; the valid ones are compressed into `output`.
pub(super) fn all(scratch: &Scratch, output: &Path) -> Result<Vec<Collected>, Error> {
    let mut written =
        input::traces_in(scratch.path()).map_err(|error| Error::list(scratch.path(), error))?;
    written.retain(|path| path.extension().is_some_and(|ending| ending == "mqt"));
    let patience = Instant::now() + PATIENCE;
    let collect = |raw: &PathBuf| {
        loop {
            match one(raw, output) {
                Some(collected) => return collected,
                None if Instant::now() < patience => thread::sleep(PAUSE),
                None => return still_written(raw),
            }
        }
    };
    Ok(written.iter().map(collect).collect())
}

fn still_written(raw: &Path) -> Collected {
    Collected {
        trace: raw.display().to_string(),
        outcome: Outcome::Invalid {
            error: format!(
                "{}: a process is still writing it; it stays as written",
                raw.display()
            ),
        },
    }
}

/// One trace, unless a process may still be writing it.
fn one(raw: &Path, output: &Path) -> Option<Collected> {
    let _spinner = progress::spinner(&format!("collecting {}", raw.display()));
    let invalid = |error: String| Collected {
        trace: raw.display().to_string(),
        outcome: Outcome::Invalid { error },
    };
    let counted = Written::of(raw).and_then(|written| Ok((counts(&written)?, written)));
    let ((counts, reports), written) = match counted {
        Ok(counted) => counted,
        Err(error) => return Some(invalid(error.to_string())),
    };
    Some(match compress(&written, output) {
        Ok(Some(trace)) => Collected {
            outcome: Outcome::Valid(Counts {
                differences: mismatches::of_judges(&trace.display().to_string(), &reports),
                ended_early: move_reason(raw, &trace),
                ..counts
            }),
            trace: trace.display().to_string(),
        },
        Ok(None) => return None,
        // The others may be small enough for a disk that is full.
        Err(error) => invalid(match ended::reason(raw) {
            Some(reason) => {
                format!("{error}; the trace stays as written, and ended early: {reason}")
            }
            None => format!("{error}; the trace stays as written"),
        }),
    })
}

/// Moves the reason why a trace was ended early beside where the trace is now, if it was; returns it.
fn move_reason(raw: &Path, collected: &Path) -> Option<String> {
    let reason = ended::reason(raw);
    let kept = ended::file(collected);
    // If it stays, so does the directory, and nothing is lost.
    let _ = match reason {
        Some(_) => fs::rename(ended::file(raw), kept),
        // Of a trace that was here before.
        None => fs::remove_file(kept),
    };
    reason
}

/// The contents of a trace, and what each judge says of it.
fn counts(written: &Written) -> Result<(Counts, [(Choice, Report); 2]), TraceError> {
    let trace = Trace::read(written.reader()?)?;
    let reports = judges(&trace).map(|judge| (judge.into(), check(&trace, judge)));
    let traffic = Traffic::of(&trace);
    let [(_, report), _] = &reports;
    let counts = Counts {
        library: Library::of(trace.header()),
        communicator_count: trace.communicators().len(),
        receives: traffic.receives,
        messages: traffic.messages,
        probes: traffic.probes,
        cancels: traffic.cancels,
        mismatches: report.mismatches,
        max_posted: report.max_posted,
        max_unexpected: report.max_unexpected,
        unfinished_line: written.ends_within_a_line(),
        ended_early: None,
        differences: Vec::new(),
    };
    Ok((counts, reports))
}

/// Compresses a trace and moves it to the output directory; where it is now, or nothing if a process may still be
/// writing it.
///
/// It moves when it is complete, so the output directory holds only whole traces.
fn compress(written: &Written, output: &Path) -> Result<Option<PathBuf>, Error> {
    let raw = written.path();
    let whole = raw.with_extension("mqt.gz");
    let target = output.join(whole.file_name().unwrap_or_default());
    // Not under a trace's name: if this process is killed meanwhile, the trace as written is the only one here.
    let packed = output_file::beside(&whole, &whole);
    if let Err(error) = pack(written, &packed) {
        // The disc may be full: the trace remains as written, and a partial copy helps nobody.
        let _ = fs::remove_file(&packed);
        return Err(error);
    }
    if written.is_being_written() {
        let _ = fs::remove_file(&packed);
        return Ok(None);
    }
    if let Err(error) = fs::rename(&packed, &target) {
        let _ = fs::remove_file(&packed);
        return Err(Error::write(&target, error));
    }
    fs::remove_file(raw).map_err(|error| Error::write(raw, error))?;
    Ok(Some(target))
}

fn pack(written: &Written, packed: &Path) -> Result<(), Error> {
    let failed = |error| Error::write(packed, error);
    let mut reader = written.reader()?;
    let mut writer = TraceWriter::create(packed, reader.header()).map_err(failed)?;
    for numbered in &mut reader {
        writer.write(&numbered?.line).map_err(failed)?;
    }
    let file = writer.finish().map_err(failed)?;
    // The trace as written goes once this is on the disc.
    file.sync_all().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_that_cannot_be_written_stays_and_does_not_lose_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let raw = |name: &str| folder.path().join(name);
        let trace = "# mqtrace 1 rank=0\nc 0 2 0\np 0 1 7\na 0 1 7 =0\n";
        fs::write(raw("r0.mqt"), trace).unwrap();
        fs::write(raw("r0.ended"), "disk full\n").unwrap();
        let nowhere = one(&raw("r0.mqt"), &raw("no such directory")).unwrap();
        let [complaint] = nowhere.complaints() else {
            panic!("{:?}", nowhere.complaints());
        };
        assert!(complaint.contains("no such directory"), "{complaint}");
        let end = "the trace stays as written, and ended early: disk full";
        assert!(complaint.ends_with(end), "{complaint}");
        assert_eq!(fs::read_to_string(raw("r0.mqt")).unwrap(), trace);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        // Where there is room, it is collected.
        let output = raw("output");
        fs::create_dir(&output).unwrap();
        let there = one(&raw("r0.mqt"), &output).unwrap();
        assert!(there.complaints().is_empty(), "{:?}", there.complaints());
        let target = output.join("r0.mqt.gz");
        assert!(target.exists());
        // Whoever reads it later is told that it is not whole.
        assert_eq!(ended::reason(&target).as_deref(), Some("disk full"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
