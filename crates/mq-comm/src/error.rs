//! The one error type: each error is a sentence that says what is wrong and what to do.

use mq_shm::liveness::Gone;
use mq_shm::{Process, ShmError};

use crate::header::{self, Word};

mod noticed;

pub use noticed::NoticedBy;
pub(crate) use noticed::tag_asked;

/// What a buffer without room may be.
const NO_LENGTH: &str =
    " (a vector has room for its length, not its capacity; `recv_vec` makes room for any message)";

/// What can go wrong in sending and receiving.
///
/// `{:?}` shows the same as `{}`, so that a `main` that returns an error ends with the sentence.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A rank outside the communicator.
    #[error("rank {rank} is out of range: the communicator has size {size}, and ranks begin at 0")]
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
        "the message from rank {from} with tag {tag} has {sent} bytes but the buffer holds {room}: \
         message truncated{}", if *room == 0 { NO_LENGTH } else { "" }
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
    #[error(
        "the message from rank {from} with tag {tag} has {bytes} bytes, not a whole number of {element}-byte elements"
    )]
    Element {
        /// The sender's rank.
        from: u32,
        /// The message's tag.
        tag: i32,
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
    #[error("process {process} {how}{by}")]
    #[non_exhaustive]
    Gone {
        /// Its number in the world; see [`Communicator::rank_of`](crate::Communicator::rank_of).
        process: Process,
        /// How it ended.
        how: Gone,
        /// What noticed it.
        by: NoticedBy,
    },
    /// The sender gave up a large message that was matched but not yet fetched: its part of the program
    /// panicked or failed while a probe had the message, or it had no memory to send it through.
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
    /// The communicator has been [revoked](crate::Communicator::revoke), here or by another rank.
    #[error("the communicator has been revoked: only agree and shrink go on")]
    Revoked,
    /// No room for a [`SharedBuffer`](crate::SharedBuffer).
    #[error("{0} (MQ_SHARED_BUFFERS)")]
    NoBuffer(Box<ShmError>),
    /// A [`SharedBuffer`](crate::SharedBuffer) of another world.
    #[error("the shared buffer and the communicator belong to different worlds")]
    OtherWorld,
    /// Something of the world still exists.
    #[error(
        "cannot finalize: communicators, requests, sets, matched messages or shared buffers of this world still \
         exist; it is left when the last of them is dropped"
    )]
    InUse,
    /// The world could not be entered.
    #[error("{message}")]
    Start {
        /// What kind of reason it was.
        cause: StartCause,
        /// What is wrong, and what to do.
        message: String,
    },
    /// Another process could not go on with a collective operation, nor could this one without it.
    #[error("the collective failed at process {process}; see the error reported there")]
    Elsewhere {
        /// Its number in the world; see [`Communicator::rank_of`](crate::Communicator::rank_of).
        process: Process,
    },
    /// The ranks do not agree, for instance on what they call.
    #[error("ranks made different collective calls: {0}")]
    Disagreement(&'static str),
    /// The transport is damaged, or has no memory. A call that waits goes on for a second while memory is refused,
    /// since others may free some.
    #[error(transparent)]
    Transport(Box<ShmError>),
    /// The matching engine refused.
    #[error(transparent)]
    Matching(#[from] mq_core::Error),
}

/// Why a world could not be entered: for a program that has another way, such as a world
/// [alone](crate::World::alone) or messages over a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StartCause {
    /// The environment's variables are incomplete, contradict each other, or are out of range.
    Variables,
    /// The processes are on several machines.
    SeveralMachines,
    /// Another process has not come in [time](crate::Options::start_within).
    NotInTime,
    /// Another process has this one's place.
    PlaceTaken,
    /// The segment is not there, or not that of this world.
    Segment,
    /// Something of the program's own, before it enters the world.
    Other,
}

impl Error {
    /// An [`Error::Start`].
    #[cold]
    pub(crate) fn start(cause: StartCause, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Start { cause, message }
    }
}

impl core::fmt::Debug for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// The error of a send of a message with these words that the transport refused.
    #[cold]
    pub(crate) fn of_send(error: ShmError, bits: u64, word: Word) -> Self {
        let mut error = Self::from(error);
        if let Self::Gone { by, .. } = &mut error {
            *by = NoticedBy::send(word.context(), header::tag_of(bits));
        }
        error
    }

    /// The same where the words are not at hand.
    #[cold]
    pub(crate) fn of_any_send(error: ShmError) -> Self {
        let mut error = Self::from(error);
        if let Self::Gone { by, .. } = &mut error {
            *by = NoticedBy::Send { tag: None };
        }
        error
    }

    /// Whether the system, or the transport, had no memory for it, and may have some later.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Self::Transport(error) if matches!(**error, ShmError::NoMemory { .. }))
    }
}

impl From<ShmError> for Error {
    #[cold]
    fn from(error: ShmError) -> Self {
        match error {
            ShmError::Gone { process, how } => Self::Gone {
                process,
                how,
                by: NoticedBy::Other,
            },
            ShmError::NoBuffer { .. } => Self::NoBuffer(Box::new(error)),
            error => Self::Transport(Box::new(error)),
        }
    }
}
