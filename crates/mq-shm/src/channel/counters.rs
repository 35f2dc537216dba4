//! What an endpoint has sent, through which buffers, and how its memory grew.

/// A process's memory use at some point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Growth {
    /// Messages sent until then.
    pub messages: u64,
    /// Cells at that point.
    pub cells: u32,
    /// Pairs with a fastbox from this process at that point.
    pub boxes: u32,
}

/// Number of size classes of [`Counters::by_size`]: class `c` is for messages of less than 2^c bytes
/// that are in no lower class.
pub const CLASSES: usize = 65;

/// What an endpoint has sent, and through which buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Messages that went through the queue.
    pub by_queue: u64,
    /// Cells that messages filled, through the queue or named in a fastbox.
    pub cells_sent: u64,
    /// Messages of each size class.
    pub by_size: [u64; CLASSES],
    /// Bytes in messages of each size class.
    pub bytes_by_size: [u64; CLASSES],
    /// Cells in the pool at present.
    pub cells: u32,
    /// Pairs with a fastbox from this process.
    pub boxes: u32,
    /// Times that the pool was below its low-water mark and had to grow, or would have: after a
    /// refusal of memory, it asks the system only on some of these occasions, and each occasion
    /// counts. A pool that has all its cells does not try to grow.
    pub low_water: u64,
    /// Times that a message found no cell: each attempt counts.
    pub full: u64,
    /// How the memory grew.
    pub growth: Vec<Growth>,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            by_queue: 0,
            cells_sent: 0,
            by_size: [0; CLASSES],
            bytes_by_size: [0; CLASSES],
            cells: 0,
            boxes: 0,
            low_water: 0,
            full: 0,
            growth: Vec::new(),
        }
    }
}

impl Counters {
    /// A message of this length is on its way.
    #[inline]
    pub(crate) fn sent(&mut self, bytes: usize) {
        let class = (usize::BITS - bytes.leading_zeros()) as usize % CLASSES;
        self.by_size[class] += 1;
        self.bytes_by_size[class] += bytes as u64;
    }

    /// Messages sent.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.by_size.iter().sum()
    }

    /// Messages that went through a fastbox.
    #[must_use]
    pub fn by_box(&self) -> u64 {
        self.messages() - self.by_queue
    }

    #[cold]
    pub(crate) fn grown(&mut self) {
        let growth = Growth {
            messages: self.messages(),
            cells: self.cells,
            boxes: self.boxes,
        };
        self.growth.push(growth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two() {
        let mut counters = Counters::default();
        for bytes in [0, 1, 2, 3, 4, 7, 8, usize::MAX] {
            counters.sent(bytes);
        }
        assert_eq!(counters.by_size[..5], [1, 1, 2, 2, 1]);
        assert_eq!(counters.by_size[64], 1);
        assert_eq!(counters.bytes_by_size[3], 11);
        assert_eq!(counters.messages(), 8);
    }
}
