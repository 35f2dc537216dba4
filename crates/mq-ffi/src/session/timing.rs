//! [`Timing`]: how long recording takes, from a sample of its operations.

use std::time::Duration;

/// So many operations at the beginning are all timed: one in [`SAMPLE`] of a short run says nothing.
const FIRST: u64 = 64;
/// Of the others, one in this many.
const SAMPLE: u64 = 64;
/// An operation counts as no more than this many of the usual ones. Those that write what is recorded take up to 50 of
/// them; a process that has lost its core for a while takes thousands, and one such sample would stand for
/// [`SAMPLE`].
const MOST: u64 = 64;

/// A sample of the times that operations took.
#[derive(Debug)]
pub(super) struct Timing {
    operations: u64,
    /// By the number of bits of their nanoseconds.
    classes: [Class; 64],
}

/// Operations that took about as long.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    /// How many operations the samples stand for.
    operations: u64,
    /// How long these took, if each took as long as its sample.
    nanos: u64,
}

/// What all operations took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Estimate {
    pub(super) time: Duration,
    /// Whether a sample was so long that it was counted as less.
    pub(super) is_cut: bool,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            operations: 0,
            classes: [Class::default(); 64],
        }
    }
}

impl Timing {
    /// One more operation, which has just ended; `took` is asked only if it is timed.
    pub(super) fn operation(&mut self, took: impl FnOnce() -> Duration) {
        self.operations += 1;
        let stands_for = match self.operations {
            ..=FIRST => 1,
            later if later % SAMPLE == 1 => SAMPLE,
            _ => return,
        };
        let nanos = u64::try_from(took().as_nanos()).unwrap_or(u64::MAX).max(1);
        let class = &mut self.classes[nanos.ilog2() as usize];
        class.operations += stands_for;
        class.nanos = class.nanos.saturating_add(nanos.saturating_mul(stands_for));
    }

    pub(super) fn estimate(&self) -> Estimate {
        let timed: u64 = self.classes.iter().map(|class| class.operations).sum();
        let limit = self.usual(timed).saturating_mul(MOST);
        let most = |class: &Class| class.operations.saturating_mul(limit);
        let is_cut = self.classes.iter().any(|class| class.nanos > most(class));
        let counted = self
            .classes
            .iter()
            .map(|class| class.nanos.min(most(class)));
        let nanos = counted.fold(0, u64::saturating_add);
        // The last sample may stand for operations that have not come.
        let part = u128::from(self.operations) * u128::from(nanos) / u128::from(timed.max(1));
        Estimate {
            time: Duration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX)),
            is_cut,
        }
    }

    /// The nanoseconds of an operation in the middle of them all, ordered by their times.
    fn usual(&self, timed: u64) -> u64 {
        let mut shorter = 0;
        let middle = self.classes.iter().find(|class| {
            shorter += class.operations;
            2 * shorter >= timed
        });
        middle.map_or(0, |class| class.nanos / class.operations.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The estimate for operations that take these nanoseconds, by their numbers from 1.
    fn estimated(operations: u64, takes: impl Fn(u64) -> u64) -> (u64, bool) {
        let mut timing = Timing::default();
        for number in 1..=operations {
            timing.operation(|| Duration::from_nanos(takes(number)));
        }
        let Estimate { time, is_cut } = timing.estimate();
        (time.as_nanos().try_into().unwrap(), is_cut)
    }

    #[test]
    fn operations_that_take_alike_are_counted_exactly() {
        assert_eq!(estimated(0, |_| 100), (0, false));
        for operations in [1, 64, 65, 66, 128, 1_000_001] {
            assert_eq!(estimated(operations, |_| 100), (100 * operations, false));
        }
    }

    #[test]
    fn a_few_operations_are_all_timed() {
        let sum = (1..=FIRST).map(|number| 100 + number).sum();
        assert_eq!(estimated(FIRST, |number| 100 + number), (sum, false));
    }

    #[test]
    fn writes_between_the_operations_count_in_full() {
        let takes = |number| if number % 9 == 0 { 5_000 } else { 200 };
        let (nanos, is_cut) = estimated(900_000, takes);
        let truth = 100_000 * 5_000 + 800_000 * 200;
        assert!(!is_cut);
        assert!(nanos.abs_diff(truth) < truth / 100, "{nanos}, not {truth}");
    }

    #[test]
    fn one_interruption_does_not_count_for_all_operations() {
        for at in [1, 7, 64, 65, 6_401] {
            let takes = |number| if number == at { 4_000_000 } else { 200 };
            let (nanos, is_cut) = estimated(10_000, takes);
            assert!(is_cut);
            assert!(nanos < 2 * 10_000 * 200, "{nanos} with one at {at}");
        }
    }
}
