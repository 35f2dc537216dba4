//! Turning what the processes wrote into validated traces.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use mq_trace::{Header, Process, Trace, TraceError, TraceWriter, reason_file};
use serde::Serialize;

use super::directory::Scratch;
use super::judge::{self, Counts};
use super::writer::Writer;
use super::written::Written;
use crate::error::Error;
use crate::report::Fields;
use crate::{ended_early, input, mismatches, output_file, progress};

/// The result for one process's trace. The fields are keys of the JSON output.
#[derive(Serialize)]
pub(super) struct Collected {
    /// Where the trace is now.
    pub(super) trace: String,
    #[serde(flatten)]
    pub(super) about: About,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

/// What is known of a trace without reading its operations.
#[derive(Serialize, Default)]
pub(super) struct About {
    /// None if it could not be read.
    pub(super) header: Option<Fields>,
    /// Why it ends before its process did, or before that closed its session, if it does.
    pub(super) ended_early: Option<String>,
    /// Whether the process was killed while it wrote a line, which was left out.
    unfinished_line: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Outcome {
    /// It was compressed and moved to the output directory.
    Valid {
        #[serde(flatten)]
        counts: Counts,
        /// What the judges say against it.
        differences: Vec<String>,
    },
    /// It stays where the process wrote it, or cannot be read again where it is now.
    Invalid { error: String },
}

/// How long processes may take to end after the command: after `MPI_Abort`, MPICH's `mpirun` is sometimes the first.
const PATIENCE: Duration = Duration::from_secs(2);
/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Said of a trace that a process has open.
const WRITING: &str = "a process is still writing it";

impl Collected {
    /// What is wrong with the trace, if anything.
    pub(super) fn complaints(&self) -> &[String] {
        match &self.outcome {
            Outcome::Valid { differences, .. } => differences,
            Outcome::Invalid { error } => core::slice::from_ref(error),
        }
    }

    /// What is not as the process left it.
    pub(super) fn notice(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Valid { .. } if self.about.unfinished_line => Some(format!(
                "{}: without the last line, which the process did not finish",
                self.trace
            )),
            _ => None,
        }
    }

    /// The contents of a valid trace.
    pub(super) fn counts(&self) -> Option<&Counts> {
        match &self.outcome {
            Outcome::Valid { counts, .. } => Some(counts),
            Outcome::Invalid { .. } => None,
        }
    }
}

/// Compresses every trace that the processes wrote into `output`, and then reads them; those that are invalid or may
/// still be written stay.
///
/// Judging takes longest, and whoever interrupts it finds all traces in their place.
pub(super) fn all(scratch: &Scratch, output: &Path) -> Result<Vec<Collected>, Error> {
    let mut written =
        input::traces_in(scratch.path()).map_err(|error| Error::list(scratch.path(), error))?;
    written.retain(|path| path.extension().is_some_and(|ending| ending == "mqt"));
    let patience = Instant::now() + PATIENCE;
    let keep = |raw: &PathBuf| {
        loop {
            match collect_one(raw, output) {
                Ok(kept) => return kept,
                Err(_) if Instant::now() < patience => thread::sleep(PAUSE),
                Err(still_written) => return still_written.given_up(raw),
            }
        }
    };
    let kept: Vec<Kept> = written.iter().map(keep).collect();
    Ok(kept.into_iter().map(Kept::judged).collect())
}

/// A trace that is where it is to stay.
struct Kept {
    /// Where it is now.
    path: PathBuf,
    about: About,
    /// Whether it was moved, and why not.
    moved: Result<(), String>,
}

impl Kept {
    fn judged(self) -> Collected {
        let Self { path, about, moved } = self;
        let trace = path.display().to_string();
        let _spinner = progress::spinner(&format!("replaying {trace}"));
        let read = moved.and_then(|()| Trace::open(&path).map_err(|error| error.to_string()));
        let outcome = match read {
            Ok(read) => {
                let (counts, reports) = judge::judge(&read);
                Outcome::Valid {
                    counts,
                    differences: mismatches::of_judges(&trace, &reports),
                }
            }
            Err(error) => Outcome::Invalid { error },
        };
        Collected {
            trace,
            about,
            outcome,
        }
    }
}

/// A process may still be writing a trace; which, and why that is assumed.
struct StillWritten {
    header: Header,
    why: String,
}

impl StillWritten {
    fn given_up(self, raw: &Path) -> Kept {
        let Self { header, why } = self;
        Kept {
            path: raw.to_owned(),
            moved: Err(format!("{}: {why}; it stays as written", raw.display())),
            about: About {
                ended_early: ended_early::of(Some(raw), &header),
                header: Some(Fields::of(&header)),
                unfinished_line: false,
            },
        }
    }
}

/// Moves one trace, unless a process may still be writing it.
fn collect_one(raw: &Path, output: &Path) -> Result<Kept, StillWritten> {
    let _spinner = progress::spinner(&format!("collecting {}", raw.display()));
    let stays = |about: About, error: String| Kept {
        path: raw.to_owned(),
        about,
        moved: Err(error),
    };
    let unreadable = |error: TraceError| Ok(stays(About::default(), error.to_string()));
    let header = match self::header(raw) {
        Ok(header) => header,
        Err(error) => return unreadable(error),
    };
    let reason = ended_early::reason(raw);
    if reason.is_none()
        && let Some(why) = why_still_written(&header, raw)
    {
        return Err(StillWritten { header, why });
    }
    // Again, now that nobody writes there: the process may have closed its session since, and ended. And before the
    // trace's length: what closes the session in between has written everything.
    let read = self::header(raw).and_then(|header| Ok((header, Written::of(raw)?)));
    let (header, written) = match read {
        Ok(read) => read,
        Err(error) => return unreadable(error),
    };
    let public = without_process(&header);
    let about = About {
        ended_early: ended_early::of(Some(raw), &header),
        header: Some(Fields::of(&public)),
        unfinished_line: written.ends_within_a_line(),
    };
    match compress(&written, &public, output) {
        Ok(Some(path)) => {
            move_reason(raw, &path, reason.is_some());
            Ok(Kept {
                path,
                about,
                moved: Ok(()),
            })
        }
        Ok(None) => Err(StillWritten {
            header,
            why: WRITING.into(),
        }),
        Err(error @ Error::Trace(_)) => Ok(stays(about, error.to_string())),
        // The others may be small enough for a disk that is full.
        Err(error) => {
            let sentence = match &about.ended_early {
                Some(reason) => {
                    format!("{error}; the trace stays as written, and ended early: {reason}")
                }
                None => format!("{error}; the trace stays as written"),
            };
            Ok(stays(about, sentence))
        }
    }
}

/// Why a process is taken to be still writing a trace, if one is.
fn why_still_written(header: &Header, raw: &Path) -> Option<String> {
    match Writer::of(header, raw) {
        Writer::Done => None,
        Writer::Runs => Some(WRITING.into()),
        Writer::Elsewhere(process) => Some(format!(
            "{process} has not closed its session, and whether it still runs is not known on this machine"
        )),
    }
}

fn header(raw: &Path) -> Result<Header, TraceError> {
    let reader = Written::of(raw)?.reader()?;
    Ok(reader.header().clone())
}

/// Which process it was is of use only to who collects its trace.
fn without_process(header: &Header) -> Header {
    let fields = header.fields().iter();
    fields
        .filter(|(key, _)| key != Process::KEY)
        .fold(Header::new(), |header, (key, value)| {
            header.with(key, value)
        })
}

/// Moves the reason why a trace was ended early beside where the trace is now, if there is one.
fn move_reason(raw: &Path, collected: &Path, is_there: bool) {
    let kept = reason_file(collected);
    // If it stays, so does the directory, and nothing is lost.
    let _ = if is_there {
        fs::rename(reason_file(raw), kept)
    } else {
        // Of a trace that was here before.
        fs::remove_file(kept)
    };
}

/// Compresses a trace and moves it to the output directory; where it is now, or nothing if a process may still be
/// writing it.
///
/// It moves when it is complete, so the output directory holds only whole traces.
fn compress(written: &Written, header: &Header, output: &Path) -> Result<Option<PathBuf>, Error> {
    let raw = written.path();
    let whole = raw.with_extension("mqt.gz");
    let target = output.join(whole.file_name().unwrap_or_default());
    // Not under a trace's name: if this process is killed meanwhile, the trace as written is the only one here.
    let packed = output_file::beside(&whole, &whole);
    if let Err(error) = pack(written, header, &packed) {
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

fn pack(written: &Written, header: &Header, packed: &Path) -> Result<(), Error> {
    let failed = |error| Error::write(packed, error);
    let mut reader = written.reader()?;
    let mut writer = TraceWriter::create(packed, header).map_err(failed)?;
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
        let one = |output: &Path| {
            let kept = collect_one(&raw("r0.mqt"), output).map_err(|still| still.why);
            kept.unwrap().judged()
        };
        let nowhere = one(&raw("no such directory"));
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
        let there = one(&output);
        assert!(there.complaints().is_empty(), "{:?}", there.complaints());
        let target = output.join("r0.mqt.gz");
        assert!(target.exists());
        // Whoever reads it later is told that it is not whole.
        assert_eq!(ended_early::reason(&target).as_deref(), Some("disk full"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
