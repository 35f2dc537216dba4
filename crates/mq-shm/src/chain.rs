//! The queue of Nemesis, but linked before it is published.
//!
//! Nemesis swaps the tail of a process's queue and then links the former tail to the new cell. A
//! producer that dies or is descheduled between the two leaves a gap that the consumer cannot
//! cross, with everybody's messages after it. Here a cell is linked to its predecessor *first*, and
//! one compare-and-swap then makes it the newest: it is in the queue completely, or not at all. The
//! links run from the newest to the oldest; the consumer takes the entire chain in one swap and
//! reverses it in private memory, which corresponds to Nemesis's shadow head: the shared line is
//! read again only when the private list is empty.
//!
//! No single cell is ever popped, so there is no ABA: a producer's compare-and-swap succeeds only
//! if the cell it has linked to is the newest at that moment, whatever happened in between. The
//! chain of returned cells works the same way; what is taken from it belongs to one process.

use crate::cell::Cell;
use crate::ids::{CellId, Link};
use crate::sync::{AtomicU32, Ordering};

/// Many processes push, one takes all.
#[repr(transparent)]
#[derive(Default)]
pub(crate) struct Chain {
    newest: AtomicU32,
}

impl Chain {
    /// Appends a cell whose content is complete.
    ///
    /// # Cost
    /// One compare-and-swap, plus one for each time that another process was faster.
    #[inline]
    pub(crate) fn push(&self, id: CellId, cell: &Cell) {
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            // Relaxed: nobody reads the link before the exchange below succeeds.
            cell.link.store(newest, Ordering::Relaxed);
            // CHAIN (release): the cell's link and content, to the process that takes the chain.
            // The exchanges of later producers continue this one's release sequence.
            match self.newest.compare_exchange_weak(
                newest,
                Link::to(id).0,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(other) => newest = other,
            }
        }
    }

    /// Takes all cells: the newest, from which the links lead to the oldest.
    ///
    /// # Cost
    /// One load if there are none, otherwise also one swap.
    #[inline]
    pub(crate) fn take(&self) -> Link {
        // Relaxed: only a hint whether the swap is worthwhile.
        if self.newest.load(Ordering::Relaxed) == Link::NONE.0 {
            return Link::NONE;
        }
        // CHAIN (acquire).
        Link(self.newest.swap(Link::NONE.0, Ordering::Acquire))
    }

    /// Whether there is nothing to take, as far as this process can tell.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.newest.load(Ordering::Relaxed) == Link::NONE.0
    }
}
