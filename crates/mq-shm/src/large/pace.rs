//! Which [way](Way) of copying is the fastest, into shared memory and out of it.
//!
//! Between two cores that share a cache, a line that the other core has read is written in tens of
//! cycles. Between cores that share only memory each such line takes hundreds, and a copy falls to
//! a tenth of its speed. The processor's copy instruction, if it knows that it writes whole lines,
//! and non-temporal stores are unaffected by readers of the line, and run at the speed of memory.
//! On some processors that instruction is also the faster way between near cores, and for reading;
//! on others it is slow with lines that another core has.
//!
//! The system decides where the cores of a pair lie, and a virtual machine moves them. So the
//! writer times all ways for each pair, every now and then, and the reader all but the last: nothing is
//! read past the caches. Each can time only its own part.

use std::time::Instant;

use crate::copy::Way;

/// Copies between two rounds of timing. Messages of a power of two take as many copies, and lines
/// that this process has read last are near: each round must come at another place.
const BETWEEN: u32 = 509;
/// Copies by which a way is timed. The shortest time counts: the other may include an interrupt.
const TIMED: u32 = 2;
/// The length of the shortest copy that is timed, and of the shortest that is not done line by
/// line: a buffer of a ring, a fifth of a cell.
const LEAST_BYTES: usize = 4096;

/// Picoseconds per byte by lines from which on the other core counts as far. With a shared cache 17
/// to 45 were seen in a ring, and up to 145 in cells on a slower processor; without one 138 and
/// more.
const FAR_PS_PER_BYTE: u32 = 60;
/// The same, from which on non-temporal stores may be used. The receiver has to fetch from memory
/// what they have stored: with a shared cache they take a fourth of the writer's time for a cell,
/// and the message takes twice as long. Without a shared cache a ring ran at 2.3 GB/s on some
/// processors and cells at 1.5, which is 430 to 660.
const VERY_FAR_PS_PER_BYTE: u32 = 250;
/// Consecutive rounds that find lines the fastest before lines are used again.
const AGREED: u32 = 4;

/// How long a byte takes, measured now and then, in each of the first ways of [`Way::ALL`].
#[derive(Debug, Clone, Copy)]
struct Look<const WAYS: usize> {
    /// Copies since the last round began.
    turn: u32,
    /// Picoseconds per byte.
    took: [u32; WAYS],
}

impl<const WAYS: usize> Default for Look<WAYS> {
    fn default() -> Self {
        Self {
            turn: 0,
            took: [0; WAYS],
        }
    }
}

impl<const WAYS: usize> Look<WAYS> {
    /// Copies in a round.
    const COPIES: u32 = TIMED * WAYS as u32;

    /// Copies this many bytes: `copy` does it, in the `usual` way if none is being timed. Returns
    /// whether it was the last copy of a round.
    #[inline]
    fn copy(&mut self, usual: Way, bytes: usize, copy: impl FnOnce(Way)) -> bool {
        if bytes < LEAST_BYTES {
            copy(Way::Lines);
            return false;
        }
        let turn = self.turn;
        self.turn += 1;
        if turn >= Self::COPIES {
            copy(usual);
            if self.turn == BETWEEN {
                self.turn = 0;
            }
            return false;
        }
        let start = Instant::now();
        copy(Way::ALL[(turn / TIMED) as usize]);
        let took = start.elapsed().as_nanos() as u64;
        self.note(turn, took.saturating_mul(1000) / bytes as u64)
    }

    /// Records how long a byte took in a copy that is timed.
    fn note(&mut self, turn: u32, took: u64) -> bool {
        let took = u32::try_from(took).unwrap_or(u32::MAX);
        let least = &mut self.took[(turn / TIMED) as usize];
        *least = if turn.is_multiple_of(TIMED) {
            took
        } else {
            took.min(*least)
        };
        turn + 1 == Self::COPIES
    }
}

/// How one process writes for another.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WritePace {
    look: Look<3>,
    way: Way,
    /// Rounds since the last that found a way other than lines.
    by_lines: u32,
}

impl WritePace {
    /// Copies this many bytes; `write` does it in the given way.
    #[inline]
    pub(crate) fn write(&mut self, bytes: usize, write: impl FnOnce(Way)) {
        if self.look.copy(self.way, bytes, write) {
            self.choose();
        }
    }

    /// Whether the other core shares no cache with this one, or did not lately.
    #[inline]
    pub(crate) fn is_far(&self) -> bool {
        self.way != Way::Lines && self.look.took[Way::Lines as usize] > FAR_PS_PER_BYTE
    }

    fn choose(&mut self) {
        let [lines, instruction, past] = self.look.took;
        let by_instruction = instruction < lines - lines / 8;
        let past_caches = lines > VERY_FAR_PS_PER_BYTE && past < lines / 3;
        // What the instruction has written is nearer to the receiver.
        let found = if past_caches && !(by_instruction && instruction / 3 <= past / 2) {
            Way::PastCaches
        } else if by_instruction {
            Way::Instruction
        } else {
            self.by_lines = AGREED.min(self.by_lines + 1);
            if self.by_lines < AGREED {
                return;
            }
            Way::Lines
        };
        if found != Way::Lines {
            self.by_lines = 0;
        }
        self.way = found;
    }
}

/// How one process reads what another has written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadPace {
    look: Look<2>,
    way: Way,
}

impl ReadPace {
    /// Copies this many bytes; `read` does it in the given way.
    #[inline]
    pub(crate) fn read(&mut self, bytes: usize, read: impl FnOnce(Way)) {
        if self.look.copy(self.way, bytes, read) {
            let [lines, instruction] = self.look.took;
            self.way = if instruction <= lines {
                Way::Instruction
            } else {
                Way::Lines
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round in which the ways take this long.
    fn look(pace: &mut WritePace, times: [[u64; TIMED as usize]; 3]) -> Way {
        for (turn, took) in (0..).zip(times.concat()) {
            if pace.look.note(turn, took) {
                pace.choose();
            }
        }
        pace.way
    }

    fn steady(pace: &mut WritePace, times: [u64; 3]) -> Way {
        look(pace, times.map(|took| [took; TIMED as usize]))
    }

    #[test]
    fn another_way_of_writing_is_taken_if_it_is_quicker() {
        for (times, way, far) in [
            ([8000, 8500, 1300], Way::PastCaches, true),
            ([560, 600, 1300], Way::Lines, false),
            ([1000, 900, 400], Way::Lines, false),
            // Near: with non-temporal stores only the writer's part is shorter.
            ([140, 130, 25], Way::Lines, false),
            ([22, 21, 20], Way::Lines, false),
            ([22, 14, 20], Way::Instruction, false),
            // Far, on a processor with a fast instruction.
            ([138, 33, 32], Way::Instruction, true),
            ([500, 40, 30], Way::Instruction, true),
            ([500, 100, 30], Way::PastCaches, true),
        ] {
            let mut pace = WritePace::default();
            assert_eq!(steady(&mut pace, times), way, "{times:?}");
            assert_eq!(pace.is_far(), far, "{times:?}");
        }
    }

    #[test]
    fn one_interrupt_decides_nothing() {
        let mut pace = WritePace::default();
        let one = [[500, 90_000], [480, 480], [1300, 1400]];
        assert_eq!(look(&mut pace, one), Way::Lines);
        let another = [[8000, 8000], [8000, 8000], [90_000, 1400]];
        assert_eq!(look(&mut pace, another), Way::PastCaches);
    }

    #[test]
    fn lines_are_taken_again_when_some_looks_agree() {
        let mut pace = WritePace::default();
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
        let mut pace = WritePace::default();
        let mut taken = [0; 3];
        for _ in 0..3 * BETWEEN {
            pace.write(LEAST_BYTES, |way| taken[way as usize] += 1);
        }
        assert!(taken.iter().all(|&times| times >= 3 * TIMED), "{taken:?}");
        assert_eq!(pace.look.turn, 0);
        pace.write(LEAST_BYTES - 1, |way| assert_eq!(way, Way::Lines));
        assert_eq!(pace.look.turn, 0);
    }

    #[test]
    fn what_is_read_is_not_read_past_the_caches() {
        let mut pace = ReadPace::default();
        let mut taken = [0; 3];
        for _ in 0..3 * BETWEEN {
            pace.read(LEAST_BYTES, |way| taken[way as usize] += 1);
        }
        assert!(taken[0] >= 3 * TIMED && taken[1] >= 3 * TIMED && taken[2] == 0);
        for (slower, way) in [
            (Way::Lines, Way::Instruction),
            (Way::Instruction, Way::Lines),
        ] {
            let mut pace = ReadPace::default();
            for _ in 0..Look::<2>::COPIES {
                pace.read(LEAST_BYTES, |way| {
                    if way == slower {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                });
            }
            assert_eq!(pace.way, way);
        }
    }
}
