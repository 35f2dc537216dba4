//! Random programs on a real MPI library and on every structure of `mq-core`.
//!
//! Rank 0 receives: it posts, probes and cancels receives. All ranks send to it, and nothing
//! happens until what they sent is known to have arrived, so that the order of events is known.
//! Whatever the library did is told to an [`Engine`] of every structure, which must have done the
//! same wherever MPI defines it.
//!
//! [`Engine`]: mq_core::Engine

mod event;
mod program;
mod receiver;
mod report;
mod rules;
mod sender;
mod subject;
mod wire;

use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use mpi::traits::Communicator;

use crate::program::Program;
use crate::receiver::Receiver;
use crate::report::Report;
use crate::subject::Subjects;
use crate::wire::Wire;

/// The exit code of a run that cannot start; clap's too.
const FAILED: u8 = 2;

/// One receives, the others send; more of them would make bursts that a program has no room for.
const RANKS: RangeInclusive<i32> = 2..=64;

/// Random sends, receives, probes and cancels on a real MPI library; every structure of mq-core
/// must reach the same pairings.
#[derive(Parser, Debug)]
#[command(
    name = "mq-differential",
    max_term_width = 100,
    after_help = "\
Runs under mpirun, with 2 to 64 ranks. run.sh builds it for an MPI library and starts it.

Examples:
  mpirun -n 4 mq-differential
  mpirun -n 4 mq-differential --seed 100 --rounds 1000
  mpirun -n 4 mq-differential --seed 7 --rounds 1     again what was printed for seed 7

Exit codes: 0 all structures did as the library, 1 a difference, 2 bad usage."
)]
struct Options {
    /// Seed of the first round; each further round has the next one
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Random programs to run
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Steps of a program; every fourth one, whose queues are longer, has twice as many
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    steps: u32,
    /// Seconds after which an answer that the library owes counts as missing
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let Some(universe) = mpi::initialize() else {
        eprintln!("mq-differential: MPI was initialised before main");
        return ExitCode::from(FAILED);
    };
    let world = universe.world();
    if !RANKS.contains(&world.size()) {
        let (least, most) = RANKS.into_inner();
        eprintln!("mq-differential: it takes {least} to {most} ranks; start it with mpirun -n 4");
        return ExitCode::from(FAILED);
    }
    let wire = Wire::new(&world);
    if wire.process != 0 {
        for program in programs(&options, wire.processes) {
            sender::round(&wire, &program.1);
            wire.barrier();
        }
        return ExitCode::SUCCESS;
    }
    if receive(&options, &wire) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The programs of a run with their seeds.
fn programs(options: &Options, processes: u32) -> impl Iterator<Item = (u64, Program)> + '_ {
    let steps = options.steps as usize;
    (0..options.rounds).map(move |round| {
        let seed = options.seed.wrapping_add(round);
        (seed, Program::random(seed, processes, steps))
    })
}

/// All rounds on rank 0; true if there was no difference.
fn receive(options: &Options, wire: &Wire) -> bool {
    let library = mpi::environment::library_version().unwrap_or_default();
    let name = library.trim_end_matches('\0').lines().next();
    println!(
        "{}; {} ranks, seeds from {}",
        name.unwrap_or("unknown MPI library"),
        wire.processes,
        options.seed
    );
    let again = format!(
        "mpirun -n {} mq-differential --rounds 1 --steps {}",
        wire.processes, options.steps
    );
    let mut receiver = Receiver {
        wire,
        subjects: Subjects::new(wire.processes),
        report: Report::new(again),
        timeout: Duration::from_secs(options.timeout),
    };
    for (seed, program) in programs(options, wire.processes) {
        receiver.round(&program, seed);
        wire.barrier();
    }
    receiver.report.print(&receiver.subjects)
}
