//! The outcome of a run: its exit code, and the sentences about ranks that failed.

use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM};

use super::ranks::End;
use super::signals;

/// The exit code after a time limit, as that of `timeout`.
const OUT_OF_TIME: u8 = 124;

/// A rank that ends so soon after a signal is taken to have obeyed it.
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
    /// Whether the program could not be started, which is reported once for all ranks.
    pub(super) refused: bool,
    /// Whether the time limit has ended the run.
    pub(super) out_of_time: bool,
    /// Whether the ranks were told to end, so that their ends need no report.
    pub(super) ending: bool,
    /// Whether nobody reads standard output any more.
    pub(super) unread: bool,
}

impl Verdict {
    /// A signal was passed on.
    pub(super) fn passed_on(&mut self, signal: i32) {
        if matches!(signal, SIGINT | SIGTERM | SIGHUP | SIGQUIT) {
            self.told_to_end = Some(Instant::now());
        }
        self.passed_on.push(signal);
    }

    /// Whether a signal ended the run, as far as is known: it killed a rank, or came just before the last
    /// rank ended. A program may handle a signal and go on for long.
    pub(super) fn was_told_to_end(&self) -> bool {
        let just_now = |at: Instant| at.elapsed() < A_MOMENT;
        self.interrupted.is_some() || self.told_to_end.is_some_and(just_now)
    }

    /// The signal that a rank has obeyed by ending like this: one that was passed on and killed it, or what it ran if it
    /// is a shell, whose exit code is the same.
    pub(super) fn obeyed(&self, end: End) -> Option<i32> {
        let mut passed_on = self.passed_on.iter().copied();
        passed_on.find(|&signal| end.code() == End::Killed(signal).code())
    }

    /// The first signal that a rank has obeyed so.
    pub(super) fn interrupted(&self) -> Option<i32> {
        self.interrupted
    }

    /// A rank has failed. Returns the message about it, if any.
    pub(super) fn failed(&mut self, rank: usize, pid: u32, end: End) -> Option<String> {
        self.failure.get_or_insert(end.code());
        if self.refused || self.ending {
            return None;
        }
        if let Some(signal) = self.obeyed(end) {
            self.interrupted.get_or_insert(signal);
            return None;
        }
        // The reader has seen enough, like `head`.
        if self.unread && end.code() == End::Killed(SIGPIPE).code() {
            return None;
        }
        Some(format!("rank {rank} (pid {pid}) {end}"))
    }

    /// The message at the end, if any.
    pub(super) fn last_word(&self) -> Option<String> {
        let signal = signals::describe(self.interrupted?);
        Some(format!("{signal}, which was passed on, ended the run"))
    }

    /// The exit code; `otherwise` if no rank has failed.
    pub(super) fn code(&self, otherwise: u8) -> u8 {
        if self.out_of_time {
            OUT_OF_TIME
        } else {
            self.failure.unwrap_or(otherwise)
        }
    }
}
