//! [`Shadow`]: what each operation must do, in nearly constant time.
//!
//! There is one queue for each combination of what entries carry or ask for, so the earliest match is the
//! smallest number at the heads of the few queues that can match.

use std::collections::VecDeque;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::{ContextId, Error, Used};

use crate::traffic::{CONTEXTS, Carried, Operation, SELECTORS, SENDERS, TAGS, Wanted, selects};

/// Limits that floods reach: those of a source some times a phase, those of the engine in most.
pub(crate) const ENTRIES: usize = 512;
pub(crate) const BYTES: u64 = 12_000;
pub(crate) const SOURCE_ENTRIES: usize = 32;
pub(crate) const SOURCE_BYTES: u64 = 700;
/// Marks, of messages.
pub(crate) const HIGH: usize = 300;
pub(crate) const LOW: usize = 150;

/// The weight of message `number`: 0 to 63 bytes.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the budget's signature")]
pub(crate) fn weigh(number: &u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58
}

/// What an operation did.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Refused(Error),
    Queued,
    Nothing,
    Message(u64, MpiEnvelope),
    Receive(u64, MpiPattern),
    /// By context; receives first, each in order.
    Removed(Vec<(usize, bool, u64)>),
}

/// One context.
#[derive(Debug)]
struct Lanes {
    first_rank: u32,
    exists: bool,
    /// By sender (the last for any) and selector.
    posted: Vec<VecDeque<u64>>,
    /// By sender and tag.
    unexpected: Vec<VecDeque<u64>>,
    used: Vec<Used>,
}

/// The incremental oracle.
#[derive(Debug)]
pub(crate) struct Shadow {
    contexts: Vec<Lanes>,
    /// The selectors that select each tag, and the other way round.
    selectors_of: Vec<Vec<usize>>,
    tags_of: Vec<Vec<usize>>,
    pub(crate) posted: usize,
    pub(crate) used: Used,
    above: bool,
    /// High marks reached so far.
    pub(crate) crossings: u64,
}

const fn posted_lane(sender: Option<usize>, selector: usize) -> usize {
    let sender = match sender {
        Some(sender) => sender,
        None => SENDERS,
    };
    sender * SELECTORS.len() + selector
}

const fn unexpected_lane(sender: usize, tag: usize) -> usize {
    sender * TAGS.len() + tag
}

fn wanted_at(context: usize, lane: usize) -> Wanted {
    let sender = lane / SELECTORS.len();
    Wanted {
        context,
        sender: (sender < SENDERS).then_some(sender),
        selector: lane % SELECTORS.len(),
    }
}

const fn carried_at(context: usize, lane: usize) -> Carried {
    Carried {
        context,
        sender: lane / TAGS.len(),
        tag: lane % TAGS.len(),
    }
}

impl Lanes {
    fn new() -> Self {
        // Long enough that they hardly ever grow, which would look like a leak.
        let lanes = |count| (0..count).map(|_| VecDeque::with_capacity(64)).collect();
        Self {
            first_rank: 0,
            exists: false,
            posted: lanes((SENDERS + 1) * SELECTORS.len()),
            unexpected: lanes(SENDERS * TAGS.len()),
            used: vec![Used::default(); SENDERS],
        }
    }

    /// The earliest of the entries at the heads of some lanes, and its lane.
    fn earliest(
        queues: &[VecDeque<u64>],
        lanes: impl Iterator<Item = usize>,
    ) -> Option<(u64, usize)> {
        let heads = lanes.filter_map(|lane| queues[lane].front().map(|&number| (number, lane)));
        heads.min()
    }
}

impl Shadow {
    pub(crate) fn new() -> Self {
        let indices = |count: usize, chosen: &dyn Fn(usize) -> bool| {
            (0..count).filter(|&index| chosen(index)).collect()
        };
        let of_tag = |&tag| indices(SELECTORS.len(), &|s| selects(SELECTORS[s], tag));
        let of_selector = |&selector| indices(TAGS.len(), &|t| selects(selector, TAGS[t]));
        Self {
            contexts: (0..CONTEXTS).map(|_| Lanes::new()).collect(),
            selectors_of: TAGS.iter().map(of_tag).collect(),
            tags_of: SELECTORS.iter().map(of_selector).collect(),
            posted: 0,
            used: Used::default(),
            above: false,
            crossings: 0,
        }
    }

    pub(crate) fn exists(&self, context: usize) -> bool {
        self.contexts[context].exists
    }

    pub(crate) fn envelope(&self, carried: Carried) -> MpiEnvelope {
        carried.envelope(self.contexts[carried.context].first_rank)
    }

    pub(crate) fn pattern(&self, wanted: Wanted) -> MpiPattern {
        wanted.pattern(self.contexts[wanted.context].first_rank)
    }

    fn first_message(&self, wanted: Wanted) -> Option<(u64, usize)> {
        let senders = match wanted.sender {
            Some(sender) => sender..sender + 1,
            None => 0..SENDERS,
        };
        let tags = &self.tags_of[wanted.selector];
        let lanes =
            senders.flat_map(|sender| tags.iter().map(move |&t| unexpected_lane(sender, t)));
        Lanes::earliest(&self.contexts[wanted.context].unexpected, lanes)
    }

    fn first_receive(&self, carried: Carried) -> Option<(u64, usize)> {
        let selectors = &self.selectors_of[carried.tag];
        let senders = [Some(carried.sender), None].into_iter();
        let lanes =
            senders.flat_map(|sender| selectors.iter().map(move |&s| posted_lane(sender, s)));
        Lanes::earliest(&self.contexts[carried.context].posted, lanes)
    }

    /// Takes the earliest message out, if there is one.
    fn take_message(&mut self, wanted: Wanted) -> Option<Outcome> {
        let (number, lane) = self.first_message(wanted)?;
        self.contexts[wanted.context].unexpected[lane].pop_front();
        let carried = carried_at(wanted.context, lane);
        self.release(carried, number);
        Some(Outcome::Message(number, self.envelope(carried)))
    }

    fn take_receive(&mut self, carried: Carried) -> Option<Outcome> {
        let (number, lane) = self.first_receive(carried)?;
        self.contexts[carried.context].posted[lane].pop_front();
        self.posted -= 1;
        let pattern = self.pattern(wanted_at(carried.context, lane));
        Some(Outcome::Receive(number, pattern))
    }

    fn release(&mut self, carried: Carried, number: u64) {
        let of_source = &mut self.contexts[carried.context].used[carried.sender];
        for used in [&mut self.used, of_source] {
            used.entries -= 1;
            used.bytes -= weigh(&number);
        }
        self.above &= self.used.entries > LOW;
    }

    /// Why there is no room for a message.
    fn refusal(&self, carried: Carried, number: u64) -> Option<Error> {
        let (used, wanted) = (self.used, weigh(&number));
        if used.entries == ENTRIES {
            return Some(Error::EntryBudget { limit: ENTRIES });
        }
        if used.bytes + wanted > BYTES {
            return Some(Error::ByteBudget {
                limit: BYTES,
                used: used.bytes,
                wanted,
            });
        }
        let used = self.contexts[carried.context].used[carried.sender];
        let envelope = self.envelope(carried);
        let (context, rank) = (envelope.context(), envelope.source());
        if used.entries == SOURCE_ENTRIES {
            return Some(Error::SourceEntryBudget {
                context,
                rank,
                limit: SOURCE_ENTRIES,
            });
        }
        (used.bytes + wanted > SOURCE_BYTES).then_some(Error::SourceByteBudget {
            context,
            rank,
            limit: SOURCE_BYTES,
            used: used.bytes,
            wanted,
        })
    }

    fn post(&mut self, wanted: Wanted, number: u64) -> Outcome {
        if let Some(taken) = self.take_message(wanted) {
            return taken;
        }
        let lane = posted_lane(wanted.sender, wanted.selector);
        self.contexts[wanted.context].posted[lane].push_back(number);
        self.posted += 1;
        Outcome::Queued
    }

    fn arrive(&mut self, carried: Carried, number: u64) -> Outcome {
        if let Some(taken) = self.take_receive(carried) {
            return taken;
        }
        if let Some(error) = self.refusal(carried, number) {
            return Outcome::Refused(error);
        }
        let lanes = &mut self.contexts[carried.context];
        lanes.unexpected[unexpected_lane(carried.sender, carried.tag)].push_back(number);
        for used in [&mut self.used, &mut lanes.used[carried.sender]] {
            used.entries += 1;
            used.bytes += weigh(&number);
        }
        if self.used.entries >= HIGH && !self.above {
            self.above = true;
            self.crossings += 1;
        }
        Outcome::Queued
    }

    /// What `operation`, the one with this number, does.
    pub(crate) fn perform(&mut self, operation: &Operation, number: u64) -> Outcome {
        if let Some(context) = needed(operation)
            && !self.exists(context)
        {
            let context = u32::try_from(context).expect("few");
            return Outcome::Refused(Error::UnknownContext(ContextId(context)));
        }
        match *operation {
            Operation::Post(wanted) | Operation::PostHalves(wanted) => self.post(wanted, number),
            Operation::Arrive(carried) | Operation::ArriveHalves(carried) => {
                self.arrive(carried, number)
            }
            Operation::Probe(wanted) => {
                let first = self.first_message(wanted);
                first.map_or(Outcome::Nothing, |(number, lane)| {
                    let carried = carried_at(wanted.context, lane);
                    Outcome::Message(number, self.envelope(carried))
                })
            }
            Operation::Extract(wanted) | Operation::Take(wanted) => {
                self.take_message(wanted).unwrap_or(Outcome::Nothing)
            }
            Operation::Deliver(carried) => self.take_receive(carried).unwrap_or(Outcome::Nothing),
            Operation::Cancel(named) => {
                let lane = posted_lane(named.at.sender, named.at.selector);
                let queue = &mut self.contexts[named.at.context].posted[lane];
                if !remove(queue, named.number) {
                    return Outcome::Nothing;
                }
                self.posted -= 1;
                Outcome::Receive(named.number, self.pattern(named.at))
            }
            Operation::TakeNamed(named) => {
                let lane = unexpected_lane(named.at.sender, named.at.tag);
                let queue = &mut self.contexts[named.at.context].unexpected[lane];
                if !remove(queue, named.number) {
                    return Outcome::Nothing;
                }
                self.release(named.at, named.number);
                Outcome::Message(named.number, self.envelope(named.at))
            }
            Operation::PurgeSender(context, sender) => {
                self.purge(|at, from, _| at == context && from == Some(sender))
            }
            Operation::PurgeSome(rest) => self.purge(|_, _, number| number % 4 == rest),
            Operation::Free(context) => {
                let removed = self.purge(|at, _, _| at == context);
                self.contexts[context].exists = false;
                removed
            }
            Operation::Create(context, _) if self.exists(context) => {
                let context = u32::try_from(context).expect("few");
                Outcome::Refused(Error::ContextExists(ContextId(context)))
            }
            Operation::Create(context, first_rank) => {
                self.contexts[context].exists = true;
                self.contexts[context].first_rank = first_rank;
                Outcome::Nothing
            }
            Operation::Announce(..) => Outcome::Nothing,
            Operation::Clear => {
                self.purge(|_, _, _| true);
                Outcome::Nothing
            }
        }
    }

    /// Takes out what `chosen` selects by context, sender and number.
    fn purge(&mut self, chosen: impl Fn(usize, Option<usize>, u64) -> bool) -> Outcome {
        let contents = self.contents();
        let contents = contents.into_iter();
        let removed =
            contents.filter(|&(context, sender, _, number)| chosen(context, sender, number));
        let removed = removed.map(|(context, _, lane, number)| {
            let lanes = &mut self.contexts[context];
            match lane {
                Lane::Posted(lane) => {
                    assert!(remove(&mut lanes.posted[lane], number), "it was there");
                    self.posted -= 1;
                    (context, true, number)
                }
                Lane::Unexpected(lane) => {
                    assert!(remove(&mut lanes.unexpected[lane], number), "it was there");
                    self.release(carried_at(context, lane), number);
                    (context, false, number)
                }
            }
        });
        Outcome::Removed(removed.collect())
    }

    /// Everything: context, sender, lane and number; by context, receives first, each in order.
    fn contents(&self) -> Vec<(usize, Option<usize>, Lane, u64)> {
        let mut contents = Vec::with_capacity(self.posted + self.used.entries);
        for (context, lanes) in self.contexts.iter().enumerate() {
            let mut begin = contents.len();
            for (lane, queue) in lanes.posted.iter().enumerate() {
                let sender = wanted_at(context, lane).sender;
                let entries = queue.iter();
                contents.extend(entries.map(|&n| (context, sender, Lane::Posted(lane), n)));
            }
            contents[begin..].sort_unstable_by_key(|entry| entry.3);
            begin = contents.len();
            for (lane, queue) in lanes.unexpected.iter().enumerate() {
                let sender = Some(carried_at(context, lane).sender);
                let entries = queue.iter();
                contents.extend(entries.map(|&n| (context, sender, Lane::Unexpected(lane), n)));
            }
            contents[begin..].sort_unstable_by_key(|entry| entry.3);
        }
        contents
    }

    /// Everything, as in [`Outcome::Removed`].
    pub(crate) fn listed(&self) -> Vec<(usize, bool, u64)> {
        let contents = self.contents().into_iter();
        let listed = contents
            .map(|(context, _, lane, number)| (context, matches!(lane, Lane::Posted(_)), number));
        listed.collect()
    }
}

#[derive(Clone, Copy, Debug)]
enum Lane {
    Posted(usize),
    Unexpected(usize),
}

/// Takes a number out of a queue; they ascend.
fn remove(queue: &mut VecDeque<u64>, number: u64) -> bool {
    let found = queue.binary_search(&number);
    found.is_ok_and(|index| queue.remove(index).is_some())
}

/// The context that an operation needs.
fn needed(operation: &Operation) -> Option<usize> {
    match *operation {
        Operation::Post(wanted)
        | Operation::PostHalves(wanted)
        | Operation::Probe(wanted)
        | Operation::Extract(wanted)
        | Operation::Take(wanted) => Some(wanted.context),
        Operation::Arrive(carried)
        | Operation::ArriveHalves(carried)
        | Operation::Deliver(carried) => Some(carried.context),
        Operation::Free(context) | Operation::Announce(context, _) => Some(context),
        _ => None,
    }
}
