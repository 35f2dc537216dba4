//! Every atomic, fence and cell of unsynchronised memory, under one name for the processor and the
//! model checker.
//!
//! With `--cfg mq_loom` the names are those of loom, whose scheduler tries all interleavings and all
//! values that weak memory allows; otherwise those of `core`. All bytes zero is a valid [`Guarded`]
//! and a valid atomic, which is how a fresh segment begins.

#[cfg(not(mq_loom))]
mod real {
    pub(crate) use core::hint::spin_loop;
    pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence, fence};

    /// Memory that the protocol hands from one process to another: the user must prove who may touch
    /// it when.
    #[repr(transparent)]
    pub(crate) struct Guarded<T>(core::cell::UnsafeCell<T>);

    impl<T> Guarded<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(core::cell::UnsafeCell::new(value))
        }

        /// The address to read from.
        #[inline]
        pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        /// The address to write to.
        #[inline]
        pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            write(self.0.get())
        }
    }
}

#[cfg(mq_loom)]
mod model {
    #[expect(clippy::unsafe_removed_from_name, reason = "it checks what it guards")]
    pub(crate) use loom::cell::UnsafeCell as Guarded;
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

    /// The model has no compiler to restrain; if one fence of a pair is only a compiler fence, the
    /// model uses the processor's.
    pub(crate) fn compiler_fence(order: Ordering) {
        fence(order);
    }
}

#[cfg(mq_loom)]
pub(crate) use model::*;
#[cfg(not(mq_loom))]
pub(crate) use real::*;
