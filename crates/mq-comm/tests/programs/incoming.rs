//! The messages to a rank, and which of them will come, so that it waits for none that does not.

use crate::pattern::{Envelope, Pattern};
use crate::plan::{Fate, Message, Plan};

pub(crate) struct Incoming<'a> {
    pub(crate) message: &'a Message,
    /// Its number in the plan.
    pub(crate) number: usize,
    /// The sender's rank in the communicator.
    pub(crate) from: u32,
    pub(crate) is_received: bool,
}

/// Those to one rank, in the order of the plan.
pub(crate) struct Expected<'a>(pub(crate) Vec<Incoming<'a>>);

impl<'a> Incoming<'a> {
    pub(crate) fn matches(&self, communicator: usize, pattern: &Pattern) -> bool {
        self.message.communicator == communicator && pattern.takes(self.from, self.message.tag)
    }

    /// Whether it will come, before an item, and is not known to have been received.
    fn is_certain(&self, before: usize) -> bool {
        self.message.fate == Fate::Needed && !self.is_received && self.message.at < before
    }
}

impl<'a> Expected<'a> {
    pub(crate) fn new(plan: &'a Plan, me: u32) -> Self {
        let all = plan.messages.iter().enumerate();
        let its = all.filter(|(_, message)| message.to == me);
        let its = its.map(|(number, message)| Incoming {
            message,
            number,
            from: plan.rank(message.communicator, me, message.from),
            is_received: false,
        });
        Self(its.collect())
    }

    /// How many certain ones match.
    pub(crate) fn certain(&self, communicator: usize, pattern: &Pattern, before: usize) -> usize {
        let open = self.open(before).into_iter();
        open.filter(|its| its.matches(communicator, pattern))
            .count()
    }

    pub(crate) fn open(&self, before: usize) -> Vec<&Incoming<'a>> {
        self.0.iter().filter(|its| its.is_certain(before)).collect()
    }

    /// Those that may come without being needed.
    pub(crate) fn loose(&self, before: usize) -> Vec<&Incoming<'a>> {
        let is_loose = |its: &&Incoming<'_>| {
            its.message.fate == Fate::Loose && !its.is_received && its.message.at < before
        };
        self.0.iter().filter(is_loose).collect()
    }

    /// The longest that matches, in bytes.
    pub(crate) fn longest(&self, communicator: usize, pattern: &Pattern) -> usize {
        let its = (self.0.iter()).filter(|its| its.matches(communicator, pattern));
        its.map(|its| its.message.bytes).max().unwrap_or(16)
    }

    /// Those that match and are not known to have been received.
    pub(crate) fn still(&self, communicator: usize, pattern: &Pattern) -> Vec<&Incoming<'a>> {
        let is_it = |its: &&Incoming<'_>| !its.is_received && its.matches(communicator, pattern);
        self.0.iter().filter(is_it).collect()
    }

    /// Those that match, with the ones of their senders and tags: of these it is not known which have been received.
    pub(crate) fn streams(&self, communicator: usize, pattern: &Pattern) -> Vec<&Incoming<'a>> {
        let still = self.still(communicator, pattern);
        let is_like = |its: &Incoming<'_>| {
            let like = |other: &&Incoming<'_>| {
                (other.from, other.message.tag) == (its.from, its.message.tag)
            };
            its.matches(communicator, pattern) && still.iter().any(like)
        };
        self.0.iter().filter(|its| is_like(its)).collect()
    }

    /// One is received: the next with this source and tag.
    pub(crate) fn receive(&mut self, communicator: usize, envelope: Envelope) {
        let pattern = Pattern::new(Some(envelope.from), envelope.tag, 0);
        let is_it =
            |its: &&mut Incoming<'_>| !its.is_received && its.matches(communicator, &pattern);
        let next = self.0.iter_mut().find(is_it);
        next.unwrap_or_else(|| panic!("{envelope:?} is one too many"))
            .is_received = true;
    }
}
