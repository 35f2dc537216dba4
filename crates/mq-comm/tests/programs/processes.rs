//! Programs whose ranks are processes: this test, started again.

use std::os::fd::AsRawFd as _;
use std::process::{Child, ExitStatus};

use mq_comm::World;
use mq_shm::Mapped;

use crate::common::{TASK, child, watchdog_for};
use crate::{HANGS, Program};

pub(crate) fn run(seed: u64) {
    let program = Program::new(seed);
    let ranks = program.plan.ranks;
    let segment = Mapped::create(program.options.geometry(ranks).unwrap()).unwrap();
    let file = rustix::io::dup(segment.file()).unwrap();
    let children: Vec<Child> = (0..ranks)
        .map(|rank| {
            let mut child = child(&seed.to_string());
            child
                .env("MQ_RANK", rank.to_string())
                .env("MQ_SIZE", ranks.to_string())
                .env("MQ_SEGMENT", format!("fd:{}", file.as_raw_fd()));
            child.spawn().unwrap()
        })
        .collect();
    // Each is waited for before one is complained about.
    let ended = children.into_iter().map(|mut child| child.wait().unwrap());
    let ended: Vec<_> = ended.collect();
    let went_well = ended.iter().all(ExitStatus::success);
    assert!(went_well, "{ended:?} ({:?})", program.options);
}

/// Does what a process was started for, if this is one.
pub(crate) fn be_child() {
    if let Ok(seed) = std::env::var(TASK) {
        let _dog = watchdog_for("a process of a program", HANGS);
        let program = Program::new(seed.parse().expect("the task is a seed"));
        let options = program.options_of(std::env::var("MQ_RANK").unwrap().parse().unwrap());
        let ended = World::run_with(&options, |world| program.part(world));
        ended.unwrap_or_else(|error| panic!("{error} ({options:?})"));
    }
}
