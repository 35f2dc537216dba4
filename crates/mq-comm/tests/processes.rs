//! Worlds of real processes: this program, started again.

mod common;

use std::process::{Child, Stdio};

use common::{TASK, child, watchdog, watchdog_for};
use mq_comm::{Error, Source, World};
use mq_shm::{Geometry, Mapped};

fn start(task: &str, size: u32, segment: &Mapped) -> Vec<Child> {
    let file = segment.file();
    rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&file);
    let children = (0..size)
        .map(|rank| {
            let mut child = child(task);
            child
                .env("MQ_RANK", rank.to_string())
                .env("MQ_SIZE", size.to_string())
                .env("MQ_SEGMENT", format!("fd:{number}"));
            if task == "die before the patient" {
                child.env("MQ_PATIENCE", format!("{},0", u32::MAX));
            }
            child.spawn().unwrap()
        })
        .collect();
    rustix::io::fcntl_setfd(file, rustix::io::FdFlags::CLOEXEC).unwrap();
    children
}

#[test]
fn a_child_does_its_task() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let _dog = watchdog_for("a child", 300);
    let world = World::init().unwrap();
    match task.as_str() {
        "forked" => forked(world),
        "talk" => talk(&world, &[0, 1, 8, 300, 21_000, 500_000]),
        "crowd" => talk(&world, &[0, 300, 21_000]),
        "die" => die(&world),
        "die before the patient" => die_before_the_patient(&world),
        _ => panic!("{task}?"),
    }
    .unwrap();
}

/// Everybody sends everybody else messages of many sizes.
fn talk(world: &World, lengths: &[usize]) -> Result<(), Error> {
    let (rank, size) = (world.rank(), world.size());
    world.barrier()?;
    for &len in lengths {
        let mine = vec![rank as u8; len];
        let mut theirs = vec![vec![0_u8; len]; size as usize];
        world.scope(|s| {
            for (from, into) in (0..).zip(&mut theirs) {
                s.irecv(into, from, 1)?;
            }
            for to in 0..size {
                s.isend(&mine, to, 1)?;
            }
            s.wait_all()
        })?;
        for (from, bytes) in (0..).zip(&theirs) {
            assert!(bytes.iter().all(|&byte| byte == from));
        }
    }
    let profile = world.profile();
    let large = lengths.iter().filter(|&&len| len >= 21_000).count() as u64;
    assert_eq!(profile.single_copy + profile.ring, large * u64::from(size));
    world.dup()?.barrier()
}

/// Whether an error is that process 1 has died, whatever noticed it.
fn is_death_of_one(error: &Error) -> bool {
    error.to_string().starts_with("process 1 has died")
}

fn die(world: &World) -> Result<(), Error> {
    world.barrier()?;
    if world.rank() == 1 {
        world.send(&[1_u8], 0, 0)?;
        drop(world.isend(vec![1_u8; 1 << 20], 0, 1)?);
        world.recv(&mut [0_u8], 0, 2)?;
        std::process::abort();
    }
    world
        .recv(
            &mut [0_u8],
            Source::Any,
            if world.rank() == 0 { 0 } else { 5 },
        )
        .map(|_| ())
        .or_else(|error| {
            assert!(world.rank() == 2 && is_death_of_one(&error), "{error}");
            Ok::<_, Error>(())
        })?;
    if world.rank() == 0 {
        world.send(&[1_u8], 1, 2)?;
        let error = world.recv(&mut [0_u8], 1, 3).unwrap_err();
        assert!(is_death_of_one(&error), "{error}");
        let error = world.recv(&mut vec![0_u8; 1 << 20], 1, 1).unwrap_err();
        assert!(is_death_of_one(&error), "{error}");
        world.send(&[1_u8], 2, 6)
    } else {
        world.recv(&mut [0_u8], 0, 6).map(|_| ())
    }
}

/// A process that would look for a message forever, in the quickest of receives, looks for deaths too.
fn die_before_the_patient(world: &World) -> Result<(), Error> {
    world.barrier()?;
    if world.rank() == 1 {
        std::thread::sleep(std::time::Duration::from_millis(50));
        std::process::abort();
    }
    let error = world.recv(&mut [0_u8], 1, 0).unwrap_err();
    assert!(is_death_of_one(&error), "{error}");
    Ok(())
}

/// Nothing in the child, which ends by [`end_child`]; in the parent, once that has ended, `true`.
fn fork_and_wait() -> bool {
    // SAFETY: the child frees what it has a copy of and ends.
    #[allow(unsafe_code, reason = "what the test is about")]
    let child = unsafe { libc::fork() };
    if child == 0 {
        return false;
    }
    let pid = rustix::process::Pid::from_raw(child).unwrap();
    let ended = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    assert_eq!(ended.unwrap().unwrap().1.exit_status(), Some(0));
    true
}

fn end_child() -> ! {
    // SAFETY: nothing runs afterwards.
    #[allow(unsafe_code, reason = "what the test is about")]
    unsafe {
        libc::_exit(0)
    }
}

/// A child with a copy of a world drops it, and the process goes on.
fn forked(world: World) -> Result<(), Error> {
    let further = world.dup()?;
    if world.rank() == 0 {
        let mut shared = world.shared_buffer::<u8>(4096)?;
        shared.fill(7);
        if !fork_and_wait() {
            drop(shared);
            drop(further);
            drop(world);
            end_child();
        }
        assert!(shared.iter().all(|&byte| byte == 7));
    }
    further.barrier()?;
    talk(&world, &[8, 300, 21_000])?;
    forked_in_a_scope(&world)
}

/// A child fails in its copy of a scope, and of a set of requests, with large messages announced.
fn forked_in_a_scope(world: &World) -> Result<(), Error> {
    let mut long = vec![9_u8; 100_000];
    if world.rank() == 0 {
        let mut is_child = false;
        let mut set = world.request_set();
        set.add(world.isend(long.clone(), 1, 1)?);
        let result = world.scope(|s| {
            s.isend(&long, 1, 1)?;
            if !fork_and_wait() {
                is_child = true;
                return Err(Error::Cancelled);
            }
            world.send(&[1_u8], 1, 2)?;
            s.wait_all()
        });
        if is_child {
            drop(set);
            end_child();
        }
        result?;
        return set.wait_all().map(|_| ());
    }
    world.recv(&mut [0_u8], 0, 2)?;
    for _ in 0..2 {
        long.fill(0);
        world.recv(&mut long, 0, 1)?;
        assert!(long.iter().all(|&byte| byte == 9));
    }
    Ok(())
}

#[test]
fn a_child_that_drops_its_copy_of_a_world_does_not_leave_it() {
    let _dog = watchdog("a child drops a copy");
    let segment = Mapped::create(Geometry::new(2).unwrap().with_buffers(1 << 20).unwrap()).unwrap();
    for mut child in start("forked", 2, &segment) {
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn processes_that_inherit_a_segment_talk() {
    let _dog = watchdog("processes talk");
    let segment = Mapped::create(Geometry::new(3).unwrap()).unwrap();
    for mut child in start("talk", 3, &segment) {
        assert!(child.wait().unwrap().success());
    }
}

/// Far more processes than cores: a process that waits makes room.
#[test]
fn sixty_four_processes_of_a_world_share_the_cores_there_are() {
    let _dog = watchdog_for("sixty-four talk", 300);
    let segment = Mapped::create(Geometry::new(64).unwrap()).unwrap();
    for mut child in start("crowd", 64, &segment) {
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_process_that_dies_is_reported() {
    for (task, size) in [("die", 3), ("die before the patient", 2)] {
        let _dog = watchdog("processes die");
        let segment = Mapped::create(Geometry::new(size).unwrap()).unwrap();
        for (rank, mut child) in start(task, size, &segment).into_iter().enumerate() {
            let success = child.wait().unwrap().success();
            assert_eq!(success, rank != 1, "{task}: rank {rank}");
        }
    }
}

#[test]
fn processes_that_know_a_name_talk_and_leave_none() {
    let _dog = watchdog("processes named");
    for (task, size) in [("talk", 2), ("crowd", 24)] {
        let job = format!("{}-{size}", std::process::id());
        let children: Vec<_> = (0..size)
            .map(|rank| {
                child(task)
                    .env("SLURM_PROCID", rank.to_string())
                    .env("SLURM_STEP_NUM_TASKS", size.to_string())
                    .env("SLURM_STEP_NUM_NODES", "1")
                    .env("SLURM_JOB_ID", &job)
                    .env("SLURM_STEP_ID", "test")
                    .spawn()
                    .unwrap()
            })
            .collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
        assert!(!sockets.contains(&format!("/slurm-{job}-test")));
    }
}

#[test]
fn a_descriptor_that_is_no_segment_is_refused() {
    let _dog = watchdog("no segment");
    let file = std::fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    for number in [std::os::fd::AsRawFd::as_raw_fd(&file), 999] {
        let output = child("talk")
            .env("MQ_RANK", "0")
            .env("MQ_SIZE", "2")
            .env("MQ_SEGMENT", format!("fd:{number}"))
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert!(!output.status.success());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(&format!("MQ_SEGMENT=fd:{number}")), "{text}");
    }
}
