//! Contexts: two for each communicator, one for its user and one for its collectives. A [`Number`] stands for both.
//!
//! All processes that make a communicator agree on its number (`communicator/number.rs`),
//! which is given again when the communicator is over at all of them. A process that drops it tells every
//! member, itself included, after the last message that it sends on it (`Kind::Closed`). What one process
//! sends to another keeps its order. So a process that has dropped the communicator, and has heard from each
//! member that it has done the same or has ended, gets no more messages of it: the number is free here, and
//! the next message that carries it belongs to another communicator.
//!
//! | a number is | because | a message with it |
//! | --- | --- | --- |
//! | free | | makes it early |
//! | early | another member is ahead, and sends or is done already | waits for the communicator to be complete here |
//! | open | the communicator is complete here | is received |
//! | closing | it is over here, but not at all others | is discarded |
//! | doubtful | the rank that was to report it died; others may have been told | is discarded |
//! | dropped | it is the world's, which is over here while the process goes on in others | is discarded |
//!
//! An open or early one may be [`revoked`].
//!
//! Doubtful numbers stay so: nobody here knows whether one of them was given to a communicator of which this
//! process is a member. There are 64 of them for each rank 0 that dies while it is being asked, and for each
//! time that this process itself could not go on with that, as when the communicator on which it asks is revoked.

mod numbers;
mod revoked;

use std::collections::BTreeMap;
use std::rc::Rc;

use mq_core::Removed;
use mq_shm::Process;
use mq_shm::liveness::Gone;

use self::numbers::OFFERED;
pub(crate) use self::numbers::{Agreed, Number, Offer};
use super::matching::Ended;
use super::{Core, State, Target};
use crate::error::Error;
use crate::header::{Kind, Payload};
use crate::messages::{Body, Keeper};
use crate::request::Outcome;
use crate::steps::{Step, step};
use crate::transport::Transport;

/// The communicators of this process, by number. Free numbers are not here.
#[derive(Debug)]
pub(crate) struct Contexts {
    numbers: BTreeMap<Number, Standing>,
    processes: u32,
    /// How many of them are revoked.
    pub(super) revoked: usize,
    /// The world's own communicator is not [dropped](Standing::Dropped).
    has_world: bool,
}

/// What a number that is not free stands for.
#[derive(Debug)]
enum Standing {
    Early {
        /// The engine has its contexts.
        in_engine: bool,
        /// Members that are done with it.
        over_at: Vec<Process>,
        revoked: bool,
    },
    Open(Open),
    Closing {
        /// Members that are not done with it.
        awaited: Vec<Process>,
    },
    Doubtful,
    /// The world's own. Its number is not given again, so nobody needs to hear of it.
    Dropped,
}

impl Standing {
    /// For a number that is heard of before its communicator is complete here.
    fn early() -> Self {
        Self::Early {
            in_engine: false,
            over_at: Vec::new(),
            revoked: false,
        }
    }
}

/// A communicator that is complete here.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) members: Rc<[Process]>,
    /// Members that are done with it.
    over_at: Vec<Process>,
    /// A member that has died, if the user has not acknowledged that.
    pub(super) unacknowledged: Option<Process>,
    /// Members whose death the user has acknowledged before all that they had sent was taken in.
    acknowledged: Vec<Process>,
    revoked: bool,
}

/// Whether a context is one of collectives.
pub(crate) const fn is_of_collectives(context: u32) -> bool {
    context % 2 == 1
}

impl Contexts {
    pub(super) fn new(processes: u32) -> Self {
        Self {
            numbers: BTreeMap::new(),
            processes,
            revoked: 0,
            has_world: true,
        }
    }

    /// Which numbers from `first` on are free here.
    ///
    /// # Cost
    /// The communicators with these numbers are visited, and if none of the numbers is free, those after them
    /// too.
    pub(crate) fn offer(&self, first: Number) -> Offer {
        let behind = Number(first.0.saturating_add(OFFERED));
        let mut free = u64::MAX;
        for (&number, _) in self.numbers.range(first..behind) {
            free &= !(1 << (number.0 - first.0));
        }
        let mut later = behind;
        if free == 0 {
            for (&number, _) in self.numbers.range(behind..) {
                if number != later {
                    break;
                }
                later.0 += 1;
            }
        }
        Offer { free, later }
    }

    /// The communicator of a context, if it is complete here.
    pub(super) fn open(&self, context: u32) -> Option<&Open> {
        match self.numbers.get(&Number::of(context)) {
            Some(Standing::Open(open)) => Some(open),
            _ => None,
        }
    }

    /// A communicator is over at another member, or at this one, which hears so from itself.
    pub(super) fn on_closed(&mut self, number: Number, at: Process) {
        match self.numbers.entry(number).or_insert_with(Standing::early) {
            Standing::Early { over_at, .. } | Standing::Open(Open { over_at, .. }) => {
                over_at.push(at);
            }
            Standing::Closing { awaited } => {
                awaited.retain(|&other| other != at);
                if awaited.is_empty() {
                    self.numbers.remove(&number);
                }
            }
            Standing::Doubtful | Standing::Dropped => {}
        }
    }

    /// A process has ended: it sends nothing any more.
    pub(super) fn on_end(&mut self, process: Process, how: Gone) {
        self.numbers.retain(|_, standing| match standing {
            Standing::Closing { awaited } => {
                awaited.retain(|&other| other != process);
                !awaited.is_empty()
            }
            Standing::Open(open) => {
                let is_news = how == Gone::Died
                    && open.members.contains(&process)
                    && !open.acknowledged.contains(&process);
                if is_news {
                    open.unacknowledged.get_or_insert(process);
                }
                true
            }
            Standing::Early { .. } | Standing::Doubtful | Standing::Dropped => true,
        });
    }

    /// The user acknowledges the members that have died, among them some that are not [gone](Self::on_end) yet.
    pub(crate) fn acknowledge(&mut self, number: Number, not_gone: Vec<Process>) {
        if let Some(Standing::Open(open)) = self.numbers.get_mut(&number) {
            open.unacknowledged = None;
            open.acknowledged = not_gone;
        }
    }
}

impl State {
    /// Whether messages of a context are taken: see the table above.
    #[inline]
    pub(super) fn admit(&mut self, context: u32) -> bool {
        let number = Number::of(context);
        (number == Number::WORLD && self.contexts.has_world) || self.admit_other(number)
    }

    fn admit_other(&mut self, number: Number) -> bool {
        let standing = self.contexts.numbers.entry(number);
        match standing.or_insert_with(Standing::early) {
            Standing::Open(_) => return true,
            Standing::Closing { .. } | Standing::Doubtful | Standing::Dropped => return false,
            Standing::Early { in_engine, .. } => {
                if core::mem::replace(in_engine, true) {
                    return true;
                }
            }
        }
        self.create_contexts(number);
        true
    }

    pub(super) fn create_contexts(&mut self, number: Number) {
        for context in number.contexts() {
            (self.matching).create_context(context, self.contexts.processes);
        }
    }

    /// Returns whether the communicator is revoked already.
    fn add_communicator(&mut self, number: Number, members: Rc<[Process]>) -> bool {
        let (in_engine, over_at, revoked) = match self.contexts.numbers.remove(&number) {
            Some(Standing::Early {
                in_engine,
                over_at,
                revoked,
            }) => (in_engine, over_at, revoked),
            // The world's contexts are made with the process.
            _ => (number == Number::WORLD, Vec::new(), false),
        };
        if !in_engine {
            self.create_contexts(number);
        }
        let unacknowledged = members
            .iter()
            .copied()
            .find(|&member| self.has_died(member));
        let open = Open {
            members,
            over_at,
            unacknowledged,
            acknowledged: Vec::new(),
            revoked,
        };
        self.contexts.numbers.insert(number, Standing::Open(open));
        revoked
    }
}

impl<T: Transport> Core<T> {
    /// A communicator is complete here.
    pub(crate) fn add_communicator(&mut self, number: Number, members: &Rc<[Process]>) {
        let revoked = self.state.add_communicator(number, members.clone());
        if revoked && let Err(error) = self.tell_of_revocation(number, members) {
            self.state.failed_elsewhere(error);
        }
    }

    /// A communicator is over here. Messages that nobody has received are discarded, receives cancelled, and
    /// the others told.
    pub(crate) fn remove_communicator(&mut self, number: Number) -> Result<(), Error> {
        let Some(Standing::Open(open)) = self.state.contexts.numbers.remove(&number) else {
            return Ok(());
        };
        self.state.count_out(open.revoked);
        step(Step::CommunicatorFreed);
        let mut result = self.empty_contexts(number);
        let peers = &self.state.peers;
        let living: Vec<Process> = (open.members.iter().copied())
            .filter(|member| peers[member.index()].gone.is_none())
            .collect();
        let mut awaited = living.clone();
        awaited.retain(|member| !open.over_at.contains(member));
        if !awaited.is_empty() {
            let closing = Standing::Closing { awaited };
            self.state.contexts.numbers.insert(number, closing);
        }
        for member in living {
            let said = self.answer(member, Kind::Closed, number.0.into(), Payload::default());
            step(Step::EndSaid);
            // A member that cannot be told does not keep the others waiting.
            result = result.and(said);
        }
        result
    }

    /// The world's own communicator is over here, while the process goes on in others. Messages of it that nobody
    /// has received are discarded.
    pub(crate) fn remove_world(&mut self) -> Result<(), Error> {
        let contexts = &mut self.state.contexts;
        let before = contexts.numbers.insert(Number::WORLD, Standing::Dropped);
        contexts.has_world = false;
        let was_revoked = before.as_ref().is_some_and(Standing::is_revoked);
        self.state.count_out(was_revoked);
        self.empty_contexts(Number::WORLD)
    }

    /// It is not known whether one of the numbers of an offer was given to a communicator of this process.
    #[cold]
    pub(crate) fn mark_doubtful(&mut self, first: Number, offer: Offer) -> Result<(), Error> {
        let mut result = Ok(());
        for number in (0..OFFERED).filter_map(|at| first.after(at)) {
            if !offer.has(first, number) {
                continue;
            }
            let before = self
                .state
                .contexts
                .numbers
                .insert(number, Standing::Doubtful);
            let was_revoked = before.as_ref().is_some_and(Standing::is_revoked);
            self.state.count_out(was_revoked);
            if matches!(
                before,
                Some(Standing::Early {
                    in_engine: true,
                    ..
                })
            ) {
                result = result.and(self.empty_contexts(number));
            }
        }
        result
    }

    /// Takes the contexts of a communicator out of the engine, with all that is queued there.
    fn empty_contexts(&mut self, number: Number) -> Result<(), Error> {
        self.state.forget_shown(number);
        let mut removed = Vec::new();
        for context in number.contexts() {
            self.end_in_front(context, Outcome::Cancelled);
            (self.state.matching).free_context(context, &mut removed)?;
        }
        self.end_removed(removed, Outcome::Cancelled)
    }

    /// Completes the receives of a context that wait in front.
    fn end_in_front(&mut self, context: u32, outcome: Outcome) {
        while let Some(taken) = self.state.matching.front.remove_of_context(context) {
            self.state.requests.complete(taken.receive, outcome);
            if let Some(process) = taken.unwanted {
                self.unwant(process);
            }
        }
    }

    /// Of what has been taken out of the engine, completes the receives, and discards the messages.
    fn end_removed(&mut self, removed: Vec<Ended>, outcome: Outcome) -> Result<(), Error> {
        let mut answered = Ok(());
        for entry in removed {
            match entry {
                Removed::Posted(_, receive) => {
                    let wanted = self.state.requests.at(receive).peer;
                    self.unwant(wanted);
                    self.state.requests.complete(receive, outcome);
                }
                Removed::Unexpected(_, message) => {
                    // Each sender waits for its own answer.
                    answered = answered.and(self.discard_message(message));
                }
            }
        }
        answered
    }

    /// A message that is in no queue will not be received any more.
    pub(crate) fn discard_message(&mut self, message: u32) -> Result<(), Error> {
        let kept = self.state.messages.at_mut(message);
        kept.keeper = Keeper::Nobody;
        let (from, body) = (kept.from, kept.body);
        self.state.messages.release(message);
        self.after_release();
        match body {
            Body::Announced { name, .. } => self.answer_finished(from, name),
            Body::Here => {
                let assembly = &mut self.state.peers[from.index()].assembly;
                if let Some((target, _)) = assembly
                    && *target == Target::Message(message)
                {
                    *target = Target::Nowhere;
                }
                Ok(())
            }
            Body::Ring => {
                let to = Target::Nowhere;
                self.state.rings.redirect(Target::Message(message), to);
                Ok(())
            }
            Body::Withdrawn | Body::Lost(_) => Ok(()),
        }
    }
}
