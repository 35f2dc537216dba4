//! [`check()`]: replays a trace through a structure and compares every pairing.

use core::ops::ControlFlow;
use std::sync::Arc;

use mq_core::mpi::MpiPattern;
use mq_core::structures::{Choice, Kind, KindVisitor};
use mq_core::{Arrive, Engine, EngineOptions, Footprint, MatchQueues, Post, Tuning, Visits};

use crate::mismatch::Mismatch;
use crate::replay::Kept;
use crate::trace::{Operation, Trace};

/// What a checking replay found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Operations replayed.
    pub operations: usize,
    /// Operations whose outcome differs from the recorded one.
    pub mismatches: usize,
    /// The first of them.
    pub first_mismatch: Option<Mismatch>,
    /// Entries and objects visited, in all searches.
    pub visits: Visits,
    /// Searches of the posted queue.
    pub posted_searches: u64,
    /// Searches of the unexpected queue.
    pub unexpected_searches: u64,
    /// The most posted receives queued at a time, in all communicators.
    pub max_posted: usize,
    /// The most unexpected messages queued at a time, in all communicators.
    pub max_unexpected: usize,
    /// The most heap bytes the queues held at a time.
    pub peak_bytes: usize,
    /// Heap bytes held when the trace ended.
    pub final_bytes: usize,
}

/// The state of the queues after one operation, for plots and tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Sample {
    /// The operation's number, from 0.
    pub operation: usize,
    /// Posted receives queued, in all communicators.
    pub posted: usize,
    /// Unexpected messages queued, in all communicators.
    pub unexpected: usize,
    /// Posted receives that the operation's search compared.
    pub posted_visited: u64,
    /// Unexpected messages that the operation's search compared.
    pub unexpected_visited: u64,
    /// What the operation matched.
    pub matched: Option<u32>,
}

impl Report {
    /// Entries a search of the posted queue compared on average.
    #[must_use]
    pub fn mean_posted_visited(&self) -> f64 {
        mean(self.visits.posted, self.posted_searches)
    }

    /// Entries a search of the unexpected queue compared on average.
    #[must_use]
    pub fn mean_unexpected_visited(&self) -> f64 {
        mean(self.visits.unexpected, self.unexpected_searches)
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
fn mean(sum: u64, count: u64) -> f64 {
    if count == 0 {
        0.0
    } else {
        sum as f64 / count as f64
    }
}

/// Replays a trace through a structure, and compares every pairing with the recorded one.
///
/// The structure is a [`Kind`], with the papers' parameters, or a [`Choice`] of both. For `clusters`
/// without a profile it is the trace's own.
pub fn check(trace: &Trace, structure: impl Into<Choice>) -> Report {
    check_with(trace, structure, &mut |_| ())
}

/// [`check()`], showing the queues after every operation.
pub fn check_with(
    trace: &Trace,
    structure: impl Into<Choice>,
    observer: &mut dyn FnMut(Sample),
) -> Report {
    let whole = check_while(trace, &structure.into(), &mut |sample| {
        observer(sample);
        ControlFlow::Continue(())
    });
    whole.unwrap_or_default()
}

/// [`check()`], unless the searches compare more than `most` entries: then nothing. A queue that a structure does not
/// divide costs it the square of the queue's length, which few can wait for.
///
/// # Cost
/// At most one search more than was allowed.
pub fn check_within(trace: &Trace, structure: impl Into<Choice>, most: u64) -> Option<Report> {
    let mut left = most;
    check_while(trace, &structure.into(), &mut |sample| match left
        .checked_sub(sample.posted_visited + sample.unexpected_visited)
    {
        Some(less) => {
            left = less;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    })
}

/// [`check_with`], until the observer ends it.
fn check_while(trace: &Trace, choice: &Choice, observer: &mut Observer<'_>) -> Option<Report> {
    let tuning = &tuning_for(trace, choice);
    choice.kind().accept(Checker {
        trace,
        tuning,
        observer,
    })
}

/// Sees the queues after every operation, and says whether to go on.
type Observer<'a> = dyn FnMut(Sample) -> ControlFlow<()> + 'a;

/// The chosen parameters, and for `clusters` without a profile the trace's own.
pub(crate) fn tuning_for(trace: &Trace, choice: &Choice) -> Tuning {
    let mut tuning = choice.tuning().clone();
    if choice.kind() == Kind::Clusters && tuning.clusters.is_none() {
        tuning.clusters = Some(Arc::new(trace.clusters()));
    }
    tuning
}

/// [`check_with`] with parameters for queues named by their type: a structure of your own, for instance.
pub fn check_queues<Q>(trace: &Trace, tuning: &Tuning, observer: &mut dyn FnMut(Sample)) -> Report
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32> + Footprint,
{
    let whole = queues_while::<Q>(trace, tuning, &mut |sample| {
        observer(sample);
        ControlFlow::Continue(())
    });
    whole.unwrap_or_default()
}

fn queues_while<Q>(trace: &Trace, tuning: &Tuning, observer: &mut Observer<'_>) -> Option<Report>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32> + Footprint,
{
    let options = EngineOptions::new().tuning(tuning.clone());
    let mut engine: Engine<Q> = Engine::with_options(options);
    let created = trace.create_contexts(&mut engine);
    created.expect("a new engine has no contexts");
    let mut run = Run {
        weights: Weights::of(trace, &engine),
        handles: Kept::with_room_for(trace.operations()),
        receives: 0,
        messages: 0,
        lengths: Lengths::default(),
        report: Report::default(),
        engine,
    };
    for i in 0..trace.operations().len() {
        if observer(run.step(trace, i)).is_break() {
            return None;
        }
    }
    run.report.final_bytes = run.engine.memory().total();
    Some(run.report)
}

struct Checker<'a, 'b> {
    trace: &'a Trace,
    tuning: &'a Tuning,
    observer: &'a mut Observer<'b>,
}

impl KindVisitor<MpiPattern, u32, u32> for Checker<'_, '_> {
    type Output = Option<Report>;

    fn visit<Q>(self) -> Option<Report>
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32> + Footprint + 'static,
    {
        queues_while::<Q>(self.trace, self.tuning, self.observer)
    }
}

/// A checking replay in progress.
struct Run<Q: MatchQueues> {
    engine: Engine<Q>,
    handles: Kept,
    receives: u32,
    messages: u32,
    lengths: Lengths,
    weights: Weights,
    report: Report,
}

#[derive(Default)]
struct Lengths {
    posted: usize,
    unexpected: usize,
}

impl<Q> Run<Q>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32> + Footprint,
{
    fn step(&mut self, trace: &Trace, i: usize) -> Sample {
        let operation = trace.operations()[i];
        let before = self.report.visits;
        let (got, refused) = match self.perform(operation) {
            Ok(got) => (got, false),
            Err(Unperformed) => (None, true),
        };
        let expected = trace.outcome(i);
        if refused || got != expected {
            self.report.mismatches += 1;
            self.report.first_mismatch.get_or_insert(Mismatch {
                line: trace.line_number(i),
                operation,
                expected,
                got,
                refused,
            });
        }
        let context = self.context_of(operation);
        let report = &mut self.report;
        report.operations += 1;
        report.max_posted = report.max_posted.max(self.lengths.posted);
        report.max_unexpected = report.max_unexpected.max(self.lengths.unexpected);
        if let Some(context) = context {
            self.weights.update(&self.engine, context);
            report.peak_bytes = report.peak_bytes.max(self.weights.total);
        }
        Sample {
            operation: i,
            posted: self.lengths.posted,
            unexpected: self.lengths.unexpected,
            posted_visited: report.visits.posted - before.posted,
            unexpected_visited: report.visits.unexpected - before.unexpected,
            matched: got,
        }
    }

    /// The context whose queues an operation used, if any.
    fn context_of(&self, operation: Operation) -> Option<u32> {
        match operation {
            Operation::Post { pattern, .. } | Operation::Probe { pattern } => {
                Some(pattern.context().0)
            }
            Operation::Arrive { envelope } => Some(envelope.context().0),
            Operation::Cancel { receive } => {
                let handle = self.handles.of(receive)?;
                Some(handle.context().0)
            }
        }
    }

    fn perform(&mut self, operation: Operation) -> Result<Option<u32>, Unperformed> {
        let visits = &mut self.report.visits;
        match operation {
            Operation::Post { pattern, cancelled } => {
                let receive = self.receives;
                self.receives += 1;
                self.report.unexpected_searches += 1;
                let post = self.engine.post_metered(pattern, receive, visits);
                match post.map_err(|_| Unperformed)? {
                    Post::Matched { message, .. } => {
                        self.lengths.unexpected -= 1;
                        Ok(Some(message))
                    }
                    Post::Queued(handle) => {
                        self.lengths.posted += 1;
                        if cancelled {
                            self.handles.keep(receive, handle);
                        }
                        Ok(None)
                    }
                }
            }
            Operation::Arrive { envelope } => {
                let message = self.messages;
                self.messages += 1;
                self.report.posted_searches += 1;
                let arrival = self.engine.arrive_metered(envelope, message, visits);
                match arrival.map_err(|_| Unperformed)? {
                    Arrive::Matched { receive, .. } => {
                        self.lengths.posted -= 1;
                        Ok(Some(receive))
                    }
                    Arrive::Unexpected => {
                        self.lengths.unexpected += 1;
                        Ok(None)
                    }
                }
            }
            Operation::Probe { pattern } => {
                self.report.unexpected_searches += 1;
                let seen = self.engine.probe_metered(&pattern, visits);
                Ok(seen.map_err(|_| Unperformed)?.map(|(_, &message)| message))
            }
            Operation::Cancel { receive } => {
                let handle = self.handles.of(receive);
                let cancelled = handle.and_then(|handle| self.engine.cancel(handle));
                self.lengths.posted -= usize::from(cancelled.is_some());
                if cancelled == Some(receive) {
                    Ok(None)
                } else {
                    Err(Unperformed)
                }
            }
        }
    }
}

/// The engine refused an operation of the trace.
struct Unperformed;

/// Heap bytes of the engine and, of these, by object: only the object that an operation used can have changed.
struct Weights {
    of_object: Vec<usize>,
    total: usize,
}

impl Weights {
    fn of<Q: MatchQueues + Footprint>(trace: &Trace, engine: &Engine<Q>) -> Self {
        let mut weights = Self {
            of_object: Vec::new(),
            total: engine.memory().total(),
        };
        for communicator in trace.communicators() {
            if let Some((object, queues)) = engine.queues(communicator.comm) {
                *weights.of_object(object) = queues.memory().total();
            }
        }
        weights
    }

    fn of_object(&mut self, object: usize) -> &mut usize {
        if self.of_object.len() <= object {
            self.of_object.resize(object + 1, 0);
        }
        &mut self.of_object[object]
    }

    fn update<Q: MatchQueues + Footprint>(&mut self, engine: &Engine<Q>, context: u32) {
        let Some((object, queues)) = engine.queues(context) else {
            return;
        };
        let bytes = queues.memory().total();
        let before = core::mem::replace(self.of_object(object), bytes);
        self.total = self.total + bytes - before;
    }
}

#[cfg(test)]
mod tests;
