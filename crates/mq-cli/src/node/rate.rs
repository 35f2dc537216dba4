//! `mq rate`: short messages from one or more processes to one.

use std::process::ExitCode;

use mq_comm::{Error as CommError, World};

use super::Plan;
use super::rows::Row;
use super::sampling::{Clock, check, pattern, sample};
use crate::cli::RateOptions;
use crate::error::Error;
use crate::report;

const TAG: i32 = 1;
const READY: i32 = 2;

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
    };
    super::measured(&plan, &options.node, |world, rows| {
        for &senders in &options.senders {
            // Few senders have the cores that more would have to share.
            rows.place(world, senders + 1)?;
            // The others wait in the broadcast that begins the next block.
            let round = if world.rank() == 0 {
                receive(world, options, senders)?
            } else {
                send(world, options, senders)?
            };
            let messages = f64::from(senders * options.window) * 1e9;
            rows.add(Row::Rate {
                senders,
                size: options.size,
                per_s: messages / round.0,
                best: messages / round.1,
            });
        }
        Ok(())
    })
}

fn receive(world: &World, options: &RateOptions, senders: u32) -> Result<(f64, f64), CommError> {
    let window = options.window as usize;
    let mut buffers = vec![vec![0xa5_u8; options.size]; window * senders as usize];
    let mut checked = false;
    let samples = sample(world, &options.node, Clock::First, || {
        world.scope(|scope| {
            for (message, buffer) in buffers.iter_mut().enumerate() {
                scope.irecv(buffer, (message / window) as u32 + 1, TAG)?;
            }
            for sender in 1..=senders {
                scope.isend(&[0_u8; 0], sender, READY)?;
            }
            scope.wait_all()
        })?;
        if !checked {
            for (message, buffer) in buffers.iter().enumerate() {
                check(buffer, options.size, message % window)?;
            }
            checked = true;
        }
        Ok(())
    })?;
    Ok((samples.median, samples.best))
}

fn send(world: &World, options: &RateOptions, senders: u32) -> Result<(f64, f64), CommError> {
    let window = options.window as usize;
    let messages: Vec<_> = (0..window)
        .map(|message| pattern(options.size, message))
        .collect();
    let takes_part = world.rank() <= senders;
    let samples = sample(world, &options.node, Clock::First, || {
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
    })?;
    Ok((samples.median, samples.best))
}
