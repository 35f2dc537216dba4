//! The cost of filling and draining a queue for a structure that is too slow to do it once.
//!
//! The state in the middle of a drain is reached by filling a new queue with the entries that would be
//! left. So evenly spaced parts of the drain are timed, and the mean of their means stands for the
//! whole. It equals that of the whole if the cost of a search falls evenly with the entries left, as for
//! a list.

use std::hint::black_box;
use std::time::{Duration, Instant};

use mq_core::structures::Kind;

use crate::stream::Step;
use crate::subject::subject;

/// Parts of a drain that are timed.
const PARTS: usize = 8;

/// Steps of a part before the clock runs: a structure that changes with the first long search has
/// changed.
const WARM: usize = 8;

/// A queue that is filled, then drained.
pub(crate) struct Drain {
    filling: Vec<Step>,
    draining: Vec<Step>,
    /// For each entry the step of the drain that takes it.
    taken_by: Vec<usize>,
}

impl Drain {
    /// The steps of a queue filled and drained, and which step takes which entry: the same in any
    /// structure.
    pub(crate) fn of(steps: &[Step], ranks: u32) -> Self {
        let (filling, draining) = steps.split_at(steps.len() / 2);
        let mut judge = subject(Kind::Indexed, ranks);
        for (number, &step) in (0..).zip(filling) {
            assert_eq!(judge.numbered(step, number), None, "nothing matches yet");
        }
        let mut taken_by = vec![0; filling.len()];
        for (i, &step) in draining.iter().enumerate() {
            let taken = judge.numbered(step, 0).expect("a queue that is drained");
            taken_by[usize::try_from(taken).expect("a number of an entry")] = i;
        }
        Self {
            filling: filling.to_vec(),
            draining: draining.to_vec(),
            taken_by,
        }
    }

    /// The entries that are left when so many have been taken, in the order in which they were
    /// queued.
    fn left(&self, taken: usize) -> Vec<Step> {
        let entries = self.filling.iter().zip(&self.taken_by);
        let left = entries.filter(|&(_, &by)| by >= taken);
        left.map(|(&step, _)| step).collect()
    }
}

/// Nanoseconds of a pair in a communicator of so many ranks, measured within about so long.
pub(crate) fn cost_of_parts(kind: Kind, ranks: u32, drain: &Drain, allowance: Duration) -> f64 {
    let part = drain.draining.len() / PARTS;
    let (mut entries, mut filled) = (0, Duration::ZERO);
    let mut means = 0.0;
    for i in 0..PARTS {
        let taken = i * part + part / 2;
        let mut subject = subject(kind, ranks);
        let left = drain.left(taken);
        let start = Instant::now();
        black_box(subject.run(&left));
        filled += start.elapsed();
        entries += left.len();
        let (warm, timed) = drain.draining[taken..taken + part / 2].split_at(WARM.min(part / 4));
        subject.run(warm);
        let start = Instant::now();
        let mut done = 0;
        for steps in timed.chunks(WARM) {
            done += subject.run(steps);
            if start.elapsed() > allowance / PARTS as u32 {
                break;
            }
        }
        means += start.elapsed().as_nanos() as f64 / done as f64;
    }
    filled.as_nanos() as f64 / entries as f64 + means / PARTS as f64
}
