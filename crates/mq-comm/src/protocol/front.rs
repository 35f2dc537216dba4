//! The oldest receives, if they wait for few things.
//!
//! Windows of receives with one pattern are what programs post most, and one receive for each
//! neighbour. As long as all that is posted are a few runs of receives, those of a run with one
//! pattern, they wait here, in the order in which they were posted, and the engine is not entered
//! for them nor for the messages that they take: the receive-queue bypass of more than one receive.
//! Everything that is posted after something else is in the engine, so that every receive here is
//! older than all of those, and these are asked first.

use mq_core::Pattern;
use mq_core::mpi::MpiPattern;
use mq_shm::Process;

use super::{Core, State, Wanted};
use crate::error::Error;
use crate::header::{self, Kind, Word};
use crate::request::Outcome;
use crate::transport::{Arrived, Transport};

/// How many there are at most: one of them that is cancelled is looked for. A power of two.
const MOST: usize = 256;

/// Runs at most: a message that is for none of them has been compared with each.
const RUNS: usize = 8;

/// Receives of one pattern that were posted one after the other: while there are any, messages from
/// their peer are wanted once.
#[derive(Debug, Clone, Copy)]
struct Run {
    pattern: MpiPattern,
    peer: Process,
    /// Where the oldest is: the number of a place in the ring, which only grows, until it wraps
    /// round.
    first: u32,
    len: u32,
}

/// A few runs of receives, none younger than any in the engine.
#[derive(Debug)]
pub(crate) struct Front {
    /// As many as there are, in the order in which they were posted.
    runs: [Run; RUNS],
    count: usize,
    /// The pattern of the last run, if there is one.
    youngest: MpiPattern,
    /// A ring, in which runs are one behind the other, with what has left between them.
    receives: [u32; MOST],
    /// The place behind the youngest.
    end: u32,
}

/// The place of a number in the ring.
#[inline(always)]
const fn in_ring(number: u32) -> usize {
    number as usize % MOST
}

/// Where a receive may wait in front.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// Behind the last, which has its pattern.
    Behind,
    /// In a run that it begins: then messages from its peer are to be wanted once more.
    Apart,
}

/// A receive that has left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub(super) receive: u32,
    /// The process from which messages are wanted once less.
    pub(super) unwanted: Option<Process>,
}

impl Default for Front {
    fn default() -> Self {
        let none = Run {
            pattern: MpiPattern::new(0, 0_u32, 0),
            peer: Process(0),
            first: 0,
            len: 0,
        };
        Self {
            runs: [none; RUNS],
            count: 0,
            youngest: none.pattern,
            receives: [0; MOST],
            end: 0,
        }
    }
}

impl Front {
    /// How many runs there are.
    #[inline(always)]
    pub(crate) fn runs(&self) -> usize {
        self.count
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The place of the first run of which this is so.
    fn position(&self, wanted: impl FnMut(&Run) -> bool) -> Option<usize> {
        self.runs[..self.count].iter().position(wanted)
    }

    /// Takes the oldest receive out that takes a message with these words.
    #[inline(always)]
    pub(super) fn matched(&mut self, bits: u64, word: Word) -> Option<Taken> {
        if self.is_empty() {
            return None;
        }
        if header::takes(&self.runs[0].pattern, bits, word) {
            return Some(self.take_first(0));
        }
        self.matched_later(bits, word)
    }

    /// The same, but for the first run.
    #[inline(never)]
    fn matched_later(&mut self, bits: u64, word: Word) -> Option<Taken> {
        // A receive of an earlier run is older than all of a later one.
        let at = self.position(|run| header::takes(&run.pattern, bits, word))?;
        Some(self.take_first(at))
    }

    /// Takes the oldest receive of a run out.
    #[inline(always)]
    fn take_first(&mut self, at: usize) -> Taken {
        let run = &mut self.runs[at];
        let receive = self.receives[in_ring(run.first)];
        run.first = run.first.wrapping_add(1);
        run.len -= 1;
        let unwanted = (run.len == 0).then_some(run.peer);
        if unwanted.is_some() {
            self.end_run(at);
        }
        Taken { receive, unwanted }
    }

    /// A run is over.
    #[inline(never)]
    fn end_run(&mut self, at: usize) {
        self.count -= 1;
        for at in at..self.count {
            self.runs[at % RUNS] = self.runs[(at + 1) % RUNS];
        }
        if let Some(last) = self.count.checked_sub(1) {
            // What comes next is put right behind it.
            let Run {
                pattern,
                first,
                len,
                ..
            } = self.runs[last];
            self.youngest = pattern;
            self.end = first.wrapping_add(len);
        }
    }

    /// Whether there is a place in the ring, if any is used.
    #[inline(always)]
    fn has_place(&self) -> bool {
        self.end.wrapping_sub(self.runs[0].first) < MOST as u32
    }

    /// Whether the youngest receive has this pattern, and another may be put behind it.
    #[inline(always)]
    fn goes_on_with(&self, pattern: &MpiPattern) -> bool {
        !self.is_empty() && self.youngest == *pattern && self.has_place()
    }

    /// Whether another run may begin.
    #[inline(always)]
    fn has_room(&self) -> bool {
        self.is_empty() || self.count < RUNS && self.has_place()
    }

    /// Puts a receive behind all, into the last run.
    #[inline(always)]
    pub(super) fn push(&mut self, receive: u32) {
        self.receives[in_ring(self.end)] = receive;
        self.end = self.end.wrapping_add(1);
        self.runs[(self.count - 1) % RUNS].len += 1;
    }

    /// Begins another run, of no receives.
    pub(super) fn begin_run(&mut self, pattern: MpiPattern, peer: Process) {
        self.runs[self.count] = Run {
            pattern,
            peer,
            first: self.end,
            len: 0,
        };
        self.count += 1;
        self.youngest = pattern;
    }

    /// Takes a receive out, if it is here.
    pub(super) fn remove(&mut self, receive: u32) -> Option<Taken> {
        for at in 0..self.count {
            let Run { first, len, .. } = self.runs[at];
            let place = |i| in_ring(first.wrapping_add(i));
            let Some(older) = (0..len).find(|&i| self.receives[place(i)] == receive) else {
                continue;
            };
            // The older ones move up, and it is the first.
            for i in (0..older).rev() {
                self.receives[place(i + 1)] = self.receives[place(i)];
            }
            self.receives[place(0)] = receive;
            return Some(self.take_first(at));
        }
        None
    }

    /// Takes a receive of a context out, if there is one.
    pub(super) fn remove_of_context(&mut self, context: u32) -> Option<Taken> {
        let at = self.position(|run| run.pattern.context().0 == context)?;
        Some(self.take_first(at))
    }
}

impl State {
    /// Whether a receive for which nothing has come may wait in front at all.
    #[inline(always)]
    fn front_is_open(&self) -> bool {
        // One that has ended is an obstacle, and so is a user who does not want the engine to be
        // passed.
        self.posted | self.unexpected | self.obstacles == 0
    }

    /// Where in front a receive may wait, if it may: then nothing has come for it.
    #[inline(always)]
    pub(super) fn place_in_front(&self, pattern: &MpiPattern) -> Option<Place> {
        if !self.front_is_open() {
            None
        } else if self.front.goes_on_with(pattern) {
            Some(Place::Behind)
        } else {
            self.front.has_room().then_some(Place::Apart)
        }
    }

    /// Gives a message to a receive in front, if there is one that takes it, and no receive is
    /// older. The message has come whole.
    #[inline(always)]
    fn accept_in_front(&mut self, message: &mut impl Arrived) -> Option<Taken> {
        let [bits, word] = message.header();
        let word = Word(word);
        if word.kind() != Some(Kind::Eager) {
            return None;
        }
        let taken = self.front.matched(bits, word)?;
        let bytes = message.bytes();
        let slot = self.requests.at_mut(taken.receive);
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
        self.requests.complete_at_once(taken.receive, outcome);
        Some(taken)
    }
}

impl<T: Transport> Core<T> {
    /// Takes short messages in as long as they come from who is waited for; how many, of `most`.
    /// `hand` is a receive that comes after all posted ones.
    ///
    /// # Errors
    /// As of [`poll_once`](Self::poll_once).
    #[inline]
    pub(crate) fn take_short(
        &mut self,
        hand: Option<&Wanted>,
        most: usize,
    ) -> Result<usize, Error> {
        let mut taken = 0;
        // A window comes from one sender.
        let mut sender = None;
        while taken < most {
            let Some(mut message) = (match sender {
                None => self.transport.poll_wanted_by_turns(),
                Some(sender) => self.transport.poll_again(sender),
            }) else {
                // Others may be waited for as well.
                if sender.take().is_some() && self.state.front.count > 1 {
                    continue;
                }
                break;
            };
            taken += 1;
            let from = message.source();
            if let Some(Taken { unwanted, .. }) = self.state.accept_in_front(&mut message) {
                drop(message);
                sender = Some(from);
                if let Some(process) = unwanted {
                    self.unwant(process);
                    sender = None;
                }
            } else {
                let follow = self.state.accept(&mut message, hand);
                drop(message);
                self.follow(from, follow?)?;
                // What comes next from there may be wanted no more.
                sender = None;
            }
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests;
