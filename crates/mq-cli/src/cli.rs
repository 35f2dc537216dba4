//! The command line: commands, options and their help.

mod advise;
mod generate;
#[cfg(target_os = "linux")]
mod node;
mod record;
#[cfg(target_os = "linux")]
mod run;

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use mq_core::structures::{Choice, ChoiceError, Kind};

pub(crate) use self::advise::AdviseOptions;
pub(crate) use self::generate::{DepthOptions, Generate, GenerateCommand, WorkloadOptions};
#[cfg(target_os = "linux")]
pub(crate) use self::node::{
    BandwidthOptions, By, Call, CallsOptions, HaloOptions, NodeOptions, PingpongOptions,
    RateOptions,
};
pub(crate) use self::record::RecordOptions;
#[cfg(target_os = "linux")]
pub(crate) use self::run::{Bind, Input, Label, RunOptions, StartRankOptions};

/// The whole command line.
#[derive(Parser, Debug)]
#[command(
    name = "mq",
    version,
    about = "MPI message matching: record, replay, time, describe and generate match traces; start \
             processes that pass messages",
    arg_required_else_help = true,
    subcommand_required = true,
    max_term_width = 100,
    after_help = "\
Examples:
  mq replay traces/*.mqt.gz             check and time every structure on real traces
  mq stats traces/hpcc32-r0.mqt.gz      what an application demands of its queues
  mq record --prefix ~/openmpi-mq -- mpirun -n 4 ./app
  mq advise mq-traces                   which structure that application would gain from
  mq generate depth --depth 4096 -o deep.mqt.gz
  mq structures                         which structures there are, when to choose each
  mq run -n 4 -- ./program              four processes that share a memory segment
  mq pingpong                           the latency of a message between two processes

Exit codes: 0 success, 1 a replay differs from the recorded pairings, 2 bad usage or input; \
record, run and the measurements between processes may return that of what they run."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Replay traces through structures: check every pairing, then time them
    Replay(ReplayOptions),
    /// Describe traces: traffic, queue lengths, search lengths, communicators
    Stats(StatsOptions),
    /// Run an application with a patched MPI library and collect its traces
    Record(RecordOptions),
    /// Start the processes of a program on this machine
    #[cfg(target_os = "linux")]
    Run(RunOptions),
    /// Measure the latency of messages between two processes
    #[cfg(target_os = "linux")]
    Pingpong(PingpongOptions),
    /// Measure the bandwidth of large messages between two processes
    #[cfg(target_os = "linux")]
    Bandwidth(BandwidthOptions),
    /// Measure how many short messages one process receives from others
    #[cfg(target_os = "linux")]
    Rate(RateOptions),
    /// Measure a halo exchange between four processes
    #[cfg(target_os = "linux")]
    Halo(HaloOptions),
    /// Measure collectives, exchanges, and a process that serves others
    #[cfg(target_os = "linux")]
    Calls(CallsOptions),
    /// Started by `mq run` first in each process
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    StartRank(StartRankOptions),
    /// Outlives `mq run` if it is killed
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    GuardRanks,
    /// Say which structure an application would gain from, by how much, and why
    Advise(AdviseOptions),
    /// Generate a trace
    Generate(Generate),
    /// List the structures and when to choose each
    Structures(StructuresOptions),
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// Tables for people
    Table,
    /// JSON for programs
    Json,
}

/// Options of `mq replay`.
#[derive(Args, Debug)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Times are per operation: the median of the repetitions, minus the fastest pass of an empty loop over \
the same operations (the loop floor). The structures are timed in turn, so that a slow spell of the \
machine affects all of them. `clusters` gets its groups of senders from the trace itself: its figures are \
for a profile that only an earlier, equal run could give, and a library has none. In json, `hindsight` is \
true for such figures, and `spread_ns_per_op` is the spread of the repetitions (half of what lies between \
their quartiles), null if there are fewer than four.

Examples:
  mq replay traces/hpcc32-r0.mqt.gz
  mq replay traces/*.mqt.gz --structure list,indexed --repeat 31
  mq replay deep.mqt.gz --structure bins:bins=16,bins:bins=256,bins:bins=4096
  mq replay traces/*.mqt.gz --format json > costs.json
  mq replay traces/*.mqt.gz --plot costs.svg
  mq generate depth --depth 512 | mq replay -

Times are also given relative to `list`, which is therefore timed too, and takes minutes on queues of 100,000 \
entries. If it is not named, and would compare more than 20 billion entries in each repetition, it is left out. One \
trace at a time is held in memory, at 48 bytes per operation, and with it the queues of all structures that are \
timed, since they are timed in turn: 24 bytes for each cancelled receive in each, and for each communicator 1 to 2 \
KB in each of `4d`, `threshold`, `rbtree` and `array`, which adds 16 bytes for each of its ranks. With 100,000 \
communicators, name fewer structures (-s list) if that is too much. Several traces are read twice. A file that is \
named more than once is one trace. If the reader of standard output exits early, the replay stops after the current \
trace; with --plot it continues for the plot.

A replay that is stopped, as by Ctrl-C or SIGTERM, ends its json list and draws its plot of the traces that are \
done, and dies of the signal.

Exit codes: 0 all pairings reproduced, 1 some differ, 2 bad usage or input, also if traces in a \
directory were left out because they could not be read or a recording did not collect them."
)]
pub(crate) struct ReplayOptions {
    /// Trace files, gzip-compressed or plain, directories of them, or `-` for standard input
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// What to time, and how often.
    #[command(flatten)]
    pub(crate) timed: Timed,
    /// Output format; json is a list with one object per trace and structure
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Also plot the times as bars on a logarithmic scale, in an SVG file (its name must end in .svg): one
    /// panel per trace, or for the 24 traces that take longest in `list` if there are more
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file())]
    pub(crate) plot: Option<PathBuf>,
}

/// The structures that a command times.
#[derive(Args, Debug)]
pub(crate) struct Timed {
    /// Structures to replay through, comma-separated, with parameters as in bins:bins=64; `mq structures`
    /// lists them; `all` for all of them
    #[arg(
        short, long, value_name = "NAME", value_delimiter = ',', default_value = "all",
        value_parser = asked,
    )]
    structure: Vec<Asked>,
    /// Timed repetitions of each structure, 1 to 1,000,000, after one warm-up; at most 4 of a structure that
    /// takes more than 2 s for the trace, and 1 from 30 s on
    #[arg(short, long, value_name = "N", default_value_t = 15,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) repeat: u32,
}

impl Timed {
    /// The requested structures, without duplicates.
    pub(crate) fn structures(&self) -> Vec<Choice> {
        let mut choices: Vec<Choice> = Vec::new();
        let mut add = |choice: Choice| {
            if !choices.contains(&choice) {
                choices.push(choice);
            }
        };
        for asked in &self.structure {
            match asked {
                Asked::All => Kind::ALL.iter().for_each(|&kind| add(kind.into())),
                Asked::One(choice) => add(choice.clone()),
            }
        }
        choices
    }

    /// Whether a structure was requested by name, not only by `all`.
    pub(crate) fn names(&self, kind: Kind) -> bool {
        let mut chosen = self.structure.iter();
        chosen.any(|asked| matches!(asked, Asked::One(choice) if choice.kind() == kind))
    }
}

/// Options of `mq stats`.
#[derive(Args, Debug)]
#[command(after_help = "\
Search lengths are those of `list`: the number of entries compared, in one list for all communicators. \
After several traces, such as the ranks of one run, comes a table with a row for each and one for all \
together. Shares of probes are of those recorded: `mq`'s recorder leaves out a probe that finds nothing \
again, and writes one that waits first as one that found nothing. Which messages belong to collective \
operations is told by Open MPI's tags, and only in traces whose header names it (mpi=openmpi-..., or \
source=openmpi-...). In json, a communicator's `declared_size` is the one that the trace gives it, or null; \
`size` may be larger, since structures plan for all ranks that occur.

One trace at a time is held in memory, at some 60 bytes per operation; several are read twice, so that a \
malformed one is rejected before any work is done. A file that is named more than once is one trace.

Examples:
  mq stats traces/hpcc32-r0.mqt.gz
  mq stats traces --summary
  mq stats traces/*.mqt.gz --format json > traces.json
  mq stats traces/hotspot128-*.mqt.gz --plot lengths.svg

Stopped, as by Ctrl-C or SIGTERM, it ends its json list and draws its plot of the traces that are done.

Exit codes: 0 success, even if a trace differs from MPI's rules (`mismatches` says how often), 2 bad \
usage or input, also if traces in a directory were left out because they could not be read or a \
recording did not collect them.")]
pub(crate) struct StatsOptions {
    /// Trace files, gzip-compressed or plain, directories of them, or `-` for standard input
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// Output format; json is a list with one object per trace; with --summary, an object with the list
    /// `traces` and the object `all`
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Print only the summary table
    #[arg(long)]
    pub(crate) summary: bool,
    /// Also plot the queue lengths over time in an SVG file (its name must end in .svg): one panel per
    /// trace, or for the 24 traces with the longest queues if there are more
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file())]
    pub(crate) plot: Option<PathBuf>,
}

/// Options of `mq structures`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mq structures
  mq structures --format json")]
pub(crate) struct StructuresOptions {
    /// Output format; json is a list with one object per structure
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
}

/// A value of `--structure`.
#[derive(Clone, Debug)]
enum Asked {
    All,
    One(Choice),
}

fn asked(text: &str) -> Result<Asked, String> {
    if text == "all" {
        return Ok(Asked::All);
    }
    let wrong = |wrong: ChoiceError| match wrong {
        ChoiceError::Structure(_) => format!("expected all, or {}", wrong.expected()),
        _ => wrong.to_string(),
    };
    text.parse().map(Asked::One).map_err(wrong)
}

/// A file for a plot; names need not be UTF-8.
fn svg_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("svg") => Ok(path),
        _ => Err("plots are SVG; the file name must end in .svg"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn structures_are_taken_once_in_the_order_given() {
        assert_eq!(structures("pnp,list,pnp"), ["pnp", "list"]);
        let bins = "bins:bins=64,bins,bins:bins=256,bins:bins=64";
        assert_eq!(
            structures(bins),
            ["bins:bins=64", "bins"],
            "256 is the default"
        );
        let all = structures("list,all,bins:bins=8");
        assert_eq!((&*all[0], all.len()), ("list", Kind::ALL.len() + 1));
        assert_eq!(all.last().map(|last| &**last), Some("bins:bins=8"));
    }

    fn structures(text: &str) -> Vec<String> {
        let cli = Cli::parse_from(["mq", "replay", "--structure", text, "t"]);
        let Command::Replay(options) = cli.command else {
            panic!("expected the replay command");
        };
        let choices = options.timed.structures();
        choices.iter().map(Choice::to_string).collect()
    }
}
