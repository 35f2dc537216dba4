//! Running streams against the clock.

use std::hint::black_box;
use std::time::{Duration, Instant};

use mq_core::mpi::MpiPattern;
use mq_core::structures::{Kind, KindVisitor};
use mq_core::{Arrive, ContextOptions, Engine, EngineOptions, Footprint, MatchQueues, Post};

use crate::stream::{Step, Stream};

/// Ranks of the communicator.
pub(crate) const RANKS: u32 = 1 << 20;

/// A structure is not measured again if one measurement took this long: what it had done by then is its
/// only sample.
const TOO_LONG: Duration = Duration::from_millis(1500);

/// An engine of one structure, to be told steps.
pub(crate) trait Subject {
    /// Takes steps; returns how many matched.
    fn run(&mut self, steps: &[Step]) -> usize;
    /// Takes steps, and says how long each took.
    fn run_one_by_one(&mut self, steps: &[Step], times: &mut Vec<u32>);
    /// Heap bytes.
    fn bytes(&self) -> usize;
}

struct Of<Q: MatchQueues>(Engine<Q>);

impl<Q> Of<Q>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64>,
{
    #[inline(always)]
    fn step(&mut self, step: Step) -> bool {
        match step {
            Step::Post(pattern) => matches!(self.0.post(pattern, 1), Ok(Post::Matched { .. })),
            Step::Arrive(envelope) => {
                matches!(self.0.arrive(envelope, 1), Ok(Arrive::Matched { .. }))
            }
        }
    }
}

impl<Q> Subject for Of<Q>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64> + Footprint,
{
    fn run(&mut self, steps: &[Step]) -> usize {
        steps.iter().filter(|&&step| self.step(step)).count()
    }

    fn run_one_by_one(&mut self, steps: &[Step], times: &mut Vec<u32>) {
        for &step in steps {
            let start = Instant::now();
            black_box(self.step(step));
            times.push(u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX));
        }
    }

    fn bytes(&self) -> usize {
        self.0.memory().total()
    }
}

struct Make;

impl KindVisitor<MpiPattern, u64, u64> for Make {
    type Output = Box<dyn Subject>;

    fn visit<Q>(self) -> Box<dyn Subject>
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64> + Footprint + 'static,
    {
        let mut engine: Engine<Q> = Engine::with_options(EngineOptions::new());
        let created = engine.create_context(0, ContextOptions::new().size(RANKS));
        assert!(created.is_ok(), "the first context");
        Box::new(Of(engine))
    }
}

pub(crate) fn subject(kind: Kind) -> Box<dyn Subject> {
    kind.accept(Make)
}

/// Nanoseconds a pair.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) median: f64,
    pub(crate) best: f64,
}

/// The cost of a stream in each structure, which take turns.
pub(crate) fn measure(stream: &Stream, kinds: &[Kind], repeat: u32) -> Vec<Cost> {
    let mut subjects: Vec<_> = kinds.iter().map(|&kind| subject(kind)).collect();
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); kinds.len()];
    let mut too_long = vec![false; kinds.len()];
    for repetition in 0..=repeat {
        for (i, subject) in subjects.iter_mut().enumerate() {
            if too_long[i] {
                continue;
            }
            if repetition == 0 {
                subject.run(&stream.fill);
            }
            let start = Instant::now();
            for round in 0..stream.rounds {
                black_box(subject.run(&stream.steps));
                too_long[i] |= start.elapsed() > TOO_LONG;
                if too_long[i] {
                    let pairs = f64::from(round + 1) * stream.steps.len() as f64 / 2.0;
                    times[i] = vec![start.elapsed().as_nanos() as f64 / pairs];
                    break;
                }
            }
            // The first repetition warms up.
            if repetition > 0 && !too_long[i] {
                times[i].push(start.elapsed().as_nanos() as f64 / stream.pairs());
            }
        }
    }
    times.into_iter().map(cost).collect()
}

fn cost(mut times: Vec<f64>) -> Cost {
    times.sort_unstable_by(f64::total_cmp);
    let (best, median) = (times[0], times[times.len() / 2]);
    Cost { median, best }
}

/// A cost, as a table shows it: the median, and the best in brackets.
pub(crate) fn show(Cost { median, best }: Cost) -> String {
    format!("{} ({})", digits(median), digits(best))
}

pub(crate) fn digits(nanoseconds: f64) -> String {
    match nanoseconds {
        0.0..9.95 => format!("{nanoseconds:.1}"),
        _ => format!("{nanoseconds:.0}"),
    }
}
