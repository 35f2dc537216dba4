//! Metering: the cost of a search. Free if not used.
//!
//! Every search reports to a [`Meter`] that the caller passes. The plain operations pass
//! [`Unmetered`], with which the compiler removes the counting.

/// Which of the two queues.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Queue {
    /// The posted receive queue (PRQ).
    Posted,
    /// The unexpected message queue (UMQ).
    Unexpected,
}

/// Is told the cost of each search when the search ends, in the middle of the operation: it must not panic, or an entry
/// may be left half queued.
pub trait Meter {
    /// A search of `queue` compared `entries` queued entries with what it was looking for. A structure may
    /// report one search in parts, which add up: `indexed` does while its queues are long.
    fn visited(&mut self, queue: Queue, entries: u32);
    /// A search passed `objects` of the structure (leads, planes, coordinates, bins, rank heads,
    /// tree nodes) on its way to the entries.
    fn passed(&mut self, objects: u32);
}

/// Counts nothing, and compiles to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmetered;

impl Meter for Unmetered {
    #[inline(always)]
    fn visited(&mut self, _: Queue, _: u32) {}
    #[inline(always)]
    fn passed(&mut self, _: u32) {}
}

/// Totals over any number of searches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Visits {
    /// Posted receives compared.
    pub posted: u64,
    /// Unexpected messages compared.
    pub unexpected: u64,
    /// Objects of the structure passed.
    pub objects: u64,
}

impl Visits {
    /// Entries and objects together: the "pointer operations" of Zounmevo & Afsahi, Tables 2 and 3.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.posted + self.unexpected + self.objects
    }
}

impl Meter for Visits {
    #[inline]
    fn visited(&mut self, queue: Queue, entries: u32) {
        match queue {
            Queue::Posted => self.posted += u64::from(entries),
            Queue::Unexpected => self.unexpected += u64::from(entries),
        }
    }
    #[inline]
    fn passed(&mut self, objects: u32) {
        self.objects += u64::from(objects);
    }
}

impl<T: Meter + ?Sized> Meter for &mut T {
    #[inline]
    fn visited(&mut self, queue: Queue, entries: u32) {
        (**self).visited(queue, entries);
    }
    #[inline]
    fn passed(&mut self, objects: u32) {
        (**self).passed(objects);
    }
}
