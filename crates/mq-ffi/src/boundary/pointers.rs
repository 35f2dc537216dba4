//! Pointers from C that may be null.

use core::ffi::c_int;

use crate::status::MQ_ERR_NULL;

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
