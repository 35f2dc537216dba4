//! Hashing of keys, with a secret.

use core::fmt;
use std::hash::{BuildHasher, RandomState};

use super::key::Key;
use crate::envelope::MatchBits;
use crate::hash::mix;

/// The secret of one table, so that nobody can choose tags that share a bucket.
#[derive(Clone, Copy)]
pub(super) struct Seed(u64);

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

impl Seed {
    /// The requested seed, or a secret one if that is 0.
    pub(super) fn new(wanted: u32) -> Self {
        Self(match wanted {
            0 => RandomState::new().hash_one(0_u8),
            wanted => u64::from(wanted),
        })
    }

    /// A secret odd number to multiply by.
    pub(super) const fn factor(self) -> u64 {
        mix(self.0, 1) | 1
    }

    /// The hash of the bits that a key must match. Programs choose tags like `i << 16` and
    /// `rank * stride`: a multiplication folded over its 128-bit product lets every bit of the key reach
    /// the bits taken here; a second one makes keys that differ by a power of two no likelier to be
    /// neighbours than others.
    ///
    /// In 64-bit words, as MPI's, all but the last four bits of source and tag are hashed that way. The
    /// last bits are added afterwards, such that 16 consecutive tags are in 16 consecutive buckets, and 16
    /// sources in as many lines of the table: long queues are mostly posted and taken in some order, and
    /// then a fetched line is used again. Two keys that differ only in those bits never share a bucket;
    /// others do as often as with any hash. Longer words are first reduced to 64 bits with a secret:
    /// neighbours may be anywhere, and any two keys may share a bucket.
    ///
    /// The context is left out: the queues belong to one context, and keys are compared whole.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "all parts are used")]
    pub(super) fn hash<B: MatchBits>(self, key: Key<B>) -> u32 {
        const FOLD: u64 = 0x9e37_79b9_7f4a_7c15;
        const SPREAD: u64 = 0xd6e8_feb8_6659_fd93;
        const LAST: u64 = 0x0000_000f_0000_000f;
        // 0 for a key that must match exactly, for others a secret: with known words, masks and bits could
        // be chosen whose sums are equal, and such keys would always share a bucket.
        let open = (!key.care).digest(0) ^ B::ZERO.digest(0);
        let mask = open.wrapping_mul(self.0 | 1);
        let digest = key.bits.digest(self.0);
        // The last bits of the source, 32 above those of the tag, move to just above them.
        let place = digest.wrapping_add(digest >> 28) as u32;
        let word = (digest & !LAST) ^ mask;
        let product = u128::from(word) * u128::from(FOLD);
        let folded = (product as u64) ^ (product >> 64) as u64;
        (folded.wrapping_mul(SPREAD) >> 32) as u32 ^ place
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::envelope::ContextId;

    /// The most of 65,536 keys in one of 256 buckets, by the low bits: those that the table uses.
    fn fullest(seed: Seed, bits: impl Fn(u64) -> u64) -> usize {
        let mut buckets = [0; 256];
        for i in 0..65_536 {
            let key = Key {
                context: ContextId(3),
                bits: bits(i),
                care: u64::ALL,
            };
            buckets[(seed.hash(key) & 255) as usize] += 1;
        }
        *buckets.iter().max().unwrap_or(&0)
    }

    #[test]
    fn regular_keys_spread_like_random_ones() {
        // 256 on average; a random function stays below 340 but once in 10^6.
        for seed in [1, 2, 0xdead_beef].map(Seed::new) {
            for shift in 0..48 {
                assert!(fullest(seed, |i| i << shift) < 360, "shift {shift}");
            }
            for stride in [3, 12, 1000, 4096, 65_535, 65_537] {
                let by_rank = fullest(seed, |i| ((i * stride) << 32) | 7);
                assert!(by_rank < 360, "stride {stride} of ranks");
                let by_tag = fullest(seed, |i| 5 << 32 | (i * stride) & 0xffff_ffff);
                assert!(by_tag < 360, "stride {stride} of tags");
            }
            assert!(fullest(seed, u64::reverse_bits) < 360);
            let grid = fullest(seed, |i| (i / 256) << 32 | (i % 256) << 16);
            assert!(grid < 360, "a grid of ranks and tags");
        }
    }

    #[test]
    fn masks_tell_keys_apart() {
        let seed = Seed::new(1);
        let key = |care| Key {
            context: ContextId(0),
            bits: 7_u64,
            care,
        };
        let exact = seed.hash(key(u64::ALL));
        assert_ne!(exact, seed.hash(key(0xffff_ffff)));
    }

    #[test]
    fn nobody_can_choose_keys_of_two_masks_that_share_a_bucket() {
        // If what a mask adds to a hash were known, multiples of an odd number, these would always.
        let key = |source: u64, tag: u64, ignore: u64| Key {
            context: ContextId(0),
            bits: source << 32 | tag,
            care: !ignore,
        };
        let one = key(0x4aa1_eb40, 0x06ef_5000, 0x0100_8800);
        let other = key(0, 0x800, 0x0081_0000);
        let place = |seed: Seed, key| seed.hash(key) & 1023;
        let together = (1..=1000).filter(|&seed| {
            let seed = Seed::new(seed);
            place(seed, one) == place(seed, other)
        });
        let together = together.count();
        assert!(together < 20, "under {together} of 1000 seeds");
    }

    #[test]
    fn neighbours_have_buckets_of_their_own_near_to_each_other() {
        for seed in [1, 2, 0xdead_beef].map(Seed::new) {
            let hash = |source: u64, tag: u64| {
                seed.hash(Key {
                    context: ContextId(3),
                    bits: source << 32 | tag,
                    care: u64::ALL,
                })
            };
            for (source, tag) in [(0, 0), (16, 0xffff_fff0), (0x1230, 0x4560)] {
                let hashes = |n: u64| (0..n).flat_map(move |s| (0..n).map(move |t| (s, t)));
                let all: HashSet<u32> = hashes(16)
                    .map(|(s, t)| hash(source + s, tag + t) & 1023)
                    .collect();
                assert_eq!(all.len(), 256, "a grid of 16 by 16 from {source}, {tag}");
                let lines: HashSet<u32> = (0..16).map(|t| hash(source, tag + t) >> 4).collect();
                assert!(lines.len() <= 2, "16 tags from {tag} are in two lines");
            }
        }
    }

    #[test]
    fn without_a_seed_every_table_has_a_secret_of_its_own() {
        let key = Key {
            context: ContextId(0),
            bits: 1_u64,
            care: u64::ALL,
        };
        let hashes: Vec<u32> = (0..8).map(|_| Seed::new(0).hash(key)).collect();
        assert!(hashes.windows(2).any(|pair| pair[0] != pair[1]));
        assert_eq!(Seed::new(5).hash(key), Seed::new(5).hash(key));
    }
}
