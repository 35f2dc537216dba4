//! The memory of a front's arrays.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use super::layout::{mq_front_queue, mq_parked};
use super::moving::LONG;
use super::settle::SOME;
use crate::allocator;

/// The room of a new array, in entries.
pub(super) const LEAST_ROOM: usize = 16;

/// The most that an array is given: 800 KiB. To search so many entries takes as long as an operation may take.
const MOST_ROOM: usize = 20_480;

/// The room after this one, for an array that proved too short.
const fn room_after(room: usize) -> usize {
    /// To copy more than this many entries to fresh memory would be a pause: the system gives a page of it in up to
    /// two microseconds.
    const MOST_TO_COPY: usize = 1024;
    if room < MOST_TO_COPY {
        4 * room
    } else {
        MOST_ROOM
    }
}

/// The room beyond that of an array, for what is queued while its entries [move](super::moving): at most one entry
/// with each operation but the last. Where those of the other kind move first, it may have to grow.
const fn spare(room: usize) -> usize {
    room / SOME
}

/// How many searches with a wildcard may look at every entry of an array in addition to those that
/// have been [paid for](FAR_FOR_EACH). Moving the entries takes as long as ten such searches, and
/// moved entries are indexed by the fourth or fifth search that looks at them in the queues.
const FAR_LOOKS: u8 = 4;

/// Any search may look at every entry of an array of n entries if, since the last search that did, at
/// least n / `FAR_FOR_EACH` + `FAR_BESIDES` entries were queued in the front, in whichever array. The
/// search takes as long as these entries gain from the front, which is some 10 ns each: comparing an
/// entry takes 0.7, and moving one up when the found one leaves takes as much. Entries beyond
/// [`LONG`] gain five times as much, so these ask for no more.
const FAR_FOR_EACH: usize = 16;
const FAR_BESIDES: usize = 12;

/// An entry that is named may leave from anywhere in an array of n entries if, since the last that did, at least
/// n / `CLOSING_FOR_EACH` entries were queued in the front: what these gain pays for up to n / 2 that move up.
const CLOSING_FOR_EACH: usize = 32;

/// The memory of one kind of entries in a front. It grows when it is full, and is given back while the front
/// [rests](super::Rest) and nothing is queued.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    places: Box<[Place]>,
    /// Without what is [spare].
    room: u16,
    /// How many of the [`FAR_LOOKS`] are left before the entries move.
    far_looks: u8,
    /// The front's sequence number, truncated to this word's size, when a search last looked at every
    /// entry and was [paid for](FAR_FOR_EACH); initially, when the front was new.
    looked_at: u32,
    /// The same when an entry last left that was [paid for](CLOSING_FOR_EACH).
    closed_at: u32,
}

impl Memory {
    /// For a front whose first entry will have this number.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "differences are what counts"
    )]
    pub(super) fn new(sequence: u64) -> Self {
        let mut places = Box::default();
        resize(&mut places, LEAST_ROOM);
        Self {
            places,
            room: LEAST_ROOM as u16,
            far_looks: FAR_LOOKS,
            looked_at: sequence as u32,
            closed_at: sequence as u32,
        }
    }

    /// The array, with nothing in it.
    pub(super) fn empty(&self) -> mq_front_queue {
        let start: *mut mq_parked = self.places.as_ptr().cast_mut().cast();
        mq_front_queue {
            start,
            first: start,
            end: start,
            limit: start.wrapping_add(self.room.into()),
        }
    }

    /// Gives the array that uses this memory the spare room, until it is [renewed](Self::renew).
    pub(super) fn extend(&self, array: &mut mq_front_queue) {
        array.limit = array.start.wrapping_add(self.places.len());
    }

    /// Empties the array that uses this memory.
    pub(super) fn renew(&mut self, array: &mut mq_front_queue) {
        self.far_looks = FAR_LOOKS;
        *array = self.empty();
    }

    /// Lets a search look at every entry of an array of this length, in a front whose next entry has
    /// this number, if it may; returns whether: seldom, or a few times if it has a wildcard. Without
    /// one it is better answered in the queues, by key.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "differences are what counts"
    )]
    pub(super) const fn grant_far_look(
        &mut self,
        entries: usize,
        sequence: u64,
        has_wildcard: bool,
    ) -> bool {
        let come = (sequence as u32).wrapping_sub(self.looked_at) as usize;
        let counted = if entries < LONG { entries } else { LONG };
        if come >= counted / FAR_FOR_EACH + FAR_BESIDES {
            self.looked_at = sequence as u32;
            return true;
        }
        let is_left = has_wildcard && self.far_looks > 0;
        if is_left {
            self.far_looks -= 1;
        }
        is_left
    }

    /// Lets an entry leave from anywhere in an array of this length, in a front whose next entry has this number, if it
    /// may; returns whether.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "differences are what counts"
    )]
    pub(super) const fn grant_far_exit(&mut self, entries: usize, sequence: u64) -> bool {
        let come = (sequence as u32).wrapping_sub(self.closed_at) as usize;
        let is_paid_for = come >= entries / CLOSING_FOR_EACH;
        if is_paid_for {
            self.closed_at = sequence as u32;
        }
        is_paid_for
    }

    /// Gives a full array more room, if it may have more; whether it has. Its entries stay.
    pub(super) fn grow(&mut self, array: &mut mq_front_queue) -> bool {
        if !array.is_full() || usize::from(self.room) == MOST_ROOM {
            return false;
        }
        let had = usize::from(self.room);
        let index =
            |entry: *mut mq_parked| (entry.addr() - array.start.addr()) / size_of::<mq_parked>();
        let (first, end, limit) = (index(array.first), index(array.end), index(array.limit));
        let room = room_after(had);
        resize(&mut self.places, room);
        let is_refused = allocator::take_refusal();
        if is_refused {
            resize(&mut self.places, had);
            allocator::forget_refusals();
        } else {
            self.room = room as u16;
        }
        *array = self.empty();
        array.first = array.start.wrapping_add(first);
        array.end = array.start.wrapping_add(end);
        if is_refused {
            array.limit = array.start.wrapping_add(limit);
        }
        !is_refused
    }

    /// Gives the memory of an empty array back, but for that of a new one.
    pub(super) fn shrink(&mut self, array: &mut mq_front_queue) {
        if usize::from(self.room) > LEAST_ROOM {
            resize(&mut self.places, LEAST_ROOM);
            self.room = LEAST_ROOM as u16;
            *array = self.empty();
            // Nothing is being queued that could be refused for it.
            allocator::forget_refusals();
        }
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.places.len() * size_of::<mq_parked>()
    }
}

/// For an entry; C writes and reads those of an array.
type Place = UnsafeCell<MaybeUninit<mq_parked>>;

/// Gives an array this room and what is [spare]. What is in the first places remains there. The others are not written
/// to: the system gives each page of them when an entry comes there, and not all of them to one operation.
fn resize(places: &mut Box<[Place]>, room: usize) {
    let wanted = room + spare(room);
    let mut growing = core::mem::take(places).into_vec();
    growing.reserve_exact(wanted.saturating_sub(growing.len()));
    growing.resize_with(wanted, || Place::new(MaybeUninit::uninit()));
    *places = growing.into_boxed_slice();
}
