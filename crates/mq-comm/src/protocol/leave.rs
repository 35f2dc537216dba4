//! How a process leaves: it sees through what others wait for.

use std::time::{Duration, Instant};

use mq_shm::Process;

use super::{Awaited, Core, State};
use crate::error::Error;
use crate::header::{Kind, Payload};
use crate::messages::Body;
use crate::request::{Name, Stage};
use crate::say::say;
use crate::statistics;
use crate::steps::{Step, step};
use crate::transport::Transport;

/// After this time, a process that is leaving says who keeps it waiting.
const SAID_AFTER: Duration = Duration::from_secs(5);

/// Consecutive failures in a process that has to go on. A wrongly written message fails once, for whoever
/// takes it in, and is no reason to take back memory that another process reads (if it is the answer to a
/// request, that request ends); a transport that no longer works fails each time.
#[derive(Debug, Default)]
pub(crate) struct Failures(u32);

impl Failures {
    const MOST: u32 = 64;

    /// Returns the last failure, if there have been too many.
    pub(crate) fn tolerate(&mut self, progress: Result<(), Error>) -> Result<(), Error> {
        match progress {
            Ok(()) => self.0 = 0,
            Err(_) if self.0 < Self::MOST => self.0 += 1,
            Err(last) => return Err(last),
        }
        Ok(())
    }
}

/// Whether this process leaves, and why.
#[derive(Debug)]
pub(crate) struct Departure {
    /// The process has begun to leave, which it does once.
    has_begun: bool,
    /// The process leaves without a failure: messages that still come are discarded.
    pub(super) is_leaving: bool,
    /// The program has ended with an error, and the process dies.
    pub(crate) has_failed: bool,
    /// The world was entered while the thread panicked: then another panic is not what ends it.
    is_of_panic: bool,
    /// `World::finalize` holds the process, to end it and to report how that went.
    pub(crate) is_finalizing: bool,
}

impl Departure {
    pub(super) fn none_yet() -> Self {
        Self {
            has_begun: false,
            is_leaving: false,
            has_failed: false,
            is_of_panic: std::thread::panicking(),
            is_finalizing: false,
        }
    }

    /// Whether the process is dying.
    pub(super) fn is_death(&self) -> bool {
        self.has_begun && self.has_failed
    }

    /// Whether the process dies unless the program catches its panic: it has failed, or it panics.
    pub(super) fn is_of_failure(&self) -> bool {
        self.has_failed || std::thread::panicking() && !self.is_of_panic
    }
}

impl<T: Transport> Core<T> {
    /// Sees through what others wait for before this process leaves: messages that are still to be sent or
    /// fetched. When it dies, in a panic or of an error, it only makes sure that nobody fetches memory that
    /// no longer exists.
    fn leave(&mut self) -> Result<(), Error> {
        if self.state.departure.is_of_failure() {
            // From now on, nothing more is announced.
            self.state.departure.has_failed = true;
            let mut withdrawn = Ok(());
            for send in self.state.requests.in_stage(Stage::Announced) {
                let slot = self.state.requests.at(send);
                let to = slot.peer;
                let name = self.state.requests.name(send);
                // Each has its own receiver.
                let answered = self.answer(to, Kind::Dying, name.0, Payload::default());
                withdrawn = withdrawn.and(unless_refused(answered));
            }
            withdrawn?;
            let mut last = 0;
            return self
                .stay_while(|state| state.requests.is_any_in(&[Stage::Announced], &mut last));
        }
        // Nobody here receives any more. A process that has announced something may be leaving as well, and
        // wait for an answer before it gives one.
        self.state.departure.is_leaving = true;
        let mut answered = Ok(());
        for (from, name) in self.state.discard_announced() {
            // Each sender waits for its own.
            answered = answered.and(unless_refused(self.answer_finished(from, name)));
        }
        answered?;
        let mut last = 0;
        self.stay_while(|state| state.is_awaited(&mut last))
    }

    /// Goes on while others have to do their part. A program that seems to hang at its end is hard to
    /// understand, so this says for whom it waits.
    fn stay_while(&mut self, mut is_awaited: impl FnMut(&State) -> bool) -> Result<(), Error> {
        let begun = Instant::now();
        let mut said = false;
        let mut failures = Failures::default();
        while is_awaited(&self.state) {
            let progress = self.progress_or_rest(Awaited::Ends);
            failures.tolerate(progress)?;
            if !said && begun.elapsed() >= SAID_AFTER {
                said = true;
                self.say_who_keeps_it();
            }
        }
        Ok(())
    }

    #[cold]
    fn say_who_keeps_it(&self) {
        let me = self.transport.me().0;
        let whom = match self.state.who_keeps_it() {
            Some(process) => format!("process {}", process.0),
            None => "another".into(),
        };
        say(&format!(
            "rank {me}: leaving, but still waiting for {whom} to do its part of a message"
        ));
    }

    /// Whether the one that asks is the last of these owners for whom the process does anything.
    pub(crate) fn is_last_of(&self, owners: usize) -> bool {
        owners == 1 + usize::from(self.state.departure.is_finalizing)
    }

    /// Whether this is a copy of the process in a child (`fork`), which does nothing in its name.
    pub(crate) fn is_a_copy(&self) -> bool {
        !self.origin.is_here()
    }

    /// Leaves, once. If that fails, the others are told that this process has died: what it sent last may be
    /// lost.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        if self.state.departure.has_begun || self.is_a_copy() {
            return Ok(());
        }
        self.state.departure.has_begun = true;
        step(Step::Leaving);
        let left = self.leave();
        if left.is_err() {
            // Nobody can be asked whether it still reads.
            self.transport.keep_buffers();
            self.transport.fail();
        }
        step(Step::SeenThrough);
        if let Some(how) = self.tells.take() {
            let (me, counters) = (self.transport.me().0, self.transport.counters());
            say(&statistics::table(me, &how, &self.state.profile, counters));
        }
        left
    }
}

impl<T: Transport> Drop for Core<T> {
    fn drop(&mut self) {
        // `World::finalize` is for programs that want to know what went wrong.
        let _ = self.end();
    }
}

/// An answer for which memory was refused is sent later.
fn unless_refused(answered: Result<(), Error>) -> Result<(), Error> {
    match answered {
        Err(error) if error.is_out_of_memory() => Ok(()),
        answered => answered,
    }
}

/// The stages of requests that are seen through before this process leaves: of a send that its receiver has not fetched
/// or answered, or for which no ring is free yet, and of a receive to which its sender has to give a ring.
const UNFETCHED: [Stage; 3] = [Stage::Announced, Stage::WantsRing, Stage::AwaitsRing];

impl State {
    /// Discards the announced messages that nobody has asked for; returns their senders, and the senders'
    /// names for them.
    fn discard_announced(&mut self) -> Vec<(Process, Name)> {
        let announced = |body| match body {
            Body::Announced { name, .. } => Some(name),
            _ => None,
        };
        let all: Vec<(u32, Process, Name)> = (self.messages.all())
            .filter_map(|(index, message)| Some((index, message.from, announced(message.body)?)))
            .collect();
        for &(message, ..) in &all {
            self.lose(message, Body::Withdrawn);
        }
        all.into_iter()
            .map(|(_, from, name)| (from, name))
            .collect()
    }

    /// Whether another process waits for something that this one has to do; `last` as for
    /// [`is_any_in`](crate::request::Requests::is_any_in).
    fn is_awaited(&self, last: &mut u32) -> bool {
        self.rings.is_moving()
            || !self.outboxes.are_empty()
            || self.requests.is_any_in(&UNFETCHED, last)
    }

    /// A process that keeps this one waiting: there is no room for what is to be sent there, or it has not done its
    /// part for a request.
    fn who_keeps_it(&self) -> Option<Process> {
        let large = || {
            let mut all = self.requests.all();
            all.find(|(_, slot)| UNFETCHED.contains(&slot.stage))
                .map(|(_, slot)| slot.peer)
        };
        self.outboxes.any().or_else(large)
    }
}

#[cfg(test)]
mod tests;
