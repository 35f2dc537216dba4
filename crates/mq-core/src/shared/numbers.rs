//! Numbers of the shared engine: which queues an entry is in, and its place in order.
//!
//! The queues of a place start numbering at the place's own first number, so that their handles name the
//! place without being rewritten.

use crate::handle::Handle;

/// Bits of a number that hold the count; the upper seven hold the place.
const COUNT_BITS: u32 = 57;

/// The greatest number that an engine may begin with: as many again are left for counting.
pub(super) const MOST_AT_FIRST: u64 = 1 << (COUNT_BITS - 1);

/// Which queues of a context: the undivided ones, or a shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlaceId(u8);

impl PlaceId {
    /// The undivided queues.
    pub(super) const UNDIVIDED: Self = Self(0);

    /// Shard number `index`, of at most 64.
    pub(super) const fn shard(index: usize) -> Self {
        Self(index as u8 + 1)
    }

    /// The place that gave a handle.
    pub(super) const fn of(handle: Handle) -> Self {
        Self((handle.sequence() >> COUNT_BITS) as u8)
    }

    /// The number of the shard; `None` for the undivided queues.
    pub(super) fn index(self) -> Option<usize> {
        usize::from(self.0).checked_sub(1)
    }

    /// The number that queues here give to the `count`-th entry in order.
    #[inline]
    pub(super) const fn number(self, count: u64) -> u64 {
        (self.0 as u64) << COUNT_BITS | count
    }
}

/// The position in order encoded in a number: comparable over all places of a context.
#[inline]
pub(super) const fn count_of(number: u64) -> u64 {
    number & ((1 << COUNT_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContextId;
    use crate::shared::options::MOST_SHARDS;

    #[test]
    fn a_number_tells_its_place_and_its_count() {
        let shards = (0..MOST_SHARDS).map(PlaceId::shard);
        for place in shards.chain([PlaceId::UNDIVIDED]) {
            for count in [0, 1, (1 << COUNT_BITS) - 1] {
                let number = place.number(count);
                let handle = Handle::new(ContextId(3), 5, number);
                assert_eq!((PlaceId::of(handle), count_of(number)), (place, count));
            }
        }
    }
}
