//! The barrier, by dissemination (Hensgen, Finkel & Manber 1988).

use super::BARRIER;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::transport::Transport;

impl<T: Transport> Communicator<T> {
    /// Waits until all ranks have called it. `MPI_Barrier`, MPI 4.1 §6.3.
    ///
    /// # Errors
    /// [`Error::Gone`] if one of them has ended.
    ///
    /// # Cost
    /// For n ranks, each sends and receives as many empty messages as n has binary digits, one after the other.
    pub fn barrier(&self) -> Result<(), Error> {
        let (rank, size) = (self.rank(), self.size());
        let mut distance = 1;
        while distance < size {
            self.put::<u8>(BARRIER, &[], (rank + distance) % size)?;
            self.get::<u8>(BARRIER, &mut [], (rank + size - distance) % size)?;
            distance *= 2;
        }
        Ok(())
    }
}
