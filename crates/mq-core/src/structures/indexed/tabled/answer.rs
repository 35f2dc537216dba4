//! The answer of a search in [tables](super).

use super::Found;
use crate::slab::{NIL, Sought};

/// Where a search ended, and what it cost, in one word: a function that ends by calling another can then
/// jump there (a tail call) and has nothing to save. The compiler does not do that with an answer of two
/// words.
#[derive(Clone, Copy)]
pub(in crate::structures::indexed) struct Answer(u64);

impl Answer {
    pub(super) const NOTHING: Self = Self::new(NIL, 0);

    #[inline(always)]
    pub(super) const fn new(slot: u32, visited: u32) -> Self {
        Self((visited as u64) << 32 | slot as u64)
    }

    /// The only one that was compared.
    #[inline(always)]
    pub(super) const fn first(slot: u32) -> Self {
        Self::new(slot, 1)
    }
}

impl From<Found> for Answer {
    #[inline(always)]
    fn from(Found { slot, visited }: Found) -> Self {
        Self::new(slot, visited)
    }
}

impl From<Answer> for Sought {
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a word")]
    fn from(Answer(word): Answer) -> Self {
        Self {
            slot: word as u32,
            visited: (word >> 32) as u32,
        }
    }
}
