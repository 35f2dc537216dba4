//! Early ends: of processes, and of requests whose part of the program failed.

use mq_shm::Process;
use mq_shm::liveness::Gone;

use super::progress::ROUNDS;
use super::{Core, State, Target};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::header::{Kind, Payload};
use crate::messages::{Body, Keeper};
use crate::request::{ANYONE, Name, Outcome, Slot, Stage};
use crate::steps::{Step, step};
use crate::transport::Transport;

/// How far the ends of other processes are known.
#[derive(Debug, Default)]
pub(super) struct Deaths {
    /// Processes that have ended, and from which all has been taken in.
    pub(super) ended: usize,
    /// Rounds in which messages may yet be taken in before receives from any source are told of a death; 0 if there is
    /// nothing to tell.
    pub(super) untold: u32,
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
        self.state.outboxes.discard(process);
        self.state.set_wants_announcements(process, false);
        self.state.contexts.gone(process, how);
        self.state.deaths.ended += 1;
        self.state.count_obstacles();
        if let Some((Target::Message(message), _)) =
            self.state.peers[process.index()].assembly.take()
        {
            self.state.lose(message, Body::Lost(how));
        }
        self.lose_announced(process, how);
        self.fail_requests(process, how);
        if how == Gone::Died {
            self.state.deaths.untold = ROUNDS;
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

    /// After a round in which something has `moved`, or nothing: tells receives from any source of deaths in their
    /// communicators, unless something that has come may yet be for them. Returns whether the next round may find
    /// something new.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_of_deaths(&mut self, moved: bool) -> bool {
        self.state.deaths.untold -= 1;
        if moved && self.state.deaths.untold > 0 {
            return true;
        }
        self.state.deaths.untold = 0;
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
    pub(super) fn take_back(&mut self, receive: u32) {
        let slot = self.state.requests.at_mut(receive);
        let wanted = slot.peer;
        if let Some(name) = slot.posted.take() {
            let taken = self.state.matching.cancel(name);
            debug_assert_eq!(taken, Some(receive));
            self.unwant(wanted);
        } else if slot.stage == Stage::Posted
            && let Some(taken) = self.state.matching.front.remove(receive)
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
                let (from, name) = (slot.peer, slot.its_name);
                self.state.requests.release(request);
                let _ = self.answer_finished(from, name);
            }
            stage => {
                if stage == Stage::Waiting {
                    self.state.outboxes.abandoned += 1;
                }
                self.state.requests.leave(request);
                let slot = self.state.requests.at_mut(request);
                slot.buffer.detach();
                slot.handle = false;
            }
        }
    }

    /// The sender does not want an announced message to be fetched; if it `dies`, the message is lost with
    /// it. If a receive has the message, it has been fetched or is coming through a ring, and the sender has
    /// been told so.
    pub(super) fn withdrawn_by(
        &mut self,
        from: Process,
        name: Name,
        dies: bool,
    ) -> Result<(), Error> {
        let Some(message) = self.state.messages.announced(from, name) else {
            return Ok(());
        };
        let body = if dies {
            Body::Lost(Gone::Died)
        } else {
            Body::Withdrawn
        };
        self.state.lose(message, body);
        step(Step::GivenUp);
        self.answer(from, Kind::Withdrawn, name.0, Payload::default())
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

    /// The rest of a message will not come. If it was withdrawn, nobody finds it any more, unless a probe has
    /// shown it: a receive of it is then told. If its sender died with it, it keeps its place, so that a
    /// receive that finds it fails rather than take a later one. If somebody has the message already, they
    /// are told when they receive it.
    pub(super) fn lose(&mut self, message: u32, body: Body) {
        let kept = self.messages.at_mut(message);
        kept.body = body;
        if kept.shown || matches!(body, Body::Lost(_)) {
            self.messages.empty(message);
            return;
        }
        if kept.keeper == Keeper::User {
            return;
        }
        if let Some(name) = kept.name {
            self.matching.take(name);
        }
        self.messages.release(message);
    }
}
