//! [`Deques`]: a structure of process scope, written out, that may do one thing wrong.

use std::collections::VecDeque;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::{
    Config, Entry, EntryOf, EnvelopeOf, FoundMessageOf, FoundReceiveOf, Handle, MatchQueues,
    MessageHandle, Meter, Removed, RemovedOf, Scope, TakenMessageOf, matches,
};

pub(super) const NOTHING: u8 = 0;
/// What raises the numbers reaches receives and not messages.
pub(super) const UNRAISED: u8 = 1;
/// Being raised to a number that has been passed lowers the numbers.
pub(super) const LOWERED: u8 = 2;
/// A context more lowers the numbers to those that the engine had when it had queued nothing.
pub(super) const LOWERED_BY_CONTEXTS: u8 = 3;
/// A receive is cancelled by its number, whatever the handle's context.
pub(super) const ANY_CONTEXT: u8 = 4;

/// Dropping all entries forgets their payloads.
pub(super) const FORGETFUL: u8 = 5;

pub(super) struct Deques<const FAULT: u8, T = u32> {
    posted: VecDeque<(u64, MpiPattern, T)>,
    unexpected: VecDeque<(u64, MpiEnvelope, T)>,
    next_receive: u64,
    next_message: u64,
}

fn name_of<T>((number, envelope, _): &(u64, MpiEnvelope, T)) -> MessageHandle {
    MessageHandle::new(Handle::new(envelope.context(), 0, *number))
}

impl<const FAULT: u8, T> MatchQueues for Deques<FAULT, T> {
    type Pattern = MpiPattern;
    type Receive = T;
    type Message = T;

    fn with_config(config: &Config) -> Self {
        Self {
            posted: VecDeque::new(),
            unexpected: VecDeque::new(),
            next_receive: config.first_sequence,
            next_message: config.first_sequence,
        }
    }
    fn scope(_: &Config) -> Scope {
        Scope::Process
    }
    fn find_metered(
        &mut self,
        of: &MpiPattern,
        _: &mut impl Meter,
    ) -> Option<FoundMessageOf<'_, Self>> {
        let mut all = self.unexpected.iter();
        let found = all.find(|(_, envelope, _)| matches(of, envelope))?;
        Some((name_of(found), found.1, &found.2))
    }
    fn find_receive_metered(
        &mut self,
        of: &EnvelopeOf<Self>,
        _: &mut impl Meter,
    ) -> Option<FoundReceiveOf<'_, Self>> {
        let mut all = self.posted.iter();
        let (number, pattern, receive) = all.find(|(_, pattern, _)| matches(pattern, of))?;
        Some((
            Handle::new(pattern.context(), 0, *number),
            *pattern,
            receive,
        ))
    }
    fn take(&mut self, message: MessageHandle) -> Option<TakenMessageOf<Self>> {
        let at = self.unexpected.iter().position(|m| name_of(m) == message)?;
        let (_, envelope, message) = self.unexpected.remove(at)?;
        Some((envelope, message))
    }
    fn queue_receive(&mut self, pattern: MpiPattern, receive: T) -> Handle {
        let number = self.next_receive;
        self.next_receive += 1;
        self.posted.push_back((number, pattern, receive));
        Handle::new(pattern.context(), 0, number)
    }
    fn queue_message(&mut self, envelope: MpiEnvelope, message: T) -> MessageHandle {
        let queued = (self.next_message, envelope, message);
        self.next_message += 1;
        let name = name_of(&queued);
        self.unexpected.push_back(queued);
        name
    }
    fn cancel(&mut self, handle: Handle) -> Option<T> {
        let is_named = |(number, pattern, _): &(u64, MpiPattern, T)| {
            let is_of_context = FAULT == ANY_CONTEXT || pattern.context() == handle.context();
            *number == handle.sequence() && is_of_context
        };
        let at = self.posted.iter().position(is_named)?;
        Some(self.posted.remove(at)?.2)
    }
    fn purge(
        &mut self,
        select: &mut dyn FnMut(EntryOf<'_, Self>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Self>),
    ) {
        let mut chosen = Vec::new();
        self.visit(&mut |entry| chosen.push(select(entry)));
        let messages = chosen.split_off(self.posted.len());
        for (receive, chosen) in core::mem::take(&mut self.posted).into_iter().zip(chosen) {
            match chosen {
                true => back(Removed::Posted(receive.1, receive.2)),
                false => self.posted.push_back(receive),
            }
        }
        for (message, chosen) in core::mem::take(&mut self.unexpected)
            .into_iter()
            .zip(messages)
        {
            match chosen {
                true => back(Removed::Unexpected(message.1, message.2)),
                false => self.unexpected.push_back(message),
            }
        }
    }
    fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Self>)) {
        for (number, pattern, receive) in &self.posted {
            let name = Handle::new(pattern.context(), 0, *number);
            visitor(Entry::Posted(name, *pattern, receive));
        }
        for message in &self.unexpected {
            visitor(Entry::Unexpected(name_of(message), message.1, &message.2));
        }
    }
    fn posted_len(&self) -> usize {
        self.posted.len()
    }
    fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }
    fn next_sequence(&self) -> u64 {
        self.next_receive.max(self.next_message)
    }
    fn raise_sequence(&mut self, sequence: u64) {
        let lowers = FAULT == LOWERED && sequence < self.next_sequence();
        let least = if lowers { 0 } else { self.next_receive };
        self.next_receive = sequence.max(least);
        if FAULT != UNRAISED {
            self.next_message = sequence.max(if lowers { 0 } else { self.next_message });
        }
    }
    fn add_context(&mut self, config: &Config) {
        if FAULT == LOWERED_BY_CONTEXTS {
            self.next_receive = config.first_sequence;
            self.next_message = config.first_sequence;
        }
        self.raise_sequence(config.first_sequence);
    }
    fn clear(&mut self) {
        let posted = core::mem::take(&mut self.posted);
        self.unexpected.clear();
        if FAULT == FORGETFUL {
            core::mem::forget(posted);
        }
    }
}
