//! The halo exchange of `mq halo` between four processes that all run in this thread, for counting
//! instructions: `valgrind --tool=callgrind target/release/examples/exchange_instructions 1000`;
//! `ci/comm-instructions.sh` does.
//!
//! One process after the other posts its receives and sends its borders, then one after the other waits for
//! all: so every message is there, and has been asked for, before it is looked for.

use mq_comm::{Error, Options, Seat, World};

/// The neighbours in four directions, in a periodic grid of 2 x 2.
const WAYS: [u32; 4] = [1, 1, 2, 2];

fn main() -> Result<(), Error> {
    let rounds: u64 = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(1000);
    let (options, complaints) = Options::default().with_environment(|name| std::env::var_os(name));
    assert!(complaints.is_empty(), "{complaints:?}");
    let seats = World::seats(4, &options)?.into_iter();
    let worlds: Vec<World> = seats.map(Seat::take).collect::<Result<_, _>>()?;
    let mut halos = [[[0_u64]; 4]; 4];
    let mut sum = 0;
    // Long enough for all pairs to get their fastboxes.
    for round in 0..100 + rounds {
        exchange(&worlds, &mut halos, &[[round]; 4])?;
        sum += halos.as_flattened().as_flattened().iter().sum::<u64>();
    }
    println!("{sum}");
    Ok(())
}

/// The first of these processes does its part, and before it waits all others do theirs.
fn exchange(
    worlds: &[World],
    halos: &mut [[[u64; 1]; 4]],
    borders: &[[u64; 1]; 4],
) -> Result<(), Error> {
    let ([world, worlds @ ..], [halo, halos @ ..]) = (worlds, halos) else {
        return Ok(());
    };
    world.scope(|scope| {
        for (way, into) in halo.iter_mut().enumerate() {
            scope.irecv(into, world.rank() ^ WAYS[way], way as i32 ^ 1)?;
        }
        for (way, border) in borders.iter().enumerate() {
            scope.isend(border, world.rank() ^ WAYS[way], way as i32)?;
        }
        exchange(worlds, halos, borders)?;
        scope.wait_all()
    })
}
