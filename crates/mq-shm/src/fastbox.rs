//! A way past the queue for a pair of processes that talk often.
//!
//! Nemesis has one box an ordered pair, with a flag that the sender sets and the receiver clears: the line
//! goes to and fro for each message. Here the box is a ring of slots. A slot's first word is the number
//! of the message in it, so that the receiver knows by one compare that the message it waits for has come,
//! and writes nothing into the slot; what it has taken it counts on a line of its own, which the sender reads
//! only when it has filled the ring. One line moves for a message of up to [`LINE_PAYLOAD`] bytes.
//!
//! Numbers are those of the pair over all paths (`Stamp`), which also keeps the order between box and queue: a
//! message in the box is not due before those that went through the queue ahead of it.

use core::fmt;

use crate::part::Found;
use crate::place::Line;
use crate::sync::{AtomicU64, Guarded, Ordering};

/// Slots of a box.
pub(crate) const SLOTS: u32 = if cfg!(loom) { 2 } else { 15 };

/// Bytes of message in a slot, which has 256.
pub const BOX_PAYLOAD: usize = if cfg!(loom) { 8 } else { 232 };

/// Bytes of message that share the first line of a slot with its header.
pub const LINE_PAYLOAD: usize = 40;

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

/// What is in a slot besides its stamp.
#[repr(C)]
pub(crate) struct SlotBody {
    pub(crate) header: [u64; 2],
    pub(crate) payload: [u8; BOX_PAYLOAD],
}

/// Room for a message.
#[repr(C)]
pub(crate) struct Slot {
    stamp: AtomicU64,
    pub(crate) body: Guarded<SlotBody>,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            stamp: AtomicU64::new(0),
            body: Guarded::new(SlotBody {
                header: [0; 2],
                payload: [0; BOX_PAYLOAD],
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
#[repr(C, align(128))]
#[derive(Default)]
pub(crate) struct FastBox {
    /// Messages that the receiver has taken.
    taken: Line<AtomicU64>,
    /// As much again, so that slots begin at multiples of their size.
    _apart: Line<u8>,
    slots: [Slot; SLOTS as usize],
}

/// The sender's side of a box, in its own memory.
#[derive(Debug)]
pub(crate) struct Outlet {
    fastbox: Found<FastBox>,
    sent: u64,
    /// Slots that are known to be empty.
    room: u32,
    next: u32,
}

/// The receiver's side of a box, in its own memory.
#[derive(Debug)]
pub(crate) struct Inlet {
    fastbox: Found<FastBox>,
    /// The slot that the next message by this way comes in.
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
        }
    }

    /// The slot for the next message, if the box is not full.
    ///
    /// # Cost
    /// Nothing shared, but when the ring has gone round: then one load of the receiver's count.
    #[inline]
    pub(crate) fn slot(&mut self) -> Option<&Slot> {
        if self.room == 0 {
            self.refresh();
            if self.room == 0 {
                return None;
            }
        }
        self.fastbox.slots.get(self.next as usize)
    }

    #[cold]
    fn refresh(&mut self) {
        // CREDIT (acquire): the receiver is done with the slots that it counts.
        let taken = self.fastbox.taken.0.load(Ordering::Acquire);
        // A count that no receiver writes frees nothing.
        let full = self.sent.wrapping_sub(taken).min(u64::from(SLOTS));
        self.room = SLOTS - full as u32;
    }

    /// The slot was filled and published.
    #[inline]
    pub(crate) fn filled(&mut self) {
        self.sent += 1;
        self.room -= 1;
        self.next = after(self.next);
    }
}

impl Inlet {
    /// The side of a box that nothing has been received through.
    pub(crate) fn new(fastbox: Found<FastBox>) -> Self {
        let slot = fastbox.part(|fastbox| &fastbox.slots[0]);
        Self {
            fastbox,
            slot,
            taken: 0,
            next: 0,
        }
    }

    /// The slot that the next message by this way comes in.
    #[inline]
    pub(crate) fn slot(&self) -> &Slot {
        &self.slot
    }

    /// The message in the slot has been read.
    #[inline]
    pub(crate) fn emptied(&mut self) {
        self.taken += 1;
        self.next = after(self.next);
        let next = self.next as usize % SLOTS as usize;
        self.slot = self.fastbox.part(|fastbox| &fastbox.slots[next]);
        // CREDIT (release): the reads of the slot come before the sender's next writes.
        self.fastbox.taken.0.store(self.taken, Ordering::Release);
    }
}

#[inline]
const fn after(slot: u32) -> u32 {
    if slot + 1 == SLOTS { 0 } else { slot + 1 }
}
