//! Percentiles of single operations while queues grow and drain.

use std::time::{Duration, Instant};

use mq_benches::say;
use mq_core::structures::Kind;

use crate::goals::{Goal, Measured, Target};
use crate::stream::{By, Order, Queue, Stream, fill_and_drain, from_any_source, keys};
use crate::subject::subject;
use crate::table::Table;
use crate::timing::Plan;

/// The most that an operation of `indexed` may take.
const BOUND: Target = Target::new("", Goal::AtMost(20_000.0));

/// What is filled and drained, and how.
const CASES: [(&str, Queue, Receives); 3] = [
    ("posted", Queue::Posted, Receives::Exact),
    ("unexpected", Queue::Unexpected, Receives::Exact),
    (
        "unexpected, again from any source",
        Queue::Unexpected,
        Receives::FromAnySource,
    ),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Receives {
    Exact,
    /// In an engine that has already filled and drained such a queue: the first time, a structure may
    /// look at all messages.
    FromAnySource,
}

impl Receives {
    fn stream(self, queue: Queue, depth: u32, order: Order) -> Stream {
        match self {
            Self::Exact => fill_and_drain(queue, &keys(By::Source, depth), order),
            Self::FromAnySource => {
                from_any_source(fill_and_drain(queue, &keys(By::Tag, depth), order))
            }
        }
    }
}

/// Repetitions are identical to the last operation, except for the hash. So the least of an operation's
/// times is its own cost, and the rest is due to the machine.
pub(crate) fn print(kinds: &[Kind], plan: Plan) {
    let depth = if plan.quick { 2048 } else { 65_536 };
    say!(
        "Nanoseconds of single operations in a queue that grows to {depth} entries and drains, the clock's own \
         included; the least of each operation in at most {} repetitions. Queues drain at random, or in order where \
         that would take too long. Again from any source: by such receives, in an engine that has done so once.\n",
        plan.repeat
    );
    let columns = "structure,queue,phase,drained,p50,p99,p99.99,maximum,goal,met";
    let columns: Vec<String> = columns.split(',').map(str::to_owned).collect();
    let table = Table::new(&columns, 4, kinds.len() * 2 * CASES.len());
    for (name, queue, receives) in CASES {
        let streams = [(Order::Random, "at random"), (Order::Forward, "in order")]
            .map(|(order, how)| (receives.stream(queue, depth, order), how));
        for &kind in kinds {
            table.begin(&format!("{kind}, {name}"));
            let [(random, _), (forward, _)] = &streams;
            let fits = fits(kind, random, plan.allowance);
            let (stream, how) = if fits { &streams[0] } else { &streams[1] };
            debug_assert_eq!(random.unit, forward.unit);
            let least = least_times(kind, stream, receives, plan);
            let (grow, drain) = least.split_at(depth as usize);
            for (phase, times) in [("grows", grow), ("drains", drain)] {
                let (figures, most) = percentiles(times);
                let mut cells = [kind.name(), name, phase, how].map(str::to_owned).to_vec();
                cells.extend(figures);
                let [_, goal, met] = match kind {
                    Kind::Indexed => BOUND.cells(&[kind], &[Measured::once(f64::from(most))]),
                    _ => Target::NONE.cells(&[], &[]),
                };
                cells.extend([goal, met]);
                table.row(&cells);
            }
        }
    }
}

/// Whether the queue can be filled and drained once within the allowance.
fn fits(kind: Kind, stream: &Stream, allowance: Duration) -> bool {
    let mut subject = subject(kind, stream.ranks());
    let start = Instant::now();
    stream.steps[..stream.unit].chunks(64).all(|steps| {
        subject.run(steps);
        start.elapsed() < allowance
    })
}

fn least_times(kind: Kind, stream: &Stream, receives: Receives, plan: Plan) -> Vec<u32> {
    let steps = &stream.steps[..stream.unit];
    let mut least = vec![u32::MAX; steps.len()];
    let start = Instant::now();
    for _ in 0..plan.repeat {
        let mut times = Vec::with_capacity(steps.len());
        // A new engine each time: it grows from nothing.
        let mut subject = subject(kind, stream.ranks());
        if receives == Receives::FromAnySource {
            subject.run(steps);
        }
        subject.run_one_by_one(steps, &mut times);
        for (least, time) in least.iter_mut().zip(times) {
            *least = time.min(*least);
        }
        // `list` and `indexed` are the ones compared: they get all repetitions.
        if start.elapsed() > plan.allowance && !matches!(kind, Kind::List | Kind::Indexed) {
            break;
        }
    }
    least
}

/// Median, 99 and 99.99 of a hundred, and the most.
fn percentiles(times: &[u32]) -> ([String; 4], u32) {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |parts: usize| sorted[(sorted.len() - 1) * parts / 10_000];
    let figures = [5000, 9900, 9999, 10_000].map(|parts| at(parts).to_string());
    (figures, at(10_000))
}
