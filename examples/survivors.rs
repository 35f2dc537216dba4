//! Processes that go on after deaths: a sum goes round all of them, again and again, and a step in which one dies is
//! done again by the others.
//!
//! Run it: `cargo build --release -p mq-examples --examples`, then `mq run -n 4 -- target/release/examples/survivors`.
//! To see rank 2 die in the middle: `mq run -n 4 --keep-going -- target/release/examples/survivors 2`

use mq_comm::{Communicator, Error, World};

const STEPS: u32 = 8;
const SUM: i32 = 1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dies = std::env::args().nth(1);
    World::run(|world| {
        let dies = dies == Some(world.rank().to_string());
        // Not the world itself: it stays usable whatever is revoked.
        let mut ranks = world.dup()?;
        let mut number = 0;
        while number < STEPS {
            if dies && number == STEPS / 2 {
                return Err("this rank was asked to die".into());
            }
            let went_well = match step(&ranks, number) {
                Ok(()) => true,
                // The others may wait for what this rank will not send any more.
                Err(Error::Gone { .. } | Error::Revoked) => {
                    ranks.revoke()?;
                    false
                }
                Err(error) => return Err(error.into()),
            };
            // All end their step here, also those that have noticed nothing.
            if ranks.agree(u32::from(went_well))? == 1 {
                number += 1;
            } else {
                ranks = ranks.shrink()?;
                println!("rank {}: {} are left", world.rank(), ranks.size());
            }
        }
        Ok(())
    })
}

/// Each adds one to the sum that comes from the rank before, so most of them wait for a rank that waits as well.
fn step(ranks: &Communicator, number: u32) -> Result<(), Error> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let (before, next) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut sum = [0_u32];
    if rank > 0 {
        ranks.recv(&mut sum, before, SUM)?;
    }
    ranks.send(&[sum[0] + 1], next, SUM)?;
    if rank == 0 {
        ranks.recv(&mut sum, before, SUM)?;
        assert_eq!(sum, [size]);
        println!("step {number}: {} ranks", sum[0]);
    }
    Ok(())
}
