//! Collective operations: calls that all ranks of a communicator make, in the same order.
//!
//! Their messages have a context of their own, so that no receive of the user sees them, and each operation
//! has a tag and a traffic class, by which structures that plan for collectives recognise them. Consecutive
//! operations need not be told apart: a message is received by its source, and messages of one source keep
//! their order.
//!
//! A rank that finds another gone goes on with the operation to its end, and then reports that: see
//! `failure.rs`.

mod agreement;
mod barrier;
mod broadcast;
mod exchange;
mod failure;

use mq_core::mpi::MpiPattern;
use mq_core::{Rank, Source, TrafficClass};
use mq_shm::Process;

use crate::communicator::Communicator;
use crate::error::Error;
use crate::header::{self, Kind, Payload, Word};
use crate::plain::{self, Plain};
use crate::protocol::of_collectives;
use crate::scope::Scope;
use crate::status::Status;
use crate::transport::Transport;

pub(crate) use agreement::Matter;
pub(crate) use exchange::Answered;
pub(crate) use failure::FOUND_ELSEWHERE;

/// A collective operation: its class, and the tag by which Open MPI's tools would recognise it.
#[derive(Debug, Clone, Copy)]
struct Operation {
    class: TrafficClass,
    tag: i32,
}

const BARRIER: Operation = Operation {
    class: TrafficClass::Barrier,
    tag: -16,
};
const BROADCAST: Operation = Operation {
    class: TrafficClass::Broadcast,
    tag: -17,
};
const EXCHANGE: Operation = Operation {
    class: TrafficClass::OtherCollective,
    tag: -40,
};

const OPINION: Operation = Operation {
    class: TrafficClass::OtherCollective,
    tag: -41,
};
const DECISION: Operation = Operation {
    class: TrafficClass::OtherCollective,
    tag: -42,
};

/// Whether messages of collectives with this tag are of an agreement, which goes on in a revoked communicator.
pub(crate) const fn is_of_agreement(tag: i32) -> bool {
    tag == OPINION.tag || tag == DECISION.tag
}

impl Operation {
    fn word(self, number: u32) -> Word {
        Word::new(of_collectives(number), self.class, Kind::Eager)
    }
}

impl<T: Transport> Communicator<T> {
    /// The process of a rank.
    fn member(&self, rank: u32) -> Process {
        self.inner.group[rank as usize]
    }

    /// Sends as part of an operation.
    fn put<E: Plain>(&self, operation: Operation, elements: &[E], to: u32) -> Result<(), Error> {
        let bits = header::bits(self.rank(), operation.tag);
        let process = self.member(to);
        let word = operation.word(self.inner.number);
        self.inner
            .core()
            .send(process, bits, word, plain::bytes(elements))
    }

    /// Whether so many bytes leave at once, if at all: without an announcement, and before nothing that waits. What is
    /// refused then has not been sent, and stays in no outbox.
    fn goes_at_once(&self, operation: Operation, bytes: usize, to: u32) -> bool {
        let word = operation.word(self.inner.number);
        let core = self.inner.core();
        let (process, state) = (self.member(to), &core.state);
        bytes <= Payload::MOST
            || state.is_eager(process, word, bytes) && !state.has_waiting(process)
    }

    /// Sends what another rank waits for. A short message for which memory is refused follows when there is some, and
    /// so does one behind others that wait for it.
    fn say<E: Plain>(&self, operation: Operation, elements: &[E], to: u32) -> Result<(), Error> {
        let is_short = size_of_val(elements) <= Payload::MOST;
        if is_short && self.inner.core().state.has_waiting(self.member(to)) {
            self.unless_revoked()?;
            self.tell(operation, plain::bytes(elements), to);
            return Ok(());
        }
        match self.put(operation, elements, to) {
            Err(error) if error.is_refusal() && is_short => {
                self.tell(operation, plain::bytes(elements), to);
                Ok(())
            }
            said => said,
        }
    }

    /// Sends a short message as part of an operation, now or when there is memory for it.
    fn tell(&self, operation: Operation, message: &[u8], to: u32) {
        let bits = header::bits(self.rank(), operation.tag);
        let word = operation.word(self.inner.number);
        let (process, message) = (self.member(to), Payload::of(message));
        self.inner.core().tell(process, bits, word, message);
    }

    /// Begins to send as part of an operation; the scope sees it through.
    fn put_in<'scope, E: Plain>(
        &self,
        scope: &'scope Scope<'scope, '_, T>,
        operation: Operation,
        elements: &'scope [E],
        to: u32,
    ) -> Result<(), Error> {
        let bits = header::bits(self.rank(), operation.tag);
        let word = operation.word(self.inner.number);
        let process = self.member(to);
        scope.begin_send(process, bits, word, elements).map(|_| ())
    }

    /// Receives as part of an operation.
    fn get<E: Plain>(
        &self,
        operation: Operation,
        elements: &mut [E],
        from: u32,
    ) -> Result<Status, Error> {
        let context = of_collectives(self.inner.number);
        let pattern = MpiPattern::new(context, Source::Rank(Rank(from)), operation.tag)
            .with_class(operation.class);
        let process = self.member(from);
        let word = operation.word(self.inner.number);
        let mut core = self.inner.core();
        core.receive(&pattern, word, process, plain::bytes_mut(elements))
    }
}
