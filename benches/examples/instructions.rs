//! Pairs of post and arrive, without a clock, for an instruction counter.
//!
//! `instructions STRUCTURE DEPTH expected|unexpected PAIRS` queues DEPTH entries that match nothing
//! else, all from one sender, and then PAIRS times a receive and its message: the receive first if
//! `expected`, the message first if `unexpected`. The difference between two runs that differ only
//! in PAIRS is the cost of the pairs. `instructions --structures` prints the names of the
//! structures. `ci/instructions.sh` makes a table.

mod counted;

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::{Kind, KindVisitor};
use mq_core::{Arrive, Engine, Footprint, MatchQueues, Post};

use self::counted::CONTEXT;

const USAGE: &str =
    "usage: instructions STRUCTURE DEPTH expected|unexpected PAIRS, or instructions --structures";

/// The communicator's size, and the rank that sends everything.
const RANKS: u32 = 256;
const SENDER: u32 = 1;

/// The tag of the pairs; the standing entries have greater ones.
const TAG: i32 = 0;

/// What to do.
struct Job {
    depth: i32,
    expected: bool,
    pairs: u32,
}

fn main() -> ExitCode {
    counted::run(USAGE, |arguments| {
        if arguments == ["--structures"] {
            Kind::ALL.iter().for_each(|kind| println!("{kind}"));
            return Ok(());
        }
        let (kind, job) = parse(arguments)?;
        kind.accept(job);
        Ok(())
    })
}

fn parse(arguments: &[String]) -> Result<(Kind, Job), Box<dyn Error>> {
    let [structure, depth, mode, pairs] = arguments else {
        return Err("four arguments are needed".into());
    };
    let expected = match mode.as_str() {
        "expected" => true,
        "unexpected" => false,
        _ => return Err(format!("`{mode}` is neither expected nor unexpected").into()),
    };
    let job = Job {
        depth: depth.parse()?,
        expected,
        pairs: pairs.parse()?,
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
        for tag in TAG + 1..=TAG + self.depth {
            stand(&mut engine, self.expected, tag);
        }
        for number in 0..self.pairs {
            if self.expected {
                expected_pair(&mut engine, number);
            } else {
                unexpected_pair(&mut engine, number);
            }
        }
        black_box(&mut engine);
    }
}

/// Queues an entry that stays.
fn stand<Q>(engine: &mut Engine<Q>, expected: bool, tag: i32)
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    if expected {
        let post = engine.post(MpiPattern::new(CONTEXT, SENDER, tag), 0);
        assert!(matches!(post, Ok(Post::Queued(_))));
    } else {
        let arrival = engine.arrive(MpiEnvelope::new(CONTEXT, SENDER, tag), 0);
        assert!(matches!(arrival, Ok(Arrive::Unexpected)));
    }
}

fn expected_pair<Q>(engine: &mut Engine<Q>, number: u32)
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    let (pattern, envelope) = pair();
    let post = engine.post(pattern, number);
    assert!(matches!(post, Ok(Post::Queued(_))));
    let arrival = engine.arrive(envelope, number);
    assert!(matches!(arrival, Ok(Arrive::Matched { receive, .. }) if receive == number));
}

fn unexpected_pair<Q>(engine: &mut Engine<Q>, number: u32)
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    let (pattern, envelope) = pair();
    let arrival = engine.arrive(envelope, number);
    assert!(matches!(arrival, Ok(Arrive::Unexpected)));
    let post = engine.post(pattern, number);
    assert!(matches!(post, Ok(Post::Matched { message, .. }) if message == number));
}

/// A receive and its message, which the compiler takes for unknown.
fn pair() -> (MpiPattern, MpiEnvelope) {
    let (context, sender, tag) = black_box((CONTEXT, SENDER, TAG));
    (
        MpiPattern::new(context, sender, tag),
        MpiEnvelope::new(context, sender, tag),
    )
}
