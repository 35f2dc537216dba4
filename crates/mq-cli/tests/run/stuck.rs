//! Ranks that SIGKILL does not end.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::ptrace;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, geteuid, kill_process, waitid};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};
use tempfile::TempDir;

use crate::support::{Launcher, by_shell, command, state, until, untried};

/// A process that this thread holds as a debugger does: when it has been killed, its parent does not learn of it before
/// this thread has.
struct Held(Pid);

impl Held {
    /// Nothing, which it says, where processes may not be held.
    fn new(pid: i32) -> Option<Self> {
        let raw = nix::unistd::Pid::from_raw(pid);
        if let Err(error) = ptrace::seize(raw, ptrace::Options::empty()) {
            let what = "a rank that the kernel does not let end was";
            untried(what, &format!("no process may be traced: {error}"));
            return None;
        }
        Pid::from_raw(pid).map(Self)
    }

    /// Lets it end.
    fn release(self) {
        waitid(WaitId::Pid(self.0), WaitIdOptions::EXITED).expect("it is held");
    }
}

/// A run in a folder, where what it says goes to the file `said`, of two ranks: one fails on demand, and the other,
/// which is returned, is held. It is killed as soon as the first has failed.
fn with_one_held(folder: &TempDir) -> Option<(Launcher, i32, Held)> {
    let script = "exec \"$0\" run -n 2 --label never --grace 0 -- sh -c '
                  test $MQ_RANK = 1 && echo $$ && exec sleep 1000; read -r go; exit 3' 2> said";
    let mut command = by_shell(script);
    let command = command.current_dir(folder).stdin(Stdio::piped());
    let mut launcher = Launcher::start(command);
    let rank = launcher.pids(1)[0];
    let held = Held::new(rank)?;
    launcher.write("go\n");
    Some((launcher, rank, held))
}

fn said(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("said")).expect("UTF-8")
}

/// Sends SIGINT until it ends: which one is the first after the sentence about the rank is not known.
fn interrupt(launcher: &mut Launcher) {
    // A repeat within a second does not count.
    const BETWEEN: Duration = Duration::from_millis(1200);
    let mut sent = None::<Instant>;
    until("the launcher's end", || {
        let has_ended = launcher.has_ended();
        if !has_ended && sent.is_none_or(|sent| sent.elapsed() >= BETWEEN) {
            launcher.signal(Signal::INT);
            sent = Some(Instant::now());
        }
        has_ended
    });
}

#[test]
fn a_rank_that_has_been_killed_and_does_not_end_is_named_and_waited_for() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some((mut launcher, rank, held)) = with_one_held(&folder) else {
        return;
    };
    let sentence = format!(
        "mq: rank 1 (pid {rank}) has been killed, but the kernel, or a debugger, has not let it end yet; mq waits for \
         it (a further SIGINT or SIGTERM ends the waiting)\n"
    );
    until("a word on the rank", || {
        said(folder.path()).contains(&sentence)
    });
    assert!(!launcher.has_ended());
    held.release();
    assert_eq!(launcher.finish().code(), 3);
    let said = said(folder.path());
    assert_eq!(said.lines().count(), 2, "{said}");
}

#[test]
fn who_interrupts_once_more_waits_no_longer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some((mut launcher, rank, held)) = with_one_held(&folder) else {
        return;
    };
    interrupt(&mut launcher);
    held.release();
    let ended = launcher.finish();
    assert_eq!(ended.status.signal(), Some(2), "{ended:?}");
    let said = said(folder.path());
    let last = format!("mq: rank 1 (pid {rank}) is not waited for any more\n");
    assert!(said.ends_with(&last), "{said}");
}

/// A process that goes with its test, however that ends.
struct Killed(Pid);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

/// Set in the environment of the rank that this test starts from its own executable.
const CHILD: &str = "MQ_TEST_CHANGES_ITS_USER";

/// A run of one rank by a launcher that is root's, but may signal none of others. The rank is this test, which prints
/// the number of a process of another user: that is returned too. Nothing, which it says, where that cannot be.
fn with_another_user(what: &str, test: &str, options: &[&str]) -> Option<(Launcher, i32)> {
    if !geteuid().is_root() {
        untried(what, "only root can be two users");
        return None;
    }
    let me = std::env::current_exe().expect("a path");
    let me = me.to_str().expect("UTF-8");
    let rank = ["--", me, "--exact", test, "--nocapture"];
    let mut command = command(&[&["-n", "1"], options, &rank].concat());
    command.env(CHILD, "");
    // In a thread of its own: this one is to end the process.
    let starting = std::thread::spawn(move || {
        let removed = remove_capability_from_bounding_set(CapabilitySet::KILL);
        removed.map(|()| Launcher::start(&mut command))
    });
    let launcher = match starting.join().expect("no panic") {
        Ok(launcher) => launcher,
        Err(error) => {
            untried(what, &format!("root must be able to kill all: {error}"));
            return None;
        }
    };
    loop {
        let line = launcher.line();
        if let Some(why) = line.strip_prefix("refused: ") {
            untried(what, why);
            return None;
        }
        if let Some((_, pid)) = line.split_once("pid ") {
            return Some((launcher, pid.parse().expect("a number")));
        }
    }
}

/// As `sudo` does, for a launcher that is not root's; here the launcher is root's, but may signal none of others.
#[test]
fn a_rank_of_another_user_is_named_and_waited_for_until_an_interrupt() {
    if std::env::var_os(CHILD).is_some() {
        let mut other = Command::new("sh");
        other.args(["-c", "echo pid $$; exec sleep 1000"]);
        let error = other.uid(65_534).exec();
        println!("\nrefused: {error}");
        return;
    }
    let what = "a rank of another user was";
    let test = "stuck::a_rank_of_another_user_is_named_and_waited_for_until_an_interrupt";
    let options = ["--timeout", "3", "--grace", "0"];
    let Some((mut launcher, pid)) = with_another_user(what, test, &options) else {
        return;
    };
    let _rank = Killed(Pid::from_raw(pid).expect("a process"));
    interrupt(&mut launcher);
    assert!(!matches!(state(pid), None | Some('Z' | 'X')), "it goes on");
    let run = launcher.finish();
    assert_eq!(run.status.signal(), Some(2), "{run:?}");
    let sentences = format!(
        "mq: rank 0 (pid {pid}) cannot be ended: it runs as another user; mq waits for it (a further SIGINT or SIGTERM \
         ends the waiting)\nmq: rank 0 (pid {pid}) is not waited for any more\n"
    );
    assert!(run.stderr.ends_with(&sentences), "{run:?}");
}

/// The same for what a rank has started: it ends with status 0, and what it has left does not end.
#[test]
fn what_a_rank_leaves_as_another_user_is_named() {
    if std::env::var_os(CHILD).is_some() {
        let mut other = Command::new("sleep");
        let other = other.arg("1000").stdin(Stdio::null()).uid(65_534);
        match other.stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
            Ok(other) => println!("\npid {}", other.id()),
            Err(error) => println!("\nrefused: {error}"),
        }
        return;
    }
    let what = "what a rank leaves as another user was";
    let test = "stuck::what_a_rank_leaves_as_another_user_is_named";
    let Some((launcher, pid)) = with_another_user(what, test, &[]) else {
        return;
    };
    let _left = Killed(Pid::from_raw(pid).expect("a process"));
    let run = launcher.finish();
    assert_eq!(run.code(), 0, "{run:?}");
    let sentence =
        format!("mq: process {pid} (sleep) of rank 0 is left: it belongs to another user\n");
    assert_eq!(run.stderr, sentence);
    assert!(!matches!(state(pid), None | Some('Z' | 'X')), "it goes on");
}
