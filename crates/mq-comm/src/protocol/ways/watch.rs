//! Transfers through rings that are timed, and whether this process attended to them all the time.

use std::time::{Duration, Instant};

use mq_shm::Process;

use super::class::Part;
use crate::request::Name;

/// Who does nothing for the transfers so long was away.
const AWAY: Duration = Duration::from_micros(20);

/// Transfers that are timed.
#[derive(Debug, Default)]
pub(in super::super) struct Stopwatch {
    running: Vec<Running>,
    /// When transfers were attended to last.
    attended: Option<Instant>,
    /// When this process came back, if it was away.
    back: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct Running {
    pub(super) receive: Name,
    pub(super) from: Process,
    pub(super) since: Instant,
    pub(super) bytes: usize,
    pub(super) part: Part,
}

impl Stopwatch {
    /// Transfers are about to be attended to.
    #[inline]
    pub(in super::super) fn begin_turn(&mut self) {
        if self.is_running() {
            self.come(Instant::now());
        }
    }

    /// They have been.
    #[inline]
    pub(in super::super) fn end_turn(&mut self) {
        if self.is_running() {
            self.attended = Some(Instant::now());
        }
    }

    #[inline]
    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    #[cold]
    fn come(&mut self, now: Instant) {
        if self.attended.is_some_and(|last| now - last > AWAY) {
            self.back = Some(now);
        }
    }

    pub(super) fn start(&mut self, running: Running) {
        if self.running.is_empty() {
            self.attended = Some(running.since);
            self.back = None;
        }
        self.running.push(running);
    }

    /// Whether this process was away at a time after this one.
    pub(super) fn was_away(&self, since: Instant) -> bool {
        self.back.is_some_and(|back| back > since)
    }

    pub(super) fn is_timing(&self, from: Process) -> bool {
        self.running.iter().any(|running| running.from == from)
    }

    /// A receive has come to its end.
    pub(super) fn take(&mut self, receive: Name) -> Option<Running> {
        let at = self
            .running
            .iter()
            .position(|running| running.receive == receive)?;
        Some(self.running.swap_remove(at))
    }

    /// A receive will never come to its end.
    pub(in super::super) fn drop_receive(&mut self, receive: Name) {
        self.take(receive);
    }

    pub(super) fn forget(&mut self, from: Process) {
        self.running.retain(|running| running.from != from);
    }
}
