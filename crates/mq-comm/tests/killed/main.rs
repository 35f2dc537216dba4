//! A process of a world is killed at every step of the protocol and of the transport below it. Others
//! that wait for it are told so, and everything else goes on, whole and unchanged.
#![cfg(feature = "_steps")]

mod child;
#[path = "../common/mod.rs"]
mod common;
mod communicators;
mod exchanges;

use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use common::{TASK, watchdog_for};
use mq_comm::{Options, World};
use mq_shm::{Geometry, Mapped, Process};

const SIZE: u32 = 4;
/// It has a rank below it in a broadcast from rank 0.
const VICTIM: u32 = 2;
const KILLED: i32 = 9;
/// A tag that nobody sends with.
const NEVER: i32 = 9_999;

/// Steps of single copy, which the kernel may refuse.
const COPIES: [&str; 4] = ["Copying", "Copied", "Fetched", "BufferFree"];
/// Steps of messages that both sides copy; no process is asked that is thought to share a core.
const HELP: [&str; 5] = [
    "HelpAsked",
    "HelpTaken",
    "HelpGiven",
    "HelpCounted",
    "HelpAwaited",
];
/// Steps of messages that go ahead, which none does where the kernel may read.
const AHEAD: [&str; 3] = ["GoingAhead", "GoneAhead", "CameTooEarly"];
/// Steps of more unexpected messages than are to be kept.
const FLOOD: [&str; 2] = ["Flooded", "FloodOver"];
/// Steps that come once in a process.
const ONCE: [&str; 5] = ["Joining", "Joined", "Left", "Leaving", "SeenThrough"];
/// Steps that come after another's end, or by chance: the transport's own kill tests have them.
const ELSEWHERE: [&str; 6] = [
    "Buried",
    "StruckOut",
    "Inherited",
    "GivenBack",
    "Sleeping",
    "Waking",
];

#[test]
fn a_child_does_its_task() {
    if let Ok(task) = std::env::var(TASK) {
        child::run(&task);
    }
}

/// A world of four of which one is killed; `end` sees to that. How it ended.
fn with_victim(settings: &[(&str, &str)], plan: &str, end: impl FnOnce(&mut Child)) -> ExitStatus {
    let segment = Mapped::create(Geometry::new(SIZE).unwrap()).unwrap();
    let fresh = segment.committed().unwrap();
    let file = segment.file();
    rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty()).unwrap();
    let mut children: Vec<Child> = (0..SIZE)
        .map(|rank| {
            let mut command = common::child("talk");
            command
                .env("MQ_RANK", rank.to_string())
                .env("MQ_SIZE", SIZE.to_string())
                .env("MQ_SEGMENT", format!("fd:{}", file.as_raw_fd()))
                .env("MQ_EAGER_LIMIT", "40K")
                .env("MQ_POLICY", "per-peer")
                .env_remove("MQ_DIE")
                .envs(settings.iter().copied());
            if rank == VICTIM && !plan.is_empty() {
                command.env("MQ_DIE", plan);
            }
            command.spawn().unwrap()
        })
        .collect();
    rustix::io::fcntl_setfd(file, rustix::io::FdFlags::CLOEXEC).unwrap();
    let mut victim = children.remove(VICTIM as usize);
    end(&mut victim);
    let ended = victim.wait().unwrap();
    segment.ended(Process(VICTIM)).unwrap();
    for (rank, mut child) in [0, 1, 3].into_iter().zip(children) {
        assert!(
            child.wait().unwrap().success(),
            "rank {rank} goes on after {plan}"
        );
        segment.ended(Process(rank)).unwrap();
    }
    assert_eq!(
        segment.committed().unwrap(),
        fresh,
        "memory is lost after {plan}"
    );
    ended
}

/// Whether the processes of this test may read each other's memory.
fn single_copy_works() -> bool {
    let options = Options::default().with(|o| o.single_copy_from = Some(0));
    World::threads_with(2, &options, |world| {
        if world.rank() == 0 {
            world.send(&vec![1_u8; 1 << 20], 1, 0)?;
            return Ok(true);
        }
        world.recv(&mut vec![0_u8; 1 << 20], 0, 0)?;
        Ok(world.profile().single_copy > 0)
    })
    .unwrap()[1]
}

/// All of these would be left out otherwise, without a word.
#[test]
fn single_copy_works_where_the_kernel_reads_memory() {
    let _dog = watchdog_for("single copy", 60);
    assert_eq!(single_copy_works(), common::kernel_reads_memory());
}

#[test]
fn at_every_step() {
    let _dog = watchdog_for("every step", 500);
    let names = names_in_shared_memory();
    let copies = single_copy_works();
    let steps = mq_shm::STEPS.iter().chain(mq_comm::STEPS);
    let (mut tried, mut killed) = (0, 0);
    let (mut later, mut missed) = (0, Vec::new());
    // Those that are named, to look into one.
    let only = std::env::var("MQ_KILL_STEPS").unwrap_or_default();
    let wanted: Vec<&str> = only.split(',').filter(|name| !name.is_empty()).collect();
    for name in &wanted {
        assert!(
            steps.clone().any(|step| step == name),
            "MQ_KILL_STEPS={only}: there is no step {name}"
        );
    }
    let named = |step: &str| wanted.is_empty() || wanted.contains(&step);
    for step in steps.filter(|step| !ELSEWHERE.contains(step) && named(step)) {
        let ring = step.starts_with("Ring")
            || step.starts_with("Buffer")
            || *step == "NotFetched"
            || AHEAD.contains(step);
        let helps = HELP.contains(step);
        let single = helps || COPIES.contains(step);
        if single && !copies {
            common::untried(step, common::NOT_READ);
            continue;
        }
        // Of three that are told by rank 0, which the victim is in some communicators, after each.
        let times: &[u32] = match *step {
            "DecisionSaid" => &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
            "OpinionSaid" | "OpinionHeard" => &[1, 2, 3, 8, 9, 10, 11],
            _ => &[1, 3],
        };
        for &times in times {
            let plan = format!("{step}:{times}");
            let copy = if ring && !single { "0" } else { "1" };
            let patience = if helps { "3,40" } else { "" };
            let kept = if FLOOD.contains(step) { "20K" } else { "" };
            let settings = [
                ("MQ_SINGLE_COPY", copy),
                ("MQ_SINGLE_COPY_FROM", "0"),
                ("MQ_PATIENCE", patience),
                ("MQ_UNEXPECTED_LIMIT", kept),
            ];
            let mut ended = with_victim(&settings, &plan, |_| {});
            // It is up to the system whether a process sleeps and has to be woken, and whether a sender
            // comes in time to help.
            for _ in 0..if helps { 60 } else { 10 } {
                if times > 1 || !ended.success() {
                    break;
                }
                ended = with_victim(&settings, &plan, |_| {});
            }
            let is_killed = ended.signal() == Some(KILLED);
            assert!(
                is_killed || times > 1 && ended.success(),
                "the victim was to die at {plan}: {ended}"
            );
            tried += 1;
            killed += u32::from(is_killed);
            if times > 1 && !helps && !ONCE.contains(step) {
                later += 1;
                if !is_killed {
                    missed.push(plan);
                }
            }
        }
    }
    println!("{killed} of {tried} victims were killed at a step");
    assert!(
        missed.len() * 4 <= later || !wanted.is_empty(),
        "of {later} later visits these did not come: {missed:?}"
    );
    assert!(tried > 0, "MQ_KILL_STEPS={only} names no step");
    assert_eq!(names_in_shared_memory(), names);
}

#[test]
fn in_a_broadcast_of_which_the_end_has_come() {
    let _dog = watchdog_for("a broadcast", 100);
    // Three parts, to two ranks each.
    let plan = "PartPassedOn:6";
    assert_eq!(
        with_victim(&[(TASK, "late")], plan, |_| {}).signal(),
        Some(KILLED)
    );
}

#[test]
fn at_any_time() {
    let seconds = std::env::var("MQ_KILL_SECONDS").map_or(5, |text| text.parse().unwrap());
    let _dog = watchdog_for("any time", seconds + 100);
    let until = Instant::now() + Duration::from_secs(seconds);
    let (mut runs, mut killed) = (0_u64, 0);
    while Instant::now() < until {
        // Spread evenly, in an order that jumps.
        let wait = runs.wrapping_mul(7_919) % (60_000 * common::slower());
        let copy = if runs.is_multiple_of(2) { "1" } else { "0" };
        let from = if runs.is_multiple_of(3) { "auto" } else { "0" };
        let patience = if runs.is_multiple_of(4) { "3,40" } else { "" };
        let kept = if runs.is_multiple_of(5) { "20K" } else { "" };
        let ended = with_victim(
            &[
                ("MQ_UNEXPECTED_LIMIT", kept),
                ("MQ_SINGLE_COPY", copy),
                ("MQ_SINGLE_COPY_FROM", from),
                ("MQ_PATIENCE", patience),
            ],
            "",
            |victim| {
                std::thread::sleep(Duration::from_micros(wait));
                victim.kill().unwrap();
            },
        );
        runs += 1;
        killed += u32::from(ended.signal() == Some(KILLED));
    }
    println!("{killed} of {runs} victims were killed before they had finished");
    assert!(killed > 0);
}

/// The names there that could be ours.
fn names_in_shared_memory() -> Vec<String> {
    let entries = std::fs::read_dir("/dev/shm")
        .into_iter()
        .flatten()
        .flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("mq")).collect()
}
