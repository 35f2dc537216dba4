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
use crate::protocol::Number;
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
    fn word(self, number: Number) -> Word {
        Word::new(number.collectives(), self.class, Kind::Eager)
    }
}

/// For the time of a collective operation: its waits do not end because memory is refused.
struct Collective<'a, T: Transport>(&'a Communicator<T>);

impl<T: Transport> Drop for Collective<'_, T> {
    fn drop(&mut self) {
        self.0.inner.core().refusals.end_collective();
    }
}

impl<T: Transport> Communicator<T> {
    /// A collective operation begins, and lasts as long as the result exists. None is part of another.
    #[must_use]
    fn begin_collective(&self) -> Collective<'_, T> {
        self.inner.core().refusals.begin_collective();
        Collective(self)
    }

    /// The process of a rank.
    fn member(&self, rank: u32) -> Process {
        self.inner.group[rank as usize]
    }

    /// The process of a rank, and the two words of an eager message to it.
    fn addressed(&self, operation: Operation, to: u32) -> (Process, u64, Word) {
        let bits = header::bits(self.rank(), operation.tag);
        (self.member(to), bits, operation.word(self.inner.number))
    }

    /// Sends as part of an operation.
    fn send_as_part<E: Plain>(
        &self,
        operation: Operation,
        elements: &[E],
        to: u32,
    ) -> Result<(), Error> {
        let (process, bits, word) = self.addressed(operation, to);
        self.inner
            .core()
            .send(process, bits, word, plain::bytes(elements))
    }

    /// Whether this many bytes go without an announcement. What is announced and then refused is withdrawn, of which
    /// the receiver may hear.
    fn is_eager(&self, operation: Operation, bytes: usize, to: u32) -> bool {
        bytes <= Payload::MOST || {
            let word = operation.word(self.inner.number);
            let core = self.inner.core();
            core.state.is_eager(self.member(to), word, bytes)
        }
    }

    /// Sends what another rank waits for. If memory for it is refused, a short message follows when there is some, as
    /// does one that waits behind others; an [eager](Self::is_eager) one that fails has not been sent.
    fn send_or_owe<E: Plain>(
        &self,
        operation: Operation,
        elements: &[E],
        to: u32,
    ) -> Result<(), Error> {
        let (process, bits, word) = self.addressed(operation, to);
        let bytes = plain::bytes(elements);
        let mut core = self.inner.core();
        match core.send_or_leave(process, bits, word, bytes) {
            Err(error) if error.is_out_of_memory() && bytes.len() <= Payload::MOST => {
                core.tell(process, bits, word, Payload::of(bytes));
                Ok(())
            }
            result => result,
        }
    }

    /// Sends a short message as part of an operation, now or when there is memory for it.
    fn send_notice(&self, operation: Operation, message: &[u8], to: u32) {
        let (process, bits, word) = self.addressed(operation, to);
        let message = Payload::of(message);
        self.inner.core().tell(process, bits, word, message);
    }

    /// Begins to send as part of an operation; the scope sees it through.
    fn begin_send_as_part<'scope, E: Plain>(
        &self,
        scope: &'scope Scope<'scope, '_, T>,
        operation: Operation,
        elements: &'scope [E],
        to: u32,
    ) -> Result<(), Error> {
        let (process, bits, word) = self.addressed(operation, to);
        scope.begin_send(process, bits, word, elements).map(|_| ())
    }

    /// Receives as part of an operation.
    fn receive_as_part<E: Plain>(
        &self,
        operation: Operation,
        elements: &mut [E],
        from: u32,
    ) -> Result<Status, Error> {
        let context = self.inner.number.collectives();
        let pattern = MpiPattern::new(context, Source::Rank(Rank(from)), operation.tag)
            .with_class(operation.class);
        let process = self.member(from);
        let word = operation.word(self.inner.number);
        let mut core = self.inner.core();
        core.receive(&pattern, word, process, plain::bytes_mut(elements))
    }
}
