//! However a run ends, it leaves no process, nothing in `/dev/shm`, and no socket.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use mq_comm::{Error, World};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Launcher, command, until, until_gone};

/// The role of a rank, in the program that the launcher starts: this one.
const TASK: &str = "MQ_TEST_LEFTOVERS";

/// The part of a rank.
#[test]
fn a_rank_talks() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let world = World::init().expect("there is a world");
    talk(&world).expect("all are there");
    println!("pid {}", std::process::id());
    if task == "panic" && world.rank() == 1 {
        panic!("by intention");
    }
    if task == "exit within" {
        world.barrier().expect("all are there");
        std::process::exit(0);
    }
    if task != "exit" {
        // Nobody sends it: the process is killed, or gets an error.
        let heard = world.recv(&mut [0_u8], (world.rank() + 1) % world.size(), 99);
        std::process::exit(if heard.is_err() { 5 } else { 6 });
    }
}

/// Short messages and large ones, so that there are cells, boxes and rings.
fn talk(world: &World) -> Result<(), Error> {
    let (next, before) = (
        (world.rank() + 1) % world.size(),
        (world.rank() + world.size() - 1) % world.size(),
    );
    for len in [1, 100, 10_000, 300_000].repeat(10) {
        let mut theirs = vec![0_u8; len];
        world.sendrecv(&vec![7_u8; len], next, 1, &mut theirs, before, 1)?;
        assert!(theirs.iter().all(|&byte| byte == 7));
    }
    world.barrier()
}

/// Existing files that could be ours.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir("/dev/shm");
    let entries = entries.into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("mq")).collect()
}

/// Whether there is a socket where the processes of a job meet.
fn is_place(job: &str) -> bool {
    let sockets = std::fs::read_to_string("/proc/net/unix").expect("the kernel's list");
    sockets.contains("@mq/") && sockets.contains(&format!("/slurm-{job}-"))
}

fn program() -> [String; 4] {
    let me = std::env::current_exe().expect("a program");
    let words = ["leftovers::a_rank_talks", "--exact", "--nocapture"];
    let [test, exact, printing] = words.map(str::to_owned);
    [me.to_string_lossy().into_owned(), test, exact, printing]
}

/// A run of four, and the processes of its ranks once they have talked.
fn run(task: &str, copy: &str) -> (Launcher, Vec<i32>) {
    let mut command = command(&["-n", "4", "--label", "never", "--"]);
    command
        .args(program())
        .env(TASK, task)
        .env("MQ_SINGLE_COPY", copy)
        .env("MQ_SINGLE_COPY_FROM", "0");
    let launcher = Launcher::start(&mut command);
    let mut pids = Vec::new();
    while pids.len() < 4 {
        // The first line may begin with output of the test runner.
        let line = launcher.line();
        if let Some((_, pid)) = line.split_once("pid ") {
            pids.push(pid.parse().expect("a number"));
        }
    }
    (launcher, pids)
}

fn kill(pid: i32, signal: Signal) {
    let pid = Pid::from_raw(pid).expect("a process");
    kill_process(pid, signal).expect("it runs");
}

#[test]
fn nothing_stays_whatever_ends_a_run() {
    let before = names();
    for copy in ["1", "0"] {
        let (launcher, pids) = run("exit", copy);
        assert_eq!(launcher.finish().code(), 0);
        until_gone(&pids);
        assert_eq!(names(), before, "after an exit");

        let (launcher, pids) = run("panic", copy);
        let ended = launcher.finish();
        // That of the panic, or of a rank that was notified of it.
        assert!([101, 5].contains(&ended.code()), "{ended:?}");
        until_gone(&pids);
        assert_eq!(names(), before, "after a panic");

        for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
            let (launcher, pids) = run("wait", copy);
            launcher.signal(signal);
            assert_ne!(launcher.finish().status.code(), Some(0));
            until_gone(&pids);
            assert_eq!(names(), before, "after {signal:?} to the launcher");

            let (launcher, pids) = run("wait", copy);
            kill(pids[2], signal);
            assert_ne!(launcher.finish().code(), 0);
            until_gone(&pids);
            assert_eq!(names(), before, "after {signal:?} to a rank");
        }
    }
}

#[test]
fn who_exits_within_the_world_is_named() {
    let (launcher, pids) = run("exit within", "1");
    let ended = launcher.finish();
    assert_eq!(ended.code(), 0);
    for pid in pids {
        let sentence = format!("(pid {pid}) exited with status 0 and has not left the world");
        assert!(ended.stderr.contains(&sentence), "{}", ended.stderr);
    }
    let (launcher, _) = run("exit", "1");
    assert_eq!(launcher.finish().stderr, "");
}

/// Processes that meet at a named socket leave none behind.
#[test]
fn ranks_that_have_met_at_a_place_leave_none() {
    let before = names();
    let job = std::process::id().to_string();
    let [me, words @ ..] = program();
    let start = |rank: u32| {
        let mut command = Command::new(&me);
        command
            .args(&words)
            .env(TASK, "wait")
            .env("SLURM_PROCID", rank.to_string())
            .env("SLURM_STEP_NUM_TASKS", "2")
            .env("SLURM_STEP_NUM_NODES", "1")
            .env("SLURM_JOB_ID", &job)
            .env("SLURM_STEP_ID", "leftovers")
            .stdin(Stdio::null());
        Launcher::start(&mut command)
    };
    let ranks = [start(0), start(1)];
    for rank in &ranks {
        while !rank.line().contains("pid ") {}
    }
    assert_eq!(names(), before);
    assert!(!is_place(&job), "nobody else is to meet there");
    for rank in ranks {
        rank.signal(Signal::KILL);
        assert_ne!(rank.finish().status.code(), Some(0));
    }
    assert_eq!(names(), before);
}

/// A process, as started by SLURM, that waits for another one that does not come.
#[test]
fn who_is_ended_while_it_waits_for_another_leaves_nothing() {
    let before = names();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::KILL] {
        let number = signal.as_raw();
        let job = format!("{}-{number}", std::process::id());
        let mut waiting = Command::new(env!("CARGO_BIN_EXE_mq"))
            .args(["pingpong", "--samples", "1"])
            .env("SLURM_PROCID", "0")
            .env("SLURM_STEP_NUM_TASKS", "2")
            .env("SLURM_STEP_NUM_NODES", "1")
            .env("SLURM_JOB_ID", &job)
            .env("SLURM_STEP_ID", "waited")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("mq starts");
        until("it waits at its place", || is_place(&job));
        assert_eq!(names(), before);
        let pid = Pid::from_child(&waiting);
        kill_process(pid, signal).expect("it runs");
        let ended = waiting.wait().expect("it ends");
        assert_eq!(ended.signal(), Some(number), "{ended}");
        assert!(!is_place(&job), "a socket is left after {signal:?}");
        assert_eq!(names(), before);
    }
}
