//! The broadcast, along a binomial tree.

use super::BROADCAST;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::plain::{self, Plain};
use crate::transport::Transport;

/// Bytes that go down the tree together: longer messages follow each other in parts, so that all levels of the tree
/// are at work.
const SEGMENT: usize = 128 * 1024;

impl<T: Transport> Communicator<T> {
    /// Gives the elements of one rank, the root, to all. All ranks give the same root and as many elements.
    /// `MPI_Bcast`, MPI 4.1 §6.4.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let all = World::threads(4, |world| {
    ///     let mut elements = [world.rank(); 3];
    ///     world.broadcast(&mut elements, 2)?;
    ///     Ok(elements)
    /// })?;
    /// assert_eq!(all, [[2; 3]; 4]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Rank`] if there is no such root; [`Error::Gone`] if a rank between it and this one has ended;
    /// [`Error::Truncated`] or [`Error::Disagreement`] if another gave more or fewer elements.
    pub fn broadcast<E: Plain>(&self, elements: &mut [E], root: u32) -> Result<(), Error> {
        let size = self.size();
        if root >= size {
            return Err(Error::Rank { rank: root, size });
        }
        let bytes = plain::bytes_mut(elements);
        if bytes.is_empty() {
            return self.broadcast_segment(bytes, root);
        }
        for segment in bytes.chunks_mut(SEGMENT) {
            self.broadcast_segment(segment, root)?;
        }
        Ok(())
    }

    fn broadcast_segment(&self, segment: &mut [u8], root: u32) -> Result<(), Error> {
        let size = self.size();
        // As if the root were rank 0: a rank's parent is the rank without its lowest digit that is 1.
        let place = (self.rank() + size - root) % size;
        let lowest = if place == 0 {
            size.next_power_of_two()
        } else {
            1 << place.trailing_zeros()
        };
        if place > 0 {
            let parent = (place - lowest + root) % size;
            let status = self.get(BROADCAST, segment, parent)?;
            if status.bytes() != segment.len() as u64 {
                return Err(Error::Disagreement("broadcasts of different lengths"));
            }
        }
        let mut digit = lowest / 2;
        while digit > 0 {
            if place + digit < size {
                self.put(BROADCAST, segment, (place + digit + root) % size)?;
            }
            digit /= 2;
        }
        Ok(())
    }
}
