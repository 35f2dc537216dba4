//! What the operations of [`MatchQueues`] return and show, and what these types are for a structure.

use super::MatchQueues;
use crate::envelope::{ContextId, Envelope};
use crate::handle::{Handle, MessageHandle};
use crate::pattern::Pattern;

/// What [`MatchQueues::post`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Post<E, R, M> {
    /// The earliest matching unexpected message was taken out of the queue.
    Matched {
        /// What the message carried.
        envelope: E,
        /// The message.
        message: M,
        /// The receive that was to be posted, handed back.
        receive: R,
    },
    /// Nothing matched: the receive is queued, and this is its handle.
    Queued(Handle),
}

/// What [`MatchQueues::arrive`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Arrive<P, R, M> {
    /// The earliest matching posted receive was taken out of the queue.
    Matched {
        /// What the receive had asked for.
        pattern: P,
        /// The receive.
        receive: R,
        /// The message that arrived, handed back.
        message: M,
    },
    /// Nothing matched: the message is queued. Its handle is not returned. A caller that may have to take the
    /// message back, to cancel the send, takes the step in halves:
    /// [`queue_message`](MatchQueues::queue_message) returns the handle.
    Unexpected,
}

/// A receive and the message that it took: see [`Post::matched`] and [`Arrive::matched`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Matched<K, R, M> {
    /// What the one of the two that was queued was matched by: the envelope of a message, the pattern of a receive.
    pub key: K,
    /// The receive.
    pub receive: R,
    /// The message.
    pub message: M,
}

impl<E, R, M> Post<E, R, M> {
    /// The receive and the message that it took, with the message's envelope as key; `None` if the receive was queued.
    #[inline]
    pub fn matched(self) -> Option<Matched<E, R, M>> {
        match self {
            Self::Matched {
                envelope: key,
                message,
                receive,
            } => Some(Matched {
                key,
                receive,
                message,
            }),
            Self::Queued(_) => None,
        }
    }

    /// The handle of the queued receive; `None` if a message was there for it.
    #[inline]
    pub const fn handle(&self) -> Option<Handle> {
        match *self {
            Self::Queued(handle) => Some(handle),
            Self::Matched { .. } => None,
        }
    }
}

impl<P, R, M> Arrive<P, R, M> {
    /// The receive and the message that it took, with the receive's pattern as key; `None` if the message was queued.
    #[inline]
    pub fn matched(self) -> Option<Matched<P, R, M>> {
        match self {
            Self::Matched {
                pattern: key,
                receive,
                message,
            } => Some(Matched {
                key,
                receive,
                message,
            }),
            Self::Unexpected => None,
        }
    }
}

/// One entry of either queue, as shown to a visitor, with its handle.
#[derive(Debug)]
pub enum Entry<'a, P: Pattern, R, M> {
    /// A posted receive; [`cancel`](MatchQueues::cancel) takes it out by its handle.
    Posted(Handle, P, &'a R),
    /// An unexpected message; [`take`](MatchQueues::take) takes it out by its handle.
    Unexpected(MessageHandle, P::Envelope, &'a M),
}

impl<P: Pattern, R, M> Clone for Entry<'_, P, R, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Pattern, R, M> Copy for Entry<'_, P, R, M> {}

impl<P: Pattern, R, M> Entry<'_, P, R, M> {
    /// The context of the entry.
    pub fn context(&self) -> ContextId {
        match self {
            Self::Posted(handle, ..) => handle.context(),
            Self::Unexpected(handle, ..) => handle.context(),
        }
    }
}

/// One entry of either queue, handed back to its owner.
#[derive(Clone, Debug)]
pub enum Removed<P: Pattern, R, M> {
    /// A posted receive that was purged.
    Posted(P, R),
    /// An unexpected message that was purged.
    Unexpected(P::Envelope, M),
}

impl<P: Pattern, R, M> Removed<P, R, M> {
    /// The context in which the entry was queued.
    pub fn context(&self) -> ContextId {
        match self {
            Self::Posted(pattern, _) => pattern.context(),
            Self::Unexpected(envelope, _) => envelope.context(),
        }
    }
}

/// The envelope type of a structure's patterns.
pub type EnvelopeOf<Q> = <<Q as MatchQueues>::Pattern as Pattern>::Envelope;

/// An [`Entry`] of structure `Q`.
pub type EntryOf<'a, Q> = Entry<
    'a,
    <Q as MatchQueues>::Pattern,
    <Q as MatchQueues>::Receive,
    <Q as MatchQueues>::Message,
>;

/// A [`Removed`] entry of structure `Q`.
pub type RemovedOf<Q> =
    Removed<<Q as MatchQueues>::Pattern, <Q as MatchQueues>::Receive, <Q as MatchQueues>::Message>;

/// The result of posting to a structure.
pub type PostOf<Q> = Post<EnvelopeOf<Q>, <Q as MatchQueues>::Receive, <Q as MatchQueues>::Message>;

/// The result of an arrival at a structure.
pub type ArriveOf<Q> =
    Arrive<<Q as MatchQueues>::Pattern, <Q as MatchQueues>::Receive, <Q as MatchQueues>::Message>;

/// An unexpected message, taken out of its queue.
pub type TakenMessageOf<Q> = (EnvelopeOf<Q>, <Q as MatchQueues>::Message);

/// A posted receive, taken out of its queue.
pub type TakenReceiveOf<Q> = (<Q as MatchQueues>::Pattern, <Q as MatchQueues>::Receive);

/// An unexpected message that stays in its queue.
pub type SeenMessageOf<'a, Q> = (EnvelopeOf<Q>, &'a <Q as MatchQueues>::Message);

/// An unexpected message that stays in its queue, and the handle by which it can be taken.
pub type FoundMessageOf<'a, Q> = (
    MessageHandle,
    EnvelopeOf<Q>,
    &'a <Q as MatchQueues>::Message,
);

/// A posted receive that stays in its queue, and the handle by which it can be cancelled.
pub type FoundReceiveOf<'a, Q> = (
    Handle,
    <Q as MatchQueues>::Pattern,
    &'a <Q as MatchQueues>::Receive,
);
