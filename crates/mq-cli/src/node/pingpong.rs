//! `mq pingpong`: half a round trip between two processes.

use std::process::ExitCode;

use mq_comm::{Error as CommError, World};

use super::outgoing::Outgoing;
use super::rows::Row;
use super::sampling::{Clock, Samples, check, sample};
use crate::cli::{NodeOptions, PingpongOptions};
use crate::error::Error;

pub(crate) fn run(options: &PingpongOptions) -> Result<ExitCode, Error> {
    super::measured(2, &options.node, |world, rows| {
        for &size in &options.sizes {
            let way = one_way(world, &options.node, options.shared_buffers, size)?;
            rows.add(Row::Pingpong {
                size,
                ns: way.median,
                best: way.best,
            });
        }
        Ok(())
    })
}

/// Nanoseconds that a message of `size` bytes takes one way.
pub(super) fn one_way(
    world: &World,
    options: &NodeOptions,
    shared: bool,
    size: usize,
) -> Result<Samples, CommError> {
    let other = 1 - world.rank();
    let mut out = Outgoing::new(world, shared, size, world.rank() as usize)?;
    let mut into = vec![0xa5; size];
    exchange(world, &out, &mut into)?;
    check(&into, size, other as usize)?;
    out.fill(1);
    let round = sample(world, options, Clock::First, || {
        exchange(world, &out, &mut into)
    })?;
    Ok(Samples {
        median: round.median / 2.0,
        best: round.best / 2.0,
    })
}

fn exchange(world: &World, out: &[u8], into: &mut [u8]) -> Result<(), CommError> {
    let other = 1 - world.rank();
    if world.rank() == 0 {
        world.send(out, other, 1)?;
        world.recv(into, other, 1)?;
    } else {
        world.recv(into, other, 1)?;
        world.send(out, other, 1)?;
    }
    Ok(())
}
