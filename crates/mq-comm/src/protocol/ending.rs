//! Requests and messages that end before their time, because their part of the program failed or gave them up.

use mq_shm::Process;
use mq_shm::liveness::Gone;

use super::{Core, State};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::header::{Kind, Payload};
use crate::messages::{Body, Keeper};
use crate::request::{Name, Outcome, Stage};
use crate::steps::{Step, step};
use crate::transport::Transport;

impl<T: Transport> Core<T> {
    /// Cancels a receive that nothing has matched, also one that has ended so; returns whether that is so.
    pub(crate) fn cancel(&mut self, request: u32) -> bool {
        let slot = self.state.requests.at_mut(request);
        match slot.stage {
            Stage::Posted => self.take_back(request),
            Stage::Hand => {}
            Stage::Done if slot.outcome.failed_unmatched() => {
                slot.outcome = Outcome::Cancelled;
                return true;
            }
            _ => return false,
        }
        self.state.requests.complete(request, Outcome::Cancelled);
        true
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
                // To this process itself it says nothing of a death: only one that lives receives.
                let kind = match self.state.departure.is_of_failure() && to != self.state.me {
                    true => Kind::Dying,
                    false => Kind::Withdraw,
                };
                // If this cannot be sent, the caller's next step fails as well.
                let _ = self.answer(to, kind, name.0, Payload::default());
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
                self.state.requests.remove_from_set(request);
                let slot = self.state.requests.at_mut(request);
                slot.buffer.detach();
                slot.has_handle = false;
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
