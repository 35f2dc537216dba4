//! `mq record` on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use mq_core::structures::Kind;

use super::{Format, named};

/// Options of `mq record`.
#[derive(Args, Debug)]
#[command(after_help = "\
The patched library writes a trace for each process into the directory that MQ_TRACE names, and \
matches with the structure that MQ_STRUCTURE names. Each trace is read, compressed and replayed when \
the command has ended, also when it failed or was stopped: Ctrl-C, SIGINT, SIGTERM, SIGHUP, SIGQUIT, \
SIGUSR1 and SIGUSR2 go to it. A trace that cannot be read stays as it was written. So do all if \
`mq record` itself is killed: in recording-PID in the output directory, which `mq stats` and the \
others take like any directory.

With --format json the command's standard output goes to standard error. The MPI libraries' mpirun \
hands the environment to the processes that it starts on this machine; for other machines name \
MQ_TRACE, MQ_STRUCTURE and LD_LIBRARY_PATH to it (-x or -genvlist), with a shared --output.

Examples:
  mq record --prefix ~/openmpi-mq -- mpirun -n 4 ./app
  mq record --prefix ~/mpich-mq -o run1 --structure bins -- mpirun -n 64 lmp -in in.melt
  mq record --output run2 --force -- srun -n 4 ./app
  mq record --prefix ~/openmpi-mq -- mpirun -n 4 ./app && mq advise mq-traces

Exit codes: the command's own if it is not 0 (128 and the signal's number if it was killed), 126 if \
it cannot be executed, 127 if it is not there, else 1 if a trace is invalid or differs from MPI's \
rules, 2 on bad usage or if there is no trace, 0 if all is well.")]
pub(crate) struct RecordOptions {
    /// Where the patched MPI library is installed: its bin and lib come first for the command
    #[arg(long, value_name = "DIR")]
    pub(crate) prefix: Option<PathBuf>,
    /// Directory for the traces; made if it is not there
    #[arg(short, long, value_name = "DIR", default_value = "mq-traces")]
    pub(crate) output: PathBuf,
    /// Structure that the library matches with [default: the library's]
    #[arg(short, long, value_name = "NAME", value_parser = named(Kind::ALL, Kind::name))]
    pub(crate) structure: Option<Kind>,
    /// Add to a directory that has traces; those of the same name are replaced
    #[arg(long)]
    pub(crate) force: bool,
    /// How to print the results; json is a list with an object for each trace
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// What to run, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
