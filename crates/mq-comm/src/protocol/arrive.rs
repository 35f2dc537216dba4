//! What is done when a message arrives: its receive is found, or it is kept; its parts are put together.

use mq_core::mpi::MpiEnvelope;
use mq_shm::{Process, ShmError};

use super::ahead::Ahead;
use super::front::Taken;
use super::{Follow, Hand, State, Target};
use crate::error::Error;
use crate::header::{self, Announcement, Kind, Payload, Word};
use crate::messages::{self, Body};
use crate::request::{Name, Outcome, Stage};
use crate::steps::{Step, step};
use crate::transport::Arrived;

/// Where the bytes of a message that has come are.
#[derive(Clone, Copy)]
enum Located {
    /// With it, or in the parts that follow.
    Here,
    /// At the sender.
    Announced(Announcement),
    /// In a ring, or on their way there.
    Ahead(Ahead),
}

/// For something that no process of this crate sends.
#[cold]
pub(super) fn corrupt(what: &'static str, from: Process) -> Error {
    Error::from(ShmError::Corrupt {
        what,
        process: from,
    })
}

impl State {
    /// Takes in a message, or a part of one. `hand` is a receive that comes after all posted ones.
    pub(crate) fn accept(
        &mut self,
        message: &mut impl Arrived,
        hand: Option<&Hand>,
    ) -> Result<Follow, Error> {
        let from = message.source();
        if message.offset() > 0 {
            return self.next_part(message);
        }
        let [bits, word] = message.header();
        let word = Word(word);
        let Some(kind) = word.kind() else {
            return Err(corrupt("the kind of a message", from));
        };
        match kind {
            Kind::Eager | Kind::Announce | Kind::Ahead => {
                self.match_or_keep(message, bits, word, hand)
            }
            Kind::Finished
            | Kind::Withdrawn
            | Kind::RingWanted
            | Kind::RingTimed
            | Kind::RingGiven
            | Kind::HelpWanted => self.on_answer(message, kind, Name(bits)),
            Kind::Withdraw
            | Kind::Dying
            | Kind::Closed
            | Kind::Revoked
            | Kind::AnnounceLarge
            | Kind::AnnounceAll
            | Kind::EagerAgain => self.on_notice(from, kind, bits),
        }
    }

    /// Finds the receive of a message, or keeps it.
    fn match_or_keep(
        &mut self,
        message: &mut impl Arrived,
        bits: u64,
        word: Word,
        hand: Option<&Hand>,
    ) -> Result<Follow, Error> {
        let from = message.source();
        let bytes = match word.kind() {
            Some(Kind::Announce) => {
                let announced = announcement(message);
                Located::Announced(announced.ok_or_else(|| corrupt("an announcement", from))?)
            }
            Some(Kind::Ahead) => Located::Ahead(Ahead::read(message)?),
            _ => Located::Here,
        };
        let class = word.class().ok_or_else(|| corrupt("a class", from))?;
        let envelope = header::envelope(bits, word.context(), class);
        let refused = self.contexts.refuses(word.context(), header::tag_of(bits));
        if refused || !self.admit(word.context()) || self.departure.is_leaving {
            return Ok(self.discard(message, &bytes));
        }
        if let Some(Taken { receive, unwanted }) = self.matching.front.matched(bits, word) {
            self.begin(receive, message, bits, &bytes);
            return Ok(Follow::Matched { receive, unwanted });
        }
        if let Some(receive) = self.matching.deliver(&envelope)? {
            let slot = self.requests.at_mut(receive);
            slot.posted = None;
            let unwanted = Some(slot.peer);
            self.begin(receive, message, bits, &bytes);
            return Ok(Follow::Matched { receive, unwanted });
        }
        if let Some(hand) = hand
            && self.requests.at(hand.request).stage == Stage::Hand
            && header::takes(&hand.pattern, bits, word)
        {
            self.profile.bypassed += 1;
            let receive = hand.request;
            self.begin(receive, message, bits, &bytes);
            let unwanted = None;
            return Ok(Follow::Matched { receive, unwanted });
        }
        self.keep_unexpected(message, envelope, word, bytes)
    }

    /// Queues a message that no receive takes.
    fn keep_unexpected(
        &mut self,
        message: &mut impl Arrived,
        envelope: MpiEnvelope,
        word: Word,
        bytes: Located,
    ) -> Result<Follow, Error> {
        let from = message.source();
        let [bits, _] = message.header();
        self.profile.unexpected += 1;
        let (total, body) = match &bytes {
            Located::Announced(announced) => {
                let (exposed, name) = (announced.exposed(), Name(announced.send));
                (announced.bytes, Body::Announced { exposed, name })
            }
            Located::Ahead(ahead) => (ahead.bytes as u64, Body::Ring),
            Located::Here => (message.total(), Body::Here),
        };
        let kept = self.messages.add(from, bits, word, total, body);
        match self.matching.keep(envelope, kept) {
            Ok(name) => self.messages.at_mut(kept).name = Some(name),
            Err(error) => {
                self.messages.release(kept);
                if let Located::Ahead(ahead) = bytes {
                    self.pull_ahead(from, ahead, Target::Nowhere);
                }
                return Err(error);
            }
        }
        step(Step::MessageKept);
        match bytes {
            Located::Here => {
                let bytes = &mut self.messages.at_mut(kept).bytes;
                append(bytes, message);
                if (bytes.len() as u64) < total {
                    let done = bytes.len() as u64;
                    self.peers[from.index()].assembly = Some((Target::Message(kept), done));
                }
                Ok(self.after_keeping(from))
            }
            Located::Announced(_) => Ok(Follow::Nothing),
            Located::Ahead(ahead) => {
                self.pull_ahead(from, ahead, Target::Message(kept));
                Ok(Follow::TooEarly)
            }
        }
    }

    /// A receive takes a message whose first part is there.
    fn begin(&mut self, receive: u32, message: &mut impl Arrived, bits: u64, bytes: &Located) {
        let slot = self.requests.at_mut(receive);
        slot.peer = message.source();
        slot.bits = bits;
        match *bytes {
            Located::Here => {}
            Located::Announced(announced) => {
                slot.total = announced.bytes;
                slot.exposed = announced.exposed();
                slot.its_name = Name(announced.send);
                slot.stage = Stage::Fetching;
                return;
            }
            Located::Ahead(ahead) => {
                slot.total = ahead.bytes as u64;
                slot.stage = Stage::Pulling;
                let from = slot.peer;
                return self.pull_ahead(from, ahead, Target::Request(receive));
            }
        }
        slot.total = message.total();
        message.copy_to(slot.buffer.bytes_mut());
        let done = message.bytes() as u64;
        if done == slot.total {
            self.received(receive);
            return;
        }
        slot.stage = Stage::Filling;
        let from = slot.peer;
        self.peers[from.index()].assembly = Some((Target::Request(receive), done));
    }

    /// All of a receive's message is there.
    #[inline]
    pub(super) fn received(&mut self, receive: u32) {
        let slot = self.requests.at(receive);
        let outcome = if slot.total > slot.buffer.len() as u64 {
            Outcome::Truncated
        } else {
            Outcome::Fine
        };
        self.profile.count_received(slot.total);
        self.requests.complete_inline(receive, outcome);
    }

    /// A message that nobody will receive: its communicator is over here or revoked, or this process leaves.
    fn discard(&mut self, message: &mut impl Arrived, bytes: &Located) -> Follow {
        match *bytes {
            Located::Here => {}
            Located::Announced(Announcement { send, .. }) => {
                return Follow::Discarded { name: Name(send) };
            }
            Located::Ahead(ahead) => {
                self.pull_ahead(message.source(), ahead, Target::Nowhere);
                return Follow::Nothing;
            }
        }
        let done = message.bytes() as u64;
        if done < message.total() {
            let peer = &mut self.peers[message.source().index()];
            peer.assembly = Some((Target::Nowhere, done));
        }
        Follow::Nothing
    }

    /// A later part of a message.
    fn next_part(&mut self, message: &mut impl Arrived) -> Result<Follow, Error> {
        let from = message.source();
        let part = message.bytes() as u64;
        let Some((target, before)) = self.peers[from.index()].assembly.take() else {
            return Err(corrupt("a part of a message", from));
        };
        let differs = |known| known != message.total();
        let wrong = if before != message.offset() {
            Some("a part of a message")
        } else if self.length_of(target).is_some_and(differs) {
            Some("the length of a message")
        } else {
            None
        };
        if let Some(what) = wrong {
            // The rest of what is known of it will not be found.
            match target {
                Target::Nowhere => {}
                Target::Message(kept) => self.messages.at_mut(kept).body = Body::Withdrawn,
                Target::Request(receive) => self.requests.complete(receive, Outcome::Withdrawn),
            }
            return Err(corrupt(what, from));
        }
        step(Step::PartTaken);
        let done = before + part;
        let whole = done == message.total();
        match target {
            Target::Nowhere => {}
            Target::Message(kept) => append(&mut self.messages.at_mut(kept).bytes, message),
            Target::Request(receive) => {
                let slot = self.requests.at_mut(receive);
                let at = usize::try_from(message.offset()).unwrap_or(usize::MAX);
                if let Some(rest) = slot.buffer.bytes_mut().get_mut(at..) {
                    message.copy_to(rest);
                }
                if whole {
                    self.received(receive);
                }
            }
        }
        if !whole {
            self.peers[from.index()].assembly = Some((target, done));
        }
        Ok(Follow::Nothing)
    }

    /// The length of a message whose parts are coming, if it is kept.
    fn length_of(&self, target: Target) -> Option<u64> {
        match target {
            Target::Nowhere => None,
            Target::Message(kept) => Some(self.messages.at(kept).total),
            Target::Request(receive) => Some(self.requests.at(receive).total),
        }
    }
}

fn announcement(message: &mut impl Arrived) -> Option<Announcement> {
    let mut payload = [0; Payload::MOST];
    let count = message.copy_to(&mut payload);
    Announcement::from_bytes(payload.get(..count)?)
}

fn append(bytes: &mut messages::Bytes, message: &mut impl Arrived) {
    let part = messages::grow(bytes, message.bytes());
    message.copy_to(part);
}
