//! Signals to the launcher.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Launcher, by_shell, command, shell, state, until, until_gone, until_said, untried,
};

/// A program that reports when it is ready, prints the signals it gets, and ends with SIGTERM.
const TALKATIVE: &str =
    "for name in INT HUP QUIT USR1 USR2 CONT; do trap \"echo $name\" $name; done
    trap 'echo TERM; exit 0' TERM; echo ready; while :; do sleep 0.01; done";

#[test]
fn signals_are_passed_on() {
    let launcher = shell(&["-n", "2"], TALKATIVE);
    assert_eq!(launcher.lines(2), ["[0] ready", "[1] ready"]);
    for (signal, name) in [
        (Signal::INT, "INT"),
        (Signal::HUP, "HUP"),
        (Signal::QUIT, "QUIT"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
        (Signal::CONT, "CONT"),
        (Signal::TERM, "TERM"),
    ] {
        launcher.signal(signal);
        assert_eq!(
            launcher.lines(2),
            [format!("[0] {name}"), format!("[1] {name}")]
        );
    }
    // (On standard error the shell reports the ends of its `sleep`.)
    let run = launcher.finish();
    assert_eq!((run.code(), run.stdout.as_str()), (0, ""));
}

#[test]
fn a_signal_that_ends_the_ranks_ends_the_run_with_one_sentence() {
    for (signal, name, number) in [
        (Signal::INT, "SIGINT", 2),
        (Signal::TERM, "SIGTERM", 15),
        (Signal::HUP, "SIGHUP", 1),
        (Signal::USR1, "SIGUSR1", 10),
    ] {
        let launcher = shell(&["-n", "4", "--label", "never"], "echo $$; exec sleep 1000");
        let pids = launcher.pids(4);
        launcher.signal(signal);
        let run = launcher.finish();
        assert_eq!(run.code(), 128 + number);
        let sentence =
            format!("mq: signal {number} ({name}), which was passed on, ended the run\n");
        assert_eq!(run.stderr, sentence);
        until_gone(&pids);
    }
}

/// `mq run` of two ranks that run a script each, once both have printed a line; what it says goes to the file `said` in
/// the folder, which is its working directory.
fn two_ranks(folder: &Path, options: &str, first: &str, second: &str) -> Launcher {
    std::fs::write(folder.join("0"), first).expect("written");
    std::fs::write(folder.join("1"), second).expect("written");
    let script = format!("exec \"$0\" run -n 2 {options} -- sh -c 'exec sh $MQ_RANK' 2> said");
    let launcher = Launcher::start(by_shell(&script).current_dir(folder));
    assert_eq!(launcher.lines(2), ["[0] ready", "[1] ready"]);
    launcher
}

#[test]
fn who_dies_of_a_signal_that_was_passed_on_leaves_the_others_to_end_in_their_own_time() {
    // Rank 0 takes until it is told that the other has ended.
    let told = until_said("still running");
    let saves =
        format!("trap '{told}; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
    for dies in [
        "echo ready; exec sleep 1000",
        "trap 'exit 143' TERM; echo ready; while :; do sleep 0.01; done",
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let launcher = two_ranks(folder.path(), "--grace 0", &saves, dies);
        launcher.signal(Signal::TERM);
        let run = launcher.finish();
        assert_eq!((run.code(), &*run.stdout), (128 + 15, "[0] saved\n"));
        let said = std::fs::read_to_string(folder.path().join("said")).expect("UTF-8");
        // (The shells report the ends of their `sleep`.)
        let of_mq: Vec<&str> = said
            .lines()
            .filter(|line| line.starts_with("mq: "))
            .collect();
        let expected = [
            "mq: 1 of 2 still running 0 s after signal 15 (SIGTERM) ended others; mq waits for them (SIGTERM three \
             times, 1 to 5 s apart, kills them)",
            "mq: signal 15 (SIGTERM), which was passed on, ended the run",
        ];
        assert_eq!(of_mq, expected);
    }
}

#[test]
fn who_fails_after_a_signal_was_passed_on_ends_the_others() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let goes_on = "trap '' TERM; echo ready; while :; do sleep 0.01; done";
    let fails = "trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done";
    let launcher = two_ranks(folder.path(), "--grace 0.1", goes_on, fails);
    launcher.signal(Signal::TERM);
    assert_eq!(launcher.finish().code(), 3);
    let said = std::fs::read_to_string(folder.path().join("said")).expect("UTF-8");
    let end = "exited with status 3; ending the 1 still running\n";
    assert!(said.contains(end), "{said}");
}

/// SIGUSR1 asks nobody to end: what comes after the rank that has died of it is told as it is.
#[test]
fn a_signal_that_ends_some_ranks_does_not_speak_for_the_others() {
    let dies = "echo ready; exec sleep 1000";
    let told = until_said("still running");
    let fails = format!("trap '{told}; exit 3' USR1; echo ready; while :; do sleep 0.01; done");
    for (goes_on, code, end) in [
        (
            "trap 'exit 0' USR1; echo ready; while :; do sleep 0.01; done",
            128 + 10,
            "mq: signal 10 (SIGUSR1), which was passed on, ended 1 of 2 ranks",
        ),
        (&*fails, 3, " exited with status 3"),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let launcher = two_ranks(folder.path(), "--grace 0", goes_on, dies);
        launcher.signal(Signal::USR1);
        assert_eq!(launcher.finish().code(), code);
        let said = std::fs::read_to_string(folder.path().join("said")).expect("UTF-8");
        let mut backwards = said.lines().rev();
        let last = backwards.find(|line| line.starts_with("mq: "));
        assert!(last.is_some_and(|line| line.ends_with(end)), "{said}");
    }
}

#[test]
fn ranks_that_do_not_heed_a_signal_are_killed_by_its_third() {
    // A repeat within a second does not count, and one after five begins anew.
    const BETWEEN: Duration = Duration::from_millis(1200);
    for (signal, name) in [
        (Signal::INT, "signal 2 (SIGINT)"),
        (Signal::TERM, "signal 15 (SIGTERM)"),
    ] {
        let stubborn = "trap 'echo no' INT TERM; echo $$; while :; do sleep 0.01; done";
        let mut launcher = shell(&["-n", "2", "--label", "never"], stubborn);
        let pids = launcher.pids(2);
        for _ in 0..2 {
            launcher.signal(signal);
            assert_eq!(launcher.lines(2), ["no", "no"]);
            std::thread::sleep(BETWEEN);
        }
        launcher.signal(signal);
        // On a busy machine the launcher may have seen the third too late for it to be one.
        let mut sent = Instant::now();
        until("the launcher's end", || {
            let has_ended = launcher.has_ended();
            if !has_ended && sent.elapsed() >= BETWEEN {
                launcher.signal(signal);
                sent = Instant::now();
            }
            has_ended
        });
        let run = launcher.finish();
        assert_eq!(run.code(), 128 + 9);
        let said = format!(
            "mq: 2 of 2 still running after 2 times {name}; another one in 1 to 5 s kills them\n"
        );
        // (The shells report the ends of their `sleep`.)
        assert!(run.stderr.contains(&said), "{}", run.stderr);
        assert!(!run.stderr.contains("rank 0"), "{}", run.stderr);
        until_gone(&pids);
    }
}

#[test]
fn ranks_stop_and_go_on_with_the_launcher() {
    let script = "echo $$; exec sleep 1000";
    let mut mq = command(&["-n", "2", "--label", "never", "--", "sh", "-c", script]);
    // As a shell with job control starts it.
    let launcher = Launcher::start(mq.process_group(0));
    let pids = launcher.pids(2);
    launcher.signal(Signal::TSTP);
    until("the launcher's stop", || state(launcher.pid()) == Some('T'));
    for &pid in &pids {
        until("a rank's stop", || state(pid) == Some('T'));
    }
    launcher.signal(Signal::CONT);
    for &pid in &pids {
        until("a rank's going on", || state(pid) != Some('T'));
    }
    launcher.signal(Signal::TERM);
    assert_eq!(launcher.finish().code(), 128 + 15);
}

/// As its terminal's only process: nobody could have it go on, not even by Ctrl-C.
#[test]
fn where_no_shell_could_have_it_go_on_it_does_not_stop() {
    let script = "echo $$; exec sleep 1000";
    let arguments = ["-n", "2", "--label", "never", "--", "sh", "-c", script];
    let (mut launcher, _keyboard) = Launcher::at_terminal(&arguments);
    let pids = launcher.pids(2);
    launcher.signal(Signal::TSTP);
    launcher.signal(Signal::INT);
    until("the launcher's end", || launcher.has_ended());
    assert_eq!(launcher.finish().code(), 128 + 2);
    until_gone(&pids);
}

/// A script that calls it in a loop ends with it.
#[test]
fn a_launcher_that_is_interrupted_dies_of_that() {
    let script = "echo $$; exec sleep 1000";
    let launcher = shell(&["-n", "2", "--label", "never"], script);
    let pids = launcher.pids(2);
    launcher.signal(Signal::INT);
    let ended = launcher.finish();
    assert_eq!(ended.status.signal(), Some(2), "{ended:?}");
    until_gone(&pids);
    // One that its ranks have outlived by handling it has not been ended by it.
    let script = "trap 'exit 3' INT; echo $$; while :; do sleep 0.01; done";
    let launcher = shell(&["-n", "2", "--label", "never"], script);
    launcher.pids(2);
    launcher.signal(Signal::INT);
    assert_eq!(launcher.finish().status.code(), Some(3));
}

#[test]
fn a_stop_that_is_taken_back_at_once_stops_nothing() {
    let script = "echo $$; exec sleep 1000";
    for _ in 0..20 {
        let mut launcher = shell(&["-n", "2", "--label", "never"], script);
        let pids = launcher.pids(2);
        launcher.signal(Signal::TSTP);
        launcher.signal(Signal::CONT);
        launcher.signal(Signal::TERM);
        until("the launcher's end", || launcher.has_ended());
        until_gone(&pids);
    }
}

#[test]
fn a_stopped_rank_is_ended_too() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = "test $MQ_RANK = 0 && echo $$ > new && mv new stopped && kill -STOP $$
                  until test -e stopped; do sleep 0.01; done; stat=/proc/$(cat stopped)/stat
                  until read -r pid name state rest < $stat; test \"$state\" = T; do
                      sleep 0.01
                  done
                  exit 3";
    let mut command = command(&["-n", "2", "--grace", "1000", "--", "sh", "-c", script]);
    let run = Launcher::start(command.current_dir(folder.path())).finish();
    assert_eq!(run.code(), 3);
}

#[test]
fn at_a_terminal_rank_0_reads_what_is_typed_and_ctrl_c_ends_all() {
    let script = "test $MQ_RANK = 1 || read -r line; echo \"got $line\"; exec sleep 1000";
    let (launcher, mut keyboard) = Launcher::at_terminal(&["-n", "2", "--", "sh", "-c", script]);
    while launcher.line() != "[1] got" {}
    keyboard.write_all(b"hello\n").expect("typed");
    // What is typed is on the screen, too.
    while launcher.line() != "[0] got hello" {}
    keyboard.write_all(b"\x03").expect("typed");
    assert_eq!(launcher.finish().code(), 128 + 2);
}

#[test]
fn ignored_signals_stay_ignored() {
    let script = "trap '' HUP
                  exec \"$0\" run -n 2 -- sh -c 'echo ready; while :; do sleep 0.01; done'";
    let launcher = Launcher::start(&mut by_shell(script));
    assert_eq!(launcher.lines(2), ["[0] ready", "[1] ready"]);
    launcher.signal(Signal::HUP);
    launcher.signal(Signal::TERM);
    assert_eq!(launcher.finish().code(), 128 + 15);
}

/// As by a parent that waits for signals with `sigwait` or `signalfd` and leaves them blocked.
#[test]
fn the_ends_of_ranks_are_seen_where_their_signal_was_blocked() {
    let blocking = || {
        let mut env = Command::new("env");
        env.arg("--block-signal=CHLD").stdin(Stdio::null());
        env
    };
    let can_block = blocking().arg("true").stderr(Stdio::null()).status();
    if !can_block.is_ok_and(|status| status.success()) {
        return untried("blocked signals were", "`env` knows no --block-signal");
    }
    let mut launcher = blocking();
    launcher.args([
        env!("CARGO_BIN_EXE_mq"),
        "run",
        "-n",
        "2",
        "--",
        "echo",
        "hi",
    ]);
    let launcher = Launcher::start(&mut launcher);
    assert_eq!(launcher.lines(2), ["[0] hi", "[1] hi"]);
    assert_eq!(launcher.finish().code(), 0);
}

#[test]
fn a_reader_that_does_not_read_keeps_nobody_whom_a_signal_has_ended() {
    let mut launcher = command(&["-n", "2", "--grace", "0.2", "--", "yes"]);
    let mut launcher = launcher.stdout(Stdio::piped()).spawn().expect("mq starts");
    // Much more than the pipe takes.
    let mut first = [0; 100];
    let mut unread = launcher.stdout.take().expect("piped");
    unread.read_exact(&mut first).expect("lines");
    std::thread::sleep(Duration::from_millis(100));
    kill_process(Pid::from_child(&launcher), Signal::TERM).expect("it runs");
    let mut status = None;
    until("the launcher's end", || {
        status = launcher.try_wait().expect("a child");
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(128 + 15));
}

#[test]
fn ranks_die_with_a_launcher_that_is_killed() {
    let launcher = shell(&["-n", "8", "--label", "never"], "echo $$; exec sleep 1000");
    let pids = launcher.pids(8);
    launcher.signal(Signal::KILL);
    until_gone(&pids);
    assert!(launcher.finish().status.code().is_none());
}

#[test]
fn what_ranks_have_started_dies_with_a_launcher_that_is_killed() {
    let script = "sh -c 'echo $$; while :; do sleep 1000; done' & echo $$; wait";
    let launcher = shell(&["-n", "3", "--label", "never"], script);
    let pids = launcher.pids(6);
    launcher.signal(Signal::KILL);
    until_gone(&pids);
}

#[test]
fn what_ranks_have_started_in_other_groups_dies_with_a_launcher_that_is_killed() {
    let script = "timeout 1000 sh -c 'echo $$; while :; do sleep 1000; done' & echo $$; wait";
    let launcher = shell(&["-n", "3", "--label", "never"], script);
    let pids = launcher.pids(6);
    launcher.signal(Signal::KILL);
    until_gone(&pids);
}

fn guard_of(launcher: &Launcher) -> Pid {
    let children = format!("/proc/{0}/task/{0}/children", launcher.pid());
    let children = std::fs::read_to_string(children).expect("the kernel's list");
    let guard = children.split_whitespace().find(|child| {
        let words = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        words
            .split(|&byte| byte == 0)
            .any(|word| word == b"guard-ranks")
    });
    let guard = guard.and_then(|number| number.parse().ok());
    guard.and_then(Pid::from_raw).expect("there is a guard")
}

#[test]
fn the_guard_is_called_so_in_lists_of_processes() {
    let launcher = shell(&["-n", "1"], "echo $$; exec sleep 1000");
    launcher.pids(1);
    let name = format!("/proc/{}/comm", guard_of(&launcher).as_raw_nonzero());
    until("the guard's name", || {
        std::fs::read_to_string(&name).is_ok_and(|name| name == "mq-guard\n")
    });
}

#[test]
fn a_guard_that_is_stopped_holds_up_nobody() {
    let launcher = shell(&["-n", "1"], "echo $$; exec sleep 1000");
    let rank = launcher.pids(1)[0];
    kill_process(guard_of(&launcher), Signal::STOP).expect("it is there");
    let rank = Pid::from_raw(rank).expect("a process");
    kill_process(rank, Signal::KILL).expect("it is there");
    assert_eq!(launcher.finish().code(), 137);
}

/// As by batch systems, which warn every process of a job.
#[test]
fn a_signal_to_all_leaves_the_guard_at_its_post() {
    let script =
        "trap '' USR1; timeout 1000 sh -c 'echo $$; while :; do sleep 1000; done' & echo $$; wait";
    let launcher = shell(&["-n", "2", "--label", "never"], script);
    let pids = launcher.pids(4);
    let guard = guard_of(&launcher);
    for signal in [Signal::USR1, Signal::USR2, Signal::TERM, Signal::TSTP] {
        kill_process(guard, signal).expect("it is there");
    }
    std::thread::sleep(Duration::from_millis(50));
    launcher.signal(Signal::KILL);
    until_gone(&pids);
}

#[test]
fn ranks_die_with_a_launcher_that_is_killed_while_it_starts_them() {
    // Each round kills it a little later. Ranks have their own folder as working directory, by which they
    // are found.
    for round in 0..40 {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = command(&["-n", "8", "--", "sleep", "1000"]);
        let launcher = Launcher::start(command.current_dir(folder.path()));
        std::thread::sleep(Duration::from_micros(500 * round));
        launcher.signal(Signal::KILL);
        assert!(launcher.finish().status.code().is_none());
        until("the end of all in the folder", || {
            working_in(folder.path()).is_empty()
        });
    }
}

/// The processes whose working directory is this one.
fn working_in(folder: &Path) -> Vec<std::path::PathBuf> {
    // As the kernel reports it, even if temporary folders are reached by a link.
    let folder = folder.canonicalize().expect("it is there");
    let entries = std::fs::read_dir("/proc").expect("listed").flatten();
    let processes = entries.map(|entry| entry.path());
    let here = processes.filter(|process| {
        std::fs::read_link(process.join("cwd")).is_ok_and(|directory| directory == folder)
    });
    here.collect()
}

/// A stopped process heeds a signal only when it is continued.
#[test]
fn ranks_that_are_stopped_are_ended_too() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let script = "echo $$; test $MQ_RANK = 0 || kill -STOP $$; exec sleep 1000";
        let launcher = shell(&["-n", "2", "--label", "never"], script);
        let pids: Vec<i32> = (launcher.lines(2).iter())
            .map(|line| line.parse().expect("a number"))
            .collect();
        until("one is stopped", || {
            pids.iter().any(|&pid| state(pid) == Some('T'))
        });
        launcher.signal(signal);
        assert_ne!(launcher.finish().status.code(), Some(0));
        until_gone(&pids);
    }
}
