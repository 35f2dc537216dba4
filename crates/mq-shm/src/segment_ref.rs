//! A remembered address in a segment.
#![allow(unsafe_code, reason = "remembers addresses")]

use core::fmt;
use core::ops::Deref;
use core::ptr::NonNull;

/// A part of a segment that was found once: computing and checking its place costs more than a
/// short message.
pub(crate) struct SegmentRef<T>(NonNull<T>);

impl<T> SegmentRef<T> {
    /// Remembers where a part is.
    ///
    /// # Safety
    /// The part outlives the returned value, and does not move; threads may share it.
    #[inline]
    pub(crate) unsafe fn at(part: &T) -> Self {
        Self(NonNull::from(part))
    }

    /// Remembers where a part of this part is.
    #[inline]
    pub(crate) fn part<P>(&self, part: impl for<'a> FnOnce(&'a T) -> &'a P) -> SegmentRef<P> {
        SegmentRef(NonNull::from(part(self)))
    }
}

impl<T> Clone for SegmentRef<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SegmentRef<T> {}

impl<T> Deref for SegmentRef<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the promise given to `at`.
        unsafe { self.0.as_ref() }
    }
}

impl<T> fmt::Debug for SegmentRef<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// SAFETY: a shared reference in all but its lifetime, to what threads may share, as promised to `at`.
unsafe impl<T> Send for SegmentRef<T> {}
