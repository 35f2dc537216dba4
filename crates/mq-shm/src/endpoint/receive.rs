//! Receiving: what came through fastboxes and queue, in the order in which each sender sent it.
#![allow(unsafe_code, reason = "reads messages from shared memory")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one proof covers the accesses of a block"
)]

use core::fmt;
use core::ptr;

use crate::cell::{CELL_PAYLOAD, CellHead, OPENS_BOX};
use crate::endpoint::{Ending, Endpoint};
use crate::error::ShmError;
use crate::fastbox::{BOX_PAYLOAD, Inlet};
use crate::index::{CellId, CellName, Link, Process};
use crate::liveness::Gone;
use crate::part::Found;
use crate::segment::{Mapped, Memory};
use crate::steps::{Step, step};
use crate::sync::Ordering;
use crate::wait;

/// What a poll has found.
#[derive(Debug)]
pub enum Arrival<'a, M: Memory = Mapped> {
    /// A message, or a part of one that is longer than a cell.
    Message(Incoming<'a, M>),
    /// A process has ended, and everything that it had sent has been received: of a message in
    /// parts perhaps only the first.
    Gone(Process, Gone),
}

/// A message in shared memory. Dropping it gives the memory back to the sender.
pub struct Incoming<'a, M: Memory = Mapped> {
    endpoint: &'a mut Endpoint<M>,
    from: Process,
    held: Held,
}

/// A message that is next from its sender: in its fastbox, or in a cell that is named there, with
/// so many bytes, or in the cell that is next in the shadow of the queue, as [`Endpoint::head`]
/// says.
#[derive(Debug, Clone, Copy)]
pub(super) enum Held {
    Slot(u32),
    Named(u32),
    Cell,
}

impl Held {
    /// Of a message in a fastbox that is so long.
    #[inline(always)]
    const fn in_box(len: u32) -> Self {
        if len as usize <= BOX_PAYLOAD {
            Self::Slot(len)
        } else {
            Self::Named(len)
        }
    }
}

/// One who waits looks where nothing is wanted every so many times.
const OTHERS_EVERY: u32 = 8;

/// Messages of one sender's after which the queue and another box have their turn: those who ask again
/// and again, and are answered, could keep their boxes full for ever.
const STREAK: u64 = 64;

/// Whether what is elsewhere has its turn before a message with this number, which is due in a wanted
/// box.
#[inline(always)]
pub(super) const fn is_turn_of_others(due: u64) -> bool {
    due % STREAK == STREAK - 1
}

impl<M: Memory> Endpoint<M> {
    /// The next message, or the next process that has ended, if there is one.
    ///
    /// Looks into the fastboxes of the processes that are [wanted](Self::want), into the queue, and
    /// into one other fastbox.
    ///
    /// # Cost
    /// One load for each process wanted that has a fastbox, and two more. Nothing is locked. While
    /// messages come, nothing is allocated or asked of the kernel, but that tables grow and that a
    /// sender may have to be woken when its cell comes back; what the dead leave is given back to it.
    ///
    /// # Errors
    /// [`ShmError::Corrupt`] if the shared memory holds what no process of this crate puts there.
    #[inline]
    pub fn poll(&mut self) -> Result<Option<Arrival<'_, M>>, ShmError> {
        self.poll_where(true)
    }

    /// As [`poll`](Self::poll), for who looks again and again: looks into another fastbox only
    /// every eighth time that there is nothing else. What has come and is not wanted is mostly
    /// asked for soon, and is then taken from where it lies.
    ///
    /// # Cost
    /// As that of `poll`.
    ///
    /// # Errors
    /// As that of `poll`.
    #[inline]
    pub fn poll_waiting(&mut self) -> Result<Option<Arrival<'_, M>>, ShmError> {
        self.waiting_looks = self.waiting_looks.wrapping_add(1);
        self.poll_where(self.waiting_looks.is_multiple_of(OTHERS_EVERY))
    }

    #[inline(always)]
    fn poll_where(&mut self, others: bool) -> Result<Option<Arrival<'_, M>>, ShmError> {
        if !self.ending.is_empty() {
            return self.poll_ending();
        }
        if let Some((from, len)) = self.in_wanted_boxes() {
            // Once in a row, so that they do not hide the box either.
            if is_turn_of_others(self.peers[from.index()].due)
                && !core::mem::take(&mut self.others_had_turn)
                && let Some((from, held)) = self.in_others()?
            {
                self.others_had_turn = true;
                return Ok(Some(Arrival::Message(Incoming {
                    endpoint: self,
                    from,
                    held,
                })));
            }
            let held = Held::in_box(len);
            return Ok(Some(Arrival::Message(Incoming {
                endpoint: self,
                from,
                held,
            })));
        }
        let quiet = self.shadow.is_empty() && self.place.queue.0.is_empty();
        if quiet && self.open.len() == self.wanted.len() {
            return Ok(None);
        }
        self.poll_elsewhere(others)
    }

    /// The processes that are wanted and have a fastbox.
    #[inline(always)]
    pub(super) fn wanted_boxes(&self) -> &[Process] {
        if self.wanted_from_any > 0 {
            &self.open
        } else {
            &self.wanted
        }
    }

    #[inline(always)]
    pub(super) fn in_wanted_boxes(&self) -> Option<(Process, u32)> {
        for &from in self.wanted_boxes() {
            if let Some(len) = self.in_box(from) {
                return Some((from, len));
            }
        }
        None
    }

    /// The length of the message due from a process, if that is in its fastbox.
    #[inline(always)]
    pub(super) fn in_box(&self, from: Process) -> Option<u32> {
        let peer = &self.peers[from.index()];
        peer.inlet.as_ref()?.holds(peer.due)
    }

    /// What is in the queue and what is in another box, by turns.
    #[cold]
    #[inline(never)]
    fn in_others(&mut self) -> Result<Option<(Process, Held)>, ShmError> {
        self.queue_is_next = !self.queue_is_next;
        if self.queue_is_next {
            let found = self.in_one_other_box();
            return if found.is_some() {
                Ok(found)
            } else {
                self.in_queue()
            };
        }
        let found = self.in_queue()?;
        Ok(found.or_else(|| self.in_one_other_box()))
    }

    #[inline(never)]
    fn poll_elsewhere(&mut self, others: bool) -> Result<Option<Arrival<'_, M>>, ShmError> {
        let found = match self.in_queue()? {
            Some(found) => Some(found),
            None if others => self.in_one_other_box(),
            None => None,
        };
        Ok(found.map(|(from, held)| {
            Arrival::Message(Incoming {
                endpoint: self,
                from,
                held,
            })
        }))
    }

    /// While there is a process that has ended: what it has sent, then that it has ended. Its box
    /// and the queue come before all else, so that others who send without end do not hide it.
    #[cold]
    #[inline(never)]
    fn poll_ending(&mut self) -> Result<Option<Arrival<'_, M>>, ShmError> {
        let Some(&Ending {
            process,
            takes,
            buried,
            ..
        }) = self.ending.last()
        else {
            return Ok(None);
        };
        if buried {
            return self.ended();
        }
        let in_box = self.in_box(process).map(|len| (process, Held::in_box(len)));
        let found = match in_box {
            Some(found) => Some(found),
            // All that was in the queue when it was found to have ended has been received.
            None if self.shadow.is_empty() && self.takes != takes => None,
            None => self.in_queue()?,
        };
        match found {
            Some((from, held)) => Ok(Some(Arrival::Message(Incoming {
                endpoint: self,
                from,
                held,
            }))),
            None => self.ended(),
        }
    }

    fn in_one_other_box(&mut self) -> Option<(Process, Held)> {
        self.turn = if self.turn + 1 < self.open.len() {
            self.turn + 1
        } else {
            0
        };
        let from = *self.open.get(self.turn)?;
        Some((from, Held::in_box(self.in_box(from)?)))
    }

    fn in_queue(&mut self) -> Result<Option<(Process, Held)>, ShmError> {
        if self.shadow.is_empty() {
            self.take_chain()?;
        }
        let Some(&cell) = self.shadow.last() else {
            return Ok(None);
        };
        let from = cell.owner(self.memory.geometry());
        let corrupt = |what| ShmError::Corrupt {
            what,
            process: from.0,
        };
        // SAFETY: the cell was in this process's queue, so that its sender does not touch it; read
        // once, so that what is checked is what is used.
        let head: CellHead = self
            .memory
            .cell(cell)
            .body
            .with(|body| unsafe { ptr::read_volatile(&raw const (*body).head) });
        let due = self.peers[from.index()].due;
        if head.sequence != due {
            // What was sent before went through the fastbox, and is there.
            let late = if head.sequence > due {
                self.in_box(from)
            } else {
                None
            };
            let late = late.ok_or_else(|| corrupt("a message's number"))?;
            return Ok(Some((from, Held::in_box(late))));
        }
        let end = head.offset.checked_add(u64::from(head.len));
        if head.len as usize > CELL_PAYLOAD || end.is_none_or(|end| end > head.total) {
            return Err(corrupt("a message's length"));
        }
        self.head = head;
        Ok(Some((from, Held::Cell)))
    }

    /// Takes everything off the queue and turns it round.
    fn take_chain(&mut self) -> Result<(), ShmError> {
        let geometry = *self.memory.geometry();
        self.takes = self.takes.wrapping_add(1);
        let mut link = self.place.queue.0.take();
        step(Step::ChainTaken);
        while let Some(cell) = link.cell(&geometry) {
            if self.shadow.len() >= geometry.all_cells() as usize {
                return Err(ShmError::Corrupt {
                    what: "the queue",
                    process: self.me.0,
                });
            }
            self.shadow.push(cell);
            // Relaxed: ordered by CHAIN.
            link = Link(self.memory.cell(cell).link.load(Ordering::Relaxed));
        }
        if link == Link::NONE {
            Ok(())
        } else {
            Err(ShmError::Corrupt {
                what: "the queue",
                process: self.me.0,
            })
        }
    }

    /// Reports a process that has ended and from which nothing is left. If what it had turns out to
    /// be damaged, that is said now, and the end at the next look.
    #[cold]
    fn ended(&mut self) -> Result<Option<Arrival<'_, M>>, ShmError> {
        let Some(ending) = self.ending.last_mut() else {
            return Ok(None);
        };
        let Ending { process, how, .. } = *ending;
        if !core::mem::replace(&mut ending.buried, true) {
            self.bury(process)?;
        }
        self.ending.pop();
        self.buried.push(process);
        Ok(Some(Arrival::Gone(process, how)))
    }

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
            peer.answers = true;
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
            wait::wake(&peer.place, self.fences);
            return;
        }
        let Some(cell) = self.shadow.pop() else {
            return;
        };
        let peer = &mut self.peers[from.index()];
        peer.met = true;
        if self.head.flags & OPENS_BOX != 0 && peer.inlet.is_none() {
            // SAFETY: the segment lives as long as the endpoint, and does not move.
            let fastbox = unsafe { Found::at(self.memory.fastbox(from, self.me)) };
            peer.inlet = Some(Inlet::new(fastbox));
            self.open.push(from);
            if peer.wanted > 0 {
                self.wanted.push(from);
            }
        }
        step(Step::CellRead);
        peer.place.returns.0.push(cell, self.memory.cell(cell));
        step(Step::CellReturned);
        wait::wake(&peer.place, self.fences);
    }
}

impl<M: Memory> Incoming<'_, M> {
    /// Who sent it.
    #[inline(always)]
    #[must_use]
    pub fn source(&self) -> Process {
        self.from
    }

    /// What the sender gave with it.
    #[inline(always)]
    #[must_use]
    pub fn header(&self) -> [u64; 2] {
        match self.held {
            Held::Slot(_) | Held::Named(_) => self.inlet().map(Inlet::header).unwrap_or_default(),
            Held::Cell => self.endpoint.head.header,
        }
    }

    /// Bytes of the whole message.
    #[inline(always)]
    #[must_use]
    pub fn total(&self) -> u64 {
        match self.held {
            Held::Slot(len) | Held::Named(len) => u64::from(len),
            Held::Cell => self.endpoint.head.total,
        }
    }

    /// Bytes of the message in parts that came before this one.
    #[inline(always)]
    #[must_use]
    pub fn offset(&self) -> u64 {
        match self.held {
            Held::Slot(_) | Held::Named(_) => 0,
            Held::Cell => self.endpoint.head.offset,
        }
    }

    /// Bytes here.
    #[inline(always)]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an empty message is a message")]
    pub fn len(&self) -> usize {
        match self.held {
            Held::Slot(len) | Held::Named(len) => len as usize,
            Held::Cell => self.endpoint.head.len as usize,
        }
    }

    /// Whether all of the message is here.
    #[inline]
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.len() as u64 == self.total()
    }

    /// Copies the bytes here into a buffer, as many as it has room for; how many.
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
                if let Some(&cell) = self.endpoint.shadow.last() {
                    self.copy_from(cell, into);
                }
            }
        }
        count
    }

    /// Copies the first bytes of the message, which has as many and is in this cell.
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

    /// Appends the bytes here to a vector.
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
