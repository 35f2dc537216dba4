//! The longest operations of an engine with a limit for each source, while many sources send one message each.
//!
//! `sources [SOURCES]`, 70,000 if none is given. A Markdown table shows the longest arrival and the longest receive in
//! nanoseconds, each operation taken at the least of its repetitions, clock overhead included.

use std::process::ExitCode;
use std::time::Instant;

use mq_benches::say;
use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::Indexed;
use mq_core::{Budget, ContextOptions, Engine, EngineOptions};

const SOURCES: u32 = 70_000;
const REPETITIONS: usize = 9;
const TAG: i32 = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sources = match arguments.as_slice() {
        [] => Ok(SOURCES),
        [number] => number.parse(),
        _ => "too many".parse(),
    };
    let Ok(sources @ 1..) = sources else {
        eprintln!("usage: sources [SOURCES], a number from 1");
        return ExitCode::from(2);
    };
    let mut arrivals = vec![u128::MAX; sources as usize];
    let mut receives = arrivals.clone();
    for _ in 0..REPETITIONS {
        fill_and_drain(&mut arrivals, &mut receives);
    }
    say!("| sources | longest arrival | longest receive |\n| ---: | ---: | ---: |");
    let longest = |all: &[u128]| all.iter().copied().max().unwrap_or_default();
    say!(
        "| {sources} | {} | {} |",
        longest(&arrivals),
        longest(&receives)
    );
    ExitCode::SUCCESS
}

/// One message of each source comes and is received; notes the times that are less than those before.
fn fill_and_drain(arrivals: &mut [u128], receives: &mut [u128]) {
    let budget = Budget::UNLIMITED.entries_per_source(8);
    let mut engine: Engine<Indexed<MpiPattern, u64, u64>> =
        Engine::with_options(EngineOptions::new().budget(budget));
    let created = engine.create_context(0, ContextOptions::new());
    assert!(created.is_ok(), "the first context");
    for (source, least) in (0..).zip(arrivals) {
        let start = Instant::now();
        let arrival = engine.arrive(MpiEnvelope::new(0, source, TAG), 1);
        *least = start.elapsed().as_nanos().min(*least);
        assert!(arrival.is_ok(), "it is within the limit");
    }
    for (source, least) in (0..).zip(receives) {
        let start = Instant::now();
        let found = engine.extract(&MpiPattern::new(0, source, TAG));
        *least = start.elapsed().as_nanos().min(*least);
        assert!(matches!(found, Ok(Some(_))), "its message waits");
    }
}
