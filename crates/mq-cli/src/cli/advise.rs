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
names Open MPI (mpi=openmpi-..., or source=openmpi-... as `mq record` writes it), `array`, Open MPI's own \
structure, is included too, the verdict compares with it first, and what is measurably slower, by 2 ns or \
more, is not recommended.

What two structures differ by is noise if it is below 5% of the slower one's time, or below the spread of \
the repetitions of either. Fewer than four repetitions show no spread; a structure that takes more than 30 \
s for a trace is repeated once. A structure other than the default is recommended only if it saves more \
than noise and at least 2 ns per operation, and if both have four repetitions or more; so must `list`, \
unless it takes more than twice as long. In json, `noise` is the share of `list`'s time up to which \
differences from it are noise; it is null if there are too few repetitions or operations to tell, or if \
pairings differ. `spread_ns_per_op`, the spread of a structure's `repetitions` (half of what lies between their \
quartiles), is null if there are fewer than four.

Traces hold no times but that of the run, which their headers tell if the process closed its session \
(seconds=...). `of the run` is how much of it `total` is, in json `share_of_run`. Matching takes that much at \
the least: a replay finds its queues in the caches, which the program's computing empties, and a trace leaves \
out probes that find nothing again and again. What a structure gains is shown by runs with it and with the \
library's own: MQ_STRUCTURE=array for Open MPI, list for MPICH. For several traces together `total` adds up \
processes that ran at the same time, and `of the run` compares it with the sum of their times. A trace that is \
said to have ended early tells only of the time before its end.

One trace at a time is held in memory, at 48 bytes per operation, and with it the queues of all structures \
that are timed, since they are timed in turn: 24 bytes for each cancelled receive in each, and for each \
communicator 1 to 2 KB in each of `4d`, `threshold`, `rbtree` and `array`, which adds 16 bytes for each of its \
ranks. With 100,000 communicators, name fewer structures (-s list) if that is too much. Several traces are read \
twice.

Examples:
  mq advise mq-traces
  mq advise mq-traces --summary
  mq advise traces/hotspot128-*.mqt.gz --structure bins,array
  mq advise mq-traces --repeat 31 --format json > advice.json

Stopped, as by Ctrl-C or SIGTERM, or by a trace that cannot be read, it gives the json object with the `traces` that \
are done, and without `together`.

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
