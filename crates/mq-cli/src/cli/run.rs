//! `mq run` on the command line.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::binding::CoreList;

/// The most processes of one run: beyond this it is a slip of the keyboard.
const MOST: u32 = 4096;

/// Options of `mq run`.
#[derive(Args, Debug)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Each process finds MQ_RANK (0 to N-1), MQ_SIZE (N) and MQ_SEGMENT (`fd:` and the number of the \
inherited descriptor of the shared segment) in its environment. Standard input goes to rank 0, the \
others read /dev/null. Output comes line by line; a line longer than 64 KiB is broken, a last line \
without its end gets one. A single process without label is passed on byte by byte.

SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU, SIGTSTP and SIGCONT are passed on; SIGINT or \
SIGTERM for the third time in a row, 1 to 5 s after the one before, kills what is still running; one of \
these two that comes again within a second is the same, for `timeout` sends it twice. Each process has \
its own process group: what it starts there gets the signals too. All that it starts is killed when \
all ranks have ended, in other groups and sessions as well. When a signal has ended the ranks, what they \
wrote is handed on for as long as --grace says, to a reader that takes it. If mq itself is killed, so are the ranks, \
their groups, and whatever else has MQ_RUN in its environment as they have it (but not programs that \
change their user when they start).

Examples:
  mq run -n 4 ./program --its --options
  mq run -n 2 --label always -- sh -c 'echo rank $MQ_RANK of $MQ_SIZE'
  mq run -n 8 --timeout 60 --grace 5 -- ./test
  mq run -n 4 --bind core -- ./exchanges-small-messages
  mq run -n 2 --cores 0,8 -- ./ping-pong
  mq run -n 64 --keep-going -- ./independent < input

Exit codes: that of the rank which failed first (128 and the signal's number if it was killed), 0 if \
none failed, 124 after --timeout, 126 if the program cannot be executed, 127 if it is not there, 2 \
on bad usage."
)]
pub(crate) struct RunOptions {
    #[arg(short = 'n', long, value_name = "N", value_parser = processes,
        help = format!("Processes to start, 1 to {MOST}"))]
    pub(crate) processes: u32,
    /// Put the rank, as `[3] `, before each line; auto: if there is more than one process
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) label: Label,
    /// Let the others go on when one fails
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// How long the others may take to end when one has failed or --timeout is over, after SIGTERM
    /// and before SIGKILL
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub(crate) grace: Duration,
    /// End all processes after this time
    #[arg(long, value_name = "SECONDS", value_parser = some_seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Bind processes to the cores that mq itself may use
    #[arg(
        long,
        value_enum,
        default_value = "none",
        value_name = "HOW",
        conflicts_with = "cores"
    )]
    pub(crate) bind: Bind,
    /// Bind processes to these cores, in the order of their ranks, as 0,2 or 4-7; where there are
    /// more processes, neighbouring ranks share one
    #[arg(long, value_name = "LIST")]
    pub(crate) cores: Option<CoreList>,
    /// What rank 0 reads as its standard input
    #[arg(long, value_enum, default_value = "rank0", value_name = "WHO")]
    pub(crate) stdin: Input,
    /// What to run, with its arguments
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
    /// Rank 0. A terminal is read by mq for it, whether it reads or not: keys that a pager or the shell is to
    /// have want the other
    Rank0,
    /// Nobody: all read /dev/null
    None,
}

/// Where processes run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Bind {
    /// Wherever the system's scheduler puts them
    None,
    /// On a core each; where there are more processes than cores, neighbouring ranks share one.
    /// For programs of one thread
    Core,
}

/// Options of `mq start-rank`, which nobody but `mq run` calls.
#[derive(Args, Debug)]
pub(crate) struct StartRankOptions {
    /// Process that has to be the parent
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
    /// What to run, with its arguments
    #[arg(last = true, required = true)]
    pub(crate) program: Vec<OsString>,
}

fn processes(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number) if (1..=MOST).contains(&number) => Ok(number),
        // What is left of `-np 4`.
        _ if text.starts_with('p') => Err("write -n 4 for mpirun's -np 4".into()),
        _ => Err(format!("give a number of processes from 1 to {MOST}")),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok();
    number
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "give a number of seconds, as 2 or 0.5".into())
}

fn some_seconds(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        Duration::ZERO => Err("give a number of seconds above 0".into()),
        some => Ok(some),
    }
}
