//! `nbody`: in each step, a process receives the particles of every other one.
//!
//! It posts a receive for each, so that the PRQ reaches one entry less than there are processes, and the messages
//! come in the order of the receives: a search of the PRQ ends at its head. Some come ahead, while nothing is
//! posted: their searches visit nothing, which brings the average below 1, and they fill the UMQ. How many
//! differs from step to step. Of those that come ahead, a share belongs to receives that are posted late: the
//! searches of the receives before them pass it. Now and then an allgather passes around the ring of
//! processes.
//!
//! The shares are set so that the statistics are those of Zounmevo & Afsahi 2014, Table 8. Its processes differ:
//! rank 0 is the one with the longest UMQ and the longest searches of it, the others have the averages. That
//! process cannot also have the longest searches of the PRQ, which need messages that come late.

use rand::seq::SliceRandom;

use super::process::Process;
use super::stream::{Key, Stream, share};

/// The tag of particles.
const PARTICLES: i32 = 1;
/// Open MPI's tag of `MPI_Allgather`.
const ALLGATHER: i32 = -10;
/// Steps from one allgather to the next.
const STEPS: u32 = 8;
/// The share of an allgather's messages that arrive before their receives: 11 of 36 thousand (Ghazimirsaeed et
/// al. 2019, §2.1).
const ALLGATHER_AHEAD: f64 = 11.0 / 36.0;

/// How far ahead of a process the others are.
#[derive(Clone, Copy)]
struct Lead {
    ranks: u32,
    /// The share of the messages that comes ahead, in the worst step.
    ahead: f64,
    /// The share of those that comes out of order.
    disorder: f64,
}

/// A lead at `ranks` processes.
const fn lead(ranks: u32, ahead: f64, disorder: f64) -> Lead {
    Lead {
        ranks,
        ahead,
        disorder,
    }
}

/// Of the average process.
const AVERAGE: [Lead; 3] = [
    lead(256, 0.341, 0.85),
    lead(512, 0.725, 0.67),
    lead(704, 0.784, 0.55),
];
/// Of the process that lags most.
const LARGEST: [Lead; 3] = [
    lead(256, 0.978, 0.97),
    lead(512, 0.9746, 0.5),
    lead(704, 0.987, 0.6),
];

/// How fast the steps become better than the worst: the lead in step `i` of `n` is a power of `i / n`.
const fn decline(process: Process) -> i32 {
    match process.rank {
        0 => 2,
        _ => 5,
    }
}

/// The receives of `rounds` steps.
pub(super) fn receives(process: Process, rounds: u32) -> u64 {
    let exchanges = u64::from(rounds) + u64::from(rounds.div_ceil(STEPS));
    u64::from(process.peers()) * exchanges
}

/// Makes `rounds` steps.
pub(super) fn run(stream: &mut Stream, rounds: u32) {
    let process = stream.process;
    let lead = between(
        if process.rank == 0 {
            &LARGEST
        } else {
            &AVERAGE
        },
        process.ranks,
    );
    let mut leads: Vec<usize> = (1..=rounds)
        .map(|step| {
            let part = f64::from(step) / f64::from(rounds);
            let ahead = lead.ahead * part.powi(decline(process));
            share(process.peers() as usize, ahead)
        })
        .collect();
    leads.shuffle(&mut stream.random);
    for (step, ahead) in (0..rounds).zip(leads) {
        particles(stream, ahead, lead.disorder);
        if step.is_multiple_of(STEPS) {
            allgather(stream);
        }
    }
}

/// One step, with `ahead` messages ahead of the receives.
fn particles(stream: &mut Stream, ahead: usize, disorder: f64) {
    let keys: Vec<Key> = Key::each(stream.process.others(), PARTICLES).collect();
    let mut late = stream.disordered(stream.process.peers(), disorder);
    let early: Vec<u32> = late.drain(..ahead).collect();
    early.iter().for_each(|&i| stream.arrive(keys[i as usize]));
    keys.iter().for_each(|&key| stream.post(key));
    late.sort_unstable();
    late.iter().for_each(|&i| stream.arrive(keys[i as usize]));
}

/// An allgather around the ring: everything comes from the rank before, one message after the other.
fn allgather(stream: &mut Stream) {
    let key = Key {
        source: stream.process.previous(),
        tag: ALLGATHER,
    };
    let mut is_early = vec![false; stream.process.peers() as usize];
    let early = share(is_early.len(), ALLGATHER_AHEAD);
    is_early[..early].fill(true);
    is_early.shuffle(&mut stream.random);
    for is_early in is_early {
        if is_early {
            stream.arrive(key);
            stream.post(key);
        } else {
            stream.post(key);
            stream.arrive(key);
        }
    }
}

/// The lead at `ranks` processes: between two that are known in proportion, beyond them that of the nearest.
fn between(known: &[Lead; 3], ranks: u32) -> Lead {
    let above = known.partition_point(|lead| lead.ranks < ranks);
    let high = known[above.min(known.len() - 1)];
    let low = known[above.saturating_sub(1)];
    if low.ranks >= high.ranks {
        return high;
    }
    let part = f64::from(ranks - low.ranks) / f64::from(high.ranks - low.ranks);
    Lead {
        ranks,
        ahead: low.ahead + part * (high.ahead - low.ahead),
        disorder: low.disorder + part * (high.disorder - low.disorder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leads_are_between_the_known_ones() {
        let ahead = |ranks| between(&AVERAGE, ranks).ahead;
        let known = [2, 256, 384, 512, 704, 1 << 20].map(ahead);
        let expected = [0.341, 0.341, 0.533, 0.725, 0.784, 0.784];
        for (known, expected) in known.into_iter().zip(expected) {
            assert!((known - expected).abs() < 1e-9, "{known} and {expected}");
        }
    }
}
