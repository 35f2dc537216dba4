//! Buffers that the receivers of their messages can read directly.
//!
//! # Why this is sound
//! The memory behind a [`Block`] exists, and only this process writes to it, until the block is dropped or
//! the process leaves. A [`SharedBuffer`] owns a block and a part of the world, so that the process does not
//! leave while the buffer exists, and gives the block back first. While a request has the buffer, the pool
//! has the block, and only a reference to the world that does not keep it: the pool is a part of the world,
//! and does not use its buffers after the world has ended. A buffer of another world is refused.
//!
//! Others may read the memory at any time, through mappings of their own, which is no access as far as this
//! program is concerned; nobody else writes to it. This relies on trust: a process that scribbles over the
//! segment by other means than this crate changes what is lent here as a slice.
#![allow(unsafe_code, reason = "gives elements out of a block")]

use core::cell::RefCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::slice;
use std::rc::{Rc, Weak};

use mq_shm::Block;
use mq_shm::layout::PAGE;

use crate::buffer::Buffer;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::plain::{self, Plain};
use crate::protocol::Core;
use crate::transport::Transport;

/// Elements in memory that the other processes can read messages out of: `MPI_Alloc_mem`, MPI 4.1
/// §9.2.
///
/// It is a slice of elements, initially zero, to send from and receive into like any other, made by
/// [`Communicator::shared_buffer`]. A message that is sent from it, or from a part of it, and is longer
/// than the [eager limit](crate::Options::eager_limit) is copied once, by its receiver, from 128 KiB on
/// together with a sender that waits, unless the ring is found to be quicker
/// ([`single_copy_from`](crate::Options::single_copy_from)). Dropping the buffer gives the memory back.
///
/// It gains most where elements are sent again and again without being rewritten, up to twice the bandwidth
/// of other memory, and a little from 1 MiB on. Messages of 64 KiB that are rewritten before each send are
/// quicker through the ring; those of 256 KiB take as long either way.
///
/// ```
/// use mq_comm::{Error, World};
///
/// World::threads(2, |world| {
///     if world.rank() == 0 {
///         let mut field = world.shared_buffer::<f64>(100_000)?;
///         field.fill(0.5);
///         world.send(&field, 1, 7)?;
///         // Or handed over, until the request is complete.
///         let sending = world.isend(field, 1, 8)?;
///         let (field, _) = sending.wait()?;
///         assert_eq!(field[99_999], 0.5);
///     } else {
///         let mut field = vec![0.0_f64; 100_000];
///         for tag in [7, 8] {
///             world.recv(&mut field, 0, tag)?;
///             assert_eq!(field, [0.5; 100_000]);
///         }
///         assert_eq!(world.profile().shared_copy, 2);
///     }
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
///
/// It cannot be dropped or written to while it is being sent from:
///
/// ```compile_fail
/// # let world = mq_comm::World::alone().unwrap();
/// let mut field = world.shared_buffer::<f64>(100_000).unwrap();
/// world.scope(|s| {
///     s.isend(&field, 0, 7)?;
///     field[0] = 1.0;
///     s.wait_all()
/// });
/// ```
pub struct SharedBuffer<E: Plain> {
    elements: NonNull<E>,
    len: usize,
    /// The memory, if there are any bytes. It is dropped before `world`.
    block: Option<Block>,
    /// What keeps the process from leaving.
    world: Option<Rc<dyn Keep>>,
    content: PhantomData<E>,
}

/// A process of a world, of which it only matters that it exists.
pub(crate) trait Keep {}

impl<T: Transport> Keep for RefCell<Core<T>> {}

impl<T: Transport + 'static> Communicator<T> {
    /// Memory for `len` elements, initially zero, out of which the other processes can read messages:
    /// `MPI_Alloc_mem`, MPI 4.1 §9.2.
    ///
    /// The process does not leave the world while one of its buffers exists.
    ///
    /// # Errors
    /// [`Error::NoBuffer`] if this process does not have that much contiguous room left for shared buffers;
    /// each process has as much as `MQ_SHARED_BUFFERS` says where the world is started (1 GiB by default).
    /// [`Error::Transport`] with [`NoMemory`](mq_shm::ShmError::NoMemory) if the system has no memory for
    /// them.
    ///
    /// # Cost
    /// A system call for each MiB, and what the system needs for its pages. Keep buffers and reuse them.
    pub fn shared_buffer<E: Plain>(&self, len: usize) -> Result<SharedBuffer<E>, Error> {
        const { assert!(align_of::<E>() <= PAGE, "blocks begin at pages") }
        plain::has_size::<E>();
        let Some(bytes) = len.checked_mul(size_of::<E>()).filter(|&bytes| bytes > 0) else {
            if len == 0 {
                return Ok(SharedBuffer::without_bytes(len));
            }
            // More than exists.
            self.inner.core().transport.allocate(usize::MAX)?;
            return Ok(SharedBuffer::without_bytes(0));
        };
        let block = self.inner.core().transport.allocate(bytes)?;
        debug_assert!(block.len() >= bytes, "the transport's promise");
        Ok(SharedBuffer {
            elements: block.address().cast(),
            len,
            block: Some(block),
            world: Some(self.inner.core.clone()),
            content: PhantomData,
        })
    }
}

impl<E: Plain> SharedBuffer<E> {
    const fn without_bytes(len: usize) -> Self {
        Self {
            elements: NonNull::dangling(),
            len,
            block: None,
            world: None,
            content: PhantomData,
        }
    }
}

impl<'a, E: Plain> IntoIterator for &'a SharedBuffer<E> {
    type Item = &'a E;
    type IntoIter = slice::Iter<'a, E>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, E: Plain> IntoIterator for &'a mut SharedBuffer<E> {
    type Item = &'a mut E;
    type IntoIter = slice::IterMut<'a, E>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<E: Plain> Deref for SharedBuffer<E> {
    type Target = [E];

    #[inline]
    fn deref(&self) -> &[E] {
        // SAFETY: the block has this many bytes, begins at a page and exists as long as its endpoint, see
        // above; any bytes are elements. Only this buffer, which is borrowed, leads to them.
        unsafe { slice::from_raw_parts(self.elements.as_ptr(), self.len) }
    }
}

impl<E: Plain> DerefMut for SharedBuffer<E> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [E] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.elements.as_ptr(), self.len) }
    }
}

impl<E: Plain + fmt::Debug> fmt::Debug for SharedBuffer<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

/// A shared buffer in the hands of a request.
pub(crate) struct HandedOver {
    len: usize,
    block: Option<Block>,
    world: Option<Weak<dyn Keep>>,
}

impl HandedOver {
    /// Takes a buffer apart: what it is, where its bytes are, and how many.
    pub(crate) fn new<E: Plain>(mut buffer: SharedBuffer<E>) -> (Self, NonNull<u8>, usize) {
        let bytes = mem::size_of_val(&buffer[..]);
        let at = buffer.elements.cast();
        let handed = Self {
            len: buffer.len,
            block: buffer.block.take(),
            world: buffer.world.as_ref().map(Rc::downgrade),
        };
        (handed, at, bytes)
    }

    /// The buffer again, with the elements that it had, if the world still exists.
    pub(crate) fn back<E: Plain>(self) -> Option<SharedBuffer<E>> {
        let Some(block) = self.block else {
            return Some(SharedBuffer::without_bytes(self.len));
        };
        Some(SharedBuffer {
            elements: block.address().cast(),
            len: self.len,
            world: Some(self.world?.upgrade()?),
            block: Some(block),
            content: PhantomData,
        })
    }
}

/// Memory that a request has for itself until it is complete: a vector, or a [`SharedBuffer`].
#[diagnostic::on_unimplemented(
    message = "a request cannot own a `{Self}`: it takes a `Vec` or a `SharedBuffer`",
    note = "borrowed memory is sent and received inside of `world.scope(|s| ...)`, by `s.isend` and `s.irecv`",
    note = "for a short array or slice: `.to_vec()`"
)]
pub trait Owned: Sendable {}

impl<E: Plain> Owned for Vec<E> {}
impl<E: Plain> Owned for SharedBuffer<E> {}

/// Memory that a request sends from, and that stays as it is until the request is complete: what a request can
/// [own](Owned), and an [`Arc`](std::sync::Arc) or [`Rc`](std::rc::Rc) of a slice or vector, for messages that are sent
/// to several receivers without a copy for each.
///
/// ```
/// use std::rc::Rc;
///
/// use mq_comm::{Error, World};
///
/// let world = World::alone()?;
/// let block: Rc<[f64]> = vec![0.5; 1000].into();
/// let mut sends = world.request_set();
/// for tag in 0..3 {
///     sends.add(world.isend(block.clone(), 0, tag)?);
/// }
/// for tag in 0..3 {
///     assert_eq!(world.recv_vec::<f64>(0, tag)?.0, *block);
/// }
/// sends.wait_all()?.into_results()?;
/// assert_eq!(Rc::strong_count(&block), 1);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a request cannot own a `{Self}`: it sends a `Vec`, a `SharedBuffer`, or an `Rc` or `Arc` of a slice or \
               `Vec`",
    note = "borrowed memory is sent inside of `world.scope(|s| ...)`, by `s.isend`",
    note = "for a short array or slice: `.to_vec()`"
)]
pub trait Sendable: crate::Content + sealed::HandOver {}

impl<E: Plain> Sendable for Vec<E> {}
impl<E: Plain> Sendable for SharedBuffer<E> {}

pub(crate) mod sealed {
    use std::rc::Rc;

    use super::{Buffer, HandedOver, Plain, SharedBuffer};

    pub trait HandOver {
        /// Whether a request of the process at this address may have it: a shared buffer is a part of the
        /// memory of its own world, which may end before another.
        fn is_of(&self, process: *const ()) -> bool;
        #[allow(private_interfaces, reason = "sealed: nobody else can name it")]
        fn hand_over(self) -> Buffer;
        /// What a buffer was made of, if it was made of this type; otherwise an empty one.
        #[allow(private_interfaces, reason = "sealed: nobody else can name it")]
        fn take_back(buffer: Buffer) -> Self;
    }

    #[allow(private_interfaces, reason = "sealed: nobody else can name it")]
    impl<E: Plain> HandOver for Vec<E> {
        fn is_of(&self, _process: *const ()) -> bool {
            true
        }

        fn hand_over(self) -> Buffer {
            Buffer::owned(self)
        }

        fn take_back(buffer: Buffer) -> Self {
            buffer.into_vec().unwrap_or_default()
        }
    }

    #[allow(private_interfaces, reason = "sealed: nobody else can name it")]
    impl<E: Plain> HandOver for SharedBuffer<E> {
        fn is_of(&self, process: *const ()) -> bool {
            (self.world.as_ref()).is_none_or(|world| Rc::as_ptr(world).cast() == process)
        }

        fn hand_over(self) -> Buffer {
            let (handed, at, bytes) = HandedOver::new(self);
            // SAFETY: the bytes are the block's, which the buffer has from now on.
            unsafe { Buffer::handed_over::<E>(handed, at, bytes) }
        }

        fn take_back(buffer: Buffer) -> Self {
            let back = buffer.into_shared();
            back.unwrap_or(const { Self::without_bytes(0) })
        }
    }
}
