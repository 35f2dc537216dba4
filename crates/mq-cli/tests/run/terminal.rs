//! Terminals, and programs that have one, or at least a session, of their own.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::process::{ioctl_tiocsctty, setsid};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};

/// Set in the environment of this program where it is to become another one, which leads a session.
pub(crate) const LEADS: &str = "MQ_TEST_LEADS_A_SESSION";

/// A terminal: the user's end, and the programs' end.
pub(crate) fn terminal() -> (OwnedFd, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let person = openpt(flags).expect("there is a terminal");
    unlockpt(&person).expect("it can be used");
    let programs = ioctl_tiocgptpeer(&person, flags).expect("it is opened");
    (person, programs)
}

/// What to write before a program and its arguments for it to lead a session, where [`LEADS`] is set: this program,
/// because not every machine has `setsid`. It prints a few words of its own first.
pub(crate) fn leader() -> [String; 5] {
    let me = std::env::current_exe().expect("a path");
    let me = me.into_os_string().into_string().expect("UTF-8");
    let test = "terminal::a_leader_of_a_session";
    let words = ["--exact", test, "--nocapture", "--"];
    let [exact, test, printing, end] = words.map(str::to_owned);
    [me, exact, test, printing, end]
}

/// `mq arguments...`, not started yet, in the foreground of a terminal, and the user's end of that.
pub(crate) fn at_terminal(arguments: &[&str]) -> (Command, File) {
    let (person, programs) = terminal();
    let [me, words @ ..] = leader();
    let mut command = Command::new(me);
    command.args(words).arg(env!("CARGO_BIN_EXE_mq"));
    command.args(arguments).env(LEADS, "");
    // What the test runner prints is for nobody; `mq` prints to the terminal.
    command.stdin(programs).stdout(Stdio::null());
    (command, File::from(person))
}

/// The part of the process that becomes the program. Its standard input, if it is a terminal, becomes that of the
/// session, and the program prints there.
#[test]
fn a_leader_of_a_session() {
    if std::env::var_os(LEADS).is_none() {
        return;
    }
    setsid().expect("it leads no group");
    let words = std::env::args_os().skip_while(|word| word != "--");
    let mut words = words.skip(1);
    let mut program = Command::new(words.next().expect("a program"));
    program.args(words).env_remove(LEADS);
    let input = io::stdin();
    if input.is_terminal() {
        ioctl_tiocsctty(&input).expect("no session has it");
        let again = || input.as_fd().try_clone_to_owned().expect("once more");
        program.stdout(again()).stderr(again());
    }
    let error = program.exec();
    panic!("it cannot be started: {error}");
}
