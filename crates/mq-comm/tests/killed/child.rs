//! What each process of the world does until it is killed, or all have done it.

use mq_comm::{Communicator, Error, Process, World};

use super::common::watchdog_for;
use super::communicators::{another, collectives, interrupt, late, renew, survive};
use super::exchanges::{answer, collect, crowd, exchange, flood, give_up, stream};
use super::{NEVER, SIZE, VICTIM};

const ROUNDS: u32 = 4;

/// Does the task, and ends the process.
pub(super) fn run(task: &str) -> ! {
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
        interrupt(&world, round);
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
                    process: Process(VICTIM),
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
                    process: Process(VICTIM),
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
pub(super) fn unless_gone<R>(world: &Communicator, result: Result<R, Error>) -> Option<R> {
    match result {
        Ok(result) => Some(result),
        Err(Error::Gone {
            process: Process(VICTIM),
            ..
        }) if world.rank() != VICTIM => None,
        Err(error) => panic!("rank {}: {error}", world.rank()),
    }
}

/// What an operation with another rank gave: nothing if that is the victim, and gone.
pub(super) fn with_peer<R>(world: &Communicator, peer: u32, result: Result<R, Error>) -> Option<R> {
    if peer == VICTIM {
        unless_gone(world, result)
    } else {
        Some(result.unwrap_or_else(|error| panic!("rank {} with {peer}: {error}", world.rank())))
    }
}

/// The bytes that one sends another: they follow from who, when and how many.
pub(super) fn bytes(from: u32, to: u32, round: u32, len: usize) -> Vec<u8> {
    let first = from.wrapping_mul(31) ^ to.wrapping_mul(17) ^ round.wrapping_mul(101);
    (0..len)
        .map(|at| (first as usize).wrapping_add(at * 7) as u8)
        .collect()
}

pub(super) fn others(world: &Communicator) -> impl Iterator<Item = u32> + use<> {
    let me = world.rank();
    (0..SIZE).filter(move |&rank| rank != me)
}

/// What any live rank sent before is there afterwards.
pub(super) fn meet(world: &World, tag: i32) {
    for peer in others(world) {
        let said = world.sendrecv(&[0_u8], peer, tag, &mut [0_u8], peer, tag);
        with_peer(world, peer, said);
    }
}
