//! Contexts: two for each communicator, one for its user and one for its collectives.

use std::collections::HashMap;
use std::rc::Rc;

use mq_core::{ContextOptions, Removed};
use mq_shm::Process;

use super::{Core, State, Target};
use crate::error::Error;
use crate::messages::{Body, Keeper};
use crate::request::Outcome;
use crate::steps::{Step, step};
use crate::transport::Transport;

/// The communicators of this process. Their numbers are agreed upon by all members and never given again.
#[derive(Debug)]
pub(crate) struct Contexts {
    /// The members of each, by number.
    groups: HashMap<u32, Rc<[Process]>>,
    /// Those that others have begun to send on before they were complete here.
    early: Vec<u32>,
    /// No communicator here has this number or a higher one.
    next: u32,
    processes: u32,
}

/// The context of a communicator's user.
pub(crate) const fn of_user(communicator: u32) -> u32 {
    communicator * 2
}

/// The context of its collectives.
pub(crate) const fn of_collectives(communicator: u32) -> u32 {
    communicator * 2 + 1
}

impl Contexts {
    pub(super) fn new(processes: u32) -> Self {
        Self {
            groups: HashMap::new(),
            early: Vec::new(),
            next: 0,
            processes,
        }
    }

    /// The lowest number that is free here.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// The members of the communicator of a context.
    pub(super) fn group(&self, context: u32) -> Option<&[Process]> {
        self.groups.get(&(context / 2)).map(|group| &**group)
    }
}

impl State {
    /// Whether messages of a context are taken: those of a communicator that is not complete here wait for it,
    /// those of one that is over are for nobody.
    #[inline]
    pub(super) fn knows(&mut self, context: u32) -> bool {
        // The contexts of the world are there for ever.
        context < 2 || self.knows_other(context)
    }

    fn knows_other(&mut self, context: u32) -> bool {
        let communicator = context / 2;
        if self.contexts.groups.contains_key(&communicator)
            || self.contexts.early.contains(&communicator)
        {
            return true;
        }
        if communicator < self.contexts.next {
            return false;
        }
        self.contexts.early.push(communicator);
        self.create_contexts(communicator);
        true
    }

    pub(super) fn create_contexts(&mut self, communicator: u32) {
        let options = ContextOptions::new().size(self.contexts.processes);
        for context in [of_user(communicator), of_collectives(communicator)] {
            let created = self.engine.create_context(context, options);
            debug_assert_eq!(created, Ok(()));
        }
    }

    /// A communicator is complete here; `members` is nothing if this process is not one of them.
    pub(crate) fn add_communicator(&mut self, number: u32, members: Option<Rc<[Process]>>) {
        let early = self
            .contexts
            .early
            .iter()
            .position(|&early| early == number);
        if let Some(at) = early {
            self.contexts.early.swap_remove(at);
        } else if members.is_some() && number > 0 {
            self.create_contexts(number);
        }
        self.contexts.next = self.contexts.next.max(number + 1);
        if let Some(members) = members {
            self.contexts.groups.insert(number, members);
        }
    }
}

impl<T: Transport> Core<T> {
    /// A communicator is over here. Messages that nobody has received are discarded, receives cancelled.
    pub(crate) fn remove_communicator(&mut self, number: u32) -> Result<(), Error> {
        self.state.contexts.groups.remove(&number);
        step(Step::CommunicatorFreed);
        let mut removed = Vec::new();
        for context in [of_user(number), of_collectives(number)] {
            let mut wanted = None;
            for receive in self.state.front.remove_context(context) {
                self.state.posted -= 1;
                wanted = Some(self.state.requests.at(receive).peer);
                self.state.requests.complete(receive, Outcome::Cancelled);
            }
            if let Some(wanted) = wanted {
                self.unwant(wanted);
            }
            self.state
                .engine
                .free_context(context, &mut |entry| removed.push(entry))?;
        }
        for entry in removed {
            match entry {
                Removed::Posted(_, receive) => {
                    self.state.posted -= 1;
                    let wanted = self.state.requests.at(receive).peer;
                    self.unwant(wanted);
                    self.state.requests.complete(receive, Outcome::Cancelled);
                }
                Removed::Unexpected(_, message) => {
                    self.state.unexpected -= 1;
                    self.discard_message(message)?;
                }
            }
        }
        Ok(())
    }

    /// Nobody will receive a message that is in no queue any more.
    pub(crate) fn discard_message(&mut self, message: u32) -> Result<(), Error> {
        let kept = self.state.messages.at_mut(message);
        kept.keeper = Keeper::Nobody;
        let (from, body) = (kept.from, kept.body);
        self.state.messages.release(message);
        match body {
            Body::Announced { send, .. } => self.answer_finished(from, send),
            Body::Here => {
                let assembly = &mut self.state.peers[from.index()].assembly;
                if let Some((target, _)) = assembly
                    && *target == Target::Message(message)
                {
                    *target = Target::Nowhere;
                }
                Ok(())
            }
            Body::Withdrawn | Body::Lost(_) => Ok(()),
        }
    }
}
