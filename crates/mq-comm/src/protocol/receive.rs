//! A receive begins: a message that came takes it, or it waits for one.

use mq_core::Source;
use mq_core::mpi::MpiPattern;
use mq_shm::Process;

use super::front::RunFor;
use super::large::Came;
use super::matching::Posted;
use super::progress::ROUNDS;
use super::{Core, State, Target};
use crate::buffer::Buffer;
use crate::error::{Error, tag_asked};
use crate::messages::{Body, Keeper};
use crate::request::{ANYONE, NONE, Name, New, Outcome, Stage};
use crate::steps::{Step, step};
use crate::transport::Transport;

/// A receive that has begun and is in no queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hand {
    pub(crate) request: u32,
    pub(crate) pattern: MpiPattern,
}

impl<T: Transport> Core<T> {
    /// Begins a receive that does not wait: it ends up done, on its way, or posted. If that fails, the caller
    /// has to end the request.
    ///
    /// # Cost
    /// Few stores, if it waits after others of its kind in front: its buffer goes straight to its place in
    /// the pool, since the processor waits when something is written in pieces and then moved as a whole.
    #[inline(always)]
    pub(crate) fn start_receive(
        &mut self,
        pattern: MpiPattern,
        from: Process,
        buffer: Buffer,
        set: u32,
    ) -> (Name, Result<(), Error>) {
        if self.state.follows_any_source_probe != 0 {
            return self.start_after_probe(pattern, from, buffer, set);
        }
        let run = self.state.run_in_front(&pattern);
        let name = self.state.requests.add(New {
            stage: match run {
                Some(_) => Stage::Posted,
                None => Stage::Hand,
            },
            peer: from,
            context: pattern.context().0,
            bits: 0,
            total: 0,
            buffer,
            set,
        });
        match run {
            Some(RunFor::Existing(run)) => {
                self.state.matching.front.push(run, name.slot());
                (name, Ok(()))
            }
            Some(RunFor::New) => (name, self.begin_in_front(pattern, name.slot())),
            None => (name, self.start_hand_on(pattern, name.slot())),
        }
    }

    /// [`start_receive`](Self::start_receive) after a probe from any source.
    #[cold]
    #[inline(never)]
    fn start_after_probe(
        &mut self,
        pattern: MpiPattern,
        from: Process,
        buffer: Buffer,
        set: u32,
    ) -> (Name, Result<(), Error>) {
        let (from, pattern) = self.take_in_shown(from, pattern);
        self.start_receive(pattern, from, buffer, set)
    }

    /// Begins a run in front with a receive that is posted.
    #[inline(never)]
    fn begin_in_front(&mut self, pattern: MpiPattern, receive: u32) -> Result<(), Error> {
        let from = self.state.requests.at(receive).peer;
        (self.state.matching.front).begin_run(pattern, from, receive);
        self.end_kept_want();
        self.want(from)
    }

    /// [`narrow_to_shown`](Self::narrow_to_shown) for a request. What it is then for is taken in: the request is for
    /// that message alone, and if it were posted, others that have come as well could pass it. The request begins
    /// afterwards: if its sender is found to have ended meanwhile, requests that wait for that process are over.
    fn take_in_shown(&mut self, from: Process, pattern: MpiPattern) -> (Process, MpiPattern) {
        let (shown_from, narrowed) = self.narrow_to_shown(from, pattern);
        if let Some(shown) = self.state.shown
            && shown_from != from
        {
            let taken = self.take_in_until(ROUNDS, |core| Ok(!core.transport.is_due(shown)));
            if let Err(error) = taken {
                self.state.failed_elsewhere(error);
            }
        }
        (shown_from, narrowed)
    }

    #[inline(never)]
    fn start_hand_on(&mut self, pattern: MpiPattern, request: u32) -> Result<(), Error> {
        let hand = &Hand { request, pattern };
        // Without obstacles there is somebody left to wait for, and posting finds what has come.
        if self.state.obstacles > 0 && self.settle(hand)? {
            return Ok(());
        }
        self.post(hand)
    }

    /// Checks whether a receive has a message already, or is to wait for none; returns whether it is over or
    /// on its way.
    pub(crate) fn settle(&mut self, hand: &Hand) -> Result<bool, Error> {
        if self.state.contexts.refuses_receive(&hand.pattern) {
            return Err(Error::Revoked);
        }
        if self.take_if_come(hand)? {
            return Ok(true);
        }
        let from = self.state.requests.at(hand.request).peer;
        let context = hand.pattern.context().0;
        if let Some((process, how)) = self.state.nobody_left(from, context) {
            // All from the dead has been taken in, but not all from the others, if any source will do.
            // Another death may be found on the way, which ends the receive.
            let tag = tag_asked(&hand.pattern);
            let found =
                |core: &mut Self| Ok(core.is_done(hand.request) || core.take_if_come(hand)?);
            if from == ANYONE && self.take_in_until(ROUNDS, found)? {
                let outcome = &mut self.state.requests.at_mut(hand.request).outcome;
                if let Outcome::NobodyLeft(.., asked @ None) = outcome {
                    *asked = tag;
                }
                return Ok(true);
            }
            self.state
                .requests
                .complete(hand.request, Outcome::NobodyLeft(process, how, tag));
            return Ok(true);
        }
        Ok(false)
    }

    /// Ends a receive in hand if its communicator has been revoked meanwhile.
    #[inline]
    pub(crate) fn end_if_revoked(&mut self, hand: &Hand) {
        if self.state.contexts.refuses_receive(&hand.pattern)
            && self.state.requests.at(hand.request).stage == Stage::Hand
        {
            let requests = &mut self.state.requests;
            requests.complete(hand.request, Outcome::Revoked);
        }
    }

    /// Takes the message for a receive, if it is here.
    fn take_if_come(&mut self, hand: &Hand) -> Result<bool, Error> {
        if let Some(message) = self.state.matching.extract(&hand.pattern)? {
            self.take(hand.request, message)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Queues a receive, unless a message has come for it.
    pub(crate) fn post(&mut self, hand: &Hand) -> Result<(), Error> {
        let slot = self.state.requests.at(hand.request);
        let wanted = slot.peer;
        match self.state.matching.post(hand.pattern, hand.request)? {
            Posted::Queued(name) => {
                let slot = self.state.requests.at_mut(hand.request);
                slot.posted = Some(name);
                slot.stage = Stage::Posted;
                step(Step::ReceivePosted);
                self.end_kept_want();
                self.want(wanted)
            }
            Posted::Matched(message) => self.take(hand.request, message),
        }
    }

    /// Begins to receive a message of this context that a matched probe has taken out.
    pub(crate) fn start_matched(
        &mut self,
        message: Option<u32>,
        context: u32,
        buffer: Buffer,
    ) -> (Name, Result<(), Error>) {
        let name = self.state.start_in_hand(ANYONE, context, buffer);
        let begun = message.map_or(Ok(()), |message| self.take(name.slot(), message));
        (name, begun)
    }

    /// A receive takes a message that is no longer in any queue.
    pub(crate) fn take(&mut self, receive: u32, message: u32) -> Result<(), Error> {
        let kept = self.state.messages.at_mut(message);
        let slot = self.state.requests.at_mut(receive);
        debug_assert_ne!(slot.stage, Stage::Done, "its message would be lost");
        slot.peer = kept.from;
        slot.bits = kept.bits;
        slot.total = kept.total;
        kept.keeper = Keeper::Nobody;
        let body = kept.body;
        match body {
            Body::Here => {
                let into = slot.buffer.bytes_mut();
                let count = into.len().min(kept.bytes.len());
                into[..count].copy_from_slice(&kept.bytes[..count]);
                let done = kept.bytes.len() as u64;
                self.state.messages.release(message);
                if done == slot.total {
                    self.state.received(receive);
                } else {
                    slot.stage = Stage::Filling;
                    let peer = &mut self.state.peers[slot.peer.index()];
                    peer.assembly = Some((Target::Request(receive), done));
                }
                self.after_release();
                Ok(())
            }
            Body::Announced { exposed, name } => {
                slot.exposed = exposed;
                slot.its_name = name;
                slot.stage = Stage::Fetching;
                self.state.messages.release(message);
                self.fetch_if_large(receive, Came::Unexpected)
            }
            Body::Ring => {
                self.state.take_on_its_way(receive, message);
                self.after_release();
                self.fetch_if_large(receive, Came::Unexpected)
            }
            Body::Withdrawn | Body::Lost(_) => {
                let outcome = match body {
                    Body::Lost(how) => {
                        // It may have said that it dies, and live yet.
                        self.state.peers[slot.peer.index()].ends = Some(how);
                        Outcome::Cut(slot.peer, how)
                    }
                    _ => Outcome::Withdrawn,
                };
                self.state.messages.release(message);
                self.state.requests.complete(receive, outcome);
                self.after_release();
                Ok(())
            }
        }
    }
}

impl State {
    /// A request for a receive that is in no queue.
    pub(crate) fn start_hand(
        &mut self,
        pattern: MpiPattern,
        from: Process,
        buffer: Buffer,
    ) -> Hand {
        let name = self.start_in_hand(from, pattern.context().0, buffer);
        let request = name.slot();
        Hand { request, pattern }
    }

    fn start_in_hand(&mut self, peer: Process, context: u32, buffer: Buffer) -> Name {
        self.requests.add(New {
            stage: Stage::Hand,
            peer,
            context,
            bits: 0,
            total: 0,
            buffer,
            set: NONE,
        })
    }
}

/// The peer that a receive names.
pub(crate) fn peer_of(source: Source, group: &[Process]) -> Option<Process> {
    match source {
        Source::Any => Some(ANYONE),
        Source::Rank(rank) => group.get(rank.0 as usize).copied(),
    }
}
