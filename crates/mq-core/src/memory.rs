//! Memory accounting: what a structure weighs, computed only when asked.

use core::ops::{Add, AddAssign};

/// Heap bytes that a structure holds, whether in use or kept for reuse.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Memory {
    /// Storage of queued entries, free slots included.
    pub entries: usize,
    /// Everything else: heads, bins, planes, tables, profiles.
    pub index: usize,
}

impl Memory {
    /// All bytes.
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

impl AddAssign for Memory {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Structures that can say what they weigh.
pub trait Footprint {
    /// Heap bytes held now, from the capacities of the allocations (the allocator's own overhead
    /// is not known here).
    ///
    /// # Cost
    /// Constant for a structure of one context, but for `indexed`, which takes one look for every 1,024
    /// messages that it has indexed for receives with wildcards; linear in its contexts otherwise.
    fn memory(&self) -> Memory;
}

/// Bytes behind a vector.
pub(crate) const fn vec_bytes<T>(vec: &Vec<T>) -> usize {
    vec.capacity() * size_of::<T>()
}
