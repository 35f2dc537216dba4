//! Timed replays: between two clock readings, the operations of a trace and nothing else.

use std::hint::black_box;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use mq_core::mpi::MpiPattern;
use mq_core::structures::{Choice, KindVisitor};
use mq_core::{Arrive, Engine, EngineOptions, Footprint, Handle, MatchQueues, Post, Tuning};

use crate::check::tuning_for;
use crate::trace::{Operation, Trace};

/// The payload of receives and messages in a timed replay: a word that is never 0, like the pointers
/// that libraries use.
pub type Payload = NonZeroU64;

/// Something that replays a trace and returns the time it took.
pub trait Replay {
    /// Replays the whole trace from empty queues.
    ///
    /// Emptying the queues and forgetting what was learned are not timed; memory stays allocated,
    /// as in a program that has run for a while.
    fn repetition(&mut self) -> Duration;
}

/// Timed replays through a structure, compiled for it: no branch on the kind is timed.
pub struct Timed<'a, Q: MatchQueues> {
    operations: &'a [Operation],
    engine: Engine<Q>,
    handles: Kept,
}

/// The handles of the receives that a trace cancels, as a library has them in its requests. Those of others are not
/// kept: among millions of receives a few may be cancelled, and many structures are timed in turn.
#[derive(Debug)]
pub(crate) struct Kept(Vec<(u32, Handle)>);

impl Kept {
    /// None yet, with room for all of these operations.
    pub(crate) fn with_room_for(operations: &[Operation]) -> Self {
        let cancelled = operations.iter().filter(|operation| {
            matches!(
                **operation,
                Operation::Post {
                    cancelled: true,
                    ..
                }
            )
        });
        Self(Vec::with_capacity(cancelled.count()))
    }

    /// Receives come in the order of their numbers.
    pub(crate) fn keep(&mut self, receive: u32, handle: Handle) {
        self.0.push((receive, handle));
    }

    /// The handle of a receive, if it was queued.
    pub(crate) fn of(&self, receive: u32) -> Option<Handle> {
        let at = self.0.binary_search_by_key(&receive, |&(kept, _)| kept);
        at.ok().map(|at| self.0[at].1)
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// Timed replays of `trace` through a structure, chosen as for [`check()`](crate::check()).
pub fn timed<'a>(trace: &'a Trace, structure: impl Into<Choice>) -> Box<dyn Replay + 'a> {
    let choice = structure.into();
    let tuning = tuning_for(trace, &choice);
    choice.kind().accept(Maker { trace, tuning })
}

struct Maker<'a> {
    trace: &'a Trace,
    tuning: Tuning,
}

impl<'a> KindVisitor<MpiPattern, Payload, Payload> for Maker<'a> {
    type Output = Box<dyn Replay + 'a>;

    fn visit<Q>(self) -> Self::Output
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = Payload, Message = Payload>
            + Footprint
            + 'static,
    {
        let options = EngineOptions::new().tuning(self.tuning);
        Box::new(Timed::<Q>::new(self.trace, options))
    }
}

impl<'a, Q> Timed<'a, Q>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = Payload, Message = Payload>,
{
    /// Replays of `trace` through an engine made with `options`.
    #[must_use]
    pub fn new(trace: &'a Trace, options: EngineOptions<Payload>) -> Self {
        let mut engine = Engine::with_options(options);
        let created = trace.create_contexts(&mut engine);
        created.expect("a new engine has no contexts");
        Self {
            operations: trace.operations(),
            engine,
            handles: Kept::with_room_for(trace.operations()),
        }
    }

    /// All operations, once.
    #[inline(never)]
    pub fn replay(&mut self) {
        self.handles.clear();
        let (mut receives, mut messages) = (Payload::MIN, Payload::MIN);
        for operation in self.operations {
            match *operation {
                Operation::Post { pattern, cancelled } => {
                    let post = self.engine.post(pattern, receives);
                    if cancelled && let Ok(Post::Queued(handle)) = post {
                        self.remember(receives, handle);
                    }
                    receives = receives.saturating_add(1);
                    black_box(
                        matches!(post, Ok(Post::Matched { message, .. }) if message > Payload::MIN),
                    );
                }
                Operation::Arrive { envelope } => {
                    let arrival = self.engine.arrive(envelope, messages);
                    messages = messages.saturating_add(1);
                    black_box(
                        matches!(arrival, Ok(Arrive::Matched { receive, .. }) if receive > Payload::MIN),
                    );
                }
                Operation::Probe { pattern } => {
                    black_box(self.engine.probe(&pattern).is_ok_and(|seen| seen.is_some()));
                }
                Operation::Cancel { receive } => self.cancel(receive),
            }
        }
    }

    #[inline(never)]
    fn remember(&mut self, receive: Payload, handle: Handle) {
        if let Ok(receive) = u32::try_from(receive.get() - 1) {
            self.handles.keep(receive, handle);
        }
    }

    #[inline(never)]
    fn cancel(&mut self, receive: u32) {
        if let Some(handle) = self.handles.of(receive) {
            black_box(self.engine.cancel(handle));
        }
    }
}

impl<Q: MatchQueues> core::fmt::Debug for Timed<'_, Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Timed")
            .field("operations", &self.operations.len())
            .finish_non_exhaustive()
    }
}

impl<Q> Replay for Timed<'_, Q>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = Payload, Message = Payload>,
{
    fn repetition(&mut self) -> Duration {
        self.engine.clear();
        let start = Instant::now();
        self.replay();
        start.elapsed()
    }
}

/// The same loop without an engine: its time is subtracted from the others.
#[derive(Debug)]
pub struct Floor<'a>(&'a [Operation]);

impl<'a> Floor<'a> {
    /// The loop over the operations of `trace`.
    #[must_use]
    pub fn new(trace: &'a Trace) -> Self {
        Self(trace.operations())
    }

    /// All operations, once.
    #[inline(never)]
    pub fn replay(&mut self) {
        let (mut receives, mut messages) = (Payload::MIN, Payload::MIN);
        for operation in self.0 {
            match *operation {
                Operation::Post { pattern, cancelled } => {
                    black_box((&pattern, receives, cancelled));
                    receives = receives.saturating_add(1);
                }
                Operation::Arrive { envelope } => {
                    black_box((&envelope, messages));
                    messages = messages.saturating_add(1);
                }
                Operation::Probe { pattern } => {
                    black_box(&pattern);
                }
                Operation::Cancel { receive } => {
                    black_box(receive);
                }
            }
        }
    }
}

impl Replay for Floor<'_> {
    fn repetition(&mut self) -> Duration {
        let start = Instant::now();
        self.replay();
        start.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use mq_core::structures::Indexed;

    use super::*;
    use crate::TraceReader;

    #[test]
    fn what_a_trace_cancels_is_not_left_in_the_queues() {
        let text = "# mqtrace 1\nc 0 2 0\np 0 1 3\np 0 1 4\np 0 1 5\nx 2\nx 0\n";
        let trace = Trace::read(TraceReader::new("cancels", text.as_bytes()).expect("a header"));
        let trace = trace.expect("valid");
        let mut timed =
            Timed::<Indexed<MpiPattern, Payload, Payload>>::new(&trace, EngineOptions::new());
        for _ in 0..2 {
            timed.repetition();
            assert_eq!(timed.engine.posted_len(), 1, "of three two were cancelled");
            assert_eq!(timed.handles.0.len(), 2, "others need no handle");
        }
    }

    /// As the help of `mq` says.
    #[test]
    fn a_receive_that_is_cancelled_takes_24_bytes() {
        assert_eq!(size_of::<(u32, Handle)>(), 24);
    }
}
