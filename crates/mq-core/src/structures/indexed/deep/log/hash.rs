//! The hash of a log.

use core::fmt;

use super::super::super::hash::Seed;
use crate::envelope::MatchBits;
use crate::hash::mix;

/// What the hash of a log depends on. As with [tabled](super::super::super::tabled) queues, keys are multiplied by a
/// secret, of which another is taken if it spreads them badly; but sixteen neighbours, which differ in the last bits
/// of the part that varies, get buckets next to each other: long queues are mostly filled and taken in some order.
#[derive(Clone, Copy)]
pub(super) struct Hash {
    factor: u64,
    /// Where the four bits begin in which neighbours differ.
    neighbours_at: u32,
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hash(..)")
    }
}

impl Hash {
    pub(super) const fn new(seed: Seed) -> Self {
        Self {
            factor: seed.factor(),
            neighbours_at: 0,
        }
    }

    /// For a table without entries.
    pub(super) const fn take_another_factor(&mut self) {
        self.factor = mix(self.factor, 1) | 1;
    }

    /// Notes in which half of the bits entries that came one after another differ more often: keys that differ only in
    /// the last four bits of that half get buckets next to each other. For a table without entries.
    pub(super) fn suit<B: MatchBits>(&mut self, all: impl Iterator<Item = B>) {
        const SOME: usize = 64;
        const LOWER: u64 = u32::MAX as u64;
        let mut last = B::ZERO;
        let (mut upper, mut lower) = (0, 0);
        for bits in all.take(SOME) {
            let word = (bits ^ last).fold(0);
            upper += u32::from(word & !LOWER != 0);
            lower += u32::from(word & LOWER != 0);
            last = bits;
        }
        self.neighbours_at = if upper > lower { 32 } else { 0 };
    }

    /// The hash of the bits of an entry: its upper bits count, and the last four.
    #[inline(always)]
    pub(super) fn of<B: MatchBits>(self, bits: B) -> u64 {
        let word = bits.fold(self.factor);
        let at = self.neighbours_at % u64::BITS;
        let last = word >> at & 15;
        let rest = word & !(15 << at);
        rest.wrapping_mul(self.factor) & !15 | last
    }
}
