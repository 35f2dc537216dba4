//! `mq halo`: the halo exchange of Buntinas, Mercier and Gropp (EuroPVM/MPI 2006), Section 4.3.

use std::process::ExitCode;

use mq_comm::{Error as CommError, World};

use super::outgoing::{filled, patterned};
use super::rows::Row;
use super::sampling::{Clock, Samples, check, sample};
use super::{Memory, Plan};
use crate::cli::{HaloOptions, NodeOptions};
use crate::error::Error;

const PROCESSES: u32 = 4;
/// Four sent and four received borders.
const BORDERS: u64 = 8;

pub(crate) fn run(options: &HaloOptions) -> Result<ExitCode, Error> {
    let plan = Plan {
        processes: PROCESSES,
        rows: options.tiles.len(),
        what: "Four processes in a grid of 2 x 2, elements of 8 bytes.".into(),
        shared_buffers: false,
        memory: Memory {
            bytes: BORDERS
                * options
                    .tiles
                    .iter()
                    .map(|&tile| tile as u64 * 8)
                    .max()
                    .unwrap_or(0),
            processes: PROCESSES,
            chosen_by: "--tiles",
        },
    };
    super::measured(&plan, &options.node, |world, rows| {
        for &tile in &options.tiles {
            let exchange = exchange(world, &options.node, tile)?;
            let row = Row::Halo {
                tile,
                ns: exchange.median,
                best: exchange.best,
            };
            if !rows.add(world, row)? {
                return Ok(());
            }
        }
        Ok(())
    })
}

/// The neighbour in each of four directions, in a periodic grid of 2 x 2. Opposite directions lead to
/// the same neighbour: a border that is sent one way is received from the other.
fn neighbours(rank: u32) -> [u32; 4] {
    let (beside, above) = (rank ^ 1, rank ^ 2);
    [beside, beside, above, above]
}

fn opposite(direction: usize) -> usize {
    direction ^ 1
}

fn exchange(world: &World, options: &NodeOptions, tile: usize) -> Result<Samples, CommError> {
    let bytes = tile * 8;
    let borders: Vec<Vec<u8>> = (0..4)
        .map(|way| patterned(bytes, world.rank() as usize * 4 + way))
        .collect::<Result<_, _>>()?;
    let mut halos: Vec<Vec<u8>> = (0..4)
        .map(|_| filled(0xa5, bytes))
        .collect::<Result<_, _>>()?;
    let neighbours = neighbours(world.rank());
    let mut checked = false;
    sample(world, options, Clock::Slowest, || {
        world.scope(|scope| {
            for (way, halo) in halos.iter_mut().enumerate() {
                scope.irecv(halo, neighbours[way], opposite(way) as i32)?;
            }
            for (way, border) in borders.iter().enumerate() {
                scope.isend(border, neighbours[way], way as i32)?;
            }
            scope.wait_all()
        })?;
        if !checked {
            for (way, halo) in halos.iter().enumerate() {
                check(halo, bytes, neighbours[way] as usize * 4 + opposite(way))?;
            }
            checked = true;
        }
        Ok(())
    })
}
