//! The memory of a request: the user's own, lent for a time, or handed over.
//!
//! This file and [`scope`](crate::scope) are where the safety of non-blocking operations is decided. A
//! [`Buffer`] of the request pool is the only way in which the library touches a user's memory after a call
//! has returned. A buffer that is handed over belongs to the pool, which gives it back or frees it:
//! forgetting the handle of the request leaks it at worst. A lent buffer is taken out of the pool before the
//! loan ends, by the scope it was lent to, which nobody can forget.
//!
//! Of elements with several owners, an `Rc` or `Arc`, a buffer has one owner's part: while it exists, the elements stay
//! where they are, and nobody can write to them, as long as the buffer does not either. No buffer leaves its thread,
//! and so no `Rc` does.
//!
//! Another process may read a lent buffer at any time, through the kernel, which is no access as far as this
//! program is concerned; that it reads what was meant is a matter of the protocol, not of safety.
#![allow(unsafe_code, reason = "remembers addresses")]

use core::any::TypeId;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use core::slice;

use crate::plain::{self, Plain};
use crate::shared_buffer::{HandedOver, SharedBuffer};

/// Memory to send from or to receive into.
pub(crate) struct Buffer {
    at: NonNull<u8>,
    bytes: usize,
    kind: Kind,
}

enum Kind {
    /// Lent for reading.
    Shared,
    /// Lent for writing.
    Exclusive,
    /// A vector taken apart, or a shared buffer.
    Owned(Parts),
    /// An `Rc` or `Arc`: others read the elements too.
    Counted(Parts),
}

#[derive(Clone, Copy)]
struct Parts {
    /// The type of a vector's elements, or of the shared buffer, or of the `Rc` or `Arc`.
    made_of: TypeId,
    /// The capacity of a vector; or the address of what a shared buffer is made of, which has no variant of its own,
    /// because every request would have to check for it when it ends; or the address where the `Rc` or `Arc` is.
    capacity_or_address: usize,
    /// Drops whatever it is whose parts these are.
    free: unsafe fn(NonNull<u8>, usize),
}

/// # Safety
/// `at` and `capacity` are those of a `Vec<T>` that nobody else has.
unsafe fn free<T: Plain>(at: NonNull<u8>, capacity: usize) {
    // SAFETY: the caller's; elements need no dropping, so that the length does not matter.
    drop(unsafe { Vec::from_raw_parts(at.cast::<T>().as_ptr(), 0, capacity) });
}

/// # Safety
/// `handed` is what [`Buffer::handed_over`] has left there, and nobody else has it.
unsafe fn free_shared(_at: NonNull<u8>, handed: usize) {
    // SAFETY: the caller's.
    drop(unsafe { Box::from_raw(ptr::with_exposed_provenance_mut::<HandedOver>(handed)) });
}

/// # Safety
/// `counted` is the address where [`Buffer::counted`] has left a `C`, and nobody else has it.
unsafe fn free_counted<C>(_at: NonNull<u8>, counted: usize) {
    // SAFETY: the caller's.
    drop(unsafe { Box::from_raw(ptr::with_exposed_provenance_mut::<C>(counted)) });
}

impl Buffer {
    /// No memory.
    pub(crate) const EMPTY: Self = Self {
        at: NonNull::dangling(),
        bytes: 0,
        kind: Kind::Shared,
    };

    /// A vector that is handed over.
    pub(crate) fn owned<T: Plain>(elements: Vec<T>) -> Self {
        let mut elements = ManuallyDrop::new(elements);
        let parts = Parts {
            made_of: TypeId::of::<T>(),
            capacity_or_address: elements.capacity(),
            free: free::<T>,
        };
        // Not the slice's address: it is freed by this one, with all that the vector has room for.
        let at = NonNull::new(elements.as_mut_ptr());
        Self {
            bytes: size_of_val(elements.as_slice()),
            at: at.map_or(NonNull::dangling(), NonNull::cast),
            kind: Kind::Owned(parts),
        }
    }

    /// A shared buffer that is handed over.
    ///
    /// # Safety
    /// The bytes are those of its block, and it is used no longer than the endpoint exists.
    pub(crate) unsafe fn handed_over<T: Plain>(
        handed: HandedOver,
        at: NonNull<u8>,
        bytes: usize,
    ) -> Self {
        let parts = Parts {
            made_of: TypeId::of::<SharedBuffer<T>>(),
            capacity_or_address: Box::into_raw(Box::new(handed)).expose_provenance(),
            free: free_shared,
        };
        Self {
            at,
            bytes,
            kind: Kind::Owned(parts),
        }
    }

    /// Elements with several owners, of whom the buffer is one.
    ///
    /// # Safety
    /// While `counted` exists, wherever it is moved, its elements stay where they are, and nobody writes to them.
    pub(crate) unsafe fn counted<T: Plain, C: 'static>(
        counted: C,
        elements: impl FnOnce(&C) -> &[T],
    ) -> Self {
        let bytes = plain::bytes(elements(&counted));
        let (at, bytes) = (NonNull::from(bytes).cast(), bytes.len());
        let counted = Box::into_raw(Box::new(counted));
        Self {
            at,
            bytes,
            kind: Kind::Counted(Parts {
                made_of: TypeId::of::<C>(),
                capacity_or_address: counted.expose_provenance(),
                free: free_counted::<C>,
            }),
        }
    }

    /// Elements lent for reading.
    ///
    /// # Safety
    /// The buffer is dropped before the loan ends.
    #[inline]
    pub(crate) unsafe fn shared<T: Plain>(elements: &[T]) -> Self {
        let bytes = plain::bytes(elements);
        Self {
            at: NonNull::from(bytes).cast(),
            bytes: bytes.len(),
            kind: Kind::Shared,
        }
    }

    /// Elements lent for writing.
    ///
    /// # Safety
    /// As for [`shared`](Self::shared).
    #[inline]
    pub(crate) unsafe fn exclusive<T: Plain>(elements: &mut [T]) -> Self {
        let bytes = plain::bytes_mut(elements);
        Self {
            bytes: bytes.len(),
            at: NonNull::from(bytes).cast(),
            kind: Kind::Exclusive,
        }
    }

    /// Its number of bytes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// The bytes to send.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: owned, or lent for longer than the buffer is there; nobody writes to it
        // meanwhile, as this borrows the buffer, the only way to memory lent for writing.
        unsafe { slice::from_raw_parts(self.at.as_ptr(), self.bytes) }
    }

    /// The bytes to receive into; none if the memory was lent for reading, or has other owners.
    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        if matches!(self.kind, Kind::Shared | Kind::Counted(_)) {
            return &mut [];
        }
        // SAFETY: owned, or lent for writing for longer than the buffer is there; this borrows the
        // buffer, the only way to it. Any bytes are values.
        unsafe { slice::from_raw_parts_mut(self.at.as_ptr(), self.bytes) }
    }

    /// Ends a loan, or frees what was handed over: no memory is left.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        if self.is_owned() {
            *self = Self::EMPTY;
        } else {
            self.at = NonNull::dangling();
            self.bytes = 0;
            self.kind = Kind::Shared;
        }
    }

    /// Whether it was handed over.
    #[inline]
    pub(crate) fn is_owned(&self) -> bool {
        matches!(self.kind, Kind::Owned(_) | Kind::Counted(_))
    }

    /// Ends a loan: from now on the bytes are the pool's own, a copy of those lent.
    pub(crate) fn detach(&mut self) {
        if !self.is_owned() {
            *self = Self::owned(self.bytes().to_vec());
        }
    }

    /// Whether a vector of such elements was handed over.
    pub(crate) fn was_vec<T: Plain>(&self) -> bool {
        self.is_marked(TypeId::of::<T>())
    }

    /// Whether a shared buffer of such elements was handed over.
    pub(crate) fn was_shared<T: Plain>(&self) -> bool {
        self.is_marked(TypeId::of::<SharedBuffer<T>>())
    }

    fn is_marked(&self, made_of: TypeId) -> bool {
        matches!(&self.kind, Kind::Owned(parts) if parts.made_of == made_of)
    }

    /// The vector that was handed over, if its elements were of this type.
    pub(crate) fn into_vec<T: Plain>(self) -> Option<Vec<T>> {
        let Kind::Owned(parts) = self.kind else {
            return None;
        };
        if parts.made_of != TypeId::of::<T>() {
            return None;
        }
        let this = ManuallyDrop::new(self);
        plain::has_size::<T>();
        let len = this.bytes / size_of::<T>();
        let at = this.at.cast::<T>().as_ptr();
        // SAFETY: the parts are those of a `Vec<T>`, as its type says, which is not dropped here;
        // its first `len` elements were there when it was handed over.
        Some(unsafe { Vec::from_raw_parts(at, len, parts.capacity_or_address) })
    }

    /// The shared buffer that was handed over, if its elements were of this type and its world still exists.
    pub(crate) fn into_shared<T: Plain>(self) -> Option<SharedBuffer<T>> {
        let Kind::Owned(parts) = self.kind else {
            return None;
        };
        if parts.made_of != TypeId::of::<SharedBuffer<T>>() {
            return None;
        }
        let _ = ManuallyDrop::new(self);
        let handed = ptr::with_exposed_provenance_mut::<HandedOver>(parts.capacity_or_address);
        // SAFETY: it is that of a shared buffer, as its type says, which is not dropped here.
        unsafe { Box::from_raw(handed) }.back()
    }

    /// What was handed over, if it was of this type, whose elements have several owners.
    pub(crate) fn into_counted<C: 'static>(self) -> Option<C> {
        let Kind::Counted(parts) = self.kind else {
            return None;
        };
        if parts.made_of != TypeId::of::<C>() {
            return None;
        }
        let _ = ManuallyDrop::new(self);
        let counted = ptr::with_exposed_provenance_mut::<C>(parts.capacity_or_address);
        // SAFETY: `counted` has left it there, and it is not dropped here.
        Some(*unsafe { Box::from_raw(counted) })
    }
}

impl Drop for Buffer {
    #[inline]
    fn drop(&mut self) {
        if let Kind::Owned(parts) | Kind::Counted(parts) = self.kind {
            // SAFETY: the parts of what is handed to nobody else.
            unsafe { (parts.free)(self.at, parts.capacity_or_address) };
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Shared => "lent for reading",
            Kind::Exclusive => "lent for writing",
            Kind::Owned(_) => "handed over",
            Kind::Counted(_) => "handed over, with other owners",
        };
        write!(f, "{} bytes, {kind}", self.bytes)
    }
}

/// What a request gives back: a vector, a shared buffer, an `Rc` or `Arc`, or what was lent.
pub trait Content: sealed::Content {}

impl<T: Plain> Content for Vec<T> {}
impl<T: Plain> Content for SharedBuffer<T> {}
impl<T: Plain> Content for &[T] {}
impl<T: Plain> Content for &mut [T] {}

pub(crate) mod sealed {
    use super::{Buffer, Plain, SharedBuffer, slice};
    use crate::shared_buffer::sealed::HandOver;

    pub trait Content: Sized {
        /// Whether the request may keep it forever.
        const OWNED: bool;
        /// What a buffer was made of.
        ///
        /// # Safety
        /// The buffer was made of a `Self`, lifetime included, and nobody else has that.
        #[allow(private_interfaces, reason = "sealed: nobody else can name it")]
        unsafe fn back(buffer: Buffer) -> Self;
    }

    #[allow(private_interfaces, reason = "sealed: nobody else can name it")]
    impl<T: Plain> Content for Vec<T> {
        const OWNED: bool = true;

        unsafe fn back(buffer: Buffer) -> Self {
            Self::take_back(buffer)
        }
    }

    #[allow(private_interfaces, reason = "sealed: nobody else can name it")]
    impl<T: Plain> Content for SharedBuffer<T> {
        const OWNED: bool = true;

        unsafe fn back(buffer: Buffer) -> Self {
            Self::take_back(buffer)
        }
    }

    #[allow(private_interfaces, reason = "sealed: nobody else can name it")]
    impl<T: Plain> Content for &[T] {
        const OWNED: bool = false;

        unsafe fn back(buffer: Buffer) -> Self {
            if buffer.is_owned() {
                return &[];
            }
            let len = buffer.bytes.checked_div(size_of::<T>()).unwrap_or(0);
            // SAFETY: the caller's: the loan lasts as long as `Self`.
            unsafe { slice::from_raw_parts(buffer.at.cast().as_ptr(), len) }
        }
    }

    #[allow(private_interfaces, reason = "sealed: nobody else can name it")]
    impl<T: Plain> Content for &mut [T] {
        const OWNED: bool = false;

        unsafe fn back(buffer: Buffer) -> Self {
            if buffer.is_owned() {
                return &mut [];
            }
            let len = buffer.bytes.checked_div(size_of::<T>()).unwrap_or(0);
            // SAFETY: the caller's: the loan lasts as long as `Self`, and this was the only way to
            // it.
            unsafe { slice::from_raw_parts_mut(buffer.at.cast().as_ptr(), len) }
        }
    }
}

#[cfg(test)]
mod tests;
