//! When deaths are looked for where nobody rests.

use std::time::{Duration, Instant};

/// When a process that does not rest looks for deaths: one that only polls (`test`, `iprobe`), or that gets
/// messages all the time. A process that rests does it there.
#[derive(Debug)]
pub(crate) struct RollCall {
    /// Rounds since the last look at the clock.
    rounds: u32,
    last: Instant,
}

impl RollCall {
    /// Rounds between two looks at the clock, which takes as long as one or two of them.
    const ROUNDS: u32 = 64;
    const EVERY: Duration = Duration::from_millis(20);

    /// One more round; returns whether it is time.
    #[inline(always)]
    pub(crate) fn tick(&mut self) -> bool {
        self.tick_by(1)
    }

    /// So many more rounds.
    #[inline(always)]
    pub(crate) fn tick_by(&mut self, rounds: u32) -> bool {
        self.rounds += rounds;
        self.rounds >= Self::ROUNDS && self.ask_the_clock()
    }

    #[cold]
    #[inline(never)]
    fn ask_the_clock(&mut self) -> bool {
        self.rounds = 0;
        let due = self.last.elapsed() >= Self::EVERY;
        if due {
            self.last = Instant::now();
        }
        due
    }
}

impl Default for RollCall {
    fn default() -> Self {
        Self {
            rounds: 0,
            last: Instant::now(),
        }
    }
}
