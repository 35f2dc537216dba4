//! The earliest of the first matches of several lists: where order is decided by sequence number.

use crate::fifo::Fifo;
use crate::slab::Slab;

/// The earliest match so far, and the cost of finding it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Best {
    /// The slot of the match.
    pub(crate) slot: Option<u32>,
    sequence: u64,
    /// Entries compared in all lists.
    pub(crate) visited: u32,
}

impl Best {
    pub(crate) const NONE: Self = Self {
        slot: None,
        sequence: u64::MAX,
        visited: 0,
    };

    /// Searches one more list.
    #[inline]
    pub(crate) fn search<K: Copy, T>(
        &mut self,
        list: Fifo,
        slab: &Slab<K, T>,
        wanted: impl FnMut(&K) -> bool,
    ) {
        let search = list.find(slab, wanted);
        self.visited += search.visited;
        if let Some(slot) = search.found {
            self.keep_earlier(slot, slab);
        }
    }

    /// Compares one more candidate.
    #[inline]
    pub(crate) fn consider<K: Copy, T>(&mut self, slot: u32, slab: &Slab<K, T>) {
        self.visited += 1;
        self.keep_earlier(slot, slab);
    }

    #[inline]
    fn keep_earlier<K: Copy, T>(&mut self, slot: u32, slab: &Slab<K, T>) {
        let sequence = slab.sequence(slot);
        if sequence < self.sequence {
            self.slot = Some(slot);
            self.sequence = sequence;
        }
    }
}
