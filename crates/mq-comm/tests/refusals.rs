//! What a kernel, a container or a filter may refuse, and segments that are not what they should
//! be: worlds of real processes get an error that says what and where, or another way, and lose
//! nothing.

mod common;

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use common::filters::{answer, refuse};
use common::watchdog;
use mq_comm::{Error, Options, World};
use mq_shm::{Endpoint, Geometry, Mapped, Process, ShmError};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use seccompiler::{SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// What each child is to do.
const TASK: &str = "MQ_TEST_TASK";
const LARGE: usize = 700_000;

/// From now on the process is ended by SIGSYS if it lets its parent read its memory.
fn end_at_permission() {
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
        "init" => World::init().and_then(|world| world.barrier()),
        "kept" => kept(),
        _ => panic!("{task}?"),
    };
    if let Err(error) = done {
        eprintln!("REFUSED {error}");
        std::process::exit(3);
    }
}

/// Expects an error that begins so.
fn says<T>(result: Result<T, Error>, beginning: &str) -> Result<(), Error> {
    let error = result.err().expect("it is refused").to_string();
    assert!(error.starts_with(beginning), "{error}");
    Ok(())
}

/// Both send each other large messages and check what they get.
fn exchange(world: &World, rounds: u32) -> Result<(), Error> {
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

fn denied_from_the_start() -> Result<(), Error> {
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

fn denied_later() -> Result<(), Error> {
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
fn no_cell() -> Result<(), Error> {
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
fn no_descriptors() -> Result<(), Error> {
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
fn no_room_later() -> Result<(), Error> {
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
fn no_room_to_broadcast() -> Result<(), Error> {
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
fn cut() -> Result<(), Error> {
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
fn kept() -> Result<(), Error> {
    let world = World::init()?;
    if world.rank() == 0 {
        drop(world.isend(vec![7_u8; LARGE], 1, 0)?);
        return Ok(());
    }
    std::thread::sleep(Duration::from_secs(6));
    let mut into = vec![0_u8; LARGE];
    world.recv(&mut into, 0, 0)?;
    assert!(into.iter().all(|&byte| byte == 7));
    Ok(())
}

fn child(task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "a_child_does_its_task", "--nocapture"])
        .env(TASK, task)
        .stdout(Stdio::null());
    command
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
fn who_does_not_come_is_waited_for_so_long_and_nothing_is_left() {
    let _dog = watchdog("missing");
    let job = format!("{}-missing", std::process::id());
    let mut alone = child("init");
    let error = refused(at_a_name(alone.env("MQ_START_SECONDS", "1"), 1, &job));
    assert!(
        error.starts_with("process 0 of 2 has not started within 1 s (MQ_START_SECONDS)"),
        "{error}"
    );
    drop(place(&job).expect("nobody has the place any more"));
}

#[test]
fn a_place_that_is_refused_is_an_error() {
    let _dog = watchdog("no sockets");
    let job = format!("{}-sockets", std::process::id());
    let error = refused(at_a_name(&mut child("no sockets"), 0, &job));
    let said =
        format!("meeting the other processes at slurm-{job}-refused: Operation not permitted");
    assert!(error.starts_with(&said), "{error}");
}

#[test]
fn who_is_kept_when_it_leaves_says_by_whom() {
    let _dog = watchdog("kept");
    let job = format!("{}-kept", std::process::id());
    let children = [0, 1].map(|rank| at_a_name(&mut child("kept"), rank, &job));
    let said = children.map(|child| {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        text
    });
    let expected =
        "mq: rank 0: leaving, but still waiting for process 1 to do its part of a message\n";
    assert_eq!(said, [expected, ""]);
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

/// One of two processes that meet at a place whose name SLURM's variables make.
fn at_a_name(command: &mut Command, rank: u32, job: &str) -> Child {
    command
        .env("SLURM_PROCID", rank.to_string())
        .env("SLURM_STEP_NUM_TASKS", "2")
        .env("SLURM_STEP_NUM_NODES", "1")
        .env("SLURM_JOB_ID", job)
        .env("SLURM_STEP_ID", "refused")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a child was refused.
fn refused(child: Child) -> String {
    let output: Output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        output.status.code(),
        Some(3),
        "an error, and no signal: {text}"
    );
    let line = text.lines().find_map(|line| line.strip_prefix("REFUSED "));
    line.unwrap_or_else(|| panic!("{text}")).to_owned()
}

/// The place at which the processes of a job meet, taken by somebody before them.
fn place(job: &str) -> std::io::Result<UnixListener> {
    let numbers = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let numbers = numbers
        .to_string_lossy()
        .replace(['p', 'i', 'd', ':', '[', ']'], "");
    let name = format!("mq/{numbers}/slurm-{job}-refused");
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Hands a file to the next process that comes.
fn hand_out(place: &UnixListener, file: &OwnedFd) {
    let (guest, _) = place.accept().unwrap();
    let files = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&files)));
    let bytes = [IoSlice::new(b"m")];
    sendmsg(&guest, &bytes, &mut control, SendFlags::empty()).unwrap();
}

#[test]
fn segments_that_are_not_ours_are_refused() {
    let _dog = watchdog("foreign");
    let segment = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let mut head = [0; 256];
    rustix::io::pread(segment.file(), &mut head, 0).unwrap();
    let version = head[8];
    let mut older = head;
    older[8] = version - 1;
    let whole = segment_of(3);
    for (case, content, length, said) in [
        (
            "foreign",
            &[b'x'; 256][..],
            None,
            "is not a segment of mq: it begins with 0x7878".to_owned(),
        ),
        (
            "older",
            &older[..],
            None,
            format!(
                "has layout version {}, this program has {version}: build all",
                version - 1
            ),
        ),
        (
            "truncated",
            &head[..],
            None,
            "is damaged: its length is 256, which is invalid (at least ".to_owned(),
        ),
        (
            "other",
            &whole[..],
            Some(Geometry::new(3).unwrap().length()),
            "was made for another number of processes (3) than this process was started for (2)"
                .to_owned(),
        ),
    ] {
        let job = format!("{}-{case}", std::process::id());
        let place = place(&job).unwrap();
        let file = memfd_create("not ours", MemfdFlags::CLOEXEC).unwrap();
        rustix::io::write(&file, content).unwrap();
        if let Some(length) = length {
            rustix::fs::ftruncate(&file, length).unwrap();
        }
        let guest = at_a_name(&mut child("init"), 0, &job);
        hand_out(&place, &file);
        let error = refused(guest);
        let what = format!("slurm-{job}-refused {said}");
        assert!(error.starts_with(&what), "{error}\nexpected: {what}");
    }
}

/// What holds the place has other things to do, or is no host.
#[test]
fn a_place_where_nobody_answers_is_an_error() {
    let _dog = watchdog("no answer");
    let job = format!("{}-silent", std::process::id());
    let place = place(&job).unwrap();
    let mut silent = child("init");
    let error = refused(at_a_name(silent.env("MQ_START_SECONDS", "1"), 1, &job));
    let said = format!(
        "meeting the other processes at slurm-{job}-refused: the process that has the place does not answer"
    );
    assert_eq!(error, said);
    // It ends while a process waits: that one is then the first.
    let waiting = at_a_name(silent.env("MQ_START_SECONDS", "1"), 1, &job);
    drop(place.accept().unwrap());
    drop(place);
    let error = refused(waiting);
    assert!(
        error.starts_with("process 0 of 2 has not started within 1 s"),
        "{error}"
    );
}

/// The first bytes of a segment.
fn segment_of(processes: u32) -> [u8; 256] {
    let segment = Mapped::create(Geometry::new(processes).unwrap()).unwrap();
    let mut head = [0; 256];
    rustix::io::pread(segment.file(), &mut head, 0).unwrap();
    head
}
