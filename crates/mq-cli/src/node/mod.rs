//! Measurements inside one node: latency, bandwidth, message rate and halo exchange over `mq-comm`.
//!
//! What is measured, and how, is written in `benches/node/README.md`, whose MPI program does the
//! same.

mod bandwidth;
mod cores;
mod halo;
mod outgoing;
mod pingpong;
mod rate;
mod rows;
mod sampling;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;

use mq_comm::World;
use rustix::fs::{FileType, fstat};

use self::cores::Places;
use self::rows::Rows;
use crate::cli::{Bind, Format, Input, Label, NodeOptions, RunOptions};
use crate::error::Error;
use crate::progress::ByLines;
use crate::report;

pub(crate) use self::bandwidth::run as bandwidth;
pub(crate) use self::halo::run as halo;
pub(crate) use self::pingpong::run as pingpong;
pub(crate) use self::rate::run as rate;

/// What a command is about to do.
struct Plan {
    processes: u32,
    /// Rows to come.
    rows: usize,
    /// What is the same in all rows and stands in none, as a sentence.
    what: String,
    /// Whether messages come from shared buffers.
    shared_buffers: bool,
    memory: Memory,
}

/// What a process needs for its messages, the one that needs most.
struct Memory {
    bytes: u64,
    /// The options that it follows from.
    chosen_by: &'static str,
}

impl Memory {
    /// Of two processes that have two messages each, or one if the other is in a shared buffer.
    fn of_two(sizes: &[usize], shared_buffers: bool) -> Self {
        let longest = sizes.iter().copied().max().unwrap_or(0) as u64;
        let messages = if shared_buffers { 1 } else { 2 };
        Self {
            bytes: longest * messages,
            chosen_by: "--sizes",
        }
    }

    /// # Errors
    /// If the system would not give it to a process.
    fn look_for(&self) -> Result<(), Error> {
        if outgoing::could_have(self.bytes) {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "a process would need {} for its messages, which the system does not give: choose less by {}",
            report::bytes(self.bytes as usize),
            self.chosen_by
        )))
    }
}

/// Does a measurement with the planned processes, of which this is one, or that this one starts.
fn measured(
    plan: &Plan,
    options: &NodeOptions,
    measure: impl FnOnce(&World, &mut Rows) -> Result<(), mq_comm::Error>,
) -> Result<ExitCode, Error> {
    let processes = plan.processes;
    if options.cores.is_some() {
        cores::check(processes, options)?;
    }
    if World::size_to_be().map_err(failed)? == 1 && processes > 1 {
        if let Some(name) = World::unknown_launcher() {
            return Err(Error::Usage(format!(
                "this process has a rank by {name}, of a launcher that is not known here: each of its processes \
                 would measure for itself. Start it without, or by `mq run`, mpirun or srun"
            )));
        }
        prepare_plot(options)?;
        plan.memory.look_for()?;
        // Its ranks say what is wrong with the environment.
        return start(plan, options);
    }
    let world = World::init().map_err(failed)?;
    if world.size() != processes {
        let size = world.size();
        let message = format!("{processes} processes are needed, {size} were started");
        return Err(Error::Usage(message));
    }
    if world.rank() == 0 {
        // One alone: what one looks for another may be making.
        prepare_plot(options)?;
    }
    let places = Places::of(options)?;
    let cores = places.bind(&world, processes).map_err(failed)?;
    let mut rows = Rows::new(plan, options, places, cores, world.rank() == 0);
    measure(&world, &mut rows).map_err(failed)?;
    rows.finish(&plan.what)?;
    Ok(ExitCode::SUCCESS)
}

fn prepare_plot(options: &NodeOptions) -> Result<(), Error> {
    options
        .plot
        .as_deref()
        .map_or(Ok(()), crate::whole::prepare)
}

/// Runs this very command once in each process.
fn start(plan: &Plan, options: &NodeOptions) -> Result<ExitCode, Error> {
    let own = std::env::current_exe();
    let own = own.map_err(|error| Error::Launch(format!("mq does not find itself: {error}")))?;
    let mut program = vec![own.into_os_string()];
    program.extend(std::env::args_os().skip(1).collect::<Vec<OsString>>());
    let run = RunOptions {
        processes: plan.processes,
        label: Label::Never,
        keep_going: false,
        grace: std::time::Duration::from_secs(2),
        timeout: None,
        bind: Bind::None,
        cores: None,
        // What is typed is the shell's, or the pager's.
        stdin: Input::None,
        program,
    };
    crate::run::run_with(&run, bar(plan, options.format))
}

/// A bar that advances by rows; none where they are seen themselves, as on a terminal, or may be: who
/// reads a pipe may show them on the very terminal where the bar is.
fn bar(plan: &Plan, format: Format) -> Option<ByLines> {
    let head = match format {
        Format::Table => rows::HEAD_LINES,
        Format::Json => 0,
    };
    let unseen = is_unseen(std::io::stdout().as_fd());
    unseen.then(|| ByLines::new(head, plan.rows as u64, "measuring"))
}

/// Whether nobody sees what is written there as it comes: it is a file, or `/dev/null`.
fn is_unseen(output: BorrowedFd<'_>) -> bool {
    let kind = fstat(output).map(|found| FileType::from_raw_mode(found.st_mode));
    match kind {
        Ok(FileType::RegularFile) => true,
        Ok(FileType::CharacterDevice) => !output.is_terminal(),
        _ => false,
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Usage(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn rows_in_a_pipe_may_be_seen_and_rows_in_a_file_are_not() {
        let (_reader, writer) = std::io::pipe().expect("a pipe");
        assert!(!is_unseen(writer.as_fd()));
        let file = tempfile::tempfile().expect("a file");
        assert!(is_unseen(file.as_fd()));
        let null = File::open("/dev/null").expect("it is there");
        assert!(is_unseen(null.as_fd()));
    }

    #[test]
    fn what_no_system_gives_is_said_with_its_size() {
        let memory = Memory {
            bytes: 1 << 60,
            chosen_by: "--sizes",
        };
        let error = memory
            .look_for()
            .expect_err("no system gives it")
            .to_string();
        let expected = "a process would need 1048576.0 TiB for its messages, which the system does not \
                        give: choose less by --sizes";
        assert_eq!(error, expected);
        assert!(Memory::of_two(&[8, 64], false).look_for().is_ok());
    }
}
