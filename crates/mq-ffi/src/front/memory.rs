//! The memory of the arrays of a front.

use core::cell::UnsafeCell;

use super::layout::{mq_front_queue, mq_parked};
use crate::allocator;

/// How many entries a new array has room for, and at most one that was found too short: 320 KiB,
/// which are moved in the time in which an index of as many is made.
pub(super) const LEAST_ROOM: usize = 16;
const MOST_ROOM: usize = 8192;

/// How many searches with a wildcard may look at every entry of an array besides those that have
/// been [paid for](FAR_FOR_EACH). To move the entries takes as long as ten, and those that are moved
/// are indexed by the fifth that looks at them there.
const FAR_LOOKS: u8 = 4;

/// Any search may look at every entry of an array if for each so many of them, and so many times
/// besides, an entry was queued in the front since the last that did, in whichever array. It takes as
/// long as these gain by the front, which is some 10 ns each: to compare an entry takes 0.7, and to
/// move one up where the found one leaves as much.
const FAR_FOR_EACH: usize = 16;
const FAR_BESIDES: usize = 12;

/// The memory of one kind of entries in a front, and how much of it is used: more each time that a
/// long queue is taken in about the order in which it came.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    places: Vec<UnsafeCell<mq_parked>>,
    room: usize,
    /// How many of the [`FAR_LOOKS`] are left until the entries move.
    far_looks: u8,
    /// The sequence number of the front, as far as a word of this size tells, when a search last
    /// looked at every entry that was [paid for](FAR_FOR_EACH); at first, when the front was new.
    looked_at: u32,
}

impl Memory {
    /// For a front whose first entry will have this number.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "differences are what counts"
    )]
    pub(super) fn new(sequence: u64) -> Self {
        Self {
            places: places(LEAST_ROOM),
            room: LEAST_ROOM,
            far_looks: FAR_LOOKS,
            looked_at: sequence as u32,
        }
    }

    /// The array, with nothing in it.
    pub(super) fn empty(&self) -> mq_front_queue {
        let start: *mut mq_parked = self.places.as_ptr().cast_mut().cast();
        mq_front_queue {
            start,
            first: start,
            end: start,
            limit: start.wrapping_add(self.room),
        }
    }

    /// Empties the array whose memory this is.
    pub(super) fn renew(&mut self, array: &mut mq_front_queue) {
        self.far_looks = FAR_LOOKS;
        *array = self.empty();
    }

    /// Whether a search may look at every entry of an array, so many, in a front whose next entry has
    /// this number: seldom, or a few times if it has a wildcard. Without one it is better answered in
    /// the queues, by key.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "differences are what counts"
    )]
    pub(super) const fn may_be_searched_far(
        &mut self,
        entries: usize,
        sequence: u64,
        has_wildcard: bool,
    ) -> bool {
        let come = (sequence as u32).wrapping_sub(self.looked_at) as usize;
        if come >= entries / FAR_FOR_EACH + FAR_BESIDES {
            self.looked_at = sequence as u32;
            return true;
        }
        let may = has_wildcard && self.far_looks > 0;
        if may {
            self.far_looks -= 1;
        }
        may
    }

    /// Gives a full array more room, if it may have more; whether it has. Its entries stay.
    pub(super) fn grow(&mut self, array: &mut mq_front_queue) -> bool {
        if !array.is_full() || self.room == MOST_ROOM {
            return false;
        }
        let room = MOST_ROOM.min(4 * self.room);
        let more = places(room);
        if allocator::has_refused() {
            return false;
        }
        let entries = *array;
        for (place, entry) in more.iter().zip(entries.entries()) {
            // SAFETY: nobody else has the new array.
            unsafe { *place.get() = entry };
        }
        self.places = more;
        self.room = room;
        *array = self.empty();
        array.end = array.start.wrapping_add(entries.len());
        true
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.places.len() * size_of::<mq_parked>()
    }
}

fn places(room: usize) -> Vec<UnsafeCell<mq_parked>> {
    let places = 0..room;
    places
        .map(|_| UnsafeCell::new(mq_parked::NOTHING))
        .collect()
}
