//! The handle of one request.

use core::fmt;
use core::marker::PhantomData;
use std::rc::Rc;

use mq_shm::Endpoint;

use super::{Name, Stage};
use crate::buffer::Content;
use crate::communicator::Inner;
use crate::error::Error;
use crate::protocol::Awaited;
use crate::shared_buffer::Sendable;
use crate::status::Status;
use crate::transport::Transport;

/// Names a request among all of its process, including those that are over and those of other worlds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestId {
    pub(super) name: Name,
    /// The [number](super::Requests) of the pool that it is in.
    pub(super) pool: u32,
}

/// A send or receive that has begun: `MPI_Request`, MPI 4.1 §3.7.
///
/// `B` is what it was begun with and what it gives back when it is complete: a vector, a
/// [`SharedBuffer`](crate::SharedBuffer), or what has [several owners](Sendable). Requests with the memory of others
/// are those of a [`Scope`](crate::Scope).
///
/// **Dropping the handle** of a receive cancels it, unless a message has matched, which is then lost. A send
/// completes by itself, and nothing reports its failure: `drop(world.isend(..)?)` says that this is meant.
#[must_use = "a receive whose handle is dropped is cancelled, and the failure of such a send is not reported"]
pub struct Request<B: Content, T: Transport = Endpoint> {
    pub(crate) inner: Rc<Inner<T>>,
    pub(crate) name: Name,
    content: PhantomData<B>,
}

impl<B: Sendable, T: Transport> Request<B, T> {
    /// The handle of a request that was begun with such memory; a request that was not gives back an empty
    /// piece.
    #[allow(
        unsafe_code,
        reason = "a promise that need not be kept for what is owned"
    )]
    pub(crate) fn owned(inner: Rc<Inner<T>>, name: Name) -> Self {
        // SAFETY: a buffer becomes a vector, a shared buffer, an `Rc` or an `Arc` only if it was made of one of
        // that type.
        unsafe { Self::named(inner, name) }
    }
}

impl<B: Content, T: Transport> Request<B, T> {
    /// # Safety
    /// The buffer of the request of this name was made of a `B`.
    #[inline]
    #[allow(unsafe_code, reason = "a promise about a type")]
    pub(crate) unsafe fn named(inner: Rc<Inner<T>>, name: Name) -> Self {
        Self {
            inner,
            name,
            content: PhantomData,
        }
    }

    /// Drops the handle, but not the request, which something else keeps.
    pub(super) fn let_go(mut self) {
        self.name = Name::NOTHING;
    }

    /// Its id, by which a [`Completion`](crate::Completion) identifies its request.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.inner.core().state.requests.id(self.name)
    }

    /// Makes progress, and returns whether the request is complete, so that [`wait`](Self::wait) would not
    /// wait. `MPI_Request_get_status`, MPI 4.1 §3.7.6.
    ///
    /// # Errors
    /// If the transport is damaged, or memory is refused, also for something else. The request goes on.
    pub fn test(&self) -> Result<bool, Error> {
        let mut core = self.inner.core();
        if !core.is_done(self.name.slot()) {
            let slot = self.name.slot();
            core.progress_for_asker(Awaited::Requests(&|_| vec![slot], None))?;
        }
        Ok(core.is_done(self.name.slot()))
    }

    /// Waits until the request is complete. `MPI_Wait`, MPI 4.1 §3.7.3.
    ///
    /// # Errors
    /// As [`Communicator::recv`](crate::Communicator::recv) and [`send`](crate::Communicator::send). The
    /// buffer is then lost; [`finish`](Self::finish) keeps it.
    pub fn wait(self) -> Result<(B, Status), Error> {
        let (buffer, result) = self.finish()?;
        Ok((buffer, result?))
    }

    /// Waits until the request is complete, and returns its buffer however the request ended.
    ///
    /// # Errors
    /// If the transport is damaged, or memory has been refused for a second, so that the request cannot come to an end.
    /// The buffer is then lost.
    #[allow(unsafe_code, reason = "gives a buffer back as what it was")]
    pub fn finish(self) -> Result<(B, Result<Status, Error>), Error> {
        let mut core = self.inner.core();
        core.wait(self.name.slot())?;
        let result = core.state.requests.at(self.name.slot()).result();
        let buffer = core.state.requests.release(self.name.slot());
        drop(core);
        // SAFETY: as promised to `named`; the pool no longer has it.
        Ok((unsafe { B::back(buffer) }, result))
    }

    /// Cancels a receive that nothing has matched: `MPI_Cancel`, MPI 4.1 §3.8.4. One that has failed meanwhile without
    /// a message, because its sender has ended or the communicator is revoked, gives its buffer back just so.
    ///
    /// # Errors
    /// The request itself, if it is a send or has matched: it will be complete.
    #[allow(unsafe_code, reason = "gives a buffer back as what it was")]
    pub fn cancel(self) -> Result<B, Self> {
        let mut core = self.inner.core();
        if !core.cancel(self.name.slot()) {
            drop(core);
            return Err(self);
        }
        let buffer = core.state.requests.release(self.name.slot());
        drop(core);
        // SAFETY: as in `finish`.
        Ok(unsafe { B::back(buffer) })
    }
}

impl<B: Content, T: Transport> Drop for Request<B, T> {
    #[inline]
    fn drop(&mut self) {
        if B::OWNED || !self.inner.core().state.requests.leave_to_set(self.name) {
            self.end_or_abandon();
        }
    }
}

impl<B: Content, T: Transport> Request<B, T> {
    /// For a request that no set sees through; it is over already if it was finished or cancelled.
    #[inline(never)]
    fn end_or_abandon(&self) {
        let mut core = self.inner.core();
        let Some(slot) = core.state.requests.find(self.name) else {
            return;
        };
        if B::OWNED && matches!(core.state.requests.at(slot).stage, Stage::Posted) {
            core.abandon(slot);
        } else {
            core.state.requests.drop_handle(slot);
        }
    }
}

impl<B: Content, T: Transport> fmt::Debug for Request<B, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
