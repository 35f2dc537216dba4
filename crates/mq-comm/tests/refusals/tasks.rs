//! What each process does that is refused something.

use std::time::Duration;

use mq_comm::{Error, Options, World};
use mq_shm::wait::{Idle, Patience};
use mq_shm::{Endpoint, Mapped, Process, ShmError};
use seccompiler::{SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::common;
use super::common::filters::{answer, refuse};

const LARGE: usize = 700_000;

/// From now on the process is ended by SIGSYS if it lets its parent read its memory.
pub(super) fn end_at_permission() {
    let argument =
        |at, len, value| SeccompCondition::new(at, len, SeccompCmpOp::Eq, value).unwrap();
    let parent = u64::from(std::os::unix::process::parent_id());
    let rule = SeccompRule::new(vec![
        argument(0, SeccompCmpArgLen::Dword, libc::PR_SET_PTRACER as u64),
        argument(1, SeccompCmpArgLen::Qword, parent),
    ]);
    answer(
        libc::SYS_prctl,
        vec![rule.unwrap()],
        SeccompAction::KillProcess,
    );
}

/// A process that has joined is ended by SIGSYS when it has the kernel execute a fence, as it does before
/// it sleeps; nobody else is there to wake it.
pub(super) fn end_at_fence() -> Result<(), Error> {
    let memory = Mapped::create(Options::default().geometry(2)?)?;
    let patience = Patience::YIELDING;
    let options = mq_shm::Options::default().with(|o| o.patience = Some(patience));
    let mut endpoint = Endpoint::join(memory, Process(0), options)?;
    // Not before: who joins makes the same call.
    answer(libc::SYS_membarrier, Vec::new(), SeccompAction::KillProcess);
    let mut idle = Idle::default();
    // The last time it sleeps.
    for _ in 0..=patience.spins + patience.yields {
        endpoint.rest(&mut idle)?;
    }
    Ok(())
}

/// Expects an error that begins so.
pub(super) fn says<T>(result: Result<T, Error>, beginning: &str) -> Result<(), Error> {
    let error = result.err().expect("it is refused").to_string();
    assert!(error.starts_with(beginning), "{error}");
    Ok(())
}

/// Both send each other large messages and check what they get.
pub(super) fn exchange(world: &World, rounds: u32) -> Result<(), Error> {
    let (me, other) = (world.rank(), 1 - world.rank());
    for round in 0..rounds {
        let mine: Vec<u32> = (0..LARGE as u32 / 4)
            .map(|at| at * 3 + round * 7 + me)
            .collect();
        let mut theirs = vec![0_u32; LARGE / 4];
        world.sendrecv(&mine, other, 1, &mut theirs, other, 1)?;
        let is_right = |(at, &word): (usize, &u32)| word == at as u32 * 3 + round * 7 + other;
        assert!(theirs.iter().enumerate().all(is_right), "round {round}");
    }
    world.barrier()
}

pub(super) fn denied_from_the_start() -> Result<(), Error> {
    let denied = std::env::var("MQ_RANK").as_deref() == Ok("1");
    if denied {
        refuse(libc::SYS_process_vm_readv, libc::EPERM);
    }
    let world = World::init()?;
    exchange(&world, 4)?;
    let profile = world.profile();
    assert_eq!(profile.single_copy + profile.ring, 4);
    assert!(!denied || profile.ring == 4, "{profile:?}");
    if profile.single_copy == 0 && !denied {
        common::untried("a refusal", common::NOT_READ);
    }
    Ok(())
}

pub(super) fn denied_later() -> Result<(), Error> {
    let world = World::init()?;
    exchange(&world, 4)?;
    let before = world.profile();
    if before.single_copy == 0 {
        common::untried("a refusal", common::NOT_READ);
    }
    if world.rank() == 1 {
        refuse(libc::SYS_process_vm_readv, libc::EPERM);
    }
    exchange(&world, 4)?;
    let after = world.profile();
    assert_eq!(after.single_copy + after.ring, 8);
    if world.rank() == 1 {
        assert_eq!(
            (after.single_copy, after.ring),
            (before.single_copy, before.ring + 4)
        );
    }
    Ok(())
}

/// A scope whose operations could not begin comes to its end: in a world over an endpoint that was not
/// prepared, as others are.
pub(super) fn no_cell() -> Result<(), Error> {
    let options = Options::default();
    let memory = Mapped::create(options.geometry(2)?)?;
    let endpoint = Endpoint::join(memory, Process(0), mq_shm::Options::default())?;
    // SAFETY: the other never joins.
    #[allow(unsafe_code, reason = "there is no other end")]
    let world = unsafe { World::over(endpoint, &options) };
    refuse(libc::SYS_fallocate, libc::ENOSPC);
    let (long, mut into) = (vec![0_u8; LARGE], [0_u8]);
    world.scope(|s| {
        for message in [&long[..1], &long] {
            let sending = s.isend(message, 1, 1);
            says(sending, "no shared memory for message cells (")?;
        }
        let receiving = s.irecv(&mut into, 1, 1)?;
        receiving.cancel().map(|_| ()).map_err(|_| Error::Cancelled)
    })?;
    drop(world);
    // These have what they need from the beginning, or do not begin.
    says(
        World::alone(),
        "no shared memory for the entries of the processes (",
    )
}

/// If nothing can be opened any more, that is no sign of anybody's death.
pub(super) fn no_descriptors() -> Result<(), Error> {
    refuse(libc::SYS_pidfd_open, libc::EMFILE);
    let world = World::init()?;
    world.barrier()?;
    if world.rank() == 0 {
        refuse(libc::SYS_openat, libc::EMFILE);
        let mut byte = [0_u8];
        world.recv(&mut byte, 1, 1)?;
        assert_eq!(byte, [5]);
    } else {
        // It looks for deaths meanwhile.
        std::thread::sleep(std::time::Duration::from_millis(300));
        world.send(&[5_u8], 0, 1)?;
    }
    world.barrier()
}

/// Existing memory goes on serving; what needs more is refused, and can be refused again.
pub(super) fn no_room_later() -> Result<(), Error> {
    let world = World::init()?;
    world.barrier()?;
    exchange_short(&world)?;
    refuse(libc::SYS_fallocate, libc::ENOSPC);
    exchange_short(&world)?;
    world.barrier()?;
    if world.rank() == 0 {
        // A ring is needed, and there is no memory for one.
        let vain = world.isend(vec![0_u8; LARGE], 1, 5)?;
        // That affects nobody else.
        let mut byte = [0_u8];
        world.recv(&mut byte, 1, 7)?;
        exchange_short(&world)?;
        let error = vain.wait().unwrap_err().to_string();
        assert!(error.starts_with("no shared memory for a ring"), "{error}");
        for _ in 0..2 {
            let error = world.send(&vec![0_u8; LARGE], 1, 5).unwrap_err();
            let Error::Transport(cause) = &error else {
                panic!("{error}")
            };
            assert!(matches!(**cause, ShmError::NoMemory { .. }), "{error}");
            let error = error.to_string();
            assert!(
                error.starts_with("no shared memory for a ring for large messages ("),
                "{error}"
            );
        }
        says(
            world.shared_buffer::<u8>(LARGE),
            "no shared memory for a shared buffer (",
        )?;
        world.send(&[7_u8], 1, 6)?;
    } else {
        // It never comes whole; the next message does.
        let waiting = world.irecv(vec![0_u8; LARGE], 0, 5)?;
        world.send(&[0_u8], 0, 7)?;
        exchange_short(&world)?;
        says(
            waiting.wait(),
            "rank 0 has withdrawn its message with tag 5",
        )?;
        for _ in 0..2 {
            says(
                world.recv(&mut vec![0_u8; LARGE], 0, 5),
                "rank 0 has withdrawn its message with tag 5",
            )?;
        }
        let mut byte = [0_u8];
        world.recv(&mut byte, 0, 6)?;
        assert_eq!(byte, [7]);
    }
    Ok(())
}

/// A root that cannot send to one child sends to the others, and all that is left over is received:
/// the next broadcast has nothing of this one.
pub(super) fn no_room_to_broadcast() -> Result<(), Error> {
    let world = World::init()?;
    world.barrier()?;
    let short = world.dup()?;
    short.broadcast(&mut [0_u8; 100], 0)?;
    if world.rank() == 0 {
        refuse(libc::SYS_fallocate, libc::ENOSPC);
    }
    // In one part, and in several of which the last may go without a ring.
    for bytes in [65_536, 262_144, 262_144 + 100] {
        let mut elements = vec![0_u8; bytes];
        let failed = world.broadcast(&mut elements, 0);
        match world.rank() {
            0 => says(failed, "no shared memory for a ring")?,
            _ => says(failed, "rank 0 has withdrawn its message")?,
        }
        let mut word = [0_u32; 25];
        if world.rank() == 0 {
            word = [7; 25];
        }
        world.broadcast(&mut word, 0)?;
        assert_eq!(word, [7; 25]);
        // Those that have memory pass on what they have; a part of the tree is told if one has none.
        elements.fill(if world.rank() == 1 { 9 } else { 0 });
        world.broadcast(&mut elements, 1)?;
        assert!(elements.iter().all(|&byte| byte == 9));
    }
    short.barrier()
}

fn exchange_short(world: &World) -> Result<(), Error> {
    let other = 1 - world.rank();
    for number in 0..100_u32 {
        let mut theirs = [0_u32; 500];
        world.sendrecv(&[number; 500], other, 2, &mut theirs, other, 2)?;
        assert_eq!(theirs, [number; 500]);
    }
    Ok(())
}

/// Messages that are too long, by every way, and a rank that does not exist.
pub(super) fn cut() -> Result<(), Error> {
    let world = World::init()?;
    for bytes in [100, 30_000, LARGE] {
        if world.rank() == 0 {
            world.send(&vec![5_u8; bytes], 1, 1)?;
            world.send(&[9_u8], 1, 1)?;
        } else {
            let mut short = vec![0_u8; bytes / 3];
            let error = world.recv(&mut short, 0, 1).unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "the message from rank 0 with tag 1 has {bytes} bytes but the buffer holds {}: \
                     message truncated",
                    bytes / 3
                )
            );
            assert!(short.iter().all(|&byte| byte == 5));
            let mut next = [0_u8; 4];
            assert_eq!(world.recv(&mut next, 0, 1)?.bytes(), 1);
            assert_eq!(next, [9, 0, 0, 0]);
        }
    }
    says(
        world.send(&[0_u8], 2, 0),
        "rank 2 is out of range: the communicator has size 2, and ranks begin at 0",
    )?;
    says(
        world.recv(&mut [0_u8], 7, 0),
        "rank 7 is out of range: the communicator has size 2, and ranks begin at 0",
    )?;
    world.barrier()
}

/// One process leaves, and the other takes long to receive what the first has sent.
pub(super) fn kept() -> Result<(), Error> {
    let world = World::init()?;
    if world.rank() == 0 {
        drop(world.isend(vec![7_u8; LARGE], 1, 0)?);
        return Ok(());
    }
    // The other complains after five seconds.
    std::thread::sleep(Duration::from_secs(6 * common::slower()));
    let mut into = vec![0_u8; LARGE];
    world.recv(&mut into, 0, 0)?;
    assert!(into.iter().all(|&byte| byte == 7));
    Ok(())
}
