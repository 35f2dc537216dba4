//! `halo`: each process exchanges its border with its neighbours in a grid, round after round.
//!
//! Receives are posted in the order of the neighbours. Messages come in random order, and about a third of
//! them before the receives: then searches are about as long as those of AMG2006 on 512 processes
//! (Zounmevo & Afsahi 2014, §7.3). Queues are shallow at any number of processes.

use super::names::named;
use super::process::Process;
use super::stream::{Key, Stream, share};

named! {
    /// Who exchanges borders.
    Neighbors {
        /// Left, right, above and below in a square.
        Four = "4",
        /// The six that share a face in a cube.
        Six = "6",
        /// All around in a cube, those at edges and corners too.
        All = "26",
    }
}

const TAG: i32 = 1;
/// The share of messages that arrives before the receives are posted.
const AHEAD: f64 = 0.35;

/// The receives of `rounds` rounds.
pub(super) fn receives(process: Process, neighbors: Neighbors, rounds: u32) -> u64 {
    process.neighbors(neighbors).len() as u64 * u64::from(rounds)
}

/// Makes `rounds` rounds.
pub(super) fn run(stream: &mut Stream, neighbors: Neighbors, rounds: u32) {
    let border = border(stream.process, neighbors);
    let ahead = share(border.len(), AHEAD);
    for _ in 0..rounds {
        stream.exchange(&border, ahead);
    }
}

/// A receive from each neighbour.
pub(super) fn border(process: Process, neighbors: Neighbors) -> Vec<Key> {
    let neighbors = process.neighbors(neighbors).into_iter();
    Key::each(neighbors, TAG).collect()
}
