//! Sets of requests: waiting for any, some or all of them, in constant time for each that completes.

use core::fmt;
use std::rc::Rc;

use mq_shm::Endpoint;

use super::{Completion, Completions, Handles, Request, RequestId};
use crate::communicator::Inner;
use crate::error::Error;
use crate::shared_buffer::Sendable;
use crate::transport::Transport;

/// Requests that are waited for together, each begun with a vector or a
/// [`SharedBuffer`](crate::SharedBuffer), or a send of what has [several owners](Sendable), whose part the set drops
/// when it has reported the send.
///
/// ```
/// use mq_comm::{Error, World};
///
/// let world = World::alone()?;
/// let mut set = world.request_set();
/// for tag in 0..3 {
///     set.add(world.irecv(vec![0_u32; 4], 0, tag)?);
///     set.add(world.isend(vec![tag as u32; 4], 0, tag)?);
/// }
/// let mut sum = 0;
/// while let Some(completion) = set.wait_any()? {
///     let (result, elements) = completion.into_parts::<u32>().expect("as begun");
///     result?;
///     sum += elements.iter().sum::<u32>();
/// }
/// assert_eq!(sum, 2 * 4 * (0 + 1 + 2));
/// # Ok::<(), Error>(())
/// ```
///
/// Dropping a set does to its requests what dropping their handles would.
#[must_use = "receives in it are cancelled when this is dropped"]
pub struct RequestSet<T: Transport = Endpoint> {
    inner: Rc<Inner<T>>,
    set: u32,
    /// Other communicators of its requests, which keep them alive as handles do, each with its number of
    /// requests.
    others: Vec<(Rc<Inner<T>>, usize)>,
}

impl<T: Transport> RequestSet<T> {
    pub(crate) fn new(inner: &Rc<Inner<T>>) -> Self {
        let set = inner.core().state.requests.add_set();
        Self {
            inner: inner.clone(),
            set,
            others: Vec::new(),
        }
    }

    /// Adds a request. It has to belong to one of this process's communicators.
    ///
    /// # Panics
    /// If it belongs to another world.
    pub fn add<B: Sendable>(&mut self, request: Request<B, T>) -> RequestId {
        assert!(
            Rc::ptr_eq(&self.inner.core, &request.inner.core),
            "a set and its requests must belong to one world"
        );
        let id = request.id();
        self.keep(&request.inner);
        let mut core = self.inner.core();
        core.state.requests.join(id.name.slot(), self.set);
        drop(core);
        request.let_go();
        id
    }

    /// Keeps the communicator of a request that is added.
    fn keep(&mut self, communicator: &Rc<Inner<T>>) {
        if Rc::ptr_eq(&self.inner, communicator) {
            return;
        }
        let known = self.others.iter_mut();
        match known
            .into_iter()
            .find(|(kept, _)| Rc::ptr_eq(kept, communicator))
        {
            Some((_, requests)) => *requests += 1,
            None => self.others.push((communicator.clone(), 1)),
        }
    }

    /// Releases the communicators whose last request has been reported.
    fn release_communicators(&mut self, reported: &[Completion]) {
        for completion in reported {
            let of = |inner: &Inner<T>| inner.number.user() == completion.context;
            let Some(at) = self.others.iter().position(|(kept, _)| of(kept)) else {
                continue;
            };
            self.others[at].1 -= 1;
            if self.others[at].1 == 0 {
                self.others.swap_remove(at);
            }
        }
    }

    /// How many requests have not been reported.
    #[must_use]
    pub fn len(&self) -> usize {
        let core = self.inner.core();
        let requests = &core.state.requests;
        (requests.pending_len(self.set) + requests.ready_len(self.set)) as usize
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until a request is complete, and returns the one that completed first; `None` if the set is
    /// empty. `MPI_Waitany`, MPI 4.1 §3.7.5.
    ///
    /// # Errors
    /// If the transport is damaged, or memory has been refused for a second; the requests go on. What became of the
    /// request is in the [`Completion`].
    ///
    /// # Cost
    /// The same for any number of requests, apart from a look at their communicators; once a process has
    /// ended, each wait looks, before it rests, at up to as many requests as this process has had at one time.
    pub fn wait_any(&mut self) -> Result<Option<Completion>, Error> {
        let completion = self.inner.core().wait_any(self.set, Handles::InSet)?;
        self.release_communicators(completion.as_slice());
        Ok(completion)
    }

    /// A request that is complete, if there is one after some progress. `MPI_Testany`, MPI 4.1 §3.7.5.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn test_any(&mut self) -> Result<Option<Completion>, Error> {
        let completion = self.inner.core().test_any(self.set, Handles::InSet)?;
        self.release_communicators(completion.as_slice());
        Ok(completion)
    }

    /// Waits until one request is complete, and returns it; `None` if it is not in the set, because it has been
    /// reported, say. The others go on, and those that complete meanwhile are kept for the next call. `MPI_Wait`, MPI
    /// 4.1 §3.7.3.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let world = World::alone()?;
    /// let mut set = world.request_set();
    /// let ids: Vec<_> = (0..3).map(|tag| Ok(set.add(world.irecv(vec![0_u32], 0, tag)?)))
    ///     .collect::<Result<_, Error>>()?;
    /// for tag in 0..3 {
    ///     world.send(&[10 * tag as u32], 0, tag)?;
    /// }
    /// let last = set.wait(ids[2])?.expect("it is in the set");
    /// assert_eq!(last.into_vec::<u32>().expect("as begun"), [20]);
    /// assert!(set.wait(ids[2])?.is_none(), "it has been reported");
    /// assert_eq!(set.len(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn wait(&mut self, request: RequestId) -> Result<Option<Completion>, Error> {
        let completion = self.inner.core().wait_one(self.set, request)?;
        self.release_communicators(completion.as_slice());
        Ok(completion)
    }

    /// One request, if it is complete after some progress; `None` also if it is not in the set. `MPI_Test`, MPI 4.1
    /// §3.7.3.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn test(&mut self, request: RequestId) -> Result<Option<Completion>, Error> {
        let completion = self.inner.core().test_one(self.set, request)?;
        self.release_communicators(completion.as_slice());
        Ok(completion)
    }

    /// Waits until a request is complete, and appends all that are; returns how many. `MPI_Waitsome`, MPI 4.1
    /// §3.7.5.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn wait_some(&mut self, into: &mut Vec<Completion>) -> Result<usize, Error> {
        let reported = self
            .inner
            .core()
            .wait_some(self.set, Handles::InSet, into)?;
        self.release_communicators(&into[into.len() - reported..]);
        Ok(reported)
    }

    /// Appends all requests that are complete, after some progress if none is; returns how many.
    /// `MPI_Testsome`, MPI 4.1 §3.7.5.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn test_some(&mut self, into: &mut Vec<Completion>) -> Result<usize, Error> {
        let before = into.len();
        let reported = self
            .inner
            .core()
            .test_some(self.set, Handles::InSet, into)?;
        self.release_communicators(&into[before..]);
        Ok(reported)
    }

    /// All requests, if all are complete after some progress. `MPI_Testall`, MPI 4.1 §3.7.5.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn test_all(&mut self) -> Result<Option<Completions>, Error> {
        let is_complete = self.inner.core().test_pending(self.set)?;
        is_complete.then(|| self.wait_all()).transpose()
    }

    /// Cancels a receive that nothing has matched, also one that has failed meanwhile without a message, because its
    /// sender has ended or the communicator is revoked: it is then complete, with [`Error::Cancelled`] and its
    /// buffer. Returns whether it was in the set and could be cancelled; a request that could not be, a send or one
    /// that has matched, will complete as it would have. `MPI_Cancel`, MPI 4.1 §3.8.4.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let world = World::alone()?;
    /// let mut set = world.request_set();
    /// let id = set.add(world.irecv(vec![5_u8; 3], 0, 7)?);
    /// assert!(set.cancel(id));
    /// let completion = set.test_any()?.expect("it is complete");
    /// assert!(matches!(completion.result(), Err(Error::Cancelled)));
    /// assert_eq!(completion.into_vec::<u8>().expect("as begun"), [5; 3]);
    /// assert!(!set.cancel(id), "it is over");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn cancel(&mut self, request: RequestId) -> bool {
        let mut core = self.inner.core();
        let Some(slot) = core.state.requests.find_by_id(request) else {
            return false;
        };
        core.state.requests.at(slot).set == self.set && core.cancel(slot)
    }

    /// Waits until all requests are complete, and returns them in the order in which they completed.
    /// `MPI_Waitall`, MPI 4.1 §3.7.5.
    ///
    /// A request that failed is complete: its outcome is in its [`Completion`], with its buffer.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let world = World::alone()?;
    /// let mut set = world.request_set();
    /// set.add(world.irecv(vec![0_u8; 3], 0, 7)?);
    /// set.add(world.isend(vec![1_u8, 2, 3], 0, 7)?);
    /// let statuses = set.wait_all()?.into_results()?;
    /// assert_eq!(statuses.len(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn wait_all(&mut self) -> Result<Completions, Error> {
        let mut core = self.inner.core();
        core.wait_pending(self.set)?;
        let mut all = Vec::new();
        core.wait_some(self.set, Handles::InSet, &mut all)?;
        drop(core);
        self.release_communicators(&all);
        Ok(Completions(all))
    }
}

impl<T: Transport> Drop for RequestSet<T> {
    fn drop(&mut self) {
        self.inner.core().end_set(self.set);
    }
}

impl<T: Transport> fmt::Debug for RequestSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestSet")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
