//! Handles of the shared engine: the handle that the queues gave, and which queues they are.

use crate::handle::Handle;

/// Low bits of a number that tell the place; 2^57 numbers are left.
const PLACE_BITS: u32 = 7;

/// Which queues of a context: the undivided ones, or a shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlaceId(u8);

impl PlaceId {
    /// The undivided queues.
    pub(super) const WHOLE: Self = Self(0);

    /// Shard number `index`, of at most 64.
    pub(super) const fn shard(index: usize) -> Self {
        Self(index as u8 + 1)
    }

    /// The number of the shard; `None` for the undivided queues.
    pub(super) fn index(self) -> Option<usize> {
        usize::from(self.0).checked_sub(1)
    }
}

/// What the caller gets for a handle of the queues at `place`: its numbers grow in posting order in
/// each place, and no two places give the same.
#[inline]
pub(super) fn outer(handle: Handle, place: PlaceId) -> Handle {
    let number = handle.sequence() << PLACE_BITS | u64::from(place.0);
    Handle::new(handle.context(), handle.slot(), number)
}

/// The place and the handle there that [`outer`] made a handle of.
#[inline]
pub(super) fn inner(handle: Handle) -> (PlaceId, Handle) {
    let number = handle.sequence();
    let place = PlaceId((number & ((1 << PLACE_BITS) - 1)) as u8);
    let within = Handle::new(handle.context(), handle.slot(), number >> PLACE_BITS);
    (place, within)
}

/// The first number within a place whose outer form is not below `outer`.
pub(super) const fn first_inner(outer: u64) -> u64 {
    outer.div_ceil(1 << PLACE_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContextId;
    use crate::shared::options::MOST_SHARDS;

    #[test]
    fn a_handle_leads_back_to_its_place() {
        let shards = (0..MOST_SHARDS).map(PlaceId::shard);
        for place in shards.chain([PlaceId::WHOLE]) {
            let handle = Handle::new(ContextId(3), 5, (1 << 57) - 1);
            assert_eq!(inner(outer(handle, place)), (place, handle));
        }
    }
}
