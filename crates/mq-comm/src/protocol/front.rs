//! The oldest receives, if they all wait for the same.
//!
//! A window of receives with one pattern is what programs post most. As long as nothing else is posted, they wait here,
//! in the order in which they were posted, and the engine is not entered for them nor for the messages that
//! they take: the receive-queue bypass of more than one receive. Everything that is posted after something else is in the
//! engine, so that every receive here is older than all of those, and the first here is asked first.

use std::collections::VecDeque;

use mq_core::Pattern;
use mq_core::mpi::MpiPattern;
use mq_shm::Process;

use super::{Core, State};
use crate::buffer::Buffer;
use crate::header::{self, Kind, Word};
use crate::request::Stage;
use crate::transport::{Arrived, Transport};

/// How many there are at most: one of them that is cancelled is looked for.
const MOST: usize = 256;

/// Receives of one pattern, none younger than any in the engine. While there are any, messages from their peer are
/// wanted once.
#[derive(Debug, Default)]
pub(crate) struct Front {
    /// That of all of them.
    pattern: Option<MpiPattern>,
    receives: VecDeque<u32>,
}

impl Front {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.receives.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.receives.is_empty()
    }

    /// Takes the oldest receive out, if it takes a message with these words.
    #[inline]
    pub(super) fn matched(&mut self, bits: u64, word: Word) -> Option<u32> {
        let &first = self.receives.front()?;
        if !header::takes(self.pattern.as_ref()?, bits, word) {
            return None;
        }
        self.receives.pop_front();
        Some(first)
    }

    /// Takes a receive out, if it is here.
    pub(super) fn remove(&mut self, receive: u32) -> bool {
        let at = self.receives.iter().position(|&index| index == receive);
        at.is_some_and(|at| self.receives.remove(at).is_some())
    }

    /// Takes all receives of a context out.
    pub(super) fn remove_context(&mut self, context: u32) -> VecDeque<u32> {
        match &self.pattern {
            Some(pattern) if pattern.context().0 == context => core::mem::take(&mut self.receives),
            _ => VecDeque::new(),
        }
    }
}

impl State {
    /// Whether a receive for which nothing has come may wait in front.
    #[inline]
    pub(super) fn front_admits(&self, pattern: &MpiPattern) -> bool {
        // One that has ended is an obstacle, and so is a user who does not want the engine to be passed.
        self.posted == self.front.len()
            && self.unexpected | self.obstacles == 0
            && self.posted < MOST
            && (self.front.is_empty() || self.front.pattern.as_ref() == Some(pattern))
    }

    /// Gives a message to the first receive in front, if it is short, and that is the one to take it. Says then whether
    /// that was the last, and from whom messages are wanted no more.
    #[inline(always)]
    pub(super) fn accept_in_front(&mut self, message: &impl Arrived) -> Option<Option<Process>> {
        if self.front.is_empty() {
            return None;
        }
        let [bits, word] = message.header();
        let word = Word(word);
        let bytes = message.bytes() as u64;
        if message.total() != bytes || word.kind() != Some(Kind::Eager) {
            return None;
        }
        let receive = self.front.matched(bits, word)?;
        self.posted -= 1;
        let slot = self.requests.at_mut(receive);
        let wanted = slot.peer;
        slot.peer = message.source();
        slot.bits = bits;
        slot.total = bytes;
        message.copy_to(slot.buffer.bytes_mut());
        self.received(receive);
        Some(self.front.is_empty().then_some(wanted))
    }
}

impl<T: Transport> Core<T> {
    /// Begins a receive that waits behind others of its kind, if there are any in front.
    #[inline]
    pub(super) fn start_in_front(
        &mut self,
        pattern: &MpiPattern,
        from: Process,
        buffer: Buffer,
    ) -> Result<u32, Buffer> {
        let state = &mut self.state;
        if state.front.is_empty() || !state.front_admits(pattern) {
            return Err(buffer);
        }
        let receive = state.requests.add(Stage::Posted, from, buffer);
        state.requests.at_mut(receive).context = pattern.context().0;
        state.front.receives.push_back(receive);
        state.posted += 1;
        Ok(receive)
    }

    /// Puts a receive in front that the front [admits](State::front_admits).
    pub(super) fn post_in_front(&mut self, pattern: MpiPattern, receive: u32) {
        self.state.front.pattern = Some(pattern);
        self.state.front.receives.push_back(receive);
        self.state.posted += 1;
        self.state.requests.at_mut(receive).stage = Stage::Posted;
    }
}
