//! A way past the queue for a pair of processes that talk often.
//!
//! Nemesis has one box an ordered pair, with a flag that the sender sets and the receiver clears: the line
//! goes to and fro for each message. Here the box is a ring of slots, each two cache lines; a message takes as many as
//! it needs. A slot's first word is the number of the message that begins in it, so that the receiver knows by one
//! compare that the message it waits for has come, and writes nothing into the slot; what it has taken it counts on
//! a line of its own, which the sender reads only when it has filled the ring. One line moves for a message of up to
//! [`LINE_PAYLOAD`] bytes.
//!
//! A message that is longer than a few slots, but not than a cell, is in a cell, which its one slot names: it is seen as soon
//! as a short one, and the cell is its owner's again when the receiver's count has passed the slot. The queue would cost
//! two exchanges more on lines that both write. Between two that answer each other the cell is lent instead: the
//! answer is written into it, by the process that has its lines in its caches (`CellName`).
//!
//! The slots after a message's first keep the number that they had: one that is over, for which nobody waits. So no
//! bytes of a message are ever taken for a number.
//!
//! Numbers are those of the pair over all paths (`Stamp`), which also keeps the order between box and queue: a
//! message in the box is not due before those that went through the queue ahead of it.
#![allow(unsafe_code, reason = "copies to and from shared memory")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one proof covers the accesses of a block"
)]

use core::fmt;
use std::collections::VecDeque;

use crate::cell::CELL_PAYLOAD;
use crate::copy::copy;
use crate::index::{CellId, CellName};
use crate::part::Found;
use crate::place::Line;
use crate::sync::{AtomicU64, Guarded, Ordering};

/// Slots of a box: as many as fill a page.
pub(crate) const SLOTS: u32 = if cfg!(loom) { 3 } else { 30 };

/// Bytes of message that share a line with the message's header.
pub const LINE_PAYLOAD: usize = if cfg!(loom) { 8 } else { 40 };

/// Bytes of message in its first slot.
const FIRST_PAYLOAD: usize = if cfg!(loom) { 8 } else { 104 };

/// Bytes of message in each further slot.
const FURTHER_PAYLOAD: usize = FIRST_PAYLOAD + size_of::<[u64; 2]>();

/// The most slots of a message: of a kilobyte, the queue is as quick.
const MOST_SLOTS: u32 = if cfg!(loom) { 2 } else { 5 };

/// The most bytes of a message in a box. One of more bytes is in a cell, which its slot names.
pub const BOX_PAYLOAD: usize = FIRST_PAYLOAD + (MOST_SLOTS as usize - 1) * FURTHER_PAYLOAD;

/// Slots that a message of so many bytes takes; no more than a box has.
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

    /// Message `sequence` of a pair, with so many bytes. The sequence starts over after 2^48 messages:
    /// ten years of the fastest sender.
    #[inline]
    pub(crate) const fn new(sequence: u64, len: usize) -> Self {
        Self(sequence << Self::LEN_BITS | len as u64)
    }

    /// Whether the slot holds this message.
    #[inline]
    pub(crate) const fn is(self, sequence: u64) -> bool {
        self.0 >> Self::LEN_BITS == sequence << Self::LEN_BITS >> Self::LEN_BITS
    }

    /// Bytes of the message, which a foreign hand may have made any number.
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

/// What is in a slot besides its stamp: a message's header and first bytes, or further bytes.
#[repr(C, align(8))]
struct SlotBody {
    bytes: [u8; FURTHER_PAYLOAD],
}

/// Bytes of a message's header, with which its first slot begins.
const HEADER: usize = size_of::<[u64; 2]>();

/// The word of a body that names a cell.
const NAME: usize = HEADER / size_of::<u64>();

/// A pair of lines of a box. Processors fetch the other line of a pair as well: with a message in each, the receiver
/// takes the next line from the sender before anything is in it, and a message took 83 ns in place of 71.
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
    /// Slots that the receiver has taken.
    taken: Line<AtomicU64>,
    /// As much again, so that the slots fill the page.
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

#[cfg(all(loom, test))]
impl FastBox {
    /// Writes to all slots, as one who gives the memory back may.
    pub(crate) fn wipe(&self) {
        for slot in &self.slots.0 {
            // SAFETY: any bytes are a slot's content; that nobody else touches it is what the model shows.
            #[allow(unsafe_code, reason = "writes to shared memory")]
            slot.body.with_mut(|body| unsafe { body.write_bytes(0, 1) });
        }
    }
}

/// The sender's side of a box, in its own memory.
#[derive(Debug)]
pub(crate) struct Outlet {
    fastbox: Found<FastBox>,
    sent: u64,
    /// Slots that are known to be empty.
    room: u32,
    next: u32,
    /// Cells that slots name which are not known to be taken, in the order of the slots.
    named: VecDeque<Named>,
}

/// A cell that a slot names.
#[derive(Debug)]
struct Named {
    cell: CellId,
    /// Slots sent, with that one.
    sent: u64,
}

/// The receiver's side of a box, in its own memory.
#[derive(Debug)]
pub(crate) struct Inlet {
    fastbox: Found<FastBox>,
    /// The slot in which the next message by this way begins.
    slot: Found<Slot>,
    taken: u64,
    next: u32,
}

impl Outlet {
    /// The side of a box that nothing has been sent through.
    pub(crate) fn new(fastbox: Found<FastBox>) -> Self {
        Self {
            fastbox,
            sent: 0,
            room: SLOTS,
            next: 0,
            named: VecDeque::new(),
        }
    }

    /// Whether there is room for a message of so many bytes, [`BOX_PAYLOAD`] at most.
    ///
    /// # Cost
    /// Nothing shared, but when the ring has gone round: then one load of the receiver's count.
    #[inline(always)]
    pub(crate) fn has_room(&mut self, len: usize) -> bool {
        slots_of(len) <= self.room || self.has_room_now(len)
    }

    #[cold]
    #[inline(never)]
    fn has_room_now(&mut self, len: usize) -> bool {
        // CREDIT (acquire): the receiver is done with the slots that it counts.
        let taken = self.fastbox.taken.0.load(Ordering::Acquire);
        // A count that no receiver writes frees nothing.
        let full = self.sent.wrapping_sub(taken).min(u64::from(SLOTS));
        self.room = SLOTS - full as u32;
        slots_of(len) <= self.room
    }

    /// Writes a message for which there is room, which nobody sees before it is [published](Self::publish).
    #[inline(always)]
    pub(crate) fn fill(&self, header: [u64; 2], message: &[u8]) {
        debug_assert!(slots_of(message.len()) <= self.room);
        let here = message.len().min(FIRST_PAYLOAD);
        self.slot(self.next).body.with_mut(|body| {
            let body = body.cast::<u8>();
            // SAFETY: there is room, so that the slot is empty and only the sender touches its body until the
            // message is published; header and `here` bytes are no more than a body, which begins at a word.
            unsafe {
                body.cast::<[u64; 2]>().write(header);
                copy(message.as_ptr(), body.add(HEADER), here);
            }
        });
        if message.len() > FIRST_PAYLOAD {
            self.fill_further(message);
        }
    }

    #[inline(never)]
    fn fill_further(&self, message: &[u8]) {
        let mut at = self.next;
        for part in message[FIRST_PAYLOAD..].chunks(FURTHER_PAYLOAD) {
            at = after(at, 1);
            self.slot(at).body.with_mut(|body| {
                // SAFETY: the slot is one of those that the message has room in, and the part no longer than a
                // body.
                unsafe { copy_part(part.as_ptr(), body.cast(), part.len()) }
            });
        }
    }

    /// As [`fill`](Self::fill), for a message that is in the cell of this name.
    #[inline]
    pub(crate) fn fill_with_name(&self, header: [u64; 2], name: CellName) {
        debug_assert!(self.room > 0);
        self.slot(self.next).body.with_mut(|body| {
            let body = body.cast::<u64>();
            // SAFETY: as in `fill`; header and name are three words.
            unsafe {
                body.cast::<[u64; 2]>().write(header);
                body.add(NAME).write(name.0);
            }
        });
    }

    /// A message was published that is in this cell.
    #[inline]
    pub(crate) fn named(&mut self, cell: CellId) {
        self.filled(0);
        let sent = self.sent;
        self.named.push_back(Named { cell, sent });
    }

    /// A cell that the receiver is done with, if there is one.
    #[inline]
    pub(crate) fn take_back(&mut self) -> Option<CellId> {
        if !self.has_cell() {
            return None;
        }
        self.named.pop_front().map(|named| named.cell)
    }

    /// Whether the receiver is done with a cell.
    #[inline]
    pub(crate) fn has_cell(&self) -> bool {
        let Some(first) = self.named.front() else {
            return false;
        };
        // CREDIT (acquire): the receiver is done with the cells that are named in the slots it counts.
        let taken = self.fastbox.taken.0.load(Ordering::Acquire);
        // A count that no receiver writes is either small enough or frees nothing.
        self.sent.wrapping_sub(taken) <= self.sent - first.sent
    }

    /// Shows the receiver the message that was [written](Self::fill), of so many bytes.
    #[inline(always)]
    pub(crate) fn publish(&self, sequence: u64, len: usize) {
        self.slot(self.next).publish(Stamp::new(sequence, len));
    }

    /// A message of so many bytes was published.
    #[inline(always)]
    pub(crate) fn filled(&mut self, len: usize) {
        let slots = slots_of(len);
        self.sent += u64::from(slots);
        self.room -= slots;
        self.next = after(self.next, slots);
    }

    #[inline(always)]
    fn slot(&self, number: u32) -> &Slot {
        self.fastbox.slot(number)
    }
}

impl Inlet {
    /// The side of a box that nothing has been received through.
    pub(crate) fn new(fastbox: Found<FastBox>) -> Self {
        let slot = fastbox.part(|fastbox| fastbox.slot(0));
        Self {
            fastbox,
            slot,
            taken: 0,
            next: 0,
        }
    }

    /// The length of the message of this number, if it has come.
    #[inline(always)]
    pub(crate) fn holds(&self, sequence: u64) -> Option<u32> {
        let stamp = self.slot.stamp();
        // A length that no sender writes is cut to what a cell takes.
        stamp
            .is(sequence)
            .then(|| stamp.len().min(CELL_PAYLOAD) as u32)
    }

    /// The header of a message that has come and was not given back.
    #[inline(always)]
    pub(crate) fn header(&self) -> [u64; 2] {
        // SAFETY: the message is published and not yet given back: the sender does not touch it. A body begins at
        // a word.
        self.slot
            .body
            .with(|body| unsafe { body.cast::<[u64; 2]>().read() })
    }

    /// The name of the cell that such a message is in, if it is longer than [`BOX_PAYLOAD`].
    #[inline]
    pub(crate) fn name(&self) -> CellName {
        // SAFETY: as in `header`.
        self.slot
            .body
            .with(|body| unsafe { CellName(body.cast::<u64>().add(NAME).read()) })
    }

    /// Copies the first bytes of such a message out; it has as many, and is in slots.
    #[inline(always)]
    pub(crate) fn copy_to(&self, into: &mut [u8]) {
        let here = into.len().min(FIRST_PAYLOAD);
        self.slot.body.with(|body| {
            // SAFETY: as in `header`; a body has the bytes, and so has `into`.
            unsafe { copy(body.cast::<u8>().add(HEADER), into.as_mut_ptr(), here) }
        });
        if into.len() > FIRST_PAYLOAD {
            self.copy_further(into);
        }
    }

    #[inline(never)]
    fn copy_further(&self, into: &mut [u8]) {
        let mut at = self.next;
        for part in into[FIRST_PAYLOAD..].chunks_mut(FURTHER_PAYLOAD) {
            at = after(at, 1);
            self.fastbox.slot(at).body.with(|body| {
                // SAFETY: the slot is the message's, as in `header`; the part is no longer than a body.
                unsafe { copy_part(body.cast(), part.as_mut_ptr(), part.len()) }
            });
        }
    }

    /// The message of so many bytes has been read.
    #[inline(always)]
    pub(crate) fn emptied(&mut self, len: u32) {
        let slots = slots_of(len as usize);
        self.taken += u64::from(slots);
        self.next = after(self.next, slots);
        let next = self.next;
        self.slot = self.fastbox.part(|fastbox| fastbox.slot(next));
        // CREDIT (release): the reads of the slots come before the sender's next writes.
        self.fastbox.taken.0.store(self.taken, Ordering::Release);
    }
}

/// Copies a whole body at once, or a part of one.
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

/// The slot that comes so many after another.
#[inline(always)]
const fn after(slot: u32, count: u32) -> u32 {
    let next = slot + count;
    if next >= SLOTS { next - SLOTS } else { next }
}
