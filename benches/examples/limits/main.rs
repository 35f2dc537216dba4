//! The costs of the matching structures: tables of `docs/measured/engine-*.md`.
//!
//! `cargo run --release -p mq-benches --example limits` prints all of them; names of tables select some.
//! `benches/report.sh` prints them with the others.

mod bare;
mod goals;
mod keys;
mod memory;
mod parts;
mod rows;
mod stream;
mod subject;
mod table;
mod tail;
mod timing;
mod traces;
mod wildcards;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use mq_benches::say;
use mq_core::structures::Kind;

use crate::timing::Plan;

/// Prints the costs of the matching structures, as Markdown.
///
/// Times are medians and best repetitions of one run, in nanoseconds per pair of a receive and its
/// message, or per operation of a trace. Structures take turns, and each turn runs once before it is
/// timed. A structure that is too slow for its time in a row is measured over part of the row, and its
/// figure is marked.
#[derive(Parser)]
#[command(after_help = "Examples:
  limits                                  all tables of all structures, some ten minutes
  limits rows --structures list,indexed   one table, two structures
  limits rows --only 65536                some rows of it
  limits wildcards --only 'posted, 10 %'  likewise
  limits tail --repeat 21                 what single operations cost
  limits traces --traces ~/recorded       other traces
  limits --quick                          whether everything runs

Exit codes: 0 printed, 1 a trace cannot be read or a structure answers otherwise than recorded,
2 bad usage.")]
struct Arguments {
    /// The tables to print.
    #[arg(value_enum, default_values_t = Table::value_variants().to_vec())]
    tables: Vec<Table>,
    /// The structures to compare; all if none is named.
    #[arg(long, value_delimiter = ',')]
    structures: Vec<Kind>,
    /// Repetitions of each measurement, if they fit into its time.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Milliseconds for each structure in each row.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..))]
    allowance: u64,
    /// Only the rows of `rows` and of `wildcards` whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Traces, or directories of them.
    #[arg(long, value_delimiter = ',', default_value = "traces")]
    traces: Vec<PathBuf>,
    /// Only check that everything runs: once, for 5 milliseconds, with fewer entries.
    #[arg(long, conflicts_with_all = ["repeat", "allowance"])]
    quick: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Recorded traces.
    Traces,
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

impl Arguments {
    fn plan(&self) -> Plan {
        let (repeat, allowance) = match self.quick {
            true => (1, 5),
            false => (self.repeat, self.allowance),
        };
        Plan {
            repeat,
            allowance: Duration::from_millis(allowance),
            quick: self.quick,
        }
    }

    fn structures(&self) -> Vec<Kind> {
        match self.structures.as_slice() {
            [] => Kind::ALL.to_vec(),
            named => named.to_vec(),
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let (plan, structures) = (arguments.plan(), arguments.structures());
    for (i, table) in arguments.tables.iter().enumerate() {
        if i > 0 {
            say!("");
        }
        let any = match table {
            Table::Traces => {
                if let Err(error) = traces::print(&arguments.traces, &structures, plan) {
                    eprintln!("limits: {error}");
                    return ExitCode::FAILURE;
                }
                true
            }
            Table::Rows => rows::print(&structures, plan, &arguments.only),
            Table::Wildcards => wildcards::print(&structures, plan, &arguments.only),
            Table::Keys => {
                keys::print(&structures, plan);
                true
            }
            Table::Memory => {
                memory::print(&structures, plan);
                true
            }
            Table::Tail => {
                tail::print(&structures, plan);
                true
            }
        };
        if !any {
            let only = &arguments.only;
            eprintln!("limits: no row's name contains `{only}`; without --only all are printed");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
