//! `mq advise` on the command line.

use std::path::PathBuf;

use clap::Args;

use super::{Format, Timed};

/// Options of `mq advise`.
#[derive(Args, Debug)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Every trace is checked and timed as by `mq replay`. The structures are listed by cost, compared with \
`list`, which most MPI libraries use; `list` and the default are always included. If a trace's header \
names Open MPI (mpi=openmpi-..., or source=openmpi-... as `mq record` writes it), `array`, Open MPI's \
own structure, is included too, and the verdict compares with it first. Differences below 5% of `list`'s \
time, or below the spread of the repetitions if larger, count as noise; fewer than four repetitions \
cannot show a spread. A structure other than the default is recommended only with at least four \
repetitions, and only for a gain above noise and of at least 2 ns per operation. In json, `noise` and a \
structure's `spread_ns_per_op`, the spread of its `repetitions`, are null if there are fewer than four \
repetitions, and `noise` also if there are too few operations to tell or pairings differ. Traces hold no \
times: compare `total` with the run's own time to see how much of the run is matching, at the least: a replay \
finds its queues in the caches, which the program's computing empties, and a trace leaves out probes that \
find nothing again and again. What a structure gains is shown by runs with MQ_STRUCTURE=list and without. For \
several traces together `total` adds up processes that ran at the same time, so compare it with the run's \
time multiplied by their number.

One trace at a time is held in memory, at 48 bytes per operation; several are read twice.

Examples:
  mq advise mq-traces
  mq advise mq-traces --summary
  mq advise traces/hotspot128-*.mqt.gz --structure bins,array
  mq advise mq-traces --repeat 31 --format json > advice.json

Exit codes: 0 all pairings reproduced, 1 some differ, 2 bad usage or input, also if traces in a \
directory were left out because they could not be read or a recording did not collect them."
)]
pub(crate) struct AdviseOptions {
    /// Trace files, gzip-compressed or plain, directories of them, or `-` for standard input
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// What to time, and how often.
    #[command(flatten)]
    pub(crate) timed: Timed,
    /// Output format; json is an object with the list `traces` and the object `together`; with --summary,
    /// the latter alone
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Print only the combined advice
    #[arg(long)]
    pub(crate) summary: bool,
}
