//! Replaying what was collected.

use mq_core::structures::{Choice, Kind};
use mq_trace::{Report, Trace, check, check_within};
use serde::Serialize;

use crate::array_ranks;
use crate::library::Library;
use crate::stats::Traffic;

/// What a trace has, and what the judges say of it. The fields are keys of the JSON output.
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
    /// The structures that replayed it.
    pub(super) judges: Vec<&'static str>,
    /// One that would have taken too long.
    #[serde(skip)]
    pub(super) spared: Option<&'static str>,
}

/// What the second judge may compare, for each operation of a trace and at least: about as long as the rest of a
/// collection takes. It has nothing for a queue whose entries differ only in their tags, which costs it the square of
/// the queue's length: 20 seconds for one of 40,000.
pub(super) const EACH: u64 = 64;
/// See [`EACH`].
pub(super) const AT_LEAST: u64 = 10_000_000;

/// Two that share no search: a mistake of one is not taken for a rule of MPI.
fn judges(trace: &Trace) -> [Kind; 2] {
    let other = match array_ranks::of(trace) {
        ..=array_ranks::MOST => Kind::Array,
        _ => Kind::Bins,
    };
    [Kind::Indexed, other]
}

/// The contents of a trace, and the report of each judge.
pub(super) fn judge(trace: &Trace) -> (Counts, Vec<(Choice, Report)>) {
    let [first, second] = judges(trace);
    let report = check(trace, first);
    let most = AT_LEAST.max(EACH * trace.operations().len() as u64);
    let other = check_within(trace, second, most);
    let traffic = Traffic::of(trace);
    let mut counts = Counts {
        library: Library::of(trace.header()),
        communicator_count: trace.communicators().len(),
        receives: traffic.receives,
        messages: traffic.messages,
        probes: traffic.probes,
        cancels: traffic.cancels,
        mismatches: report.mismatches,
        max_posted: report.max_posted,
        max_unexpected: report.max_unexpected,
        judges: vec![first.name()],
        spared: other.is_none().then_some(second.name()),
    };
    let mut reports = vec![(first.into(), report)];
    if let Some(other) = other {
        counts.judges.push(second.name());
        reports.push((second.into(), other));
    }
    (counts, reports)
}

#[cfg(test)]
mod tests {
    use mq_trace::Line;

    use super::*;

    /// Messages of one sender with different tags, received in reverse.
    fn reversed(depth: u32) -> Trace {
        let messages = (0..depth).map(|tag| format!("a 0 1 {tag}"));
        let receives = (0..depth).rev().map(|tag| format!("p 0 1 {tag} ={tag}"));
        let lines: Vec<Line> = messages
            .chain(receives)
            .map(|line| Line::parse(&line).expect("valid"))
            .collect();
        Trace::from_lines("t", &lines)
    }

    #[test]
    fn a_judge_that_would_compare_too_much_is_spared() {
        let (counts, reports) = judge(&reversed(1_000));
        assert_eq!(
            (counts.judges, reports.len()),
            (vec!["indexed", "array"], 2)
        );
        let (counts, reports) = judge(&reversed(5_000));
        assert_eq!((counts.judges, reports.len()), (vec!["indexed"], 1));
        assert_eq!(counts.spared, Some("array"));
        assert_eq!((counts.mismatches, counts.max_unexpected), (0, 5_000));
    }
}
