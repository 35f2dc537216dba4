//! The barrier, by dissemination (Hensgen, Finkel & Manber 1988).

use super::BARRIER;
use super::failure::{self, Notice, unless_gone};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::steps::{Step, step};
use crate::transport::Transport;

impl<T: Transport> Communicator<T> {
    /// Waits until all ranks have called it. `MPI_Barrier`, MPI 4.1 §6.3.
    ///
    /// # Errors
    /// [`Error::Gone`] if a rank has ended, at those that find out or are told; it may succeed at others,
    /// each of which knows that all live ranks have called it. [`Error::Elsewhere`] if another could not go
    /// on; otherwise as [`send`](Self::send). No live rank waits forever for one that has ended, and the next
    /// operation can be called; this does not hold for a communicator that not all of its ranks [have
    /// got](Communicator::dup).
    ///
    /// # Cost
    /// With n ranks, each sends and receives as many empty messages as n - 1 has binary digits, one after the
    /// other.
    pub fn barrier(&self) -> Result<(), Error> {
        let (rank, size) = (self.rank(), self.size());
        if size == 1 {
            return self.unless_revoked();
        }
        let _operation = self.begin_collective();
        let (mut distance, mut heard_all, mut said_all) = (1, Ok(()), Ok(()));
        while distance < size {
            // The others wait for this rank's word in any case. If it is not a notice, it says that all ranks
            // are in from which this one has heard, directly or not.
            let notice = heard_all.as_ref().err();
            let notice = notice.map(|error| Notice::of(error, 0, self.member(rank)));
            let word = notice.as_ref().map_or(&[][..], Notice::bytes);
            let said = unless_gone(self.send_or_owe(BARRIER, word, (rank + distance) % size))?;
            step(Step::BarrierSaid);
            let heard = self.hear((rank + size - distance) % size);
            step(Step::BarrierHeard);
            heard_all = heard_all.and(heard);
            said_all = said_all.and(said);
            distance *= 2;
        }
        heard_all.and(said_all)
    }

    /// The word of a rank, or what it says in its place.
    fn hear(&self, from: u32) -> Result<(), Error> {
        let mut notice = [0_u8; failure::LONG_NOTICE_BYTES];
        let status = self.receive_as_part(BARRIER, &mut notice, from)?;
        match failure::read(&notice[..status.bytes() as usize]) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }
}
