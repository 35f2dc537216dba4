//! A halo exchange with both neighbours on a ring of processes, as in grid codes: non-blocking
//! operations on borrowed memory, which is free again when the scope ends.
//!
//! Run it: `cargo build --release -p mq-examples --examples`, then `mq run -n 4 -- target/release/examples/halo`; it
//! also runs as a single process or under `mpirun`.

use mq_comm::{Error, World};

const CELLS: usize = 1000;
const STEPS: usize = 100;

/// Tags of messages to the left and to the right.
const LEFT: i32 = 1;
const RIGHT: i32 = 2;

fn main() -> Result<(), Error> {
    World::run(program)
}

fn program(world: &World) -> Result<(), Error> {
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);

    // The cells of this process, with one halo cell per neighbour at the ends. Rank 0 has the heat.
    let mut cells = vec![f64::from(u8::from(rank == 0)); CELLS + 2];
    for _ in 0..STEPS {
        // The ends are written while the cells next to them are read: disjoint parts of one vector.
        let (from_left, rest) = cells.split_at_mut(1);
        let (own, from_right) = rest.split_at_mut(CELLS);
        world.scope(|scope| {
            let receives = (
                scope.irecv(from_left, left, RIGHT)?,
                scope.irecv(from_right, right, LEFT)?,
            );
            let sends = (
                scope.isend(&own[..1], left, LEFT)?,
                scope.isend(&own[CELLS - 1..], right, RIGHT)?,
            );
            // Work that needs no neighbour could be done here.
            receives.0.wait()?;
            receives.1.wait()?;
            sends.0.wait()?;
            sends.1.wait()?;
            Ok::<(), Error>(())
        })?;
        let before = cells.clone();
        for i in 1..=CELLS {
            cells[i] = 0.25 * before[i - 1] + 0.5 * before[i] + 0.25 * before[i + 1];
        }
    }

    // No heat is lost on the ring: rank 0 collects all sums.
    let heat: f64 = cells[1..=CELLS].iter().sum();
    if rank > 0 {
        return world.send(&[heat], 0, 0);
    }
    let mut all = heat;
    for from in 1..size {
        let mut theirs = [0.0_f64];
        world.recv(&mut theirs, from, 0)?;
        all += theirs[0];
    }
    println!("heat of {size} processes after {STEPS} steps: {all:.3}");
    assert!((all - CELLS as f64).abs() < 1e-6);
    Ok(())
}
