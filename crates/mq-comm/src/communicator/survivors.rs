//! How survivors go on after deaths, as in ULFM (User Level Failure Mitigation; Bland, Bouteiller, Herault,
//! Bosilca & Dongarra 2013).

use std::rc::Rc;

use mq_shm::Process;
use mq_shm::liveness::Gone;

use super::Communicator;
use crate::collective::{Answered, Matter};
use crate::error::Error;
use crate::protocol::{Number, Offer};
use crate::steps::{Step, step};
use crate::transport::Transport;

/// A communicator of the ranks that were heard, given what they [offered](Offer::words) of the numbers from `first` on:
/// what is [agreed](Offer::agreed), then a bit for each rank, set for the members.
fn decision(all: &[Option<[u32; 3]>], first: Number) -> Vec<u32> {
    let offers = all.iter().flatten().copied().map(Offer::of_words);
    let mut words = Offer::agreed(offers, first).words().to_vec();
    words.extend(all.chunks(u32::BITS as usize).map(|chunk| {
        let bits = chunk.iter().enumerate();
        bits.fold(0, |word, (at, said)| word | u32::from(said.is_some()) << at)
    }));
    words
}

/// The ranks whose bit is set.
fn members(words: &[u32]) -> impl Iterator<Item = u32> {
    let bit = |rank: u32| words[(rank / u32::BITS) as usize] >> (rank % u32::BITS) & 1;
    (0..words.len() as u32 * u32::BITS).filter(move |&rank| bit(rank) == 1)
}

impl<T: Transport> Communicator<T> {
    /// Acknowledges all deaths that this process has noticed, and returns the ranks of all dead processes,
    /// including those acknowledged earlier. From then on, receives from any source wait for the others,
    /// until another rank dies. `MPI_Comm_ack_failed` of ULFM.
    ///
    /// [`Error::Gone`] names one death, but several may have been noticed together: handle a death for each
    /// returned rank that was not known before.
    ///
    /// ```
    /// use mq_comm::{Error, Source, World};
    ///
    /// /// The next request of a client, while one is left; they may die, and leave.
    /// fn request(world: &World, clients: &mut Vec<u32>) -> Result<Option<[u64; 2]>, Error> {
    ///     let mut request = [0; 2];
    ///     // What the last had sent may have come with the news of its end.
    ///     while !clients.is_empty() || matches!(world.iprobe(Source::Any, 1), Ok(Some(_))) {
    ///         match world.recv(&mut request, Source::Any, 1) {
    ///             Err(Error::Gone { .. }) => {
    ///                 world.acknowledge_deaths();
    ///                 let ended = world.ended();
    ///                 clients.retain(|client| ended.iter().all(|(rank, _)| rank != client));
    ///             }
    ///             received => return received.map(|_| Some(request)),
    ///         }
    ///     }
    ///     Ok(None)
    /// }
    /// # let world = World::alone()?;
    /// # world.send(&[7_u64, 8], 0, 1)?;
    /// # assert_eq!(request(&world, &mut vec![0])?, Some([7, 8]));
    /// # assert_eq!(world.acknowledge_deaths(), [0; 0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn acknowledge_deaths(&self) -> Vec<u32> {
        let mut core = self.inner.core();
        core.hear_of_ends();
        let not_gone = |process: &Process| {
            core.state.has_died(*process) && core.state.peers[process.index()].gone.is_none()
        };
        let group = self.inner.group.iter().copied();
        let not_gone = group.filter(not_gone).collect();
        core.state.contexts.acknowledge(self.inner.number, not_gone);
        let died = |process: &Process| core.state.has_died(*process);
        let ranks = (0..).zip(&*self.inner.group);
        ranks
            .filter_map(|(rank, process)| died(process).then_some(rank))
            .collect()
    }

    /// The ranks that have ended, as far as this process has been told, and how. It is told of all that it has
    /// exchanged messages with, and of all while a receive or probe from any source waits. Unlike
    /// [`acknowledge_deaths`](Self::acknowledge_deaths), this includes ranks that have left. Their messages
    /// may have come before, and wait to be received. (A receive from any source fails because of a rank that
    /// has left only when nobody else is there.)
    #[must_use]
    pub fn ended(&self) -> Vec<(u32, Gone)> {
        let mut core = self.inner.core();
        core.hear_of_ends();
        let how = |process: &Process| core.state.how_ended(*process);
        let ranks = (0..).zip(&*self.inner.group);
        ranks
            .filter_map(|(rank, process)| Some((rank, how(process)?)))
            .collect()
    }

    /// Ends all that waits on this communicator, at all its ranks, and forever: here immediately, at the others when
    /// they are told, and they tell each other. Receives and probes without a message then fail with
    /// [`Error::Revoked`], and so does everything that is begun later, except [`agree`](Self::agree) and
    /// [`shrink`](Self::shrink). Any rank may call it, at any time; it does not wait for the others, who call nothing.
    /// `MPI_Comm_revoke` of ULFM.
    ///
    /// So who cannot go on, since a rank has died, calls this: the others, who may wait for a message that will never
    /// be sent, then go on with it.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let run = World::threads(3, |world| {
    ///     let work = world.dup()?;
    ///     let mut word = [0_u8];
    ///     let step = match work.rank() {
    ///         0 => work.recv(&mut word, 1, 7), // It notices the death, and sends nothing to rank 2.
    ///         1 => return Err(Error::Cancelled), // It dies of an error.
    ///         _ => work.recv(&mut word, 0, 7), // It waits for a rank that lives.
    ///     };
    ///     assert!(step.is_err());
    ///     work.revoke()?;
    ///     let rest = work.shrink()?;
    ///     assert_eq!(rest.size(), 2);
    ///     rest.barrier()
    /// });
    /// assert!(matches!(run, Err(Error::Cancelled)));
    /// ```
    ///
    /// Messages of this communicator that nobody has received are discarded, and a send may be `Ok` though its message
    /// was. Sends that have begun and receives that have a message end as they would have otherwise. Other
    /// communicators, also those made from this one, are as before.
    ///
    /// If this rank dies meanwhile, either all live ranks are told, or none. Calling it again has no effect.
    ///
    /// # Errors
    /// [`Error::Transport`] if another rank could not be told yet: it is told with one of the next calls that make
    /// progress. Here the communicator is revoked in any case.
    ///
    /// # Cost
    /// A short message from each rank to each other one.
    pub fn revoke(&self) -> Result<(), Error> {
        self.inner.core().revoke(self.inner.number)
    }

    /// Whether this communicator is [revoked](Self::revoke), as far as this process has been told.
    /// `MPI_Comm_is_revoked` of ULFM.
    #[must_use]
    pub fn is_revoked(&self) -> bool {
        self.inner
            .core()
            .state
            .contexts
            .is_revoked(self.inner.number)
    }

    /// For an operation of all ranks that neither sends nor receives where there is only one.
    pub(crate) fn unless_revoked(&self) -> Result<(), Error> {
        match self.is_revoked() {
            true => Err(Error::Revoked),
            false => Ok(()),
        }
    }

    /// A communicator of the live ranks, in the order of their ranks. All of them have to call it; a rank
    /// that has ended, or ends meanwhile, need not. `MPI_Comm_shrink` of ULFM.
    ///
    /// All survivors get the same communicator, however many die during the call. A rank that died after it
    /// had made the call may be a member; receives from it fail as anywhere.
    ///
    /// **All survivors have to get here**: if A sees a death and calls this while C, which does not
    /// communicate with the dead rank, waits for A's next message, both wait forever. So A first
    /// [revokes](Self::revoke) the communicator, which ends C's wait. And as the others may not have noticed
    /// anything when they are done, all end each step, failed or not, by [`agree`](Self::agree) on whether all went
    /// well.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let run = World::threads(3, |world| {
    ///     if world.rank() == 1 {
    ///         return Err(Error::Cancelled); // It dies of an error.
    ///     }
    ///     assert!(world.barrier().is_err(), "one of them will never come");
    ///     let rest = world.shrink()?;
    ///     assert_eq!((rest.size(), rest.rank()), (2, world.rank() / 2));
    ///     rest.barrier()
    /// });
    /// assert!(matches!(run, Err(Error::Cancelled)));
    /// ```
    ///
    /// # Errors
    /// [`Error::Disagreement`] if others call [`agree`](Self::agree); [`Error::Transport`] if this rank has
    /// no memory for its messages, or the shared memory is damaged. Others may then wait until this rank has
    /// ended, and it must not call this again.
    ///
    /// # Cost
    /// Three short messages for each pair of ranks, and again if none of the 64 numbers that each rank
    /// offered is free at all of them; when the communicator is dropped, one to each rank.
    pub fn shrink(&self) -> Result<Self, Error> {
        let (number, bits) = self.agree_on_number("shrink", |first, offer| {
            let decided = self.decide(Matter::Members, offer.words(), |all| decision(all, first));
            Ok(decided.map_or_else(Answered::Never, Answered::With))
        })?;
        step(Step::RestAgreed);
        let group: Option<Rc<[Process]>> = members(&bits)
            .map(|rank| self.inner.group.get(rank as usize).copied())
            .collect();
        let rank = members(&bits).position(|rank| rank == self.rank());
        match (group, rank) {
            (Some(group), Some(rank)) => {
                let core = self.inner.core.clone();
                Ok(Self::new(core, number, rank as u32, group))
            }
            _ => Err(Error::Disagreement("shrink")),
        }
    }

    /// The bits that are set in the flags of all ranks; the result is the same at all live ranks. All of them
    /// have to call it; the flags of a rank that has ended, or ends meanwhile, may or may not count.
    /// `MPI_Comm_agree` of ULFM.
    ///
    /// With it, ranks find out whether an operation has succeeded everywhere, since a barrier or a broadcast
    /// may succeed at some ranks only if a rank dies:
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// World::threads(3, |world| {
    ///     let mut numbers = [0_u64; 4];
    ///     let heard = world.broadcast(&mut numbers, 0);
    ///     let all_heard = world.agree(u32::from(heard.is_ok()))? == 1;
    ///     assert!(all_heard);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`shrink`](Self::shrink); a rank that has ended is not an error.
    ///
    /// # Cost
    /// Three short messages for each pair of ranks.
    pub fn agree(&self, flags: u32) -> Result<u32, Error> {
        let of_all = |all: &[Option<[u32; 1]>]| {
            let flags = all.iter().flatten();
            vec![flags.fold(u32::MAX, |both, [flags]| both & flags)]
        };
        let decided = self.decide(Matter::Flags, [flags], of_all)?;
        decided.first().copied().ok_or(Error::Disagreement("agree"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Agreed;

    fn heard(free: u64, later: u32) -> Option<[u32; 3]> {
        let later = Number(later);
        Some(Offer { free, later }.words())
    }

    #[test]
    fn a_decision_has_the_lowest_number_that_is_free_with_all_and_who_was_heard() {
        let mut all = vec![heard(0b0110, 64); 40];
        (all[1], all[33], all[34]) = (None, None, heard(0b1100, 70));
        let words = decision(&all, Number(128));
        assert_eq!(words.len(), 4);
        assert_eq!(words[..2], Agreed::Free(Number(130)).words());
        let expected: Vec<u32> = (0..40).filter(|rank| ![1, 33].contains(rank)).collect();
        assert_eq!(members(&words[2..]).collect::<Vec<_>>(), expected);
        let none = decision(&[heard(0b01, 64), heard(0b10, 70), None], Number(0));
        assert_eq!(none[..2], Agreed::AskFrom(Number(70)).words());
        assert_eq!(none[2..], [0b011]);
    }
}
