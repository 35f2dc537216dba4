//! Early ends: of processes, and of requests whose part of the program failed.

use std::time::{Duration, Instant};

use mq_shm::Process;
use mq_shm::liveness::Gone;

use super::receive::ROUNDS;
use super::{Core, State, Target};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::header::{Kind, Payload};
use crate::messages::{Body, Keeper};
use crate::request::{ANYONE, Outcome, Slot, Stage};
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
    pub(crate) fn are_bearable(&mut self, progress: Result<(), Error>) -> Result<(), Error> {
        match progress {
            Ok(()) => self.0 = 0,
            Err(_) if self.0 < Self::MOST => self.0 += 1,
            Err(last) => return Err(last),
        }
        Ok(())
    }
}

impl<T: Transport> Core<T> {
    /// A process has ended, and all that it had sent has been received: anything else that was to come from
    /// it, or to go to it, never will.
    #[cold]
    pub(crate) fn gone(&mut self, process: Process, how: Gone) -> Result<(), Error> {
        self.idle.reset();
        // The transport has reclaimed the rings to it, and gives them to others: nothing goes into them on
        // its account.
        let State {
            rings, requests, ..
        } = &mut self.state;
        rings.stop_pushing(|send| requests.at(send).peer == process);
        // What it had put into rings before it ended is still there.
        let emptied = self.empty_rings_of(process);
        let peer = &mut self.state.peers[process.index()];
        peer.gone = Some(how);
        peer.outbox.clear();
        self.state.set_wants_announcements(process, false);
        self.state.contexts.gone(process, how);
        self.state.obstacles += 1;
        self.state.ended += 1;
        self.state.clogged.retain(|&clogged| clogged != process);
        if let Some((Target::Message(message), _)) =
            self.state.peers[process.index()].assembly.take()
        {
            self.state.lose(message, Body::Lost(how));
        }
        self.lose_announced(process, how);
        self.fail_requests(process, how);
        if how == Gone::Died {
            self.state.untold = ROUNDS;
        }
        // What of its messages was kept, and is lost, takes no memory any more.
        self.after_release();
        // A failure there is no reason to ignore the death.
        emptied
    }

    /// Its announced messages cannot be fetched any more, and the rest of those that went ahead is in no
    /// ring.
    fn lose_announced(&mut self, process: Process, how: Gone) {
        let announced = |body| matches!(body, Body::Announced { .. } | Body::Ring);
        let lost: Vec<u32> = self
            .state
            .messages
            .all()
            .filter(|(_, message)| message.from == process && announced(message.body))
            .map(|(index, _)| index)
            .collect();
        for message in lost {
            self.state.lose(message, Body::Lost(how));
        }
    }

    /// Ends these requests, which are waited for, if they are all receives from any source to which only this
    /// process could still send; returns whether that was so.
    #[cold]
    pub(crate) fn end_hopeless(&mut self, waited_for: &[u32]) -> bool {
        let hopeless = |index: &u32| {
            let slot = self.state.requests.at(*index);
            if !matches!(slot.stage, Stage::Posted | Stage::Hand) || slot.peer != ANYONE {
                return None;
            }
            let (process, how) = self.state.waits_in_vain(ANYONE, slot.context)?;
            Some((*index, Outcome::Gone(process, how)))
        };
        let ends: Option<Vec<(u32, Outcome)>> = waited_for.iter().map(hopeless).collect();
        for (index, outcome) in ends.iter().flatten() {
            self.take_back(*index);
            self.state.requests.complete(*index, *outcome);
        }
        ends.is_some_and(|ends| !ends.is_empty())
    }

    /// After a round in which something has `moved`, or nothing: tells receives from any source of deaths in their
    /// communicators, unless something that has come may yet be for them. Returns whether the next round may find
    /// something new.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_of_deaths(&mut self, moved: bool) -> bool {
        self.state.untold -= 1;
        if moved && self.state.untold > 0 {
            return true;
        }
        self.state.untold = 0;
        let waits = |slot: &Slot| matches!(slot.stage, Stage::Posted | Stage::Hand);
        let dead = |slot: &Slot| self.state.contexts.open(slot.context)?.unacknowledged;
        let concerned: Vec<(u32, Process)> = (self.state.requests.all())
            .filter(|(_, slot)| slot.peer == ANYONE && waits(slot))
            .filter_map(|(index, slot)| Some((index, dead(slot)?)))
            .collect();
        for &(index, dead) in &concerned {
            self.take_back(index);
            let outcome = Outcome::Gone(dead, Gone::Died);
            self.state.requests.complete(index, outcome);
        }
        moved || !concerned.is_empty()
    }

    /// Requests with a process that has ended cannot be completed any more.
    fn fail_requests(&mut self, process: Process, how: Gone) {
        let is_under_way = |slot: &Slot| !matches!(slot.stage, Stage::Free | Stage::Done);
        let concerned: Vec<u32> = (self.state.requests.all())
            .filter(|(_, slot)| slot.peer == process && is_under_way(slot))
            .map(|(index, _)| index)
            .collect();
        for index in concerned {
            let slot = self.state.requests.at(index);
            match slot.stage {
                Stage::Posted => self.take_back(index),
                Stage::Announced | Stage::AwaitsRing => self.transport.unwant(Some(process)),
                _ => {}
            }
            self.state
                .requests
                .complete(index, Outcome::Gone(process, how));
        }
        let State {
            rings, requests, ..
        } = &mut self.state;
        rings.forget(process, |index| {
            matches!(requests.at(index).stage, Stage::Done | Stage::Free)
        });
        self.state.forget_timed(process);
    }

    /// Takes a posted receive out of the queue.
    fn take_back(&mut self, receive: u32) {
        let slot = self.state.requests.at_mut(receive);
        let wanted = slot.peer;
        if let Some(name) = slot.posted.take() {
            let taken = self.state.engine.cancel(name);
            debug_assert_eq!(taken, Some(receive));
            self.state.posted -= 1;
            self.unwant(wanted);
        } else if slot.stage == Stage::Posted
            && let Some(taken) = self.state.front.remove(receive)
            && let Some(process) = taken.unwanted
        {
            self.unwant(process);
        }
    }

    /// Cancels a receive that nothing has matched; returns whether that is so.
    pub(crate) fn cancel(&mut self, request: u32) -> bool {
        match self.state.requests.at(request).stage {
            Stage::Posted => self.take_back(request),
            Stage::Hand => {}
            _ => return false,
        }
        self.state.requests.complete(request, Outcome::Cancelled);
        true
    }

    /// Ends a request that could not begin, and returns its buffer. A receive that has found its message has
    /// begun all the same, and goes on: only the answer was refused, and is sent later.
    pub(crate) fn give_up(&mut self, request: u32) -> Option<Buffer> {
        if self.state.has_message(request) {
            return None;
        }
        self.take_back(request);
        Some(self.state.requests.release(request))
    }

    /// Ends the user's part in a request immediately: a receive that nothing has matched is cancelled,
    /// anything else goes on with memory of its own. Afterwards it is in no set.
    ///
    /// Only an announced send of lent memory stays as it is, since the receiver knows where the memory is:
    /// the send is withdrawn, and over once the receiver has answered.
    pub(crate) fn abandon(&mut self, request: u32) {
        if self.cancel(request) {
            self.state.requests.release(request);
            return;
        }
        let slot = self.state.requests.at(request);
        match slot.stage {
            Stage::Free => {}
            Stage::Done => drop(self.state.requests.release(request)),
            Stage::Announced if !slot.buffer.is_owned() => {
                let to = slot.peer;
                let name = self.state.requests.name(request);
                step(Step::Withdrawing);
                // If this cannot be sent, the caller's next step fails as well.
                let _ = self.answer(to, Kind::Withdraw, name.0, Payload::default());
            }
            Stage::Fetching => {
                let (from, send) = (slot.peer, slot.remote);
                self.state.requests.release(request);
                let _ = self.answer_finished(from, send);
            }
            _ => {
                self.state.requests.leave(request);
                let slot = self.state.requests.at_mut(request);
                slot.buffer.detach();
                slot.handle = false;
            }
        }
    }

    /// Sees through what others wait for before this process leaves: messages that are still to be sent or
    /// fetched. When it dies, in a panic or of an error, it only makes sure that nobody fetches memory that
    /// no longer exists.
    fn leave(&mut self) -> Result<(), Error> {
        if self.state.has_failed || std::thread::panicking() {
            // From now on, nothing more is announced.
            self.state.has_failed = true;
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
            return self.stay_while(|state| !state.requests.in_stage(Stage::Announced).is_empty());
        }
        // Nobody here receives any more. A process that has announced something may be leaving as well, and
        // wait for an answer before it gives one.
        self.state.leaving = true;
        let mut answered = Ok(());
        for (from, send) in self.state.discard_announced() {
            // Each sender waits for its own.
            answered = answered.and(unless_refused(self.answer_finished(from, send)));
        }
        answered?;
        self.stay_while(State::is_awaited)
    }

    /// Goes on while others have to do their part. A program that seems to hang at its end is hard to
    /// understand, so this says for whom it waits.
    fn stay_while(&mut self, is_awaited: impl Fn(&State) -> bool) -> Result<(), Error> {
        let begun = Instant::now();
        let mut said = false;
        let mut failures = Failures::default();
        while is_awaited(&self.state) {
            let progress = self.progress_or_rest(None);
            failures.are_bearable(progress)?;
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

    /// Whether this is a copy of the process in a child (`fork`), which does nothing in its name.
    pub(crate) fn is_a_copy(&self) -> bool {
        self.pid != std::process::id()
    }

    /// The sender does not want an announced message to be fetched; if it `dies`, the message is lost with
    /// it. If a receive has the message, it has been fetched or is coming through a ring, and the sender has
    /// been told so.
    pub(super) fn withdrawn_by(
        &mut self,
        from: Process,
        send: u64,
        dies: bool,
    ) -> Result<(), Error> {
        let Some(message) = self.state.messages.announced(from, send) else {
            return Ok(());
        };
        let body = if dies {
            Body::Lost(Gone::Died)
        } else {
            Body::Withdrawn
        };
        self.state.lose(message, body);
        step(Step::GivenUp);
        self.answer(from, Kind::Withdrawn, send, Payload::default())
    }
}

impl<T: Transport> Core<T> {
    /// Leaves, once. If that fails, the others are told that this process has died: what it sent last may be
    /// lost.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        if self.has_left || self.is_a_copy() {
            return Ok(());
        }
        self.has_left = true;
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
        Err(error) if error.is_refusal() => Ok(()),
        answered => answered,
    }
}

impl State {
    /// Whether a receive has found its message.
    pub(crate) fn has_message(&self, receive: u32) -> bool {
        let slot = self.requests.at(receive);
        match slot.stage {
            Stage::Filling | Stage::Fetching | Stage::AwaitsRing | Stage::Pulling => true,
            Stage::Done => matches!(slot.outcome, Outcome::Fine | Outcome::Truncated),
            _ => false,
        }
    }

    /// Discards the announced messages that nobody has asked for; returns their senders, and the senders'
    /// names for them.
    fn discard_announced(&mut self) -> Vec<(Process, u64)> {
        let announced = |body| match body {
            Body::Announced { send, .. } => Some(send),
            _ => None,
        };
        let all: Vec<(u32, Process, u64)> = (self.messages.all())
            .filter_map(|(index, message)| Some((index, message.from, announced(message.body)?)))
            .collect();
        for &(message, ..) in &all {
            self.lose(message, Body::Withdrawn);
        }
        all.into_iter()
            .map(|(_, from, send)| (from, send))
            .collect()
    }

    /// Whether another process waits for something that this one has to do.
    fn is_awaited(&self) -> bool {
        self.rings.is_moving() || self.who_keeps_it().is_some()
    }

    /// A process to which something still has to be sent.
    fn who_keeps_it(&self) -> Option<Process> {
        let large = || {
            let stages = [Stage::Announced, Stage::WantsRing, Stage::AwaitsRing];
            let mut requests = stages
                .into_iter()
                .flat_map(|stage| self.requests.in_stage(stage));
            requests
                .next()
                .map(|request| self.requests.at(request).peer)
        };
        self.clogged.first().copied().or_else(large)
    }

    /// The rest of a message will not come. If it was withdrawn, nobody finds it any more, unless a probe has
    /// shown it: a receive of it is then told. If its sender died with it, it keeps its place, so that a
    /// receive that finds it fails rather than take a later one. If somebody has the message already, they
    /// are told when they receive it.
    fn lose(&mut self, message: u32, body: Body) {
        let kept = self.messages.at_mut(message);
        kept.body = body;
        if kept.shown || matches!(body, Body::Lost(_)) {
            self.messages.empty(message);
            return;
        }
        if kept.keeper == Keeper::User {
            return;
        }
        if let Some(name) = kept.name
            && self.engine.take(name).is_some()
        {
            self.unexpected -= 1;
        }
        self.messages.release(message);
    }
}

#[cfg(test)]
mod tests;
