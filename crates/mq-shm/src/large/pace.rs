//! Which [way](Way) of writing is the quickest.
//!
//! Between two cores that share a cache, a line that the other one has read is written in tens of
//! cycles. Between cores that share only memory each such line takes hundreds, and a copy falls to
//! a tenth of its speed. The processor's instruction for copies, where it knows that it writes
//! whole lines, and stores past the caches take no notice of who has read the line, and go at the
//! speed of memory. Where the cores of a pair lie is for the system to say, and a virtual machine
//! moves them. So all ways are timed for each receiver, every now and then.
//!
//! That tells where the other core is, rather than which way is quicker for the message: the
//! writer's part, which alone it can time, is shorter past the caches everywhere.

use std::time::Instant;

use crate::copy::Way;

/// Copies between two looks at all ways. Messages of a power of two take as many copies, and lines
/// that this process has read last are near: a look is to come at another place each time.
const BETWEEN: u32 = 509;
/// Copies by which a way is timed. The shortest time counts: in the other one may be an interrupt.
const TIMED: u32 = 2;
/// Copies of a look.
const LOOK: u32 = TIMED * Way::ALL.len() as u32;
/// Looks one after the other that agree before lines are taken for near again.
const AGREED: u32 = 4;
/// Bytes of the shortest copy that is timed, and of the shortest that is not line by line: a
/// quarter of a cell or of a ring's buffer.
const LEAST: usize = 4096;

/// Picoseconds a byte from which on the other core's lines may be far, and are if the instruction
/// takes half of that at most. With a cache in common 17 to 145 were seen, in a ring and in cells,
/// and then the instruction takes as long; without one 138 and more, and the instruction 33.
const SLOW: u32 = 60;
/// The same, for stores past the caches, which take a fourth of the writer's time for a cell where
/// a cache is shared, and the message then twice as long, as the receiver has to fetch it from
/// memory: 16 nanoseconds a line. Without a cache in common a ring went at 2.3 GB/s on some
/// machines and cells at 1.5, which is 430 to 660.
const FAR: u32 = 250;

/// The times of all ways, and the one taken.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    way: Way,
    /// Copies since the last look began.
    turn: u32,
    /// Picoseconds a byte, in the order of [`Way::ALL`].
    took: [u32; Way::ALL.len()],
    /// Looks since the last that found lines far.
    near: u32,
}

impl Pace {
    /// Copies so many bytes; `write` does it, and is told in which way.
    #[inline]
    pub(crate) fn write(&mut self, bytes: usize, write: impl FnOnce(Way)) {
        if bytes < LEAST {
            return write(Way::Lines);
        }
        let turn = self.turn;
        self.turn += 1;
        if turn >= LOOK {
            write(self.way);
            if self.turn == BETWEEN {
                self.turn = 0;
            }
            return;
        }
        let start = Instant::now();
        write(Way::ALL[(turn / TIMED) as usize]);
        let took = start.elapsed().as_nanos() as u64;
        self.note(turn, took.saturating_mul(1000) / bytes as u64);
    }

    /// A byte took so long in a copy that is timed.
    fn note(&mut self, turn: u32, took: u64) {
        let took = u32::try_from(took).unwrap_or(u32::MAX);
        let least = &mut self.took[(turn / TIMED) as usize];
        *least = if turn.is_multiple_of(TIMED) {
            took
        } else {
            took.min(*least)
        };
        if turn + 1 == LOOK {
            self.choose();
        }
    }

    fn choose(&mut self) {
        let [lines, instruction, past] = self.took;
        let by_instruction = lines > SLOW && instruction < lines / 2;
        let past_caches = lines > FAR && past < lines / 3;
        // What the instruction has written is nearer to the receiver.
        let found = if past_caches && !(by_instruction && instruction / 3 <= past / 2) {
            Way::PastCaches
        } else if by_instruction {
            Way::Instruction
        } else {
            self.near += 1;
            if self.near < AGREED {
                return;
            }
            Way::Lines
        };
        if found != Way::Lines {
            self.near = 0;
        }
        self.way = found;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look, in which the ways take so long.
    fn look(pace: &mut Pace, times: [[u64; TIMED as usize]; 3]) -> Way {
        for (turn, took) in (0..).zip(times.concat()) {
            pace.note(turn, took);
        }
        pace.way
    }

    fn steady(pace: &mut Pace, times: [u64; 3]) -> Way {
        look(pace, times.map(|took| [took; TIMED as usize]))
    }

    #[test]
    fn another_way_is_taken_if_it_is_much_quicker() {
        for (times, way) in [
            ([8000, 8500, 1300], Way::PastCaches),
            ([560, 600, 1300], Way::Lines),
            ([1000, 900, 400], Way::Lines),
            // Near: only the writer's part is shorter.
            ([140, 130, 25], Way::Lines),
            ([22, 10, 20], Way::Lines),
            // Far, on a processor with a quick instruction.
            ([138, 33, 32], Way::Instruction),
            ([500, 40, 30], Way::Instruction),
            ([500, 100, 30], Way::PastCaches),
        ] {
            assert_eq!(steady(&mut Pace::default(), times), way, "{times:?}");
        }
    }

    #[test]
    fn one_interrupt_decides_nothing() {
        let mut pace = Pace::default();
        let one = [[500, 90_000], [480, 480], [1300, 1400]];
        assert_eq!(look(&mut pace, one), Way::Lines);
        let another = [[8000, 8000], [8000, 8000], [90_000, 1400]];
        assert_eq!(look(&mut pace, another), Way::PastCaches);
    }

    #[test]
    fn lines_are_near_again_when_some_looks_agree() {
        let mut pace = Pace::default();
        let (near, far) = ([22, 20, 20], [138, 33, 32]);
        assert_eq!(steady(&mut pace, far), Way::Instruction);
        for _ in 1..AGREED {
            assert_eq!(steady(&mut pace, near), Way::Instruction);
        }
        assert_eq!(steady(&mut pace, far), Way::Instruction);
        for _ in 1..AGREED {
            assert_eq!(steady(&mut pace, near), Way::Instruction);
        }
        assert_eq!(steady(&mut pace, near), Way::Lines);
        assert_eq!(steady(&mut pace, far), Way::Instruction);
    }

    #[test]
    fn every_way_is_looked_at_again() {
        let mut pace = Pace::default();
        let mut taken = [0; 3];
        for _ in 0..3 * BETWEEN {
            pace.write(LEAST, |way| taken[way as usize] += 1);
        }
        assert!(taken.iter().all(|&times| times >= 3 * TIMED), "{taken:?}");
        assert_eq!(pace.turn, 0);
        pace.write(LEAST - 1, |way| assert_eq!(way, Way::Lines));
        assert_eq!(pace.turn, 0);
    }
}
