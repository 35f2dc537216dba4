//! `mq record`: an application under a patched MPI library, and the traces of its processes.

mod collect;
mod interrupts;
mod output;
mod prefix;
mod table;
mod written;

use std::process::{Command, ExitCode};

use self::collect::Collected;
use self::interrupts::Interrupts;
use self::output::Scratch;
use self::prefix::Prefix;
use crate::cli::{Format, RecordOptions};
use crate::error::{Error, not_started};
use crate::{FAILED, exit, exit_code, report, say};

/// The environment variable that tells the patched library where to write traces.
const TRACE: &str = "MQ_TRACE";
/// The environment variable that tells the patched library what to match with.
const STRUCTURE: &str = "MQ_STRUCTURE";

/// Runs the command and collects its traces.
pub(crate) fn run(options: &RecordOptions) -> Result<ExitCode, Error> {
    let prefix = options.prefix.as_deref().map(Prefix::open).transpose()?;
    let scratch = output::prepare(&options.output, options.force)?;
    let mut command = command(options, prefix.as_ref(), &scratch)?;
    let mut interrupts = Interrupts::held();
    let started = match command.spawn() {
        Ok(started) => started,
        Err(source) => {
            say(&not_started(command.get_program(), &source));
            return Ok(ExitCode::from(exit::of_refusal(&source)));
        }
    };
    let ended = interrupts.wait(started);
    drop(interrupts);

    // However it ended, there may be traces.
    let finished = finish(options, &scratch);
    let code = ended
        .as_ref()
        .map_or(FAILED, |&status| exit::of_ended(status));
    if code == 0 {
        return finished.map(exit_code);
    }
    let name = command.get_program().to_string_lossy();
    match ended {
        Ok(status) if status.code().is_none() => say(&format!("{name}: ended by {status}")),
        Ok(_) => {}
        Err(error) => say(&format!("{name}: its exit status is unknown: {error}")),
    }
    if let Err(error) = finished {
        say(&error.to_string());
    }
    Ok(ExitCode::from(code))
}

/// The command, with the environment that the patched library and its `mpirun` need.
fn command(
    options: &RecordOptions,
    prefix: Option<&Prefix>,
    scratch: &Scratch,
) -> Result<Command, Error> {
    let program = &options.command[0];
    let program = prefix.map_or_else(|| program.clone(), |prefix| prefix.program(program));
    let mut command = Command::new(program);
    command.args(&options.command[1..]);
    command.env(TRACE, scratch.absolute()?);
    if let Some(structure) = &options.structure {
        command.env(STRUCTURE, structure.to_string());
    }
    if let Some(prefix) = prefix {
        command.envs(prefix.environment()?);
    }
    if options.format == Format::Json {
        command.stdout(std::io::stderr());
    }
    Ok(command)
}

/// Collects and prints; returns whether every trace is valid and agrees with MPI's rules.
fn finish(options: &RecordOptions, scratch: &Scratch) -> Result<bool, Error> {
    let collected = collect::all(scratch, &options.output)?;
    let printed = match options.format {
        Format::Json => report::print_json(&collected),
        Format::Table if collected.is_empty() => Ok(()),
        Format::Table => report::print(&table::render(&options.output, &collected)),
    };
    match printed {
        // The traces were what was wanted, and they exist.
        Err(Error::ClosedPipe) => {}
        printed => printed?,
    }
    if collected.is_empty() {
        return Err(Error::Untraced(untraced(options)));
    }
    let notices = collected.iter().filter_map(Collected::notice);
    notices.for_each(|notice| say(&notice));
    let complaints: Vec<&String> = collected.iter().flat_map(Collected::complaints).collect();
    complaints.iter().for_each(|complaint| say(complaint));
    Ok(complaints.is_empty())
}

/// What to ask of a launcher, wherever its processes run.
const LAUNCHER: &str =
    "does the launcher pass MQ_TRACE on (srun --export=ALL, mpirun -x MQ_TRACE)?";

/// Why there may be no trace.
fn untraced(options: &RecordOptions) -> String {
    let command = options.command[0].to_string_lossy();
    match &options.prefix {
        Some(prefix) => format!(
            "`{command}` left no trace: does it run an MPI program, and does that program load the libmpi in \
             {}? `ldd` shows which one it loads. And {LAUNCHER} An Open MPI with UCX or libfabric uses `pml/ob1` \
             only if told to: mpirun --mca pml ob1",
            prefix.join("lib").display()
        ),
        None => format!(
            "`{command}` left no trace: does it run an MPI program, and is its MPI library a patched one? \
             --prefix names where that library is installed, `ldd` shows which one is loaded. And {LAUNCHER}"
        ),
    }
}
