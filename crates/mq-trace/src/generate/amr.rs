//! `amr`: `MiniAMR`, a stencil with adaptive mesh refinement.
//!
//! In each round a process exchanges borders with six neighbours, then refines, for which contributions to an
//! `MPI_Allreduce` come in random order, half of them before their receives. Allreduce is what makes this
//! application's searches long, and few elements are point-to-point (Ghazimirsaeed et al. 2019, §5.3.2, §5.4.1).
//!
//! The paper gives the lengths as numbers of lists only, which Algorithm 1 makes from average searches: less than 44
//! are enough at 512 processes, and there are 74 at 2,048. They grow with the square root, and so does the number of
//! contributions here; who sends them is not known, and here they are the next ranks.

use super::halo::{Neighbors, border};
use super::process::Process;
use super::stream::{Key, Stream, share};

/// Open MPI's tag of `MPI_Allreduce`.
const ALLREDUCE: i32 = -12;
/// Contributions to an allreduce, for the square root of the processes.
const CONTRIBUTIONS: f64 = 6.5;
/// The shares of messages that arrive before their receives are posted.
const BORDER_AHEAD: f64 = 0.35;
const ALLREDUCE_AHEAD: f64 = 0.5;

/// The receives of `rounds` rounds.
pub(super) fn receives(process: Process, rounds: u32) -> u64 {
    let borders = process.neighbors(Neighbors::Six).len() + contributions(process);
    borders as u64 * u64::from(rounds)
}

/// Makes `rounds` rounds.
pub(super) fn run(stream: &mut Stream, rounds: u32) {
    let border = border(stream.process, Neighbors::Six);
    let others = stream.process.others().take(contributions(stream.process));
    let allreduce: Vec<Key> = Key::each(others, ALLREDUCE).collect();
    for _ in 0..rounds {
        stream.exchange(&border, share(border.len(), BORDER_AHEAD));
        stream.exchange(&allreduce, share(allreduce.len(), ALLREDUCE_AHEAD));
    }
}

/// The contributions to an allreduce that a process gets.
fn contributions(process: Process) -> usize {
    let wanted = CONTRIBUTIONS * f64::from(process.ranks).sqrt();
    (wanted.round() as usize).min(process.peers() as usize)
}
