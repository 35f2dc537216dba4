//! The front of an engine: the first entries, where `mq_inline.h` finds them without a call.
//!
//! While everything that is queued fits here, the inline calls of `mq_inline.h` answer on the spot, in
//! the time that a caller's own list would take. Any other call moves the entries into the queues
//! first ([`settle`]), but for those that only count. The front opens again when
//! the queues are empty ([`reopen`]).
//!
//! Receives and messages of all contexts stand in one array each, in order and without gaps, every entry with
//! its context. Entries join at the end and leave near the start, so an array is used from the left to
//! the right; what is left at its right end moves back to the left, and one that runs empty begins there
//! again. What the inline calls have to check of a context, its size and its promises, is kept for
//! [`MQ_FRONT_CONTEXTS`] of them; others are answered by calls.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr;

use mq_core::mpi::{MpiEnvelope, MpiPattern};

use crate::allocator;
use crate::matching::Matching;
use crate::types::{mq_envelope, mq_pattern};

/// How many receives, or messages, an inline call looks at before it calls.
pub const MQ_FRONT_SCAN: usize = 8;

/// Of how many contexts the front of an engine knows what inline calls check.
pub const MQ_FRONT_CONTEXTS: usize = 16;

/// `mq_handle.slot` and `mq_message.slot` of an entry that was queued in the front.
pub const MQ_FRONT_SLOT: u32 = u32::MAX - 1;

/// How many entries a new array has room for, and at most one that was found too short. Those that stand may
/// take half of it, more if it is not used long.
const LEAST_ROOM: usize = 16;
const MOST_ROOM: usize = 128;

/// How many overflows an array bears after a search that went too far in it, before it gets more room: twice
/// as many each time, between these.
const LEAST_PATIENCE: u32 = 8;
const MOST_PATIENCE: u32 = 1024;

/// An entry in the front of an engine. Not for callers: `mq_inline.h` uses it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_parked {
    /// As in `mq_pattern`.
    pub source: i32,
    /// As in `mq_pattern`; never masked.
    pub tag: i32,
    /// As in `mq_pattern`.
    pub traffic_class: u32,
    /// As in `mq_pattern`.
    pub context: u32,
    /// What the entry's handle holds.
    pub sequence: u64,
    /// Of a message: what `mq_arrive` was told.
    pub bytes: u64,
    /// The caller's receive or message.
    pub cookie: *mut c_void,
}

/// The receives, or the messages, in the front of an engine. Not for callers: `mq_inline.h` uses it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_front_queue {
    /// The array.
    pub start: *mut mq_parked,
    /// The earliest entry; `start` if there is none.
    pub first: *mut mq_parked,
    /// Behind the latest entry.
    pub end: *mut mq_parked,
    /// Behind the room for entries. `MQ_FRONT_SCAN` more belong to the array and stay unused.
    pub limit: *mut mq_parked,
}

/// What the front of an engine knows of a context. Not for callers: `mq_inline.h` uses it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_known {
    /// The context; in a place that knows none, one that belongs elsewhere.
    pub context: u32,
    /// The last rank of the context.
    pub last_rank: u32,
    /// The promises of the context, as in `mq_context_options`.
    pub promises: u32,
}

/// The front of an engine, at its address. Not for callers: `mq_inline.h` uses it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_front {
    /// 1 if nothing is queued but here, and inline calls for known contexts may be answered here.
    pub open: u32,
    /// How many receives are in the queues behind the front, if any context is known.
    pub posted: u32,
    /// How many messages are in the queues behind the front, if any context is known.
    pub unexpected: u32,
    /// Unused.
    pub reserved: u32,
    /// The sequence number of the next entry.
    pub sequence: u64,
    /// The receives.
    pub receives: mq_front_queue,
    /// The messages.
    pub messages: mq_front_queue,
    /// What is known of contexts; context `c` at `(c ^ c >> 4) % MQ_FRONT_CONTEXTS`.
    pub known: [mq_known; MQ_FRONT_CONTEXTS],
}

impl mq_front_queue {
    const NONE: Self = Self {
        start: ptr::null_mut(),
        first: ptr::null_mut(),
        end: ptr::null_mut(),
        limit: ptr::null_mut(),
    };

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        (self.end.addr() - self.first.addr()) / size_of::<mq_parked>()
    }

    /// The entries, earliest first.
    fn entries(self) -> impl Iterator<Item = mq_parked> {
        (0..self.len()).map(move |i| {
            // SAFETY: `first` and `end` are in the memory of the array, and the entries between them were
            // written when they were queued.
            unsafe { self.first.wrapping_add(i).read() }
        })
    }
}

impl mq_front {
    /// A front that leaves everything to the calls.
    pub(crate) const CLOSED: Self = Self {
        open: 0,
        posted: 0,
        unexpected: 0,
        reserved: 0,
        sequence: 0,
        receives: mq_front_queue::NONE,
        messages: mq_front_queue::NONE,
        known: {
            let mut known = [NOT_KNOWN; MQ_FRONT_CONTEXTS];
            let mut place = 0;
            while place < MQ_FRONT_CONTEXTS {
                known[place] = not_known(place);
                place += 1;
            }
            known
        },
    };

    /// A closed front whose entries are numbered from `sequence`.
    pub(crate) const fn numbered_from(sequence: u64) -> Self {
        Self {
            sequence,
            ..Self::CLOSED
        }
    }

    #[inline(always)]
    const fn knows(&self, context: u32) -> bool {
        self.known[place_of(context)].context == context
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.receives.first == self.receives.end && self.messages.first == self.messages.end
    }
}

/// Contexts that are counted, and those whose numbers count in sixteens, have places of their own.
#[inline(always)]
const fn place_of(context: u32) -> usize {
    (context ^ context >> 4) as usize % MQ_FRONT_CONTEXTS
}

const NOT_KNOWN: mq_known = mq_known {
    context: 0,
    last_rank: 0,
    promises: 0,
};

const fn not_known(place: usize) -> mq_known {
    mq_known {
        // Of the contexts below `MQ_FRONT_CONTEXTS` each has the place of its number.
        context: place as u32 ^ 1,
        ..NOT_KNOWN
    }
}

/// The memory of one kind of entries in a front, and how much of it is used.
///
/// Entries that leave in about the order in which they came are never looked for far, and a long array saves all
/// calls for them. Of others the first that is looked for further than [`MQ_FRONT_SCAN`] moves all of them, at
/// the worst of times. So a full array gets more room, but one in which that happened is made as short as searches
/// are, and is given more room only after it has overflowed many times.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    places: Vec<UnsafeCell<mq_parked>>,
    room: usize,
    /// How many overflows more change nothing.
    patience: u32,
    /// What `patience` was last.
    longest: u32,
}

impl Memory {
    fn new() -> Self {
        Self {
            places: places(LEAST_ROOM),
            room: LEAST_ROOM,
            patience: 0,
            longest: LEAST_PATIENCE / 2,
        }
    }

    /// The array, with nothing in it.
    fn empty(&self) -> mq_front_queue {
        let start: *mut mq_parked = self.places.as_ptr().cast_mut().cast();
        mq_front_queue {
            start,
            first: start,
            end: start,
            limit: start.wrapping_add(self.room),
        }
    }

    /// Empties the array whose memory this is, and makes it longer or shorter by what it held.
    fn renew(&mut self, array: &mut mq_front_queue) {
        if 2 * array.len() > self.room && array.end == array.limit {
            match self.patience.checked_sub(1) {
                Some(less) => self.patience = less,
                None => self.grow(),
            }
        } else if array.len() > MQ_FRONT_SCAN {
            self.room = MQ_FRONT_SCAN;
            self.longest = MOST_PATIENCE.min(2 * self.longest);
            self.patience = self.longest;
        }
        *array = self.empty();
    }

    fn grow(&mut self) {
        let room = MOST_ROOM.min(4 * self.room);
        if room + MQ_FRONT_SCAN > self.places.len() {
            let more = places(room);
            if allocator::has_refused() {
                return;
            }
            self.places = more;
        }
        self.room = room;
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.places.len() * size_of::<mq_parked>()
    }
}

fn places(room: usize) -> Vec<UnsafeCell<mq_parked>> {
    let nothing = mq_parked {
        source: 0,
        tag: 0,
        traffic_class: 0,
        context: 0,
        sequence: 0,
        bytes: 0,
        cookie: ptr::null_mut(),
    };
    let places = 0..room + MQ_FRONT_SCAN;
    places.map(|_| UnsafeCell::new(nothing)).collect()
}

/// Gives the front of a new engine its memory.
pub(crate) fn furnish(front: &mut mq_front, matching: &mut Matching) {
    if matching.may_use_front() {
        matching.front_memory = [Memory::new(), Memory::new()];
        front.receives = matching.front_memory[0].empty();
        front.messages = matching.front_memory[1].empty();
    }
}

/// Moves the entries of the front into the queues and closes it.
#[inline]
pub(crate) fn settle(front: &mut mq_front, matching: &mut Matching) {
    if front.open != 0 {
        front.open = 0;
        if !front.is_empty() {
            move_in(front, matching);
        }
    }
}

/// Before an operation on `context`: closes the front. True if it knows the context and had nothing in
/// it, so that [`tell`] is all that is left to do afterwards; else [`reopen`] is.
#[inline(always)]
pub(crate) fn prepare(front: &mut mq_front, matching: &mut Matching, context: u32) -> bool {
    if front.knows(context) && front.is_empty() {
        front.open = 0;
        return true;
    }
    settle(front, matching);
    false
}

#[cold]
#[inline(never)]
fn move_in(front: &mut mq_front, matching: &mut Matching) {
    // Only an open front can have named entries, and it opens with empty queues: the names given
    // before are all stale.
    let mut aliases = core::mem::take(&mut matching.aliases);
    aliases.clear();
    for parked in front.receives.entries() {
        // What the header let in is what the calls would have: it made the same checks.
        let moved = pattern_of(&parked)
            .and_then(|pattern| matching.move_in_receive(pattern, parked.cookie));
        if let Ok(name) = moved {
            aliases.add_receive(parked.sequence, name);
        }
    }
    for parked in front.messages.entries() {
        let moved = envelope_of(&parked)
            .and_then(|envelope| matching.move_in_message(envelope, parked.bytes, parked.cookie));
        if let Ok(name) = moved {
            aliases.add_message(parked.sequence, name);
        }
    }
    matching.aliases = aliases;
    // What was refused until here came from the system; the operation in progress asks for its own.
    allocator::has_refused();
    let [receives, messages] = &mut matching.front_memory;
    receives.renew(&mut front.receives);
    messages.renew(&mut front.messages);
    (front.posted, front.unexpected) = matching.lengths();
}

fn pattern_of(parked: &mq_parked) -> Result<MpiPattern, core::ffi::c_int> {
    let pattern = mq_pattern {
        context: parked.context,
        source: parked.source,
        tag: parked.tag,
        ignore: 0,
        traffic_class: parked.traffic_class,
    };
    pattern.read()
}

fn envelope_of(parked: &mq_parked) -> Result<MpiEnvelope, core::ffi::c_int> {
    let envelope = mq_envelope {
        context: parked.context,
        source: parked.source,
        tag: parked.tag,
        traffic_class: parked.traffic_class,
    };
    envelope.read()
}

/// After an operation on `context`: tells the front what is behind it, and opens it if that is nothing.
#[cold]
#[inline(never)]
pub(crate) fn reopen(front: &mut mq_front, matching: &Matching, context: u32) {
    if matching.may_use_front() {
        if !front.knows(context) {
            learn(front, matching, context);
        }
        tell(front, matching);
    }
}

/// The end of [`reopen`], for a front that knows the context.
#[inline(always)]
pub(crate) const fn tell(front: &mut mq_front, matching: &Matching) {
    let (posted, unexpected) = matching.lengths();
    front.posted = posted;
    front.unexpected = unexpected;
    front.open = (posted | unexpected == 0) as u32;
}

#[cold]
fn learn(front: &mut mq_front, matching: &Matching, context: u32) {
    if let Some((last_rank, promises)) = matching.limits(context) {
        front.known[place_of(context)] = mq_known {
            context,
            last_rank,
            promises,
        };
    }
}

/// A context goes: what the front knows of it is void.
pub(crate) fn forget(front: &mut mq_front, context: u32) {
    if front.knows(context) {
        front.known[place_of(context)] = not_known(place_of(context));
    }
}

/// Before functions of the caller's are called: inline calls of theirs become calls, which are refused.
pub(crate) fn hide(front: &mut mq_front, matching: &mut Matching) {
    settle(front, matching);
    if matching.may_use_front() {
        front.posted = u32::MAX;
        front.unexpected = u32::MAX;
    }
}

/// The end of [`hide`].
pub(crate) const fn show(front: &mut mq_front, matching: &Matching) {
    if matching.may_use_front() {
        tell(front, matching);
    }
}
