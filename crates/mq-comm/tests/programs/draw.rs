//! Chance, from a seed, and the bytes of messages.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, RngExt as _, SeedableRng as _};

/// A generator that is what its name says, in every version of `rand`.
pub(crate) struct Draw(Xoshiro256PlusPlus);

impl Draw {
    /// Each of a seed's generators has a number.
    pub(crate) fn new(seed: u64, number: u32) -> Self {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(number);
        Self(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// A number below another, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<E: Copy>(&mut self, of: &[E]) -> E {
        of[self.below(of.len())]
    }
}

/// The bytes of a message: its number, if there is room, and what follows from it.
pub(crate) fn bytes_of(number: usize, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let begin = if length < 8 { 0 } else { 8 };
    bytes[..begin].copy_from_slice(&(number as u64).to_le_bytes()[..begin]);
    Draw::new(number as u64, 0)
        .0
        .fill_bytes(&mut bytes[begin..]);
    bytes
}

/// The number that a message begins with, if it has been received so far.
pub(crate) fn number_in(bytes: &[u8]) -> Option<usize> {
    let number = bytes.first_chunk::<8>()?;
    usize::try_from(u64::from_le_bytes(*number)).ok()
}
