//! `mq record`: an application under a patched MPI library, and the traces of its processes.

mod collect;
mod directory;
mod interrupts;
mod judge;
mod prefix;
mod table;
mod writer;
mod written;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, ExitCode};

use self::collect::Collected;
use self::directory::Scratch;
use self::interrupts::Interrupts;
use self::prefix::Prefix;
use crate::cli::{Format, RecordOptions};
use crate::error::{Error, not_started};
use crate::exit::Ended;
use crate::jobs::Jobs;
use crate::{FAILED, exit, exit_code, report, say, signals};

/// The environment variable that tells the patched library where to write traces.
const TRACE: &str = "MQ_TRACE";
/// The environment variable that tells the patched library what to match with.
const STRUCTURE: &str = "MQ_STRUCTURE";

/// Runs the command and collects its traces.
pub(crate) fn run(options: &RecordOptions) -> Result<ExitCode, Error> {
    let ended = record(options)?;
    if ended.is_interrupted {
        signals::die_of_interrupt();
    }
    Ok(ended.code)
}

fn record(options: &RecordOptions) -> Result<Ended, Error> {
    let prefix = options.prefix.as_deref().map(Prefix::open).transpose()?;
    let scratch = directory::prepare(&options.output, options.force)?;
    let prefix = prefix.as_ref();
    let mut command = command(options, prefix, &scratch, None)?;
    let mut interrupts = Interrupts::held();
    let mut started = command.spawn();
    if started.as_ref().is_err_and(is_no_program) && is_script(command.get_program()) {
        command = self::command(options, prefix, &scratch, Some(SHELL))?;
        started = command.spawn();
    }
    let started = match started {
        Ok(started) => started,
        Err(source) => {
            say(&not_started(command.get_program(), &source));
            return Ok(Ended {
                code: exit::of_refusal(&source).into(),
                is_interrupted: false,
            });
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
        return finished.map(|is_fine| Ended {
            code: exit_code(is_fine),
            is_interrupted: false,
        });
    }
    let is_interrupted = ended
        .as_ref()
        .is_ok_and(|&status| exit::is_interrupt(status));
    let name = options.command[0].to_string_lossy();
    match ended {
        Ok(status) if status.code().is_none() => say(&format!("{name}: ended by {status}")),
        Ok(_) => {}
        Err(error) => say(&format!("{name}: its exit status is unknown: {error}")),
    }
    if let Err(error) = finished {
        say(&error.to_string());
    }
    Ok(Ended {
        code: code.into(),
        is_interrupted,
    })
}

/// What a script runs in whose first line names no interpreter, as from a shell or `execvp`.
const SHELL: &str = "/bin/sh";

/// Whether a file is executable, but neither a program for this machine nor a script that names its interpreter.
fn is_no_program(error: &io::Error) -> bool {
    // The same number on every Unix.
    const ENOEXEC: i32 = 8;
    cfg!(unix) && error.raw_os_error() == Some(ENOEXEC)
}

/// Whether it names a file by itself, since a shell would not look for a script where `PATH` says, and one that begins
/// as text: a program for another machine does not.
fn is_script(program: &OsStr) -> bool {
    let mut begin = Vec::new();
    let file = File::open(program).and_then(|file| file.take(80).read_to_end(&mut begin));
    Path::new(program).components().count() > 1 && file.is_ok() && !begin.contains(&0)
}

/// The command, by `shell` if there is one, with the environment that the patched library and its `mpirun` need.
fn command(
    options: &RecordOptions,
    prefix: Option<&Prefix>,
    scratch: &Scratch,
    shell: Option<&str>,
) -> Result<Command, Error> {
    let program = &options.command[0];
    let program = prefix.map_or_else(|| program.clone(), |prefix| prefix.program(program));
    let mut command = match shell {
        None => Command::new(program),
        Some(shell) => {
            let mut command = Command::new(shell);
            command.arg(program);
            command
        }
    };
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
    if collected.is_empty() {
        return Err(Error::Untraced(untraced(options)));
    }
    let headers = collected
        .iter()
        .filter_map(|one| Some((&*one.trace, one.about.header.as_ref()?)));
    for missing in Jobs::of(headers).missing() {
        say(&format!(
            "{missing}: {LAUNCHER} Do all machines share the directory of --output?"
        ));
    }
    let notices = collected.iter().filter_map(Collected::notice);
    notices.for_each(|notice| say(&notice));
    let complaints: Vec<&String> = collected.iter().flat_map(Collected::complaints).collect();
    complaints.iter().for_each(|complaint| say(complaint));
    match printed {
        // The traces were what was wanted, and they exist.
        Err(Error::ClosedPipe) => {}
        // After what is to be known of the traces.
        printed => printed?,
    }
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
