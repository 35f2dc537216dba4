//! The handle of one request of a scope.

use core::fmt;

use mq_shm::Endpoint;

use super::{Request, RequestId};
use crate::buffer::Content;
use crate::error::Error;
use crate::status::Status;
use crate::transport::Transport;

/// A send or receive of a [`Scope`](crate::Scope) that has begun: a [`Request`] that may be dropped, since the
/// scope sees it through and reports its failure. Only who wants to wait for this one, or needs what it was lent before
/// the scope ends, keeps it.
///
/// `B` is the slice that it was lent, which it gives back when it is complete.
pub struct ScopedRequest<B: Content, T: Transport = Endpoint>(pub(crate) Request<B, T>);

impl<B: Content, T: Transport> ScopedRequest<B, T> {
    /// See [`Request::id`].
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.0.id()
    }

    /// See [`Request::test`].
    ///
    /// # Errors
    /// As [`Request::test`].
    pub fn test(&self) -> Result<bool, Error> {
        self.0.test()
    }

    /// See [`Request::wait`].
    ///
    /// # Errors
    /// As [`Communicator::recv`](crate::Communicator::recv) and [`send`](crate::Communicator::send).
    pub fn wait(self) -> Result<(B, Status), Error> {
        self.0.wait()
    }

    /// See [`Request::finish`].
    ///
    /// # Errors
    /// As [`Request::finish`].
    pub fn finish(self) -> Result<(B, Result<Status, Error>), Error> {
        self.0.finish()
    }

    /// See [`Request::cancel`].
    ///
    /// # Errors
    /// The request itself, if it is a send or has matched: it will be complete.
    pub fn cancel(self) -> Result<B, Self> {
        self.0.cancel().map_err(Self)
    }
}

impl<B: Content, T: Transport> fmt::Debug for ScopedRequest<B, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScopedRequest").field(&self.0).finish()
    }
}
