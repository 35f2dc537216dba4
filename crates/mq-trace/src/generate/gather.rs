//! `gather`: the root of `MPI_Gather` receives a message from every other rank, round after round.
//!
//! The others only send: their queues stay empty.

use rand::seq::SliceRandom;

use super::depth::{Filled, Order};
use super::process::Process;
use super::stream::{Key, Stream};

/// Open MPI's tag of `MPI_Gather`.
const GATHER: i32 = -19;
const ROOT: u32 = 0;

/// Whether the process is the one that receives.
pub(super) const fn is_root(process: Process) -> bool {
    process.rank == ROOT
}

/// The receives of `rounds` rounds.
pub(super) fn receives(process: Process, rounds: u32) -> u64 {
    match is_root(process) {
        true => u64::from(process.peers()) * u64::from(rounds),
        false => 0,
    }
}

/// Makes `rounds` rounds: one queue is filled in the order of the ranks and drained in `order`.
pub(super) fn run(stream: &mut Stream, order: Order, filled: Filled, rounds: u32) {
    if !is_root(stream.process) {
        return;
    }
    let keys: Vec<Key> = Key::each(stream.process.others(), GATHER).collect();
    for _ in 0..rounds {
        let mut drained = keys.clone();
        match order {
            Order::Forward => {}
            Order::Reverse => drained.reverse(),
            Order::Random => drained.shuffle(&mut stream.random),
        }
        match filled {
            Filled::Posted => {
                keys.iter().for_each(|&key| stream.post(key));
                drained.iter().for_each(|&key| stream.arrive(key));
            }
            Filled::Unexpected => {
                keys.iter().for_each(|&key| stream.arrive(key));
                drained.iter().for_each(|&key| stream.post(key));
            }
        }
    }
}
