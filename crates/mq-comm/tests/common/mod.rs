//! What the tests share.
#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod filters;
pub(crate) mod hindered;

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use mq_comm::Error;
use mq_shm::ShmError;

/// Tests that are running, and when each has to be done.
static RUNNING: Mutex<Vec<(u64, &'static str, Instant)>> = Mutex::new(Vec::new());

/// Ends the whole program if the test that holds it takes too long.
pub(crate) struct Watchdog(u64);

/// Begins to watch a test, for a minute.
pub(crate) fn watchdog(test: &'static str) -> Watchdog {
    watchdog_for(test, 60)
}

/// Begins to watch a test.
pub(crate) fn watchdog_for(test: &'static str, seconds: u64) -> Watchdog {
    let time = Duration::from_secs(seconds * slower());
    let mut running = RUNNING.lock().unwrap();
    let id = running.iter().map(|(id, ..)| id + 1).max().unwrap_or(0);
    running.push((id, test, Instant::now() + time));
    std::thread::spawn(move || {
        std::thread::sleep(time);
        let running = RUNNING.lock().unwrap();
        let late = running.iter().find(|(.., end)| *end <= Instant::now());
        if let Some((_, test, _)) = late {
            eprintln!("{test} hangs");
            std::process::abort();
        }
    });
    Watchdog(id)
}

/// What a child of a test is to do.
pub(crate) const TASK: &str = "MQ_TEST_TASK";

/// This program again: its test `a_child_does_its_task` reads the task.
pub(crate) fn child(task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "a_child_does_its_task", "--nocapture"])
        .env(TASK, task)
        .stdout(Stdio::null());
    command
}

/// How many times slower than usual this machine is (`MQ_SLOWER`), such as one that is emulated: what hangs elsewhere
/// may be under way here.
pub(crate) fn slower() -> u64 {
    let said = std::env::var("MQ_SLOWER").ok();
    said.map_or(1, |times| times.parse().expect("MQ_SLOWER is a number"))
}

/// This machine does not let a test try something: it says so, and fails where everything has to be tried
/// (`MQ_ALL_CHECKS`, as in `.ci/run`).
pub(crate) fn untried(what: &str, why: &str) {
    // Not by a macro, whose words a test that passes keeps to itself.
    let _ = writeln!(std::io::stderr(), "{what} was not tried: {why}");
    let all = std::env::var_os("MQ_ALL_CHECKS").is_some();
    assert!(!all, "{what} was not tried: {why}");
}

pub(crate) const NOT_READ: &str = "process_vm_readv is refused on this machine";

impl Drop for Watchdog {
    fn drop(&mut self) {
        RUNNING.lock().unwrap().retain(|(id, ..)| *id != self.0);
    }
}

/// Whether something failed because a process has ended in this way.
pub(crate) fn is_gone(result: &Result<impl Sized, Error>, process: u32, word: &str) -> bool {
    match result {
        Err(error @ Error::Gone { process: its, .. }) => {
            its.0 == process && error.to_string().contains(word)
        }
        _ => false,
    }
}

/// Whether memory was refused.
pub(crate) fn is_out_of_memory(error: &Error) -> bool {
    matches!(error, Error::Transport(error) if matches!(**error, ShmError::NoMemory { .. }))
}

/// Whether the kernel reads this process's memory for it, asked without anything of the library's: what
/// that says of itself may be wrong.
#[allow(unsafe_code, reason = "a system call with addresses")]
pub(crate) fn kernel_reads_memory() -> bool {
    let (from, mut into) = ([7_u8; 8], [0_u8; 8]);
    let there = libc::iovec {
        iov_base: from.as_ptr().cast_mut().cast(),
        iov_len: from.len(),
    };
    let here = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let me = std::process::id().cast_signed();
    // SAFETY: both live, and have this many bytes.
    let read = unsafe { libc::process_vm_readv(me, &raw const here, 1, &raw const there, 1, 0) };
    read == 8 && into == from
}
