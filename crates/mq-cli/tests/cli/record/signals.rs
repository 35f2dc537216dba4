//! Signals that come while a command runs, and ignored signals.

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use super::TRACE;
use super::workplace::Workplace;
use crate::support::command;

/// An application that does not end by itself: it records its process number.
const GOES_ON: &str = "ulimit -c 0\ncd \"$(dirname \"$0\")\"\necho $$ > number\n\
                       touch ready\nexec sleep $((60 * ${MQ_SLOWER:-1}))\n";

/// The exit code that a shell makes of it.
fn as_shells_say(status: ExitStatus) -> i32 {
    let killed = || 128 + status.signal().expect("it ended");
    status.code().unwrap_or_else(killed)
}

/// Waits for a condition; panics if it does not become true.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let slower = std::env::var("MQ_SLOWER").ok();
    let slower: u64 = slower.map_or(1, |times| times.parse().expect("MQ_SLOWER is a number"));
    let patience = Instant::now() + Duration::from_secs(50 * slower);
    while !is_so() {
        let is_time = Instant::now() < patience;
        assert!(
            is_time,
            "{what} does not happen (on a slow machine: MQ_SLOWER=5)"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a shell command line. (A shell has a `kill` of its own; not every machine has the program.)
pub(super) fn shell(line: &str) {
    let done = Command::new("sh").args(["-c", line]).status();
    assert!(done.expect("sh starts").success(), "{line}");
}

/// Asserts that the application has ended, and its trace exists.
fn assert_collected(place: &Workplace, how: &str) {
    assert_eq!(place.collected(), ["t.mqt.gz"], "{how}");
    let number = fs::read_to_string(place.path("number")).expect("written");
    let alive = Path::new("/proc").join(number.trim()).exists();
    assert!(!alive, "{how}: the application goes on");
}

/// Records an application that does not end by itself, stops it with a `kill` of `mq` or its group,
/// and checks the results.
fn stopped(kill: &str, signal: i32) {
    let place = Workplace::new();
    let app = place.application(&[("t.mqt", TRACE)], GOES_ON);
    let output = place.output();
    let child = command(&["record", "--output", &output, "--", &app])
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("mq starts");
    until("the application's start", || place.path("ready").exists());
    shell(&kill.replace("MQ", &child.id().to_string()));
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().expect("mq ends");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr),
    );
    assert_eq!(as_shells_say(status), 128 + signal, "{kill}: {stderr}");
    assert!(stdout.starts_with("1 trace in "), "{kill}: {stdout}");
    assert_collected(&place, kill);
}

#[test]
fn what_was_recorded_until_ctrl_c_is_collected() {
    // To the whole group, as a terminal does.
    stopped("kill -INT -MQ", 2);
}

#[test]
fn what_was_recorded_until_a_time_limit_is_collected() {
    // To `mq` alone, as batch systems do, which then passes it on.
    stopped("kill -TERM MQ", 15);
    stopped("kill -HUP MQ", 1);
    stopped("kill -INT MQ", 2);
    // To both, as `timeout` does.
    stopped("kill -TERM MQ -MQ", 15);
}

#[test]
fn what_was_recorded_until_another_signal_is_collected() {
    stopped("kill -USR1 MQ", 10);
    stopped("kill -USR2 MQ", 12);
    stopped("kill -QUIT MQ", 3);
    stopped("kill -XCPU MQ", 24);
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_to_mq_alone_reaches_the_command_at_a_terminal_too() {
    let place = Workplace::new();
    let app = place.application(&[("t.mqt", TRACE)], GOES_ON);
    let output = place.output();
    let arguments = ["record", "--output", &output, "--", &app];
    let (mut command, mut screen) = crate::terminal::at_terminal(&arguments);
    let mut mq = command.spawn().expect("it starts");
    // Somebody reads it, until nobody can print there any more.
    std::thread::spawn(move || std::io::copy(&mut screen, &mut std::io::sink()));
    until("the application's start", || place.path("ready").exists());
    shell(&format!("kill -INT {}", mq.id()));
    let mut status = None;
    until("the end", || {
        status = mq.try_wait().expect("a child");
        status.is_some()
    });
    assert_eq!(status.map(as_shells_say), Some(128 + 2));
    assert_collected(&place, "kill -INT at a terminal");
}

#[cfg(target_os = "linux")]
#[test]
fn the_end_is_known_also_where_the_ends_of_children_are_ignored() {
    for code in [0, 3] {
        let place = Workplace::new();
        let app = place.application(&[("t.mqt", TRACE)], &format!("exit {code}\n"));
        let output = Command::new("env")
            .args(["--ignore-signal=CHLD", env!("CARGO_BIN_EXE_mq"), "record"])
            .args(["--output", &place.output(), "--", &app])
            .output()
            .expect("env starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*stderr), (Some(code), ""));
        assert_eq!(place.collected(), ["t.mqt.gz"]);
    }
}
