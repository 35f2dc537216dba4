//! Waits that nothing can end, since those that could send have ended.

use mq_core::mpi::MpiPattern;
use mq_shm::Process;
use mq_shm::liveness::Gone;

use super::{Core, Hand, State};
use crate::error::{Error, NoticedBy};
use crate::request::{ANYONE, Outcome, Stage};
use crate::transport::Transport;

impl<T: Transport> Core<T> {
    /// Returns an error if a probe for which nothing has come is not to wait.
    pub(crate) fn check_may_come(&self, from: Process, pattern: &MpiPattern) -> Result<(), Error> {
        if self.state.contexts.refuses_receive(pattern) {
            return Err(Error::Revoked);
        }
        match self.state.nobody_left(from, pattern.context().0) {
            Some((process, how)) => {
                let by = NoticedBy::probe(pattern, from == ANYONE);
                Err(Error::Gone { process, how, by })
            }
            None => Ok(()),
        }
    }

    /// Ends these requests, which are waited for, if they are all receives from any source to which only this
    /// process could still send; returns whether that was so.
    #[cold]
    pub(crate) fn end_hopeless(&mut self, waited_for: &[u32], hand: Option<&Hand>) -> bool {
        let hopeless = |index: &u32| {
            let slot = self.state.requests.at(*index);
            if !matches!(slot.stage, Stage::Posted | Stage::Hand) || slot.peer != ANYONE {
                return None;
            }
            let (process, how) = self.state.waits_in_vain(ANYONE, slot.context)?;
            Some((*index, process, how))
        };
        let ends: Option<Vec<(u32, Process, Gone)>> = waited_for.iter().map(hopeless).collect();
        let Some(ends) = ends.filter(|ends| !ends.is_empty()) else {
            return false;
        };
        let tags = self.state.matching.tags_asked(hand);
        for (index, process, how) in ends {
            self.take_back(index);
            let outcome = Outcome::NobodyLeft(process, how, tags.by(index));
            self.state.requests.complete(index, outcome);
        }
        true
    }
}

impl State {
    /// If a receive for which nothing has come is not to wait: a process that the message could have come
    /// from, and how that process ended. A receive that names its sender waits as long as that lives; one
    /// from any source, as long as any member does, but not after a death that the user has not acknowledged,
    /// since it may be waiting for the dead. (A caller that waits cannot get a message from this process
    /// either: [`waits_in_vain`](Self::waits_in_vain).)
    pub(crate) fn nobody_left(&self, from: Process, context: u32) -> Option<(Process, Gone)> {
        self.nobody_left_but(None, from, context)
    }

    /// The same where one member does not count.
    fn nobody_left_but(
        &self,
        uncounted: Option<Process>,
        from: Process,
        context: u32,
    ) -> Option<(Process, Gone)> {
        if from != ANYONE {
            return Some((from, self.peers[from.index()].gone?));
        }
        let open = self.contexts.open(context)?;
        if let Some(dead) = open.unacknowledged {
            return Some((dead, Gone::Died));
        }
        let mut last = None;
        for &member in &*open.members {
            if Some(member) != uncounted {
                last = Some((member, self.peers[member.index()].gone?));
            }
        }
        last
    }

    /// For a caller that waits, after a round in which nothing came: whether only this process itself, which
    /// sends nothing meanwhile, could end the wait, and how another has ended.
    pub(crate) fn waits_in_vain(&self, from: Process, context: u32) -> Option<(Process, Gone)> {
        if !self.has_lost_any() {
            return None;
        }
        self.nobody_left_but(Some(self.me), from, context)
            .or_else(|| self.only_the_dead_could(from, context))
    }

    /// The same for a receive from any source where this process is the only member, as that of the last survivor:
    /// a process that has ended, and how.
    fn only_the_dead_could(&self, from: Process, context: u32) -> Option<(Process, Gone)> {
        let open = self.contexts.open(context)?;
        if from != ANYONE || *open.members != [self.me] {
            return None;
        }
        let mut peers = (0..).map(Process).zip(&self.peers);
        peers.find_map(|(process, peer)| Some((process, peer.gone?)))
    }
}
