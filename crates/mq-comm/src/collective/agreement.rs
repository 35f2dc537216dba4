//! What all live ranks decide alike, whoever dies meanwhile: hierarchical consensus (Cachin, Guerraoui &
//! Rodrigues 2011, §5.1).
//!
//! Each rank sends its opinion to every other one, and hears theirs, or that they have ended. So what it
//! makes of them takes in every live rank. Then each tells the higher ranks the decision as far as it knows,
//! after hearing the same from all lower ones, or that they have ended. All others hear the lowest live rank,
//! and nobody after it says anything else. So it ends however many die, at whatever step.
//!
//! This needs three things of the transport: nobody is taken for dead who is not, and the dead are found in
//! the end; what a process sent before its death is received before the death is known; and a message has
//! left its sender when sending it is over, so that a rank that has returned from here, and dies, has told
//! all others.

use super::{DECISION, OPINION};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::steps::{Step, step};
use crate::transport::Transport;

/// What is being decided, so that ranks that call different operations are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Matter {
    Flags = 1,
    Members = 2,
}

impl<T: Transport> Communicator<T> {
    /// What is made of the opinions of all ranks, by rank; that of a rank that has ended may be missing. The
    /// result has as many words at all ranks.
    ///
    /// # Errors
    /// [`Error::Disagreement`] if a rank has something else to decide; any other error if this rank cannot
    /// take part. Others may then wait until it has ended.
    ///
    /// # Cost
    /// Three messages for each pair of ranks.
    pub(crate) fn decide<const WORDS: usize>(
        &self,
        matter: Matter,
        mine: [u32; WORDS],
        of_all: impl FnOnce(&[Option<[u32; WORDS]>]) -> Vec<u32>,
    ) -> Result<Vec<u32>, Error> {
        let (me, size) = (self.rank(), self.size());
        let _operation = self.begin_collective();
        let others = || (0..size).filter(move |&rank| rank != me);
        let said = [&[matter as u32], &mine[..]].concat();
        let mut result = Ok(());
        for rank in others() {
            let said = self.send_as_part(OPINION, &said, rank);
            result = result.and(self.unless_ended(rank, said).map(|_| ()));
            step(Step::OpinionSaid);
        }
        let mut opinions = vec![None; size as usize];
        opinions[me as usize] = Some(mine);
        let mut theirs = said;
        for rank in others() {
            // All are heard, or what they say now would be taken for what they say next time.
            let heard = self
                .receive_as_part(OPINION, &mut theirs, rank)
                .and_then(|status| {
                    let is_it =
                        status.count::<u32>()? == theirs.len() && theirs[0] == matter as u32;
                    is_it.then_some(()).ok_or(ELSE)
                });
            let heard = match heard {
                Err(Error::Truncated { .. }) => Err(ELSE),
                heard => self.unless_ended(rank, heard),
            };
            match heard {
                Ok(Some(())) => opinions[rank as usize] = theirs[1..].try_into().ok(),
                Ok(None) => {}
                Err(error) => result = result.and(Err(error)),
            }
            step(Step::OpinionHeard);
        }
        result?;
        let mut decided = of_all(&opinions);
        let mut theirs = vec![0; decided.len()];
        for rank in 0..me {
            let heard = self.receive_as_part(DECISION, &mut theirs, rank);
            if let Some(status) = self.unless_ended(rank, heard)? {
                if status.count::<u32>()? != theirs.len() {
                    return Err(ELSE);
                }
                decided.copy_from_slice(&theirs);
            }
        }
        step(Step::Decided);
        for rank in me + 1..size {
            let said = self.send_as_part(DECISION, &decided, rank);
            self.unless_ended(rank, said)?;
            step(Step::DecisionSaid);
        }
        Ok(decided)
    }

    /// The result of an operation with a rank, or `None` if that has ended.
    fn unless_ended<R>(&self, rank: u32, result: Result<R, Error>) -> Result<Option<R>, Error> {
        match result {
            Ok(result) => Ok(Some(result)),
            Err(Error::Gone { process, .. }) if process == self.member(rank) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

const ELSE: Error = Error::Disagreement("some shrink and others agree");
