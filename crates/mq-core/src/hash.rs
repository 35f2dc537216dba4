//! Hashing of match words and senders.
//!
//! Tags are chosen by programs: `i << 16`, `rank * stride`, all multiples of a power of two. A
//! multiplication folded over its 128-bit product spreads any of them over all bits of the result.

use core::hash::{BuildHasherDefault, Hasher};

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
const OFFSET: u64 = 0xd1b5_4a32_d192_ed03;

/// Mixes a word so that every bit of the result depends on every bit of it.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
pub(crate) const fn mix(word: u64, seed: u64) -> u64 {
    let product = ((word ^ OFFSET) as u128) * (((seed << 1) ^ MULTIPLIER) as u128);
    let folded = (product as u64) ^ ((product >> 64) as u64);
    // One more round: a fold alone leaves the low bits of words that differ by 2^k correlated.
    let product = (folded as u128) * (MULTIPLIER as u128);
    (product as u64) ^ ((product >> 64) as u64)
}

/// A hasher for keys of a few machine words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MixHasher(u64);

impl Hasher for MixHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }
    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = mix(word, self.0);
    }
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

/// A map of a few words to something, hashed with [`mix`].
pub(crate) type MixMap<K, V> = hashbrown::HashMap<K, V, BuildHasherDefault<MixHasher>>;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Worst load of 256 buckets that 65,536 words of a family make, for the low and the high bits.
    fn worst_bucket(word: impl Fn(u64) -> u64) -> usize {
        let mut low = [0; 256];
        let mut high = [0; 256];
        for i in 0..65_536 {
            let hash = mix(word(i), 0);
            low[(hash & 255) as usize] += 1;
            high[(hash >> 56) as usize] += 1;
        }
        *low.iter().chain(&high).max().unwrap_or(&0)
    }

    #[test]
    fn regular_keys_spread_like_random_ones() {
        // 256 on average; a random function stays below 340 but once in 10^6.
        for shift in 0..48 {
            assert!(worst_bucket(|i| i << shift) < 360, "shift {shift}");
        }
        for stride in [3, 12, 1000, 4096, 65_535, 65_537] {
            assert!(
                worst_bucket(|i| ((i * stride) << 32) | 7) < 360,
                "stride {stride}"
            );
        }
        assert!(worst_bucket(u64::reverse_bits) < 360);
    }

    #[test]
    fn mixing_loses_nothing_on_small_words() {
        let images: HashSet<u64> = (0..100_000).map(|i| mix(i, 9)).collect();
        assert_eq!(images.len(), 100_000);
    }
}
