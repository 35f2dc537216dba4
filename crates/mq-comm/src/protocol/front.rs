//! The oldest receives, if they wait for few things.
//!
//! Programs mostly post windows of receives with one pattern, and receives for each neighbour, often
//! interleaved. As long as all that is posted has few patterns, receives wait here, those of one pattern in a
//! run, in the order in which they were posted, and the engine is entered neither for them nor for the
//! messages that they take: the receive-queue bypass for more than one receive. Everything that is posted
//! after something else is in the engine, so every receive here is older than all of those, and these are
//! asked first.
//!
//! **Order.** Of two runs that could take the same message, all receives of the first one are older: a
//! receive is put into the last run, or into an earlier one of its pattern if that pattern names source and
//! tag and so does each run after it. What such runs take is disjoint, so it does not matter which of them is
//! older. (Patterns also have a class, which `takes` does not compare: no two that are equal in all else
//! differ in it, since collectives have contexts and tags of their own.)

use mq_core::Pattern;
use mq_core::mpi::MpiPattern;
use mq_shm::Process;

use super::{Hand, State};
use crate::header::{self, Kind, Word};
use crate::request::{Outcome, Stage};
use crate::transport::Arrived;

/// The most receives here: cancelling one searches for it. A power of two.
const MOST_RECEIVES: usize = 1024;

/// The most runs: a message that is for none of them has been compared with each. A power of two.
const RUNS: usize = 16;

/// The end of a chain of nodes.
const END: u32 = u32::MAX;

/// Receives of one pattern: while there are any, messages from their peer are wanted once.
#[derive(Debug, Clone, Copy)]
struct Run {
    pattern: MpiPattern,
    peer: Process,
    /// The nodes of the oldest and the youngest.
    first: u32,
    last: u32,
}

/// A receive in the chain of its run.
#[derive(Debug, Clone, Copy)]
struct Node {
    receive: u32,
    /// The node of the next receive of its run, or the next free node.
    next: u32,
}

/// A few runs of receives, none younger than any in the engine.
#[derive(Debug)]
pub(crate) struct Front {
    runs: [Run; RUNS],
    count: usize,
    /// The run that a receive was last put into, if there is one.
    latest: usize,
    nodes: [Node; MOST_RECEIVES],
    /// The first free node.
    free: u32,
}

/// The run in which a receive may wait in front.
#[derive(Debug, Clone, Copy)]
pub(super) enum RunFor {
    /// This one, which has its pattern.
    Existing(usize),
    /// One that it begins: then messages from its peer are to be wanted once more.
    New,
}

/// Whether a pattern names source and tag.
fn is_exact(pattern: &MpiPattern) -> bool {
    pattern.care() == u64::MAX
}

/// A receive that has left the front.
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
            first: END,
            last: END,
        };
        let node = |at| Node {
            receive: 0,
            next: if at + 1 < MOST_RECEIVES {
                at as u32 + 1
            } else {
                END
            },
        };
        Self {
            runs: [none; RUNS],
            count: 0,
            latest: 0,
            nodes: core::array::from_fn(node),
            free: 0,
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

    /// The index of the first run for which this holds.
    fn position(&self, wanted: impl FnMut(&Run) -> bool) -> Option<usize> {
        self.runs[..self.count].iter().position(wanted)
    }

    #[inline(always)]
    fn node(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize % MOST_RECEIVES]
    }

    /// Takes out the oldest receive that takes a message with these words.
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

    /// The same, for all runs but the first.
    #[inline(never)]
    fn matched_later(&mut self, bits: u64, word: Word) -> Option<Taken> {
        let at = self.position(|run| header::takes(&run.pattern, bits, word))?;
        Some(self.take_first(at))
    }

    /// Takes out the oldest receive of a run.
    #[inline(always)]
    fn take_first(&mut self, at: usize) -> Taken {
        let Run {
            peer, first, last, ..
        } = self.runs[at];
        let free = self.free;
        let node = self.node(first);
        let receive = node.receive;
        self.runs[at].first = core::mem::replace(&mut node.next, free);
        self.free = first;
        let unwanted = (first == last).then_some(peer);
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
        if at == self.latest {
            // Anything that comes next may be put after the last run.
            self.latest = self.count.saturating_sub(1);
        } else if at < self.latest {
            self.latest -= 1;
        }
    }

    /// The run in which a receive with this pattern may wait.
    #[inline(always)]
    fn run_for(&self, pattern: &MpiPattern) -> Option<RunFor> {
        if self.free == END {
            return None;
        }
        if self.is_empty() {
            return Some(RunFor::New);
        }
        if self.runs[self.latest % RUNS].pattern == *pattern {
            return Some(RunFor::Existing(self.latest));
        }
        self.run_for_later(pattern)
    }

    /// The same, for all runs but the one into which the last receive was put.
    #[inline(never)]
    fn run_for_later(&self, pattern: &MpiPattern) -> Option<RunFor> {
        for (at, run) in self.runs[..self.count].iter().enumerate().rev() {
            if run.pattern == *pattern && (at + 1 == self.count || is_exact(pattern)) {
                return Some(RunFor::Existing(at));
            }
            if !is_exact(&run.pattern) {
                break;
            }
        }
        (self.count < RUNS).then_some(RunFor::New)
    }

    /// Appends a receive to the run that there is [for it](Self::run_for).
    #[inline(always)]
    pub(super) fn push(&mut self, run: usize, receive: u32) {
        let at = self.free;
        let node = self.node(at);
        node.receive = receive;
        self.free = core::mem::replace(&mut node.next, END);
        let run_of = &mut self.runs[run % RUNS];
        let before = core::mem::replace(&mut run_of.last, at);
        if before == END {
            run_of.first = at;
        } else {
            self.node(before).next = at;
        }
        self.latest = run;
    }

    /// Begins a run with a receive.
    pub(super) fn begin_run(&mut self, pattern: MpiPattern, peer: Process, receive: u32) {
        let run = self.count;
        self.runs[run] = Run {
            pattern,
            peer,
            first: END,
            last: END,
        };
        self.count += 1;
        self.push(run, receive);
    }

    /// Takes out a receive, if it is here.
    pub(super) fn remove(&mut self, receive: u32) -> Option<Taken> {
        for run in 0..self.count {
            let mut at = self.runs[run].first;
            while at != END && self.node(at).receive != receive {
                at = self.node(at).next;
            }
            if at == END {
                continue;
            }
            // The older ones move up by one, and it is the first.
            let mut moved = self.runs[run].first;
            let mut carried = receive;
            loop {
                let node = self.node(moved);
                let next = node.next;
                core::mem::swap(&mut carried, &mut node.receive);
                if moved == at {
                    break;
                }
                moved = next;
            }
            return Some(self.take_first(run));
        }
        None
    }

    /// The pattern of a receive, if it is here.
    pub(super) fn pattern_of(&self, receive: u32) -> Option<MpiPattern> {
        let waits_in = |run: &&Run| {
            let mut at = run.first;
            while at != END && self.nodes[at as usize].receive != receive {
                at = self.nodes[at as usize].next;
            }
            at != END
        };
        let run = self.runs[..self.count].iter().find(waits_in)?;
        Some(run.pattern)
    }

    /// Shows every receive and what it asks for.
    pub(super) fn visit(&self, visitor: &mut dyn FnMut(u32, &MpiPattern)) {
        for run in &self.runs[..self.count] {
            let mut at = run.first;
            while at != END {
                let node = &self.nodes[at as usize];
                visitor(node.receive, &run.pattern);
                at = node.next;
            }
        }
    }

    /// Takes out a receive of a context, if there is one.
    pub(super) fn remove_of_context(&mut self, context: u32) -> Option<Taken> {
        let at = self.position(|run| run.pattern.context().0 == context)?;
        Some(self.take_first(at))
    }
}

impl State {
    /// Whether a receive for which nothing has come may wait in front at all.
    #[inline(always)]
    fn front_is_open(&self) -> bool {
        // A process that has ended is an obstacle, and so is a user who does not want the engine to be
        // bypassed.
        self.matching.waiting_in_engine() | self.obstacles == 0
    }

    /// The run in which a receive may wait in front, if it may: nothing has then come for it.
    #[inline(always)]
    pub(super) fn run_in_front(&self, pattern: &MpiPattern) -> Option<RunFor> {
        if self.front_is_open() {
            self.matching.front.run_for(pattern)
        } else {
            None
        }
    }

    /// Whether no receive waits for a message, including the one in hand.
    #[inline(always)]
    pub(crate) fn waits_for_none(&self, hand: Option<&Hand>) -> bool {
        let in_hand = |hand: &Hand| self.requests.at(hand.request).stage == Stage::Hand;
        !self.matching.has_posted() && !hand.is_some_and(in_hand)
    }

    /// Gives a message to a receive in front, if one takes it, and no receive is older. The message has come
    /// whole.
    #[inline(always)]
    pub(super) fn accept_in_front(&mut self, message: &mut impl Arrived) -> Option<Taken> {
        let [bits, word] = message.header();
        let word = Word(word);
        if word.kind() != Some(Kind::Eager) {
            return None;
        }
        let taken = self.matching.front.matched(bits, word)?;
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
        self.profile.count_received(bytes as u64);
        self.requests.complete_inline(taken.receive, outcome);
        Some(taken)
    }
}

#[cfg(test)]
mod tests;
