//! Receiving: what came through fastboxes and the queue, in the order in which each sender sent it.
#![allow(unsafe_code, reason = "reads messages from shared memory")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one proof covers the accesses of a block"
)]

use core::ptr;

use crate::cell::{CELL_PAYLOAD, CellHead};
use crate::endpoint::Endpoint;
use crate::endpoint::incoming::{Held, Incoming};
use crate::endpoint::peer::NO_MESSAGE;
use crate::error::ShmError;
use crate::ids::{CellId, Link, Process};
use crate::liveness::Gone;
use crate::segment::{Mapped, Memory};
use crate::steps::{Step, step};
use crate::sync::Ordering;

/// What a poll has found. It borrows the endpoint until it is dropped, so a `match` over it cannot send in its arms:
/// what is to be answered is taken out of it, and answered behind.
#[derive(Debug)]
pub enum Arrival<'a, M: Memory = Mapped> {
    /// A message, or a part of one that is longer than a cell.
    Message(Incoming<'a, M>),
    /// A process has ended, and everything that it had sent has been received; possibly only the first parts
    /// of a message.
    Gone(Process, Gone),
}

/// A waiting process looks at sources from which nothing is wanted once in this many times.
const OTHERS_EVERY: u32 = 8;

/// After this many messages from one sender, the queue and another box have their turn: clients that ask again
/// and again, and are answered, could otherwise keep their boxes full forever.
const STREAK: u64 = 64;

/// Whether other sources have their turn before a message with this number, which is due in a wanted box.
#[inline(always)]
pub(super) const fn is_turn_of_others(due: u64) -> bool {
    due % STREAK == STREAK - 1
}

/// What this process has taken off its queue.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// The cells, the oldest last: the shadow of the queue's head.
    pub(super) shadow: Vec<CellId>,
    /// The header of the next of them, once it has been read.
    pub(super) head: CellHead,
    /// How often the queue was taken.
    pub(super) takes: u32,
}

/// A message in a wanted box, found in rotation.
pub(super) struct InTurn {
    pub(super) from: Process,
    pub(super) len: u32,
    /// What to pass to [`turns_to`](Endpoint::turns_to) if it is taken.
    pub(super) next: usize,
}

/// Where the next look begins, so that everybody has a turn.
#[derive(Debug)]
pub(super) struct Rotation {
    /// The wanted box after the one from which a message was last taken that way.
    first_wanted: usize,
    /// Where among the open boxes to look next without being asked.
    turn: usize,
    /// Calls of [`poll_waiting`](Endpoint::poll_waiting).
    waiting_looks: u32,
    /// Whether what is not in wanted boxes has had its turn, and the wanted boxes are next.
    others_had_turn: bool,
    /// Whether the queue, not another box, is looked into first at their next turn.
    queue_is_next: bool,
}

impl Default for Rotation {
    fn default() -> Self {
        Self {
            first_wanted: 0,
            turn: 0,
            waiting_looks: 0,
            others_had_turn: false,
            queue_is_next: true,
        }
    }
}

impl<M: Memory> Endpoint<M> {
    /// The next message, or the next process that has ended, if there is one.
    ///
    /// Looks into the fastboxes of the [wanted](Self::want) processes, into the queue, and into one other
    /// fastbox.
    ///
    /// # Cost
    /// One load for each wanted process that has a fastbox, and two more. Nothing is locked. While messages
    /// come, nothing is allocated and no system call is made, except that tables grow and a sender may have to
    /// be woken when its cell comes back; what the dead leave is given back to the system.
    ///
    /// # Errors
    /// [`ShmError::Corrupt`] if the shared memory holds something that no process of this crate writes.
    #[inline]
    pub fn poll(&mut self) -> Result<Option<Arrival<'_, M>>, ShmError> {
        self.poll_where(true)
    }

    /// Like [`poll`](Self::poll), for repeated polling: looks into another fastbox only every eighth time that
    /// there is nothing else. What has come and is not wanted is usually asked for soon, and is then taken
    /// from where it lies.
    ///
    /// # Cost
    /// As for `poll`.
    ///
    /// # Errors
    /// As for `poll`.
    #[inline]
    pub fn poll_waiting(&mut self) -> Result<Option<Arrival<'_, M>>, ShmError> {
        self.rotation.waiting_looks = self.rotation.waiting_looks.wrapping_add(1);
        self.poll_where(self.rotation.waiting_looks.is_multiple_of(OTHERS_EVERY))
    }

    #[inline(always)]
    fn poll_where(&mut self, others: bool) -> Result<Option<Arrival<'_, M>>, ShmError> {
        if !self.deaths.ending.is_empty() {
            return self.poll_ending();
        }
        if let Some(InTurn { from, len, next }) = self.in_wanted_boxes_by_turns() {
            // Once in a row, so that they do not hide the box either.
            if is_turn_of_others(self.peers[from.index()].due)
                && !core::mem::take(&mut self.rotation.others_had_turn)
                && let Some((from, held)) = self.next_from_others(Some(from))?
            {
                self.rotation.others_had_turn = true;
                return Ok(Some(Arrival::Message(Incoming {
                    endpoint: self,
                    from,
                    held,
                })));
            }
            self.turns_to(next);
            let held = Held::in_box(len);
            return Ok(Some(Arrival::Message(Incoming {
                endpoint: self,
                from,
                held,
            })));
        }
        let quiet = self.inbox.shadow.is_empty() && self.place.queue.0.is_empty();
        if quiet && self.inlets.all_are_wanted() {
            return Ok(None);
        }
        self.poll_elsewhere(others)
    }

    #[inline(always)]
    pub(super) fn in_wanted_boxes(&self) -> Option<(Process, u32)> {
        for &from in self.inlets.in_view() {
            if let Some(len) = self.in_box(from) {
                return Some((from, len));
            }
        }
        None
    }

    /// The same, beginning with the box after the one from which a message was last taken in rotation.
    #[inline(always)]
    pub(super) fn in_wanted_boxes_by_turns(&self) -> Option<InTurn> {
        let boxes = self.inlets.in_view();
        let mut next = self.rotation.first_wanted;
        for _ in 0..boxes.len() {
            if next >= boxes.len() {
                next = 0;
            }
            let from = boxes[next];
            next += 1;
            if let Some(len) = self.in_box(from) {
                return Some(InTurn { from, len, next });
            }
        }
        None
    }

    /// The wanted box at this position is the first the next time.
    #[inline(always)]
    pub(super) const fn turns_to(&mut self, next: usize) {
        self.rotation.first_wanted = next;
    }

    /// The length of the message due from a process, if it is in that process's fastbox.
    #[inline(always)]
    pub(super) fn in_box(&self, from: Process) -> Option<u32> {
        let peer = &self.peers[from.index()];
        peer.inlet.as_ref()?.holds(peer.due)
    }

    /// The next message from the queue or from a box other than that of `but`, alternating.
    #[cold]
    #[inline(never)]
    fn next_from_others(
        &mut self,
        but: Option<Process>,
    ) -> Result<Option<(Process, Held)>, ShmError> {
        self.rotation.queue_is_next = !self.rotation.queue_is_next;
        if self.rotation.queue_is_next {
            let found = self.next_from_another_box(but);
            return if found.is_some() {
                Ok(found)
            } else {
                self.next_from_queue()
            };
        }
        let found = self.next_from_queue()?;
        Ok(found.or_else(|| self.next_from_another_box(but)))
    }

    #[inline(never)]
    fn poll_elsewhere(&mut self, others: bool) -> Result<Option<Arrival<'_, M>>, ShmError> {
        let found = match self.next_from_queue()? {
            Some(found) => Some(found),
            None if others => self.next_from_another_box(None),
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

    fn next_from_another_box(&mut self, but: Option<Process>) -> Option<(Process, Held)> {
        self.next_turn();
        if self.inlets.open().get(self.rotation.turn).copied() == but {
            self.next_turn();
        }
        let from = *self
            .inlets
            .open()
            .get(self.rotation.turn)
            .filter(|&&from| Some(from) != but)?;
        Some((from, Held::in_box(self.in_box(from)?)))
    }

    fn next_turn(&mut self) {
        self.rotation.turn = if self.rotation.turn + 1 < self.inlets.open().len() {
            self.rotation.turn + 1
        } else {
            0
        };
    }

    pub(super) fn next_from_queue(&mut self) -> Result<Option<(Process, Held)>, ShmError> {
        loop {
            if self.inbox.shadow.is_empty() {
                self.take_chain()?;
            }
            let Some(&cell) = self.inbox.shadow.last() else {
                return Ok(None);
            };
            if let Some(found) = self.read_head(cell)? {
                return Ok(Some(found));
            }
            // It continues although its end was reported, as a process may if a launcher reported it by
            // mistake. Its messages would hold up everybody's messages after them.
            self.inbox.shadow.pop();
        }
    }

    /// What the first cell of the queue holds, or what was sent before it; `None` if its sender is known to
    /// have ended, and everything that it had sent until then has been received.
    fn read_head(&mut self, cell: CellId) -> Result<Option<(Process, Held)>, ShmError> {
        let from = cell.owner(self.memory.geometry());
        let corrupt = |what| ShmError::Corrupt {
            what,
            process: from,
        };
        // SAFETY: the cell was in this process's queue, so its sender does not touch it; read once, so that
        // what is checked is what is used.
        let head: CellHead = self
            .memory
            .cell(cell)
            .body
            .with(|body| unsafe { ptr::read_volatile(&raw const (*body).head) });
        let due = self.peers[from.index()].due;
        if due == NO_MESSAGE {
            return Ok(None);
        }
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
        self.inbox.head = head;
        Ok(Some((from, Held::Cell)))
    }

    /// Takes everything off the queue and reverses it.
    fn take_chain(&mut self) -> Result<(), ShmError> {
        let geometry = *self.memory.geometry();
        self.inbox.takes = self.inbox.takes.wrapping_add(1);
        let mut link = self.place.queue.0.take();
        step(Step::ChainTaken);
        while let Some(cell) = link.cell(&geometry) {
            if self.inbox.shadow.len() >= geometry.all_cells() as usize {
                return Err(ShmError::Corrupt {
                    what: "the queue",
                    process: self.me,
                });
            }
            self.inbox.shadow.push(cell);
            // Relaxed: ordered by CHAIN.
            link = Link(self.memory.cell(cell).link.load(Ordering::Relaxed));
        }
        if link == Link::NONE {
            Ok(())
        } else {
            Err(ShmError::Corrupt {
                what: "the queue",
                process: self.me,
            })
        }
    }
}
