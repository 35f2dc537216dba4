//! The outcome of a run: its exit code, and which failures of ranks are told.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM};

use super::ranks::End;
use super::signals;

/// The exit code after a time limit, as that of `timeout`.
const OUT_OF_TIME: u8 = 124;

/// A rank that ends within this time after a signal is taken to have obeyed it.
const A_MOMENT: Duration = Duration::from_secs(10);

/// What is known so far.
#[derive(Default)]
pub(super) struct Verdict {
    /// The exit code of the rank that failed first.
    failure: Option<u8>,
    /// Signals that were passed on to the ranks.
    passed_on: Vec<i32>,
    /// When the last signal that asks processes to end was passed on.
    told_to_end: Option<Instant>,
    /// The first signal that was passed on and ended a rank.
    interrupted: Option<i32>,
    /// How many ranks such signals have ended, and when the last.
    obeyed_count: u32,
    obeyed_at: Option<Instant>,
    /// The processes that could not start the program, which is reported once for all.
    pub(super) refused: HashSet<u32>,
    /// Whether the time limit has ended the run.
    pub(super) out_of_time: bool,
    /// Whether it has ended the writing of what ranks had written that ended before.
    pub(super) output_out_of_time: bool,
    /// Whether the ranks were told to end, so that their ends need no report.
    pub(super) ending: bool,
    /// Whether nobody reads standard output any more.
    pub(super) unread: bool,
}

/// Whether a signal asks a process to end.
fn asks_to_end(signal: i32) -> bool {
    matches!(signal, SIGINT | SIGTERM | SIGHUP | SIGQUIT)
}

impl Verdict {
    /// Records that a signal was passed on.
    pub(super) fn record_passed_on(&mut self, signal: i32) {
        if asks_to_end(signal) {
            self.told_to_end = Some(Instant::now());
        }
        self.passed_on.push(signal);
    }

    /// Whether a signal ended the run, as far as is known: it came, or killed a rank, just before the last rank
    /// ended. A program may handle a signal and go on for long.
    pub(super) fn was_told_to_end(&self) -> bool {
        let just_now = |at: &Instant| at.elapsed() < A_MOMENT;
        self.told_to_end.iter().chain(&self.obeyed_at).any(just_now)
    }

    /// The signal that a rank has obeyed by ending like this: one that was passed on and killed it, or what it ran if
    /// it is a shell, whose exit code is the same.
    pub(super) fn signal_obeyed_by(&self, end: End) -> Option<i32> {
        let mut passed_on = self.passed_on.iter().copied();
        passed_on.find(|&signal| end.code() == End::Killed(signal).code())
    }

    /// The first signal that a rank has obeyed so.
    pub(super) fn interrupted(&self) -> Option<i32> {
        self.interrupted
    }

    /// Records that a rank has failed, the process with this number. Returns whether that is to be told.
    pub(super) fn record_failure(&mut self, pid: u32, end: End) -> bool {
        if self.ending || self.refused.contains(&pid) {
            if self.interrupted.is_none() {
                self.failure.get_or_insert(end.code());
            }
            return false;
        }
        if let Some(signal) = self.signal_obeyed_by(end) {
            self.interrupted.get_or_insert(signal);
            self.obeyed_count += 1;
            self.obeyed_at = Some(Instant::now());
            return false;
        }
        self.failure.get_or_insert(end.code());
        // The reader has seen enough, like `head`.
        !(self.unread && end.code() == End::Killed(SIGPIPE).code())
    }

    /// The message at the end of a run of this many ranks, if any.
    pub(super) fn last_word(&self, ranks: u32) -> Option<String> {
        if self.failure.is_some() {
            return None;
        }
        let signal = self.interrupted?;
        let described = signals::describe(signal);
        let ended = if self.obeyed_count == ranks || asks_to_end(signal) {
            "the run".to_owned()
        } else {
            format!("{} of {ranks} ranks", self.obeyed_count)
        };
        Some(format!("{described}, which was passed on, ended {ended}"))
    }

    /// The exit code; `otherwise` if no rank has failed or obeyed a signal.
    pub(super) fn code(&self, otherwise: u8) -> u8 {
        if self.out_of_time {
            return OUT_OF_TIME;
        }
        let obeyed = self.interrupted.map(|signal| End::Killed(signal).code());
        let late = self.output_out_of_time.then_some(OUT_OF_TIME);
        self.failure.or(obeyed).or(late).unwrap_or(otherwise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_some_could_not_start_hides_no_failure_of_the_others() {
        let mut verdict = Verdict {
            refused: HashSet::from([10]),
            ..Verdict::default()
        };
        assert!(!verdict.record_failure(10, End::Exited(126)));
        // The program's own, though the same.
        assert!(verdict.record_failure(12, End::Exited(126)));
        assert!(verdict.record_failure(11, End::Killed(signal_hook::consts::SIGSEGV)));
        assert_eq!(verdict.code(0), 126);
    }
}
