//! `fds`: the Fire Dynamics Simulator, whose processes all send to rank 0.
//!
//! In each round rank 0 receives three `MPI_Gatherv` of a message from every other rank. Behind the receives of
//! the first it posts a point-to-point receive for every second rank, since "a significant number of collective
//! elements should be traversed to search for a point-to-point message" in the PRQ (Ghazimirsaeed et al. 2019,
//! §5.3.2). Messages come in random order, a few of them among those of the gather before.
//!
//! The paper gives the lengths as numbers of lists only, which Algorithm 1 makes from average searches and
//! limits to eight times the square root of the processes: rank 0 reaches the limit in the PRQ, and has 416 lists
//! for both queues at 2,048 processes (§5.4.1, §6).
//!
//! The other ranks receive few messages: the border of six neighbours, and an allreduce.

use super::halo::{Neighbors, border};
use super::process::Process;
use super::stream::{Key, Stream};

/// The tag of point-to-point messages to rank 0.
const REPORT: i32 = 2;
/// Open MPI's tags of the operations.
const ALLREDUCE: i32 = -12;
const GATHERV: i32 = -20;
/// Gathers in a round.
const GATHERS: u32 = 3;
/// The ranks that also send a point-to-point message are this far apart.
const APART: usize = 2;
/// The share of the messages that comes among those of the gather before.
const AHEAD: f64 = 0.042;

/// The receives of `rounds` rounds.
pub(super) fn receives(process: Process, rounds: u32) -> u64 {
    let round = match process.rank {
        0 => {
            let peers = process.peers() as usize;
            GATHERS as usize * peers + peers.div_ceil(APART)
        }
        _ => border(process, Neighbors::Six).len() + process.partners().count(),
    };
    round as u64 * u64::from(rounds)
}

/// Makes `rounds` rounds.
pub(super) fn run(stream: &mut Stream, rounds: u32) {
    match stream.process.rank {
        0 => hot_spot(stream, rounds),
        _ => ordinary(stream, rounds),
    }
}

/// Makes the rounds of rank 0.
fn hot_spot(stream: &mut Stream, rounds: u32) {
    let process = stream.process;
    stream.overlapping(GATHERS * rounds, AHEAD, |gather| gathered(process, gather));
}

/// Makes the rounds of another rank.
fn ordinary(stream: &mut Stream, rounds: u32) {
    let process = stream.process;
    let border = border(process, Neighbors::Six);
    for _ in 0..rounds {
        stream.exchange(&border, 0);
        for key in Key::each(process.partners(), ALLREDUCE) {
            stream.post(key);
            stream.arrive(key);
        }
    }
}

/// What rank 0 receives in a gather, in the order of its receives.
fn gathered(process: Process, gather: u32) -> Vec<Key> {
    let mut keys: Vec<Key> = Key::each(process.others(), GATHERV).collect();
    if gather.is_multiple_of(GATHERS) {
        keys.extend(Key::each(process.others().step_by(APART), REPORT));
    }
    keys
}
