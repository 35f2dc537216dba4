//! The oldest receives, if they all wait for the same.
//!
//! A window of receives with one pattern is what programs post most. As long as nothing else is
//! posted, they wait here, in the order in which they were posted, and the engine is not entered
//! for them nor for the messages that they take: the receive-queue bypass of more than one receive.
//! Everything that is posted after something else is in the engine, so that every receive here is
//! older than all of those, and the first here is asked first.

use mq_core::Pattern;
use mq_core::mpi::MpiPattern;

use super::{Core, State};
use crate::header::{self, Kind, Word};
use crate::request::{Outcome, Stage};
use crate::transport::{Arrived, Transport};

/// How many there are at most: one of them that is cancelled is looked for. A power of two.
const MOST: usize = 256;

/// Receives of one pattern, none younger than any in the engine. While there are any, messages from
/// their peer are wanted once.
#[derive(Debug)]
pub(crate) struct Front {
    /// That of all of them, if there are any.
    pattern: MpiPattern,
    /// A ring.
    receives: [u32; MOST],
    first: usize,
    len: usize,
}

impl Default for Front {
    fn default() -> Self {
        Self {
            pattern: MpiPattern::new(0, 0_u32, 0),
            receives: [0; MOST],
            first: 0,
            len: 0,
        }
    }
}

impl Front {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes the oldest receive out, if it takes a message with these words.
    #[inline]
    pub(super) fn matched(&mut self, bits: u64, word: Word) -> Option<u32> {
        if self.is_empty() || !header::takes(&self.pattern, bits, word) {
            return None;
        }
        let first = self.receives[self.first % MOST];
        self.first += 1;
        self.len -= 1;
        Some(first)
    }

    #[inline(always)]
    fn first(&self) -> Option<&u32> {
        (!self.is_empty()).then(|| &self.receives[self.first % MOST])
    }

    /// Puts a receive behind the others. There is room.
    #[inline]
    fn push(&mut self, receive: u32) {
        self.receives[(self.first + self.len) % MOST] = receive;
        self.len += 1;
    }

    /// Takes a receive out, if it is here.
    pub(super) fn remove(&mut self, receive: u32) -> bool {
        let all = self.drain();
        for &other in all.iter().filter(|&&other| other != receive) {
            self.push(other);
        }
        self.len < all.len()
    }

    /// Takes all receives out.
    fn drain(&mut self) -> Vec<u32> {
        let ring = |at| self.receives[(self.first + at) % MOST];
        let all = (0..self.len).map(ring).collect();
        self.len = 0;
        all
    }

    /// Takes all receives of a context out.
    pub(super) fn remove_context(&mut self, context: u32) -> Vec<u32> {
        if self.pattern.context().0 == context {
            self.drain()
        } else {
            Vec::new()
        }
    }
}

impl State {
    /// Whether a receive for which nothing has come may wait in front.
    #[inline(always)]
    pub(super) fn front_admits(&self, pattern: &MpiPattern) -> bool {
        // One that has ended is an obstacle, and so is a user who does not want the engine to be
        // passed.
        self.posted == self.front.len()
            && self.unexpected | self.obstacles == 0
            && self.posted < MOST
            && (self.front.is_empty() || self.front.pattern == *pattern)
    }

    /// Gives a message to the first receive in front, if that is the one to take it; whether it is.
    /// The message has come whole.
    #[inline(always)]
    fn accept_in_front(&mut self, message: &impl Arrived) -> bool {
        let [bits, word] = message.header();
        let word = Word(word);
        if word.kind() != Some(Kind::Eager) {
            return false;
        }
        let Some(receive) = self.front.matched(bits, word) else {
            return false;
        };
        self.posted -= 1;
        let bytes = message.bytes();
        let slot = self.requests.at_mut(receive);
        slot.peer = message.source();
        slot.bits = bits;
        slot.total = bytes as u64;
        let into = slot.buffer.bytes_mut();
        message.copy_to(into);
        let outcome = if bytes > into.len() {
            Outcome::Truncated
        } else {
            Outcome::Fine
        };
        self.profile.received += 1;
        self.profile.received_bytes += bytes as u64;
        self.requests.complete_at_once(receive, outcome);
        true
    }

    /// Puts a receive in front that the front [admits](Self::front_admits).
    #[inline(always)]
    pub(super) fn push_in_front(&mut self, receive: u32) {
        self.front.push(receive);
        self.posted += 1;
    }
}

impl<T: Transport> Core<T> {
    /// Takes short messages in as long as they come and the receives in front take them; how many,
    /// of `most`.
    #[inline]
    pub(crate) fn take_in_front(&mut self, most: usize) -> usize {
        let Some(&first) = self.state.front.first() else {
            return 0;
        };
        let wanted = self.state.requests.at(first).peer;
        let mut taken = 0;
        // A window comes from one sender.
        let mut sender = None;
        while taken < most {
            let Some(message) = (match sender {
                None => self.transport.poll_wanted(),
                Some(sender) => self.transport.poll_again(sender),
            }) else {
                break;
            };
            sender = Some(message.source());
            if !self.state.accept_in_front(&message) {
                message.leave();
                break;
            }
            drop(message);
            taken += 1;
            if self.state.front.is_empty() {
                self.unwant(wanted);
                break;
            }
        }
        taken
    }

    /// Puts a receive in front that is the first there.
    pub(super) fn post_in_front(&mut self, pattern: MpiPattern, receive: u32) {
        self.state.front.pattern = pattern;
        self.state.requests.at_mut(receive).stage = Stage::Posted;
        self.state.push_in_front(receive);
    }
}
