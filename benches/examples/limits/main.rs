//! How far the default structure goes: the tables of `docs/results.md`, "The limits of `indexed`".
//!
//! `cargo run --release -p mq-benches --example limits` prints all of them; names of tables choose.

mod keys;
mod memory;
mod rows;
mod stream;
mod tail;
mod timing;
mod wildcards;

use std::process::{Command, ExitCode};

use clap::{Parser, ValueEnum};
use mq_core::structures::Kind;

/// Prints what the matching structures cost at their limits, as Markdown.
///
/// Times are medians and best repetitions in one run, structures taking turns, in nanoseconds for a
/// pair of a receive and its message.
#[derive(Parser)]
#[command(after_help = "Examples:
  limits                                  all tables, some minutes
  limits rows --structures list,indexed   one table, two structures
  limits rows --only 65536                some rows of it
  limits wildcards --only 'posted, 10 %'  likewise
  limits tail --repeat 21                 what single operations cost")]
struct Arguments {
    /// The tables to print.
    #[arg(value_enum, default_values_t = Table::value_variants().to_vec())]
    tables: Vec<Table>,
    /// The structures to compare where a table compares any.
    #[arg(long, value_delimiter = ',', default_value = "list,array,bins,indexed")]
    structures: Vec<Kind>,
    /// Repetitions of each measurement.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Only the rows of `rows` and of `wildcards` whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Time by depth, order and key.
    Rows,
    /// Time by class and share of wildcards, at three depths.
    Wildcards,
    /// Time with keys that are chosen to collide.
    Keys,
    /// Bytes an entry and a context, before and after a burst.
    Memory,
    /// Percentiles of single operations while queues grow and drain.
    Tail,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    println!("{}\n", heading());
    let Arguments {
        structures,
        repeat,
        only,
        ..
    } = &arguments;
    for table in &arguments.tables {
        let any = match table {
            Table::Rows => rows::print(structures, *repeat, only),
            Table::Wildcards => wildcards::print(*repeat, only),
            Table::Keys => {
                keys::print(*repeat);
                true
            }
            Table::Memory => {
                memory::print();
                true
            }
            Table::Tail => {
                tail::print(*repeat);
                true
            }
        };
        if !any {
            eprintln!("limits: no row's name contains `{only}`; without --only all are printed");
            return ExitCode::from(2);
        }
        println!();
    }
    ExitCode::SUCCESS
}

/// Where and when, as far as this system tells: processor, commit, compiler, day.
fn heading() -> String {
    let told = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        let line = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| line.trim().to_owned())
    };
    let processor = std::fs::read_to_string("/proc/cpuinfo").ok();
    let processor = processor.and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let commit = told("git", &["rev-parse", "--short", "HEAD"]);
    [
        processor,
        commit.map(|commit| format!("commit {commit}")),
        told("rustc", &["--version"]),
        told("date", &["+%Y-%m-%d"]),
    ]
    .map(|known| known.unwrap_or_else(|| "unknown".to_owned()))
    .join(", ")
}
