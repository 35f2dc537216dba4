//! Chooses a structure for a program from a trace of one of its processes.
//!
//! Every structure replays the trace twice over: first compared with the MPI library's decisions,
//! counting the entries its searches visit, then timed. Timed repetitions go round all structures, so
//! that a change in the machine's speed affects all of them; the median counts.
//!
//! Run it: `cargo run --release -p mq-examples --example choose_by_trace [TRACE]`; without a path
//! it reads the bundled `traces/hpcc32-r0.mqt.gz`.

use std::error::Error;
use std::process::ExitCode;

use mq_core::mpi::MpiPattern;
use mq_core::structures::{AnyQueues, Kind};
use mq_core::{ContextOptions, Engine, EngineOptions, Post};
use mq_trace::{Floor, Replay, Report, Trace, check, timed};

const BUNDLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/hpcc32-r0.mqt.gz");

/// Timed repetitions of each structure.
const REPETITIONS: usize = 9;

/// Structures within this factor of the fastest count as equally fast: timings are no more exact.
const AS_FAST: f64 = 1.1;

/// What is known about a structure.
struct Candidate {
    kind: Kind,
    report: Report,
    /// Nanoseconds per operation, less those of the replay loop.
    nanoseconds: f64,
}

fn main() -> ExitCode {
    let path = std::env::args().nth(1).unwrap_or_else(|| BUNDLED.into());
    match choose(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn choose(path: &str) -> Result<(), Box<dyn Error>> {
    let trace = Trace::open(path)?;
    if trace.operations().is_empty() {
        return Err(format!("{path}: the trace has no operations").into());
    }
    let mut candidates: Vec<Candidate> = measure(&trace);
    candidates.sort_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds));
    print_table(&trace, &candidates);
    for Candidate { kind, report, .. } in &candidates {
        if let Some(mismatch) = &report.first_mismatch {
            return Err(format!("{kind} matched otherwise than the trace: {mismatch}").into());
        }
    }
    if let Some(chosen) = explain(&candidates) {
        use_it(&trace, chosen)?;
    }
    Ok(())
}

/// An engine whose structure is chosen when the program runs, as by a library's users.
fn use_it(trace: &Trace, chosen: Kind) -> Result<(), Box<dyn Error>> {
    let options = EngineOptions::new().kind(chosen);
    let mut engine: Engine<AnyQueues<MpiPattern, u64, u64>> = Engine::with_options(options);
    for communicator in trace.communicators() {
        let size = ContextOptions::new().size(communicator.size);
        engine.create_context(communicator.comm, size)?;
    }
    let Some(communicator) = trace.communicators().next() else {
        return Ok(());
    };
    let posted = engine.post(MpiPattern::new(communicator.comm, 0, 7), 1001)?;
    let Post::Queued(handle) = posted else {
        return Err("nothing has arrived".into());
    };
    println!("a receive is posted in an engine of `{chosen}`: {handle:?}");
    Ok(())
}

/// Checks and times all structures.
fn measure(trace: &Trace) -> Vec<Candidate> {
    let mut replays: Vec<Box<dyn Replay + '_>> = vec![Box::new(Floor::new(trace))];
    replays.extend(Kind::ALL.iter().map(|&kind| timed(trace, kind)));
    let mut times = vec![Vec::new(); replays.len()];
    for _ in 0..REPETITIONS {
        for (replay, times) in replays.iter_mut().zip(&mut times) {
            times.push(replay.repetition());
        }
    }
    let operations = u32::try_from(trace.operations().len()).unwrap_or(u32::MAX);
    let mut medians = times.into_iter().map(|mut times| {
        times.sort();
        1e9 * times[REPETITIONS / 2].as_secs_f64() / f64::from(operations)
    });
    let floor = medians.next().unwrap_or(0.0);
    let kinds = Kind::ALL.iter().zip(medians);
    kinds
        .map(|(&kind, nanoseconds)| Candidate {
            kind,
            report: check(trace, kind),
            // A short trace may be faster than the empty loop was.
            nanoseconds: (nanoseconds - floor).max(0.0),
        })
        .collect()
}

fn print_table(trace: &Trace, candidates: &[Candidate]) {
    let operations = trace.operations().len();
    println!("{}: {operations} operations", trace.name());
    if let Some(Candidate { report, .. }) = candidates.first() {
        let (posted, unexpected) = (report.max_posted, report.max_unexpected);
        println!(
            "at most {posted} receives posted and {unexpected} messages unexpected at a time\n"
        );
    }
    println!(
        "{:<10} {:>12} {:>24} {:>11}",
        "structure", "ns/operation", "entries/search", "peak bytes"
    );
    println!(
        "{:<10} {:>12} {:>24} {:>11}",
        "", "", "posted unexpected", ""
    );
    for Candidate {
        kind,
        report,
        nanoseconds,
    } in candidates
    {
        let posted = report.mean_posted_visited();
        let unexpected = report.mean_unexpected_visited();
        let bytes = report.peak_bytes;
        println!("{kind:<10} {nanoseconds:>12.1} {posted:>13.2} {unexpected:>10.2} {bytes:>11}");
    }
}

/// The default if none is faster; otherwise, among those as fast as the fastest, the one that holds the
/// least memory. Not `clusters`: its groups were those of this very trace, which a next run does not know.
fn explain(candidates: &[Candidate]) -> Option<Kind> {
    let choices = (candidates.iter()).filter(|choice| choice.kind != Kind::Clusters);
    let fastest = choices.clone().next()?;
    let as_fast = |c: &&Candidate| c.nanoseconds <= AS_FAST * fastest.nanoseconds;
    let rivals: Vec<&Candidate> = choices.filter(as_fast).collect();
    let default = rivals.iter().find(|c| c.kind == Kind::default());
    let chosen = default.or_else(|| rivals.iter().min_by_key(|c| c.report.peak_bytes));
    let chosen = chosen.map_or(fastest, |c| c);
    println!("\nchoose `{}` ({})", chosen.kind, chosen.kind.source());
    println!("fit for: {}", chosen.kind.when_to_choose());
    let names: Vec<&str> = rivals.iter().map(|c| c.kind.name()).collect();
    println!("as fast as the fastest, to 10 %: {}", names.join(", "));
    if chosen.kind == Kind::default() {
        println!("it is the default, and no other is clearly faster here");
    } else {
        println!("of these it holds the least memory; the default is clearly slower here");
    }
    Some(chosen.kind)
}
