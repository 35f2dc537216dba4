//! The sender's side of a fastbox.
#![allow(unsafe_code, reason = "copies to and from shared memory")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one proof covers the accesses of a block"
)]

use core::time::Duration;
use std::collections::VecDeque;
use std::time::Instant;

use super::full::Waits;
use super::{
    FIRST_PAYLOAD, FURTHER_PAYLOAD, FastBox, HEADER, LINE_PAYLOAD, NAME, SLOTS, Slot, Stamp, after,
    copy_part, slots_of,
};
use crate::copy::{copy, take_line};
use crate::ids::{CellId, CellName};
use crate::segment_ref::SegmentRef;
use crate::sync::Ordering;

/// A line is taken for writing this many slots ahead.
const AHEAD: u32 = if cfg!(mq_loom) { 1 } else { 3 };

/// The sender's side of a box, in private memory.
#[derive(Debug)]
pub(crate) struct Outlet {
    fastbox: SegmentRef<FastBox>,
    /// The slot in which the next message begins.
    slot: SegmentRef<Slot>,
    sent: u64,
    /// Slots that are known to be empty.
    room: u32,
    next: u32,
    rare: Box<Rare>,
}

/// What a message of one line does not need while there is room: apart, so that peers are close together.
#[derive(Debug)]
struct Rare {
    /// There was no room at the last look: only then does a message wait.
    was_full: bool,
    waits: Waits,
    /// Cells named in slots that are not known to be taken, in the order of the slots.
    named: VecDeque<Named>,
}

/// A cell that a slot names.
#[derive(Debug)]
struct Named {
    cell: CellId,
    /// Slots sent, including that one.
    sent: u64,
}

impl Outlet {
    /// A side of a box through which nothing has been sent.
    pub(crate) fn new(fastbox: SegmentRef<FastBox>) -> Self {
        Self {
            fastbox,
            slot: fastbox.part(|fastbox| fastbox.slot(0)),
            sent: 0,
            room: SLOTS,
            next: 0,
            rare: Box::new(Rare {
                was_full: false,
                waits: Waits::new(),
                named: VecDeque::new(),
            }),
        }
    }

    /// Whether there is room for a message of this many bytes, at most [`BOX_PAYLOAD`](super::BOX_PAYLOAD).
    ///
    /// # Cost
    /// No shared access, except when the ring has gone round: then one load of the receiver's count. If a
    /// message waits for room, the clock says whether it is time for another.
    #[inline(always)]
    pub(crate) fn has_room(&mut self, len: usize) -> bool {
        slots_of(len) <= self.room || self.has_room_now(len)
    }

    #[cold]
    #[inline(never)]
    fn has_room_now(&mut self, len: usize) -> bool {
        if self.rare.was_full {
            return self.has_room_again(len);
        }
        let has_room = self.look(len);
        self.rare.was_full = !has_room;
        has_room
    }

    /// The same for a box that was full at the last look.
    #[inline(never)]
    fn has_room_again(&mut self, len: usize) -> bool {
        if self.rare.waits.is_too_early(Instant::now) {
            return false;
        }
        let has_room = self.look(len);
        self.rare.waits.looked(has_room);
        self.rare.was_full = !has_room;
        has_room
    }

    /// Looks how much the receiver has taken.
    #[inline(always)]
    fn look(&mut self, len: usize) -> bool {
        // CREDIT (acquire): the receiver is done with the slots that it counts.
        let taken = self.fastbox.taken.0.load(Ordering::Acquire);
        // A count that no receiver writes frees nothing.
        let full = self.sent.wrapping_sub(taken).min(u64::from(SLOTS));
        self.room = SLOTS - full as u32;
        slots_of(len) <= self.room
    }

    /// Decides for a message for which there is [no room](Self::has_room) whether it waits, given for how long at
    /// most; otherwise it goes through the queue.
    pub(crate) fn decide_to_wait(&mut self, longest: Duration) -> bool {
        self.rare.waits.decide_to_wait(longest, Instant::now)
    }

    /// Writes a message of one line for which there is room, and which stays invisible until it is
    /// [published](Self::publish).
    #[inline(always)]
    pub(crate) fn fill(&self, header: [u64; 2], message: &[u8]) {
        debug_assert!(self.room > 0);
        let here = message.len().min(LINE_PAYLOAD);
        self.slot.body.with_mut(|body| {
            let body = body.cast::<u8>();
            // SAFETY: there is room, so the slot is empty and only the sender touches its body until the
            // message is published; header and `here` bytes are no more than a body, which begins at a word.
            unsafe {
                body.cast::<[u64; 2]>().write(header);
                copy(message.as_ptr(), body.add(HEADER), here);
            }
        });
    }

    /// Like [`fill`](Self::fill), for a message of several lines.
    ///
    /// The first line comes last: the receiver looks at it again and again, and would take it away between its
    /// first bytes and its stamp while other lines have to be fetched in between.
    pub(crate) fn fill_lines(&self, header: [u64; 2], message: &[u8]) {
        debug_assert!(slots_of(message.len()) <= self.room);
        self.fill_further(message);
        self.fill(header, message);
    }

    /// Takes the lines of a message of this many bytes, except the first, for writing, if there is room: the
    /// next one will be as long. The receiver, which looks at the first, would only take it away again.
    pub(crate) fn take_lines(&self, len: usize) {
        if slots_of(len) <= self.room {
            self.fastbox.further_lines(self.next, len, take_line);
        }
    }

    /// Writes what is not in the first line of a message.
    fn fill_further(&self, message: &[u8]) {
        let (first, further) = message.split_at(message.len().min(FIRST_PAYLOAD));
        let second_line = first.get(LINE_PAYLOAD..).unwrap_or_default();
        self.slot.body.with_mut(|body| {
            // SAFETY: as in `fill`; the slot has the bytes of the first part.
            unsafe {
                let to = body.cast::<u8>().add(HEADER + LINE_PAYLOAD);
                copy(second_line.as_ptr(), to, second_line.len());
            }
        });
        let mut at = self.next;
        for part in further.chunks(FURTHER_PAYLOAD) {
            at = after(at, 1);
            self.fastbox.slot(at).body.with_mut(|body| {
                // SAFETY: the slot is one of those that the message has room in, and the part no
                // longer than a body.
                unsafe { copy_part(part.as_ptr(), body.cast(), part.len()) }
            });
        }
    }

    /// Like [`fill`](Self::fill), for a message that is in the cell of this name.
    #[inline]
    pub(crate) fn fill_with_name(&self, header: [u64; 2], name: CellName) {
        debug_assert!(self.room > 0);
        self.slot.body.with_mut(|body| {
            let body = body.cast::<u64>();
            // SAFETY: as in `fill`; header and name are three words.
            unsafe {
                body.cast::<[u64; 2]>().write(header);
                body.add(NAME).write(name.0);
            }
        });
    }

    /// A message in this cell was published.
    #[inline]
    pub(crate) fn named(&mut self, cell: CellId) {
        self.filled(0);
        let sent = self.sent;
        self.rare.named.push_back(Named { cell, sent });
    }

    /// A cell that the receiver is done with, if there is one.
    #[inline]
    pub(crate) fn take_back(&mut self) -> Option<CellId> {
        if !self.has_cell() {
            return None;
        }
        self.rare.named.pop_front().map(|named| named.cell)
    }

    /// Whether slots name any cells that are not known to be taken.
    pub(crate) fn names_any(&self) -> bool {
        !self.rare.named.is_empty()
    }

    /// Whether the receiver is done with a cell.
    #[inline]
    pub(crate) fn has_cell(&self) -> bool {
        let Some(first) = self.rare.named.front() else {
            return false;
        };
        // CREDIT (acquire): the receiver is done with the cells that are named in the slots it
        // counts.
        let taken = self.fastbox.taken.0.load(Ordering::Acquire);
        // A count that no receiver writes is either small enough or frees nothing.
        self.sent.wrapping_sub(taken) <= self.sent - first.sent
    }

    /// Takes the line of a slot some way ahead for writing, for a sender that sends one message after the
    /// other: the line of each comes from the receiver's cache, where it was read a lap ago. Not the line of
    /// the next slot, which the receiver looks at, and so would take back.
    #[inline(always)]
    pub(crate) fn take_ahead(&self) {
        // Not beyond the end: what is there is not the sender's.
        if self.next < SLOTS - AHEAD {
            let ahead = core::ptr::from_ref(&*self.slot).wrapping_add(AHEAD as usize);
            take_line(ahead.cast());
        }
    }

    /// Shows the receiver the message, of this many bytes, that was [written](Self::fill).
    #[inline(always)]
    pub(crate) fn publish(&self, sequence: u64, len: usize) {
        self.slot.publish(Stamp::new(sequence, len));
    }

    /// A message of this many bytes was published.
    #[inline(always)]
    pub(crate) fn filled(&mut self, len: usize) {
        let slots = slots_of(len);
        self.sent += u64::from(slots);
        self.room -= slots;
        self.next = after(self.next, slots);
        let next = self.next;
        self.slot = self.fastbox.part(|fastbox| fastbox.slot(next));
    }
}
