//! [`Subject`]: what takes steps, and how its answers are written down.

use core::fmt::Debug;
use std::collections::BTreeMap;

use mq_core::{
    Arrive, CollectiveCall, ContextId, Entry, Envelope, Error, Handle, MessageHandle, Pattern,
    Post, Refused, Removed, Source, Tag, TrafficClass, Used,
};

use super::RANKS;
use super::family::EnvelopeFamily;
use super::payload::{Maker, Payload};
use super::step::Step;

/// The answer to a step. A partner is its number and the `Debug` output of its pattern or envelope, so
/// that returning a changed one is a difference too.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Queued,
    Unexpected,
    Matched(u32, String),
    Nothing,
    Cancelled(u32),
    Purged(Vec<String>),
    Refused(Error, u32),
    /// What no structure may answer.
    Wrong(String),
}

/// Something that takes steps.
pub(super) trait Subject<P: Pattern>: Sized {
    fn perform<F: EnvelopeFamily<Pattern = P>>(&mut self, step: &Step) -> Outcome;
    /// Posted receives and unexpected messages queued.
    fn lengths(&self) -> (usize, usize);
    /// The lengths of the unexpected queue at which a high mark was reached.
    fn crossings(&self) -> Vec<usize> {
        Vec::new()
    }
    /// What is counted against budgets and marks, if anything is.
    fn used(&self) -> Option<Used> {
        None
    }
    /// How many entries have been queued, if this counts them.
    fn queued_total(&self) -> Option<u32> {
        None
    }
    /// What is wrong with the numbers of entries, if anything is.
    fn misnumbered(&self) -> Option<&str> {
        None
    }
    /// The payloads that were made for it.
    fn numbers(&self) -> &Numbers;
    /// The same, after it has been dropped.
    fn into_numbers(self) -> Numbers;
    /// What is queued, by context, in order.
    fn contents(&self) -> BTreeMap<u32, Vec<String>>;
}

/// Receives and messages that were made, by number, and the handles of receives.
#[derive(Default)]
pub(super) struct Numbers {
    pub(super) handles: Vec<Option<Handle>>,
    pub(super) messages: u32,
    pub(super) made_receives: Maker,
    pub(super) made_messages: Maker,
    /// The message last queued in halves; its handle is stale if the message has left since.
    pub(super) last_message: Option<MessageHandle>,
}

impl Numbers {
    /// The number of the next receive, and the receive.
    pub(super) fn next_receive<R: Payload>(&mut self) -> (u32, R) {
        let number = u32::try_from(self.handles.len()).expect("few steps");
        self.handles.push(None);
        (number, self.made_receives.make(number))
    }

    /// The number of the next message, and the message.
    pub(super) fn next_message<M: Payload>(&mut self) -> (u32, M) {
        let number = self.messages;
        self.messages += 1;
        (number, self.made_messages.make(number))
    }

    pub(super) fn posted<E: Debug, R: Payload, M: Payload>(
        &mut self,
        receive: u32,
        post: Post<E, R, M>,
    ) -> Outcome {
        match post {
            Post::Queued(handle) => {
                self.handles[receive as usize] = Some(handle);
                Outcome::Queued
            }
            Post::Matched {
                envelope,
                message,
                receive: back,
            } => {
                let back = back.number();
                if back != receive {
                    return Outcome::Wrong(format!("receive {back} back instead of {receive}"));
                }
                Outcome::Matched(message.number(), format!("{envelope:?}"))
            }
        }
    }

    /// The second half of posting a receive.
    pub(super) fn in_halves<E: Debug, R: Payload, M: Payload>(
        &mut self,
        receive: u32,
        taken: Option<(E, M)>,
        queue: impl FnOnce() -> Result<Handle, Refused<R>>,
    ) -> Outcome {
        if taken.is_some() {
            return found(taken);
        }
        match queue() {
            Ok(handle) => {
                self.handles[receive as usize] = Some(handle);
                Outcome::Queued
            }
            Err(back) => refused(&back),
        }
    }

    /// Handles of a context that exists no longer, those given last: none of them names anything.
    pub(super) fn stale(&self, comm: u32) -> impl Iterator<Item = Handle> {
        const MOST: usize = 64;
        let all = self.handles.iter().rev().flatten();
        all.filter(move |handle| handle.context().0 == comm)
            .take(MOST)
            .copied()
    }

    pub(super) fn handle(&self, receive: u32) -> Option<Handle> {
        self.handles.get(receive as usize).copied().flatten()
    }
}

pub(super) fn refused<T: Payload>(refused: &Refused<T>) -> Outcome {
    Outcome::Refused(refused.error, refused.payload.number())
}

pub(super) fn arrived<P: Debug, R: Payload, M: Payload>(
    message: u32,
    arrival: Arrive<P, R, M>,
) -> Outcome {
    match arrival {
        Arrive::Unexpected => Outcome::Unexpected,
        Arrive::Matched {
            pattern,
            receive,
            message: back,
        } => {
            let back = back.number();
            if back != message {
                return Outcome::Wrong(format!("message {back} back instead of {message}"));
            }
            Outcome::Matched(receive.number(), format!("{pattern:?}"))
        }
    }
}

/// The answer to taking a message by its handle, which was then tried again.
pub(super) fn taken<E: Debug, M: Payload>(first: Option<(E, M)>, again: Option<(E, M)>) -> Outcome {
    match again {
        None => found(first),
        Some((_, message)) => {
            let number = message.number();
            Outcome::Wrong(format!("message {number}, by a handle used before"))
        }
    }
}

pub(super) fn found<E: Debug, T: Payload>(found: Option<(E, T)>) -> Outcome {
    match found {
        Some((partner, payload)) => Outcome::Matched(payload.number(), format!("{partner:?}")),
        None => Outcome::Nothing,
    }
}

/// The answer that is an entry which stays queued.
pub(super) fn shown<E: Debug, T: Payload>(shown: Option<(E, &T)>) -> Outcome {
    match shown {
        Some((partner, payload)) => Outcome::Matched(payload.number(), format!("{partner:?}")),
        None => Outcome::Nothing,
    }
}

/// The answer to cancelling a receive.
pub(super) fn cancelled<R: Payload>(back: Option<R>) -> Outcome {
    back.map_or(Outcome::Nothing, |receive| {
        Outcome::Cancelled(receive.number())
    })
}

/// Whether a purge step chooses an entry: all of a context, or those that name a source and every third
/// of the receives that name none.
pub(super) fn chosen<P: Pattern, R: Payload, M: Payload>(
    entry: &Entry<'_, P, R, M>,
    comm: u32,
    source: Option<u32>,
) -> bool {
    let (context, from, number) = match entry {
        Entry::Posted(_, pattern, receive) => {
            (pattern.context(), pattern.source(), receive.number())
        }
        Entry::Unexpected(_, envelope, message) => {
            let from = Source::Rank(envelope.source());
            (envelope.context(), from, message.number())
        }
    };
    let is_chosen = |rank: u32| match from {
        Source::Any => number % 3 == rank % 3,
        named => named == Source::from(rank),
    };
    context.0 == comm && source.is_none_or(is_chosen)
}

/// A handle of a freed context has taken a receive.
pub(super) fn show_wrong(handle: Handle, receive: &impl Payload) -> String {
    format!("receive {}, by the stale {handle:?}", receive.number())
}

pub(super) fn show_removed<P: Pattern, R: Payload, M: Payload>(
    removed: &Removed<P, R, M>,
) -> String {
    match removed {
        Removed::Posted(pattern, receive) => format!("{pattern:?} {}", receive.number()),
        Removed::Unexpected(envelope, message) => format!("{envelope:?} {}", message.number()),
    }
}

pub(super) fn show_entry<P: Pattern, R: Payload, M: Payload>(
    entry: &Entry<'_, P, R, M>,
) -> (u32, String) {
    match entry {
        Entry::Posted(_, p, receive) => (p.context().0, format!("{p:?} {}", receive.number())),
        Entry::Unexpected(_, e, message) => (e.context().0, format!("{e:?} {}", message.number())),
    }
}

pub(super) fn call(comm: u32, tag: i32, bytes: u32) -> CollectiveCall {
    let class = TrafficClass::from_open_mpi_tag(Tag(tag));
    CollectiveCall::new(ContextId(comm), class, bytes as usize, RANKS)
}
