//! Processes that send a number to rank 0.
//!
//! Run it: `cargo build --release -p mq-examples --examples`, then `mq run -n 4 --
//! target/release/examples/square_roots`; as a single process it is a world of one and prints nothing.

use mq_comm::{Error, Source, World};

fn main() -> Result<(), Error> {
    // A rank that returns an error counts as failed, and the others are told.
    World::run(|world| {
        if world.rank() == 0 {
            for _ in 1..world.size() {
                let mut answer = [0.0_f64];
                let status = world.recv(&mut answer, Source::Any, 7)?;
                println!("{} from rank {}", answer[0], status.source());
            }
        } else {
            world.send(&[f64::from(world.rank()).sqrt()], 0, 7)?;
        }
        Ok(())
    })
}
