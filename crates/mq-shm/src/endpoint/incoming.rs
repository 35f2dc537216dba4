//! A message that has arrived: read in place, and given back.
#![allow(unsafe_code, reason = "reads messages from shared memory")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one proof covers the accesses of a block"
)]

use core::fmt;

use crate::cell::{CELL_PAYLOAD, OPENS_BOX};
use crate::endpoint::Endpoint;
use crate::fastbox::{BOX_PAYLOAD, Inlet};
use crate::ids::{CellId, CellName, Process};
use crate::segment::{Mapped, Memory};
use crate::segment_ref::SegmentRef;
use crate::sleeper;
use crate::steps::{Step, step};

/// A message in shared memory. Dropping it gives the memory back to the sender.
pub struct Incoming<'a, M: Memory = Mapped> {
    pub(super) endpoint: &'a mut Endpoint<M>,
    pub(super) from: Process,
    pub(super) held: Held,
}

/// A message that is next from its sender: in its fastbox; in a cell named there, with this many
/// bytes; or in the next cell of the queue's shadow, as described by [`Endpoint::head`].
#[derive(Debug, Clone, Copy)]
pub(super) enum Held {
    Slot(u32),
    Named(u32),
    Cell,
}

impl Held {
    /// For a message in a fastbox, of this length.
    #[inline(always)]
    pub(super) const fn in_box(len: u32) -> Self {
        if len as usize <= BOX_PAYLOAD {
            Self::Slot(len)
        } else {
            Self::Named(len)
        }
    }
}

impl<M: Memory> Endpoint<M> {
    /// The cell that a slot of the box from a process names.
    fn cell_of(&self, from: Process, name: CellName) -> CellId {
        let lent = self.peers[from.index()].lent;
        match lent {
            Some(cell) if name.is_back() => cell,
            _ => CellId::named(self.memory.geometry(), from, name.number()),
        }
    }

    /// A message has been read, or is not wanted.
    #[inline(always)]
    fn release(&mut self, from: Process, held: Held) {
        let Some(peer) = self.peers.get_mut(from.index()) else {
            return;
        };
        peer.due += 1;
        match (held, &mut peer.inlet) {
            (Held::Slot(len), Some(inlet)) => {
                inlet.emptied(len);
                step(Step::SlotEmptied);
            }
            _ => self.release_cell(from, held),
        }
    }

    #[inline(never)]
    fn release_cell(&mut self, from: Process, held: Held) {
        let peer = &mut self.peers[from.index()];
        if let (Held::Named(_), Some(inlet)) = (held, &mut peer.inlet) {
            let name = inlet.name();
            peer.has_sent_by_name = true;
            if name.is_back() {
                if let Some(cell) = peer.lent.take() {
                    self.pool.came_back(&self.memory, cell);
                }
            } else if name.is_lent() {
                peer.borrowed = Some(CellId::named(self.memory.geometry(), from, name.number()));
            }
            inlet.emptied(0);
            step(Step::SlotEmptied);
            // Its owner may wait for the cell.
            sleeper::wake(&peer.place, self.fences);
            return;
        }
        let Some(cell) = self.inbox.shadow.pop() else {
            return;
        };
        let peer = &mut self.peers[from.index()];
        peer.met = true;
        if self.inbox.head.flags & OPENS_BOX != 0 && peer.inlet.is_none() {
            // SAFETY: the segment lives as long as the endpoint, and does not move.
            let fastbox = unsafe { SegmentRef::at(self.memory.fastbox(from, self.me)) };
            peer.inlet = Some(Inlet::new(fastbox));
            self.inlets.opened(from, peer.wanted > 0);
        }
        step(Step::CellRead);
        peer.place.returns.0.push(cell, self.memory.cell(cell));
        step(Step::CellReturned);
        sleeper::wake(&peer.place, self.fences);
    }
}

impl<M: Memory> Incoming<'_, M> {
    /// The sender.
    #[inline(always)]
    #[must_use]
    pub fn source(&self) -> Process {
        self.from
    }

    /// The header that the sender passed.
    #[inline(always)]
    #[must_use]
    pub fn header(&self) -> [u64; 2] {
        match self.held {
            Held::Slot(_) | Held::Named(_) => self.inlet().map(Inlet::header).unwrap_or_default(),
            Held::Cell => self.endpoint.inbox.head.header,
        }
    }

    /// Bytes of the whole message.
    #[inline(always)]
    #[must_use]
    pub fn total(&self) -> u64 {
        match self.held {
            Held::Slot(len) | Held::Named(len) => u64::from(len),
            Held::Cell => self.endpoint.inbox.head.total,
        }
    }

    /// Bytes of the message in parts that came before this one.
    #[inline(always)]
    #[must_use]
    pub fn offset(&self) -> u64 {
        match self.held {
            Held::Slot(_) | Held::Named(_) => 0,
            Held::Cell => self.endpoint.inbox.head.offset,
        }
    }

    /// Bytes in this part.
    #[inline(always)]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an empty message is a message")]
    pub fn len(&self) -> usize {
        match self.held {
            Held::Slot(len) | Held::Named(len) => len as usize,
            Held::Cell => self.endpoint.inbox.head.len as usize,
        }
    }

    /// Whether the whole message is in this part.
    #[inline]
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.len() as u64 == self.total()
    }

    /// Copies as many bytes of this part into a buffer as it has room for; returns how many.
    #[inline(always)]
    pub fn copy_to(&mut self, into: &mut [u8]) -> usize {
        let count = into.len().min(self.len());
        let into = &mut into[..count];
        match self.held {
            Held::Slot(_) => {
                step(Step::SlotHeld);
                if let Some(inlet) = self.inlet() {
                    inlet.copy_to(into);
                }
            }
            Held::Named(_) => {
                step(Step::SlotHeld);
                if let Some(inlet) = self.inlet() {
                    self.copy_from(self.endpoint.cell_of(self.from, inlet.name()), into);
                }
            }
            Held::Cell => {
                step(Step::CellHeld);
                if let Some(&cell) = self.endpoint.inbox.shadow.last() {
                    self.copy_from(cell, into);
                }
            }
        }
        count
    }

    /// Copies the first bytes of the message, which has at least as many and is in this cell.
    #[inline(never)]
    fn copy_from(&mut self, cell: CellId, into: &mut [u8]) {
        let count = into.len().min(CELL_PAYLOAD);
        let Endpoint { memory, peers, .. } = &mut *self.endpoint;
        let body = &memory.cell(cell).body;
        peers[self.from.index()].reading.read(count, |way| {
            // SAFETY: the cell is this process's until it is given back, when `self` is dropped; its
            // payload is at least `count` long, and so is the caller's buffer.
            body.with(|body| unsafe {
                way.copy(
                    (&raw const (*body).payload).cast(),
                    into.as_mut_ptr(),
                    count,
                );
            });
        });
    }

    /// Appends the bytes of this part to a vector.
    pub fn append_to(&mut self, to: &mut Vec<u8>) {
        let before = to.len();
        to.resize(before + self.len(), 0);
        self.copy_to(&mut to[before..]);
    }

    #[inline(always)]
    fn inlet(&self) -> Option<&Inlet> {
        self.endpoint.peers[self.from.index()].inlet.as_ref()
    }
}

impl<M: Memory> Drop for Incoming<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        self.endpoint.release(self.from, self.held);
    }
}

impl<M: Memory> fmt::Debug for Incoming<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("source", &self.from)
            .field("total", &self.total())
            .field("offset", &self.offset())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
