//! Non-blocking operations on borrowed memory.
//!
//! # Why this is sound
//! What is lent to an operation is borrowed for `'scope`, which the caller of [`Communicator::scope`] cannot
//! name and which is longer than the closure: nothing made inside the closure can be lent, and nothing lent
//! can be used by others before `scope` returns, unless the operation's handle gives it back, which it does
//! when the request is over and its buffer is out of the pool. `scope` itself holds the guard `Ending`, out
//! of the closure's reach: the guard cannot be forgotten, is dropped also when the closure panics, and leaves
//! no buffer of this scope's requests in the pool. Handles can be forgotten: they own no memory that the
//! operation uses (a forgotten one keeps its communicator, so its process does not leave the world). So whatever
//! the closure does, the library cannot reach the memory after `scope`. The exception is a child that has a
//! copy of the process: it withdraws nothing, and whoever forks promises that the child only drops its copy,
//! or ends.
#![allow(unsafe_code, reason = "lends memory to requests")]

use core::fmt;
use core::marker::PhantomData;
use std::rc::Rc;

use mq_core::mpi::TagSelector;
use mq_core::{Rank, Source, Tag};
use mq_shm::{Endpoint, Process};

use crate::abort::abort_on_unwind;
use crate::buffer::{Buffer, Content};
use crate::communicator::{Communicator, Inner};
use crate::error::Error;
use crate::header::Word;
use crate::plain::Plain;
use crate::protocol::Core;
use crate::request::{Name, Request, ScopedRequest};
use crate::transport::Transport;

mod waits;

/// Operations on memory that is borrowed until the scope ends. Made by [`Communicator::scope`].
pub struct Scope<'scope, 'env: 'scope, T: Transport = Endpoint> {
    communicator: &'env Communicator<T>,
    set: u32,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Ends the requests of a scope.
struct Ending<T: Transport> {
    inner: Rc<Inner<T>>,
    set: u32,
}

impl<T: Transport> Drop for Ending<T> {
    fn drop(&mut self) {
        abort_on_unwind(|| self.inner.core().end_set(self.set));
    }
}

impl<T: Transport> Communicator<T> {
    /// Begins operations on borrowed memory, and completes them. The handles of the operations need not be kept: they
    /// are for waiting for one, and for getting back earlier what it was lent.
    ///
    /// If the closure returns `Ok`, everything that it has begun is complete afterwards, and the first
    /// failure that was not yet reported to it is returned. If it returns an error or panics, receives that
    /// nothing has matched are cancelled, short sends go on with a copy, and sends that have been announced,
    /// large ones and those to a receiver that [holds its senders back](crate::Options::unexpected_limit), are
    /// withdrawn, for which their receivers have to make progress, or end.
    ///
    /// After an error, a message that was withdrawn counts as never sent: a receive may take a later one in its
    /// place, such as that of another attempt, or a short one that was begun after it. After a panic, it keeps its
    /// place, as that of a [process that dies](crate#deaths): the receive that finds it fails with [`Error::Gone`]. For
    /// the process that is told so, this one has died, also if the program catches the panic inside its world and goes
    /// on.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let world = World::alone()?;
    /// let (mut x, y) = ([0_u64; 3], [1, 2, 3]);
    /// world.scope(|s| {
    ///     s.irecv(&mut x, 0, 7)?;
    ///     s.isend(&y, 0, 7)?;
    ///     s.wait_all()
    /// })?;
    /// assert_eq!(x, y);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// Memory that does not outlive the scope cannot be lent:
    ///
    /// ```compile_fail
    /// # let world = mq_comm::World::alone().unwrap();
    /// world.scope(|s| {
    ///     let mut x = [0_u64; 3];
    ///     s.irecv(&mut x, 0, 7)?;
    ///     Ok(())
    /// });
    /// ```
    ///
    /// and memory cannot be used while it is lent:
    ///
    /// ```compile_fail
    /// # let world = mq_comm::World::alone().unwrap();
    /// let mut x = [0_u64; 3];
    /// world.scope(|s| {
    ///     s.irecv(&mut x, 0, 7)?;
    ///     x[0] = 1;
    ///     s.wait_all()
    /// });
    /// ```
    ///
    /// # Errors
    /// The closure's; otherwise as [`Scope::wait_all`].
    pub fn scope<'env, R, F>(&'env self, operations: F) -> Result<R, Error>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, T>) -> Result<R, Error>,
    {
        self.try_scope(operations)
    }

    /// [`scope`](Self::scope) for a closure with the program's own error type.
    ///
    /// ```
    /// use mq_comm::World;
    ///
    /// let world = World::alone()?;
    /// let mut x = [0_u64];
    /// world.try_scope(|s| {
    ///     s.irecv(&mut x, 0, 7)?;
    ///     let y: u64 = "4".parse()?;
    ///     world.send(&[y], 0, 7)?;
    ///     Ok::<_, Box<dyn std::error::Error>>(())
    /// })?;
    /// assert_eq!(x, [4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The closure's; otherwise as [`Scope::wait_all`].
    pub fn try_scope<'env, R, E, F>(&'env self, operations: F) -> Result<R, E>
    where
        E: From<Error>,
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, T>) -> Result<R, E>,
    {
        let set = self.inner.core().state.requests.add_set();
        let ending = Ending {
            inner: self.inner.clone(),
            set,
        };
        let scope = Scope {
            communicator: self,
            set,
            scope: PhantomData,
            env: PhantomData,
        };
        let result = operations(&scope)?;
        scope.wait_all()?;
        drop(ending);
        Ok(result)
    }
}

impl<'scope, T: Transport> Scope<'scope, '_, T> {
    /// Begins to send. `MPI_Isend`, MPI 4.1 §3.7.2.
    ///
    /// The handle may be dropped: the scope sees the request through.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Tag`], [`Error::Revoked`], or if the transport has no memory or is damaged.
    pub fn isend<E: Plain>(
        &'scope self,
        elements: &'scope [E],
        to: impl Into<Rank>,
        tag: impl Into<Tag>,
    ) -> Result<ScopedRequest<&'scope [E], T>, Error> {
        let (process, bits) = self.communicator.outgoing(to, tag)?;
        self.begin_send(process, bits, self.communicator.inner.word, elements)
    }

    /// Begins to send what is to be written again when it has been sent: [`wait`](ScopedRequest::wait) gives it back
    /// for writing. Otherwise as [`isend`](Self::isend).
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// // Two buffers take turns: one is written while the other is sent.
    /// World::threads(2, |world| {
    ///     let (mut one, mut other) = ([0_u64; 1000], [0_u64; 1000]);
    ///     if world.rank() == 1 {
    ///         for block in 0..10 {
    ///             world.recv(&mut one, 0, 7)?;
    ///             assert_eq!(one, [block; 1000]);
    ///         }
    ///         return Ok(());
    ///     }
    ///     world.scope(|s| {
    ///         let mut free = &mut one[..];
    ///         let mut sending = s.isend_mut(&mut other, 1, 7)?;
    ///         for block in 1..10 {
    ///             free.fill(block);
    ///             let next = s.isend_mut(free, 1, 7)?;
    ///             (free, _) = sending.wait()?;
    ///             sending = next;
    ///         }
    ///         Ok(())
    ///     })
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`isend`](Self::isend).
    pub fn isend_mut<E: Plain>(
        &'scope self,
        elements: &'scope mut [E],
        to: impl Into<Rank>,
        tag: impl Into<Tag>,
    ) -> Result<ScopedRequest<&'scope mut [E], T>, Error> {
        let (process, bits) = self.communicator.outgoing(to, tag)?;
        // SAFETY: `Ending` takes it out of the pool before `'scope` ends: see the module.
        let buffer = unsafe { Buffer::exclusive(elements) };
        let word = self.communicator.inner.word;
        // SAFETY: it was made of just that.
        unsafe { self.begin(|core| core.start_send(process, bits, word, buffer, 0, self.set)) }
    }

    /// Begins to send with a header that is known to be valid.
    pub(crate) fn begin_send<E: Plain>(
        &'scope self,
        to: Process,
        bits: u64,
        word: Word,
        elements: &'scope [E],
    ) -> Result<ScopedRequest<&'scope [E], T>, Error> {
        // SAFETY: `Ending` takes it out of the pool before `'scope` ends: see the module.
        let buffer = unsafe { Buffer::shared(elements) };
        // SAFETY: it was made of just that.
        unsafe { self.begin(|core| core.start_send(to, bits, word, buffer, 0, self.set)) }
    }

    /// # Safety
    /// The buffer of the request that is started was made of a `B`.
    #[inline]
    unsafe fn begin<B: Content>(
        &self,
        start: impl FnOnce(&mut Core<T>) -> (Name, Result<(), Error>),
    ) -> Result<ScopedRequest<B, T>, Error> {
        let inner = &self.communicator.inner;
        let mut core = inner.core();
        let (name, begun) = start(&mut core);
        if let Err(error) = begun
            && core.give_up(name.slot()).is_some()
        {
            return Err(error);
        }
        drop(core);
        // SAFETY: the caller's.
        Ok(ScopedRequest(unsafe {
            Request::named(inner.clone(), name)
        }))
    }

    /// Begins to receive. `MPI_Irecv`, MPI 4.1 §3.7.2.
    ///
    /// The handle may be dropped: the scope sees the request through.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Tag`], [`Error::Revoked`], or if the transport is damaged.
    pub fn irecv<E: Plain>(
        &'scope self,
        elements: &'scope mut [E],
        from: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<ScopedRequest<&'scope mut [E], T>, Error> {
        let (process, pattern) = self.communicator.incoming(from.into(), tag.into())?;
        // SAFETY: `Ending` takes it out of the pool before `'scope` ends: see the module.
        let buffer = unsafe { Buffer::exclusive(elements) };
        // SAFETY: it was made of just that.
        unsafe { self.begin(|core| core.start_receive(pattern, process, buffer, self.set)) }
    }
}

impl<T: Transport> fmt::Debug for Scope<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("communicator", self.communicator)
            .finish_non_exhaustive()
    }
}
