//! Requests that are dropped while they are under way, one by one and with their set.
//!
//! A send then goes on, and its message is received like any other. A receive ends, with the message that it may have
//! taken: one is dropped only if no message that is needed can have come for it, and takes none that comes later.

use crate::pattern::Pattern;
use crate::plan::{Fate, Item};
use crate::rank::{Posted, Rank};
use crate::record::Outcome;
use crate::requests::Pending;

impl Rank<'_> {
    pub(crate) fn drop_some(&mut self) {
        if self.draw.chance(20) {
            return self.drop_set();
        }
        let is_alone = |pending: &Pending| matches!(pending, Pending::Alone(_));
        if self.draw.chance(30) {
            let sends = (self.sending.iter()).position(|(_, pending)| is_alone(pending));
            return sends.into_iter().for_each(|at| {
                self.sending.swap_remove(at);
            });
        }
        let may = |at: &usize| {
            let posted = &self.posted[*at];
            is_alone(&posted.pending) && self.is_droppable(posted)
        };
        let may: Vec<usize> = (0..self.posted.len()).filter(may).collect();
        if !may.is_empty() {
            let posted = self.posted.remove(self.draw.pick(&may));
            if self.draw.chance(30) {
                (self.requests).is_done(&posted.pending, &mut self.draw);
            }
            self.record.end(posted.receive, Outcome::Dropped);
        }
    }

    fn drop_set(&mut self) {
        let requests = &mut self.requests;
        let is_in = |posted: &Posted| requests.is_in_set(&posted.pending);
        let (its, others): (Vec<_>, Vec<_>) = self.posted.drain(..).partition(is_in);
        self.posted = others;
        if its.iter().all(|posted| self.is_droppable(posted)) {
            let requests = &mut self.requests;
            (self.sending).retain(|(_, pending)| !requests.is_in_set(pending));
            requests.drop_set(self.world);
            for posted in its {
                self.record.end(posted.receive, Outcome::Dropped);
            }
        } else {
            self.posted.extend(its);
        }
    }

    fn is_droppable(&self, posted: &Posted) -> bool {
        self.may_be_lost(posted.communicator, &posted.pattern)
    }

    /// Whether no message that is needed can have come for such a receive.
    pub(crate) fn may_be_lost(&self, communicator: usize, pattern: &Pattern) -> bool {
        let still = self.expected.still(communicator, pattern).into_iter();
        let mut its = still.map(|its| its.message);
        its.all(|its| its.fate == Fate::Loose || its.at > self.has_sent_until(its.from))
    }

    /// Up to which item a rank may have sent: it waits for this one at the next barrier.
    fn has_sent_until(&self, rank: u32) -> usize {
        if rank == self.me {
            return self.now;
        }
        let waits = |item: &Item| match *item {
            Item::Barrier(number) => {
                let group = &self.plan.communicators[number].groups[self.me as usize];
                group.contains(&rank) && group.contains(&self.me)
            }
            _ => false,
        };
        let later = self.plan.items.iter().enumerate().skip(self.now + 1);
        let mut waits = later.filter(|(_, item)| waits(item));
        waits.next().map_or(usize::MAX, |(at, _)| at)
    }
}
