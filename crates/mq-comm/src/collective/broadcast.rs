//! The broadcast, along a binomial tree.

use mq_core::Rank;
use mq_shm::liveness::Gone;

use super::BROADCAST;
use super::failure::{self, Notice};
use crate::communicator::Communicator;
use crate::error::{Error, NoticedBy};
use crate::plain::{self, Plain};
use crate::steps::{Step, step};
use crate::transport::Transport;

/// Bytes that go down the tree together: longer messages follow in parts, so that all levels of the tree are
/// at work.
const SEGMENT: usize = 128 * 1024;

impl<T: Transport> Communicator<T> {
    /// Copies the elements of one rank, the root, to all. All ranks give the same root and as many elements.
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
    /// [`Error::Rank`] if there is no such root; [`Error::Gone`] if a rank between the root and this one has
    /// ended, and [`Error::Elsewhere`] if it could not pass the elements on; at a rank that could not pass
    /// them on to a child, the error of [`send`](Self::send). The others have the elements, and nothing is
    /// left over.
    ///
    /// [`Error::Disagreement`] if another rank gave more or fewer elements. That is an error in the program,
    /// and only reported at ranks that notice it: if more than 128 KiB are broadcast, parts are left over,
    /// which the next broadcast would take for its own.
    pub fn broadcast<E: Plain>(
        &self,
        elements: &mut [E],
        root: impl Into<Rank>,
    ) -> Result<(), Error> {
        let (Rank(root), size) = (root.into(), self.size());
        if root >= size {
            return Err(Error::Rank { rank: root, size });
        }
        if size == 1 {
            return self.unless_revoked();
        }
        // As if the root were rank 0: a rank's parent is its number with the lowest set bit cleared.
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
        let _operation = self.begin_collective();
        let above = (place > 0).then(|| rank_at(place - lowest));
        self.send_down(bytes, above, children)
    }

    /// Gets the elements from the parent, if there is one, and passes them on.
    fn send_down(
        &self,
        bytes: &mut [u8],
        parent: Option<u32>,
        children: impl Iterator<Item = u32> + Clone,
    ) -> Result<(), Error> {
        if bytes.len() <= SEGMENT {
            self.pass_on_whole(bytes, parent, children)
        } else {
            self.pass_on_in_parts(bytes, parent, &children)
        }
    }

    /// Gets all together, and passes it on.
    fn pass_on_whole(
        &self,
        bytes: &mut [u8],
        parent: Option<u32>,
        children: impl Iterator<Item = u32>,
    ) -> Result<(), Error> {
        if let Err(Missing::ThisOne(error) | Missing::All(error)) = self.segment_from(bytes, parent)
        {
            self.pass_failure_on(&error, bytes.len(), children);
            return Err(error);
        }
        let bytes = &*bytes;
        let (mut result, mut later) = (Ok(()), Vec::new());
        for child in children {
            if !self.is_eager(BROADCAST, bytes.len(), child) {
                later.push(child);
                continue;
            }
            // Each gets it, whoever else does not.
            let said = self.send_or_owe(BROADCAST, bytes, child);
            result = result.and(self.or_tell(said, bytes.len(), child));
            step(Step::PartPassedOn);
        }
        if later.is_empty() {
            return result;
        }
        result.and(self.send_announced(bytes, later))
    }

    /// Sends what is announced to some children, and sees that through.
    fn send_announced(&self, bytes: &[u8], children: Vec<u32>) -> Result<(), Error> {
        self.scope(|s| {
            let mut sent = Ok(());
            for child in children {
                let begun = self.begin_send_as_part(s, BROADCAST, bytes, child);
                sent = sent.and(self.or_tell(begun, bytes.len(), child));
                step(Step::PartPassedOn);
            }
            sent.and(s.wait_all())
        })
    }

    /// Gets one part after the other, and passes each on.
    fn pass_on_in_parts(
        &self,
        bytes: &mut [u8],
        parent: Option<u32>,
        children: &(impl Iterator<Item = u32> + Clone),
    ) -> Result<(), Error> {
        let mut heard = Ok(());
        let sent = self.scope(|s| {
            let mut sent = Ok(());
            let mut given_up = Vec::new();
            let mut segments = bytes.chunks_mut(SEGMENT);
            while let Some(segment) = segments.next() {
                let to = children.clone().filter(|child| !given_up.contains(child));
                if let Err(missing) = self.segment_from(segment, parent) {
                    let (Missing::ThisOne(error) | Missing::All(error)) = &missing;
                    self.pass_failure_on(error, segment.len(), to);
                    heard = Err(self.receive_the_rest(missing, segments, parent));
                    break;
                }
                let segment = &*segment;
                for child in to.collect::<Vec<_>>() {
                    let begun = self.begin_send_as_part(s, BROADCAST, segment, child);
                    if begun.is_err() {
                        // It would take a later part for this one.
                        given_up.push(child);
                    }
                    sent = sent.and(self.or_tell(begun, segment.len(), child));
                    step(Step::PartPassedOn);
                }
            }
            sent.and(s.wait_all())
        });
        heard.and(sent)
    }

    /// The parent goes on with the parts after one that has not come: the next broadcast would take what is
    /// left over for its own. Returns why that part has not come.
    #[cold]
    fn receive_the_rest<'a>(
        &self,
        missing: Missing,
        segments: impl Iterator<Item = &'a mut [u8]>,
        parent: Option<u32>,
    ) -> Error {
        match missing {
            Missing::All(error) => error,
            Missing::ThisOne(error) => {
                for segment in segments {
                    if let Err(Missing::All(_)) = self.segment_from(segment, parent) {
                        break;
                    }
                }
                error
            }
        }
    }

    /// Receives a part of the elements, unless this is the root.
    fn segment_from(&self, segment: &mut [u8], parent: Option<u32>) -> Result<(), Missing> {
        let Some(parent) = parent else {
            return Ok(());
        };
        let room = segment.len();
        // There must be room for a notice.
        let mut short = [0; failure::LONG_NOTICE_BYTES];
        let into = if room < short.len() {
            &mut short[..]
        } else {
            &mut *segment
        };
        let heard = self.receive_as_part(BROADCAST, into, parent);
        step(Step::PartHeard);
        let bytes = match heard {
            Ok(status) => status.bytes() as usize,
            Err(Error::Truncated { .. }) => return Err(self.other_length(parent)),
            Err(error) => return Err(Missing::ThisOne(error)),
        };
        if bytes == room {
            if room < short.len() {
                segment.copy_from_slice(&short[..room]);
            }
            return Ok(());
        }
        match failure::read(&into[..bytes]) {
            Some(failure) => Err(Missing::All(failure)),
            None => Err(self.other_length(parent)),
        }
    }

    /// A part does not have the right length. If the parent has died, parts that it had announced are lost, and a
    /// later short one, which had come whole, is found in their place.
    #[cold]
    fn other_length(&self, parent: u32) -> Missing {
        let context = self.inner.number.collectives();
        let core = self.inner.core();
        let above = self.member(parent);
        match core.state.nobody_left(above, context) {
            Some((process, how @ Gone::Died)) => {
                let by = NoticedBy::Collective;
                Missing::ThisOne(Error::Gone { process, how, by })
            }
            _ => Missing::All(Error::Disagreement("broadcasts of different lengths")),
        }
    }

    /// Tells a child that a part which could not be sent will not come.
    fn or_tell(&self, sent: Result<(), Error>, bytes: usize, child: u32) -> Result<(), Error> {
        if let Err(error) = &sent {
            self.pass_failure_on(error, bytes, core::iter::once(child));
        }
        sent
    }

    /// Tells the children that a part of this many bytes, and what was to follow it, will not come.
    #[cold]
    fn pass_failure_on(&self, error: &Error, bytes: usize, children: impl Iterator<Item = u32>) {
        let notice = Notice::of(error, bytes, self.member(self.rank()));
        for child in children {
            // A child that is gone as well needs no notice.
            self.send_notice(BROADCAST, notice.bytes(), child);
        }
    }
}

/// Why a part has not come.
enum Missing {
    /// Only this one: what follows it is sent, unless the parent has ended.
    ThisOne(Error),
    /// Nothing follows it either; or nobody knows what, as lengths differ.
    All(Error),
}
