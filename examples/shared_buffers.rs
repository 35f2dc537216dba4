//! A field that goes round from process to process, in buffers that all processes can see: a message
//! is copied once, unless the ring is found to be faster.
//!
//! Run it: `cargo build --release -p mq-examples --examples`, then `mq run -n 4 --
//! target/release/examples/shared_buffers`, or as a single process: `cargo run -p mq-examples --example shared_buffers`

use mq_comm::{Error, World};

const CELLS: usize = 100_000;

fn main() -> Result<(), Error> {
    World::run(program)
}

fn program(world: &World) -> Result<(), Error> {
    let (rank, size) = (world.rank(), world.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);

    // Allocated once and reused; released when dropped.
    let mut field = world.shared_buffer::<f64>(CELLS)?;
    let mut theirs = world.shared_buffer::<f64>(CELLS)?;
    field.fill(f64::from(rank));
    for _ in 0..size {
        world.sendrecv(&field, next, 7, &mut theirs, before, 7)?;
        std::mem::swap(&mut field, &mut theirs);
        field.iter_mut().for_each(|cell| *cell += 1.0);
    }

    // The field is back where it began, and every process has added one.
    assert!(field.iter().all(|&cell| cell == f64::from(rank + size)));
    let profile = world.profile();
    let (copied, ring) = (profile.shared_copy, profile.ring);
    println!(
        "rank {rank}: {copied} messages of {CELLS} cells came out of shared buffers, {ring} by ring"
    );
    // A single process copies from one of its buffers to the other.
    let from_others = if size > 1 { size } else { 0 };
    assert_eq!(copied + ring, u64::from(from_others));
    Ok(())
}
