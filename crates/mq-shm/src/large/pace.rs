//! Which way of writing is quicker: into the caches, or past them.
//!
//! Between two cores that share a cache, a line that the other one has read is written in tens of
//! cycles. Between cores that share only memory each such line takes hundreds, and a copy falls to
//! a tenth of its speed; stores past the caches take no notice of who has read the line, and go at
//! the speed of memory. Where the cores of a pair lie is for the system to say, and a virtual
//! machine moves them. So both ways are timed for each receiver, every now and then.
//!
//! That tells where the other core is, rather than which way is quicker for the message: the
//! writer's part, which alone it can time, is shorter past the caches everywhere.

use std::time::Instant;

/// Copies between two looks at both ways.
const BETWEEN: u32 = 1024;
/// Copies by which a way is timed. The shortest time counts: in the other one may be an interrupt.
const TIMED: u32 = 2;
/// Bytes of the shortest copy that is timed, and of the shortest that goes past the caches: a
/// quarter of a cell or of a ring's buffer.
const LEAST: usize = 4096;

/// Picoseconds a byte from which on the other core's lines are far: 16 nanoseconds a line. With a
/// cache in common 30 to 145 were seen, in a ring and in cells; without one a ring went at 2.3 GB/s
/// and cells at 1.5, which is 430 to 660.
const FAR: u64 = 250;

/// The times of both ways, and the one taken.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    past_caches: bool,
    /// Copies since the last look began.
    turn: u32,
    /// Picoseconds a byte: into the caches, past them.
    took: [u64; 2],
}

impl Pace {
    /// Copies so many bytes one way or the other; `write` does it, and is told whether past the
    /// caches.
    #[inline]
    pub(crate) fn write(&mut self, bytes: usize, write: impl FnOnce(bool)) {
        if bytes < LEAST {
            return write(false);
        }
        let turn = self.turn;
        self.turn += 1;
        if turn >= 2 * TIMED {
            write(self.past_caches);
            if self.turn == BETWEEN {
                self.turn = 0;
            }
            return;
        }
        let past_caches = turn >= TIMED;
        let start = Instant::now();
        write(past_caches);
        let took = start.elapsed().as_nanos() as u64;
        let first = turn.is_multiple_of(TIMED);
        self.note(past_caches, first, took.saturating_mul(1000) / bytes as u64);
    }

    /// A byte took so long in the `first` copy that is timed this way, or in another.
    fn note(&mut self, past_caches: bool, first: bool, took: u64) {
        let least = &mut self.took[usize::from(past_caches)];
        *least = if first { took } else { took.min(*least) };
        if past_caches && !first {
            let [into, past] = self.took;
            // Only the writer's part is timed, and the receiver has then to fetch from memory:
            // where a cache is shared, stores past it took a fourth of the writer's time for a
            // cell, and the message twice as long.
            self.past_caches = into > FAR && past * 3 < into;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(pace: &mut Pace, into: [u64; 2], past: [u64; 2]) {
        for (way, times) in [into, past].iter().enumerate() {
            pace.note(way == 1, true, times[0]);
            pace.note(way == 1, false, times[1]);
        }
    }

    #[test]
    fn the_quicker_way_is_taken_if_it_is_much_quicker() {
        let mut pace = Pace::default();
        timed(&mut pace, [9000, 8000], [1300, 1400]);
        assert!(pace.past_caches);
        timed(&mut pace, [500, 600], [1300, 1400]);
        assert!(!pace.past_caches);
        timed(&mut pace, [1000, 1000], [400, 400]);
        assert!(!pace.past_caches);
        timed(&mut pace, [140, 140], [25, 25]);
        assert!(!pace.past_caches, "the lines are near");
    }

    #[test]
    fn one_interrupt_decides_nothing() {
        let mut pace = Pace::default();
        timed(&mut pace, [500, 90_000], [1300, 1400]);
        assert!(!pace.past_caches);
        timed(&mut pace, [8000, 8000], [90_000, 1400]);
        assert!(pace.past_caches);
    }

    #[test]
    fn every_way_is_looked_at_again() {
        let mut pace = Pace::default();
        let mut past = 0;
        for _ in 0..3 * BETWEEN {
            pace.write(LEAST, |past_caches| past += u32::from(past_caches));
        }
        assert!(past >= 3 * TIMED);
        assert_eq!(pace.turn, 0);
        pace.write(LEAST - 1, |past_caches| assert!(!past_caches));
        assert_eq!(pace.turn, 0);
    }
}
