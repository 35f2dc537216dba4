//! What other processes leave behind when they end, and who is told.

use mq_shm::Process;
use mq_shm::liveness::Gone;

use super::progress::ROUNDS;
use super::{Core, Hand, State, Target};
use crate::error::Error;
use crate::messages::Body;
use crate::request::{ANYONE, Outcome, Slot, Stage};
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
    pub(crate) fn on_end(
        &mut self,
        process: Process,
        how: Gone,
        hand: Option<&Hand>,
    ) -> Result<(), Error> {
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
        self.state.contexts.on_end(process, how);
        self.state.deaths.ended += 1;
        self.state.count_obstacles();
        if let Some((Target::Message(message), _)) =
            self.state.peers[process.index()].assembly.take()
        {
            self.state.lose(message, Body::Lost(how));
        }
        self.lose_announced(process, how);
        self.fail_requests(process, how, hand);
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
        let tags = self.state.matching.tags_asked(None);
        for &(index, dead) in &concerned {
            self.take_back(index);
            let outcome = Outcome::NobodyLeft(dead, Gone::Died, tags.by(index));
            self.state.requests.complete(index, outcome);
        }
        moved || !concerned.is_empty()
    }

    /// Requests with a process that has ended cannot be completed any more.
    fn fail_requests(&mut self, process: Process, how: Gone, hand: Option<&Hand>) {
        let is_under_way = |slot: &Slot| !matches!(slot.stage, Stage::Free | Stage::Done);
        let concerned: Vec<u32> = (self.state.requests.all())
            .filter(|(_, slot)| slot.peer == process && is_under_way(slot))
            .map(|(index, _)| index)
            .collect();
        let tags = self.state.matching.tags_asked(hand);
        for index in concerned {
            let stage = self.state.requests.at(index).stage;
            match stage {
                Stage::Posted => self.take_back(index),
                Stage::Announced | Stage::AwaitsRing => self.transport.unwant(Some(process)),
                _ => {}
            }
            let outcome = match stage {
                Stage::Posted | Stage::Hand => Outcome::NobodyLeft(process, how, tags.by(index)),
                Stage::Filling | Stage::Fetching | Stage::AwaitsRing | Stage::Pulling => {
                    Outcome::Cut(process, how)
                }
                _ => Outcome::Gone(process, how),
            };
            self.state.requests.complete(index, outcome);
        }
        let State {
            rings, requests, ..
        } = &mut self.state;
        rings.forget(process, |index| {
            matches!(requests.at(index).stage, Stage::Done | Stage::Free)
        });
        self.state.forget_timed(process);
    }
}
