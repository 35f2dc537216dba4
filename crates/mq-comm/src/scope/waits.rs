//! Waiting for the operations of a scope.

use super::Scope;
use crate::error::Error;
use crate::request::{Completion, Handles, RequestId};
use crate::transport::Transport;

impl<T: Transport> Scope<'_, '_, T> {
    /// Waits until all of these requests are complete, by the [`id`](crate::ScopedRequest::id) of their handles; others
    /// of the scope go on.
    ///
    /// One that fails is complete. This reports nothing: the handles, or another wait, say what became of each. An id
    /// of a request that is over is that of one that is complete.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let world = World::alone()?;
    /// let (mut left, mut right, mut much) = ([0_u8; 2], [0_u8; 2], [0_u8; 1000]);
    /// world.scope(|s| {
    ///     s.irecv(&mut much, 0, 3)?;
    ///     let halo = [s.irecv(&mut left, 0, 1)?, s.irecv(&mut right, 0, 2)?];
    ///     s.isend(&[1_u8; 2], 0, 1)?;
    ///     s.isend(&[2_u8; 2], 0, 2)?;
    ///     s.wait_for(&halo.each_ref().map(|receive| receive.id()))?;
    ///     let [left, right] = halo.map(|receive| receive.wait());
    ///     assert_eq!((left?.0[0], right?.0[0]), (1, 2));
    ///     s.isend(&[3_u8; 1000], 0, 3)?;
    ///     s.wait_all()
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// If the transport is damaged, or memory has been refused for a second; the requests go on.
    ///
    /// # Cost
    /// A look at each.
    pub fn wait_for(&self, requests: &[RequestId]) -> Result<(), Error> {
        self.communicator.inner.core().wait_for(requests)
    }

    /// Waits until a request of the scope is complete that has not been reported, and returns it: the one
    /// that completed first. `None` if there is none. `MPI_Waitany`, MPI 4.1 §3.7.5.
    ///
    /// # Errors
    /// If the transport is damaged, or memory has been refused for a second; the requests go on. What became of the
    /// request is in the [`Completion`].
    ///
    /// # Cost
    /// The same for any number of requests; once a process has ended, each wait looks, before it rests, at up to as
    /// many requests as this process has had at one time.
    pub fn wait_any(&self) -> Result<Option<Completion>, Error> {
        self.communicator
            .inner
            .core()
            .wait_any(self.set, Handles::WithUser)
    }

    /// Waits until a request is complete, and appends all that are; returns how many. `MPI_Waitsome`, MPI 4.1
    /// §3.7.5.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn wait_some(&self, into: &mut Vec<Completion>) -> Result<usize, Error> {
        self.communicator
            .inner
            .core()
            .wait_some(self.set, Handles::WithUser, into)
    }

    /// Waits until all requests are complete. `MPI_Waitall`, MPI 4.1 §3.7.5.
    ///
    /// # Errors
    /// The error of the first failed request that had not been reported; otherwise as
    /// [`wait_any`](Self::wait_any): then requests whose handles were dropped, and that have ended well
    /// meanwhile, count as reported.
    pub fn wait_all(&self) -> Result<(), Error> {
        let mut core = self.communicator.inner.core();
        core.wait_pending(self.set)?;
        core.state.requests.report_all(self.set)
    }

    /// A request that is complete and has not been reported, if there is one after some progress.
    /// `MPI_Testany`, MPI 4.1 §3.7.5.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn test_any(&self) -> Result<Option<Completion>, Error> {
        self.communicator
            .inner
            .core()
            .test_any(self.set, Handles::WithUser)
    }

    /// Appends all requests that are complete and have not been reported, after some progress if there are
    /// none; returns how many. `MPI_Testsome`, MPI 4.1 §3.7.5.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn test_some(&self, into: &mut Vec<Completion>) -> Result<usize, Error> {
        self.communicator
            .inner
            .core()
            .test_some(self.set, Handles::WithUser, into)
    }

    /// Whether all requests are complete, after some progress if one is not: if so,
    /// [`wait_all`](Self::wait_all) does not wait. `MPI_Testall`, MPI 4.1 §3.7.5.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let world = World::alone()?;
    /// let mut x = [0_u8; 2];
    /// world.scope(|s| {
    ///     s.irecv(&mut x, 0, 7)?;
    ///     assert!(!s.test_all()?);
    ///     s.isend(&[1_u8, 2], 0, 7)?;
    ///     while !s.test_all()? {
    ///         // Compute.
    ///     }
    ///     s.wait_all()
    /// })?;
    /// assert_eq!(x, [1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// If the transport is damaged, or memory is refused. A request that has failed is complete.
    pub fn test_all(&self) -> Result<bool, Error> {
        self.communicator.inner.core().test_pending(self.set)
    }
}
