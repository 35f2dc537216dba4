//! What becomes of the requests of a set.

use super::RequestId;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::plain::Plain;
use crate::shared_buffer::SharedBuffer;
use crate::status::Status;

/// A request of a set that is complete.
#[derive(Debug)]
pub struct Completion {
    pub(super) id: RequestId,
    pub(super) context: u32,
    pub(super) result: Result<Status, Error>,
    pub(super) buffer: Buffer,
}

impl Completion {
    /// Which request it was: the [`id`](super::Request::id) of its handle.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.id
    }

    /// What became of it.
    ///
    /// # Errors
    /// As [`Communicator::recv`](crate::Communicator::recv) and
    /// [`send`](crate::Communicator::send).
    pub fn result(&self) -> Result<Status, &Error> {
        self.result.as_ref().copied()
    }

    /// What became of it, by value.
    ///
    /// # Errors
    /// As [`result`](Self::result).
    pub fn into_result(self) -> Result<Status, Error> {
        self.result
    }

    /// What became of it, and the vector that it was begun with. A receive that failed also gives its
    /// vector back, with contents that mean nothing.
    ///
    /// # Errors
    /// The completion itself, as for [`into_vec`](Self::into_vec).
    pub fn into_parts<E: Plain>(mut self) -> Result<(Result<Status, Error>, Vec<E>), Self> {
        match self.take_vec() {
            Some(vector) => Ok((self.result, vector)),
            None => Err(self),
        }
    }

    /// The result of an operation with a [`SharedBuffer`], and the buffer.
    ///
    /// # Errors
    /// The completion itself, as for [`into_shared_buffer`](Self::into_shared_buffer).
    pub fn into_shared_parts<E: Plain>(
        mut self,
    ) -> Result<(Result<Status, Error>, SharedBuffer<E>), Self> {
        match self.take_shared() {
            Some(buffer) => Ok((self.result, buffer)),
            None => Err(self),
        }
    }

    /// The vector that the request was begun with, whatever [became](Self::result) of that: after a receive that
    /// failed its contents mean nothing.
    ///
    /// # Errors
    /// The completion itself, if that was not a vector of such elements. This includes a scope's requests:
    /// what they were lent comes back from their handles, or when the scope ends. And it includes what has
    /// [other owners](crate::Sendable).
    pub fn into_vec<E: Plain>(mut self) -> Result<Vec<E>, Self> {
        self.take_vec().ok_or(self)
    }

    /// The shared buffer that the request was begun with, whatever [became](Self::result) of that.
    ///
    /// # Errors
    /// The completion itself, if that was not a shared buffer of such elements, or its memory has ended
    /// with the world.
    pub fn into_shared_buffer<E: Plain>(mut self) -> Result<SharedBuffer<E>, Self> {
        self.take_shared().ok_or(self)
    }

    fn take_vec<E: Plain>(&mut self) -> Option<Vec<E>> {
        if !self.buffer.was_vec::<E>() {
            return None;
        }
        core::mem::replace(&mut self.buffer, Buffer::EMPTY).into_vec()
    }

    fn take_shared<E: Plain>(&mut self) -> Option<SharedBuffer<E>> {
        if !self.buffer.was_shared::<E>() {
            return None;
        }
        core::mem::replace(&mut self.buffer, Buffer::EMPTY).into_shared()
    }
}

/// The requests of a set, all complete, as [`RequestSet::wait_all`](super::RequestSet::wait_all) returns
/// them.
#[derive(Debug)]
#[must_use = "requests that failed are complete too: check each completion, or call `into_results`"]
pub struct Completions(pub(super) Vec<Completion>);

impl Completions {
    /// Takes that of a request out, by the [`id`](super::Request::id) that its handle had or
    /// [`add`](super::RequestSet::add) returned; `None` if it is not here, or was taken.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let world = World::alone()?;
    /// let mut set = world.request_set();
    /// let left = set.add(world.irecv(vec![0_u8; 1], 0, 1)?);
    /// let right = set.add(world.irecv(vec![0_u8; 1], 0, 2)?);
    /// for tag in [2, 1] {
    ///     world.send(&[tag as u8], 0, tag)?;
    /// }
    /// let mut all = set.wait_all()?;
    /// for (id, tag) in [(left, 1), (right, 2)] {
    ///     let (result, elements) = all.take(id).expect("it was begun").into_parts::<u8>().expect("as begun");
    ///     assert_eq!((result?.tag(), elements), (i32::from(tag), vec![tag]));
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Cost
    /// A look at each that is left.
    pub fn take(&mut self, request: RequestId) -> Option<Completion> {
        let at = self.0.iter().position(|it| it.id == request)?;
        Some(self.0.remove(at))
    }

    /// What became of each, in the order in which they completed, if none has failed.
    ///
    /// # Errors
    /// The error of the first request that failed; the buffers are dropped.
    pub fn into_results(self) -> Result<Vec<Status>, Error> {
        self.into_iter().map(Completion::into_result).collect()
    }
}

impl core::ops::Deref for Completions {
    type Target = [Completion];

    fn deref(&self) -> &[Completion] {
        &self.0
    }
}

impl IntoIterator for Completions {
    type Item = Completion;
    type IntoIter = std::vec::IntoIter<Completion>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Completions {
    type Item = &'a Completion;
    type IntoIter = core::slice::Iter<'a, Completion>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
