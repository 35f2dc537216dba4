//! A mailbox that bypasses the queue, for a pair of processes that talk often.
//!
//! Nemesis has one box per ordered pair, with a flag that the sender sets and the receiver clears:
//! the line goes back and forth for each message. Here the box is a ring of slots of two cache
//! lines each; a message takes as many as it needs. A slot's first word is the number of the
//! message that begins in it: one compare tells the receiver that the message it waits for has
//! come, and the receiver writes nothing into the slot. It counts what it has taken on a separate
//! line, which the sender reads only when it has filled the ring. One line moves for a message of
//! up to [`LINE_PAYLOAD`] bytes.
//!
//! A message longer than a few slots, but not longer than a cell, is in a cell, which its one slot
//! names. It is seen as soon as a short one, and the cell returns to its owner when the receiver's
//! count has passed the slot. The queue would cost two more exchanges on lines that both write.
//! Between two processes that answer each other the cell is lent instead: the answer is written
//! into it, by the process that has its lines in its caches (`CellName`).
//!
//! The slots after a message's first keep the number that they had, that of a past message, for
//! which no process waits. So no bytes of a message are ever taken for a number.
//!
//! Numbers count the pair's messages over all paths (`Stamp`), which also keeps the order between
//! box and queue: a message in the box is not due before those that went through the queue ahead of
//! it.
#![allow(unsafe_code, reason = "copies to and from shared memory")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one proof covers the accesses of a block"
)]

mod full;
mod inlet;
mod outlet;

use core::fmt;

pub(crate) use self::full::LONGEST_WAIT;
pub(crate) use self::inlet::Inlet;
pub(crate) use self::outlet::Outlet;
use crate::copy::copy;
use crate::place::Line;
use crate::sync::{AtomicU64, Guarded, Ordering};

/// Slots of a box: as many as fill a page.
pub(crate) const SLOTS: u32 = if cfg!(mq_loom) { 3 } else { 30 };

/// Bytes of a line; a slot has two.
const LINE: usize = size_of::<Slot>() / 2;

/// Bytes of message that share a line with the message's header.
pub const LINE_PAYLOAD: usize = if cfg!(mq_loom) { 8 } else { 40 };

/// Bytes of message in a message's first slot.
const FIRST_PAYLOAD: usize = if cfg!(mq_loom) { 8 } else { 104 };

/// Bytes of message in each further slot.
const FURTHER_PAYLOAD: usize = FIRST_PAYLOAD + size_of::<[u64; 2]>();

/// The most slots of a message: from a kilobyte on, a cell named by a slot is as fast.
const MOST_SLOTS: u32 = if cfg!(mq_loom) { 2 } else { 5 };

/// The most bytes of a message in a box. A longer one is in a cell, which its slot names.
pub const BOX_PAYLOAD: usize = FIRST_PAYLOAD + (MOST_SLOTS as usize - 1) * FURTHER_PAYLOAD;

/// Slots that a message of this many bytes takes; no more than a box has.
#[inline(always)]
const fn slots_of(len: usize) -> u32 {
    if len <= FIRST_PAYLOAD {
        1
    } else {
        1 + (len - FIRST_PAYLOAD).div_ceil(FURTHER_PAYLOAD) as u32
    }
}

/// The first word of a slot: which message is in it, and how long that is. 0 before the first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

impl Stamp {
    const LEN_BITS: u32 = 16;

    /// Message `sequence` of a pair, with this many bytes. The sequence wraps after 2^48 messages:
    /// months of the fastest sender.
    #[inline]
    pub(crate) const fn new(sequence: u64, len: usize) -> Self {
        Self(sequence << Self::LEN_BITS | len as u64)
    }

    /// Whether the slot holds this message.
    #[inline]
    pub(crate) const fn is(self, sequence: u64) -> bool {
        self.0 >> Self::LEN_BITS == sequence << Self::LEN_BITS >> Self::LEN_BITS
    }

    /// Bytes of the message; a stray write may have made this any number.
    #[inline]
    pub(crate) const fn len(self) -> usize {
        (self.0 & ((1 << Self::LEN_BITS) - 1)) as usize
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stamp")
            .field("sequence", &(self.0 >> Self::LEN_BITS))
            .field("len", &self.len())
            .finish()
    }
}

/// A slot's content after its stamp: a message's header and first bytes, or further bytes.
#[repr(C, align(8))]
struct SlotBody {
    bytes: [u8; FURTHER_PAYLOAD],
}

/// Bytes of a message's header, with which its first slot begins.
const HEADER: usize = size_of::<[u64; 2]>();

/// The word of a body that names a cell.
const NAME: usize = HEADER / size_of::<u64>();

/// A pair of lines of a box. Processors also fetch the other line of a pair: with a message in
/// each, the receiver takes the next line from the sender before anything is in it, and a message
/// took 83 ns instead of 71.
#[repr(C, align(128))]
pub(crate) struct Slot {
    stamp: AtomicU64,
    body: Guarded<SlotBody>,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            stamp: AtomicU64::new(0),
            body: Guarded::new(SlotBody {
                bytes: [0; FURTHER_PAYLOAD],
            }),
        }
    }
}

impl Slot {
    /// Shows the receiver a message that is complete.
    #[inline]
    pub(crate) fn publish(&self, stamp: Stamp) {
        // SLOT (release): the body, to the receiver that sees the stamp.
        self.stamp.store(stamp.0, Ordering::Release);
    }

    /// What the slot holds.
    #[inline]
    pub(crate) fn stamp(&self) -> Stamp {
        // SLOT (acquire).
        Stamp(self.stamp.load(Ordering::Acquire))
    }
}

/// The box of an ordered pair of processes: one page.
#[repr(C, align(4096))]
#[derive(Default)]
pub(crate) struct FastBox {
    /// Number of slots that the receiver has taken.
    taken: Line<AtomicU64>,
    /// Padding of the same size, so that the slots fill the page.
    _apart: Line<u8>,
    slots: Slots,
}

/// An array that has a default.
#[repr(transparent)]
struct Slots([Slot; SLOTS as usize]);

impl Default for Slots {
    fn default() -> Self {
        Self(core::array::from_fn(|_| Slot::default()))
    }
}

impl FastBox {
    #[inline(always)]
    fn slot(&self, number: u32) -> &Slot {
        &self.slots.0[number as usize]
    }
}

#[cfg(not(mq_loom))]
impl FastBox {
    /// The words of a box that the other side relies on, and where they are: see `words`.
    pub(crate) fn words() -> impl Iterator<Item = (&'static str, usize)> {
        use core::mem::offset_of;
        let slots = (0..SLOTS as usize).map(|slot| slot * size_of::<Slot>());
        let of_slots = slots.flat_map(|slot| {
            let slot = offset_of!(FastBox, slots) + slot;
            let name = offset_of!(Slot, body) + NAME * size_of::<u64>();
            [
                ("stamps of boxes", slot + offset_of!(Slot, stamp)),
                ("names of cells in boxes", slot + name),
            ]
        });
        of_slots.chain([("counts of boxes", offset_of!(FastBox, taken))])
    }
}

#[cfg(all(mq_loom, test))]
impl FastBox {
    /// Writes to all slots, as a process that gives the memory back may.
    pub(crate) fn wipe(&self) {
        for slot in &self.slots.0 {
            // SAFETY: any bytes are a slot's content; the model shows that nothing else touches it.
            #[allow(unsafe_code, reason = "writes to shared memory")]
            slot.body.with_mut(|body| unsafe { body.write_bytes(0, 1) });
        }
    }
}

/// Copies a whole body in one go, or a part of one.
///
/// # Safety
/// As for [`copy`].
#[inline(always)]
unsafe fn copy_part(from: *const u8, to: *mut u8, len: usize) {
    if len == FURTHER_PAYLOAD {
        // SAFETY: the caller's. The length is known here, and no function is called.
        unsafe { core::ptr::copy_nonoverlapping(from, to, FURTHER_PAYLOAD) };
    } else {
        // SAFETY: the caller's.
        unsafe { copy(from, to, len) };
    }
}

impl FastBox {
    /// The lines of a message of this many bytes that begins in a slot, except the first.
    #[inline(always)]
    fn further_lines(&self, begins: u32, len: usize, mut of_each: impl FnMut(*const u8)) {
        for number in 0..slots_of(len) {
            let slot = core::ptr::from_ref(self.slot(after(begins, number))).cast::<u8>();
            if number > 0 {
                of_each(slot);
            }
            of_each(slot.wrapping_add(LINE));
        }
    }
}

/// The slot that is `count` slots after another.
#[inline(always)]
const fn after(slot: u32, count: u32) -> u32 {
    let next = slot + count;
    if next >= SLOTS { next - SLOTS } else { next }
}
