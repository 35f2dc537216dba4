//! A launcher under test, and a watchdog for everything that is waited for.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::terminal::at_terminal;

/// After this time something is taken to hang: longer on a machine that is slower than usual (`MQ_SLOWER`).
fn watchdog() -> Duration {
    let slower = std::env::var("MQ_SLOWER").ok();
    let slower: u64 = slower.map_or(1, |times| times.parse().expect("MQ_SLOWER is a number"));
    Duration::from_secs(90 * slower)
}

/// Waits for a condition; panics if it does not become true.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let patience = Instant::now() + watchdog();
    while !is_so() {
        let is_time = Instant::now() < patience;
        assert!(
            is_time,
            "{what} did not happen (on a slow machine: MQ_SLOWER=5)"
        );
        thread::sleep(Duration::from_millis(2));
    }
}

/// This machine does not let a test try something: it says so, and fails where everything has to be tried
/// (`MQ_ALL_CHECKS`).
pub(crate) fn untried(what: &str, why: &str) {
    let why = format!("{what} not tried: {why}");
    // Not by a macro, whose words a test that passes keeps to itself.
    let _ = writeln!(std::io::stderr(), "{why}");
    assert!(std::env::var_os("MQ_ALL_CHECKS").is_none(), "{why}");
}

/// `unshare` with the first of these options that the machine allows, for a program that does what is to be done in the
/// new namespace; nothing, which it says, where it allows none.
pub(crate) fn unshare(what: &str, options: &[&str], program: &[&str]) -> Option<Command> {
    let allowed = options.iter().find(|&option| {
        let mut tried = Command::new("unshare");
        let tried = tried.arg(option).args(program).stderr(Stdio::null());
        tried.status().is_ok_and(|status| status.success())
    });
    let Some(option) = allowed else {
        untried(what, "`unshare` is not there, or not allowed");
        return None;
    };
    let mut command = Command::new("unshare");
    command.arg(option).stdin(Stdio::null());
    Some(command)
}

/// The results of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: ExitStatus,
    /// Output that was not inspected before.
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The exit code.
    pub(crate) fn code(&self) -> i32 {
        // As shells say it.
        let killed = || self.status.signal().map(|signal| 128 + signal);
        (self.status.code().or_else(killed)).unwrap_or_else(|| panic!("{self:?}"))
    }

    /// The lines of standard output, sorted.
    pub(crate) fn sorted(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }
}

/// A running launcher.
pub(crate) struct Launcher {
    child: Child,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
}

/// `mq run options... -- sh -c script`.
pub(crate) fn shell(options: &[&str], script: &str) -> Launcher {
    launcher(&[options, &["--", "sh", "-c", script]].concat())
}

/// `mq run arguments...`.
pub(crate) fn launcher(arguments: &[&str]) -> Launcher {
    Launcher::start(&mut command(arguments))
}

/// `mq run arguments...`, not started yet.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mq"));
    command.arg("run").args(arguments).stdin(Stdio::null());
    command
}

/// A shell that runs a script in which `"$0"` is `mq`, not started yet.
pub(crate) fn by_shell(script: &str) -> Command {
    let mut shell = Command::new("sh");
    let words = ["-c", script, env!("CARGO_BIN_EXE_mq")];
    shell.args(words).stdin(Stdio::null());
    shell
}

/// The part of a script that waits until the file `said` contains these words. (Not every machine has `grep`.)
pub(crate) fn until_said(words: &str) -> String {
    format!("until case $(cat said) in *\"{words}\"*) ;; *) false ;; esac; do sleep 0.01; done")
}

impl Launcher {
    /// Starts it and reads what it prints.
    pub(crate) fn start(command: &mut Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("mq starts");
        let stdout = child.stdout.take().expect("piped");
        Self::reading(child, stdout)
    }

    /// Starts `mq run arguments...` in the foreground of a terminal, whose screen takes the place of standard output;
    /// returns the keyboard too.
    pub(crate) fn at_terminal(arguments: &[&str]) -> (Self, File) {
        let (mut command, keyboard) = at_terminal(&[&["run"][..], arguments].concat());
        let screen = keyboard.try_clone().expect("once more");
        let child = command.stderr(Stdio::piped()).spawn();
        let launcher = Self::reading(child.expect("it starts"), screen);
        (launcher, keyboard)
    }

    /// Reads what it prints, standard output from here.
    fn reading(mut child: Child, stdout: impl Read + Send + 'static) -> Self {
        let mut stderr = child.stderr.take().expect("piped");
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = Vec::new();
            while stdout
                .read_until(b'\n', &mut line)
                .is_ok_and(|count| count > 0)
            {
                let text = String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned();
                if sender.send(text).is_err() {
                    break;
                }
            }
        });
        let stderr = Some(thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).expect("UTF-8");
            text
        }));
        Self {
            child,
            lines,
            stderr,
        }
    }

    /// The next line of standard output.
    pub(crate) fn line(&self) -> String {
        let line = self.lines.recv_timeout(watchdog());
        let line = line.expect("a line comes (on a slow machine: MQ_SLOWER=5)");
        line.trim_end().to_owned()
    }

    /// The next lines of standard output, sorted.
    pub(crate) fn lines(&self, count: usize) -> Vec<String> {
        let mut lines: Vec<String> = (0..count).map(|_| self.line()).collect();
        lines.sort_unstable();
        lines
    }

    /// The processes whose numbers the ranks print without labels.
    pub(crate) fn pids(&self, count: usize) -> Vec<i32> {
        let lines = self.lines(count);
        lines
            .iter()
            .map(|line| line.parse().expect("a number"))
            .collect()
    }

    /// Sends the launcher a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// The launcher's process number.
    pub(crate) fn pid(&self) -> i32 {
        Pid::from_child(&self.child).as_raw_nonzero().get()
    }

    /// Writes the launcher's standard input and closes it.
    pub(crate) fn write(&mut self, text: &str) {
        let mut stdin = self.child.stdin.take().expect("piped");
        stdin.write_all(text.as_bytes()).expect("it is read");
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_some()
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Run {
        let mut status = None;
        until("the launcher's end", || {
            status = self.child.try_wait().expect("a child");
            status.is_some()
        });
        let stdout = self.lines.iter().collect();
        let stderr = self.stderr.take().expect("once").join().expect("read");
        let status = status.expect("it has ended");
        Run {
            status,
            stdout,
            stderr,
        }
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        // A test that fails leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The state letter of a process, if there is such a process.
pub(crate) fn state(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Waits until processes are gone; their parent may not have reaped them yet.
pub(crate) fn until_gone(pids: &[i32]) {
    for &pid in pids {
        until("the end of a process", || {
            matches!(state(pid), None | Some('Z' | 'X'))
        });
    }
}
