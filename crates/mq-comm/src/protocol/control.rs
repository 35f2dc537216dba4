//! Messages between the processes themselves, of which no receive hears: answers and notices.

use mq_shm::Process;

use super::ahead::Credit;
use super::arrive::corrupt;
use super::rings::Pull;
use super::{Follow, Number, State, Target};
use crate::error::Error;
use crate::header::{Kind, Payload, RingGiven, RingWanted};
use crate::request::{Name, Outcome, Stage};
use crate::steps::{Step, step};
use crate::transport::Arrived;

impl State {
    /// The other end of a large message answers it. If the message is over here, that comes late, and has no
    /// effect.
    pub(super) fn on_answer(
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

    /// A process says something that is no answer to a message: of one of its own, of a communicator, or of
    /// itself. `about` is the header's first word.
    pub(super) fn on_notice(
        &mut self,
        from: Process,
        kind: Kind,
        about: u64,
    ) -> Result<Follow, Error> {
        match kind {
            Kind::Withdraw | Kind::Dying => {
                let dies = kind == Kind::Dying;
                let name = Name(about);
                return Ok(Follow::Withdraw { name, dies });
            }
            Kind::Closed => {
                let number = u32::try_from(about).map_err(|_| corrupt("a notice", from))?;
                self.contexts.on_closed(Number(number), from);
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
}
