//! Turning what the processes wrote into validated traces.

use std::path::Path;

use mq_core::structures::Kind;
use mq_trace::{Mismatch, Trace, TraceError, TraceReader, TraceWriter, check};
use serde::Serialize;

use super::output::Scratch;
use crate::error::Error;
use crate::stats::Traffic;
use crate::{input, mismatches, output_file, progress};

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
    pub(super) communicator_count: usize,
    /// Receives posted.
    pub(super) receives: u64,
    /// Messages that arrived.
    pub(super) messages: u64,
    pub(super) probes: u64,
    pub(super) cancels: u64,
    /// Operations that the default structure decides differently from the library.
    pub(super) mismatches: usize,
    pub(super) max_posted: usize,
    pub(super) max_unexpected: usize,
    #[serde(skip)]
    first_mismatch: Option<Mismatch>,
}

impl Collected {
    /// What is wrong with the trace, if anything.
    pub(super) fn complaint(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Valid(counts) => {
                let mismatch = counts.first_mismatch?;
                Some(mismatches::by_the_rules(&self.trace, &mismatch))
            }
            Outcome::Invalid { error } => Some(error.clone()),
        }
    }
}

/// Reads every trace that the processes wrote; the valid ones are compressed into `output`.
pub(super) fn all(scratch: &Scratch, output: &Path) -> Result<Vec<Collected>, Error> {
    let mut written =
        input::traces_in(scratch.path()).map_err(|error| Error::list(scratch.path(), error))?;
    written.retain(|path| path.extension().is_some_and(|ending| ending == "mqt"));
    written.iter().map(|raw| one(raw, output)).collect()
}

fn one(raw: &Path, output: &Path) -> Result<Collected, Error> {
    let _spinner = progress::spinner(&format!("collecting {}", raw.display()));
    Ok(match counts(raw) {
        Ok(counts) => Collected {
            trace: compress(raw, output)?,
            outcome: Outcome::Valid(counts),
        },
        Err(error) => Collected {
            trace: raw.display().to_string(),
            outcome: Outcome::Invalid {
                error: error.to_string(),
            },
        },
    })
}

fn counts(raw: &Path) -> Result<Counts, TraceError> {
    let trace = Trace::open(raw)?;
    let report = check(&trace, Kind::default());
    let traffic = Traffic::of(&trace);
    Ok(Counts {
        communicator_count: trace.communicators().len(),
        receives: traffic.receives,
        messages: traffic.messages,
        probes: traffic.probes,
        cancels: traffic.cancels,
        mismatches: report.mismatches,
        max_posted: report.max_posted,
        max_unexpected: report.max_unexpected,
        first_mismatch: report.first_mismatch,
    })
}

/// Compresses a trace and moves it to the output directory; its new name.
///
/// It moves when it is complete, so the output directory holds only whole traces.
fn compress(raw: &Path, output: &Path) -> Result<String, Error> {
    let whole = raw.with_extension("mqt.gz");
    let target = output.join(whole.file_name().unwrap_or_default());
    // Not under a trace's name: if this process is killed meanwhile, the trace as written is the only one here.
    let packed = output_file::beside(&whole);
    if let Err(error) = pack(raw, &packed) {
        // The disc may be full: the trace remains as written, and a partial copy helps nobody.
        let _ = std::fs::remove_file(&packed);
        return Err(error);
    }
    std::fs::rename(&packed, &target).map_err(|error| Error::write(&target, error))?;
    std::fs::remove_file(raw).map_err(|error| Error::write(raw, error))?;
    Ok(target.display().to_string())
}

fn pack(raw: &Path, packed: &Path) -> Result<(), Error> {
    let failed = |error| Error::write(packed, error);
    let mut reader = TraceReader::open(raw)?;
    let mut writer = TraceWriter::create(packed, reader.header()).map_err(failed)?;
    for numbered in &mut reader {
        writer.write(&numbered?.line).map_err(failed)?;
    }
    writer.finish().map_err(failed)?;
    Ok(())
}
