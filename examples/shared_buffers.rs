//! A field that goes round from process to process, out of buffers that the others can see: a
//! message is copied once, unless the ring is found to be quicker.
//!
//! Run it: `mq run -n 4 -- target/release/examples/shared_buffers`, or alone:
//! `cargo run -p mq-examples --example shared_buffers`

use mq_comm::{Error, World};

const CELLS: usize = 100_000;

fn main() -> Result<(), Error> {
    World::run(program)
}

fn program(world: &World) -> Result<(), Error> {
    let (rank, size) = (world.rank(), world.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);

    // Made once, used again and again; given back when they are dropped.
    let mut field = world.shared_buffer::<f64>(CELLS)?;
    let mut theirs = world.shared_buffer::<f64>(CELLS)?;
    field.fill(f64::from(rank));
    for _ in 0..size {
        world.sendrecv(&field, next, 7, &mut theirs, before, 7)?;
        std::mem::swap(&mut field, &mut theirs);
        field.iter_mut().for_each(|cell| *cell += 1.0);
    }

    // It is back where it began, and everybody has added one.
    assert!(field.iter().all(|&cell| cell == f64::from(rank + size)));
    let profile = world.profile();
    let (copied, ring) = (profile.shared_copy, profile.ring);
    println!(
        "rank {rank}: {copied} messages of {CELLS} cells came out of shared buffers, {ring} by ring"
    );
    assert_eq!(copied + ring, u64::from(size));
    Ok(())
}
