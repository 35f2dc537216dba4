//! Collective operations in which ranks fail: live ranks are told, and nothing is left over.

mod common;

use std::sync::Mutex;

use common::{is_gone, watchdog};
use mq_comm::{Error, World};

/// And not what the others have heard of it.
#[test]
fn the_error_of_threads_is_that_of_the_rank_where_it_began() {
    let _dog = watchdog("cause");
    let run = World::threads(4, |world| {
        let bytes = if world.rank() == 3 { 4 } else { 8 };
        world.broadcast(&mut vec![0_u8; bytes], 1)
    });
    assert!(
        matches!(
            run,
            Err(Error::Disagreement("broadcasts of different lengths"))
        ),
        "{run:?}"
    );
}

/// A rank that has heard of no death knows that all live ranks are in, whatever way their words took:
/// with many ranks, some are known to be in only through the dead one.
#[test]
fn a_barrier_that_succeeds_has_waited_for_all_that_live() {
    let _dog = watchdog("a barrier with a death");
    for size in [8, 9, 11, 15, 16, 17, 23] {
        for dead in [1, size / 2] {
            let last_is_in = Mutex::new(false);
            let run = World::threads(size, |world| {
                if world.rank() == dead {
                    return Err(Error::Cancelled);
                }
                // All know of it, so nobody's word goes there.
                let gone = world.recv(&mut [0_u8], dead, 0);
                assert!(is_gone(&gone, dead, "died"), "{gone:?}");
                if world.rank() == 0 {
                    std::thread::sleep(std::time::Duration::from_millis(30));
                    *last_is_in.lock().unwrap() = true;
                }
                let result = world.barrier();
                assert!(
                    *last_is_in.lock().unwrap() || result.is_err(),
                    "rank {} of {size} was let through",
                    world.rank()
                );
                Ok(())
            });
            assert!(run.is_err(), "rank {dead} fails");
        }
    }
}
