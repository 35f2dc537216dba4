//! Memory accounting: how much a structure holds, computed only on request.

use core::ops::{Add, AddAssign};

/// Heap bytes that a structure holds, in use or kept for reuse.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Memory {
    /// Storage of queued entries, free slots included.
    pub entries: usize,
    /// Everything else: heads, bins, planes, tables, profiles.
    pub index: usize,
}

impl Memory {
    /// Bytes for a [`Footprint`] of one's own.
    #[must_use]
    pub const fn new(entries: usize, index: usize) -> Self {
        Self { entries, index }
    }

    /// All bytes.
    #[must_use]
    pub const fn total(self) -> usize {
        self.entries + self.index
    }
}

impl Add for Memory {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            entries: self.entries + other.entries,
            index: self.index + other.index,
        }
    }
}

impl core::iter::Sum for Memory {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

impl AddAssign for Memory {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Structures that can report their memory.
pub trait Footprint {
    /// Heap bytes held now, from the capacities of the allocations (the allocator's own overhead
    /// is not known here).
    ///
    /// # Cost
    /// Constant for a structure of one context, except that `indexed` takes one look per 1,024 messages
    /// that it has indexed for receives with wildcards. Otherwise linear in the structure's contexts.
    fn memory(&self) -> Memory;
}

/// Bytes behind a vector.
pub(crate) const fn vec_bytes<T>(vec: &Vec<T>) -> usize {
    vec.capacity() * size_of::<T>()
}

/// An array of copies of an element, made where it stays: `Box::new` would make it on the stack first, which a thread
/// of a runtime may not have room for.
pub(crate) fn filled<T: Copy, const N: usize>(element: T) -> Box<[T; N]> {
    match vec![element; N].into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("it has this length"),
    }
}

/// Bytes behind an `Arc`: its two counts, padded to the alignment of what it holds, and that.
#[cfg(feature = "shared")]
pub(crate) const fn arc_bytes<T>() -> usize {
    let counts = 2 * size_of::<usize>();
    size_of::<T>() + counts.next_multiple_of(align_of::<T>())
}
