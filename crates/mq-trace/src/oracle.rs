//! [`Oracle`]: the matching rules as plain code.

use mq_core::{
    Arrive, ArriveOf, Config, Entry, EntryOf, Envelope, EnvelopeOf, FoundOf, Handle, MatchQueues,
    MessageHandle, Meter, Pattern, Post, PostOf, Queue, Removed, RemovedOf, Scope, SeenOf, ShownOf,
    TakenOf, matches,
};

/// An ordered list of receives and one of messages, searched from the front.
///
/// This is the contract of [`MatchQueues`] as code, kept too simple to be wrong; it shares no
/// storage, list or search with the structures that are compared with it. What a pattern matches it
/// asks [`matches()`], as they do; the tests of [`conformance`](crate::conformance) compare that with
/// the rule written out.
///
/// # Cost
/// Every operation is linear.
#[derive(Debug)]
pub struct Oracle<P: Pattern, R, M> {
    posted: Vec<(u64, P, R)>,
    unexpected: Vec<(u64, P::Envelope, M)>,
    next_sequence: u64,
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
            posted: Vec::new(),
            unexpected: Vec::new(),
            next_sequence: config.first_sequence,
        }
    }

    fn scope(_: &Config) -> Scope {
        Scope::Process
    }

    fn post_metered(&mut self, pattern: P, receive: R, meter: &mut impl Meter) -> PostOf<Self> {
        if let Some(position) = self.first_message(&pattern, meter) {
            let (_, envelope, message) = self.unexpected.remove(position);
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
            let (_, pattern, receive) = self.posted.remove(position);
            return Arrive::Matched {
                pattern,
                receive,
                message,
            };
        }
        self.queue_message(envelope, message);
        Arrive::Unexpected
    }

    fn extract_metered(&mut self, pattern: &P, meter: &mut impl Meter) -> Option<TakenOf<Self>> {
        let position = self.first_message(pattern, meter)?;
        let (_, envelope, message) = self.unexpected.remove(position);
        Some((envelope, message))
    }

    fn deliver_metered(
        &mut self,
        envelope: &EnvelopeOf<Self>,
        meter: &mut impl Meter,
    ) -> Option<(P, R)> {
        let position = self.first_receive(envelope, meter)?;
        let (_, pattern, receive) = self.posted.remove(position);
        Some((pattern, receive))
    }

    fn probe_metered(&mut self, pattern: &P, meter: &mut impl Meter) -> Option<SeenOf<'_, Self>> {
        let position = self.first_message(pattern, meter)?;
        let (_, envelope, message) = &self.unexpected[position];
        Some((*envelope, message))
    }

    fn find_metered(&mut self, pattern: &P, meter: &mut impl Meter) -> Option<FoundOf<'_, Self>> {
        let position = self.first_message(pattern, meter)?;
        let (sequence, envelope, message) = &self.unexpected[position];
        let name = Handle::new(envelope.context(), 0, *sequence);
        Some((MessageHandle::new(name), *envelope, message))
    }

    fn find_receive_metered(
        &mut self,
        envelope: &EnvelopeOf<Self>,
        meter: &mut impl Meter,
    ) -> Option<ShownOf<'_, Self>> {
        let position = self.first_receive(envelope, meter)?;
        let (sequence, pattern, receive) = &self.posted[position];
        let name = Handle::new(pattern.context(), 0, *sequence);
        Some((name, *pattern, receive))
    }

    fn take(&mut self, message: MessageHandle) -> Option<TakenOf<Self>> {
        let named = |entry: &(u64, _, _)| entry.0 == message.sequence();
        let position = self.unexpected.iter().position(named)?;
        let (_, envelope, message) = self.unexpected.remove(position);
        Some((envelope, message))
    }

    fn queue_receive(&mut self, pattern: P, receive: R) -> Handle {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.posted.push((sequence, pattern, receive));
        Handle::new(pattern.context(), 0, sequence)
    }

    fn queue_message(&mut self, envelope: EnvelopeOf<Self>, message: M) -> MessageHandle {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.unexpected.push((sequence, envelope, message));
        MessageHandle::new(Handle::new(envelope.context(), 0, sequence))
    }

    fn cancel(&mut self, handle: Handle) -> Option<R> {
        let named = |entry: &(u64, P, R)| entry.0 == handle.sequence();
        let position = self.posted.iter().position(named)?;
        Some(self.posted.remove(position).2)
    }

    fn purge(
        &mut self,
        select: &mut dyn FnMut(EntryOf<'_, Self>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Self>),
    ) {
        let chosen = self
            .posted
            .extract_if(.., |(_, p, r)| select(Entry::Posted(*p, r)));
        chosen.for_each(|(_, p, r)| back(Removed::Posted(p, r)));
        let chosen = self
            .unexpected
            .extract_if(.., |(_, e, m)| select(Entry::Unexpected(*e, m)));
        chosen.for_each(|(_, e, m)| back(Removed::Unexpected(e, m)));
    }

    fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Self>)) {
        self.posted
            .iter()
            .for_each(|(_, p, r)| visitor(Entry::Posted(*p, r)));
        self.unexpected
            .iter()
            .for_each(|(_, e, m)| visitor(Entry::Unexpected(*e, m)));
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
