//! A process of a world is killed at every step of the protocol and of the transport below it. Others
//! that wait for it are told so, and everything else goes on, whole and unchanged.
#![cfg(feature = "steps")]

mod common;

use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use common::watchdog_for;
use mq_comm::{Communicator, Error, Options, SharedBuffer, Source, World};
use mq_shm::{Geometry, Mapped, Process};

const SIZE: u32 = 4;
/// It has a rank below it in a broadcast from rank 0.
const VICTIM: u32 = 2;
const ROUNDS: u32 = 4;
const KILLED: i32 = 9;
/// Empty, in a fastbox, in a cell, in parts, announced, and announced with more bytes than a ring
/// holds.
const LENGTHS: [usize; 6] = [0, 8, 300, 30_000, 100_000, 2_500_000];
/// In a shared buffer: with its bytes, and announced.
const SHARED: [usize; 2] = [21_000, 200_000];
/// A tag that nobody sends with.
const NEVER: i32 = 9_999;
/// What a child is to do.
const TASK: &str = "MQ_TEST_TASK";

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
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let _dog = watchdog_for("a child", 60);
    let world = World::init().unwrap();
    if task == "late" {
        late(&world);
        drop(world);
        std::process::exit(0);
    }
    let me = world.rank();
    // The victim is rank 0 of the first, and no member of the others, the last of which leaves out
    // one that lives as well.
    let (mut led, mut living, mut pair) = (None, None, None);
    let mut expected: Vec<u32> = (1..SIZE).collect();
    for round in 0..ROUNDS {
        exchange(&world, round);
        answer(&world, round);
        stream(&world, round);
        flood(&world, round);
        collect(&world, round, &mut expected);
        give_up(&world);
        crowd(&world);
        collectives(&world, round);
        another(&world, &world, pair.as_ref(), round);
        if round == 0 {
            let first = ((me + SIZE - VICTIM) % SIZE) as i32;
            led = unless_gone(&world, world.split(Some(0), first)).flatten();
            let part = world.split((me != VICTIM).then_some(0), 0);
            living = unless_gone(&world, part).flatten();
            pair = unless_gone(&world, world.split((me < 2).then_some(0), 0)).flatten();
        }
        if let Some(led) = &led {
            another(&world, led, pair.as_ref(), round);
            survive(&world, led, round);
        }
        survive(&world, &world, round);
        if let Some(living) = &living {
            renew(living, round);
        }
    }
    if me != VICTIM {
        // However it ended, it has.
        let heard = world.recv(&mut [0_u8], VICTIM, NEVER);
        assert!(
            matches!(
                heard,
                Err(Error::Gone {
                    process: VICTIM,
                    ..
                })
            ),
            "{heard:?}"
        );
        let sent = world.send(&[0_u8], VICTIM, NEVER);
        assert!(
            matches!(
                sent,
                Err(Error::Gone {
                    process: VICTIM,
                    ..
                })
            ),
            "{sent:?}"
        );
        // Those that live are all still there.
        exchange(&world, ROUNDS);
        let rest = world.shrink().unwrap();
        assert_eq!(rest.size(), SIZE - 1);
        renew(&rest, ROUNDS);
        if let Some(living) = &living {
            for round in 0..20 {
                renew(living, ROUNDS + round);
            }
        }
    }
    drop((led, living, pair, world));
    std::process::exit(0);
}

/// What an operation gave, or nothing if it is only that the victim is gone.
fn unless_gone<R>(world: &Communicator, result: Result<R, Error>) -> Option<R> {
    match result {
        Ok(result) => Some(result),
        Err(Error::Gone {
            process: VICTIM, ..
        }) if world.rank() != VICTIM => None,
        Err(error) => panic!("rank {}: {error}", world.rank()),
    }
}

/// What an operation with another rank gave: nothing if that is the victim, and gone.
fn with_peer<R>(world: &Communicator, peer: u32, result: Result<R, Error>) -> Option<R> {
    if peer == VICTIM {
        unless_gone(world, result)
    } else {
        Some(result.unwrap_or_else(|error| panic!("rank {} with {peer}: {error}", world.rank())))
    }
}

/// The bytes that one sends another: they follow from who, when and how many.
fn bytes(from: u32, to: u32, round: u32, len: usize) -> Vec<u8> {
    let first = from.wrapping_mul(31) ^ to.wrapping_mul(17) ^ round.wrapping_mul(101);
    (0..len)
        .map(|at| (first as usize).wrapping_add(at * 7) as u8)
        .collect()
}

fn others(world: &Communicator) -> impl Iterator<Item = u32> + use<> {
    let me = world.rank();
    (0..SIZE).filter(move |&rank| rank != me)
}

/// Messages of all lengths with all ranks, all at the same time.
fn exchange(world: &Communicator, round: u32) {
    let (me, tag) = (world.rank(), round as i32);
    let mut receiving = Vec::new();
    let mut sending = Vec::new();
    for len in LENGTHS.into_iter().chain(SHARED) {
        for peer in others(world) {
            let begun = world.irecv(vec![0_u8; len], peer, tag).map_err(Error::from);
            receiving.extend(with_peer(world, peer, begun).map(|begun| (peer, begun)));
        }
    }
    for len in LENGTHS {
        for peer in others(world) {
            let begun = world
                .isend(bytes(me, peer, round, len), peer, tag)
                .map_err(Error::from);
            sending.extend(with_peer(world, peer, begun).map(|begun| (peer, begun)));
        }
    }
    let mut sharing = Vec::new();
    for len in SHARED {
        for peer in others(world) {
            let mut buffer: SharedBuffer<u8> = world.shared_buffer(len).unwrap();
            buffer.copy_from_slice(&bytes(me, peer, round, len));
            let begun = world.isend(buffer, peer, tag).map_err(Error::from);
            sharing.extend(with_peer(world, peer, begun).map(|begun| (peer, begun)));
        }
    }
    for (number, (peer, request)) in receiving.into_iter().enumerate() {
        if let Some((content, status)) = with_peer(world, peer, request.wait()) {
            assert!(
                content == bytes(peer, me, round, content.len()),
                "{number} of {peer}"
            );
            assert_eq!(status.bytes(), content.len() as u64);
        }
    }
    for (peer, request) in sending {
        with_peer(world, peer, request.wait());
    }
    for (peer, request) in sharing {
        with_peer(world, peer, request.wait());
    }
}

/// Messages to each of the higher ranks and answers: in cells that are lent, and through rings that
/// are.
fn answer(world: &Communicator, round: u32) {
    let (me, tag) = (world.rank(), 400 + round as i32);
    for peer in others(world) {
        for len in [5_000, 5_000, 5_000, 100_000] {
            let mut theirs = vec![0_u8; len];
            for sends in [me < peer, me > peer] {
                if sends {
                    let mine = bytes(me, peer, round, len);
                    with_peer(world, peer, world.send(&mine, peer, tag));
                } else if with_peer(world, peer, world.recv(&mut theirs, peer, tag)).is_some() {
                    assert!(theirs == bytes(peer, me, round, len), "from {peer}");
                }
            }
        }
    }
}

/// Messages that go ahead, one after the other, with everybody: two that are waited for, and two
/// that have come before they are asked for.
fn stream(world: &Communicator, round: u32) {
    const BYTES: usize = 50_000;
    let me = world.rank();
    let [go, waited, early, all_sent] = [500, 600, 700, 800].map(|tag| tag + round as i32);
    for peer in others(world) {
        for sends in [me < peer, me > peer] {
            if sends {
                with_peer(world, peer, world.recv(&mut [0_u8], peer, go));
                let mut sending = Vec::new();
                for (number, tag) in (0..).zip([waited, waited, early, early]) {
                    let mine = bytes(me, peer, round + number, BYTES);
                    if tag == waited {
                        with_peer(world, peer, world.send(&mine, peer, tag));
                    } else {
                        // It may have to be asked for.
                        let begun = world.isend(mine, peer, tag).map_err(Error::from);
                        sending.extend(with_peer(world, peer, begun));
                    }
                }
                with_peer(world, peer, world.send(&[0_u8], peer, all_sent));
                for request in sending {
                    with_peer(world, peer, request.wait());
                }
                continue;
            }
            let check = |number: u32, heard| {
                if let Some((theirs, _)) = with_peer(world, peer, heard) {
                    let expected = bytes(peer, me, round + number, BYTES);
                    assert!(theirs == expected, "{number} from {peer}");
                }
            };
            let mut posted = Vec::new();
            for _ in 0..2 {
                let begun = world.irecv(vec![0_u8; BYTES], peer, waited);
                posted.extend(with_peer(world, peer, begun.map_err(Error::from)));
            }
            with_peer(world, peer, world.send(&[0_u8], peer, go));
            for (number, request) in (0..).zip(posted) {
                check(number, request.wait());
            }
            with_peer(world, peer, world.recv(&mut [0_u8], peer, all_sent));
            for number in 2..4 {
                let mut theirs = vec![0_u8; BYTES];
                let heard = world.recv(&mut theirs, peer, early);
                check(number, heard.map(|status| (theirs, status)));
            }
        }
    }
}

/// Many messages to the next rank before it receives any.
fn flood(world: &World, round: u32) {
    const MESSAGES: u32 = 40;
    let (me, tag) = (world.rank(), 1000 + round as i32);
    let (next, before) = ((me + 1) % SIZE, (me + SIZE - 1) % SIZE);
    let mut sending = Vec::new();
    for number in 0..MESSAGES {
        let begun = world.isend(bytes(me, next, number, 1000), next, tag);
        sending.extend(with_peer(world, next, begun.map_err(Error::from)));
    }
    meet(world, tag + 100);
    for number in 0..MESSAGES {
        let mut theirs = [0_u8; 1000];
        if with_peer(world, before, world.recv(&mut theirs, before, tag)).is_some() {
            assert!(
                theirs[..] == bytes(before, me, number, 1000),
                "{number} from {before}"
            );
        }
    }
    for request in sending {
        with_peer(world, next, request.wait());
    }
}

/// A message from every rank to rank 0, which receives them from any source: from those that it
/// expects to live.
fn collect(world: &Communicator, round: u32, expected: &mut Vec<u32>) {
    let (me, tag) = (world.rank(), 100 + round as i32);
    if me > 0 {
        return world.send(&[me, round], 0, tag).unwrap();
    }
    let mut missing = expected.clone();
    while !missing.is_empty() {
        let mut words = [0_u32; 2];
        match unless_gone(world, world.recv(&mut words, Source::Any, tag)) {
            Some(status) => {
                assert_eq!(words, [status.source(), round]);
                missing.retain(|&rank| rank != status.source());
            }
            None => {
                // All that it sent has come, so that what is missing of it never will.
                assert_eq!(world.acknowledge_deaths(), [VICTIM]);
                expected.retain(|&rank| rank != VICTIM);
                missing.retain(|&rank| rank != VICTIM);
            }
        }
    }
}

/// A large message that nobody receives is withdrawn.
fn give_up(world: &Communicator) {
    let large = vec![1_u8; 100_000];
    let next = (world.rank() + 1) % SIZE;
    let result = world.scope(|s| {
        s.isend(&large, next, NEVER)?;
        Err::<(), _>(Error::Cancelled)
    });
    assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
}

/// More to itself than there are cells.
fn crowd(world: &Communicator) {
    let me = world.rank();
    let sending: Vec<_> = (0..20)
        .map(|number| {
            world
                .isend(vec![number as u8; 30_000], me, 200 + number)
                .unwrap()
        })
        .collect();
    for number in (0..20).rev() {
        let mut content = vec![0_u8; 30_000];
        world.recv(&mut content, me, 200 + number).unwrap();
        assert!(content.iter().all(|&byte| i32::from(byte) == number));
    }
    for request in sending {
        request.wait().unwrap();
    }
}

/// Barriers and broadcasts. A rank that is told of the death goes on to the next all the same.
fn collectives(world: &Communicator, round: u32) {
    unless_gone(world, world.barrier());
    for root in [0, VICTIM, 3] {
        for len in [8, 16, 1_000, 300_000] {
            let mut content = if world.rank() == root {
                bytes(root, root, round, len)
            } else {
                vec![0_u8; len]
            };
            if unless_gone(world, world.broadcast(&mut content, root)).is_some() {
                assert!(content == bytes(root, root, round, len), "from {root}");
            }
        }
    }
    unless_gone(world, world.barrier());
}

/// What live ranks decide is the same at all of them, and so is who they are.
fn survive(world: &World, from: &Communicator, round: u32) {
    let (me, tag) = (world.rank(), 900 + round as i32);
    let copy = unless_gone(world, from.dup());
    let all_have_one = from.agree(u32::from(copy.is_some())).unwrap();
    let agreed = from.agree(0b10 | u32::from(me != VICTIM)).unwrap();
    assert!([0b10, 0b11].contains(&agreed), "{agreed}");
    let rest = from.shrink().unwrap();
    assert!([SIZE, SIZE - 1].contains(&rest.size()));
    for peer in others(world) {
        let mine = [all_have_one, agreed, rest.size()];
        let mut theirs = [0_u32; 3];
        let said = world.sendrecv(&mine, peer, tag, &mut theirs, peer, tag);
        if with_peer(world, peer, said).is_some() {
            assert_eq!(theirs, mine, "of {peer}");
        }
    }
    if all_have_one == 1 {
        unless_gone(world, copy.expect("all have one").barrier());
    }
    if rest.size() < SIZE {
        rest.barrier().unwrap();
        pass_round(&rest, round);
    } else {
        unless_gone(world, rest.barrier());
    }
}

/// A broadcast of the dead, from whom all parts have come: the announced ones, which are lost, and
/// the last one, whole. It is begun when the death is known.
fn late(world: &World) {
    if world.rank() != VICTIM {
        let heard = world.recv(&mut [0_u8], VICTIM, NEVER);
        assert!(unless_gone(world, heard).is_none());
    }
    let mut content = vec![0_u8; 300_000];
    let heard = world.broadcast(&mut content, VICTIM);
    assert!(unless_gone(world, heard).is_none());
    // Nothing of it is left for the next, which one of them was to pass on to the dead.
    for len in [8, 300_000] {
        let mut content = vec![world.rank() as u8; len];
        unless_gone(world, world.broadcast(&mut content, 3));
        assert!(content.iter().all(|&byte| byte == 3));
    }
}

/// A communicator of all that have `from`, which is used if all that live get it. Short and
/// announced messages of it stay where they are when it ends, while the `pair` has a new one of its
/// own: if the pair did not hear which number was given, and others did, it may not have that.
fn another(world: &World, from: &Communicator, pair: Option<&Communicator>, round: u32) {
    let (me, tag) = (world.rank(), 300 + round as i32);
    let made = if round.is_multiple_of(2) {
        from.dup().map(Some)
    } else {
        from.split(Some(7), from.rank() as i32)
    };
    let other = unless_gone(world, made).flatten();
    let mut all = other.is_some();
    for peer in others(world) {
        let mut theirs = [0_u8];
        let mine = [u8::from(other.is_some())];
        let said = world.sendrecv(&mine, peer, tag, &mut theirs, peer, tag);
        if with_peer(world, peer, said).is_some() && peer != VICTIM {
            all &= theirs == [1];
        }
    }
    // The rank of each there: those of the world, or with the victim as the first.
    let shift = (from.rank() + SIZE - me) % SIZE;
    let there = |peer: u32| (peer + shift) % SIZE;
    if let (Some(other), true) = (&other, all) {
        unless_gone(world, other.barrier());
        for peer in others(world) {
            let (mine, mut theirs) = ([me], [0_u32]);
            let rank = there(peer);
            let said = other.sendrecv(&mine, rank, tag, &mut theirs, rank, tag);
            if with_peer(world, peer, said).is_some() {
                assert_eq!(theirs, [peer]);
            }
        }
    }
    let theirs = pair.map(|pair| pair.dup().unwrap());
    meet(world, tag);
    if let Some(other) = other {
        for peer in others(world) {
            // Nobody receives them, so a send might wait for ever.
            for left_behind in [vec![me, round], vec![me; 21_000]] {
                let begun = other.isend(left_behind, there(peer), RING);
                drop(with_peer(world, peer, begun.map_err(Error::from)));
            }
        }
    }
    meet(world, tag);
    if let Some(theirs) = theirs {
        pass_round(&theirs, round);
    }
}

/// What any live rank sent before is there afterwards.
fn meet(world: &World, tag: i32) {
    for peer in others(world) {
        let said = world.sendrecv(&[0_u8], peer, tag, &mut [0_u8], peer, tag);
        with_peer(world, peer, said);
    }
}

/// The tag of messages in a ring of ranks.
const RING: i32 = 400;

/// Live ranks, among themselves, make communicators for as long as they like: nobody is gone.
fn renew(living: &Communicator, round: u32) {
    for number in 0..3 {
        pass_round(&living.dup().unwrap(), round * 3 + number);
    }
}

/// In a new communicator, a message from the rank before comes from any source, and not what was
/// left behind on one that had its number. Something is left behind again.
fn pass_round(new: &Communicator, round: u32) {
    let (rank, size) = (new.rank(), new.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let sent = [rank, round, !round];
    new.send(&sent, next, RING).unwrap();
    let mut words = [0_u32; 3];
    let status = new.recv(&mut words, Source::Any, RING).unwrap();
    assert_eq!((status.source(), words), (before, [before, round, !round]));
    // In the last round it may have left by now.
    let left_behind = new.isend(sent.to_vec(), next, RING).map_err(Error::from);
    assert!(matches!(left_behind, Ok(_) | Err(Error::Gone { .. })));
}

/// A world of four of which one is killed; `end` sees to that. How it ended.
fn with_victim(settings: &[(&str, &str)], plan: &str, end: impl FnOnce(&mut Child)) -> ExitStatus {
    let segment = Mapped::create(Geometry::new(SIZE).unwrap()).unwrap();
    let fresh = segment.committed().unwrap();
    let file = segment.file();
    rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty()).unwrap();
    let mut children: Vec<Child> = (0..SIZE)
        .map(|rank| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command
                .args(["--exact", "a_child_does_its_task", "--nocapture"])
                .env(TASK, "talk")
                .env("MQ_RANK", rank.to_string())
                .env("MQ_SIZE", SIZE.to_string())
                .env("MQ_SEGMENT", format!("fd:{}", file.as_raw_fd()))
                .env("MQ_EAGER_LIMIT", "40K")
                .env("MQ_POLICY", "per-peer")
                .env_remove("MQ_DIE")
                .envs(settings.iter().copied())
                .stdout(Stdio::null());
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
            let mut signal = with_victim(&settings, &plan, |_| {}).signal();
            // It is up to the system whether a process sleeps and has to be woken, and whether a sender
            // comes in time to help.
            for _ in 0..if helps { 60 } else { 10 } {
                if times > 1 || signal == Some(KILLED) {
                    break;
                }
                signal = with_victim(&settings, &plan, |_| {}).signal();
            }
            assert!(
                times > 1 || signal == Some(KILLED),
                "the victim was to die at {plan}"
            );
            tried += 1;
            killed += u32::from(signal == Some(KILLED));
        }
    }
    println!("{killed} of {tried} victims were killed at a step");
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
        let wait = runs.wrapping_mul(7_919) % 60_000;
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
