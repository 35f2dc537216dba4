//! Timing structures in turn, so that a slow spell of the machine affects all of them alike.

use std::time::Duration;

use indicatif::ProgressBar;
use mq_core::structures::Choice;
use mq_trace::{Floor, Replay, Trace, timed};

/// A repetition that takes longer is slow, and its structure gets [`FEWEST`] of them.
const SLOW: Duration = Duration::from_secs(2);
/// A structure whose repetition takes longer gets a single one, which shows no spread.
pub(crate) const SLOWEST: Duration = Duration::from_secs(30);
/// The fewest repetitions of the loop floor.
const FLOORS: usize = 5;
/// The fewest repetitions that show a spread: fewer have no quartiles.
pub(crate) const FEWEST: usize = 4;

/// The times of one trace.
pub(crate) struct Timings {
    /// The loop without a structure, its shortest repetition: what makes others longer is noise, which the structures'
    /// times have too.
    pub(crate) floor: Duration,
    /// The structures, in the order asked for.
    pub(crate) structures: Vec<(Choice, Timing)>,
}

/// The time of one structure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Timing {
    /// The median repetition.
    pub(crate) median: Duration,
    /// A quarter of the repetitions took no longer than the first, a quarter no less than the
    /// second.
    pub(crate) quartiles: (Duration, Duration),
    /// Repetitions timed.
    pub(crate) repetitions: usize,
}

impl Timing {
    /// Nanoseconds per operation; 0 for an empty trace.
    pub(crate) fn ns_per_op(&self, operations: usize) -> f64 {
        ns_per_op(self.median, operations)
    }

    /// Spread of the repetitions around the median in nanoseconds per operation: half of the interquartile
    /// range. None if there are fewer than [`FEWEST`].
    pub(crate) fn spread_ns_per_op(&self, operations: usize) -> Option<f64> {
        let between = self.quartiles.1 - self.quartiles.0;
        let enough = self.repetitions >= FEWEST;
        enough.then(|| ns_per_op(between, operations) / 2.0)
    }
}

/// Nanoseconds per operation, given the time of all; 0 for none.
pub(crate) fn ns_per_op(time: Duration, operations: usize) -> f64 {
    if operations == 0 {
        return 0.0;
    }
    time.as_secs_f64() * 1e9 / operations as f64
}

/// Times structures, `repetitions` times each after one warm-up; slow ones less often.
///
/// `progress` advances by 1 for each repetition or warm-up, left-out ones included.
pub(crate) fn measure(
    trace: &Trace,
    choices: &[Choice],
    repetitions: usize,
    progress: &ProgressBar,
) -> Timings {
    // The shortest counts, and is subtracted from all the others.
    let floors = repetitions.max(FLOORS);
    let mut floor = Series::new(Box::new(Floor::new(trace)), floors, progress);
    (repetitions..floors).for_each(|_| floor.repeat());
    let series = |choice: &Choice| Series::new(timed(trace, choice.clone()), repetitions, progress);
    let mut series: Vec<(&Choice, Series<'_>)> = choices
        .iter()
        .map(|choice| (choice, series(choice)))
        .collect();
    for _ in 0..repetitions {
        floor.repeat();
        progress.inc(1);
        for (_, series) in &mut series {
            series.repeat();
            progress.inc(1);
        }
    }
    Timings {
        floor: floor.shortest(),
        structures: series
            .into_iter()
            .map(|(choice, series)| (choice.clone(), series.timing()))
            .collect(),
    }
}

/// The repetitions of one structure.
struct Series<'a> {
    replay: Box<dyn Replay + 'a>,
    wanted: usize,
    taken: Vec<Duration>,
}

impl<'a> Series<'a> {
    /// Warms up, which also shows how slow the structure is.
    fn new(mut replay: Box<dyn Replay + 'a>, repetitions: usize, progress: &ProgressBar) -> Self {
        let warm_up = replay.repetition();
        progress.inc(1);
        Self {
            replay,
            wanted: affordable(warm_up, repetitions),
            taken: Vec::with_capacity(repetitions),
        }
    }

    fn repeat(&mut self) {
        if self.taken.len() < self.wanted {
            self.taken.push(self.replay.repetition());
        }
    }

    fn shortest(self) -> Duration {
        self.taken.into_iter().min().unwrap_or_default()
    }

    fn timing(mut self) -> Timing {
        self.taken.sort_unstable();
        let median = median(&self.taken, |one, other| (one + other) / 2);
        Timing {
            median: median.unwrap_or_default(),
            quartiles: quartiles(&self.taken),
            repetitions: self.taken.len(),
        }
    }
}

/// The number of repetitions of something whose repetition takes `one`.
fn affordable(one: Duration, repetitions: usize) -> usize {
    let most = if one <= SLOW {
        repetitions
    } else if one <= SLOWEST {
        FEWEST
    } else {
        1
    };
    repetitions.min(most)
}

/// The middle of sorted values, or the mean of the two in the middle; none if there are no values.
pub(crate) fn median<T: Copy>(sorted: &[T], mean: impl FnOnce(T, T) -> T) -> Option<T> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len().is_multiple_of(2) {
        Some(mean(sorted[middle - 1], upper))
    } else {
        Some(upper)
    }
}

/// The first and the last of the middle half of sorted times: a quarter of them, rounded down, is before the first, and
/// as many are after the last.
fn quartiles(times: &[Duration]) -> (Duration, Duration) {
    let below = times.len() / 4;
    let lower = times.get(below).copied().unwrap_or_default();
    let upper = times.iter().nth_back(below).copied().unwrap_or_default();
    (lower, upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let median = |sorted: &[u64]| median(sorted, u64::midpoint);
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1, 5, 9]), Some(5));
        assert_eq!(median(&[1, 3, 5, 9]), Some(4));
    }

    #[test]
    fn half_of_the_repetitions_are_between_the_quartiles() {
        let quartiles = |sorted: &[u64]| {
            let times: Vec<_> = sorted.iter().map(|&ms| Duration::from_millis(ms)).collect();
            let (lower, upper) = quartiles(&times);
            (lower.as_millis(), upper.as_millis())
        };
        assert_eq!(quartiles(&[]), (0, 0));
        assert_eq!(quartiles(&[7]), (7, 7));
        assert_eq!(quartiles(&[1, 5, 9]), (1, 9));
        assert_eq!(quartiles(&[1, 5, 6, 20]), (5, 6));
        assert_eq!(quartiles(&[1, 2, 3, 4, 5, 6, 7, 8]), (3, 6));
    }

    #[test]
    fn few_repetitions_do_not_tell_by_how_much_they_differ() {
        let spread = |repetitions| {
            let timing = Timing {
                median: Duration::from_nanos(400),
                quartiles: (Duration::from_nanos(300), Duration::from_nanos(500)),
                repetitions,
            };
            timing.spread_ns_per_op(10)
        };
        assert_eq!((spread(1), spread(FEWEST - 1)), (None, None));
        let known = spread(FEWEST).expect("they are enough");
        assert!((known - 10.0).abs() < 1e-9, "{known}");
    }

    #[test]
    fn slow_structures_are_repeated_less_often() {
        let wanted = |millis| affordable(Duration::from_millis(millis), 15);
        assert_eq!((wanted(1), wanted(2000)), (15, 15));
        let slow = [2001, 6000, 30_000].map(wanted);
        assert_eq!(slow, [FEWEST; 3], "enough to show a spread");
        assert_eq!(wanted(30_001), 1);
        assert_eq!(affordable(Duration::from_secs(3), 1), 1);
    }

    #[test]
    fn nothing_takes_no_time() {
        let trace = Trace::from_lines("empty", &[]);
        let timings = measure(&trace, &[Choice::default()], 3, &ProgressBar::hidden());
        let (choice, timing) = &timings.structures[0];
        assert_eq!((choice, timing.repetitions), (&Choice::default(), 3));
        assert!(timing.ns_per_op(trace.operations().len()).abs() < f64::EPSILON);
    }
}
