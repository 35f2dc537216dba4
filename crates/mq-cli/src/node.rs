//! Measurements inside one node: latency, bandwidth, message rate, halo exchange and other calls of `mq-comm`.
//!
//! `benches/node/README.md` describes what is measured and how; its MPI program measures the same.

mod available;
mod bandwidth;
mod calls;
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
pub(crate) use self::calls::run as calls;
pub(crate) use self::halo::run as halo;
pub(crate) use self::pingpong::run as pingpong;
pub(crate) use self::rate::run as rate;

/// What a command is about to do.
struct Plan {
    processes: u32,
    /// The number of rows.
    rows: usize,
    /// A sentence about what is the same in all rows and not printed in them.
    what: String,
    /// Whether messages come from shared buffers.
    shared_buffers: bool,
    memory: Memory,
}

/// The memory for messages of the process that needs most.
struct Memory {
    bytes: u64,
    /// How many processes need as much.
    processes: u32,
    /// The options that determine it.
    chosen_by: &'static str,
}

impl Memory {
    /// For processes with this many messages each at a time.
    fn of(sizes: &[usize], messages: u64) -> Self {
        let longest = sizes.iter().copied().max().unwrap_or(0) as u64;
        Self {
            bytes: longest * messages,
            processes: 1,
            chosen_by: "--sizes",
        }
    }

    /// # Errors
    /// If the system would not provide it to a process, or does not have it for all of them.
    fn look_for(&self) -> Result<(), Error> {
        let Self {
            bytes,
            processes,
            chosen_by,
        } = *self;
        if !outgoing::could_have(bytes) {
            return Err(Error::Usage(format!(
                "a process would need {} for its messages, more than the system provides: reduce {chosen_by}",
                report::bytes(bytes as usize)
            )));
        }
        let all = bytes.saturating_mul(u64::from(processes));
        match available::available() {
            Some(available) if all > available => Err(Error::Usage(format!(
                "{processes} processes would need {} for their messages, and the system has {} left: reduce \
                 {chosen_by}",
                report::bytes(all as usize),
                report::bytes(available as usize)
            ))),
            _ => Ok(()),
        }
    }
}

/// Runs a measurement with the planned processes: as one of them, or by starting them.
fn measured(
    plan: &Plan,
    options: &NodeOptions,
    measure: impl FnOnce(&World, &mut Rows) -> Result<(), mq_comm::Error>,
) -> Result<ExitCode, Error> {
    let processes = plan.processes;
    if options.cores.is_some() {
        cores::check(processes, options)?;
    }
    if World::launched_size().map_err(failed)? == 1 && processes > 1 {
        if let Some(name) = World::unknown_launcher() {
            return Err(Error::Usage(format!(
                "{name} gives this process a rank, but its launcher is not supported: each process would measure \
                 on its own. Start the command without a launcher, or with `mq run`, mpirun, srun or flux run"
            )));
        }
        prepare_plot(options)?;
        plan.memory.look_for()?;
        // The ranks report what is wrong with the environment.
        return start(plan, options);
    }
    let world = World::init().map_err(failed)?;
    if world.size() != processes {
        let size = world.size();
        return Err(Error::Usage(format!(
            "{processes} processes are needed, {size} were started: start as many, or let the command start them \
             (`mq calls --processes` and `mq rate --senders` say how many)"
        )));
    }
    if world.rank() == 0 {
        // One rank only: another might be creating the file that this one checks for.
        prepare_plot(options)?;
    }
    let places = Places::of(options)?;
    let cores = places.bind(&world, processes).map_err(failed)?;
    let mut rows = Rows::new(plan, options, places, cores, world.rank() == 0);
    let measured = measure(&world, &mut rows);
    // What was measured before a failure took long enough to be kept.
    let finished = rows.finish();
    measured.map_err(failed)?;
    finished?;
    Ok(ExitCode::SUCCESS)
}

fn prepare_plot(options: &NodeOptions) -> Result<(), Error> {
    options
        .plot
        .as_deref()
        .map_or(Ok(()), crate::output_file::prepare)
}

/// Runs this same command once in each process.
fn start(plan: &Plan, options: &NodeOptions) -> Result<ExitCode, Error> {
    let own = std::env::current_exe();
    let own =
        own.map_err(|error| Error::Launch(format!("cannot locate the mq executable: {error}")))?;
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
        // Typed input is for the shell or the pager.
        stdin: Input::None,
        program,
    };
    crate::run::run_with(&run, bar(plan, options.format))
}

/// A bar that advances by rows; none if the rows themselves are visible, as on a terminal, or may be: the
/// reader of a pipe may show them on the same terminal as the bar.
fn bar(plan: &Plan, format: Format) -> Option<ByLines> {
    let head = match format {
        Format::Table => rows::HEAD_LINES,
        Format::Json => 0,
    };
    let unseen = is_unseen(std::io::stdout().as_fd());
    unseen.then(|| ByLines::new(head, plan.rows as u64, "measuring"))
}

/// Whether nobody sees the output as it is written: it goes to a file or `/dev/null`.
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
            processes: 1,
            chosen_by: "--sizes",
        };
        let error = memory
            .look_for()
            .expect_err("no system gives it")
            .to_string();
        let expected = "a process would need 1048576.0 TiB for its messages, more than the system provides: \
                        reduce --sizes";
        assert_eq!(error, expected);
        let memory = Memory {
            bytes: 1 << 20,
            processes: u32::MAX,
            chosen_by: "--processes",
        };
        let error = memory.look_for().expect_err("no system has it").to_string();
        let begin =
            "4294967295 processes would need 4096.0 TiB for their messages, and the system has ";
        assert!(error.starts_with(begin), "{error}");
        assert!(error.ends_with(" left: reduce --processes"), "{error}");
        assert!(Memory::of(&[8, 64], 2).look_for().is_ok());
    }
}
