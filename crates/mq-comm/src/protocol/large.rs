//! The bytes of announced messages: read from the sender's memory or its shared buffers, or through
//! a ring.

use mq_shm::{Copied, Process, Remote, RingId, ShmError, Stretch};

use super::ahead::Lengths;
use super::rings::{Pull, Push};
use super::ways::{Chosen, Way};
use super::{Core, State, Target};
use crate::error::Error;
use crate::header::{Kind, Payload, RingGiven, RingWanted, Word};
use crate::request::{Name, NoRing, Outcome, Stage};
use crate::steps::{Step, step};
use crate::transport::Transport;

impl RingGiven {
    /// The part of the ring for a message of which `skipped` bytes went another way.
    pub(super) fn stretch(self, owner: Process, skipped: usize) -> Stretch {
        // SAFETY: it is the transport's answer for this message, or what the core at the other end says that
        // it was: a process's own cores tell the truth, and each pushes and pulls a message once, from byte
        // to byte.
        #[allow(unsafe_code, reason = "vouches for the protocol")]
        unsafe {
            Stretch::new(owner, RingId(self.ring), self.first, skipped)
        }
    }
}

/// Whether a message came to a receive that was posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    Expected,
    Unexpected,
}

impl<T: Transport> Core<T> {
    /// Fetches the message of a receive, if the receive waits for that.
    pub(super) fn fetch_if_large(&mut self, receive: u32, came: Came) -> Result<(), Error> {
        match self.state.requests.at(receive).stage {
            Stage::Fetching => self.fetch(receive, came),
            Stage::Pulling => self.pull_unasked(receive),
            _ => Ok(()),
        }
    }

    /// A receive has a message that went ahead.
    fn pull_unasked(&mut self, receive: u32) -> Result<(), Error> {
        let slot = self.state.requests.at(receive);
        let (from, bytes) = (slot.peer, slot.room());
        self.note_turn(from);
        self.advance_rings()?;
        let must_be_announced = self.state.came_unasked(from, bytes);
        if must_be_announced || self.state.has_answers_announced(from) {
            self.tell_to_announce_large(from)?;
        }
        Ok(())
    }

    #[cold]
    fn fetch(&mut self, receive: u32, came: Came) -> Result<(), Error> {
        step(Step::Matched);
        let slot = self.state.requests.at_mut(receive);
        let (from, name, total) = (slot.peer, slot.its_name, slot.total);
        let room = slot.room();
        let remote = slot.exposed.remote(total);
        if room == 0 {
            self.state.profile.single_copy += 1;
            return self.fetched(receive, from, name);
        }
        if from == self.state.me {
            return self.copy_to_itself(receive, name, room);
        }
        self.note_turn(from);
        let is_shared = remote.shared.is_some();
        let chosen = self.state.choose_way(from, total, room, is_shared);
        if chosen.way() == Way::Ring {
            return self.ask_for_rest(receive, chosen, came);
        }
        self.read_message(receive, remote, chosen, came)
    }

    /// Reads the message of a receive where it is, or, if that is refused, asks for the rest of it.
    fn read_message(
        &mut self,
        receive: u32,
        remote: Remote,
        chosen: Chosen,
        came: Came,
    ) -> Result<(), Error> {
        let slot = self.state.requests.at(receive);
        let (from, name, room) = (slot.peer, slot.its_name, slot.room());
        let is_shared = remote.shared.is_some();
        let into = &mut self.state.requests.at_mut(receive).buffer.bytes_mut()[..room];
        // A request for help must not come between the parts of another message.
        let may_ask = self.state.outboxes.waiting(from).is_empty();
        let is_helped = chosen.way() == Way::Read && may_ask;
        let asks = is_helped.then(|| [name.0, Word::answer(Kind::HelpWanted).0]);
        // SAFETY: the sender has announced these bytes, and lends them until it is answered.
        #[allow(unsafe_code, reason = "vouches for the protocol")]
        let read = unsafe { self.transport.read(from, remote, into, asks) };
        let read = match read {
            Ok(read) => read,
            Err(error) => {
                // What was announced is not where it is said to be, and nobody looks there again.
                self.state.requests.complete(receive, Outcome::Withdrawn);
                let _ = self.answer_finished(from, name);
                return Err(error.into());
            }
        };
        match read {
            Copied::All => {
                self.state.on_read(chosen, room);
                if is_shared {
                    self.state.profile.shared_copy += 1;
                } else {
                    self.state.profile.single_copy += 1;
                }
                self.fetched(receive, from, name)
            }
            Copied::Refused(done) => {
                step(Step::NotFetched);
                self.state.on_read_refused(from, chosen, is_shared);
                self.state.requests.at_mut(receive).done = done;
                self.ask_for_rest(receive, Chosen::always(Way::Ring), came)
            }
        }
    }

    /// All that a receive has room for is there, without a ring.
    pub(super) fn fetched(&mut self, receive: u32, from: Process, name: Name) -> Result<(), Error> {
        step(Step::Fetched);
        self.state.received(receive);
        self.answer_finished(from, name)
    }

    /// Asks the sender to put the rest of a message into a ring, this process's own if it can lend one.
    fn ask_for_rest(&mut self, receive: u32, chosen: Chosen, came: Came) -> Result<(), Error> {
        let given = self.lend_or_await_ring(receive)?;
        let slot = self.state.requests.at(receive);
        let (from, name, done, room) = (slot.peer, slot.its_name, slot.done, slot.room());
        let ahead = self.state.lengths_allowed(from, room, came);
        self.state.peers[from.index()].may_go_ahead = ahead.up_to > 0;
        let wanted = RingWanted {
            receive: self.state.requests.name(receive).0,
            done: done as u64,
            until: room as u64,
            ring: given.ring,
            ahead: ahead.word(),
            first: given.first,
        };
        self.state.on_ring_wanted(receive, from, chosen, room);
        let kind = if chosen.begins_look() {
            Kind::RingTimed
        } else {
            Kind::RingWanted
        };
        self.answer(from, kind, name.0, wanted.to_bytes())
    }

    /// Lends a ring for the rest of a message, which comes through it from now on, or has the receive wait for one of
    /// the sender's.
    fn lend_or_await_ring(&mut self, receive: u32) -> Result<RingGiven, Error> {
        let slot = self.state.requests.at(receive);
        let (from, done, until) = (slot.peer, slot.done, slot.room());
        // What goes there moves alongside what comes from there, rather than after it.
        let alone =
            self.state.peers[from.index()].announced == 0 && self.state.rings.asking.is_empty();
        let lent = if alone {
            self.transport.lend_ring(from, until - done)
        } else {
            None
        };
        let slot = self.state.requests.at_mut(receive);
        let Some(lent) = lent else {
            slot.stage = Stage::AwaitsRing;
            // Its answer may come in a fastbox, and those from which nothing is wanted are rarely looked at.
            self.transport.want(Some(from))?;
            return Ok(RingGiven::NONE);
        };
        slot.stage = Stage::Pulling;
        let given = RingGiven::from(lent);
        self.state.start_pull(Pull {
            into: Target::Request(receive),
            from,
            stretch: given.stretch(self.state.me, done),
            done,
            until,
        });
        Ok(given)
    }

    /// The receiver of a send reads it, and asks this process to copy a part.
    pub(super) fn help(&mut self, to: Process, send: u32, asked: [u8; 8]) -> Result<(), Error> {
        let message = self.state.requests.at(send).buffer.bytes();
        if self.transport.help(to, message, asked)? > 0 {
            self.state.profile.helped += 1;
        }
        Ok(())
    }

    /// Tells the sender of an announced message that its buffer is free.
    pub(super) fn answer_finished(&mut self, to: Process, name: Name) -> Result<(), Error> {
        self.answer(to, Kind::Finished, name.0, Payload::default())
    }

    /// The receiver of a send has asked for a ring.
    pub(super) fn give_ring(&mut self, send: u32) -> Result<(), Error> {
        let slot = self.state.requests.at_mut(send);
        slot.stage = Stage::WantsRing;
        step(Step::RingAskedFor);
        let to = slot.peer;
        self.count_answer(to);
        self.state.ask_ring(send);
        self.give_rings().map(|_| ())
    }

    /// The receiver of a send has lent a ring.
    pub(super) fn use_lent_ring(&mut self, send: u32, lent: RingGiven) {
        let slot = self.state.requests.at_mut(send);
        slot.stage = Stage::Pushing;
        let stretch = lent.stretch(slot.peer, slot.done);
        let to = slot.peer;
        self.count_answer(to);
        self.state.start_push(Push::lent(send, stretch));
        step(Step::RingBorrowed);
    }

    /// Gives free rings to the sends that wait for one; returns whether there were any.
    pub(super) fn give_rings(&mut self) -> Result<bool, Error> {
        let transport = &mut self.transport;
        self.state
            .rings
            .draining
            .retain(|&ring| !transport.free_ring(ring));
        let mut given_any = false;
        while let Some(&send) = self.state.rings.asking.front() {
            let slot = self.state.requests.at_mut(send);
            let (to, name) = (slot.peer, slot.its_name);
            let bytes = slot.room() - slot.done;
            match self.transport.take_ring(to, bytes) {
                Ok(None) => break,
                Ok(Some(taken)) => {
                    slot.stage = Stage::Pushing;
                    step(Step::RingFound);
                    self.state.rings.asking.pop_front();
                    let given = RingGiven::from(taken);
                    let stretch = given.stretch(self.state.me, slot.done);
                    let told = self.answer(to, Kind::RingGiven, name.0, given.to_bytes());
                    self.push_told_last(to, send, stretch);
                    told?;
                    step(Step::RingOffered);
                    given_any = true;
                }
                Err(ShmError::Gone { how, .. }) => {
                    self.state.rings.asking.pop_front();
                    self.state.requests.complete(send, Outcome::Gone(to, how));
                }
                // A ring that is in use will become free.
                Err(ShmError::NoMemory { .. }) if self.state.rings.use_one_of(self.state.me) => {
                    break;
                }
                Err(ShmError::NoMemory {
                    what,
                    bytes,
                    reason,
                }) => {
                    self.state.rings.asking.pop_front();
                    let errno = reason.raw_os_error().unwrap_or(0);
                    let refused = NoRing { what, bytes, errno };
                    self.state.requests.complete(send, Outcome::NoRing(refused));
                    self.answer(to, Kind::RingGiven, name.0, RingGiven::NONE.to_bytes())?;
                    given_any = true;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(given_any)
    }
}

impl State {
    /// Which further messages may go ahead, where a receive asks for the rest of one of this many bytes.
    fn lengths_allowed(&self, from: Process, bytes: usize, came: Came) -> Lengths {
        let is_any_allowed = came == Came::Expected
            && !self.has_answers_announced(from)
            && !self.is_flooded()
            && !self.peers[from.index()].is_to_announce;
        if is_any_allowed {
            self.may_go_ahead(from, bytes)
        } else {
            Lengths::default()
        }
    }
}
