//! What is known of a received message.

use core::fmt;

use crate::error::Error;
use crate::header;

/// What is known of a message that was received or found by a probe: `MPI_Status`, MPI 4.1 §3.2.5. The status
/// of a send has the sender's own rank, and the message's tag and length.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Status {
    bits: u64,
    bytes: u64,
}

impl Status {
    #[inline]
    pub(crate) const fn new(bits: u64, bytes: u64) -> Self {
        Self { bits, bytes }
    }

    /// The sender's rank, as the sender gave it: processes that share memory trust each other.
    #[inline]
    #[must_use]
    pub const fn source(&self) -> u32 {
        header::source_of(self.bits)
    }

    /// The message's tag.
    #[inline]
    #[must_use]
    pub const fn tag(&self) -> i32 {
        header::tag_of(self.bits)
    }

    /// Bytes of the message.
    #[inline]
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of elements of the message: `MPI_Get_count`.
    ///
    /// # Errors
    /// [`Error::Element`] if it is not a whole number.
    #[inline]
    pub const fn count<T>(&self) -> Result<usize, Error> {
        let element = size_of::<T>();
        if element == 0 || !self.bytes.is_multiple_of(element as u64) {
            return Err(Error::Element {
                from: self.source(),
                tag: self.tag(),
                bytes: self.bytes,
                element,
            });
        }
        Ok((self.bytes / element as u64) as usize)
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Status")
            .field("source", &self.source())
            .field("tag", &self.tag())
            .field("bytes", &self.bytes)
            .finish()
    }
}
