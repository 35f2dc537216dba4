//! The one error type: a sentence that says what is wrong and what to do.

use mq_shm::ShmError;
use mq_shm::liveness::Gone;

/// What can go wrong in sending and receiving.
///
/// Shown by `{:?}` as by `{}`, so that a `main` that returns one ends with the sentence.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A rank outside the communicator.
    #[error("there is no rank {rank}: the communicator has {size}, from 0")]
    Rank {
        /// The rank given.
        rank: u32,
        /// Ranks of the communicator.
        size: u32,
    },
    /// A negative tag.
    #[error(
        "tag {tag} is negative: tags are 0 to {}; TagSelector::Any receives them all",
        i32::MAX
    )]
    Tag {
        /// The tag given.
        tag: i32,
    },
    /// The message is longer than the receive's buffer, which holds its first bytes. The message
    /// counts as received. MPI 4.1 §3.2.4.
    #[error(
        "the message from rank {from} with tag {tag} has {sent} bytes, the buffer {room}: it was cut, \
         and the rest is lost"
    )]
    Truncated {
        /// The sender's rank.
        from: u32,
        /// The message's tag.
        tag: i32,
        /// Bytes of the message.
        sent: u64,
        /// Bytes of the buffer.
        room: u64,
    },
    /// The bytes received are not a whole number of elements.
    #[error("{bytes} bytes are no whole number of elements of {element} bytes")]
    Element {
        /// Bytes received.
        bytes: u64,
        /// Bytes of an element.
        element: usize,
    },
    /// There is no memory for a message.
    #[error("there is no memory for a message of {bytes} bytes")]
    Memory {
        /// Bytes of the message.
        bytes: u64,
    },
    /// The process at the other end has ended.
    #[error("process {process} {how}")]
    Gone {
        /// Its number in the world; see [`Communicator::rank_of`](crate::Communicator::rank_of).
        process: u32,
        /// How it ended.
        how: Gone,
    },
    /// The sender gave up a large message that was matched and not fetched yet: its part of the
    /// program panicked or failed while a probe had the message, or it had no memory to send it through.
    #[error("rank {from} has withdrawn its message with tag {tag}")]
    Withdrawn {
        /// The sender's rank.
        from: u32,
        /// The message's tag.
        tag: i32,
    },
    /// The receive was cancelled.
    #[error("the receive was cancelled")]
    Cancelled,
    /// No room for a [`SharedBuffer`](crate::SharedBuffer).
    #[error("{0} (MQ_SHARED_BUFFERS)")]
    NoBuffer(Box<ShmError>),
    /// A [`SharedBuffer`](crate::SharedBuffer) of another world.
    #[error("the shared buffer is of another world than the communicator")]
    OtherWorld,
    /// The world is still in use.
    #[error(
        "communicators, requests, sets, matched messages or shared buffers of the world are still there: it is left when \
         the last of them is dropped"
    )]
    InUse,
    /// The world could not be entered.
    #[error("{0}")]
    Start(String),
    /// Another process could not go on with a collective operation, and this one could not without it.
    #[error("process {process} could not go on with the operation: its own error says why")]
    Elsewhere {
        /// Its number in the world; see [`Communicator::rank_of`](crate::Communicator::rank_of).
        process: u32,
    },
    /// The ranks do not agree on something.
    #[error("the ranks of the communicator do not make the same call: {0}")]
    Disagreement(&'static str),
    /// The transport is damaged, or has no memory.
    #[error(transparent)]
    Transport(Box<ShmError>),
    /// The matching engine refused.
    #[error(transparent)]
    Matching(#[from] mq_core::Error),
}

impl core::fmt::Debug for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(self, f)
    }
}

impl From<ShmError> for Error {
    #[cold]
    fn from(error: ShmError) -> Self {
        match error {
            ShmError::Gone { process, how } => Self::Gone { process, how },
            ShmError::NoBuffer { .. } => Self::NoBuffer(Box::new(error)),
            error => Self::Transport(Box::new(error)),
        }
    }
}
