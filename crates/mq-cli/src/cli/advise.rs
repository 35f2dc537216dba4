//! `mq advise` on the command line.

use std::path::PathBuf;

use clap::Args;

use super::{Format, Timed};

/// Options of `mq advise`.
#[derive(Args, Debug)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Every trace is checked and timed as by `mq replay`. The structures stand in the order of their cost, \
beside `list`, which most MPI libraries have; `list` and the default are always among them. Where a \
trace's header names Open MPI (mpi=openmpi-..., or source=openmpi-... as `mq record` has it), \
`array`, which is Open MPI's own structure, is among them too, and the verdict compares with it \
first. Less than 5% of the time of `list` is noise, or what repetitions differ from their median by \
if that is more; fewer than four do not tell. No other structure than the default is advised for \
noise, by fewer than four repetitions, or for less than 2 ns an operation. In json `noise` and a \
structure's `spread_ns_per_op`, what its `repetitions` differ by, are null where these are fewer than \
four, `noise` also where operations are too few to tell or pairings differ. Traces hold no times: how \
much of a run its matching is, `total` beside the run's own time tells.

All traces are held in memory, at 48 bytes an operation.

Examples:
  mq advise mq-traces
  mq advise mq-traces --summary
  mq advise traces/hotspot128-*.mqt.gz --structure bins,array
  mq advise mq-traces --repeat 31 --format json > advice.json

Exit codes: 0 all pairings reproduced, 1 some differ, 2 bad usage or input, also if traces in \
a directory were left out: they could not be read, or a recording did not collect them."
)]
pub(crate) struct AdviseOptions {
    /// Trace files, gzip-compressed or plain, directories of them, or `-` for standard input
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// What is timed, and how often.
    #[command(flatten)]
    pub(crate) timed: Timed,
    /// How to print the results; json is an object of `traces`, a list, and `together`, with --summary
    /// the latter alone
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Print the advice on all traces together alone
    #[arg(long)]
    pub(crate) summary: bool,
}
