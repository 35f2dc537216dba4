//! The first receives from any source while messages wait, one by one.
//!
//! `first_searches [STRUCTURE...]`, with `list` and `indexed` if none is named. Each engine is new and
//! holds a number of messages, each with its own tag. Receives from any source take the newest first. A
//! Markdown table shows the time of each of the first seven in nanoseconds, the longest of the next 93, and the
//! one after these: for each the least over the repetitions, clock overhead included. In the last rows, all messages
//! have been taken at random before, by fully specified receives, and have come again.

use std::process::ExitCode;
use std::time::Instant;

use mq_benches::say;
use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::{Kind, KindVisitor};
use mq_core::{ContextOptions, Engine, EngineOptions, Footprint, MatchQueues, Post, Source};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// How many messages, and whether they are in the order of their places in memory.
const MESSAGES: [(i32, bool); 7] = [
    (100, true),
    (256, true),
    (1000, true),
    (4000, true),
    (65_536, true),
    (4000, false),
    (65_536, false),
];
/// Those that have columns of their own.
const FIRST: usize = 7;
/// With the last of those that share a column, and one more.
const SEARCHES: usize = 101;
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
    let numbers: String = (1..=FIRST).map(|i| format!(" {i} |")).collect();
    say!(
        "| messages | structure |{numbers} {} to {} | {SEARCHES} |",
        FIRST + 1,
        SEARCHES - 1
    );
    say!("| ---: | --- |{}", " ---: |".repeat(FIRST + 2));
    for (messages, is_in_order) in MESSAGES {
        for &kind in &kinds {
            let searches = Searches {
                messages,
                is_in_order,
            };
            let least = kind.accept(searches);
            let first: String = least[..FIRST].iter().map(|ns| format!(" {ns} |")).collect();
            let longest = least[FIRST..SEARCHES - 1].iter().max().unwrap_or(&0);
            // Of a hundred messages, none is left for it.
            let last = match least[SEARCHES - 1] {
                u128::MAX => String::from("-"),
                ns => ns.to_string(),
            };
            let order = if is_in_order { "" } else { ", at random" };
            say!("| {messages}{order} | `{kind}` |{first} {longest} | {last} |");
        }
    }
    ExitCode::SUCCESS
}

struct Searches {
    messages: i32,
    is_in_order: bool,
}

impl KindVisitor<MpiPattern, u64, u64> for Searches {
    type Output = [u128; SEARCHES];

    fn visit<Q>(self) -> Self::Output
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64> + Footprint + 'static,
    {
        let mut least = [u128::MAX; SEARCHES];
        let mut tags: Vec<i32> = (0..self.messages).collect();
        tags.shuffle(&mut StdRng::seed_from_u64(1));
        for _ in 0..REPETITIONS {
            let mut engine: Engine<Q> = Engine::with_options(EngineOptions::new());
            let created = engine.create_context(0, ContextOptions::new().size(64));
            assert!(created.is_ok(), "the first context");
            for tag in 0..self.messages {
                let arrival = engine.arrive(MpiEnvelope::new(0, 1, tag), 0);
                assert!(arrival.is_ok(), "nothing is refused");
            }
            if !self.is_in_order {
                // Half of them are away at a time, so that none gets its own place back.
                for some in tags.chunks(tags.len() / 2) {
                    for &tag in some {
                        let post = engine.post(MpiPattern::new(0, 1, tag), 0);
                        assert!(matches!(post, Ok(Post::Matched { .. })), "it waits");
                    }
                    for &tag in some {
                        let arrival = engine.arrive(MpiEnvelope::new(0, 1, tag), 0);
                        assert!(arrival.is_ok(), "nothing is refused");
                    }
                }
            }
            let newest_first: Vec<i32> = match self.is_in_order {
                true => (0..self.messages).rev().collect(),
                false => tags.iter().rev().copied().collect(),
            };
            for (tag, least) in newest_first.into_iter().zip(&mut least) {
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
