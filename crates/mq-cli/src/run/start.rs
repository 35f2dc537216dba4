//! Starting the ranks.

use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, ExitCode, Stdio};
use std::sync::Arc;

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal, setrlimit,
};
use signal_hook::consts::SIGPIPE;
use signal_hook::flag;

use super::guard::Guard;
use super::orphans;
use super::output::Stream;
use super::ranks::Ranks;
use super::refusals::{self, Refusal, Refusals, Step};
use super::segment::Segment;
use crate::binding;
use crate::cli::{Bind, RunOptions, StartRankOptions};
use crate::say;

/// This program, even if its file has been replaced since it was started.
pub(super) const THIS: &str = "/proc/self/exe";
/// What nobody reads, and where nobody writes.
const NOWHERE: &str = "/dev/null";
/// Descriptors that the launcher needs in addition to those of the ranks.
const OWN_FILES: u64 = 32;

/// One output stream of a rank.
pub(super) struct Pipe {
    pub(super) rank: usize,
    pub(super) stream: Stream,
    pub(super) fd: OwnedFd,
}

/// The running ranks and the pipes to and from them.
pub(super) struct Started {
    pub(super) ranks: Ranks,
    pub(super) pipes: Vec<Pipe>,
    /// Rank 0's standard input, if it is not the launcher's.
    pub(super) input: Option<ChildStdin>,
}

/// Starts all ranks; if one cannot be started, the others are killed. Rank 0 reads `input`, and programs get the limit
/// of open files that [`raise_open_files`] has returned.
pub(super) fn start_all(
    options: &RunOptions,
    open_files: Option<u64>,
    guard: Guard,
    input: Stdio,
    segment: &Segment,
    refusals: &Refusals,
) -> io::Result<Started> {
    let cores = match (&options.cores, options.bind) {
        (None, Bind::None) => None,
        (wanted, _) => {
            let option = wanted.as_ref().map_or("--bind", |_| "--cores");
            let cores = binding::cores(options.processes, wanted.as_ref());
            Some(cores.map_err(|error| io::Error::other(format!("{option}: {error}")))?)
        }
    };
    let mark = guard.mark().to_owned();
    let mut input = Some(input);
    let mut started = Started {
        ranks: Ranks::new(guard),
        pipes: Vec::new(),
        input: None,
    };
    for rank in 0..options.processes {
        let mut command = Command::new(THIS);
        command.arg0("mq").arg("start-rank");
        command.arg(format!("--launcher={}", std::process::id()));
        command.arg(format!("--refusals={}", refusals.number()));
        if let Some(limit) = open_files {
            command.arg(format!("--open-files={limit}"));
        }
        if let Some(cores) = &cores {
            command.arg(format!("--core={}", cores[rank as usize]));
        }
        command.arg("--").args(&options.program);
        command.env("MQ_RANK", rank.to_string());
        command.env("MQ_SIZE", options.processes.to_string());
        command.env("MQ_SEGMENT", segment.variable());
        command.env(orphans::MARK, &mark);
        for name in segment.hidden() {
            command.env_remove(name);
        }
        command.stdin(input.take().unwrap_or_else(Stdio::null));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // Its own group: a terminal's Ctrl-C reaches only the launcher, which passes it on, and what
        // a rank starts can be found.
        command.process_group(0);
        let whose = format!("rank {rank} of {}", options.processes);
        let added = started.add(&mut command);
        added.map_err(|error| no_process(&whose, &error))?;
    }
    Ok(started)
}

/// Why a process could not be started.
pub(super) fn no_process(whose: &str, error: &io::Error) -> io::Error {
    io::Error::other(format!("{whose}: {}", explained(error)))
}

/// An error, with the limit that may be the reason, or what is missing.
pub(super) fn explained(error: &io::Error) -> String {
    let why = match Errno::from_io_error(error) {
        Some(Errno::AGAIN) => {
            "; `ulimit -u` says how many processes a user may have, and `pids.max` of a control group how many there \
             (`--pids-limit` of a container, `TasksMax` of a unit)"
        }
        Some(Errno::MFILE) => "; `ulimit -n` says how many files a process may have open",
        Some(Errno::NOENT) if !Path::new(THIS).exists() => {
            "; there is no /proc/self/exe, by which mq starts itself: is /proc mounted?"
        }
        Some(Errno::NOENT) if !Path::new(NOWHERE).exists() => "; there is no /dev/null",
        _ => "",
    };
    format!("{error}{why}")
}

impl Started {
    fn add(&mut self, command: &mut Command) -> io::Result<()> {
        let rank = self.ranks.len();
        let mut process = command.spawn()?;
        let stdin = process.stdin.take();
        let stdout = process.stdout.take().map(OwnedFd::from);
        let stderr = process.stderr.take().map(OwnedFd::from);
        self.ranks.add(process);
        self.input = self.input.take().or(stdin);
        for (stream, fd) in [(Stream::Out, stdout), (Stream::Err, stderr)] {
            if let Some(fd) = fd {
                rustix::io::ioctl_fionbio(&fd, true)?;
                self.pipes.push(Pipe { rank, stream, fd });
            }
        }
        Ok(())
    }
}

/// Leaves the launcher's standard input to rank 0 only, so that its writer notices when rank 0 has
/// ended.
pub(super) fn give_away_input() -> io::Result<()> {
    rustix::stdio::dup2_stdin(File::open(NOWHERE)?)?;
    Ok(())
}

/// Allows the launcher two pipes per rank, and otherwise as many open files as it may have, since it may
/// have inherited some that it does not know of. Returns the limit to restore in the programs, if it was
/// changed.
pub(super) fn raise_open_files(processes: u32) -> io::Result<Option<u64>> {
    let needed = 2 * u64::from(processes) + OWN_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.maximum.is_some_and(|hard| hard < needed) {
        return Err(io::Error::other(format!(
            "{needed} open files are needed for {processes} {}; `ulimit -n` allows too few",
            if processes == 1 {
                "process"
            } else {
                "processes"
            }
        )));
    }
    let Some(soft) = limit.current.filter(|_| limit.current != limit.maximum) else {
        return Ok(None);
    };
    let maximum = limit.maximum;
    let current = maximum;
    match setrlimit(Resource::Nofile, Rlimit { current, maximum }) {
        Ok(()) => Ok(Some(soft)),
        // The current limit may suffice.
        Err(_) if soft >= needed => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Runs first in each process: ties its life to the launcher's and executes the program.
pub(crate) fn start_rank(options: &StartRankOptions) -> ExitCode {
    let refusal = become_program(options);
    if refusals::tell(options.launcher, options.refusals, &refusal).is_err() {
        say(&refusal.sentence(&options.program[0]));
    }
    ExitCode::from(refusal.code())
}

/// Replaces this process by the rank's program; returns why that failed.
fn become_program(options: &StartRankOptions) -> Refusal {
    if let Err(refusal) = prepare(options) {
        return refusal;
    }
    let program = &options.program[0];
    let file = find_executable(program).filter(|file| is_for_another_machine(file));
    let error = match file {
        // A command would have a shell read what the kernel does not take, as it does with a script that does not say
        // who is to read it. The kernel may take this one: an emulator may be registered outside the container.
        Some(file) => execute(&file, &options.program),
        None => Command::new(program).args(&options.program[1..]).exec(),
    };
    Step::Program.failed(error)
}

/// The file that a command's name stands for.
fn find_executable(program: &OsStr) -> Option<PathBuf> {
    let named = Path::new(program);
    if named.components().count() > 1 {
        return Some(named.into());
    }
    let folders = env::var_os("PATH")?;
    let mut files = env::split_paths(&folders).map(|folder| folder.join(named));
    files.find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}

/// Whether a file is a program for another processor than this one.
fn is_for_another_machine(program: &Path) -> bool {
    let kind = |path: &Path| {
        let mut head = [0; 20];
        File::open(path)
            .and_then(|mut file| file.read_exact(&mut head))
            .ok()?;
        // The class, 32 or 64 bits, and the number of the processor.
        head.starts_with(b"\x7fELF")
            .then_some([head[4], head[18], head[19]])
    };
    let (theirs, ours) = (kind(program), kind(Path::new(THIS)));
    theirs.is_some() && ours.is_some() && theirs != ours
}

/// Replaces this process by a program; returns only on failure.
fn execute(file: &Path, words: &[OsString]) -> io::Error {
    // It gets the default action, as from a command: of a handler that is what a new program gets.
    if let Err(error) = flag::register(SIGPIPE, Arc::default()) {
        return error;
    }
    let word = |word: &OsStr| CString::new(word.as_bytes());
    let file = word(file.as_os_str());
    let words: Result<Vec<_>, _> = words.iter().map(|each| word(each)).collect();
    match (file, words) {
        (Ok(file), Ok(words)) => match nix::unistd::execv(&file, &words) {
            Err(error) => error.into(),
        },
        (Err(error), _) | (_, Err(error)) => error.into(),
    }
}

/// All steps before the program.
fn prepare(options: &StartRankOptions) -> Result<(), Refusal> {
    tie_to_launcher(options.launcher).map_err(|error| Step::Life.failed(error))?;
    if let Some(soft) = options.open_files {
        restore_open_files(soft).map_err(|error| Step::OpenFiles.failed(error))?;
    }
    if let Some(core) = options.core {
        binding::bind(core).map_err(|error| Step::Core.failed(error))?;
    }
    Ok(())
}

/// Has this process killed when the launcher dies, at any moment.
fn tie_to_launcher(launcher: i32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // If the launcher died before, this process has another parent by now.
    if getppid() != Pid::from_raw(launcher) {
        return Err(Errno::SRCH.into());
    }
    Ok(())
}

fn restore_open_files(soft: u64) -> io::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Some(soft);
    Ok(setrlimit(Resource::Nofile, Rlimit { current, maximum })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_no_process_is_named_with_the_limit() {
        let why = |error: Errno| no_process("rank 17 of 64", &error.into()).to_string();
        let many = why(Errno::AGAIN);
        assert!(many.starts_with("rank 17 of 64: "), "{many}");
        assert!(many.contains("; `ulimit -u` "), "{many}");
        assert!(many.contains("`pids.max`"), "{many}");
        assert!(why(Errno::MFILE).contains("; `ulimit -n` "));
        for other in [Errno::NOMEM, Errno::NOENT] {
            assert!(!why(other).contains(';'), "here is all that is needed");
        }
    }
}
