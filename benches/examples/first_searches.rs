//! The first receives from any source while messages wait, one by one.
//!
//! `first_searches [STRUCTURE...]`, with `list` and `indexed` if none is named. Each engine is new and
//! holds a number of messages, each with its own tag. Receives from any source take the newest first. A
//! Markdown table shows the time of each of the first seven in nanoseconds, the least over the
//! repetitions, clock overhead included.

use std::process::ExitCode;
use std::time::Instant;

use mq_benches::say;
use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::{Kind, KindVisitor};
use mq_core::{ContextOptions, Engine, EngineOptions, Footprint, MatchQueues, Post, Source};

const MESSAGES: [i32; 5] = [100, 256, 1000, 4000, 65_536];
const SEARCHES: usize = 7;
const REPETITIONS: usize = 30;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let mut kinds = Vec::new();
    for name in &names {
        match name.parse::<Kind>() {
            Ok(kind) => kinds.push(kind),
            Err(error) => {
                eprintln!("{error}\nusage: first_searches [STRUCTURE...]");
                return ExitCode::from(2);
            }
        }
    }
    if kinds.is_empty() {
        kinds = vec![Kind::List, Kind::Indexed];
    }
    let numbers: String = (1..=SEARCHES).map(|i| format!(" {i} |")).collect();
    say!("| messages | structure |{numbers}");
    say!("| ---: | --- |{}", " ---: |".repeat(SEARCHES));
    for messages in MESSAGES {
        for &kind in &kinds {
            let least = kind.accept(Searches { messages });
            let cells: String = least.map(|ns| format!(" {ns} |")).concat();
            say!("| {messages} | `{kind}` |{cells}");
        }
    }
    ExitCode::SUCCESS
}

struct Searches {
    messages: i32,
}

impl KindVisitor<MpiPattern, u64, u64> for Searches {
    type Output = [u128; SEARCHES];

    fn visit<Q>(self) -> Self::Output
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64> + Footprint + 'static,
    {
        let mut least = [u128::MAX; SEARCHES];
        for _ in 0..REPETITIONS {
            let mut engine: Engine<Q> = Engine::with_options(EngineOptions::new());
            let created = engine.create_context(0, ContextOptions::new().size(64));
            assert!(created.is_ok(), "the first context");
            for tag in 0..self.messages {
                let arrival = engine.arrive(MpiEnvelope::new(0, 1, tag), 0);
                assert!(arrival.is_ok(), "nothing is refused");
            }
            for (tag, least) in (0..self.messages).rev().zip(&mut least) {
                let start = Instant::now();
                let post = engine.post(MpiPattern::new(0, Source::Any, tag), 0);
                let nanoseconds = start.elapsed().as_nanos();
                assert!(
                    matches!(post, Ok(Post::Matched { .. })),
                    "its message waits"
                );
                *least = nanoseconds.min(*least);
            }
        }
        least
    }
}
