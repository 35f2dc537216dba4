//! What the operations of [`MatchQueues`] return and show, and the names of these types for a structure.

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
    /// Nothing matched: the message waits to be received. It gets no name here. A caller that may have
    /// to withdraw it, to cancel the send, takes the step in halves and gets a name from
    /// [`queue_message`](MatchQueues::queue_message).
    Unexpected,
}

impl<E, R, M> Post<E, R, M> {
    /// The envelope, the message, and the receive that took it; `None` if the receive waits.
    #[inline]
    pub fn matched(self) -> Option<(E, M, R)> {
        match self {
            Self::Matched {
                envelope,
                message,
                receive,
            } => Some((envelope, message, receive)),
            Self::Queued(_) => None,
        }
    }

    /// The name of a receive that waits.
    #[inline]
    pub const fn handle(&self) -> Option<Handle> {
        match *self {
            Self::Queued(handle) => Some(handle),
            Self::Matched { .. } => None,
        }
    }
}

impl<P, R, M> Arrive<P, R, M> {
    /// The pattern, the receive, and the message that it takes; `None` if the message waits.
    #[inline]
    pub fn matched(self) -> Option<(P, R, M)> {
        match self {
            Self::Matched {
                pattern,
                receive,
                message,
            } => Some((pattern, receive, message)),
            Self::Unexpected => None,
        }
    }
}

/// One entry of either queue, as shown to a visitor, with its name.
#[derive(Debug)]
pub enum Entry<'a, P: Pattern, R, M> {
    /// A posted receive; [`cancel`](MatchQueues::cancel) takes it out by its name.
    Posted(Handle, P, &'a R),
    /// An unexpected message; [`take`](MatchQueues::take) takes it out by its name.
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
            Self::Posted(name, ..) => name.context(),
            Self::Unexpected(name, ..) => name.context(),
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

/// An unexpected message taken out of a structure.
pub type TakenOf<Q> = (EnvelopeOf<Q>, <Q as MatchQueues>::Message);

/// A posted receive taken out of a structure.
pub type DeliveredOf<Q> = (<Q as MatchQueues>::Pattern, <Q as MatchQueues>::Receive);

/// An unexpected message shown and left in place.
pub type SeenOf<'a, Q> = (EnvelopeOf<Q>, &'a <Q as MatchQueues>::Message);

/// An unexpected message shown, named and left in place.
pub type FoundOf<'a, Q> = (
    MessageHandle,
    EnvelopeOf<Q>,
    &'a <Q as MatchQueues>::Message,
);

/// A posted receive shown, named and left in place.
pub type ShownOf<'a, Q> = (
    Handle,
    <Q as MatchQueues>::Pattern,
    &'a <Q as MatchQueues>::Receive,
);
