//! How runs end, and that nothing is left of them.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Launcher, by_shell, command, launcher, shell, state, unshare, until, until_gone,
};
use crate::terminal::{LEADS, leader};

#[test]
fn the_first_failure_ends_the_others_and_gives_the_exit_code() {
    let script = "echo $$; test $MQ_RANK = 0 || exec sleep 1000; read -r go; exit 3";
    let mut command = command(&["-n", "4", "--label", "never", "--", "sh", "-c", script]);
    let mut launcher = Launcher::start(command.stdin(Stdio::piped()));
    let pids = launcher.pids(4);
    launcher.write("go\n");
    let run = launcher.finish();
    assert_eq!(run.code(), 3);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.starts_with("mq: rank 0 (pid "), "{}", run.stderr);
    let end = ") exited with status 3; ending the 3 still running\n";
    assert!(run.stderr.ends_with(end), "{}", run.stderr);
    assert!(
        pids.iter()
            .any(|pid| run.stderr.contains(&format!("(pid {pid})")))
    );
    until_gone(&pids);
}

#[test]
fn a_rank_killed_by_a_signal_is_named_with_it() {
    let script = "test $MQ_RANK = 2 && kill -KILL $$; exec sleep 1000";
    let run = shell(&["-n", "3"], script).finish();
    assert_eq!(run.code(), 128 + 9);
    assert!(run.stderr.starts_with("mq: rank 2 (pid "), "{}", run.stderr);
    assert!(
        run.stderr.contains("was killed by signal 9 (SIGKILL)"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_real_time_signal_is_a_signal_too() {
    let run = shell(&["-n", "2", "--keep-going"], "kill -40 $$").finish();
    assert_eq!(run.code(), 128 + 40);
    assert!(
        run.stderr.contains(" killed by signal 40\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn ranks_that_end_alike_at_once_are_one_sentence() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = "echo $$; test $MQ_RANK = 3 && exec sleep 1000
                  until test -e go; do sleep 0.01; done; exit 2";
    let mut command = command(&["-n", "4", "--", "sh", "-c", script]);
    let launcher = Launcher::start(command.current_dir(folder.path()));
    let lines = launcher.lines(4);
    let pids = lines.iter().map(|line| line[4..].parse::<i32>());
    let pids: Vec<i32> = pids.map(|pid| pid.expect("a number")).collect();
    // They end while it does not look.
    launcher.signal(Signal::STOP);
    until("the launcher's stop", || state(launcher.pid()) == Some('T'));
    std::fs::write(folder.path().join("go"), "").expect("written");
    until_gone(&pids[..3]);
    launcher.signal(Signal::CONT);
    let run = launcher.finish();
    assert_eq!(run.code(), 2);
    let sentence = format!(
        "mq: 3 of 4 ranks, rank 0 (pid {}) first, exited with status 2; ending the 1 still running\n",
        pids[0]
    );
    assert_eq!(run.stderr, sentence);
}

#[test]
fn whoever_does_not_end_when_asked_is_killed() {
    let script = "trap '' TERM; echo $$; test $MQ_RANK = 0 && read -r go && exit 5
                  while :; do sleep 1000; done";
    let mut command = command(&[
        "-n", "3", "--label", "never", "--grace", "0.1", "--", "sh", "-c", script,
    ]);
    let command = command.stdin(Stdio::piped());
    let mut launcher = Launcher::start(command);
    let pids = launcher.pids(3);
    launcher.write("go\n");
    assert_eq!(launcher.finish().code(), 5);
    until_gone(&pids);
}

#[test]
fn ranks_may_clean_up_when_they_are_asked_to_end() {
    let script = "trap 'echo cleaned; exit 0' TERM; echo ready
                  test $MQ_RANK = 0 && read -r go && exit 5; while :; do sleep 0.01; done";
    let mut command = command(&["-n", "2", "--grace", "1000", "--", "sh", "-c", script]);
    let command = command.stdin(Stdio::piped());
    let mut launcher = Launcher::start(command);
    assert_eq!(launcher.lines(2), ["[0] ready", "[1] ready"]);
    launcher.write("go\n");
    let run = launcher.finish();
    assert_eq!((run.code(), run.stdout.as_str()), (5, "[1] cleaned\n"));
}

#[test]
fn with_keep_going_the_others_finish_and_every_failure_is_told() {
    // The others go on only when rank 0 has failed.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = "test $MQ_RANK = 0 && echo $$ > new && mv new failed && exit 7
                  until test -e failed; do sleep 0.01; done; stat=/proc/$(cat failed)/stat
                  while { read -r pid name state rest < $stat && test $state != Z; } 2>/dev/null; do
                      sleep 0.01
                  done
                  echo done; exit $((MQ_RANK - 1))";
    let mut command = command(&["-n", "3", "--keep-going", "--", "sh", "-c", script]);
    let run = Launcher::start(command.current_dir(folder.path())).finish();
    assert_eq!(run.code(), 7, "that of the first failure: {run:?}");
    assert_eq!(run.sorted(), ["[1] done", "[2] done"]);
    let mut told: Vec<&str> = run.stderr.lines().collect();
    told.sort_unstable();
    assert_eq!(told.len(), 2, "{}", run.stderr);
    assert!(told[0].starts_with("mq: rank 0 (pid ") && told[0].ends_with("exited with status 7"));
    assert!(told[1].starts_with("mq: rank 2 (pid ") && told[1].ends_with("exited with status 1"));
}

#[test]
fn a_time_limit_ends_all_with_124() {
    let options = ["-n", "3", "--label", "never", "--timeout", "3"];
    let launcher = shell(&options, "echo $$; exec sleep 1000");
    let pids = launcher.pids(3);
    let run = launcher.finish();
    assert_eq!(run.code(), 124);
    let sentence = "mq: --timeout of 3 s expired; ending the 3 of 3 still running: 0, 1, 2\n";
    assert_eq!(run.stderr, sentence);
    until_gone(&pids);
}

#[test]
fn a_time_limit_names_the_ranks_that_had_not_ended() {
    let options = ["-n", "20", "--label", "never", "--timeout", "5"];
    let run = shell(&options, "[ $MQ_RANK = 1 ] || exec sleep 1000").finish();
    let sentence = "mq: --timeout of 5 s expired; ending the 19 of 20 still running: 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, \
                    12, 13, 14, 15, 16, ...\n";
    assert_eq!((run.code(), &*run.stderr), (124, sentence));
}

/// Set in the environment of the process that this test starts from its own executable.
const CHILD: &str = "MQ_TEST_LEAVES_ITS_GROUP";

#[test]
fn a_rank_in_another_process_group_is_ended_too() {
    if std::env::var_os(CHILD).is_some() {
        let launcher = rustix::process::getppid().expect("the launcher");
        let group = rustix::process::getpgid(Some(launcher)).expect("it has a group");
        rustix::process::setpgid(None, Some(group)).expect("of the same session");
        std::thread::sleep(Duration::from_secs(1000));
        return;
    }
    let me = std::env::current_exe().expect("a path");
    let me = me.to_str().expect("UTF-8");
    let test = "ends::a_rank_in_another_process_group_is_ended_too";
    let options = ["-n", "2", "--timeout", "0.5", "--grace", "0.2", "--", me];
    let mut command = command(&[&options, &["--exact", test][..]].concat());
    let run = Launcher::start(command.env(CHILD, "")).finish();
    assert_eq!(run.code(), 124, "{}", run.stderr);
}

#[test]
fn a_time_limit_that_is_not_reached_changes_nothing() {
    let run = launcher(&["-n", "2", "--timeout", "1e9", "--", "true"]).finish();
    assert_eq!(
        (run.code(), run.stdout.as_str(), run.stderr.as_str()),
        (0, "", "")
    );
}

#[test]
fn what_ranks_have_started_goes_with_them() {
    // It also holds the pipes open: the run ends nevertheless.
    for (script, code) in [("exit 0", 0), ("exit 4", 4)] {
        let script = format!(
            "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1000; done' &
                              read -r go; {script}"
        );
        let mut command = command(&[
            "-n", "1", "--label", "never", "--grace", "0.1", "--", "sh", "-c", &script,
        ]);
        let command = command.stdin(Stdio::piped());
        let mut launcher = Launcher::start(command);
        let pids = launcher.pids(1);
        launcher.write("go\n");
        assert_eq!(launcher.finish().code(), code);
        until_gone(&pids);
    }
}

#[test]
fn what_ranks_have_started_in_other_groups_goes_with_them_too() {
    // `timeout` makes a process group, the other a session; what is in it is a grandchild.
    let timeout = ["timeout", "1000"].map(str::to_owned);
    for apart in [&timeout[..], &leader()] {
        // (What the other itself prints is for nobody.)
        let script =
            "\"$@\" sh -c 'exec >&3; trap \"\" TERM; echo $$; while :; do sleep 1000; done' \
                          3>&1 >/dev/null &
                      read -r go; exit 4";
        let mut command = command(&[
            "-n", "1", "--label", "never", "--grace", "0.1", "--", "sh", "-c", script, "sh",
        ]);
        let command = command.args(apart).env(LEADS, "").stdin(Stdio::piped());
        let mut launcher = Launcher::start(command);
        let pids = launcher.pids(1);
        launcher.write("go\n");
        assert_eq!(launcher.finish().code(), 4, "{apart:?}");
        until_gone(&pids);
    }
}

/// A shell runs a script, prints the number of a process in it, and becomes `mq`, which succeeds. That
/// process still exists. In the script, `"$@"` before a program has it lead a session.
fn stays(before: &str, program: &str) {
    let script = format!("{before} exec \"$0\" run -n 1 -- {program}");
    let launcher = Launcher::start(by_shell(&script).args(leader()).env(LEADS, ""));
    let pid: i32 = launcher.line().parse().expect("a number");
    let run = launcher.finish();
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(!matches!(state(pid), None | Some('Z' | 'X')));
    let pid = Pid::from_raw(pid).expect("a process");
    kill_process(pid, Signal::KILL).expect("it runs");
}

/// A shell that becomes `mq` passes its children on to it.
#[test]
fn what_was_there_before_the_launcher_stays() {
    stays("sleep 1000 >/dev/null 2>&1 & echo $!;", "true");
}

/// Though it becomes the launcher's own child when its parent ends.
#[test]
fn what_others_leave_while_the_launcher_runs_stays() {
    let leaving = "( sleep 0.2; \"$@\" sleep 1000 >/dev/null 2>&1 & echo $! ) &";
    stays(leaving, "sleep 1");
}

/// What ranks leave in a session of their own cannot be found in another namespace's `/proc`, but it is there.
#[test]
fn what_is_left_where_proc_does_not_tell_is_told() {
    let what = "a `/proc` of another PID namespace was";
    for (program, is_left) in [("exec sleep 1000", true), ("exit", false)] {
        let Some(mut apart) = unshare(what, &["-pf", "-Urpf"], &["true"]) else {
            return;
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        // The namespace, and all in it, ends with the outer shell.
        let outer = "\"$0\" run -n 1 -- sh -c 'exec sh rank \"$@\"' sh \"$@\"; exit $?";
        let rank = "\"$@\" sh program >/dev/null 2>&1 & until test -e there; do sleep 0.01; done";
        let program = format!("touch there; {program}");
        for (name, script) in [("rank", rank), ("program", &program)] {
            std::fs::write(folder.path().join(name), script).expect("written");
        }
        apart.args(["sh", "-c", outer, env!("CARGO_BIN_EXE_mq")]);
        apart.args(leader()).env(LEADS, "");
        let run = Launcher::start(apart.current_dir(folder.path())).finish();
        let sentence = "mq: something that ranks started is left, and /proc, which is of another PID namespace, does \
                        not tell what\n";
        let expected = if is_left { sentence } else { "" };
        assert_eq!((run.code(), run.stderr.as_str()), (0, expected));
    }
}
