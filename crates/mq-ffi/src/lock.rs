//! Locking. The locks of other crates keep something for each thread that has waited, with a destructor, and glibc does
//! not unload a library while such destructors are left: after `dlclose` and another `dlopen` it would still have an
//! allocator whose functions are gone. The standard library's lock is one word.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits for a lock. What a panic has broken is marked as such elsewhere.
#[inline]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
