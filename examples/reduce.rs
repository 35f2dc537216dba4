//! A reduction by hand, of which every rank gets the result: up a tree of ranks, then down by `broadcast`.
//!
//! Run it: `cargo build --release -p mq-examples --examples`, then `mq run -n 4 -- target/release/examples/reduce`

use mq_comm::{Communicator, Error, Plain, Source, TagSelector, World};

/// Messages of a reduction. Those of two that follow each other do not mix: each rank sends one message to the rank
/// above it, and messages between two ranks keep their order.
const PARTIAL: i32 = 1;
/// Messages of the rest of the program. The tag may be the same, as the communicator is another.
const NOTICE: i32 = 1;

fn main() -> Result<(), Error> {
    World::run(program)
}

/// Combines the elements of all ranks one by one, in the order of the ranks: `combine` has to be associative, and need
/// not be commutative. Rounded sums are the same at all ranks, too, since one rank has the last word.
///
/// `MPI_Allreduce`: all ranks call it, with as many elements each. Nothing else may be received on this communicator
/// meanwhile by a receive of any tag.
fn allreduce<E: Plain>(
    ranks: &Communicator,
    elements: &mut [E],
    combine: impl Fn(E, E) -> E,
) -> Result<(), Error> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let mut theirs = elements.to_vec();
    let mut distance = 1;
    while distance < size {
        if rank % (2 * distance) != 0 {
            ranks.send(elements, rank - distance, PARTIAL)?;
            break;
        }
        // This rank has combined what is from here to there, and the other what is from there on.
        if rank + distance < size {
            ranks.recv(&mut theirs, rank + distance, PARTIAL)?;
            for (own, &their) in elements.iter_mut().zip(&theirs) {
                *own = combine(*own, their);
            }
        }
        distance *= 2;
    }
    ranks.broadcast(elements, 0)
}

fn program(world: &World) -> Result<(), Error> {
    let (rank, size) = (world.rank(), world.size());
    // A communicator for the reductions alone, made once. On the world, their messages would match the receive below,
    // which takes whatever comes: a library's own communicator is what keeps its messages apart from a program's.
    let reductions = world.dup()?;
    let notice = world.irecv(vec![0_u32], Source::Any, TagSelector::Any)?;

    let mut sums = [f64::from(rank + 1), 0.1];
    allreduce(&reductions, &mut sums, |one, other| one + other)?;
    assert_eq!(sums[0], f64::from(size * (size + 1) / 2));
    assert!((sums[1] - 0.1 * f64::from(size)).abs() < 1e-9);

    // The largest, and the first rank that has it: elements may be of several numbers.
    let mut largest = [[(rank % 3).into(), rank.into()]];
    allreduce(&reductions, &mut largest, |one: [u64; 2], other| {
        if other[0] > one[0] { other } else { one }
    })?;
    let [[value, holder]] = largest;
    assert_eq!(value, holder, "ranks 0, 1 and 2 are the first with theirs");

    world.send(&[rank], (rank + 1) % size, NOTICE)?;
    let (from, status) = notice.wait()?;
    assert_eq!((from[0], status.tag()), (status.source(), NOTICE));
    if rank == 0 {
        println!(
            "{size} ranks: the sum is {}, the largest is {value}, at rank {holder}",
            sums[0]
        );
    }
    Ok(())
}
