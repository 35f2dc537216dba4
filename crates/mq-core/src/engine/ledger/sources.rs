//! [`Sources`]: how much of a budget the messages of each source use.

use crate::engine::budget::Used;
use crate::hash::{MixMap, mix};

/// Tables that many sources are spread over. Each grows and shrinks by itself, so that no step moves more than its
/// share: some 500 of 65,536 sources.
const PARTS: usize = 128;

/// Up to this many sources are in one table.
const FEW: usize = 256;

/// All tables together keep this much for the next burst, as a slab does.
pub(super) const KEPT_BYTES: usize = 256 << 10;

/// Sources that fit in what is kept.
const KEPT_SOURCES: usize = 7 << 10;

/// A seed of its own: a table's places would otherwise depend on which table it is.
const SEED: u64 = 1;

/// By context and rank, what each source uses; none is there with a use of 0.
#[derive(Default)]
pub(super) struct Sources {
    few: MixMap<u64, Used>,
    /// Takes the place of `few` once there have been many, until all leave together; empty or of [`PARTS`].
    parts: Box<[MixMap<u64, Used>]>,
    len: usize,
}

impl Sources {
    /// How many there are.
    #[cfg(test)]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, source: u64) -> Used {
        let table = match self.parts.len() {
            0 => &self.few,
            _ => &self.parts[part_of(source)],
        };
        table.get(&source).copied().unwrap_or_default()
    }

    /// A message of a source has been queued.
    pub(super) fn add(&mut self, source: u64, weight: u64) {
        let table = self.table(source);
        let before = table.len();
        table.entry(source).or_default().add(weight);
        self.len += table.len() - before;
        if self.len > FEW && self.parts.is_empty() {
            self.spread();
        }
    }

    /// A message of a source has left.
    pub(super) fn subtract(&mut self, source: u64, weight: u64) {
        let shares = self.parts.len().max(1);
        let table = self.table(source);
        let Some(used) = table.get_mut(&source) else {
            return;
        };
        used.subtract(weight);
        if used.entries > 0 {
            return;
        }
        table.remove(&source);
        let in_use = table.len() * size_of::<(u64, Used)>();
        if table.allocation_size() > (in_use * 8).max(KEPT_BYTES / shares) {
            table.shrink_to((table.len() * 2).max(KEPT_SOURCES / shares));
        }
        self.len -= 1;
    }

    /// All messages have left.
    pub(super) fn clear(&mut self) {
        self.parts = Box::default();
        self.few.clear();
        self.few.shrink_to(KEPT_SOURCES);
        self.len = 0;
    }

    /// Bytes of the tables.
    pub(super) fn heap_bytes(&self) -> usize {
        let tables = self.parts.iter().chain([&self.few]);
        let entries: usize = tables.map(MixMap::allocation_size).sum();
        size_of_val(&*self.parts) + entries
    }

    fn table(&mut self, source: u64) -> &mut MixMap<u64, Used> {
        match self.parts.len() {
            0 => &mut self.few,
            _ => &mut self.parts[part_of(source)],
        }
    }

    #[cold]
    fn spread(&mut self) {
        self.parts = (0..PARTS).map(|_| MixMap::default()).collect();
        for (source, used) in core::mem::take(&mut self.few) {
            self.parts[part_of(source)].insert(source, used);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "its highest bits")]
const fn part_of(source: u64) -> usize {
    (mix(source, SEED) >> (u64::BITS - PARTS.trailing_zeros())) as usize
}

impl Used {
    fn add(&mut self, weight: u64) {
        self.entries += 1;
        // If bytes are not limited, nobody asks for them.
        self.bytes = self.bytes.saturating_add(weight);
    }

    /// Saturating, for a `weigh` that returns different values.
    fn subtract(&mut self, weight: u64) {
        self.entries = self.entries.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(weight);
    }
}
