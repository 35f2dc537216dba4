//! `mq pingpong`: half a round trip between two processes.

use std::process::ExitCode;

use mq_comm::{Error as CommError, World};

use super::outgoing::{Aligned, Outgoing, memory};
use super::rows::Row;
use super::sampling::{Clock, Samples, check, sample};
use super::{Memory, Plan};
use crate::cli::{By, NodeOptions, PingpongOptions};
use crate::error::Error;

/// Bytes of a cache line.
const LINE: usize = 64;

pub(crate) fn run(options: &PingpongOptions) -> Result<ExitCode, Error> {
    let plan = Plan {
        processes: 2,
        rows: options.sizes.len(),
        what: format!(
            "One message at a time, from {}.",
            memory(options.shared_buffers)
        ),
        shared_buffers: options.shared_buffers,
        memory: Memory::of(&options.sizes, if options.shared_buffers { 1 } else { 2 }),
    };
    super::measured(&plan, &options.node, |world, rows| {
        for &size in &options.sizes {
            let (node, shared) = (&options.node, options.shared_buffers);
            let way = one_way(world, node, shared, By::Pingpong, size)?;
            let row = Row::Pingpong {
                size,
                ns: way.median,
                best: way.best,
            };
            if !rows.add(world, row)? {
                return Ok(());
            }
        }
        Ok(())
    })
}

/// One-way time of a message of `size` bytes in nanoseconds, with or without writing it first.
pub(super) fn one_way(
    world: &World,
    options: &NodeOptions,
    shared: bool,
    by: By,
    size: usize,
) -> Result<Samples, CommError> {
    let other = 1 - world.rank();
    let mut out = Outgoing::new(world, shared, size, world.rank() as usize)?;
    let mut into = Aligned::filled(0xa5, size)?;
    exchange(world, &mut out, &mut into, false)?;
    check(&into, size, other as usize)?;
    out.fill(1);
    let round = sample(world, options, Clock::First, || {
        exchange(world, &mut out, &mut into, by == By::Rewritten)
    })?;
    Ok(Samples {
        median: round.median / 2.0,
        best: round.best / 2.0,
    })
}

fn exchange(
    world: &World,
    out: &mut [u8],
    into: &mut [u8],
    written: bool,
) -> Result<(), CommError> {
    let other = 1 - world.rank();
    if world.rank() > 0 {
        world.recv(into, other, 1)?;
    }
    if written {
        rewrite(out);
    }
    world.send(out, other, 1)?;
    if world.rank() == 0 {
        world.recv(into, other, 1)?;
    }
    Ok(())
}

/// Writes to every cache line, so that none of them is in another core's cache any more.
fn rewrite(message: &mut [u8]) {
    for byte in message.iter_mut().step_by(LINE) {
        *byte = byte.wrapping_add(1);
    }
}
