//! What a kernel, a container or a filter may refuse, and segments that are not what they should
//! be: worlds of real processes get an error that says what and where, or another way, and lose
//! nothing.

#[path = "../common/mod.rs"]
mod common;
mod meeting;
mod tasks;

use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

use common::filters::refuse;
use common::{TASK, child, watchdog};
use mq_comm::World;
use mq_shm::{Geometry, Mapped};
use rustix::thread::{MembarrierCommand, membarrier};
use tasks::{
    cut, denied_from_the_start, denied_later, end_at_fence, end_at_permission, exchange, kept,
    no_cell, no_descriptors, no_room_later, no_room_to_broadcast, says,
};

#[test]
fn a_child_does_its_task() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let _dog = watchdog("a child");
    let done = match task.as_str() {
        "denied" => denied_from_the_start(),
        "denied later" => denied_later(),
        "no memory file" => {
            refuse(libc::SYS_memfd_create, libc::ENOSYS);
            says(
                World::alone(),
                "making a memory file: Function not implemented",
            )
        }
        "no room" => {
            refuse(libc::SYS_fallocate, libc::ENOSPC);
            says(
                World::alone(),
                "no shared memory for the entries of the processes (",
            )
        }
        "no room later" => no_room_later(),
        "no room to broadcast" => no_room_to_broadcast(),
        "no descriptors" => no_descriptors(),
        "no cell" => no_cell(),
        "no sockets" => {
            refuse(libc::SYS_socket, libc::EPERM);
            World::init().and_then(|world| world.barrier())
        }
        "cut" => cut(),
        "permission" => {
            end_at_permission();
            World::init().and_then(|world| exchange(&world, 1))
        }
        "fence" => end_at_fence(),
        "init" => World::init().and_then(|world| world.barrier()),
        "kept" => kept(),
        _ => panic!("{task}?"),
    };
    if let Err(error) = done {
        eprintln!("REFUSED {error}");
        std::process::exit(3);
    }
}

/// Two processes that inherit a segment do what they are told.
fn two(task: &str, settings: &[(&str, &str)]) {
    some(2, task, settings);
}

/// So do some.
fn some(processes: u32, task: &str, settings: &[(&str, &str)]) {
    for (rank, ended) in ends_of(processes, task, settings).into_iter().enumerate() {
        assert!(ended.success(), "rank {rank}: {ended}");
    }
}

/// How such processes end.
fn ends_of(processes: u32, task: &str, settings: &[(&str, &str)]) -> Vec<ExitStatus> {
    let segment = Mapped::create(Geometry::new(processes).unwrap()).unwrap();
    let file = rustix::io::dup(segment.file()).unwrap();
    let children: Vec<Child> = (0..processes)
        .map(|rank| {
            child(task)
                .env("MQ_RANK", rank.to_string())
                .env("MQ_SIZE", processes.to_string())
                .env("MQ_SEGMENT", format!("fd:{}", file.as_raw_fd()))
                .envs(settings.iter().copied())
                .spawn()
                .unwrap()
        })
        .collect();
    let ended = children.into_iter().map(|mut child| child.wait().unwrap());
    ended.collect()
}

/// What Yama asks for, on whatever kernel: each lets its launcher read its memory, and all that
/// this has started.
#[test]
fn processes_of_one_launcher_are_let_in_unless_nothing_is_to_be_read() {
    let _dog = watchdog("permission");
    for ended in ends_of(2, "permission", &[]) {
        assert_eq!(ended.signal(), Some(libc::SIGSYS), "{ended}");
    }
    two("permission", &[("MQ_SINGLE_COPY", "0")]);
}

/// Senders look whether a process sleeps without a fence of their own: it has the kernel execute one.
#[test]
fn who_is_about_to_sleep_has_a_fence_executed_everywhere() {
    let _dog = watchdog("fence");
    let calls = [
        MembarrierCommand::RegisterGlobalExpedited,
        MembarrierCommand::GlobalExpedited,
    ];
    if calls.map(membarrier).iter().any(Result::is_err) {
        common::untried("a fence", "membarrier is refused on this machine");
        return;
    }
    let ended = child("fence").status().unwrap();
    assert_eq!(ended.signal(), Some(libc::SIGSYS), "{ended}");
}

#[test]
fn large_messages_go_through_a_ring_where_memory_may_not_be_read() {
    let _dog = watchdog("denied");
    two("denied", &[("MQ_SINGLE_COPY_FROM", "0")]);
}

#[test]
fn large_messages_go_through_a_ring_once_memory_may_not_be_read_any_more() {
    let _dog = watchdog("denied later");
    two("denied later", &[("MQ_SINGLE_COPY_FROM", "0")]);
}

#[test]
fn who_has_no_descriptors_left_takes_nobody_for_dead() {
    let _dog = watchdog("no descriptors");
    two("no descriptors", &[]);
}

#[test]
fn memory_that_is_refused_is_an_error() {
    let _dog = watchdog("no memory");
    for task in ["no memory file", "no room", "no cell"] {
        assert!(child(task).status().unwrap().success(), "{task}");
    }
    two("no room later", &[("MQ_SINGLE_COPY", "0")]);
    some(3, "no room to broadcast", &[("MQ_SINGLE_COPY", "0")]);
}

#[test]
fn what_does_not_fit_is_cut_and_said_with_both_sizes() {
    let _dog = watchdog("cut");
    two("cut", &[("MQ_SINGLE_COPY_FROM", "0")]);
    two("cut", &[("MQ_SINGLE_COPY", "0")]);
}
