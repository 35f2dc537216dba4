//! The front's layout in memory, which `mq_inline.h` uses too.

use core::ffi::c_void;
use core::ptr;

use crate::types::{MQ_ANY_SOURCE, MQ_ANY_TAG};

/// The layout of the front and what its words mean. A caller that was compiled with another layout finds the
/// front closed, and all its inline calls become real calls: each compares the words that hold the state,
/// `open`, `no_receives` and `no_messages`, with its own number, and those stay where they are in every layout.
// Raise this with any change to the structs here, to what a field holds, or to what `mq_inline.h` leaves in them.
pub const MQ_FRONT_LAYOUT: u32 = 1;

/// As [`mq_front::open`]: entries are moving into the queues, some with each call. No layout has this number, so
/// every inline call is a real call.
pub(super) const MOVING: u32 = u32::MAX;

/// How many receives, or messages, a call looks at in the front before it moves them into the queues. A call
/// may look at all of them if, since the last call that did, a sixteenth as many entries plus twelve, or 268, were
/// queued in the front; in addition, four receives or probes with a wildcard may look at all messages.
pub const MQ_FRONT_SCAN: usize = 48;

/// For how many contexts an engine's front knows what inline calls check.
pub const MQ_FRONT_CONTEXTS: usize = 16;

/// `mq_handle.slot` and `mq_message_handle.slot` of an entry that was queued in the front.
pub const MQ_FRONT_SLOT: u32 = u32::MAX - 1;

/// What a search compares of a message: its source in the upper half, its tag in the lower.
#[inline(always)]
pub(super) const fn bits_of(source: i32, tag: i32) -> u64 {
    (source.cast_unsigned() as u64) << 32 | tag.cast_unsigned() as u64
}

/// The bits of the tag that must be 0 for a receive of any tag: any tag means 0 or above.
const CARE_OF_ANY_TAG: u32 = 1 << 31;

/// What a receive wants, and the bits that matter to it.
#[inline(always)]
pub(super) const fn wanted_by(source: i32, tag: i32) -> (u64, u64) {
    let care_of_source = if source == MQ_ANY_SOURCE { 0 } else { u32::MAX };
    let (tag, care_of_tag) = if tag == MQ_ANY_TAG {
        (0, CARE_OF_ANY_TAG)
    } else {
        (tag, u32::MAX)
    };
    let care = (care_of_source as u64) << 32 | care_of_tag as u64;
    (bits_of(source, tag), care)
}

/// An entry in the front of an engine. Not for callers: `mq_inline.h` uses it.
///
/// All words have one size, and are written and copied as such: a processor that loads what was stored in
/// smaller pieces waits until all of them are in its cache, longer than a search takes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_parked {
    /// The source in the upper half, as in `mq_pattern`, the tag in the lower: 0 for a wildcard.
    pub bits: u64,
    /// For a receive: the bits that a message must have in common with it. For a message: its length in
    /// bytes, as passed to `mq_arrive`.
    pub care: u64,
    /// The context in the lower half, the traffic class in the upper.
    pub place: u64,
    /// What the entry's handle holds.
    pub sequence: u64,
    /// The caller's receive or message.
    pub cookie: *mut c_void,
}

impl mq_parked {
    pub(super) const fn source(&self) -> i32 {
        ((self.bits >> 32) as u32).cast_signed()
    }

    /// For a message.
    pub(super) const fn tag(&self) -> i32 {
        (self.bits as u32).cast_signed()
    }

    /// For a receive.
    pub(super) const fn tag_or_any(&self) -> i32 {
        if self.care as u32 == CARE_OF_ANY_TAG {
            MQ_ANY_TAG
        } else {
            self.tag()
        }
    }

    pub(super) const fn context(&self) -> u32 {
        self.place as u32
    }

    pub(super) const fn traffic_class(&self) -> u32 {
        (self.place >> 32) as u32
    }
}

/// The receives, or the messages, in the front of an engine. Not for callers: `mq_inline.h` uses
/// it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_front_queue {
    /// The array.
    pub start: *mut mq_parked,
    /// The earliest entry; `start` if there is none.
    pub first: *mut mq_parked,
    /// One past the latest entry.
    pub end: *mut mq_parked,
    /// One past the room for entries.
    pub limit: *mut mq_parked,
}

impl mq_front_queue {
    pub(super) const NONE: Self = Self {
        start: ptr::null_mut(),
        first: ptr::null_mut(),
        end: ptr::null_mut(),
        limit: ptr::null_mut(),
    };

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        (self.end.addr() - self.first.addr()) / size_of::<mq_parked>()
    }

    /// Whether there is no room for one more, wherever the entries are: when [`add`](Self::add) refuses.
    pub(super) fn is_full(&self) -> bool {
        self.end == self.limit
            && self.first.addr() - self.start.addr() < self.limit.addr() - self.first.addr()
    }

    /// The entries, earliest first.
    pub(super) fn entries(self) -> impl Iterator<Item = mq_parked> {
        (0..self.len()).map(move |i| {
            // SAFETY: `first` and `end` are in the memory of the array, and the entries between
            // them were written when they were queued.
            unsafe { self.first.wrapping_add(i).read() }
        })
    }
}

/// What an engine's front knows about a context. Not for callers: `mq_inline.h` uses it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_known {
    /// The context; in an unused place, a context that belongs elsewhere.
    pub context: u32,
    /// The last rank of the context.
    pub last_rank: u32,
    /// The promises of the context, as in `mq_context_options`, without `MQ_ALLOW_OVERTAKING`, which no call checks.
    pub promises: u32,
}

/// The front of an engine, at its address. Not for callers: `mq_inline.h` uses it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_front {
    /// `MQ_FRONT_LAYOUT` if everything queued is here, and calls for known contexts may be answered here; else
    /// 0, or 2^32 - 1 while entries are moving into the queues.
    pub open: u32,
    /// `MQ_FRONT_LAYOUT` if no receives are in the queues behind the front, and no entries are moving; else 0.
    pub no_receives: u32,
    /// `MQ_FRONT_LAYOUT` if no messages are in the queues behind the front, and no entries are moving; else 0.
    pub no_messages: u32,
    /// 0.
    pub reserved: [u32; 3],
    /// The sequence number of the next entry.
    pub sequence: u64,
    /// The receives.
    pub receives: mq_front_queue,
    /// The messages.
    pub messages: mq_front_queue,
    /// What is known about contexts; context `c` at `(c + (c >> 4) * 2) % MQ_FRONT_CONTEXTS`.
    pub known: [mq_known; MQ_FRONT_CONTEXTS],
}

impl mq_front {
    /// A front that leaves everything to the queues.
    pub(crate) const CLOSED: Self = Self {
        open: 0,
        no_receives: 0,
        no_messages: 0,
        reserved: [0; 3],
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
    pub(super) const fn known(&self, context: u32) -> Option<&mq_known> {
        let known = &self.known[place_of(context)];
        if known.context == context {
            Some(known)
        } else {
            None
        }
    }

    /// The contexts that are known.
    pub(super) fn known_contexts(&self) -> impl Iterator<Item = u32> {
        let contexts = self.known.iter().map(|known| known.context).enumerate();
        // An unused place holds a context that belongs elsewhere.
        let known = contexts.filter(|&(place, context)| place_of(context) == place);
        known.map(|(_, context)| context)
    }

    /// Records what is known about a context, in place of one that shares its place.
    pub(super) const fn learn(&mut self, known: mq_known) {
        self.known[place_of(known.context)] = known;
    }

    /// Removes what is known about a context.
    pub(super) const fn forget(&mut self, context: u32) {
        if self.known(context).is_some() {
            let place = place_of(context);
            self.known[place] = not_known(place);
        }
    }

    /// Whether everything queued is here, and calls may be answered here.
    pub(super) const fn is_open(&self) -> bool {
        self.open == MQ_FRONT_LAYOUT
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.receives.first == self.receives.end && self.messages.first == self.messages.end
    }
}

/// Few contexts that are used together share a place: sixteen numbered from 0 share none, nor do eight
/// communicators that each have two adjacent numbers, in sixteens (MPICH: messages and collectives), nor the
/// world and the first communicators after it together with those of collectives within a node and between
/// nodes.
#[inline(always)]
const fn place_of(context: u32) -> usize {
    context.wrapping_add((context >> 4) * 2) as usize % MQ_FRONT_CONTEXTS
}

const NOT_KNOWN: mq_known = mq_known {
    context: 0,
    last_rank: 0,
    promises: 0,
};

const fn not_known(place: usize) -> mq_known {
    mq_known {
        // The contexts below `MQ_FRONT_CONTEXTS` each have the place of their number.
        context: place as u32 ^ 1,
        ..NOT_KNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    /// Any change to one of these must raise the number.
    #[test]
    fn the_layout_is_that_of_its_number() {
        let parked = [
            offset_of!(mq_parked, bits),
            offset_of!(mq_parked, care),
            offset_of!(mq_parked, place),
            offset_of!(mq_parked, sequence),
            offset_of!(mq_parked, cookie),
            size_of::<mq_parked>(),
        ];
        let queue = [
            offset_of!(mq_front_queue, start),
            offset_of!(mq_front_queue, first),
            offset_of!(mq_front_queue, end),
            offset_of!(mq_front_queue, limit),
        ];
        let known = [
            offset_of!(mq_known, context),
            offset_of!(mq_known, last_rank),
            offset_of!(mq_known, promises),
            size_of::<mq_known>(),
        ];
        let front = [
            offset_of!(mq_front, sequence),
            offset_of!(mq_front, receives),
            offset_of!(mq_front, messages),
            offset_of!(mq_front, known),
            size_of::<mq_front>(),
        ];
        // The last of them is what inline calls compare with: a library that knows fewer classes could not have
        // what they queue.
        let constants = (
            MQ_FRONT_SCAN,
            MQ_FRONT_CONTEXTS,
            MQ_FRONT_SLOT,
            crate::class::MQ_CLASS_END,
        );
        assert_eq!(MQ_FRONT_LAYOUT, 1, "these are the offsets of layout 1");
        let inline = include_str!("../../include/mq_inline.h");
        let theirs = format!("#define MQ_INLINE_LAYOUT {MQ_FRONT_LAYOUT}\n");
        assert!(inline.contains(&theirs), "mq_inline.h knows another");
        assert_eq!(parked, [0, 8, 16, 24, 32, 40]);
        assert_eq!(queue, [0, 8, 16, 24]);
        assert_eq!(known, [0, 4, 8, 12]);
        assert_eq!(front, [24, 32, 64, 96, 288]);
        assert_eq!(constants, (48, 16, 0xffff_fffe, 19));
    }

    fn known(context: u32) -> mq_known {
        mq_known {
            context,
            ..NOT_KNOWN
        }
    }

    #[test]
    fn contexts_that_libraries_use_together_are_known_together() {
        let counted: Vec<u32> = (0..16).collect();
        let communicators = (0..8).flat_map(|i| [16 * i, 16 * i + 1]).collect();
        // The first communicators that a user of MPICH makes are 3, 4 and 5.
        let with_the_world = |other: u32| {
            let numbers = [0, 16 * other].into_iter();
            numbers
                .flat_map(|number| [0, 1, 3, 5].map(|of| number + of))
                .collect()
        };
        let [third, fourth, fifth] = [3, 4, 5].map(with_the_world);
        for contexts in [counted, communicators, third, fourth, fifth] {
            let mut front = mq_front::CLOSED;
            contexts
                .iter()
                .for_each(|&context| front.learn(known(context)));
            for &context in &contexts {
                assert!(front.known(context).is_some(), "{context} of {contexts:?}");
            }
        }
    }

    #[test]
    fn a_context_gives_way_to_one_that_shares_its_place() {
        let mut front = mq_front::CLOSED;
        assert!((0..64).all(|context| front.known(context).is_none()));
        assert_eq!(place_of(2), place_of(16));
        let is_known = |front: &mq_front| [2, 16].map(|context| front.known(context).is_some());
        front.learn(known(2));
        assert_eq!(is_known(&front), [true, false]);
        front.learn(known(16));
        assert_eq!(is_known(&front), [false, true]);
        front.forget(2);
        assert_eq!(is_known(&front), [false, true]);
        front.forget(16);
        assert_eq!(is_known(&front), [false, false]);
        assert_eq!(place_of(u32::MAX), 13);
    }

    /// In every layout, whatever its number.
    #[test]
    fn the_state_is_where_all_layouts_look_for_it() {
        let state = [
            offset_of!(mq_front, open),
            offset_of!(mq_front, no_receives),
            offset_of!(mq_front, no_messages),
        ];
        assert_eq!(state, [0, 4, 8]);
    }
}
