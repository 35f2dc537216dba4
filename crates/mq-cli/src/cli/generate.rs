//! `mq generate` on the command line.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use mq_trace::generate::{Filled, KeyedBy, Keys, Neighbors, Order};

/// `mq generate`.
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "\
`depth` is a pattern without an application. The others are the operations of one process of an \
application, with the queue statistics that were published of it, for any number of processes; they print \
how well both agree.

Examples:
  mq generate depth --depth 1024 --order random -o random.mqt.gz
  mq generate radix --keys n30 -o radix.mqt.gz
  mq generate nbody --ranks 704 --rank 3 | mq replay -
  mq generate fds --help"
)]
pub(crate) struct Generate {
    /// What to generate.
    #[command(subcommand)]
    pub(crate) command: GenerateCommand,
}

/// The generators.
#[derive(Subcommand, Debug)]
pub(crate) enum GenerateCommand {
    /// Fill one queue to a depth and drain it, round after round
    Depth(DepthOptions),
    /// A process that exchanges its border with its neighbours in a grid: shallow queues
    Halo(HaloWorkload),
    /// The root of a gather, which receives from every other process
    Gather(GatherWorkload),
    /// A process of an N-body simulation, which receives from every other in order
    Nbody(NbodyWorkload),
    /// A process of a radix sort, whose rank 0 has more unexpected messages than processes
    Radix(RadixWorkload),
    /// A process of MiniAMR: a stencil, and allreduces that search far
    Amr(AmrWorkload),
    /// A process of the Fire Dynamics Simulator, whose processes all send to rank 0
    Fds(FdsWorkload),
}

/// Options of `mq generate depth`.
#[derive(Args, Debug)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
The recorded outcomes are those of MPI's matching rules, so that `mq replay` can check them. Computing \
them takes time quadratic in the depth. With wildcards, a receive may take another's message, so that \
some receives and messages stay queued in later rounds.

Examples:
  mq generate depth --depth 1024 -o reverse.mqt.gz
  mq generate depth --queue posted --order random --any-source 10 -o posted.mqt.gz
  mq generate depth --depth 16 --by tag --contexts 4 --rounds 2"
)]
pub(crate) struct DepthOptions {
    /// Entries in the filled queue, over all communicators, 1 to 1,000,000
    #[arg(long, value_name = "N", default_value_t = 1024,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) depth: u32,
    /// Order in which the queue is drained: as filled, backwards, or shuffled
    #[arg(long, value_name = "ORDER", default_value = Order::Reverse.name(),
        value_parser = named(Order::ALL, Order::name))]
    pub(crate) order: Order,
    /// Which queue is filled: receives before their messages, or messages before their receives
    #[arg(long, value_name = "QUEUE", default_value = Filled::Unexpected.name(),
        value_parser = named(Filled::ALL, Filled::name))]
    pub(crate) queue: Filled,
    /// What distinguishes the messages: each has its own source rank, or its own tag
    #[arg(long, value_name = "KEY", default_value = KeyedBy::Source.name(),
        value_parser = named(KeyedBy::ALL, KeyedBy::name))]
    pub(crate) by: KeyedBy,
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percentage,
        help = "Share of receives from ANY_SOURCE, in percent")]
    pub(crate) any_source: f64,
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percentage,
        help = "Share of receives with ANY_TAG, in percent, independent of --any-source")]
    pub(crate) any_tag: f64,
    /// Communicators over which the entries are dealt round-robin, 1 to 65,536
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) contexts: u32,
    /// How often the queue is filled and drained, 1 to 1,000,000; twice the depth times this is at most
    /// 20,000,000
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rounds: u32,
    /// Seed of all random choices; the same seed gives the same trace
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// File to write, gzip-compressed if its name ends in .gz; without it, or with `-`, plain text goes to
    /// standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Of all processes of applications.
const WORKLOAD: &str = "\
The outcomes are those of MPI's matching rules, so that `mq replay` can check them. Messages of collective \
operations have Open MPI's tags. When the trace is written, its statistics are printed to standard error, \
beside the published ones of the run that is nearest in processes.
";

/// Options of every process of an application.
#[derive(Args, Debug)]
pub(crate) struct WorkloadOptions {
    /// Processes of the application, 2 to 1,048,576
    #[arg(long, value_name = "N", default_value_t = 512,
        value_parser = clap::value_parser!(u32).range(2..=1_048_576))]
    pub(crate) ranks: u32,
    /// The process whose operations are generated; some applications have a rank 0 unlike the others
    #[arg(long, value_name = "RANK", default_value_t = 0)]
    pub(crate) rank: u32,
    /// How often it does what it does, 1 to 1,000,000, with at most 20,000,000 operations; without it 16, or
    /// fewer if these were more operations
    #[arg(long, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rounds: Option<u32>,
    /// Seed of all random choices; the same seed gives the same trace
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// File to write, gzip-compressed if its name ends in .gz; without it, or with `-`, plain text goes to
    /// standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Options of `mq generate halo`.
#[derive(Args, Debug)]
#[command(allow_negative_numbers = true, after_help = format!("{WORKLOAD}
In each round a receive is posted for each neighbour, and their messages come in random order, a third of \
them before the receives. With 26 neighbours searches are about as long as those of AMG2006 on 512 \
processes; nothing is published for 4 and 6.

Examples:
  mq generate halo -o halo.mqt.gz
  mq generate halo --neighbors 6 --ranks 1048576 --rounds 100 -o large.mqt.gz"))]
pub(crate) struct HaloWorkload {
    /// Neighbours: 4 in a square, 6 in a cube, or 26 with those at its edges and corners; in small grids
    /// some are the same
    #[arg(long, value_name = "N", default_value = Neighbors::All.name(),
        value_parser = named(Neighbors::ALL, Neighbors::name))]
    pub(crate) neighbors: Neighbors,
    /// Which process, and how much of it.
    #[command(flatten)]
    pub(crate) process: WorkloadOptions,
}

/// Options of `mq generate gather`.
#[derive(Args, Debug)]
#[command(allow_negative_numbers = true, after_help = format!("{WORKLOAD}
Rank 0 is the root; the others only send, so their traces have no operations. Published is only how many \
lists Algorithm 1 of Ghazimirsaeed et al. makes for the receives of the root: the square root of the \
processes, which is its limit. It is reached by any order but forward.

Examples:
  mq generate gather --ranks 1024 -o gather.mqt.gz
  mq generate gather --order reverse --queue unexpected --rounds 2 -o late.mqt.gz"))]
pub(crate) struct GatherWorkload {
    /// Order in which the queue is drained: that of the ranks, backwards, or shuffled
    #[arg(long, value_name = "ORDER", default_value = Order::Random.name(),
        value_parser = named(Order::ALL, Order::name))]
    pub(crate) order: Order,
    /// Which queue is filled: receives before their messages, or messages before their receives
    #[arg(long, value_name = "QUEUE", default_value = Filled::Posted.name(),
        value_parser = named(Filled::ALL, Filled::name))]
    pub(crate) queue: Filled,
    /// Which process, and how much of it.
    #[command(flatten)]
    pub(crate) process: WorkloadOptions,
}

/// Options of `mq generate nbody`.
#[derive(Args, Debug)]
#[command(allow_negative_numbers = true, after_help = format!("{WORKLOAD}
In each step a receive is posted for every other process, and the messages come in order, some before the \
receives; every eighth step has an allgather. Rank 0 has the longest unexpected queue that was published \
and the longest searches of it, the other ranks have the averages. Rank 0 does not have the longest \
searches of the posted queue, 0.98 entries, but about 0.65: those are of a process whose messages come \
late. The average queue length of the paper is read as the average of each process's longest queue.

Examples:
  mq generate nbody -o nbody.mqt.gz
  mq generate nbody --ranks 704 --rank 1 -o average.mqt.gz"))]
pub(crate) struct NbodyWorkload {
    /// Which process, and how much of it.
    #[command(flatten)]
    pub(crate) process: WorkloadOptions,
}

/// Options of `mq generate radix`.
#[derive(Args, Debug)]
#[command(allow_negative_numbers = true, after_help = format!("{WORKLOAD}
Rank 0 is the bottleneck: the others are 6, 12 or 26 contributions to an allgather ahead of it, and its \
searches pass half of them. With n29 and n30 the published searches are a tenth longer. Its trace has twice \
so many operations for each process and round, so that n29 and n30 have at most 833,333 and 384,616 \
processes, with `--rounds 1`. The other ranks have the averages of Table 8, which Ghazimirsaeed et al. do \
not confirm: they found searches of about 10 entries.

Examples:
  mq generate radix -o radix.mqt.gz
  mq generate radix --keys n30 --rank 7 -o ordinary.mqt.gz
  mq generate radix --ranks 1048576 --rounds 1 -o large.mqt.gz"))]
pub(crate) struct RadixWorkload {
    /// 64-bit keys that the published runs sorted: 2^28, 2^29 or 2^30
    #[arg(long, value_name = "KEYS", default_value = Keys::N28.name(),
        value_parser = named(Keys::ALL, Keys::name))]
    pub(crate) keys: Keys,
    /// Which process, and how much of it.
    #[command(flatten)]
    pub(crate) process: WorkloadOptions,
}

/// Options of `mq generate amr`.
#[derive(Args, Debug)]
#[command(allow_negative_numbers = true, after_help = format!("{WORKLOAD}
In each round borders are exchanged with six neighbours; then contributions to an allreduce come in random \
order, half of them before their receives, and as many as make searches as long as published. The lengths \
are published only as the number of lists that Algorithm 1 of Ghazimirsaeed et al. makes of them: one for \
each entry that a search visits on average.

Examples:
  mq generate amr --ranks 2048 -o amr.mqt.gz
  mq generate amr --rank 9 | mq stats -"))]
pub(crate) struct AmrWorkload {
    /// Which process, and how much of it.
    #[command(flatten)]
    pub(crate) process: WorkloadOptions,
}

/// Options of `mq generate fds`.
#[derive(Args, Debug)]
#[command(allow_negative_numbers = true, after_help = format!("{WORKLOAD}
In each round rank 0 receives three gathers from all, and behind the first of them a point-to-point message \
from every second rank, in random order; the other ranks have six neighbours and an allreduce. The lengths \
are published only as the number of lists that Algorithm 1 of Ghazimirsaeed et al. makes of them: one for \
each entry that a search visits on average, up to eight times the square root of the processes.

Examples:
  mq generate fds --ranks 2048 -o hot-spot.mqt.gz
  mq generate fds --ranks 2048 --rank 1 -o ordinary.mqt.gz"))]
pub(crate) struct FdsWorkload {
    /// Which process, and how much of it.
    #[command(flatten)]
    pub(crate) process: WorkloadOptions,
}

/// One of `values`, by name.
fn named<T: Copy + Send + Sync + 'static>(
    values: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(values.iter().map(move |&value| name(value))).try_map(move |given| {
        let known = values.iter().copied().find(|&value| name(value) == given);
        known.ok_or("unknown name")
    })
}

fn percentage(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("expected a percentage from 0 to 100".into()),
    }
}
