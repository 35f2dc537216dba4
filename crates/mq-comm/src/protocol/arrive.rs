//! What is done when a message arrives.

use mq_core::mpi::MpiEnvelope;
use mq_shm::{Process, ShmError};

use super::ahead::{Ahead, Credit};
use super::front::Taken;
use super::rings::Pull;
use super::{Follow, Hand, Number, State, Target};
use crate::error::Error;
use crate::header::{self, Announcement, Kind, Payload, RingGiven, RingWanted, Word};
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
            Kind::Eager | Kind::Announce | Kind::Ahead => self.matched(message, bits, word, hand),
            Kind::Finished
            | Kind::Withdrawn
            | Kind::RingWanted
            | Kind::RingTimed
            | Kind::RingGiven
            | Kind::HelpWanted => self.answered(message, kind, Name(bits)),
            Kind::Withdraw
            | Kind::Dying
            | Kind::Closed
            | Kind::Revoked
            | Kind::AnnounceLarge
            | Kind::AnnounceAll
            | Kind::EagerAgain => self.noticed(from, kind, bits),
        }
    }

    /// Finds the receive of a message, or queues it.
    fn matched(
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
        let refused = self.contexts.refuse(word.context(), header::tag_of(bits));
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
        self.requests.complete_at_once(receive, outcome);
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

    /// The other end of a large message answers it. If the message is over here, that comes late, and has no
    /// effect.
    fn answered(
        &mut self,
        message: &mut impl Arrived,
        kind: Kind,
        name: Name,
    ) -> Result<Follow, Error> {
        let from = message.source();
        let stage = match kind {
            Kind::RingGiven => Stage::AwaitsRing,
            _ => Stage::Announced,
        };
        let Some(request) = self.requests.find(name) else {
            return Ok(Follow::Nothing);
        };
        let slot = self.requests.at_mut(request);
        if slot.peer != from || slot.stage != stage {
            return Ok(Follow::Nothing);
        }
        let damaged = Follow::Damaged { request };
        let payload = &mut [0; Payload::MOST][..];
        let count = message.copy_to(payload);
        let Some(payload) = payload.get(..count) else {
            return Ok(damaged);
        };
        let follow = match kind {
            Kind::RingWanted | Kind::RingTimed => {
                let follow = self.ring_wanted(request, from, payload);
                if kind == Kind::RingTimed && follow.is_some() {
                    self.time_too(from);
                }
                follow.unwrap_or(damaged)
            }
            Kind::RingGiven => match RingGiven::from_bytes(payload) {
                Some(given) => self.ring_given(request, name, from, given),
                None => damaged,
            },
            // The receiver manages without help too: an unreadable request damages nothing.
            Kind::HelpWanted => {
                let send = request;
                let asked = <[u8; 8]>::try_from(payload);
                asked.map_or(Follow::Nothing, |asked| Follow::Help { send, asked })
            }
            // `Withdrawn` ends a send as well as `Finished` does: nobody reads its buffer any more.
            Kind::Finished | Kind::Withdrawn => Follow::Finished { send: request },
            _ => return Err(corrupt("an answer", from)),
        };
        Ok(follow)
    }

    /// A process says something that is no answer to a message: of one of its own, of a communicator, or of
    /// itself. `about` is the header's first word.
    fn noticed(&mut self, from: Process, kind: Kind, about: u64) -> Result<Follow, Error> {
        match kind {
            Kind::Withdraw | Kind::Dying => {
                let dies = kind == Kind::Dying;
                let name = Name(about);
                return Ok(Follow::Withdraw { name, dies });
            }
            Kind::Closed => {
                let number = u32::try_from(about).map_err(|_| corrupt("a notice", from))?;
                self.contexts.closed(Number(number), from);
            }
            Kind::Revoked => {
                let number = u32::try_from(about).ok().map(Number);
                let number = number.filter(|&number| self.contexts.may_revoke(number, from));
                let number = number.ok_or_else(|| corrupt("a notice", from))?;
                return Ok(Follow::Revoked { number });
            }
            Kind::AnnounceLarge => self.peers[from.index()].credit = Credit::default(),
            Kind::EagerAgain => self.set_wants_announcements(from, false),
            Kind::AnnounceAll => {
                self.set_wants_announcements(from, true);
                return Ok(Follow::AnnounceAll);
            }
            _ => return Err(corrupt("a notice", from)),
        }
        Ok(Follow::Nothing)
    }

    /// The receiver of a message asks for a ring, or lends one; `None` if what it says cannot be.
    fn ring_wanted(&mut self, request: u32, from: Process, payload: &[u8]) -> Option<Follow> {
        let wanted = RingWanted::from_bytes(payload)?;
        let done = usize::try_from(wanted.done).ok()?;
        let until = usize::try_from(wanted.until).ok()?;
        let slot = self.requests.at_mut(request);
        if done > until || until > slot.buffer.len() {
            return None;
        }
        slot.done = done;
        slot.total = wanted.until;
        slot.its_name = Name(wanted.receive);
        self.peers[from.index()].credit = Credit::of(wanted.ahead);
        Some(Follow::Ring {
            send: request,
            lent: wanted.lent(),
        })
    }

    /// The sender of a message has given a ring, or has none for it.
    fn ring_given(&mut self, request: u32, name: Name, from: Process, given: RingGiven) -> Follow {
        if given.is_none() {
            self.on_lost(name);
            self.requests.complete(request, Outcome::Withdrawn);
            return Follow::RingNamed;
        }
        let slot = self.requests.at_mut(request);
        slot.stage = Stage::Pulling;
        let (done, until) = (slot.done, slot.room());
        self.start_pull(Pull {
            into: Target::Request(request),
            from,
            stretch: given.stretch(from, done),
            done,
            until,
        });
        step(Step::RingKnown);
        Follow::RingNamed
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
