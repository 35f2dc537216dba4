//! [`Subject`]: what takes steps, and how its answers are written down.

use std::collections::BTreeMap;

use mq_core::{
    Arrive, CollectiveCall, ContextId, Entry, Envelope, Error, Handle, MessageHandle, Pattern,
    Post, Refused, Removed, Source, Tag, TrafficClass, Used,
};

use super::RANKS;
use super::family::EnvelopeFamily;
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
pub(super) trait Subject<P: Pattern> {
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
    /// What is queued, by context, in order.
    fn contents(&self) -> BTreeMap<u32, Vec<String>>;
}

/// Numbers of receives and messages, and the handles of receives.
#[derive(Default)]
pub(super) struct Numbers {
    pub(super) handles: Vec<Option<Handle>>,
    pub(super) messages: u32,
    /// The message last queued in halves; its name is stale if the message has left since.
    pub(super) last_message: Option<MessageHandle>,
}

impl Numbers {
    pub(super) fn next_receive(&mut self) -> u32 {
        self.handles.push(None);
        u32::try_from(self.handles.len() - 1).expect("few steps")
    }

    pub(super) fn next_message(&mut self) -> u32 {
        self.messages += 1;
        self.messages - 1
    }

    pub(super) fn posted<E: core::fmt::Debug>(
        &mut self,
        receive: u32,
        post: Post<E, u32, u32>,
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
                if back != receive {
                    return Outcome::Wrong(format!("receive {back} back instead of {receive}"));
                }
                Outcome::Matched(message, format!("{envelope:?}"))
            }
        }
    }

    /// The second half of posting a receive.
    pub(super) fn in_halves<E: core::fmt::Debug>(
        &mut self,
        receive: u32,
        taken: Option<(E, u32)>,
        queue: impl FnOnce() -> Result<Handle, Refused<u32>>,
    ) -> Outcome {
        if taken.is_some() {
            return found(taken);
        }
        match queue() {
            Ok(handle) => {
                self.handles[receive as usize] = Some(handle);
                Outcome::Queued
            }
            Err(refused) => Outcome::Refused(refused.error, refused.payload),
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

pub(super) fn arrived<P: core::fmt::Debug>(message: u32, arrival: Arrive<P, u32, u32>) -> Outcome {
    match arrival {
        Arrive::Unexpected => Outcome::Unexpected,
        Arrive::Matched {
            pattern,
            receive,
            message: back,
        } => {
            if back != message {
                return Outcome::Wrong(format!("message {back} back instead of {message}"));
            }
            Outcome::Matched(receive, format!("{pattern:?}"))
        }
    }
}

/// The answer to taking a message by name, which was then tried again.
pub(super) fn taken<E: core::fmt::Debug>(
    first: Option<(E, u32)>,
    again: Option<(E, u32)>,
) -> Outcome {
    match again {
        None => found(first),
        Some((_, message)) => Outcome::Wrong(format!("message {message}, by a name used before")),
    }
}

pub(super) fn found<E: core::fmt::Debug>(found: Option<(E, u32)>) -> Outcome {
    match found {
        Some((partner, number)) => Outcome::Matched(number, format!("{partner:?}")),
        None => Outcome::Nothing,
    }
}

/// Whether a purge step chooses an entry: all of a context, or those that name a source and every third
/// of the receives that name none.
pub(super) fn chosen<P: Pattern>(
    entry: &Entry<'_, P, u32, u32>,
    comm: u32,
    source: Option<u32>,
) -> bool {
    let (context, from, number) = match entry {
        Entry::Posted(_, pattern, number) => (pattern.context(), pattern.source(), **number),
        Entry::Unexpected(_, envelope, number) => {
            let from = Source::Rank(envelope.source());
            (envelope.context(), from, **number)
        }
    };
    let is_chosen = |rank: u32| match from {
        Source::Any => number % 3 == rank % 3,
        named => named == Source::from(rank),
    };
    context.0 == comm && source.is_none_or(is_chosen)
}

/// A handle of a freed context has taken a receive.
pub(super) fn show_wrong(handle: Handle, receive: u32) -> String {
    format!("receive {receive}, by the stale {handle:?}")
}

pub(super) fn show_removed<P: Pattern>(removed: &Removed<P, u32, u32>) -> String {
    match removed {
        Removed::Posted(pattern, receive) => format!("{pattern:?} {receive}"),
        Removed::Unexpected(envelope, message) => format!("{envelope:?} {message}"),
    }
}

pub(super) fn show_entry<P: Pattern>(entry: &Entry<'_, P, u32, u32>) -> (u32, String) {
    match entry {
        Entry::Posted(_, p, receive) => (p.context().0, format!("{p:?} {receive}")),
        Entry::Unexpected(_, e, message) => (e.context().0, format!("{e:?} {message}")),
    }
}

pub(super) fn call(comm: u32, tag: i32, bytes: u32) -> CollectiveCall {
    let class = TrafficClass::from_open_mpi_tag(Tag(tag));
    CollectiveCall::new(ContextId(comm), class, bytes as usize, RANKS)
}
