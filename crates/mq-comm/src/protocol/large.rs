//! The bytes of announced messages: read from the sender's memory or its shared buffers, or through
//! a ring.

use std::collections::VecDeque;

use mq_shm::{Copied, Process, Pulled, Pushed, Remote, RingId, ShmError, Stretch};

use super::ways::{Chosen, Way};
use super::{Core, State};
use crate::error::Error;
use crate::header::{Kind, NO_RING, NOWHERE, Payload, RingGiven, RingWanted};
use crate::request::{NoRing, Outcome, Stage};
use crate::steps::{Step, step};
use crate::transport::Transport;

/// Transfers through rings, those through one ring in its order, and the rings that are to become
/// free.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    pushing: Vec<Push>,
    pulling: Vec<Pull>,
    /// Sends that wait for a ring.
    asking: VecDeque<u32>,
    /// Rings that are filled for the last time and not yet empty.
    draining: Vec<RingId>,
}

#[derive(Debug, Clone, Copy)]
struct Push {
    send: u32,
    stretch: Stretch,
}

#[derive(Debug, Clone, Copy)]
struct Pull {
    receive: u32,
    from: Process,
    stretch: Stretch,
}

impl Rings {
    pub(super) fn is_busy(&self) -> bool {
        !(self.pushing.is_empty()
            && self.pulling.is_empty()
            && self.asking.is_empty()
            && self.draining.is_empty())
    }

    /// Whether bytes may come that nothing announces.
    pub(crate) fn is_moving(&self) -> bool {
        !(self.pushing.is_empty() && self.pulling.is_empty())
    }

    /// The ring for a receive is there.
    pub(super) fn pull(&mut self, receive: u32, from: Process, stretch: Stretch) {
        self.pulling.push(Pull {
            receive,
            from,
            stretch,
        });
    }

    /// The receivers of some sends have ended, and the rings to them may be others' now.
    pub(super) fn stop_pushing(&mut self, is_for_nobody: impl Fn(u32) -> bool) {
        self.pushing.retain(|push| !is_for_nobody(push.send));
    }

    /// A process has ended. Its transfers are over, and the transport has taken the rings to it
    /// back.
    pub(super) fn forget(&mut self, is_over: impl Fn(u32) -> bool) {
        self.pushing.retain(|push| !is_over(push.send));
        self.pulling.retain(|pull| !is_over(pull.receive));
        self.asking.retain(|&send| !is_over(send));
    }
}

impl State {
    /// Whether a ring of this process's is in use.
    fn uses_own_ring(&self) -> bool {
        let is_own = |stretch: Stretch| stretch.owner() == self.me;
        !self.rings.draining.is_empty()
            || self.rings.pushing.iter().any(|push| is_own(push.stretch))
            || self.rings.pulling.iter().any(|pull| is_own(pull.stretch))
    }
}

impl RingGiven {
    /// The part of it that a message goes through of which so many bytes went another way.
    pub(super) fn stretch(self, owner: Process, skipped: usize) -> Stretch {
        // A number that there is not is refused by the transport.
        let ring = RingId(u32::try_from(self.ring).unwrap_or(u32::MAX));
        // SAFETY: it is the transport's answer for this message, or what the core at the other end
        // says that it was: a process's own cores say what is so, and each pushes and pulls a
        // message once, from byte to byte.
        #[allow(unsafe_code, reason = "vouches for the protocol")]
        unsafe {
            Stretch::new(owner, ring, self.first, skipped)
        }
    }
}

impl<T: Transport> Core<T> {
    /// Fetches the message of a receive, if that is what it waits for.
    pub(super) fn fetch_if_announced(&mut self, receive: u32) -> Result<(), Error> {
        if self.state.requests.at(receive).stage == Stage::Fetching {
            self.fetch(receive)
        } else {
            Ok(())
        }
    }

    #[cold]
    fn fetch(&mut self, receive: u32) -> Result<(), Error> {
        step(Step::Matched);
        let slot = self.state.requests.at_mut(receive);
        let (from, send, total) = (slot.peer, slot.remote, slot.total);
        let room = slot.room();
        let remote = Remote {
            address: slot.address,
            bytes: total,
            shared: (slot.shared != NOWHERE).then_some(slot.shared),
        };
        if room == 0 {
            self.state.profile.single_copy += 1;
            return self.fetched(receive, from, send);
        }
        let is_shared = remote.shared.is_some();
        let chosen = match self.state.single_copy_from {
            _ if is_shared => Chosen::always(Way::Read),
            Some(from) if total < from => Chosen::always(Way::Ring),
            Some(_) => Chosen::always(Way::Read),
            None => self.state.choose_way(from, room),
        };
        if chosen.way == Way::Ring {
            return self.ask_for_rest(receive, chosen);
        }
        let into = &mut self.state.requests.at_mut(receive).buffer.bytes_mut()[..room];
        match self.transport.read(from, remote, into)? {
            Copied::All => {
                if is_shared {
                    self.state.profile.shared_copy += 1;
                } else {
                    self.state.was_read(from, chosen, room);
                    self.state.profile.single_copy += 1;
                }
                self.fetched(receive, from, send)
            }
            Copied::Refused(done) => {
                step(Step::NotFetched);
                if !is_shared {
                    self.state.was_refused(from);
                }
                self.state.requests.at_mut(receive).done = done;
                self.ask_for_rest(receive, Chosen::always(Way::Ring))
            }
        }
    }

    /// All that a receive has room for is there, without a ring.
    fn fetched(&mut self, receive: u32, from: Process, send: u64) -> Result<(), Error> {
        step(Step::Fetched);
        self.state.received(receive);
        self.answer_finished(from, send)
    }

    /// Asks the sender to put the rest of a message into a ring, of this process's if it can lend
    /// one.
    fn ask_for_rest(&mut self, receive: u32, chosen: Chosen) -> Result<(), Error> {
        let slot = self.state.requests.at_mut(receive);
        let (from, send, done, room) = (slot.peer, slot.remote, slot.done, slot.room());
        self.state.is_asked_for(receive, from, chosen, room);
        // What is to go there goes beside what comes from there, rather than after it.
        let alone =
            self.state.peers[from.index()].announced == 0 && self.state.rings.asking.is_empty();
        let lent = if alone {
            self.transport.lend_ring(from, room - done)
        } else {
            None
        };
        let slot = self.state.requests.at_mut(receive);
        let given = if let Some((ring, first)) = lent {
            slot.stage = Stage::Pulling;
            let given = RingGiven {
                ring: u64::from(ring.0),
                first,
            };
            let stretch = given.stretch(self.state.me, done);
            self.state.rings.pull(receive, from, stretch);
            self.state.attention = true;
            given
        } else {
            slot.stage = Stage::AwaitsRing;
            // Its answer may come in a box, of which those that nobody wants are looked at rarely.
            self.transport.want(Some(from))?;
            RingGiven {
                ring: NO_RING,
                first: 0,
            }
        };
        let wanted = RingWanted {
            receive: self.state.requests.name(receive).0,
            from: done as u64,
            until: room as u64,
            ring: given.ring,
            first: given.first,
        };
        self.answer(from, Kind::RingWanted, send, wanted.to_bytes())
    }

    /// Tells the sender of an announced message that its buffer is free.
    pub(super) fn answer_finished(&mut self, to: Process, send: u64) -> Result<(), Error> {
        self.answer(to, Kind::Finished, send, Payload::default())
    }

    /// The receiver of a send has asked for a ring.
    pub(super) fn give_ring(&mut self, send: u32) -> Result<(), Error> {
        let slot = self.state.requests.at_mut(send);
        slot.stage = Stage::WantsRing;
        step(Step::RingAskedFor);
        let to = slot.peer;
        self.answered_by(to);
        self.state.rings.asking.push_back(send);
        self.state.attention = true;
        self.give_rings().map(|_| ())
    }

    /// The receiver of a send has lent a ring.
    pub(super) fn use_lent_ring(&mut self, send: u32, lent: RingGiven) {
        let slot = self.state.requests.at_mut(send);
        slot.stage = Stage::Pushing;
        let stretch = lent.stretch(slot.peer, slot.done);
        let to = slot.peer;
        self.answered_by(to);
        self.state.rings.pushing.push(Push { send, stretch });
        self.state.attention = true;
        step(Step::RingBorrowed);
    }

    /// Gives the rings that are free to the sends that wait for one; whether there were any.
    fn give_rings(&mut self) -> Result<bool, Error> {
        let transport = &mut self.transport;
        self.state
            .rings
            .draining
            .retain(|&ring| !transport.free_ring(ring));
        let mut given_any = false;
        while let Some(&send) = self.state.rings.asking.front() {
            let slot = self.state.requests.at_mut(send);
            let (to, receive) = (slot.peer, slot.remote);
            let bytes = slot.room() - slot.done;
            match self.transport.take_ring(to, bytes) {
                Ok(None) => break,
                Ok(Some((ring, first))) => {
                    slot.stage = Stage::Pushing;
                    step(Step::RingFound);
                    self.state.rings.asking.pop_front();
                    let given = RingGiven {
                        ring: u64::from(ring.0),
                        first,
                    };
                    let stretch = given.stretch(self.state.me, slot.done);
                    self.state.rings.pushing.push(Push { send, stretch });
                    self.answer(to, Kind::RingGiven, receive, given.to_bytes())?;
                    step(Step::RingOffered);
                    given_any = true;
                }
                Err(ShmError::Gone { how, .. }) => {
                    self.state.rings.asking.pop_front();
                    self.state.requests.complete(send, Outcome::Gone(to, how));
                }
                // One that there is will be free.
                Err(ShmError::NoMemory { .. }) if self.state.uses_own_ring() => break,
                Err(ShmError::NoMemory {
                    what,
                    bytes,
                    source,
                }) => {
                    self.state.rings.asking.pop_front();
                    let errno = source.raw_os_error().unwrap_or(0);
                    let refused = NoRing { what, bytes, errno };
                    self.state.requests.complete(send, Outcome::NoRing(refused));
                    let none = RingGiven {
                        ring: NO_RING,
                        first: 0,
                    };
                    self.answer(to, Kind::RingGiven, receive, none.to_bytes())?;
                    given_any = true;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(given_any)
    }

    /// Moves what can be moved through rings; whether anything was.
    pub(crate) fn turn_rings(&mut self) -> Result<bool, Error> {
        self.state.watch.begin_turn();
        let moved = self.move_through_rings()?;
        self.state.watch.end_turn();
        Ok(moved)
    }

    fn move_through_rings(&mut self) -> Result<bool, Error> {
        let mut moved = self.give_rings()?;
        let mut at = 0;
        while let Some(&push) = self.state.rings.pushing.get(at) {
            let (done, over) = self.push(push)?;
            moved |= done;
            if over {
                self.state.rings.pushing.remove(at);
                if push.stretch.owner() == self.state.me {
                    self.state.rings.draining.push(push.stretch.ring());
                }
            } else {
                at += 1;
            }
        }
        let mut at = 0;
        while let Some(&pull) = self.state.rings.pulling.get(at) {
            let (done, over) = self.pull(pull)?;
            moved |= done;
            if over {
                self.state.rings.pulling.remove(at);
                if pull.stretch.owner() == self.state.me {
                    // Unless there is more to come through it.
                    self.transport.free_ring(pull.stretch.ring());
                }
            } else {
                at += 1;
            }
        }
        Ok(moved)
    }

    /// Fills a ring; whether that moved anything, and whether it was the last of the message.
    fn push(&mut self, push: Push) -> Result<(bool, bool), Error> {
        let slot = self.state.requests.at_mut(push.send);
        let until = slot.room();
        let message = &slot.buffer.bytes()[..until];
        match self.transport.push(push.stretch, message, slot.done) {
            Ok(Pushed::All) => {
                step(Step::RingFilledLast);
                // Of a message that is longer than the receiver's buffer the send has all.
                slot.total = slot.buffer.len() as u64;
                self.state.requests.complete(push.send, Outcome::Fine);
                Ok((true, true))
            }
            Ok(Pushed::Upto(done)) => {
                step(Step::RingFilled);
                let before = core::mem::replace(&mut slot.done, done);
                Ok((done > before, false))
            }
            Err(ShmError::Gone { how, .. }) => {
                let outcome = Outcome::Gone(slot.peer, how);
                self.state.requests.complete(push.send, outcome);
                Ok((true, true))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Empties a ring; whether that moved anything, and whether it was the last of the message.
    fn pull(&mut self, pull: Pull) -> Result<(bool, bool), Error> {
        let slot = self.state.requests.at_mut(pull.receive);
        let room = slot.room();
        let into = &mut slot.buffer.bytes_mut()[..room];
        let pulled = self
            .transport
            .pull(pull.from, pull.stretch, into, slot.done)?;
        match pulled {
            Pulled::All => {
                step(Step::RingEmptiedLast);
                self.state.profile.ring += 1;
                self.state.has_come(pull.receive, pull.from);
                self.state.received(pull.receive);
                Ok((true, true))
            }
            Pulled::Upto(done) => {
                step(Step::RingEmptied);
                let before = core::mem::replace(&mut slot.done, done);
                Ok((done > before, false))
            }
        }
    }
}
