//! Errors of the engine: sentences that say what to do.

use core::fmt;

use thiserror::Error;

use crate::envelope::{ContextId, Rank};
use crate::structures::Kind;

/// What to do with a message that exceeds a budget: in MPI, messages of one source may not overtake each other.
const RETRY: &str = "keep the message, and what its source sends after it, and retry";

/// What to do with a message of `wanted` bytes, where `limit` are allowed.
const fn advice(wanted: u64, limit: u64) -> &'static str {
    if wanted > limit {
        "it alone is more than that: keep it, and what its source sends after it, until its receive is posted"
    } else {
        RETRY
    }
}

/// Why the engine refused an operation. Its state is unchanged.
///
/// [`Debug`](fmt::Debug) gives the sentence too: a `main` that returns the error prints that.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The context was never created, or was freed.
    #[error(
        "context {0} does not exist; create it before use, and again after it was freed (a `SharedContext` of it serves \
         only the one that it was made for)"
    )]
    UnknownContext(ContextId),
    /// The context exists already.
    #[error("context {0} exists already; free it before creating it again")]
    ContextExists(ContextId),
    /// An operation through the `SharedContext` of one context names another context.
    #[error("this `SharedContext` is of context {handle}; use that of context {named}")]
    OtherContext {
        /// The context of the `SharedContext`.
        handle: ContextId,
        /// The context of the receive or message.
        named: ContextId,
    },
    /// A context cannot have 0 ranks.
    #[error("context {0} cannot have 0 ranks; leave the size out if it is unknown")]
    NoRanks(ContextId),
    /// A rank outside the communicator.
    #[error("rank {rank} is outside context {context}, which has {size} ranks")]
    RankOutOfRange {
        /// The context.
        context: ContextId,
        /// The rank given.
        rank: Rank,
        /// Ranks of the context.
        size: u32,
    },
    /// A receive from any source, where the promise is that there are none (`mpi_assert_no_any_source`).
    #[error("context {0} has the promise no_any_source; name the source of the receive")]
    AnySourceForbidden(ContextId),
    /// A receive of any tag, where the promise is that there are none (`mpi_assert_no_any_tag`).
    #[error("context {0} has the promise no_any_tag; name the tag of the receive")]
    AnyTagForbidden(ContextId),
    /// Promises cannot be withdrawn while entries are queued whose place depends on them: see
    /// `SharedEngine::update_context`.
    #[error(
        "context {0} is divided by its promises no_any_source and no_any_tag; withdraw them only \
         while its shards are empty"
    )]
    PromisesInUse(ContextId),
    /// The budget of unexpected messages is used up.
    #[error("the budget of {limit} unexpected messages is used up; {RETRY}")]
    EntryBudget {
        /// Messages allowed.
        limit: usize,
    },
    /// The budget of bytes in unexpected messages does not cover this one.
    #[error(
        "{wanted} bytes more would exceed the budget of {limit} bytes in unexpected messages, of \
         which {used} are used; {}",
        advice(*.wanted, *.limit)
    )]
    ByteBudget {
        /// Bytes allowed.
        limit: u64,
        /// Bytes queued now.
        used: u64,
        /// Bytes of the message.
        wanted: u64,
    },
    /// The budget of unexpected messages from the message's source is used up.
    #[error(
        "rank {rank} of context {context} has used up its budget of {limit} unexpected messages; {RETRY}"
    )]
    SourceEntryBudget {
        /// The context.
        context: ContextId,
        /// The source.
        rank: Rank,
        /// Messages allowed from each source.
        limit: usize,
    },
    /// The budget of bytes in unexpected messages from the message's source does not cover this
    /// one.
    #[error(
        "{wanted} bytes more would exceed the budget of {limit} bytes in unexpected messages from \
         rank {rank} of context {context}, of which {used} are used; {}",
        advice(*.wanted, *.limit)
    )]
    SourceByteBudget {
        /// The context.
        context: ContextId,
        /// The source.
        rank: Rank,
        /// Bytes allowed from each source.
        limit: u64,
        /// Bytes queued from it now.
        used: u64,
        /// Bytes of the message.
        wanted: u64,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Whether a budget does not cover the message. That is flow control, not a mistake: the message waits, with what
    /// its source sends after it, and is tried again when receives have taken others. One that is larger than the
    /// budget arrives once its receive is posted.
    #[must_use]
    pub const fn is_over_budget(&self) -> bool {
        matches!(
            self,
            Self::EntryBudget { .. }
                | Self::ByteBudget { .. }
                | Self::SourceEntryBudget { .. }
                | Self::SourceByteBudget { .. }
        )
    }
}

/// A refused operation, with the payload that the caller handed over.
///
/// `?` does not convert it into an [`enum@Error`], since the payload would be silently lost. A caller that
/// does not need the payload writes `.map_err(Refused::into_error)?`. A boxed error keeps the payload, which
/// must then be `'static`, and `Send` and `Sync` if the box is.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused<T> {
    /// Why.
    pub error: Error,
    /// The receive or message, unchanged.
    pub payload: T,
}

impl<T> fmt::Debug for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T> fmt::Display for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> core::error::Error for Refused<T> {}

impl<T> Refused<T> {
    /// For a wrapper of an engine that refuses an operation itself.
    pub const fn new(error: Error, payload: T) -> Self {
        Self { error, payload }
    }

    /// The reason; drops the receive or message.
    pub fn into_error(self) -> Error {
        self.error
    }

    /// The reason, and the receive or message.
    pub fn into_parts(self) -> (Error, T) {
        (self.error, self.payload)
    }
}

/// A name that no structure has.
#[derive(Clone, PartialEq, Eq)]
pub struct UnknownKind {
    name: String,
}

impl UnknownKind {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.into() }
    }
}

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        write!(
            f,
            "unknown structure `{}`; choose one of {}",
            self.name,
            names.join(", ")
        )
    }
}

impl fmt::Debug for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for UnknownKind {}
