//! How long a wait goes on while memory is refused, and when the user is told.

use std::time::{Duration, Instant};

/// Refusals of memory in the rounds of those who wait.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// The first and the last of those that came one upon the other.
    row: Option<(Instant, Instant)>,
    /// A wait of a collective operation goes on however long it takes: others wait for this process in any case, and
    /// what still comes of this operation would be taken for a part of the next.
    is_collective: bool,
    /// The user knows how long it has been.
    was_said: bool,
}

impl Refusals {
    /// Others may free memory within this time.
    const BORNE_FOR: Duration = Duration::from_secs(1);
    /// A program that hangs is hard to understand.
    const SAID_AFTER: Duration = Duration::from_secs(5);
    /// Two that are further apart are not of one row.
    const APART: Duration = Duration::from_millis(100);

    pub(crate) fn begin_collective(&mut self) {
        self.is_collective = true;
    }

    /// The next wait has its own time: nobody was told of what this operation has waited out.
    pub(crate) fn end_collective(&mut self) {
        self.is_collective = false;
        self.row = None;
    }

    /// One more; returns whether the wait goes on.
    pub(super) fn tolerate(&mut self) -> bool {
        let now = Instant::now();
        let first = match self.row {
            Some((first, last)) if now - last <= Self::APART => first,
            _ => now,
        };
        self.row = Some((first, now));
        self.is_collective || now - first < Self::BORNE_FOR
    }

    /// Whether the user is to be told now, because it has gone on for so long: true once.
    pub(super) fn take_report(&mut self) -> bool {
        let is_long = |(first, last): (Instant, Instant)| last - first >= Self::SAID_AFTER;
        let is_now = !self.was_said && self.row.is_some_and(is_long);
        self.was_said |= is_now;
        is_now
    }
}
