//! The receiver's side of a fastbox.
#![allow(unsafe_code, reason = "copies to and from shared memory")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one proof covers the accesses of a block"
)]

use super::{
    FIRST_PAYLOAD, FURTHER_PAYLOAD, FastBox, HEADER, NAME, Slot, after, copy_part, slots_of,
};
use crate::cell::CELL_PAYLOAD;
use crate::copy::{copy, fetch_line};
use crate::ids::CellName;
use crate::segment_ref::SegmentRef;
use crate::sync::Ordering;

/// The receiver's side of a box, in private memory.
#[derive(Debug)]
pub(crate) struct Inlet {
    fastbox: SegmentRef<FastBox>,
    /// The slot in which the next message through this box begins.
    slot: SegmentRef<Slot>,
    taken: u64,
    next: u32,
}

impl Inlet {
    /// A side of a box through which nothing has been received.
    pub(crate) fn new(fastbox: SegmentRef<FastBox>) -> Self {
        let slot = fastbox.part(|fastbox| fastbox.slot(0));
        Self {
            fastbox,
            slot,
            taken: 0,
            next: 0,
        }
    }

    /// The length of the message with this number, if it has come.
    #[inline(always)]
    pub(crate) fn holds(&self, sequence: u64) -> Option<u32> {
        let stamp = self.slot.stamp();
        // A length that no sender writes is cut to a cell's capacity.
        stamp
            .is(sequence)
            .then(|| stamp.len().min(CELL_PAYLOAD) as u32)
    }

    /// The header of a message that has come and has not been given back.
    #[inline(always)]
    pub(crate) fn header(&self) -> [u64; 2] {
        // SAFETY: within the mapping, where any bytes are words, and a body begins at one. The message is
        // published and not yet given back, so an honest sender does not touch it; volatile, since another may.
        self.slot.body.with(|body| unsafe {
            let words = body.cast::<u64>();
            [words.read_volatile(), words.add(1).read_volatile()]
        })
    }

    /// The name of the cell that such a message is in, if it is longer than
    /// [`BOX_PAYLOAD`](super::BOX_PAYLOAD).
    #[inline]
    pub(crate) fn name(&self) -> CellName {
        // SAFETY: as in `header`.
        let word = self
            .slot
            .body
            .with(|body| unsafe { body.cast::<u64>().add(NAME).read_volatile() });
        CellName(word)
    }

    /// Begins to fetch the lines of a message of this many bytes that has come, all of them before any is read.
    pub(crate) fn fetch_lines(&self, len: usize) {
        self.fastbox.further_lines(self.next, len, fetch_line);
    }

    /// Begins to fetch the line of the message after one of this many bytes that has come. That line is looked
    /// at next anyway, so this takes nothing from the sender that the sender would have kept otherwise.
    #[inline(always)]
    pub(crate) fn fetch_next(&self, len: u32) {
        let next = self.fastbox.slot(after(self.next, slots_of(len as usize)));
        fetch_line(core::ptr::from_ref(next).cast());
    }

    /// Copies the first bytes of such a message out; it has at least as many, and is in slots.
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
                // SAFETY: the slot is the message's, as in `header`; the part is no longer than a
                // body.
                unsafe { copy_part(body.cast(), part.as_mut_ptr(), part.len()) }
            });
        }
    }

    /// The message, of this many bytes, has been read.
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
