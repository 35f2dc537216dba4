//! Communicators: a group of processes, whose messages no other communicator sees.

mod create;
mod nonblocking;
mod number;
mod probe;
mod survivors;

use core::cell::{RefCell, RefMut};
use std::rc::Rc;

use mq_core::mpi::{MpiPattern, TagSelector};
use mq_core::{Rank, Source, Tag, TrafficClass};
use mq_shm::channel::Counters;
use mq_shm::{Endpoint, Process};

use crate::error::Error;
use crate::header::{self, Kind, Word};
use crate::plain::{self, Plain};
use crate::profile::Profile;
use crate::protocol::{Awaited, Core, Number, Out, peer_of};
use crate::status::Status;
use crate::transport::Transport;

pub use nonblocking::Refused;
pub use probe::Matched;

/// A group of processes that send each other messages. MPI 4.1 §7.
///
/// A receive takes the earliest message of its sender that matches its tag: messages of one sender stay in order. One
/// from any source prefers no sender for long, but messages of different senders are taken in the order in which they
/// are found, which need not be that in which they were sent. Tags are 0 or more.
///
/// A clone is another handle of the same communicator, without communication: to have messages of its own,
/// a library [duplicates](Self::dup) the communicator that it is given. A handle of a world's communicator
/// is `world.communicator().clone()`; `world.clone()` on a `&World` copies the reference.
///
/// # When it is dropped
/// When the last handle, request, request set and matched message are dropped, this rank leaves the
/// communicator: messages that it has not received are discarded, and so are those that still come. Dropping
/// is local, and no call of the other ranks reports it: a send to a rank that has dropped the communicator, or
/// that is leaving the world, succeeds, and a receive from it waits for as long as its process lives.
/// `MPI_Comm_free`, MPI 4.1 §7.4.3.
pub struct Communicator<T: Transport = Endpoint> {
    pub(crate) inner: Rc<Inner<T>>,
}

impl<T: Transport> Clone for Communicator<T> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
        }
    }
}

/// A process of the world, as its communicators and requests share it.
pub(crate) type Shared<T> = Rc<RefCell<Core<T>>>;

/// What requests keep alive of their communicator.
pub(crate) struct Inner<T: Transport> {
    pub(crate) core: Shared<T>,
    pub(crate) number: Number,
    pub(crate) rank: u32,
    /// The second word of an eager message.
    pub(crate) word: Word,
    pub(crate) group: Rc<[Process]>,
}

impl<T: Transport> Inner<T> {
    /// The address of the process, by which worlds are told apart.
    pub(crate) fn process(&self) -> *const () {
        Rc::as_ptr(&self.core).cast()
    }

    /// The process, for the time of a call, in which no code of the user's runs.
    #[inline]
    pub(crate) fn core(&self) -> RefMut<'_, Core<T>> {
        self.core.borrow_mut()
    }
}

impl<T: Transport> Drop for Inner<T> {
    fn drop(&mut self) {
        let owners = Rc::strong_count(&self.core);
        if let Ok(mut core) = self.core.try_borrow_mut()
            && !core.is_a_copy()
        {
            // A process that nothing can be sent to any more needs no answer.
            let _ = match self.number {
                // The last one leaves the world, which ends all.
                Number::WORLD if core.is_last_of(owners) => Ok(()),
                Number::WORLD => core.remove_world(),
                number => core.remove_communicator(number),
            };
        }
    }
}

/// Handles are equal if they are of one communicator (`MPI_IDENT`, MPI 4.1 §7.4.1); one made of another is not
/// equal to it, whoever its ranks are.
impl<T: Transport> PartialEq for Communicator<T> {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.inner, &other.inner)
    }
}

impl<T: Transport> Eq for Communicator<T> {}

impl<T: Transport> core::fmt::Debug for Communicator<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Communicator")
            .field("number", &self.inner.number.0)
            .field("rank", &self.rank())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

impl<T: Transport> Communicator<T> {
    pub(crate) fn new(core: Shared<T>, number: Number, rank: u32, group: Rc<[Process]>) -> Self {
        core.borrow_mut().add_communicator(number, &group);
        Self {
            inner: Rc::new(Inner {
                core,
                number,
                rank,
                word: Word::new(number.user(), TrafficClass::PointToPoint, Kind::Eager),
                group,
            }),
        }
    }

    /// This process's rank. `MPI_Comm_rank`, MPI 4.1 §7.4.1.
    #[inline]
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.inner.rank
    }

    /// How many ranks there are. `MPI_Comm_size`, MPI 4.1 §7.4.1.
    #[inline]
    #[must_use]
    pub fn size(&self) -> u32 {
        self.inner.group.len() as u32
    }

    /// The rank here of a process given by its number in the world, as in [`Error::Gone`]; `None` if it is
    /// not a member. `MPI_Group_translate_ranks`, MPI 4.1 §7.3.1.
    ///
    /// ```
    /// use mq_comm::{Error, Process, World};
    ///
    /// let world = World::alone()?;
    /// assert_eq!(world.rank_of(Process(0)), Some(0));
    /// assert_eq!(world.rank_of(Process(1)), None);
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn rank_of(&self, process: Process) -> Option<u32> {
        let mut ranks = (0..).zip(&*self.inner.group);
        let found = ranks.find(|(_, member)| **member == process);
        found.map(|(rank, _)| rank)
    }

    /// The number in the world of the process with a given rank here: the inverse of
    /// [`rank_of`](Self::rank_of). `MPI_Group_translate_ranks`, MPI 4.1 §7.3.1.
    ///
    /// ```
    /// use mq_comm::{Error, Process, World};
    ///
    /// World::threads(3, |world| {
    ///     // In reverse order.
    ///     let reverse = world.split(Some(0), -(world.rank() as i32))?.expect("a colour");
    ///     assert_eq!(reverse.process_of(0), Some(Process(2)));
    ///     assert_eq!(reverse.process_of(3), None);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn process_of(&self, rank: u32) -> Option<Process> {
        self.inner.group.get(rank as usize).copied()
    }

    /// Sends, and returns once the elements may be changed. `MPI_Send`, MPI 4.1 §3.2.1.
    ///
    /// `Ok` does not mean that the message has been received. A message without elements needs their type:
    /// `send::<u8>(&[], to, tag)`.
    ///
    /// If the message is longer than [`eager_limit`](crate::Options::eager_limit), or if its receiver has more
    /// unexpected messages than its [limit](crate::Options::unexpected_limit), the call may block until
    /// it is received: two ranks that both send such a message and then receive wait forever. Use
    /// [`sendrecv`](Self::sendrecv), [`isend`](Self::isend) or [`scope`](Self::scope) instead. Nor can a
    /// program rely on the call blocking: where receives were posted early, later messages may [go
    /// ahead](crate::Options::ahead_limit), and a message to this rank itself is kept until it is received.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Tag`]; [`Error::Gone`] if the receiver has ended; [`Error::Revoked`];
    /// [`Error::Transport`] if the system has no memory to send the message through, or the shared memory is
    /// damaged. If others wait to be sent before it, it may go out after them all the same, once there is memory.
    ///
    /// # Cost
    /// Short messages: one copy, and the stores of the transport.
    #[inline]
    pub fn send<E: Plain>(
        &self,
        elements: &[E],
        to: impl Into<Rank>,
        tag: impl Into<Tag>,
    ) -> Result<(), Error> {
        let (process, bits) = self.outgoing(to, tag)?;
        let mut core = self.inner.core();
        core.send(process, bits, self.inner.word, plain::bytes(elements))
    }

    /// Waits for a message and receives it. `MPI_Recv`, MPI 4.1 §3.2.4.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Tag`]; [`Error::Truncated`] if the message is longer than `elements`;
    /// [`Error::Gone`] if the sender has ended, or, from any source, if nobody else is left, or a rank has
    /// died and the program has not [acknowledged](Self::acknowledge_deaths) it; [`Error::Withdrawn`] if the
    /// sender had no memory to send the message through (if it withdraws the message before it was matched,
    /// or seen by a probe, the receive waits as if the message had never been sent); [`Error::Revoked`];
    /// [`Error::Transport`] as [`send`](Self::send).
    ///
    /// # Cost
    /// Short messages: one copy; the engine is entered only if other receives or messages wait.
    #[inline]
    pub fn recv<E: Plain>(
        &self,
        elements: &mut [E],
        from: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Status, Error> {
        let (from, word, bytes) = (from.into(), self.inner.word, plain::bytes_mut(elements));
        let (process, pattern) = self.incoming(from, tag.into())?;
        let mut core = self.inner.core();
        // Mostly known when it is compiled.
        match from {
            Source::Any => core.receive_by_turns(&pattern, word, bytes),
            Source::Rank(_) => core.receive(&pattern, word, process, bytes),
        }
    }

    /// Sends and receives in one call, so that two ranks that do so with each other do not wait forever.
    /// `MPI_Sendrecv`, MPI 4.1 §3.10.
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`recv`](Self::recv). If the send is refused, nothing has been received. After
    /// [`Error::Gone`] that was noticed by the [send](crate::NoticedBy::Send), a message may have been received into
    /// `into`, of which nothing else is told: a program that is to go on after deaths sends and receives in a
    /// [`scope`](Self::scope).
    ///
    /// # Cost
    /// Short messages: that of a `send` and a `recv`; from this process to itself, one copy.
    pub fn sendrecv<E: Plain, F: Plain>(
        &self,
        elements: &[E],
        to: impl Into<Rank>,
        tag: impl Into<Tag>,
        into: &mut [F],
        from: impl Into<Source>,
        its_tag: impl Into<TagSelector>,
    ) -> Result<Status, Error> {
        let (to, tag) = (to.into(), tag.into());
        let (from, its_tag) = (from.into(), its_tag.into());
        // Both are checked before either has an effect.
        let (receiver, bits) = self.outgoing(to, tag)?;
        let (sender, pattern) = self.incoming(from, its_tag)?;
        let out = Out {
            to: receiver,
            bits,
            word: self.inner.word,
            bytes: plain::bytes(elements),
        };
        let done =
            (self.inner.core()).send_and_receive(&out, &pattern, sender, plain::bytes_mut(into))?;
        if let Some(status) = done {
            return Ok(status);
        }
        self.scope(|s| {
            if to.0 == self.rank() {
                let receiving = s.irecv(into, from, its_tag)?;
                // It may be for another receive than this one, and nobody could post that meanwhile.
                self.send(elements, to, tag)?;
                return receiving.wait().map(|(_, status)| status);
            }
            // It may be refused, and nothing has been received then.
            let sending = s.isend(elements, to, tag)?;
            let receiving = s.irecv(into, from, its_tag)?;
            // Whatever becomes of one, the other is seen through.
            let (received, sent) = (receiving.wait(), sending.wait());
            let (_, status) = received?;
            sent?;
            Ok(status)
        })
    }

    /// What this process has sent and received, in all communicators.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.inner.core().state.profile
    }

    /// What the transport has sent for this process, in all communicators, and through which buffers; `None` if it
    /// does not count that. Its messages are those of the program and those of the protocol: announcements, answers,
    /// collectives.
    #[must_use]
    pub fn counters(&self) -> Option<Counters> {
        self.inner.core().transport.counters().cloned()
    }

    /// Memory in bytes that is held by unexpected messages of this process, in all communicators: their data, and 256
    /// bytes for each. Announced messages, whose data is still with their senders, are not counted.
    /// Above [`unexpected_limit`](crate::Options::unexpected_limit), senders are held back.
    #[must_use]
    pub fn unexpected_bytes(&self) -> u64 {
        self.inner.core().state.messages.bytes()
    }

    /// Takes in what has come, and sends what waits. Only needed while a program computes for long or waits
    /// for something else.
    ///
    /// # Errors
    /// If the transport is damaged, or memory is refused for something that waits: it is tried again.
    pub fn progress(&self) -> Result<(), Error> {
        let mut core = self.inner.core();
        core.progress_for_asker(Awaited::Ends).map(drop)
    }

    /// The receiver of a message, and the message's first word.
    #[inline]
    pub(crate) fn outgoing(
        &self,
        to: impl Into<Rank>,
        tag: impl Into<Tag>,
    ) -> Result<(Process, u64), Error> {
        let (Rank(to), Tag(tag)) = (to.into(), tag.into());
        match self.inner.group.get(to as usize) {
            Some(&process) if tag >= 0 => Ok((process, header::bits(self.inner.rank, tag))),
            _ => Err(self.refused(Source::from(to), TagSelector::from(tag))),
        }
    }

    /// The sender of a message, or any, and what the message has to match.
    #[inline]
    pub(crate) fn incoming(
        &self,
        from: Source,
        tag: TagSelector,
    ) -> Result<(Process, MpiPattern), Error> {
        let negative = match tag {
            TagSelector::Exact(tag) => tag.0 < 0,
            TagSelector::Masked { wanted, ignore } => wanted.0 < 0 && ignore >> 31 == 0,
            TagSelector::Any => false,
        };
        match peer_of(from, &self.inner.group) {
            Some(process) if !negative => Ok((
                process,
                MpiPattern::new(self.inner.number.user(), from, tag),
            )),
            _ => Err(self.refused(from, tag)),
        }
    }

    #[cold]
    fn refused(&self, rank: Source, tag: TagSelector) -> Error {
        let size = self.size();
        match (rank, tag) {
            (Source::Rank(rank), _) if rank.0 >= size => Error::Rank { rank: rank.0, size },
            (_, TagSelector::Exact(tag) | TagSelector::Masked { wanted: tag, .. }) => {
                Error::Tag { tag: tag.0 }
            }
            _ => Error::Tag { tag: -1 },
        }
    }
}
