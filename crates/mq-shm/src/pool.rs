//! A process's own cells: those available, those that others have brought back, and where the rest is.

use std::collections::VecDeque;

use crate::channel::{Counters, Tuning};
use crate::error::ShmError;
use crate::ids::{CellId, Link, Process};
use crate::layout::Geometry;
use crate::segment::{Memory, Part};

/// Cells that must exist for each one lent: a few pairs may have one, and most cells circulate.
const MADE_FOR_LENT: usize = if cfg!(mq_loom) { 2 } else { 4 };

/// So many cells are kept back for processes that have none yet.
const RESERVED_CELLS: usize = 2;

/// With fewer cells, none is.
const RESERVING_FROM_CELLS: usize = 8;

/// Once the system has refused more cells, this many wishes for more go by before it is asked again:
/// each request takes two system calls, and a process with few cells available wishes for some with
/// every message.
pub(crate) const UNTIL_ASKED_AGAIN: u32 = 64;

/// Where a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whereabouts {
    Here,
    /// On its way to a process, with it, or on its way back.
    Out(Process),
    /// Lent to a process, and perhaps on its way back with an answer.
    Lent(Process),
}

/// The cells of one process, in its own memory.
#[derive(Debug)]
pub(crate) struct Pool {
    me: Process,
    /// The one that came back first is used next: the receiver has read the lines of the others more
    /// recently, and would have to give them up one by one while they are written.
    free: VecDeque<CellId>,
    /// Each cell that has memory.
    cells: Vec<Whereabouts>,
    /// Cells that are out, by receiver, except those that are lent.
    out_to: Vec<u32>,
    /// Cells that are lent.
    lent: u32,
    /// The system has refused more cells, the last time that it was asked.
    is_refused: bool,
    /// Wishes for more cells that still go by before it is asked again.
    wishes: u32,
}

impl Pool {
    pub(crate) fn new(me: Process, processes: u32) -> Self {
        Self {
            me,
            free: VecDeque::new(),
            cells: Vec::new(),
            out_to: vec![0; processes as usize],
            lent: 0,
            is_refused: false,
            wishes: 0,
        }
    }

    /// Whether few cells are available: it is time to fetch those that are done with.
    #[inline]
    pub(crate) fn is_low(&self, tuning: &Tuning) -> bool {
        self.free.len() <= RESERVED_CELLS.max(tuning.low_water as usize)
    }

    /// Whether so few are that the pool grows.
    pub(crate) fn wants_more(&self, tuning: &Tuning) -> bool {
        self.free.len() <= tuning.low_water as usize
    }

    /// Whether the few available cells are kept for processes that have none, of which `to` is not
    /// one: this process already has all the cells it may have, or that the system gives it, and not
    /// just a few, and others may want some. With only two processes, each may use all: what is sent
    /// at a time, and how much, is known.
    pub(crate) fn keeps_back(&self, to: Process, geometry: &Geometry) -> bool {
        let has_all = self.is_refused || self.cells.len() == geometry.cells() as usize;
        has_all
            && self.free.len() <= RESERVED_CELLS
            && self.cells.len() >= RESERVING_FROM_CELLS
            && geometry.processes() > 2
            && self.out_to(to) > 0
    }

    /// An available cell, for a message to a process.
    #[inline]
    pub(crate) fn take<M: Memory>(&mut self, memory: &M, to: Process) -> Option<CellId> {
        let cell = self.free.pop_front()?;
        let number = self.number(memory, cell);
        self.cells[number] = Whereabouts::Out(to);
        self.out_to[to.index()] += 1;
        Some(cell)
    }

    /// Cells that are in transit to `process` or with it.
    pub(crate) fn out_to(&self, process: Process) -> u32 {
        self.out_to[process.index()]
    }

    #[cfg(all(mq_loom, test))]
    pub(crate) fn free_cells(&self) -> Vec<usize> {
        self.free.iter().map(|cell| cell.index()).collect()
    }

    /// Cells that are in transit to any process, or with one, except those that are lent.
    pub(crate) fn out(&self) -> u32 {
        self.out_to.iter().sum()
    }

    /// Whether one more cell may be lent: it comes back with an answer, or not.
    pub(crate) fn may_lend(&self) -> bool {
        (self.lent as usize + 1) * MADE_FOR_LENT <= self.cells.len()
    }

    /// A cell that is out is lent to the process that it went to.
    pub(crate) fn lend<M: Memory>(&mut self, memory: &M, cell: CellId) {
        let number = self.number(memory, cell);
        if let Whereabouts::Out(to) = self.cells[number] {
            self.cells[number] = Whereabouts::Lent(to);
            self.out_to[to.index()] -= 1;
            self.lent += 1;
        }
    }

    /// Fetches what others have brought back.
    pub(crate) fn collect<M: Memory>(&mut self, memory: &M) -> Result<(), ShmError> {
        let geometry = *memory.geometry();
        let mut link = memory.place(self.me).returns.0.take();
        // A chain cannot be longer than there are cells.
        for _ in 0..=self.cells.len() {
            let Some(cell) = link.cell(&geometry) else {
                break;
            };
            let number = self.number(memory, cell);
            let is_out = matches!(self.cells.get(number), Some(Whereabouts::Out(_)));
            if cell.owner(&geometry) != self.me || !is_out {
                return Err(ShmError::Corrupt {
                    what: "a returned cell",
                    process: self.me,
                });
            }
            link = Link(memory.cell(cell).link.load(crate::sync::Ordering::Relaxed));
            self.came_back(memory, cell);
        }
        if link == Link::NONE {
            Ok(())
        } else {
            Err(ShmError::Corrupt {
                what: "the list of returned cells",
                process: self.me,
            })
        }
    }

    /// Takes back the cells that were in transit to a process, or with it, when it died; returns how
    /// many. This works even if the chain of returned cells is damaged: the chain belongs to nobody
    /// any more, so what is after the damage does not come back through it a second time.
    pub(crate) fn reclaim<M: Memory>(
        &mut self,
        memory: &M,
        from: Process,
    ) -> Result<u32, ShmError> {
        // What it had brought back before is in the chain, and must not be counted twice.
        let collected = self.collect(memory);
        let geometry = *memory.geometry();
        let mut reclaimed = 0;
        for number in 0..self.cells.len() {
            let cell = self.cells[number];
            if cell == Whereabouts::Out(from) || cell == Whereabouts::Lent(from) {
                self.came_back(memory, CellId::of(&geometry, self.me, number as u32));
                reclaimed += 1;
            }
        }
        collected.map(|()| reclaimed)
    }

    /// New cells, if there is memory for more. If there was none a moment ago, and there are cells,
    /// the system is not asked.
    ///
    /// # Errors
    /// [`ShmError::NoMemory`] if there is no cell at all; a pool that has some makes do with them.
    #[cold]
    pub(crate) fn grow<M: Memory>(
        &mut self,
        memory: &M,
        tuning: &Tuning,
        counters: &mut Counters,
    ) -> Result<(), ShmError> {
        let geometry = *memory.geometry();
        let made = self.cells.len() as u32;
        let more = tuning.grow.min(geometry.cells() - made);
        if more == 0 {
            return Ok(());
        }
        if made > 0 {
            counters.low_water += 1;
            if self.wishes > 0 {
                self.wishes -= 1;
                return Ok(());
            }
        }
        let new = Part::Cells {
            owner: self.me,
            first: made,
            count: more,
        };
        match memory.commit(new) {
            Ok(()) => self.is_refused = false,
            // The existing cells will come back.
            Err(_) if made > 0 => {
                self.is_refused = true;
                self.wishes = UNTIL_ASKED_AGAIN;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        let all = (made + more) as usize;
        self.cells.resize(all, Whereabouts::Here);
        let new = made..made + more;
        self.free
            .extend(new.map(|number| CellId::of(&geometry, self.me, number)));
        counters.cells = made + more;
        counters.grown();
        Ok(())
    }

    /// A cell is no longer out, or lent.
    pub(crate) fn came_back<M: Memory>(&mut self, memory: &M, cell: CellId) {
        let number = self.number(memory, cell);
        let Some(whereabouts) = self.cells.get_mut(number) else {
            return;
        };
        match core::mem::replace(whereabouts, Whereabouts::Here) {
            Whereabouts::Here => return,
            Whereabouts::Out(to) => self.out_to[to.index()] -= 1,
            Whereabouts::Lent(_) => self.lent -= 1,
        }
        self.free.push_back(cell);
    }

    fn number<M: Memory>(&self, memory: &M, cell: CellId) -> usize {
        cell.index()
            .wrapping_sub(CellId::of(memory.geometry(), self.me, 0).index())
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use super::*;
    use crate::segment::Heap;

    #[test]
    fn memory_that_was_refused_is_asked_for_again_after_some_wishes() {
        let segment = Heap::new(Geometry::with_cells(2, 8).unwrap());
        let tuning = Tuning {
            grow: 4,
            ..Tuning::default()
        };
        let mut counters = Counters::default();
        let mut pool = Pool::new(Process(0), 2);
        segment.refuse(true);
        for _ in 0..2 {
            let grown = pool.grow(&segment, &tuning, &mut counters);
            assert!(grown.is_err(), "without any cell it can not go on");
        }
        assert_eq!(segment.refused(), 2);
        segment.refuse(false);
        pool.grow(&segment, &tuning, &mut counters).unwrap();
        assert_eq!(counters.cells, 4);
        segment.refuse(true);
        for asked in 3..6 {
            for _ in 0..=UNTIL_ASKED_AGAIN {
                pool.grow(&segment, &tuning, &mut counters).unwrap();
                assert_eq!(segment.refused(), asked);
            }
        }
        // Refused once more, and from then on there would be some.
        pool.grow(&segment, &tuning, &mut counters).unwrap();
        segment.refuse(false);
        for _ in 0..UNTIL_ASKED_AGAIN {
            pool.grow(&segment, &tuning, &mut counters).unwrap();
            assert_eq!(counters.cells, 4);
        }
        pool.grow(&segment, &tuning, &mut counters).unwrap();
        assert_eq!(counters.cells, 8);
    }
}
