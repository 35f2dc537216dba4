//! The barrier, by dissemination (Hensgen, Finkel & Manber 1988).

use super::BARRIER;
use super::failure::unless_gone;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::steps::{Step, step};
use crate::transport::Transport;

impl<T: Transport> Communicator<T> {
    /// Waits until all ranks have called it. `MPI_Barrier`, MPI 4.1 §6.3.
    ///
    /// # Errors
    /// [`Error::Gone`] if one of them has ended, at those that find out; it may succeed at others.
    /// None that lives waits for ever for one that has ended, and the next operation can be called; of a
    /// communicator that not all of its ranks [have got](Communicator::dup), this does not hold.
    ///
    /// # Cost
    /// For n ranks, each sends and receives as many empty messages as n has binary digits, one
    /// after the other.
    pub fn barrier(&self) -> Result<(), Error> {
        let (rank, size) = (self.rank(), self.size());
        let (mut distance, mut result) = (1, Ok(()));
        while distance < size {
            let said = unless_gone(self.put::<u8>(BARRIER, &[], (rank + distance) % size))?;
            step(Step::BarrierSaid);
            let heard = self.get::<u8>(BARRIER, &mut [], (rank + size - distance) % size);
            step(Step::BarrierHeard);
            // The others wait for this rank's word in any case.
            result = result.and(said).and(heard.map(|_| ()));
            distance *= 2;
        }
        result
    }
}
