//! Bytes an entry and a context, before and after a burst.

use mq_benches::say;
use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::{AnyQueues, Kind, KindVisitor};
use mq_core::{Config, ContextOptions, Engine, EngineOptions, Footprint, MatchQueues};

use crate::table::Table;
use crate::timing::Plan;

type Queues = AnyQueues<MpiPattern, u64, u64>;

/// Ranks of the communicators of idle contexts.
const RANKS: u32 = 1 << 20;

/// If the contexts together would hold more than this, not all are created.
const MOST_BYTES: usize = 256 << 20;

pub(crate) fn print(kinds: &[Kind], plan: Plan) {
    entries(kinds, plan);
    say!("");
    contexts(kinds);
}

fn entries(kinds: &[Kind], plan: Plan) {
    say!(
        "Heap bytes an entry, every entry with a sender of its own in a communicator of as many ranks, 64-bit payloads; \
         the last column is what is held when the most have been taken.\n"
    );
    let numbers: [(&str, u32); 3] = match plan.quick {
        true => [("1", 1), ("10", 10), ("10^3", 1000)],
        false => [("1", 1), ("10^3", 1000), ("10^6", 1_000_000)],
    };
    let columns = ["structure", "queue"].map(str::to_owned).into_iter();
    let columns = columns.chain(numbers.map(|(name, _)| name.to_owned()));
    let (most_name, most) = numbers[2];
    let columns: Vec<_> = columns.chain([format!("idle after {most_name}")]).collect();
    let table = Table::new(&columns, 2, kinds.len() * 2);
    for &kind in kinds {
        for (queue, posted) in [("posted", true), ("unexpected", false)] {
            table.begin(&format!("{kind}, {queue}"));
            let mut cells = vec![kind.to_string(), queue.to_owned()];
            let mut last = None;
            for (_, number) in numbers {
                let queues = filled(kind, posted, number);
                let bytes = queues.memory().total() as f64 / f64::from(number);
                cells.push(format!("{bytes:.1}"));
                last = Some(queues);
            }
            let idle = last.map_or(0, |queues| drained(queues, posted, most));
            cells.push(idle.to_string());
            table.row(&cells);
        }
    }
}

fn filled(kind: Kind, posted: bool, entries: u32) -> Queues {
    let mut queues = Queues::with_config(&Config::of_kind(kind).with_size(entries));
    for i in 0..entries {
        if posted {
            let _ = queues.post(MpiPattern::new(0, i, 7), 0);
        } else {
            let _ = queues.arrive(MpiEnvelope::new(0, i, 7), 0);
        }
    }
    queues
}

/// Bytes that stay after all entries have been taken in order.
fn drained(mut queues: Queues, posted: bool, entries: u32) -> usize {
    for i in 0..entries {
        if posted {
            let _ = queues.arrive(MpiEnvelope::new(0, i, 7), 0);
        } else {
            let _ = queues.post(MpiPattern::new(0, i, 7), 0);
        }
    }
    assert_eq!(queues.posted_len() + queues.unexpected_len(), 0);
    queues.memory().total()
}

fn contexts(kinds: &[Kind]) {
    say!(
        "Bytes of an idle context of a communicator of 2^20 ranks: never used, and after a pair. Of contexts that together \
         would hold more than {} MiB fewer were made.\n",
        MOST_BYTES >> 20
    );
    let columns = [
        "structure",
        "object",
        "1 context",
        "10^3 contexts",
        "1, used",
        "10^3, used",
    ];
    let table = Table::new(&columns.map(str::to_owned), 1, kinds.len());
    for &kind in kinds {
        table.begin(kind.name());
        let figures = kind.accept(Contexts);
        let mut cells = vec![kind.to_string()];
        cells.extend(figures.iter().map(ToString::to_string));
        table.row(&cells);
    }
}

/// Bytes of the object itself, and of contexts without it.
struct Contexts;

impl KindVisitor<MpiPattern, u64, u64> for Contexts {
    type Output = [usize; 5];

    fn visit<Q>(self) -> Self::Output
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64> + Footprint + 'static,
    {
        let many = |one: usize| (MOST_BYTES / one.max(1)).clamp(1, 1000);
        let (unused, used) = (idle::<Q>(1, false), idle::<Q>(1, true));
        let each = |number, used| idle::<Q>(number, used).div_ceil(number);
        [
            size_of::<Q>(),
            unused,
            each(many(unused), false),
            used,
            each(many(used), true),
        ]
    }
}

fn idle<Q>(contexts: usize, used: bool) -> usize
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64> + Footprint,
{
    let mut engine: Engine<Q> = Engine::with_options(EngineOptions::new());
    for context in (0..).take(contexts) {
        let created = engine.create_context(context, ContextOptions::new().size(RANKS));
        assert!(created.is_ok(), "a new context");
        if used {
            let _ = engine.post(MpiPattern::new(context, 1, 7), 0);
            let _ = engine.arrive(MpiEnvelope::new(context, 1, 7), 0);
        }
    }
    engine.memory().total()
}
