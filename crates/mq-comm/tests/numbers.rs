//! Communicators can be made and dropped forever: their numbers are reused, nothing of one is
//! taken for a part of another, and memory does not grow.
//! `MQ_ROUNDS=100000 cargo test --release -p mq-comm --test numbers`: for longer.
#![allow(unsafe_code, reason = "counts allocated bytes")]
#![allow(
    clippy::disallowed_types,
    reason = "threads of a test tell each other how far they are"
)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{watchdog, watchdog_for};
use mq_comm::{Communicator, Error, Options, Source, TagSelector, World};

struct Counting;

thread_local! {
    /// Bytes that this thread has allocated, less those that it has freed. A process of a world is
    /// a thread here, and passes no allocation to another.
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: i64) {
    let _ = LIVE.try_with(|live| live.set(live.get() + bytes));
}

// SAFETY: the system's allocator, whose bytes are only counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller's.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const RANKS: u32 = 4;

/// How often communicators are made: `MQ_ROUNDS`, or so few that they take no time on a machine that
/// does other things too.
fn rounds() -> u32 {
    std::env::var("MQ_ROUNDS").map_or(4_000, |text| text.parse().unwrap())
}

/// The number that a communicator has, which only a debugger is told.
fn number(communicator: &Communicator) -> u32 {
    let text = format!("{communicator:?}");
    let (_, rest) = text.split_once("number: ").expect("it has one");
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

/// A communicator of all, in one round of five in a half or a third of them, or none.
fn made(world: &World, round: u32) -> Result<Option<Communicator>, Error> {
    let rank = world.rank();
    match round % 10 {
        3 => world.split((rank != round / 10 % RANKS).then_some(rank % 2), 0),
        8 => world.split(Some(rank / 2), -(rank as i32)),
        _ => world.dup().map(Some),
    }
}

/// Messages that nobody receives, short ones and announced ones, and some that are. What comes is
/// of this round.
fn used(communicator: &Communicator, round: u32) -> Result<(), Error> {
    let (rank, size) = (communicator.rank(), communicator.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let left_behind = round.is_multiple_of(3);
    if left_behind {
        communicator.send(&[round, rank], next, 1)?;
        communicator.send(&[round, rank], before, 2)?;
        if round.is_multiple_of(60) {
            drop(communicator.isend(vec![round; 10_000], next, 4)?);
        }
    }
    if round.is_multiple_of(7) {
        communicator.send(&[round, rank], next, 3)?;
        let mut words = [0_u32; 2];
        communicator.recv(&mut words, Source::Any, 3)?;
        assert_eq!(words, [round, before]);
        // An earlier communicator's would come first.
        if left_behind {
            communicator.recv(&mut words, before, 1)?;
            assert_eq!(words, [round, before]);
        }
        drop(communicator.irecv(vec![0_u32; 2], Source::Any, 5)?);
    }
    Ok(())
}

#[test]
fn numbers_and_memory_do_not_grow() {
    let rounds = rounds();
    let _dog = watchdog_for("numbers", 300 + u64::from(rounds) / 100);
    let all = World::threads(RANKS, |world| {
        let (mut highest, mut at_first) = (0, 0);
        for round in 0..rounds {
            if let Some(communicator) = made(world, round)? {
                highest = highest.max(number(&communicator));
                used(&communicator, round)?;
            }
            if round == rounds / 10 || round == rounds - 1 {
                world.barrier()?;
                let live = LIVE.get();
                if round < rounds - 1 {
                    at_first = live;
                } else {
                    // A message that is kept takes more than 64 bytes, and what is on its way
                    // differs from one moment to another.
                    let most = at_first + 100 * 1024;
                    assert!(live < most, "{live} bytes after {at_first}");
                }
            }
        }
        Ok(highest)
    })
    .unwrap();
    // As many as are still closing somewhere.
    assert!(all.iter().all(|&highest| highest < 64), "{all:?}");
}

/// Requests and matched messages keep their communicator; a member's number is its own until all
/// have dropped it.
#[test]
fn a_number_is_not_given_again_while_anybody_has_it() {
    let _dog = watchdog_for("kept", 60);
    World::threads(3, |world| {
        let rank = world.rank();
        let first = world.dup()?;
        let taken = number(&first);
        first.send(&[rank], (rank + 1) % 3, 9)?;
        // Rank 2 keeps it, for a long time, by what has come on it.
        let kept = if rank == 2 {
            Some(first.mprobe(Source::Any, 9)?)
        } else {
            first.recv(&mut [0_u32], Source::Any, 9)?;
            None
        };
        drop(first);
        for round in 0..500 {
            let other = world.dup()?;
            assert_ne!(number(&other), taken);
            other.send(&[round], (rank + 1) % 3, TAG)?;
            // Those that do not share anything with rank 2 may use it: there is none of theirs
            // about.
            let pair = world.split((rank < 2).then_some(0), 0)?;
            if let Some(pair) = &pair {
                assert_ne!(number(pair), taken);
            }
        }
        world.barrier()?;
        if let Some(kept) = kept {
            assert_eq!(kept.recv_vec::<u32>()?, [1]);
        }
        // Now it is, if not immediately: others have to hear of it.
        let again = (0..10_000).any(|_| number(&world.dup().unwrap()) == taken);
        assert!(again);
        Ok(())
    })
    .unwrap();
}

const TAG: i32 = 4;

/// A member that is in no later communicator with the others may be late with its messages.
#[test]
fn late_messages_of_one_who_is_elsewhere_are_for_nobody() {
    let _dog = watchdog_for("late", 60);
    World::threads(3, |world| {
        let rank = world.rank();
        let pair = world.split((rank < 2).then_some(0), 0)?;
        // Rank 2 is held up with both, and does not drop its part.
        let all = world.dup()?;
        let old = number(&all);
        if let Some(pair) = pair {
            drop(all);
            for round in 0..200_u32 {
                let ours = pair.dup()?;
                assert_ne!(number(&ours), old, "rank 2 may still send on it");
                ours.send(&[round], 1 - ours.rank(), 0)?;
                let mut word = [0];
                ours.recv(&mut word, Source::Any, TagSelector::Any)?;
                assert_eq!(word, [round]);
            }
            world.send(&[0_u8], 2, 1)?;
            // Once rank 2 has dropped it as well, it is theirs.
            world.recv(&mut [0_u8], 2, 1)?;
            let again = (0..10_000).any(|_| number(&pair.dup().unwrap()) == old);
            assert!(again);
        } else {
            for from in 0..2 {
                world.recv(&mut [0_u8], from, 1)?;
            }
            for to in 0..2 {
                all.send(&[99_u32], to, 0)?;
                all.isend(vec![99_u32; 100_000], to, 0)?.wait()?;
            }
            drop(all);
            for to in 0..2 {
                world.send(&[0_u8], to, 1)?;
            }
        }
        world.barrier()
    })
    .unwrap();
}

#[test]
fn more_communicators_at_once_than_are_offered_at_once() {
    let _dog = watchdog_for("many", 60);
    World::threads(3, |world| {
        let mut all = Vec::new();
        for _ in 0..200 {
            all.push(world.dup()?);
        }
        for at in (0..200).rev().filter(|at| at % 3 == 1) {
            drop(all.swap_remove(at));
        }
        for _ in 0..200 {
            all.push(world.dup()?);
        }
        for (at, communicator) in all.iter().enumerate() {
            let mut theirs = [0_usize];
            let next = (communicator.rank() + 1) % 3;
            let before = (communicator.rank() + 2) % 3;
            communicator.sendrecv(&[at], next, 0, &mut theirs, before, 0)?;
            assert_eq!(theirs, [at]);
        }
        assert!(all.iter().all(|communicator| number(communicator) < 420));
        Ok(())
    })
    .unwrap();
}

#[test]
fn one_that_is_alone_can_go_on_for_ever_too() {
    let _dog = watchdog_for("alone", 60);
    let world = World::alone().unwrap();
    for round in 0..rounds() {
        let other = world.dup().unwrap();
        assert!(number(&other) < 8);
        other.send(&[round], 0, 0).unwrap();
        if round % 2 == 0 {
            let mut word = [0];
            other.recv(&mut word, Source::Any, 0).unwrap();
            assert_eq!(word, [round]);
        }
    }
}

/// Its parts are told from messages that come after it.
#[test]
fn a_message_of_several_parts_to_a_communicator_that_is_over_is_discarded() {
    let _dog = watchdog("several parts to a communicator that is over");
    let options = Options::default().with(|o| o.eager_limit = 100_000);
    let is_over = AtomicBool::new(false);
    World::threads_with(2, &options, |world| {
        let other = world.dup()?;
        if world.rank() == 0 {
            drop(other);
            is_over.store(true, Ordering::Release);
            for number in 0..20_u32 {
                let mut words = vec![0_u32; 15_000];
                world.recv(&mut words, 1, 1)?;
                assert!(words.iter().all(|&word| word == number), "{number}");
            }
            assert_eq!(world.unexpected_bytes(), 0);
        } else {
            while !is_over.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            for number in 0..20_u32 {
                other.send(&vec![99_u32; 15_000 - number as usize], 0, 1)?;
                world.send(&[number; 15_000], 0, 1)?;
            }
        }
        Ok(())
    })
    .unwrap();
}
