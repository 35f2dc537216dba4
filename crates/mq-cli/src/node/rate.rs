//! `mq rate`: short messages from one or more processes to one.

use std::process::ExitCode;

use mq_comm::{Error as CommError, World};

use super::outgoing::{filled, patterned};
use super::rows::Row;
use super::sampling::{Clock, Samples, check, sample};
use super::{Memory, Plan};
use crate::cli::RateOptions;
use crate::error::Error;
use crate::report;

const TAG: i32 = 1;
const READY: i32 = 2;
/// Bytes that a buffer takes in addition to its own.
const BESIDE: u64 = 64;
/// The most bytes of buffers: more is a typing error.
const MOST: u64 = 4 << 30;

pub(crate) fn run(options: &RateOptions) -> Result<ExitCode, Error> {
    let most = options.senders.iter().copied().max().unwrap_or(1);
    let plan = Plan {
        processes: most + 1,
        rows: options.senders.len(),
        what: format!(
            "Messages of {}, in windows of {} a sender.",
            report::counted(options.size, "byte"),
            options.window
        ),
        shared_buffers: false,
        memory: memory(options)?,
    };
    super::measured(&plan, &options.node, |world, rows| {
        for &senders in &options.senders {
            // Few senders get the cores that more would have to share.
            rows.place(world, senders + 1)?;
            // The others wait in the broadcast that begins the next block.
            let round = if world.rank() == 0 {
                receive(world, options, senders)?
            } else {
                send(world, options, senders)?
            };
            let messages = f64::from(senders * options.window) * 1e9;
            let row = Row::Rate {
                senders,
                size: options.size,
                window: options.window,
                per_s: messages / round.median,
                best: messages / round.best,
            };
            if !rows.add(world, row)? {
                return Ok(());
            }
        }
        Ok(())
    })
}

/// The memory of the receiver, which needs most.
fn memory(options: &RateOptions) -> Result<Memory, Error> {
    let most = options.senders.iter().copied().max().unwrap_or(1);
    let messages = u64::from(most) * u64::from(options.window);
    let memory = Memory {
        bytes: messages * (options.size as u64 + BESIDE),
        processes: 1,
        chosen_by: "--size, --window or --senders",
    };
    if memory.bytes > MOST {
        return Err(Error::Usage(format!(
            "the receiver would need {} for its buffers, but {} is the limit: reduce {}",
            report::bytes(memory.bytes as usize),
            report::bytes(MOST as usize),
            memory.chosen_by
        )));
    }
    Ok(memory)
}

fn receive(world: &World, options: &RateOptions, senders: u32) -> Result<Samples, CommError> {
    let window = options.window as usize;
    let mut buffers: Vec<Vec<u8>> = (0..window * senders as usize)
        .map(|_| filled(0xa5, options.size))
        .collect::<Result<_, _>>()?;
    let mut checked = false;
    sample(world, &options.node, Clock::First, || {
        world.scope(|scope| {
            // Interleaved, as in the MPI programs that this is compared with.
            for (message, buffer) in buffers.iter_mut().enumerate() {
                scope.irecv(buffer, message as u32 % senders + 1, TAG)?;
            }
            for sender in 1..=senders {
                scope.isend(&[0_u8; 0], sender, READY)?;
            }
            scope.wait_all()
        })?;
        if !checked {
            for (message, buffer) in buffers.iter().enumerate() {
                check(buffer, options.size, message / senders as usize)?;
            }
            checked = true;
        }
        Ok(())
    })
}

fn send(world: &World, options: &RateOptions, senders: u32) -> Result<Samples, CommError> {
    let window = options.window as usize;
    let messages: Vec<Vec<u8>> = (0..window)
        .map(|message| patterned(options.size, message))
        .collect::<Result<_, _>>()?;
    let takes_part = world.rank() <= senders;
    sample(world, &options.node, Clock::First, || {
        if takes_part {
            world.recv(&mut [0_u8; 0], 0, READY)?;
            world.scope(|scope| {
                for message in &messages {
                    scope.isend(message, 0, TAG)?;
                }
                scope.wait_all()
            })?;
        }
        Ok(())
    })
}
