//! Every lock and atomic of the shared engine, under one name for the processor and for the model
//! checker.
//!
//! With `--cfg mq_loom` the names, except [`Hint`], are those of loom, whose scheduler tries all
//! interleavings; otherwise those of `parking_lot` and the standard library. The model tests run the
//! engine's own code.

/// A flag that only decides how long a thread waits: a real atomic even in a model, which has no
/// time. [CROWD]
#[derive(Default)]
pub(crate) struct Hint(
    #[expect(clippy::disallowed_types, reason = "this is the shim")] core::sync::atomic::AtomicBool,
);

impl Hint {
    pub(crate) fn get(&self) -> bool {
        self.0.load(core::sync::atomic::Ordering::Relaxed)
    }

    pub(crate) fn set(&self, value: bool) {
        self.0.store(value, core::sync::atomic::Ordering::Relaxed);
    }
}

#[cfg(not(mq_loom))]
mod real {
    pub(crate) use core::sync::atomic::{AtomicU8, Ordering};
    pub(crate) use std::sync::OnceLock as Once;

    pub(crate) use parking_lot::{Mutex, MutexGuard, RwLock};
}

#[cfg(mq_loom)]
mod model {
    use std::sync::{OnceLock, PoisonError, TryLockError};

    pub(crate) use loom::sync::MutexGuard;
    use loom::sync::atomic::AtomicBool;
    pub(crate) use loom::sync::atomic::{AtomicU8, Ordering};
    use loom::sync::{RwLockReadGuard, RwLockWriteGuard};

    /// loom's lock, without poisoning: a model that panics has failed anyway.
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            match self.0.try_lock() {
                Ok(guard) => Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            }
        }
    }

    /// loom's lock, without poisoning.
    pub(crate) struct RwLock<T>(loom::sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
            self.0.write().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
        }
    }

    /// A cell that is set once. The flag is loom's, so a reader that the flag does not order after the
    /// writer finds the cell empty, as it may on a processor.
    pub(crate) struct Once<T> {
        is_set: AtomicBool,
        value: OnceLock<T>,
    }

    impl<T> Once<T> {
        pub(crate) fn new() -> Self {
            Self {
                is_set: AtomicBool::new(false),
                value: OnceLock::new(),
            }
        }

        pub(crate) fn get(&self) -> Option<&T> {
            if self.is_set.load(Ordering::Acquire) {
                self.value.get()
            } else {
                None
            }
        }

        pub(crate) fn set(&self, value: T) -> Result<(), T> {
            self.value.set(value)?;
            self.is_set.store(true, Ordering::Release);
            Ok(())
        }
    }
}

#[cfg(mq_loom)]
pub(crate) use self::model::*;
#[cfg(not(mq_loom))]
pub(crate) use self::real::*;
