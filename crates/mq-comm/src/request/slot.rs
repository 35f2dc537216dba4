//! One request: its name, how far it has come, and how it ended.

use std::io;

use mq_core::Handle;
use mq_shm::liveness::Gone;
use mq_shm::{Process, ShmError};

use super::lists::ListOf;
use super::pool::NONE;
use crate::buffer::Buffer;
use crate::error::{Error, NoticedBy};
use crate::header::{self, Exposed, Word};
use crate::status::Status;

/// The peer of a receive from any source.
pub(crate) const ANYONE: Process = Process(u32::MAX);

/// A request's name, here and at the other end of a large message: generation 32, slot 32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Name(pub(crate) u64);

impl Name {
    /// Names no request: there is no slot of that number.
    pub(crate) const NOTHING: Self = Self::new(NONE, 0);

    pub(crate) const fn new(slot: u32, generation: u32) -> Self {
        Self((generation as u64) << 32 | slot as u64)
    }

    pub(crate) const fn slot(self) -> u32 {
        (self.0 & 0xffff_ffff) as u32
    }

    pub(crate) const fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// How far a request has come.
///
/// | of a receive | next | of a send | next |
/// | --- | --- | --- | --- |
/// | `Hand`, `Posted` | a message matches | `Waiting` | the outbox has got to it |
/// | `Filling` | its last part comes | `Announced` | the receiver answers |
/// | `Fetching` | it is read, or refused | `WantsRing` | a ring is free |
/// | `AwaitsRing` | the sender gives one | `Pushing` | the last byte is in the ring |
/// | `Pulling` | the last byte is out of it | | |
///
/// Then each is `Done`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    Free,
    /// A receive in no queue: it is about to be posted, or a probe has found its message; or it is a blocking one,
    /// and every message that no posted receive takes is offered to it.
    Hand,
    Posted,
    Filling,
    Fetching,
    AwaitsRing,
    Pulling,
    Waiting,
    Announced,
    WantsRing,
    Pushing,
    Done,
}

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Fine,
    Truncated,
    /// Of a send.
    Gone(Process, Gone),
    /// Of a receive that had found its message.
    Cut(Process, Gone),
    /// Of a receive that found none: this one could have sent it, and has ended. The tag is the one that the receive
    /// asked for, if that is known.
    NobodyLeft(Process, Gone, Option<i32>),
    Withdrawn,
    /// Of a receive that had found no message, as `Revoked`.
    Cancelled,
    Revoked,
    /// There was no memory for a ring.
    NoRing(NoRing),
}

impl Outcome {
    /// Whether it is the failure of a receive that found no message.
    pub(crate) fn failed_unmatched(self) -> bool {
        matches!(self, Self::NobodyLeft(..) | Self::Revoked)
    }
}

/// Memory that the system has refused, and the error number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoRing {
    pub(crate) what: &'static str,
    pub(crate) bytes: usize,
    pub(crate) errno: i32,
}

/// Generations of far slots begin with this one, and those of near slots end before it: so that what is to be done
/// about either is told by the sign of a number that was just increased.
pub(super) const SPECIAL: u32 = 1 << 31;

/// A request. What is said to be set later still has the value of an earlier request until then: only what every
/// request has is written when one is added.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) generation: u32,
    pub(crate) stage: Stage,
    pub(crate) outcome: Outcome,
    /// Somebody can still ask for it.
    pub(crate) has_handle: bool,
    /// The other end; [`ANYONE`] before a receive from any source has matched.
    pub(crate) peer: Process,
    pub(crate) context: u32,
    /// The first word of the message, once it is known.
    pub(crate) bits: u64,
    /// The second word of a send's message, if that was eager; set later, where a send could not go out at once, or is
    /// this process's own.
    pub(crate) word: Word,
    /// Bytes of the message. Of a send that goes through a ring, as many as its receiver wants, from when that asks for
    /// the ring until the last is in it.
    pub(crate) total: u64,
    /// Bytes that have come, or gone out.
    pub(crate) done: usize,
    /// Its name at the other end. Set later, where that says it: of a receive, with the announcement; of a send, where
    /// its receiver asks for a ring.
    pub(crate) its_name: Name,
    /// Where the bytes of a receive's announced message are. Set later, with `its_name`.
    pub(crate) exposed: Exposed,
    /// Its name in the posted queue.
    pub(crate) posted: Option<Handle>,
    pub(crate) buffer: Buffer,
    pub(super) set: u32,
    pub(super) list: ListOf,
    pub(super) next: u32,
    pub(super) previous: u32,
}

impl Slot {
    pub(super) fn fresh(generation: u32) -> Self {
        Self {
            generation,
            stage: Stage::Free,
            outcome: Outcome::Fine,
            has_handle: false,
            peer: ANYONE,
            context: 0,
            bits: 0,
            word: Word(0),
            total: 0,
            done: 0,
            its_name: Name(0),
            exposed: Exposed::default(),
            posted: None,
            buffer: Buffer::EMPTY,
            set: NONE,
            list: ListOf::Pending,
            next: NONE,
            previous: NONE,
        }
    }

    /// The request is over: its name names nothing any more. Returns its buffer.
    #[inline(always)]
    pub(super) fn end(&mut self) -> Buffer {
        self.stage = Stage::Free;
        self.generation = self.generation.wrapping_add(1);
        core::mem::replace(&mut self.buffer, Buffer::EMPTY)
    }

    /// As [`end`](Self::end), for a request whose buffer nobody asks for.
    #[inline(always)]
    pub(super) fn end_without_buffer(&mut self) {
        self.stage = Stage::Free;
        self.generation = self.generation.wrapping_add(1);
        self.buffer.clear();
    }

    /// Whether a slot whose request is over is no ordinary one: far, or a near one that has had all names.
    #[inline(always)]
    pub(super) const fn is_special(&self) -> bool {
        self.generation >= SPECIAL
    }

    /// How many bytes of the message the buffer takes; of a send through a ring, how many its receiver wants, as
    /// `total` says.
    pub(crate) fn room(&self) -> usize {
        usize::try_from(self.total).map_or(self.buffer.len(), |total| total.min(self.buffer.len()))
    }

    pub(crate) fn status(&self) -> Status {
        Status::new(self.bits, self.total)
    }

    /// What the user is told of a request that is done.
    pub(crate) fn result(&self) -> Result<Status, Error> {
        match self.outcome {
            Outcome::Fine => Ok(self.status()),
            Outcome::Truncated => Err(Error::Truncated {
                from: self.status().source(),
                tag: self.status().tag(),
                sent: self.total,
                room: self.buffer.len() as u64,
            }),
            Outcome::Gone(process, how) => {
                let by = NoticedBy::send(self.context, header::tag_of(self.bits));
                Err(Error::Gone { process, how, by })
            }
            Outcome::Cut(process, how) => {
                let by = NoticedBy::part(self.context, header::tag_of(self.bits));
                Err(Error::Gone { process, how, by })
            }
            Outcome::NobodyLeft(process, how, tag) => {
                let by = NoticedBy::receive(self.context, self.peer == ANYONE, tag);
                Err(Error::Gone { process, how, by })
            }
            Outcome::Withdrawn => Err(Error::Withdrawn {
                from: self.status().source(),
                tag: self.status().tag(),
            }),
            Outcome::Cancelled => Err(Error::Cancelled),
            Outcome::Revoked => Err(Error::Revoked),
            Outcome::NoRing(NoRing { what, bytes, errno }) => Err(ShmError::NoMemory {
                what,
                bytes,
                reason: io::Error::from_raw_os_error(errno),
            }
            .into()),
        }
    }
}
