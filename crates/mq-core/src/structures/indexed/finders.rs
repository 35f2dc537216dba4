//! What finds entries in place of a scan.

use super::deep::Index;
use super::hash::Seed;
use super::tabled::Tables;
use crate::envelope::MatchBits;

/// The tables of queues that are in their windows, and the index of queues that have left them. Made together for the
/// first search that needs either, with one seed, and kept: what one form has learned is not lost in the other.
#[derive(Debug)]
pub(super) struct Finders<B> {
    pub(super) tables: Tables<B>,
    pub(super) index: Index<B>,
}

impl<B: MatchBits> Finders<B> {
    fn new(seed: u32, scan_limit: u8) -> Self {
        let seed = Seed::new(seed);
        Self {
            tables: Tables::new(seed, scan_limit),
            index: Index::new(seed),
        }
    }

    /// All entries have been dropped: keeps the tables' memory, and the factors they found.
    pub(super) fn clear(&mut self) {
        self.tables.clear();
        self.index.clear();
    }

    /// Heap bytes, those of this object included.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.tables.bytes() + self.index.bytes()
    }
}

/// The finders of queues that have none.
#[cold]
#[inline(never)]
pub(super) fn new_finders<B: MatchBits>(
    none: &mut Option<Box<Finders<B>>>,
    seed: u32,
    scan_limit: u8,
) -> &mut Finders<B> {
    none.insert(Box::new(Finders::new(seed, scan_limit)))
}

/// The index, if it was made.
#[inline(always)]
pub(super) fn index_in<B>(finders: &mut Option<Box<Finders<B>>>) -> Option<&mut Index<B>> {
    finders.as_mut().map(|finders| &mut finders.index)
}

/// An answer of queues without finders, where there must be some. Not `unreachable`: common searches call nothing, not
/// even a panic.
#[inline(always)]
pub(super) fn without_finders<T>(answer: T) -> T {
    debug_assert!(false, "tabled and deep queues have finders");
    answer
}

/// The index of deep queues.
#[inline(always)]
pub(super) fn deep<B>(finders: &mut Option<Box<Finders<B>>>) -> &mut Index<B> {
    match finders {
        Some(finders) => &mut finders.index,
        None => unreachable!("deep queues have an index"),
    }
}
