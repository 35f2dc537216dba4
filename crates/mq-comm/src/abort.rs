//! The end of a process that would otherwise unwind past memory that is lent.
//!
//! A panic of the library while an operation that is to end has lent its buffer would leave the loan in the pool. No
//! such panic is known.

/// Ends the process when it is dropped; to be forgotten when no memory is lent any more.
pub(crate) struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// Does something during which memory is lent, and does not unwind from there.
#[inline(always)]
pub(crate) fn abort_on_unwind<R>(work: impl FnOnce() -> R) -> R {
    let guard = AbortOnUnwind;
    let result = work();
    core::mem::forget(guard);
    result
}
