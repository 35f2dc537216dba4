//! Non-blocking operations on vectors and shared buffers, which the request owns until it is complete.

use core::fmt;

use mq_core::mpi::TagSelector;
use mq_core::{Rank, Source, Tag};

use super::Communicator;
use crate::error::Error;
use crate::request::{NONE, Name, Request, RequestSet};
use crate::shared_buffer::{Owned, Sendable};
use crate::transport::Transport;

/// An operation that could not begin, with the buffer it was called with.
///
/// `?` converts it into an [`Error`] and drops the buffer. If the function's error type is another one that
/// is made from an [`Error`], or errors must be `Send` or are examined later, convert it first. (In a boxed error it is
/// there with its buffer, and the [`Error`] is its [`source`](core::error::Error::source).)
///
/// ```
/// # use mq_comm::{Error, World};
/// fn program(world: &World) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///     let request = world.isend(vec![1, 2], 0, 7).map_err(Error::from)?;
///     # world.recv(&mut [0; 2], 0, 7)?;
///     request.wait()?;
///     Ok(())
/// }
/// # program(&World::alone().unwrap()).unwrap();
/// ```
#[non_exhaustive]
pub struct Refused<B> {
    /// Why.
    pub error: Error,
    /// The buffer, unchanged, and the message of a matched receive, if it has not been
    /// received.
    pub buffer: B,
}

impl<B> fmt::Debug for Refused<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

impl<B> fmt::Display for Refused<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<B> core::error::Error for Refused<B> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl<B> Refused<B> {
    /// The error; the buffer is dropped.
    #[must_use]
    pub fn into_error(self) -> Error {
        self.error
    }

    /// The error, and the buffer.
    #[must_use]
    pub fn into_parts(self) -> (Error, B) {
        (self.error, self.buffer)
    }
}

impl<B> From<Refused<B>> for Error {
    fn from(refused: Refused<B>) -> Self {
        refused.into_error()
    }
}

impl<T: Transport> Communicator<T> {
    /// Begins to send a vector or a [`SharedBuffer`](crate::SharedBuffer), or what has [several owners](Sendable),
    /// which the request gives back. `MPI_Isend`, MPI 4.1 §3.7.2.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let world = World::alone()?;
    /// let sending = world.isend(vec![1.5, 2.5], 0, 3)?;
    /// let (elements, status) = world.irecv(vec![0.0; 2], 0, 3)?.wait()?;
    /// assert_eq!((elements, status.count::<f64>()?), (vec![1.5, 2.5], 2));
    /// assert_eq!(sending.wait()?.0, [1.5, 2.5]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The buffer comes back with [`Error::Rank`], [`Error::Tag`], [`Error::OtherWorld`] or [`Error::Revoked`], or if
    /// the transport has no memory or is damaged. That the receiver has ended is known when the request is waited for.
    pub fn isend<B: Sendable>(
        &self,
        elements: B,
        to: impl Into<Rank>,
        tag: impl Into<Tag>,
    ) -> Result<Request<B, T>, Refused<B>> {
        let outgoing = self.outgoing(to, tag);
        let outgoing = outgoing.and_then(|to| self.unless_foreign(&elements, to));
        let (process, bits) = match outgoing {
            Ok(outgoing) => outgoing,
            Err(error) => {
                return Err(Refused {
                    error,
                    buffer: elements,
                });
            }
        };
        let mut core = self.inner.core();
        let buffer = elements.hand_over();
        let word = self.inner.word;
        let (name, begun) = core.start_send(process, bits, word, buffer, 0, NONE);
        drop(core);
        self.begun(name, begun)
    }

    /// Begins to receive into a vector or a [`SharedBuffer`](crate::SharedBuffer), which the request gives
    /// back. `MPI_Irecv`, MPI 4.1 §3.7.2.
    ///
    /// There is room for as many elements as the vector has (its length, not its capacity). It comes back
    /// with that length, however short the message was: `vector.truncate(status.count::<E>()?)`.
    ///
    /// **Keep the handle.** Dropping it cancels the receive; if a message has already matched, that message
    /// is lost.
    ///
    /// # Errors
    /// As [`isend`](Self::isend); that the sender has ended is likewise known when the request is waited for.
    pub fn irecv<B: Owned>(
        &self,
        elements: B,
        from: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Request<B, T>, Refused<B>> {
        let incoming = self.incoming(from.into(), tag.into());
        let incoming = incoming.and_then(|from| self.unless_foreign(&elements, from));
        let (process, pattern) = match incoming {
            Ok(incoming) => incoming,
            Err(error) => {
                return Err(Refused {
                    error,
                    buffer: elements,
                });
            }
        };
        let mut core = self.inner.core();
        let buffer = elements.hand_over();
        let (name, begun) = core.start_receive(pattern, process, buffer, NONE);
        drop(core);
        self.begun(name, begun)
    }

    /// Passes on what was found out about the other end, unless the buffer belongs to another world.
    fn unless_foreign<B: Sendable, R>(&self, buffer: &B, end: R) -> Result<R, Error> {
        if buffer.is_of(self.inner.process()) {
            Ok(end)
        } else {
            Err(Error::OtherWorld)
        }
    }

    fn begun<B: Sendable>(
        &self,
        name: Name,
        begun: Result<(), Error>,
    ) -> Result<Request<B, T>, Refused<B>> {
        if let Err(error) = begun
            && let Some(buffer) = self.inner.core().give_up(name.slot())
        {
            let buffer = B::take_back(buffer);
            return Err(Refused { error, buffer });
        }
        Ok(Request::owned(self.inner.clone(), name))
    }

    /// An empty set of requests to wait for together.
    pub fn request_set(&self) -> RequestSet<T> {
        RequestSet::new(&self.inner)
    }
}
