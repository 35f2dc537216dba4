//! Sending: through the fastbox if the pair has one, or through a cell named in it, waiting for room for a while;
//! otherwise through cells in the queue.
#![allow(unsafe_code, reason = "writes messages into shared memory")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one proof covers the accesses of a block"
)]

use core::time::Duration;

use crate::cell::{CELL_PAYLOAD, OPENS_BOX};
use crate::copy::{Way, copy};
use crate::endpoint::Endpoint;
use crate::error::ShmError;
use crate::estate;
use crate::fastbox::{BOX_PAYLOAD, LINE_PAYLOAD, LONGEST_WAIT, Outlet};
use crate::ids::{CellId, CellName, Process};
use crate::segment::Memory;
use crate::segment_ref::SegmentRef;
use crate::sleeper;
use crate::steps::{Step, step};

/// How much of a message has been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the rest of the message may have to be sent"]
pub enum Sent {
    /// All of it: the caller's buffer is free.
    Whole,
    /// Only its first bytes, possibly none; there are no more cells at present, or no room in the fastbox. The
    /// rest must be sent before anything else to that process.
    Upto(usize),
}

impl<M: Memory> Endpoint<M> {
    /// Sends a message, or the rest of one of which `done` bytes have been sent. `header` is the caller's, and
    /// arrives with each part.
    ///
    /// # Cost
    /// Up to [`BOX_PAYLOAD`] bytes through a fastbox: stores into one line, and into others beyond
    /// [`LINE_PAYLOAD`] bytes; two loads. Up to [`CELL_PAYLOAD`] bytes through a cell that a slot of the fastbox
    /// names, one of the receiver's if it has lent one: stores only. While the fastbox is full, nothing is sent,
    /// and one load and a look at the clock say so; after 0.1 ms messages go through the queue instead, and at
    /// once in a process that yields its core when it waits. Through the queue: one compare-and-swap for each
    /// [`CELL_PAYLOAD`] bytes.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`]; [`ShmError::Gone`] once its end has been found, which may be before it is
    /// [reported](Self::poll): until then a message may be accepted that nobody receives. [`ShmError::NoMemory`] if
    /// there is no memory for the first cell: nothing more has been sent then. [`ShmError::Corrupt`] if a returned
    /// cell was not out; the first parts of a message may have been sent by then.
    ///
    /// # Panics
    /// If `done` exceeds the message's length.
    #[inline(always)]
    pub fn try_send(
        &mut self,
        to: Process,
        header: [u64; 2],
        message: &[u8],
        done: usize,
    ) -> Result<Sent, ShmError> {
        let Some(peer) = self.peers.get_mut(to.index()) else {
            return Err(self.geometry().check(to).expect_err("it is out of range"));
        };
        if let Some(outlet) = &mut peer.outlet
            && message.len() <= LINE_PAYLOAD
            && done == 0
            && outlet.has_room(0)
        {
            outlet.fill(header, message);
            step(Step::SlotFilled);
            outlet.publish(peer.sequence, message.len());
            step(Step::SlotShown);
            if peer.due_when_sent == peer.due {
                // Nothing has come from there since the last message: more may follow this one.
                outlet.take_ahead();
            } else {
                peer.due_when_sent = peer.due;
            }
            outlet.filled(0);
            peer.sequence += 1;
            self.counters.sent(message.len());
            sleeper::wake(&peer.place, self.fences);
            return Ok(Sent::Whole);
        }
        let [first, second] = header;
        self.send_longer(to, first, second, message, done)
    }

    /// Sends a message of several lines, or one for which the box has no room.
    #[inline(never)]
    fn send_longer(
        &mut self,
        to: Process,
        // Two words, which stay in registers: an array goes through memory, also after this call.
        first: u64,
        second: u64,
        message: &[u8],
        done: usize,
    ) -> Result<Sent, ShmError> {
        let header = [first, second];
        let peer = &mut self.peers[to.index()];
        // There was no room for a message of one line.
        if let Some(outlet) = &mut peer.outlet
            && message.len() > LINE_PAYLOAD
            && message.len() <= BOX_PAYLOAD
            && done == 0
            && outlet.has_room(message.len())
        {
            outlet.fill_lines(header, message);
            step(Step::SlotFilled);
            outlet.publish(peer.sequence, message.len());
            step(Step::SlotShown);
            outlet.filled(message.len());
            peer.sequence += 1;
            self.counters.sent(message.len());
            sleeper::wake(&peer.place, self.fences);
            outlet.take_lines(message.len());
            return Ok(Sent::Whole);
        }
        if let Some(how) = peer.gone {
            return Err(ShmError::Gone { process: to, how });
        }
        if message.len() <= CELL_PAYLOAD
            && done == 0
            && let Some(outlet) = &mut peer.outlet
        {
            if message.len() > BOX_PAYLOAD && outlet.has_room(0) {
                return self.send_by_name(to, header, message);
            }
            // A process that yields its core may be keeping the core from the receiver.
            let longest = match self.patience.keeps_its_core() {
                true => LONGEST_WAIT,
                false => Duration::ZERO,
            };
            if outlet.decide_to_wait(longest) {
                self.awaits_room = true;
                return Ok(Sent::Upto(0));
            }
        }
        self.send_by_queue(to, header, message, done)
    }

    /// Sends a message that takes one cell by naming the cell in the fastbox, which has room. An answer goes
    /// into the cell that the other has lent, if any: its lines are in the caches here.
    fn send_by_name(
        &mut self,
        to: Process,
        header: [u64; 2],
        message: &[u8],
    ) -> Result<Sent, ShmError> {
        let borrowed = self.peers[to.index()].borrowed.take();
        let cell = match borrowed {
            Some(cell) => cell,
            None => match self.cell_for(to)? {
                Some(cell) => cell,
                None => {
                    self.counters.full += 1;
                    return Ok(Sent::Upto(0));
                }
            },
        };
        step(Step::CellTaken);
        self.write(cell, to, message);
        step(Step::CellFilled);
        let peer = &mut self.peers[to.index()];
        let Some(outlet) = &mut peer.outlet else {
            return Ok(Sent::Upto(0));
        };
        // The cell is lent if the other has sent by name before and has no cell lent to it.
        let lends = borrowed.is_none()
            && peer.has_sent_by_name
            && peer.lent.is_none()
            && self.pool.may_lend();
        let name = match borrowed {
            Some(_) => CellName::back(),
            None => CellName::own(cell.number(self.memory.geometry()), lends),
        };
        outlet.fill_with_name(header, name);
        step(Step::SlotFilled);
        outlet.publish(peer.sequence, message.len());
        step(Step::SlotShown);
        if borrowed.is_some() {
            outlet.filled(0);
            step(Step::CellAnswered);
        } else if lends {
            outlet.filled(0);
            peer.lent = Some(cell);
            self.pool.lend(&self.memory, cell);
            step(Step::CellLent);
        } else {
            outlet.named(cell);
            if !core::mem::replace(&mut peer.is_naming, true) {
                self.naming.push(to);
            }
        }
        peer.sequence += 1;
        sleeper::wake(&peer.place, self.fences);
        self.counters.sent(message.len());
        self.counters.cells_sent += 1;
        Ok(Sent::Whole)
    }

    /// Writes a message that fits in one cell into it, in the way that is faster for that process.
    #[inline]
    fn write(&mut self, cell: CellId, to: Process, message: &[u8]) {
        let count = message.len().min(CELL_PAYLOAD);
        let body = &self.memory.cell(cell).body;
        let write = |way: Way| {
            // SAFETY: the cell is out of the pool and no process knows of it yet, or its owner has lent it and
            // waits for its content, so that only this process touches it; `count` is no more than a cell's
            // payload.
            body.with_mut(|body| unsafe {
                way.copy(message.as_ptr(), (&raw mut (*body).payload).cast(), count);
            });
        };
        match self.options.nontemporal_from {
            Some(from) => write(Way::by_length(count, from)),
            None => self.peers[to.index()].writing.write(count, write),
        }
    }

    fn send_by_queue(
        &mut self,
        to: Process,
        header: [u64; 2],
        message: &[u8],
        mut done: usize,
    ) -> Result<Sent, ShmError> {
        let bytes = message.len();
        assert!(done <= bytes, "{done} bytes sent of a message of {bytes}");
        if done == bytes && done > 0 {
            // The last part has gone, and the receiver expects no further one.
            return Ok(Sent::Whole);
        }
        if !self.peers[to.index()].noted {
            self.introduce(to);
        }
        loop {
            let Some(cell) = self.cell_for(to)? else {
                self.counters.full += 1;
                let peer = &self.peers[to.index()];
                let fits = bytes <= BOX_PAYLOAD
                    || peer.borrowed.is_some() && bytes <= CELL_PAYLOAD && done == 0;
                self.awaits_room |= fits && peer.outlet.is_some();
                return Ok(Sent::Upto(done));
            };
            step(Step::CellTaken);
            if done == 0 {
                self.counters.sent(message.len());
                self.counters.by_queue += 1;
            }
            let opens_box = self.make_box_for(to);
            self.fill(cell, to, header, message, done, opens_box);
            step(Step::CellFilled);
            let peer = &mut self.peers[to.index()];
            peer.place.queue.0.push(cell, self.memory.cell(cell));
            step(Step::CellPushed);
            sleeper::wake(&peer.place, self.fences);
            peer.sequence += 1;
            if opens_box {
                // SAFETY: the segment lives as long as the endpoint, and does not move.
                let fastbox = unsafe { SegmentRef::at(self.memory.fastbox(self.me, to)) };
                peer.outlet = Some(Outlet::new(fastbox));
            }
            self.counters.cells_sent += 1;
            done += CELL_PAYLOAD.min(message.len() - done);
            if done == message.len() {
                return Ok(Sent::Whole);
            }
        }
    }

    /// Before the first message to a process.
    #[cold]
    fn introduce(&mut self, to: Process) {
        estate::note(&self.memory, self.me, to);
        step(Step::Noted);
        let peer = &mut self.peers[to.index()];
        peer.noted = true;
        peer.met = true;
    }

    fn fill(
        &self,
        cell: CellId,
        to: Process,
        header: [u64; 2],
        message: &[u8],
        done: usize,
        opens_box: bool,
    ) {
        let part = &message[done..];
        let part = &part[..part.len().min(CELL_PAYLOAD)];
        let sequence = self.peers[to.index()].sequence;
        // SAFETY: the cell is out of the pool and not yet in the queue, so that only this process
        // touches it; the part is no longer than a cell's payload.
        self.memory.cell(cell).body.with_mut(|body| unsafe {
            let head = &raw mut (*body).head;
            (*head).sequence = sequence;
            (*head).header = header;
            (*head).total = message.len() as u64;
            (*head).offset = done as u64;
            (*head).len = part.len() as u32;
            (*head).flags = if opens_box { OPENS_BOX } else { 0 };
            copy(part.as_ptr(), (&raw mut (*body).payload).cast(), part.len());
        });
    }
}
