//! The queues of a process: the oldest receives in [front](super::front), everything else in an engine of `mq-core`.
//!
//! What the engine holds is counted here, so that the quick ways need not enter it to find out that it is empty.

use std::collections::HashMap;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::{AnyQueues, Choice};
use mq_core::{ContextOptions, Engine, EngineOptions, Entry, Handle, MessageHandle, Post, Removed};

use super::Hand;
use super::front::Front;
use crate::error::{Error, tag_asked};

/// Receives carry their request's slot, messages theirs.
type Queues = AnyQueues<MpiPattern, u32, u32>;

/// What has been taken out of the engine.
pub(super) type Ended = Removed<MpiPattern, u32, u32>;

/// Where a receive has got to.
pub(super) enum Posted {
    /// Into the posted queue.
    Queued(Handle),
    /// It has taken this message.
    Matched(u32),
}

/// The tags for which receives ask, but for those that ask for several.
pub(super) struct TagsAsked(HashMap<u32, i32>);

impl TagsAsked {
    pub(super) fn by(&self, receive: u32) -> Option<i32> {
        self.0.get(&receive).copied()
    }
}

/// The posted and the unexpected queue.
#[derive(Debug)]
pub(crate) struct Matching {
    /// The oldest posted receives, if they wait for few things.
    pub(super) front: Front,
    engine: Engine<Queues>,
    /// Receives in the engine.
    posted: usize,
    /// Messages in the engine.
    unexpected: usize,
}

impl Matching {
    pub(super) fn new(structure: &Choice) -> Self {
        Self {
            front: Front::default(),
            engine: Engine::with_options(EngineOptions::new().choice(structure)),
            posted: 0,
            unexpected: 0,
        }
    }

    /// 0 if no receive and no message waits; any other number if one does.
    #[inline(always)]
    pub(crate) fn waiting(&self) -> usize {
        self.front.runs() | self.waiting_in_engine()
    }

    /// The same without the receives in front.
    #[inline(always)]
    pub(super) fn waiting_in_engine(&self) -> usize {
        self.posted | self.unexpected
    }

    /// Whether a receive waits.
    #[inline(always)]
    pub(super) fn has_posted(&self) -> bool {
        self.front.runs() | self.posted != 0
    }

    #[cfg(test)]
    pub(super) fn lengths(&self) -> [usize; 3] {
        let Self {
            front,
            engine,
            posted,
            unexpected,
        } = self;
        assert_eq!(
            [engine.posted_len(), engine.unexpected_len()],
            [*posted, *unexpected]
        );
        [front.runs(), *posted, *unexpected]
    }

    /// Takes out the receive in the engine that takes a message.
    #[inline(always)]
    pub(super) fn deliver(&mut self, envelope: &MpiEnvelope) -> Result<Option<u32>, Error> {
        if self.posted == 0 {
            return Ok(None);
        }
        let delivered = self.engine.deliver(envelope)?;
        self.posted -= usize::from(delivered.is_some());
        Ok(delivered.map(|(_, receive)| receive))
    }

    /// Queues a message that no receive takes.
    pub(super) fn keep(
        &mut self,
        envelope: MpiEnvelope,
        message: u32,
    ) -> Result<MessageHandle, Error> {
        if self.posted == 0 {
            // The search that has to precede this, and was left out.
            let none = self.engine.deliver(&envelope)?;
            debug_assert!(none.is_none(), "receives are counted");
        }
        let name = self.engine.queue_message(envelope, message);
        let name = name.map_err(|refused| refused.error)?;
        self.unexpected += 1;
        Ok(name)
    }

    /// Finds the message that a receive would take.
    #[inline(always)]
    pub(super) fn probe(&mut self, pattern: &MpiPattern) -> Result<Option<u32>, Error> {
        if self.unexpected == 0 {
            return Ok(None);
        }
        let found = self.engine.probe(pattern)?;
        Ok(found.map(|(_, &message)| message))
    }

    /// Takes out the message that a receive takes.
    #[inline(always)]
    pub(super) fn extract(&mut self, pattern: &MpiPattern) -> Result<Option<u32>, Error> {
        if self.unexpected == 0 {
            return Ok(None);
        }
        let extracted = self.engine.extract(pattern)?;
        self.unexpected -= usize::from(extracted.is_some());
        Ok(extracted.map(|(_, message)| message))
    }

    /// Queues a receive, unless it takes a message.
    #[inline(always)]
    pub(super) fn post(&mut self, pattern: MpiPattern, receive: u32) -> Result<Posted, Error> {
        match self.engine.post(pattern, receive) {
            Ok(Post::Queued(name)) => {
                self.posted += 1;
                Ok(Posted::Queued(name))
            }
            Ok(Post::Matched { message, .. }) => {
                self.unexpected -= 1;
                Ok(Posted::Matched(message))
            }
            Err(refused) => Err(refused.error.into()),
        }
    }

    /// Takes a receive out of the engine.
    #[inline(always)]
    pub(super) fn cancel(&mut self, name: Handle) -> Option<u32> {
        let cancelled = self.engine.cancel(name);
        self.posted -= usize::from(cancelled.is_some());
        cancelled
    }

    /// Takes a message out, if it is still there.
    pub(super) fn take(&mut self, name: MessageHandle) {
        let taken = self.engine.take(name);
        self.unexpected -= usize::from(taken.is_some());
    }

    /// What a receive asks for that waits.
    ///
    /// # Cost
    /// A look at all receives.
    pub(super) fn pattern_of(&self, receive: u32) -> Option<MpiPattern> {
        let mut found = self.front.pattern_of(receive);
        self.engine.visit(&mut |entry| match entry {
            Entry::Posted(_, pattern, &waits) if waits == receive => found = Some(pattern),
            _ => {}
        });
        found
    }

    /// The tags for which the receives ask that wait, and one in hand.
    ///
    /// # Cost
    /// A look at all receives.
    pub(super) fn tags_asked(&self, hand: Option<&Hand>) -> TagsAsked {
        let mut tags = HashMap::new();
        let mut note = |receive, pattern: &MpiPattern| {
            if let Some(tag) = tag_asked(pattern) {
                tags.insert(receive, tag);
            }
        };
        if let Some(Hand { request, pattern }) = hand {
            note(*request, pattern);
        }
        self.front.visit(&mut note);
        self.engine.visit(&mut |entry| {
            if let Entry::Posted(_, pattern, &receive) = entry {
                note(receive, &pattern);
            }
        });
        TagsAsked(tags)
    }

    pub(super) fn create_context(&mut self, context: u32, processes: u32) {
        let options = ContextOptions::new().size(processes);
        let created = self.engine.create_context(context, options);
        debug_assert_eq!(created, Ok(()));
    }

    /// Takes a context out of the engine; puts what was queued there after what has been `removed`.
    pub(super) fn free_context(
        &mut self,
        context: u32,
        removed: &mut Vec<Ended>,
    ) -> Result<(), Error> {
        let before = removed.len();
        let freed = (self.engine).free_context(context, &mut |entry| removed.push(entry));
        self.count_out(&removed[before..]);
        Ok(freed?)
    }

    /// Takes those entries of a context out of the engine that end; puts them after what has been `removed`.
    pub(super) fn purge_context(
        &mut self,
        context: u32,
        ends: &mut dyn FnMut(Entry<'_, MpiPattern, u32, u32>) -> bool,
        removed: &mut Vec<Ended>,
    ) -> Result<(), Error> {
        let before = removed.len();
        let purged = (self.engine).purge_context(context, ends, &mut |entry| removed.push(entry));
        self.count_out(&removed[before..]);
        Ok(purged?)
    }

    fn count_out(&mut self, removed: &[Ended]) {
        for entry in removed {
            match entry {
                Removed::Posted(..) => self.posted -= 1,
                Removed::Unexpected(..) => self.unexpected -= 1,
            }
        }
    }
}
