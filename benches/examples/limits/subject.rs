//! Engines of one structure, driven by steps.

use std::hint::black_box;
use std::time::Instant;

use mq_core::mpi::MpiPattern;
use mq_core::structures::{Kind, KindVisitor};
use mq_core::{Arrive, ContextOptions, Engine, EngineOptions, Footprint, MatchQueues, Post};

use crate::stream::{Asked, Step};

/// What takes the steps of a stream.
pub(crate) trait Steps {
    /// Takes steps; returns how many matched.
    fn run(&mut self, steps: &[Step]) -> usize;
}

/// An engine of one structure with one communicator.
pub(crate) trait Subject: Steps {
    /// Takes steps, and says how many nanoseconds each took.
    fn run_one_by_one(&mut self, steps: &[Step], times: &mut Vec<u32>);
    /// Takes a step whose receive or message bears this number; the number of what it matched.
    fn numbered(&mut self, step: Step, number: u64) -> Option<u64>;
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
        match step.asked() {
            Asked::Post(pattern) => matches!(self.0.post(pattern, 1), Ok(Post::Matched { .. })),
            Asked::Arrive(envelope) => {
                matches!(self.0.arrive(envelope, 1), Ok(Arrive::Matched { .. }))
            }
        }
    }
}

impl<Q> Steps for Of<Q>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64>,
{
    fn run(&mut self, steps: &[Step]) -> usize {
        steps.iter().filter(|&&step| self.step(step)).count()
    }
}

impl<Q> Subject for Of<Q>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64> + Footprint,
{
    fn run_one_by_one(&mut self, steps: &[Step], times: &mut Vec<u32>) {
        for &step in steps {
            let start = Instant::now();
            black_box(self.step(step));
            times.push(u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX));
        }
    }

    fn numbered(&mut self, step: Step, number: u64) -> Option<u64> {
        match step.asked() {
            Asked::Post(pattern) => match self.0.post(pattern, number) {
                Ok(Post::Matched { message, .. }) => Some(message),
                _ => None,
            },
            Asked::Arrive(envelope) => match self.0.arrive(envelope, number) {
                Ok(Arrive::Matched { receive, .. }) => Some(receive),
                _ => None,
            },
        }
    }

    fn bytes(&self) -> usize {
        self.0.memory().total()
    }
}

struct Make {
    ranks: u32,
}

impl KindVisitor<MpiPattern, u64, u64> for Make {
    type Output = Box<dyn Subject>;

    fn visit<Q>(self) -> Box<dyn Subject>
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64> + Footprint + 'static,
    {
        let mut engine: Engine<Q> = Engine::with_options(EngineOptions::new());
        let created = engine.create_context(0, ContextOptions::new().size(self.ranks));
        assert!(created.is_ok(), "the first context");
        Box::new(Of(engine))
    }
}

/// An engine of structure `kind` with a communicator of so many ranks.
pub(crate) fn subject(kind: Kind, ranks: u32) -> Box<dyn Subject> {
    kind.accept(Make { ranks })
}
