//! What stands between C and Rust: null checks and a panic boundary, in every build.

use core::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::status::{MQ_ERR_INTERNAL, MQ_ERR_NULL};

/// Runs the body of a call; a panic becomes a status.
#[inline]
pub(crate) fn guard(body: impl FnOnce() -> Result<c_int, c_int>) -> c_int {
    // After a panic the engine is not used any more, as the status says; nothing else is shared.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status) | Err(status)) => status,
        Err(_) => MQ_ERR_INTERNAL,
    }
}

/// The object behind a pointer from C.
///
/// # Errors
/// `MQ_ERR_NULL`.
///
/// # Safety
/// `pointer` is null, or valid for reads as `T` for the call.
#[inline]
pub(crate) unsafe fn borrow<'a, T>(pointer: *const T) -> Result<&'a T, c_int> {
    // SAFETY: the caller vouches for a non-null pointer.
    unsafe { pointer.as_ref() }.ok_or(MQ_ERR_NULL)
}

/// The object behind a pointer from C, to change.
///
/// # Errors
/// `MQ_ERR_NULL`.
///
/// # Safety
/// `pointer` is null, or valid for reads and writes as `T` and not otherwise used during the call.
#[inline]
pub(crate) unsafe fn borrow_mut<'a, T>(pointer: *mut T) -> Result<&'a mut T, c_int> {
    // SAFETY: the caller vouches for a non-null pointer.
    unsafe { pointer.as_mut() }.ok_or(MQ_ERR_NULL)
}

/// Writes an output that the caller may not want.
///
/// # Safety
/// `output` is null, or valid for writes as `T`.
#[inline]
pub(crate) unsafe fn write<T>(output: *mut T, value: T) {
    if !output.is_null() {
        // SAFETY: not null, and the caller vouches for the rest.
        unsafe { output.write(value) };
    }
}
