//! Single operations on a queue that grows and drains, without a clock, for an instruction tracer.
//!
//! `operations STRUCTURE QUEUE DEPTH ORDER` fills a queue (`posted` or `unexpected`) of a new engine
//! with DEPTH entries, each with its own source, and drains it `forward` or in `scattered` order. With
//! `any-source` the queue holds messages, each with its own tag and received from any source, and has
//! been filled and drained once before. The program calls one function before each operation and after
//! the last, and prints that function's address first, so that a trace can be cut there.
//! `benches/tail.sh` makes the table.

mod counted;

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::{Kind, KindVisitor};
use mq_core::{Arrive, Engine, Footprint, MatchQueues, Post, Source};

use self::counted::CONTEXT;

const USAGE: &str =
    "usage: operations STRUCTURE posted|unexpected|any-source DEPTH forward|scattered";

/// A prime: `i * SCATTER % depth` visits every rank of a depth that it does not divide.
const SCATTER: u64 = 40_507;

const TAG: i32 = 7;

/// Sources of what is received from any.
const SENDERS: u32 = 64;

#[derive(Clone, Copy)]
enum Queue {
    Posted,
    Unexpected,
    AnySource,
}

struct Job {
    queue: Queue,
    depth: u32,
    scattered: bool,
}

fn main() -> ExitCode {
    counted::run(USAGE, |arguments| {
        let (kind, job) = parse(arguments)?;
        kind.accept(job);
        Ok(())
    })
}

fn parse(arguments: &[String]) -> Result<(Kind, Job), Box<dyn Error>> {
    let [structure, queue, depth, order] = arguments else {
        return Err("four arguments are needed".into());
    };
    let queue = match queue.as_str() {
        "posted" => Queue::Posted,
        "unexpected" => Queue::Unexpected,
        "any-source" => Queue::AnySource,
        other => return Err(format!("`{other}` is not a queue").into()),
    };
    let scattered = match order.as_str() {
        "scattered" => true,
        "forward" => false,
        other => return Err(format!("`{other}` is neither scattered nor forward").into()),
    };
    let depth: u32 =
        (depth.parse()).map_err(|_| format!("`{depth}` is not a number of entries"))?;
    if u64::from(depth) % SCATTER == 0 {
        return Err(format!("{depth} entries cannot be scattered; take one more").into());
    }
    let job = Job {
        queue,
        depth,
        scattered,
    };
    Ok((structure.parse()?, job))
}

/// Marks the start of each operation in a trace.
#[inline(never)]
fn mark() {
    black_box(());
}

impl KindVisitor<MpiPattern, u64, u64> for Job {
    type Output = ();

    #[inline(never)]
    fn visit<Q>(self)
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64> + Footprint + 'static,
    {
        println!("mark {:x}", mark as fn() as usize);
        let mut engine: Engine<Q> = counted::engine(self.depth);
        let drained = |i: u32| match self.scattered {
            true => u64::from(i) * SCATTER % u64::from(self.depth),
            false => u64::from(i),
        };
        let drained: Vec<u32> = (0..self.depth)
            .map(|i| u32::try_from(drained(i)).unwrap_or(0))
            .collect();
        let exact = |rank: u32| MpiPattern::new(CONTEXT, rank, TAG);
        let from = |rank: u32| MpiEnvelope::new(CONTEXT, rank, TAG);
        let all_found = match self.queue {
            Queue::Posted => {
                (0..self.depth).for_each(|rank| assert!(!post(&mut engine, exact(rank), mark)));
                let mut drained = drained.iter();
                drained.all(|&rank| arrive(&mut engine, from(rank), mark))
            }
            Queue::Unexpected => {
                (0..self.depth).for_each(|rank| assert!(!arrive(&mut engine, from(rank), mark)));
                let mut drained = drained.iter();
                drained.all(|&rank| post(&mut engine, exact(rank), mark))
            }
            Queue::AnySource => {
                let mut round = |mark: fn()| {
                    for i in 0..self.depth {
                        let message = MpiEnvelope::new(CONTEXT, i % SENDERS, i.cast_signed());
                        assert!(!arrive(&mut engine, message, mark));
                    }
                    drained.iter().all(|&i| {
                        let receive = MpiPattern::new(CONTEXT, Source::Any, i.cast_signed());
                        post(&mut engine, receive, mark)
                    })
                };
                round(|| ()) && round(mark)
            }
        };
        assert!(all_found, "each finds its own");
        mark();
        black_box(&mut engine);
    }
}

/// Whether a receive found its message.
#[inline(always)]
fn post<Q>(engine: &mut Engine<Q>, receive: MpiPattern, mark: impl Fn()) -> bool
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64>,
{
    mark();
    matches!(engine.post(receive, 1), Ok(Post::Matched { .. }))
}

/// Whether a message found its receive.
#[inline(always)]
fn arrive<Q>(engine: &mut Engine<Q>, message: MpiEnvelope, mark: impl Fn()) -> bool
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64>,
{
    mark();
    matches!(engine.arrive(message, 1), Ok(Arrive::Matched { .. }))
}
