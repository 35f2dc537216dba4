//! `mq run` on the command line.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::binding::CoreList;

/// The most processes of one run: more is a typing error.
const MOST: u32 = 4096;

/// Options of `mq run`.
#[derive(Args, Debug)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Each process finds MQ_RANK (0 to N-1), MQ_SIZE (N) and MQ_SEGMENT (`fd:` and the number of the \
inherited descriptor of the shared segment) in its environment. Standard input goes to rank 0; the \
others read /dev/null. Output is passed on line by line; a line longer than 64 KiB is broken, and a last \
line without a newline gets one. Output of a single process without a label is passed on byte by byte. If \
output cannot be written, as on a full disk, this is said, the ranks go on, and what they print is lost.

SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU, SIGTSTP and SIGCONT are passed on. A rank \
that dies of one of them has not failed: the others, which got it too, may take their time, for instance \
to write a checkpoint, and after --grace it is said that they are waited for. Any other failure ends \
them. A third consecutive SIGINT or SIGTERM, each 1 to 5 s after the last, kills what is still running; \
one that is repeated within a second does not count, since `timeout` sends it twice. A rank that SIGKILL \
does not end, as it runs as another user or the kernel holds it, is named and waited for until a further \
SIGINT or SIGTERM. Each process has its own process group: what it starts there gets the signals too. Half \
a second after the last rank, so that a `tee` can write its last lines, everything that ranks started and \
that is still there is killed, in other groups and sessions as well. If a signal ended the ranks, a reader \
that keeps reading gets their remaining output for up to --grace. If mq itself is killed, so are the ranks, \
their groups, and whatever else has the same MQ_RUN in its environment. Programs that change their user when \
they start go on, which is said, and so do, if mq itself is killed, programs in other groups that forbid others \
to read them, such as ssh-agent. Where /proc is of another PID namespace, what is in other groups cannot be found.

Examples:
  mq run -n 4 ./program --its --options
  mq run -n 2 --label always -- sh -c 'echo rank $MQ_RANK of $MQ_SIZE'
  mq run -n 8 --timeout 60 --grace 5 -- ./test
  MQ_SAY_WAITS=10 mq run -n 8 --timeout 60 -- ./hangs   # each rank says what it has waited for
  mq run -n 4 --bind core -- ./exchanges-small-messages
  mq run -n 2 --cores 0,8 -- ./ping-pong
  mq run -n 64 --keep-going -- ./independent < input

Exit codes: that of the rank that failed first (128 plus the signal's number if it was killed), 0 if \
none failed, 124 after --timeout, 126 if the program cannot be executed, 127 if it does not exist, 2 on \
bad usage or if processes cannot be started or output cannot be written."
)]
pub(crate) struct RunOptions {
    #[arg(short = 'n', long, value_name = "N", value_parser = processes,
        help = format!("Processes to start, 1 to {MOST}"))]
    pub(crate) processes: u32,
    /// Prefix each line with its rank, as in `[3] `; auto: if there is more than one process
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) label: Label,
    /// Keep the other processes running when one fails
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Time from SIGTERM to SIGKILL for the remaining processes when one has failed or --timeout has
    /// expired
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub(crate) grace: Duration,
    /// End all processes after this time
    #[arg(long, value_name = "SECONDS", value_parser = some_seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Bind processes to the cores that mq itself may use. Two runs at once on a machine bind to the same ones:
    /// give the second others with --cores, or start it with `taskset`
    #[arg(
        long,
        value_enum,
        default_value = "none",
        value_name = "HOW",
        conflicts_with = "cores"
    )]
    pub(crate) bind: Bind,
    /// Bind processes to these cores, in rank order, such as 0,2 or 4-7; if there are more processes than
    /// cores, neighbouring ranks share one
    #[arg(long, value_name = "LIST")]
    pub(crate) cores: Option<CoreList>,
    /// What rank 0 reads as its standard input
    #[arg(long, value_enum, default_value = "rank0", value_name = "WHO")]
    pub(crate) stdin: Input,
    /// Program to run, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

/// When lines are labelled with their rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Label {
    /// If there is more than one process
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Who reads the standard input of `mq run`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Input {
    /// Rank 0. mq reads a terminal on its behalf even if rank 0 does not; use `none` to leave keys to a pager
    /// or the shell
    Rank0,
    /// Nobody: all ranks read /dev/null
    None,
}

/// Where processes run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Bind {
    /// Wherever the system's scheduler puts them
    None,
    /// On a core each; if there are more processes than cores, neighbouring ranks share one. For
    /// single-threaded programs
    Core,
}

/// Options of `mq start-rank`, which only `mq run` calls.
#[derive(Args, Debug)]
pub(crate) struct StartRankOptions {
    /// Process that must be the parent
    #[arg(long)]
    pub(crate) launcher: i32,
    /// Descriptor in the launcher that learns why the program could not be started
    #[arg(long)]
    pub(crate) refusals: i32,
    /// Soft limit of open files that the program gets
    #[arg(long)]
    pub(crate) open_files: Option<u64>,
    /// Core that the program is bound to
    #[arg(long)]
    pub(crate) core: Option<usize>,
    /// Program to run, with its arguments
    #[arg(last = true, required = true)]
    pub(crate) program: Vec<OsString>,
}

fn processes(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number) if (1..=MOST).contains(&number) => Ok(number),
        // The rest of `-np 4`.
        _ if text.starts_with('p') => Err("write -n 4 for mpirun's -np 4".into()),
        _ => Err(format!("expected a number of processes from 1 to {MOST}")),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok();
    number
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "expected a number of seconds, such as 2 or 0.5".into())
}

fn some_seconds(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        Duration::ZERO => Err("expected a number of seconds above 0".into()),
        some => Ok(some),
    }
}
