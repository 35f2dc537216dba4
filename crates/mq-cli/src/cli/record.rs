//! `mq record` on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use mq_core::structures::Choice;

use super::Format;

/// Options of `mq record`.
#[derive(Args, Debug)]
#[command(after_help = "\
The patched library writes one trace per process into the directory named by MQ_TRACE, and matches with the \
structure named by MQ_STRUCTURE. When the command has ended, each trace is compressed, and then replayed by \
two structures (by one if the other would compare too many entries), even if the command failed or was \
stopped: Ctrl-C, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGXCPU go to the command. A trace \
that cannot be read stays as written, and so does one that a process of this machine still has open, or whose \
process, on another machine or in a container, has not closed its session and may still run. A last line that \
a killed process did not finish is left out. Operations are written at least every 0.1 s while others follow, \
and when the session is closed, as MPI_Finalize does: what a process did before it ended without that may be \
missing. A trace also ends before its process at what it cannot hold, or if the disk is full. All these are \
collected, and the table and `ended_early` in json give the reason; the library's stays beside the trace, in a \
file ending in .mqt.ended. Ranks without a trace are named. If `mq record` itself is killed, all traces stay \
as written, in recording-PID in the output directory, which `mq stats` and the other commands accept like any \
directory.

With --format json the command's standard output goes to standard error. The MPI libraries' mpirun \
passes the environment to the processes that it starts on this machine; for other machines tell it to \
pass MQ_TRACE, MQ_STRUCTURE and LD_LIBRARY_PATH (-x or -genvlist), and use a shared --output. srun passes \
them on unless --export=NONE or SLURM_EXPORT_ENV=NONE is set: use --export=ALL. A container must get these \
variables too, and have the output directory at the same path.

Examples:
  mq record --prefix ~/openmpi-mq -- mpirun -n 4 ./app
  mq record --prefix ~/mpich-mq -o run1 --structure bins -- mpirun -n 64 lmp -in in.melt
  mq record --output run2 --force -- srun -n 4 ./app
  mq record --prefix ~/openmpi-mq -- mpirun -n 4 ./app && mq advise mq-traces

Exit codes: the command's own if it is not 0 (128 plus the signal's number if it was killed), 126 if it \
cannot be executed, 127 if it does not exist; else 1 if a trace is invalid or differs from MPI's rules, \
2 on bad usage or if there is no trace, 0 otherwise.")]
pub(crate) struct RecordOptions {
    /// Where the patched MPI library is installed; the command searches its bin and lib first
    #[arg(long, value_name = "DIR")]
    pub(crate) prefix: Option<PathBuf>,
    /// Directory for the traces; created if it does not exist
    #[arg(short, long, value_name = "DIR", default_value = "mq-traces")]
    pub(crate) output: PathBuf,
    /// Structure that the library matches with, with parameters as in bins:bins=64; `mq structures` lists them
    /// [default: the library's]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) structure: Option<Choice>,
    /// Add to a directory that already has traces, replacing those of the same name
    #[arg(long)]
    pub(crate) force: bool,
    /// Output format; json is a list with one object per trace
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Command to run, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
