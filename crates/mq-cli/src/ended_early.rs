//! Traces that end before what they record does.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use mq_trace::{Header, Span, reason_file};

use crate::report::first_names;

/// What an empty [`reason_file`] says: there was no room.
const NO_REASON: &str = "the reason could not be written";
/// The bytes of a reason that are read: it is a sentence.
const LONGEST_REASON: u64 = 4096;
/// What a header says that calls its trace unfinished. libmq writes what it has gathered with a later operation, so
/// what is missing may be all that there was.
const UNCLOSED: &str = "its process did not close its session, as MPI_Finalize does, so operations may be missing \
     at the end";

/// Why a trace ends early, if it does: its library's reason, or that its process has not come to the end. `trace` is
/// its file, if it has one.
pub(crate) fn of(trace: Option<&Path>, header: &Header) -> Option<String> {
    let is_unclosed = Span::of(header) == Span::Unfinished;
    let unclosed = || is_unclosed.then(|| UNCLOSED.into());
    trace.and_then(reason).or_else(unclosed)
}

/// Why a library ended a trace early, if it did.
pub(crate) fn reason(trace: &Path) -> Option<String> {
    let file = reason_file(trace);
    // A library writes nothing else there; another kind of file may never end.
    if !file.is_file() {
        return None;
    }
    let mut reason = Vec::new();
    // If it cannot be read, that it is there says enough.
    let _ = File::open(&file).and_then(|file| file.take(LONGEST_REASON).read_to_end(&mut reason));
    match String::from_utf8_lossy(&reason).trim() {
        "" => Some(NO_REASON.into()),
        reason => Some(reason.into()),
    }
}

/// In words, which of these traces ended early and why: a sentence for each reason, since what ends a job ends all of
/// its processes. Each is a trace's name, and its reason if there is one.
pub(crate) fn sentences<'a>(
    traces: impl Iterator<Item = (String, Option<&'a String>)>,
) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, reason) in traces {
        let Some(reason) = reason else {
            continue;
        };
        match reasons.iter_mut().find(|(other, _)| other == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    let sentence = |(reason, names): &(&str, Vec<String>)| {
        format!("{} ended early: {reason}", first_names(names))
    };
    reasons.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_library_s_reason_says_more_than_that_a_session_was_not_closed() {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("t.mqt");
        let unfinished = Header::new().with(Span::KEY, Span::Unfinished);
        let why = |header: &Header| of(Some(&trace), header);
        assert_eq!(why(&Header::new()), None);
        assert_eq!(why(&unfinished).as_deref(), Some(UNCLOSED));
        assert_eq!(of(None, &unfinished).as_deref(), Some(UNCLOSED));
        fs::write(reason_file(&trace), "disk full\n").unwrap();
        assert_eq!(why(&unfinished).as_deref(), Some("disk full"));
    }

    #[test]
    fn what_ends_many_traces_is_said_once() {
        let (full, killed) = (String::from("full"), String::from("killed"));
        let reasons = [Some(&killed), None, Some(&full), Some(&killed)];
        let names = ["r0", "r1", "r2", "r3"].map(String::from);
        let expected = ["r0, r3 ended early: killed", "r2 ended early: full"];
        assert_eq!(sentences(names.into_iter().zip(reasons)), expected);
    }
}
