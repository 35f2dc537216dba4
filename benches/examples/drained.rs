//! Filled and drained queues, without a clock, for an instruction counter.
//!
//! `drained STRUCTURE DEPTH named|any-source ROUNDS`: in each round DEPTH receives are posted, whose messages then
//! come in reverse, from one sender; if `any-source`, every fourth receive names no sender. The difference between two
//! runs that differ only in ROUNDS is the cost of the rounds. `ci/instructions.sh` makes a table of this and of
//! `instructions`, which is a program of its own: what the compiler inlines depends on how often a program calls it.

mod counted;

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::{Kind, KindVisitor};
use mq_core::{Arrive, Engine, Footprint, MatchQueues, Post, Rank, Source};

use self::counted::CONTEXT;

const USAGE: &str = "usage: drained STRUCTURE DEPTH named|any-source ROUNDS";

/// The communicator's size, and the rank that sends everything.
const RANKS: u32 = 256;
const SENDER: u32 = 1;

/// Of this many receives one names no sender, if any does.
const ANY_OF: i32 = 4;

/// What to do.
struct Job {
    depth: i32,
    any_source: bool,
    rounds: u32,
}

fn main() -> ExitCode {
    counted::run(USAGE, |arguments| {
        let (kind, job) = parse(arguments)?;
        kind.accept(job);
        Ok(())
    })
}

fn parse(arguments: &[String]) -> Result<(Kind, Job), Box<dyn Error>> {
    let [structure, depth, mode, rounds] = arguments else {
        return Err("four arguments are needed".into());
    };
    let any_source = match mode.as_str() {
        "named" => false,
        "any-source" => true,
        _ => return Err(format!("`{mode}` is neither named nor any-source").into()),
    };
    let job = Job {
        depth: depth.parse()?,
        any_source,
        rounds: rounds.parse()?,
    };
    Ok((structure.parse()?, job))
}

impl KindVisitor<MpiPattern, u32, u32> for Job {
    type Output = ();

    // Not inlined, so that one structure's loop is the same whatever the others' are.
    #[inline(never)]
    fn visit<Q>(self)
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32> + Footprint + 'static,
    {
        let mut engine: Engine<Q> = counted::engine(RANKS);
        for _ in 0..self.rounds {
            for tag in 0..self.depth {
                let source = match self.any_source && tag % ANY_OF == 0 {
                    true => Source::Any,
                    false => Source::Rank(Rank(SENDER)),
                };
                let post = engine.post(MpiPattern::new(CONTEXT, source, tag), 0);
                assert!(matches!(post, Ok(Post::Queued(_))));
            }
            for tag in (0..self.depth).rev() {
                let arrival = engine.arrive(MpiEnvelope::new(CONTEXT, SENDER, tag), 0);
                assert!(matches!(arrival, Ok(Arrive::Matched { .. })));
            }
        }
        black_box(&mut engine);
    }
}
