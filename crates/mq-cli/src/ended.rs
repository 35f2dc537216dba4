//! What a library leaves beside a trace that it ended before its process.

use std::fs;

use std::path::{Path, PathBuf};

/// The ending, in place of the trace's, of the file in which a library says why it ended a trace early.
const ENDED: &str = "ended";
/// What an empty one says: there was no room.
const NO_REASON: &str = "the reason could not be written";

/// The file that says why a trace was ended early, if there is one.
pub(crate) fn file(trace: &Path) -> PathBuf {
    trace.with_extension(ENDED)
}

/// Why a trace was ended early, if it was.
pub(crate) fn reason(trace: &Path) -> Option<String> {
    let file = file(trace);
    let reason = match fs::read(&file) {
        Ok(reason) => reason,
        // That it is there says enough.
        Err(_) if file.is_file() => Vec::new(),
        Err(_) => return None,
    };
    match String::from_utf8_lossy(&reason).trim() {
        "" => Some(NO_REASON.into()),
        reason => Some(reason.into()),
    }
}
