//! Looking for messages, and taking them out before they are received.

use core::fmt;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mq_core::Source;
use mq_core::mpi::TagSelector;
use mq_shm::Endpoint;

use super::{Communicator, Inner, Refused};
use crate::error::Error;
use crate::plain::{self, Plain};
use crate::request::Request;
use crate::shared_buffer::Owned;
use crate::status::Status;
use crate::transport::Transport;

/// A message that a matched probe has taken out of the queue, to be received at any later time, and by nobody
/// else: `MPI_Message`, MPI 4.1 §3.8.2. If it is dropped, the message is lost.
#[must_use = "the message is lost when this is dropped"]
pub struct Matched<T: Transport = Endpoint> {
    inner: Rc<Inner<T>>,
    /// Its slot, until it is received.
    message: Option<u32>,
    status: Status,
}

impl<T: Transport> Communicator<T> {
    /// Whether a message that matches `from` and `tag` has come, and which. `MPI_Iprobe`, MPI 4.1 §3.8.1.
    ///
    /// A receive that names [`source`](Status::source) and [`tag`](Status::tag) of the status takes the message that
    /// was shown, unless an earlier receive has taken it. So does one with the same `from` and `tag` as here, if it is
    /// what this process does next with messages that come: after another receive, a probe or a collective operation,
    /// it may take another, and a receive with other wildcards may anyway. [`mprobe`](Self::mprobe) leaves no doubt.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Tag`]; if no message has come, [`Error::Gone`] if the sender has ended, or,
    /// from any source, if a rank has died and that is not [acknowledged](Self::acknowledge_deaths);
    /// [`Error::Revoked`]; [`Error::Transport`] if the transport is damaged. It is no error if all others have left,
    /// since this process may still send to itself: [`ended`](Self::ended) reports that.
    pub fn iprobe(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Option<Status>, Error> {
        let (process, pattern) = self.incoming(from.into(), tag.into())?;
        let mut core = self.inner.core();
        core.keep_want(process)?;
        if let Some(status) = core.peek(&pattern) {
            return Ok(Some(status));
        }
        // Messages that are already here come first: a caller that asks again and again would otherwise take
        // in more each time than it receives, and never keep the senders waiting.
        if let Some(status) = core.probe(&pattern)? {
            core.flush_and_advance_rings()?;
            return Ok(Some(status));
        }
        core.look_once(process, &pattern)
    }

    /// Waits for a message that matches `from` and `tag`. `MPI_Probe`, MPI 4.1 §3.8.1. Which receives take it:
    /// [`iprobe`](Self::iprobe).
    ///
    /// # Errors
    /// As [`iprobe`](Self::iprobe); also [`Error::Gone`] if it waits for any source and nobody else is left.
    pub fn probe(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Status, Error> {
        let (process, pattern) = self.incoming(from.into(), tag.into())?;
        let mut core = self.inner.core();
        core.keep_want(process)?;
        loop {
            if let Some(status) = core.look(&pattern)? {
                return Ok(status);
            }
            core.progress_for_probe(process, &pattern, Duration::MAX)?;
        }
    }

    /// Waits for such a message like [`probe`](Self::probe), but not much longer than this: `None` if none has
    /// come. For a server that has something else to look after, and is not to keep a core busy with
    /// [`iprobe`](Self::iprobe).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use mq_comm::{Error, Source, World};
    ///
    /// let world = World::alone()?;
    /// world.send(&[1_u16, 2, 3], 0, 5)?;
    /// let moment = Duration::from_millis(1);
    /// let found = world.probe_within(Source::Any, 5, moment)?.expect("it has come");
    /// assert_eq!(found.count::<u16>()?, 3);
    /// assert!(world.probe_within(Source::Any, 6, moment)?.is_none());
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`probe`](Self::probe).
    ///
    /// # Cost
    /// As `probe`, and a look at the clock each time that nothing was found. Where processes share a core, the wait may
    /// take a time slice longer than it should.
    pub fn probe_within(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagSelector>,
        longest: Duration,
    ) -> Result<Option<Status>, Error> {
        let (process, pattern) = self.incoming(from.into(), tag.into())?;
        let mut core = self.inner.core();
        core.keep_want(process)?;
        let begun = Instant::now();
        loop {
            if let Some(status) = core.look(&pattern)? {
                return Ok(Some(status));
            }
            let left = longest.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return core.look_once(process, &pattern);
            }
            core.progress_for_probe(process, &pattern, left)?;
        }
    }

    /// Takes out a message that matches `from` and `tag`, if one has come. `MPI_Improbe`, MPI 4.1 §3.8.2.
    ///
    /// # Errors
    /// As [`iprobe`](Self::iprobe).
    pub fn improbe(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Option<Matched<T>>, Error> {
        let (process, pattern) = self.incoming(from.into(), tag.into())?;
        let mut core = self.inner.core();
        let (process, pattern) = core.narrow_to_shown(process, pattern);
        core.keep_want(process)?;
        // As in `iprobe`; the message is taken out once nothing can go wrong any more.
        if core.probe(&pattern)?.is_some() {
            core.flush_and_advance_rings()?;
        } else {
            core.take_in_for_probe(process, &pattern)?;
        }
        match core.extract(&pattern)? {
            Some(message) => {
                let status = core.state.messages.at(message).status();
                Ok(Some(self.matched(message, status)))
            }
            None => core.check_may_come(process, &pattern).map(|()| None),
        }
    }

    /// Waits for a message that matches `from` and `tag`, and takes it out. `MPI_Mprobe`, MPI 4.1
    /// §3.8.2.
    ///
    /// ```
    /// use mq_comm::{Error, Source, World};
    ///
    /// let world = World::alone()?;
    /// world.send(&[1_u16, 2, 3], 0, 5)?;
    /// let message = world.mprobe(Source::Any, 5)?;
    /// assert_eq!(message.status().count::<u16>()?, 3);
    /// assert_eq!(message.recv_vec::<u16>()?, [1, 2, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`probe`](Self::probe).
    pub fn mprobe(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Matched<T>, Error> {
        let (process, pattern) = self.incoming(from.into(), tag.into())?;
        let mut core = self.inner.core();
        let (process, pattern) = core.narrow_to_shown(process, pattern);
        core.keep_want(process)?;
        loop {
            if let Some(message) = core.extract(&pattern)? {
                let status = core.state.messages.at(message).status();
                return Ok(self.matched(message, status));
            }
            core.progress_for_probe(process, &pattern, Duration::MAX)?;
        }
    }

    /// Waits for a message of any length, and receives it into a vector: [`mprobe`](Self::mprobe), then
    /// [`Matched::recv_vec`].
    ///
    /// ```
    /// use mq_comm::{Error, Source, World};
    ///
    /// let world = World::alone()?;
    /// world.send(&[1_u16, 2, 3], 0, 5)?;
    /// let (elements, status) = world.recv_vec::<u16>(Source::Any, 5)?;
    /// assert_eq!((elements, status.source()), (vec![1, 2, 3], 0));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`probe`](Self::probe) and [`Matched::recv`]; [`Error::Element`] if the message is not a whole
    /// number of elements and [`Error::Memory`] if there is no memory for it: the message is then lost. To
    /// keep it, use `mprobe`.
    ///
    /// # Cost
    /// One allocation, zeroed; otherwise as `recv` of a message that has been probed for. A loop does without by
    /// [`recv_into_vec`](Self::recv_into_vec).
    pub fn recv_vec<E: Plain>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<(Vec<E>, Status), Error> {
        let mut elements = Vec::new();
        let status = self.recv_into_vec(&mut elements, from, tag)?;
        Ok((elements, status))
    }

    /// Waits for a message of any length, and receives it into a vector that is there already, which gets the
    /// message's length: [`mprobe`](Self::mprobe), then [`Matched::recv_into_vec`]. For loops that receive again
    /// and again.
    ///
    /// ```
    /// use mq_comm::{Error, Source, World};
    ///
    /// let world = World::alone()?;
    /// let mut elements: Vec<u16> = Vec::new();
    /// for message in [&[1, 2, 3][..], &[4]] {
    ///     world.send(message, 0, 5)?;
    ///     world.recv_into_vec(&mut elements, Source::Any, 5)?;
    ///     assert_eq!(elements, message);
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`recv_vec`](Self::recv_vec). The vector is as it was if no message came, it has no whole number of
    /// elements or there is no memory, and empty if the message could not be received.
    ///
    /// # Cost
    /// As `recv_vec`, with an allocation only if the message is longer than the vector has room for; elements
    /// that the vector does not have yet are zeroed first.
    pub fn recv_into_vec<E: Plain>(
        &self,
        elements: &mut Vec<E>,
        from: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Status, Error> {
        Ok(self.mprobe(from, tag)?.recv_into_vec(elements)?)
    }

    fn matched(&self, message: u32, status: Status) -> Matched<T> {
        Matched {
            inner: self.inner.clone(),
            message: Some(message),
            status,
        }
    }
}

impl<T: Transport> Matched<T> {
    /// The message's source, tag and length.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// Receives the message. `MPI_Mrecv`, MPI 4.1 §3.8.3.
    ///
    /// # Errors
    /// [`Error::Truncated`]; [`Error::Gone`] if its sender ended before all of it had come;
    /// [`Error::Withdrawn`]; [`Error::Transport`] if the transport is damaged or has no memory.
    pub fn recv<E: Plain>(mut self, elements: &mut [E]) -> Result<Status, Error> {
        let message = self.message.take();
        let mut core = self.inner.core();
        message.map_or(Ok(self.status), |message| {
            core.receive_matched(
                message,
                self.inner.number.user(),
                plain::bytes_mut(elements),
            )
        })
    }

    /// Begins to receive the message. `MPI_Imrecv`, MPI 4.1 §3.8.3.
    ///
    /// # Errors
    /// The message and the buffer come back with [`Error::OtherWorld`].
    pub fn irecv<B: Owned>(mut self, elements: B) -> Result<Request<B, T>, Refused<(Self, B)>> {
        if !elements.is_of(self.inner.process()) {
            return Err(Refused {
                error: Error::OtherWorld,
                buffer: (self, elements),
            });
        }
        let mut core = self.inner.core();
        // The request has its message, and so has begun: an answer that is refused is sent later, and any
        // other failure is what the request ends with.
        let context = self.inner.number.user();
        let (name, _) = core.start_matched(self.message.take(), context, elements.hand_over());
        drop(core);
        Ok(Request::owned(self.inner.clone(), name))
    }

    /// Receives the message into a vector of its length.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let world = World::alone()?;
    /// world.send(&[1_u8, 2, 3], 0, 7)?;
    /// let refused = world.mprobe(0, 7)?.recv_vec::<u16>().unwrap_err();
    /// assert!(matches!(refused.error, Error::Element { bytes: 3, element: 2, .. }));
    /// let message = refused.buffer.expect("nothing of it was received");
    /// assert_eq!(message.recv_vec::<u8>()?, [1, 2, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Element`] if the message is not a whole number of elements, and [`Error::Memory`] if there is
    /// no memory for them, both with the message; otherwise as [`recv`](Self::recv), without it.
    pub fn recv_vec<E: Plain>(self) -> Result<Vec<E>, Refused<Option<Self>>> {
        let mut elements = Vec::new();
        self.recv_into_vec(&mut elements)?;
        Ok(elements)
    }

    /// Receives the message into a vector that is there already, which gets the message's length: what
    /// [`recv_vec`](Self::recv_vec) does, without an allocation if the vector has room.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let world = World::alone()?;
    /// let mut elements = vec![9_u16; 100];
    /// for message in [&[1, 2, 3][..], &[], &[4; 70]] {
    ///     world.send(message, 0, 7)?;
    ///     world.mprobe(0, 7)?.recv_into_vec(&mut elements)?;
    ///     assert_eq!((&elements[..], elements.capacity()), (message, 100));
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As `recv_vec`; if the error has the message, the vector is as it was, otherwise empty.
    pub fn recv_into_vec<E: Plain>(
        self,
        elements: &mut Vec<E>,
    ) -> Result<Status, Refused<Option<Self>>> {
        if let Err(error) = self.make_room(elements) {
            return Err(Refused {
                error,
                buffer: Some(self),
            });
        }
        self.recv(elements).map_err(|error| {
            elements.clear();
            Refused {
                error,
                buffer: None,
            }
        })
    }

    /// Gives a vector the message's length. What is in it then does not matter: what is kept need not be
    /// written once more.
    fn make_room<E: Plain>(&self, elements: &mut Vec<E>) -> Result<(), Error> {
        let count = self.status.count::<E>()?;
        if count <= elements.capacity() {
            elements.resize(count, E::new_zeroed());
        } else {
            let bytes = self.status.bytes();
            *elements = E::new_vec_zeroed(count).map_err(|_| Error::Memory { bytes })?;
        }
        Ok(())
    }
}

impl<T: Transport> Drop for Matched<T> {
    fn drop(&mut self) {
        if let Some(message) = self.message {
            let mut core = self.inner.core();
            if !core.is_a_copy() {
                // A process that nothing can be sent to any more needs no answer.
                let _ = core.discard_message(message);
            }
        }
    }
}

impl<T: Transport> fmt::Debug for Matched<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matched")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}
