//! Transfers through rings: what goes into them, and what comes out.

mod by_ring;

use std::collections::VecDeque;

use mq_shm::{Process, Pulled, Pushed, RingId, ShmError, Stretch};

use self::by_ring::ByRing;
use super::{Core, State, Target};
use crate::error::Error;
use crate::messages::Body;
use crate::request::Outcome;
use crate::steps::{Step, step};
use crate::transport::Transport;

/// Transfers through rings, and the rings that are to become free.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    pushing: ByRing<Push>,
    pulling: ByRing<Pull>,
    /// Sends that wait for a ring.
    pub(super) asking: VecDeque<u32>,
    /// Rings that are filled for the last time and not yet empty.
    pub(super) draining: Vec<RingId>,
}

/// A send whose bytes go into a ring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Push {
    send: u32,
    stretch: Stretch,
    /// The receiver knows of the ring once this many messages have left the outbox to it.
    told: u64,
    /// All bytes are in the ring, which may belong to another before the receiver has been told.
    is_in: bool,
}

impl Push {
    /// Into a ring that its owner has lent, and so knows of.
    pub(super) const fn lent(send: u32, stretch: Stretch) -> Self {
        Self {
            send,
            stretch,
            told: 0,
            is_in: false,
        }
    }
}

/// A message whose bytes come out of a ring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pull {
    pub(super) into: Target,
    pub(super) from: Process,
    pub(super) stretch: Stretch,
    /// Bytes of it that have come.
    pub(super) done: usize,
    /// Bytes of it that come at all: as many as were asked for, or all.
    pub(super) until: usize,
}

/// So many sends at most go into a ring before the others have their turn: its receiver may empty it as quickly as it
/// is filled.
const FILLED_AT_MOST: u32 = 16;

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

    /// Whether a ring of this process is in use.
    pub(super) fn use_one_of(&self, me: Process) -> bool {
        !self.draining.is_empty() || self.pushing.use_one_of(me) || self.pulling.use_one_of(me)
    }

    /// A send has its ring.
    fn push(&mut self, push: Push) {
        self.pushing.add(push.stretch, push);
    }

    /// A message has its ring.
    fn pull(&mut self, pull: Pull) {
        self.pulling.add(pull.stretch, pull);
    }

    /// What was to come into one place comes into another; returns how many bytes have come.
    pub(super) fn redirect(&mut self, from: Target, to: Target) -> usize {
        let is_it = |pull: &&mut Pull| pull.into == from;
        let mut all = self
            .pulling
            .busy
            .iter_mut()
            .flat_map(|transfers| &mut transfers.all);
        all.find(is_it).map_or(0, |pull| {
            pull.into = to;
            pull.done
        })
    }

    /// A ring of this process is filled for the last time so far.
    fn drain(&mut self, ring: RingId) {
        if !self.draining.contains(&ring) {
            self.draining.push(ring);
        }
    }

    /// The receivers of some sends have ended, and the rings to them may now belong to others.
    pub(super) fn stop_pushing(&mut self, is_for_nobody: impl Fn(u32) -> bool) {
        self.pushing.retain(|push| !is_for_nobody(push.send));
    }

    /// A process has ended. Its transfers are over, and the transport has reclaimed the rings to it.
    pub(super) fn forget(&mut self, process: Process, is_over: impl Fn(u32) -> bool) {
        self.pushing.retain(|push| !is_over(push.send));
        self.pulling.retain(|pull| pull.from != process);
        self.asking.retain(|&send| !is_over(send));
    }
}

/// How far a transfer has got in one round, or all of one ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Advance {
    Stalled,
    Moved,
    Finished,
}

impl Advance {
    /// Of a transfer that goes on.
    fn of(moved: bool) -> Self {
        if moved { Self::Moved } else { Self::Stalled }
    }
}

impl<T: Transport> Core<T> {
    /// Moves what can be moved through rings; returns whether anything was.
    pub(crate) fn advance_rings(&mut self) -> Result<bool, Error> {
        let mut moved = self.give_rings()?;
        let mut index = 0;
        while index < self.state.rings.pushing.busy.len() {
            let advance = self.fill(index)?;
            moved |= advance != Advance::Stalled;
            index += usize::from(advance != Advance::Finished);
        }
        let mut index = 0;
        while index < self.state.rings.pulling.busy.len() {
            let advance = self.empty(index)?;
            moved |= advance != Advance::Stalled;
            index += usize::from(advance != Advance::Finished);
        }
        Ok(moved)
    }

    /// Goes on with the sends through one ring, and is finished when none is left.
    fn fill(&mut self, index: usize) -> Result<Advance, Error> {
        let (mut moved, mut at) = (false, 0);
        for _ in 0..FILLED_AT_MOST {
            let Some(&push) = self.state.rings.pushing.busy[index].all.get(at) else {
                break;
            };
            let advance = self.push(index, at, push)?;
            moved |= advance != Advance::Stalled;
            if advance == Advance::Finished {
                let is_last = self.state.rings.pushing.remove(index, at);
                if push.stretch.owner() == self.state.me {
                    self.state.rings.drain(push.stretch.ring());
                }
                if is_last {
                    return Ok(Advance::Finished);
                }
            } else if self.state.rings.pushing.busy[index].all[at].is_in {
                at += 1;
            } else {
                break;
            }
        }
        Ok(Advance::of(moved))
    }

    /// The same for messages that come out of one.
    fn empty(&mut self, index: usize) -> Result<Advance, Error> {
        let mut moved = false;
        while let Some(&pull) = self.state.rings.pulling.busy[index].all.front() {
            let advance = self.pull(index, pull)?;
            moved |= advance != Advance::Stalled;
            if advance != Advance::Finished {
                break;
            }
            let is_last = self.state.rings.pulling.remove(index, 0);
            if pull.stretch.owner() == self.state.me {
                // Unless there is more to come through it.
                self.transport.free_ring(pull.stretch.ring());
            }
            if is_last {
                return Ok(Advance::Finished);
            }
        }
        Ok(Advance::of(moved))
    }

    /// A send goes on through a ring of this process, announced by the last message to the receiver. That
    /// message may still be in the outbox: until it has left, nobody would find the bytes if this process
    /// ended.
    pub(super) fn push_told_last(&mut self, to: Process, send: u32, stretch: Stretch) {
        let told = self.state.outboxes.flushed_with_all(to);
        self.state.start_push(Push {
            told,
            ..Push::lent(send, stretch)
        });
    }

    /// Fills a ring, and is finished when the last of the message is in it and the receiver knows of it.
    fn push(&mut self, index: usize, at: usize, push: Push) -> Result<Advance, Error> {
        let slot = self.state.requests.at_mut(push.send);
        let until = slot.room();
        let message = &slot.buffer.bytes()[..until];
        let is_told = self.state.outboxes.flushed(slot.peer) >= push.told;
        let pushed = if push.is_in {
            Ok(Pushed::All)
        } else {
            self.transport.push(push.stretch, message, slot.done)
        };
        match pushed {
            Ok(Pushed::All) if !is_told => {
                slot.done = until;
                self.state.rings.pushing.busy[index].all[at].is_in = true;
                Ok(Advance::of(!push.is_in))
            }
            Ok(Pushed::All) => {
                step(Step::RingFilledLast);
                // If the message is longer than the receiver's buffer, the send still counts all of it.
                slot.total = slot.buffer.len() as u64;
                self.state.peers[slot.peer.index()].turns.sent();
                self.state.on_sent(push.send);
                self.state.requests.complete(push.send, Outcome::Fine);
                Ok(Advance::Finished)
            }
            Ok(Pushed::Upto(done)) => {
                step(Step::RingFilled);
                let before = core::mem::replace(&mut slot.done, done);
                Ok(Advance::of(done > before))
            }
            Err(ShmError::Gone { how, .. }) => {
                let outcome = Outcome::Gone(slot.peer, how);
                self.state.requests.complete(push.send, outcome);
                Ok(Advance::Finished)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Takes out of rings what a process that has ended had put there.
    pub(super) fn empty_rings_of(&mut self, process: Process) -> Result<(), Error> {
        let (mut index, mut emptied) = (0, Ok(()));
        while let Some(of) = self.state.rings.pulling.busy.get(index) {
            let is_its = of.all.iter().any(|pull| pull.from == process);
            match is_its.then(|| self.empty(index)) {
                Some(Ok(Advance::Moved | Advance::Finished)) => {}
                None | Some(Ok(Advance::Stalled)) => index += 1,
                Some(Err(error)) => {
                    emptied = emptied.and(Err(error));
                    index += 1;
                }
            }
        }
        emptied
    }

    /// Empties a ring of the first message in it, and is finished when all of that is out.
    fn pull(&mut self, index: usize, pull: Pull) -> Result<Advance, Error> {
        let Pull {
            into,
            from,
            stretch,
            done,
            until,
        } = pull;
        let (pulled, last) = match into {
            Target::Request(receive) => {
                let slot = self.state.requests.at_mut(receive);
                let room = slot.room().min(until);
                let into = &mut slot.buffer.bytes_mut()[..room];
                // More may have come before the message was known to be for this receive.
                let pulled = if done < room {
                    self.transport.pull(from, stretch, into, done)?
                } else {
                    Pulled::All
                };
                (pulled, room.max(done))
            }
            Target::Message(message) => {
                let bytes = &mut self.state.messages.at_mut(message).bytes;
                (self.transport.pull(from, stretch, bytes, done)?, until)
            }
            Target::Nowhere => (self.transport.pass(from, stretch, until, done)?, until),
        };
        match pulled {
            Pulled::Upto(now) => {
                step(Step::RingEmptied);
                self.state.rings.pulling.busy[index].all[0].done = now;
                Ok(Advance::of(now > done))
            }
            Pulled::All => {
                step(Step::RingEmptiedLast);
                self.state.pulled_into(into);
                if last == until {
                    return Ok(Advance::Finished);
                }
                // The receive has no room for more, but messages after this one wait for the buffers.
                let rest = &mut self.state.rings.pulling.busy[index].all[0];
                (rest.into, rest.done) = (Target::Nowhere, last);
                Ok(Advance::Moved)
            }
        }
    }
}

impl State {
    /// A send has its ring. As with the next two, the rings have to be gone on with from now on.
    pub(super) fn start_push(&mut self, push: Push) {
        self.rings.push(push);
        self.attention = true;
    }

    /// A message has its ring.
    pub(super) fn start_pull(&mut self, pull: Pull) {
        self.rings.pull(pull);
        self.attention = true;
    }

    /// A send waits for a ring.
    pub(super) fn ask_ring(&mut self, send: u32) {
        self.rings.asking.push_back(send);
        self.attention = true;
    }

    /// All that was to come through a ring into some place has come.
    fn pulled_into(&mut self, into: Target) {
        match into {
            Target::Request(receive) => {
                self.profile.ring += 1;
                self.on_pulled(receive);
                self.received(receive);
            }
            Target::Message(message) => {
                self.profile.ring += 1;
                self.messages.at_mut(message).body = Body::Here;
            }
            Target::Nowhere => {}
        }
    }
}
