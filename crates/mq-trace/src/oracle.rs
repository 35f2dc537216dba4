//! [`Oracle`]: the matching rules as plain code.

use core::mem;
use std::collections::VecDeque;

use mq_core::{
    Arrive, ArriveOf, Config, Entry, EntryOf, Envelope, EnvelopeOf, FoundMessageOf, FoundReceiveOf,
    Handle, MatchQueues, MessageHandle, Meter, Pattern, Post, PostOf, Queue, Removed, RemovedOf,
    Scope, SeenMessageOf, TakenMessageOf, matches,
};

/// An ordered list of receives and one of messages, searched from the front.
///
/// This is the contract of [`MatchQueues`] as code, kept too simple to be wrong. It shares no storage,
/// list or search with the structures that are compared with it. Like them it asks [`matches()`] what a
/// pattern matches; the tests of [`conformance`](crate::conformance) compare that function with the rule
/// written out.
///
/// # Cost
/// Every operation is linear.
#[derive(Debug)]
pub struct Oracle<P: Pattern, R, M> {
    posted: VecDeque<(u64, P, R)>,
    unexpected: VecDeque<(u64, P::Envelope, M)>,
    next_sequence: u64,
    queued: u32,
}

impl<P: Pattern, R, M> Oracle<P, R, M> {
    fn first_message(&self, pattern: &P, meter: &mut impl Meter) -> Option<usize> {
        let position = self
            .unexpected
            .iter()
            .position(|(_, e, _)| matches(pattern, e));
        let visited = position.map_or(self.unexpected.len(), |p| p + 1);
        meter.visited(Queue::Unexpected, count(visited));
        position
    }

    fn first_receive(&self, envelope: &P::Envelope, meter: &mut impl Meter) -> Option<usize> {
        let position = self
            .posted
            .iter()
            .position(|(_, p, _)| matches(p, envelope));
        let visited = position.map_or(self.posted.len(), |p| p + 1);
        meter.visited(Queue::Posted, count(visited));
        position
    }

    fn shown_receive((sequence, pattern, receive): &(u64, P, R)) -> Entry<'_, P, R, M> {
        Entry::Posted(receive_name(*pattern, *sequence), *pattern, receive)
    }

    fn shown_message((sequence, envelope, message): &(u64, P::Envelope, M)) -> Entry<'_, P, R, M> {
        Entry::Unexpected(message_name(*envelope, *sequence), *envelope, message)
    }
}

fn receive_name(pattern: impl Pattern, sequence: u64) -> Handle {
    Handle::new(pattern.context(), 0, sequence)
}

fn message_name(envelope: impl Envelope, sequence: u64) -> MessageHandle {
    MessageHandle::new(Handle::new(envelope.context(), 0, sequence))
}

/// Takes out the entry found at `position`.
fn at<T>(entries: &mut VecDeque<T>, position: usize) -> T {
    entries.remove(position).expect("it was found there")
}

fn count(entries: usize) -> u32 {
    u32::try_from(entries).unwrap_or(u32::MAX)
}

impl<P: Pattern, R, M> MatchQueues for Oracle<P, R, M> {
    type Pattern = P;
    type Receive = R;
    type Message = M;

    fn with_config(config: &Config) -> Self {
        Self {
            posted: VecDeque::new(),
            unexpected: VecDeque::new(),
            next_sequence: config.first_sequence,
            queued: 0,
        }
    }

    fn scope(_: &Config) -> Scope {
        Scope::Process
    }

    fn post_metered(&mut self, pattern: P, receive: R, meter: &mut impl Meter) -> PostOf<Self> {
        if let Some(position) = self.first_message(&pattern, meter) {
            let (_, envelope, message) = at(&mut self.unexpected, position);
            return Post::Matched {
                envelope,
                message,
                receive,
            };
        }
        Post::Queued(self.queue_receive(pattern, receive))
    }

    fn arrive_metered(
        &mut self,
        envelope: EnvelopeOf<Self>,
        message: M,
        meter: &mut impl Meter,
    ) -> ArriveOf<Self> {
        if let Some(position) = self.first_receive(&envelope, meter) {
            let (_, pattern, receive) = at(&mut self.posted, position);
            return Arrive::Matched {
                pattern,
                receive,
                message,
            };
        }
        self.queue_message(envelope, message);
        Arrive::Unexpected
    }

    fn extract_metered(
        &mut self,
        pattern: &P,
        meter: &mut impl Meter,
    ) -> Option<TakenMessageOf<Self>> {
        let position = self.first_message(pattern, meter)?;
        let (_, envelope, message) = at(&mut self.unexpected, position);
        Some((envelope, message))
    }

    fn deliver_metered(
        &mut self,
        envelope: &EnvelopeOf<Self>,
        meter: &mut impl Meter,
    ) -> Option<(P, R)> {
        let position = self.first_receive(envelope, meter)?;
        let (_, pattern, receive) = at(&mut self.posted, position);
        Some((pattern, receive))
    }

    fn probe_metered(
        &mut self,
        pattern: &P,
        meter: &mut impl Meter,
    ) -> Option<SeenMessageOf<'_, Self>> {
        let position = self.first_message(pattern, meter)?;
        let (_, envelope, message) = &self.unexpected[position];
        Some((*envelope, message))
    }

    fn find_metered(
        &mut self,
        pattern: &P,
        meter: &mut impl Meter,
    ) -> Option<FoundMessageOf<'_, Self>> {
        let position = self.first_message(pattern, meter)?;
        let (sequence, envelope, message) = &self.unexpected[position];
        Some((message_name(*envelope, *sequence), *envelope, message))
    }

    fn find_receive_metered(
        &mut self,
        envelope: &EnvelopeOf<Self>,
        meter: &mut impl Meter,
    ) -> Option<FoundReceiveOf<'_, Self>> {
        let position = self.first_receive(envelope, meter)?;
        let (sequence, pattern, receive) = &self.posted[position];
        Some((receive_name(*pattern, *sequence), *pattern, receive))
    }

    fn take(&mut self, message: MessageHandle) -> Option<TakenMessageOf<Self>> {
        let named = |entry: &(u64, _, _)| entry.0 == message.sequence();
        let position = self.unexpected.iter().position(named)?;
        let (_, envelope, message) = at(&mut self.unexpected, position);
        Some((envelope, message))
    }

    fn queue_receive(&mut self, pattern: P, receive: R) -> Handle {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.queued = self.queued.wrapping_add(1);
        self.posted.push_back((sequence, pattern, receive));
        receive_name(pattern, sequence)
    }

    fn queue_message(&mut self, envelope: EnvelopeOf<Self>, message: M) -> MessageHandle {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.queued = self.queued.wrapping_add(1);
        self.unexpected.push_back((sequence, envelope, message));
        message_name(envelope, sequence)
    }

    fn cancel(&mut self, handle: Handle) -> Option<R> {
        let named = |entry: &(u64, P, R)| entry.0 == handle.sequence();
        let position = self.posted.iter().position(named)?;
        Some(at(&mut self.posted, position).2)
    }

    fn purge(
        &mut self,
        select: &mut dyn FnMut(EntryOf<'_, Self>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Self>),
    ) {
        let posted = self.posted.iter();
        let posted: Vec<bool> = posted
            .map(|entry| select(Self::shown_receive(entry)))
            .collect();
        let unexpected = self.unexpected.iter();
        let unexpected: Vec<bool> = unexpected
            .map(|entry| select(Self::shown_message(entry)))
            .collect();
        for (entry, chosen) in mem::take(&mut self.posted).into_iter().zip(posted) {
            match chosen {
                true => back(Removed::Posted(entry.1, entry.2)),
                false => self.posted.push_back(entry),
            }
        }
        for (entry, chosen) in mem::take(&mut self.unexpected).into_iter().zip(unexpected) {
            match chosen {
                true => back(Removed::Unexpected(entry.1, entry.2)),
                false => self.unexpected.push_back(entry),
            }
        }
    }

    fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Self>)) {
        self.posted
            .iter()
            .for_each(|entry| visitor(Self::shown_receive(entry)));
        self.unexpected
            .iter()
            .for_each(|entry| visitor(Self::shown_message(entry)));
    }

    fn posted_len(&self) -> usize {
        self.posted.len()
    }

    fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }

    fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    fn queued_total(&self) -> u32 {
        self.queued
    }

    fn raise_sequence(&mut self, sequence: u64) {
        self.next_sequence = self.next_sequence.max(sequence);
    }

    fn add_context(&mut self, config: &Config) {
        self.raise_sequence(config.first_sequence);
    }

    fn clear(&mut self) {
        self.posted.clear();
        self.unexpected.clear();
    }
}
