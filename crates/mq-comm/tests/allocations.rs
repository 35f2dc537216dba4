//! Once a program has sent and received a while, nothing more is allocated.
#![allow(unsafe_code, reason = "counts allocations")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::watchdog;
use mq_comm::{Error, Options, Source, TagSelector, World};
use mq_shm::wait::Patience;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: the system's allocator, which is only counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn round_alone(world: &World, vectors: &mut Vec<Vec<u64>>) -> Result<(), Error> {
    // Blocking, expected or not, short and in a cell.
    let (mut into, from) = ([0_u64; 100], [1_u64; 100]);
    for len in [0, 1, 100] {
        world.send(&from[..len], 0, 1)?;
        world.send(&from[..len], 0, 2)?;
        world.recv(&mut into, 0, 2)?;
        world.recv(&mut into, Source::Any, TagSelector::Any)?;
    }
    // By request, large enough to be announced.
    let (a, b) = (vectors.pop().unwrap(), vectors.pop().unwrap());
    let receiving = world.irecv(a, 0, 3)?;
    vectors.push(world.isend(b, 0, 3)?.wait()?.0);
    vectors.push(receiving.wait()?.0);
    // In a set.
    let mut set = world.request_set();
    for tag in 4..8 {
        set.add(world.irecv(vectors.pop().unwrap(), 0, tag)?);
        set.add(world.isend(vectors.pop().unwrap(), 0, tag)?);
    }
    while let Some(completion) = set.wait_any()? {
        vectors.push(completion.into_vec().unwrap());
    }
    // In a scope.
    world.scope(|s| {
        s.irecv(&mut into, 0, 9)?;
        s.isend(&from, 0, 9)?;
        s.wait_all()
    })
}

#[test]
fn the_steady_state_alone_allocates_nothing() {
    let _dog = watchdog("allocations");
    let world = World::alone().unwrap();
    let mut vectors = vec![vec![0_u64; 3000]; 8];
    for _ in 0..50 {
        round_alone(&world, &mut vectors).unwrap();
    }
    let before = COUNT.get();
    for _ in 0..500 {
        round_alone(&world, &mut vectors).unwrap();
    }
    assert_eq!(COUNT.get() - before, 0);
}

/// Short messages, one in a cell, some that go through a ring, both ways at a time, and many that come
/// before their receives.
fn round_of_two(world: &World, vectors: &mut Vec<Vec<u64>>) -> Result<(), Error> {
    let other = 1 - world.rank();
    let (mut into, from) = ([0_u64; 2000], [1_u64; 2000]);
    for len in [0, 1, 100, 2000] {
        world.sendrecv(&from[..len], other, 1, &mut into, other, 1)?;
    }
    let (a, b) = (vectors.pop().unwrap(), vectors.pop().unwrap());
    let receiving = world.irecv(a, other, 3)?;
    vectors.push(world.isend(b, other, 3)?.wait()?.0);
    vectors.push(receiving.wait()?.0);
    for tag in 4..12 {
        world.send(&from[..50], other, tag)?;
    }
    for tag in (4..12).rev() {
        world.recv(&mut into, Source::Any, tag)?;
    }
    world.barrier()
}

/// Except what grows once more when messages come in an order not seen before. A process that is told
/// how long to wait does not ask who shares its core, which would take memory each time it waits long.
#[test]
fn the_steady_state_of_two_allocates_nothing() {
    let _dog = watchdog("allocations of two");
    let options = Options::default().with(|o| o.patience = Some(Patience::YIELDING));
    let counts = World::threads_with(2, &options, |world| {
        let mut vectors = vec![vec![0_u64; 40_000]; 2];
        for _ in 0..100 {
            round_of_two(world, &mut vectors)?;
        }
        let before = COUNT.get();
        for _ in 0..1000 {
            round_of_two(world, &mut vectors)?;
        }
        Ok(COUNT.get() - before)
    });
    let counts = counts.unwrap();
    assert!(counts.iter().all(|&count| count < 50), "{counts:?}");
}
