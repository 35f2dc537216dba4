//! The broadcast, along a binomial tree.

use mq_shm::liveness::Gone;

use super::BROADCAST;
use super::failure::{self, Notice, unless_gone};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::plain::{self, Plain};
use crate::protocol::of_collectives;
use crate::steps::{Step, step};
use crate::transport::Transport;

/// Bytes that go down the tree together: longer messages follow each other in parts, so that all
/// levels of the tree are at work.
const SEGMENT: usize = 128 * 1024;

impl<T: Transport> Communicator<T> {
    /// Gives the elements of one rank, the root, to all. All ranks give the same root and as many
    /// elements. `MPI_Bcast`, MPI 4.1 §6.4.
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
    /// [`Error::Rank`] if there is no such root; [`Error::Gone`] if a rank between it and this one
    /// has ended; [`Error::Truncated`] or [`Error::Disagreement`] if another gave more or fewer
    /// elements. That is a mistake of the program, and only said to who notices it: of more than
    /// 128 KiB, parts are left over, which the next broadcast would take for its own.
    pub fn broadcast<E: Plain>(&self, elements: &mut [E], root: u32) -> Result<(), Error> {
        let size = self.size();
        if root >= size {
            return Err(Error::Rank { rank: root, size });
        }
        // As if the root were rank 0: a rank's parent is the rank without its lowest digit that is
        // 1.
        let place = (self.rank() + size - root) % size;
        let rank_at = |place: u32| (place + root) % size;
        let lowest = if place == 0 {
            size.next_power_of_two()
        } else {
            1 << place.trailing_zeros()
        };
        let digits = core::iter::successors(Some(lowest / 2), |digit| Some(digit / 2));
        let children = digits
            .take_while(|&digit| digit > 0)
            .map(|digit| place + digit)
            .filter(|&child| child < size)
            .map(rank_at);
        let bytes = plain::bytes_mut(elements);
        let above = (place > 0).then(|| rank_at(place - lowest));
        self.send_down(bytes, above, children)
    }

    /// Gets each part from above, if there is somebody, and passes it on.
    fn send_down(
        &self,
        bytes: &mut [u8],
        parent: Option<u32>,
        children: impl Iterator<Item = u32> + Clone,
    ) -> Result<(), Error> {
        if bytes.len() <= SEGMENT {
            let heard = self.segment_from(bytes, parent);
            if heard.is_err() {
                return self.pass_failure_on(heard, bytes.len(), children);
            }
            let mut result = Ok(());
            for child in children {
                // Each gets it, whoever else is gone.
                result = result.and(unless_gone(self.put(BROADCAST, bytes, child))?);
                step(Step::PartPassedOn);
            }
            return result;
        }
        let mut result = Ok(());
        let sent = self.scope(|s| {
            let mut segments = bytes.chunks_mut(SEGMENT);
            while let Some(segment) = segments.next() {
                if result.is_ok() {
                    result = self.segment_from(segment, parent);
                }
                if result.is_err() {
                    let heard = core::mem::replace(&mut result, Ok(()));
                    result = self.pass_failure_on(heard, segment.len(), children.clone());
                    if matches!(result, Err(Error::Gone { process, .. }) if self.is_above(parent, process)) {
                        // Of what it had sent, short parts may have come whole.
                        for segment in segments {
                            let _ = self.segment_from(segment, parent);
                        }
                    }
                    break;
                }
                let segment = &*segment;
                for child in children.clone() {
                    self.put_in(s, BROADCAST, segment, child)?;
                    step(Step::PartPassedOn);
                }
            }
            s.wait_all()
        });
        result.and(sent)
    }

    /// Whether a process is the rank above.
    fn is_above(&self, parent: Option<u32>, process: u32) -> bool {
        parent.is_some_and(|parent| self.inner.group[parent as usize].0 == process)
    }

    /// Receives a part of the elements, unless this is the root.
    fn segment_from(&self, segment: &mut [u8], parent: Option<u32>) -> Result<(), Error> {
        let Some(parent) = parent else {
            return Ok(());
        };
        let room = segment.len();
        // There has to be room for a notice.
        let mut short = [0; failure::MOST];
        let into = if room < short.len() {
            &mut short[..]
        } else {
            &mut *segment
        };
        let heard = self.get(BROADCAST, into, parent);
        step(Step::PartHeard);
        if let Err(Error::Truncated { sent, .. }) = heard {
            if room < short.len() {
                segment.copy_from_slice(&short[..room]);
            }
            let room = room as u64;
            return Err(Error::Truncated { sent, room });
        }
        let status = heard?;
        let bytes = status.bytes() as usize;
        if bytes == room {
            if room < short.len() {
                segment.copy_from_slice(&short[..room]);
            }
            return Ok(());
        }
        if let Some(failure) = failure::read(&into[..bytes]) {
            return Err(failure);
        }
        // Parts that the rank above had announced are lost with it if it dies. A short one behind them
        // that had come whole is found in their place.
        let (above, context) = (
            self.inner.group[parent as usize],
            of_collectives(self.inner.number),
        );
        let gone = self.inner.core().state.nobody_left(above, context, false);
        if let Some((process, how @ Gone::Died)) = gone {
            let process = process.0;
            return Err(Error::Gone { process, how });
        }
        Err(if bytes > room {
            Error::Truncated {
                sent: bytes as u64,
                room: room as u64,
            }
        } else {
            Error::Disagreement("broadcasts of different lengths")
        })
    }

    /// Tells those below that a part of so many bytes, and what was to follow it, will not come.
    #[cold]
    fn pass_failure_on(
        &self,
        heard: Result<(), Error>,
        bytes: usize,
        children: impl Iterator<Item = u32>,
    ) -> Result<(), Error> {
        if let Err(error) = &heard {
            let notice = Notice::of(error, bytes);
            for child in children {
                // One that is gone as well needs none.
                let _ = self.put(BROADCAST, notice.bytes(), child);
            }
        }
        heard
    }
}
