//! Hashing of keys, with a secret.

use std::hash::{BuildHasher, RandomState};

use crate::envelope::{ContextId, Envelope, MatchBits};

/// The secret of one table: whoever chooses tags cannot choose those that share a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed(u64);

impl Seed {
    /// The seed asked for, or one that nobody knows if that is 0.
    pub(super) fn new(wanted: u32) -> Self {
        Self(match wanted {
            0 => RandomState::new().hash_one(0_u8),
            wanted => u64::from(wanted),
        })
    }

    /// The hash of the bits that a key must match. Programs choose tags like `i << 16` and
    /// `rank * stride`: a multiplication folded over its 128-bit product lets every bit of the key
    /// reach those taken here, and the second makes neighbours of what differs by a power of two no
    /// likelier than others.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "all parts are used")]
    pub(super) fn hash<B: MatchBits>(self, key: Key<B>) -> u32 {
        const FOLD: u64 = 0x9e37_79b9_7f4a_7c15;
        const SPREAD: u64 = 0xd6e8_feb8_6659_fd93;
        const MASK: u64 = 0xe703_7ed1_a0b4_28db;
        // Away from the tags and from all but very high ranks.
        let context = u64::from(key.context.0).rotate_left(48);
        // Nothing for a key that must match exactly.
        let mask = (!key.care).digest(0).wrapping_mul(MASK);
        let word = key.bits.digest(self.0) ^ context ^ mask;
        let product = u128::from(word) * u128::from(FOLD);
        let folded = (product as u64) ^ (product >> 64) as u64;
        (folded.wrapping_mul(SPREAD) >> 32) as u32
    }
}

/// What entries are found by: a context, and the bits that must be equal under a mask.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key<B> {
    pub(super) context: ContextId,
    /// The bits, 0 outside the mask.
    pub(super) bits: B,
    pub(super) care: B,
}

impl<B: MatchBits> Key<B> {
    /// Whether a receive with this key takes a message, as [`matches`](crate::matches) has it.
    pub(super) fn admits(self, envelope: &impl Envelope<Bits = B>) -> bool {
        envelope.context() == self.context && (envelope.bits() ^ self.bits) & self.care == B::ZERO
    }
}
