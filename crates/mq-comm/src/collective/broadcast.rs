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
        // As if the root were rank 0: a rank's parent is the rank without its lowest digit that is 1.
        let place = (self.rank() + size - root) % size;
        let rank_at = |place: u32| (place + root) % size;
        let lowest = if place == 0 {
            size.next_power_of_two()
        } else {
            1 << place.trailing_zeros()
        };
        let digits = || core::iter::successors(Some(lowest / 2), |digit| Some(digit / 2));
        let children = || {
            digits()
                .take_while(|&digit| digit > 0)
                .map(|digit| place + digit)
                .filter(|&child| child < size)
        };
        let bytes = plain::bytes_mut(elements);
        if bytes.len() <= SEGMENT {
            self.segment_from(bytes, (place > 0).then(|| rank_at(place - lowest)))?;
            return children().try_for_each(|child| self.put(BROADCAST, bytes, rank_at(child)));
        }
        self.scope(|s| {
            for segment in bytes.chunks_mut(SEGMENT) {
                self.segment_from(segment, (place > 0).then(|| rank_at(place - lowest)))?;
                let segment = &*segment;
                for child in children() {
                    self.put_in(s, BROADCAST, segment, rank_at(child))?;
                }
            }
            s.wait_all()
        })
    }

    /// Receives a part of the elements, unless this is the root.
    fn segment_from(&self, segment: &mut [u8], parent: Option<u32>) -> Result<(), Error> {
        let Some(parent) = parent else {
            return Ok(());
        };
        let status = self.get(BROADCAST, segment, parent)?;
        if status.bytes() == segment.len() as u64 {
            Ok(())
        } else {
            Err(Error::Disagreement("broadcasts of different lengths"))
        }
    }
}
