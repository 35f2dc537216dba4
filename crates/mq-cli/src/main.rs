//! `mq`: records match traces of applications, replays them through every structure, times them,
//! describes and generates traces, and starts the processes of a program on this machine.
//!
//! `mq help` lists the commands; `mq help replay` and so on show examples. Exit codes: 0, success;
//! 1, a replay differs from the recorded pairings; 2, bad usage or an input that cannot be read;
//! `mq record`, `mq run` and the measurements between processes may return that of what they run.
//!
//! | modules | what they are about |
//! | --- | --- |
//! | `cli` | the arguments and help texts of all commands |
//! | `replay`, `stats`, `advise`, `generate`, `record`, `structures` | the commands of these names; `mismatches`, `timing` and `library` are parts of some |
//! | `run`, `node` | `mq run`, which starts processes; `mq pingpong` and the other measurements between them; `binding`: which cores they use |
//! | `input` | the traces given to a command; `jobs`, `ended_early`, `array_ranks`, `trace_names`: what is to be known of them |
//! | `report`, `plot`, `output_file`, `progress` | what is printed, drawn and written |
//! | `error`, `exit`, `signals`, `stopping` | how the command ends |

// Other systems have only the commands for traces, and leave the rest of the output code unused.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

mod advise;
mod array_ranks;
#[cfg(target_os = "linux")]
mod binding;
mod cli;
mod ended_early;
mod error;
mod exit;
mod generate;
mod input;
mod jobs;
mod library;
mod mismatches;
#[cfg(target_os = "linux")]
mod node;
mod output_file;
mod plot;
mod progress;
mod record;
mod replay;
mod report;
#[cfg(target_os = "linux")]
mod run;
mod signals;
mod stats;
mod stopping;
mod structures;
mod timing;
mod trace_names;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::error::Error;

/// The exit code of a replay whose pairings differ from the recorded ones, and of a recording with
/// a trace that cannot be read.
const DIFFERS: u8 = 1;
/// The exit code for bad usage and for failed input or output; clap's too.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    stopping::outlast_long_files();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(asked_or_wrong) => return tell(&asked_or_wrong),
    };
    match run(&cli.command) {
        Ok(code) => code,
        // The reader has seen enough, like `head`.
        Err(Error::ClosedPipe) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.to_string());
            ExitCode::from(FAILED)
        }
    }
}

/// Prints a help text, or what is wrong with the arguments.
fn tell(text: &clap::Error) -> ExitCode {
    match text.print() {
        _ if text.use_stderr() => ExitCode::from(FAILED),
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            say(&format!("standard output: cannot write: {error}"));
            ExitCode::from(FAILED)
        }
        _ => ExitCode::SUCCESS,
    }
}

fn run(command: &Command) -> Result<ExitCode, Error> {
    match command {
        Command::Replay(options) => return replay::run(options).map(exit_code),
        Command::Record(options) => return record::run(options),
        #[cfg(target_os = "linux")]
        Command::Run(options) => return run::run(options),
        #[cfg(target_os = "linux")]
        Command::Pingpong(options) => return node::pingpong(options),
        #[cfg(target_os = "linux")]
        Command::Bandwidth(options) => return node::bandwidth(options),
        #[cfg(target_os = "linux")]
        Command::Rate(options) => return node::rate(options),
        #[cfg(target_os = "linux")]
        Command::Halo(options) => return node::halo(options),
        #[cfg(target_os = "linux")]
        Command::Calls(options) => return node::calls(options),
        #[cfg(target_os = "linux")]
        Command::StartRank(options) => return Ok(run::start_rank(options)),
        #[cfg(target_os = "linux")]
        Command::GuardRanks => return Ok(run::guard_ranks()),
        Command::Advise(options) => return advise::run(options).map(exit_code),
        Command::Stats(options) => stats::run(options)?,
        Command::Generate(options) => generate::run(&options.command)?,
        Command::Structures(options) => structures::run(options)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The exit code that says whether all pairings were reproduced.
fn exit_code(reproduced: bool) -> ExitCode {
    if reproduced {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(DIFFERS)
    }
}

/// Tells the user; a closed stderr is no reason to stop. Written in one call, so that a rank that is
/// killed leaves the whole line or none.
fn say(message: &str) {
    // It may contain a file name, which may have lines that look like ours.
    let line = format!("mq: {}\n", report::escaped(message));
    let _ = std::io::stderr().write_all(line.as_bytes());
}
