//! `mq bandwidth`: windows of messages from one process to another or both ways, and one message at a time.

use std::collections::VecDeque;
use std::process::ExitCode;

use mq_comm::{Error as CommError, World};

use super::outgoing::{Aligned, Outgoing, memory};
use super::pingpong::one_way;
use super::rows::Row;
use super::sampling::{Clock, Samples, check, sample};
use super::{Memory, Plan};
use crate::cli::{BandwidthOptions, By};
use crate::error::Error;

/// The tag of the first size's window. Each size has its own, different from that of a ping-pong: receives
/// stay posted until the last message of their size is acknowledged, and the next message may arrive
/// before they are cancelled.
const FIRST_TAG: i32 = 16;
const ACKNOWLEDGED: i32 = 2;
/// Total bytes of the receives that are posted at a time.
const IN_FLIGHT: usize = 4 << 20;

pub(crate) fn run(options: &BandwidthOptions) -> Result<ExitCode, Error> {
    options.check().map_err(Error::Usage)?;
    let plan = Plan {
        processes: 2,
        rows: options.by.len() * options.sizes.len(),
        what: what(options),
        shared_buffers: options.shared_buffers,
        memory: {
            let from_own = u64::from(!options.shared_buffers);
            // Two or more messages of a window are received at a time, of an exchange while another is sent.
            let messages = if options.by.contains(&By::Exchange) {
                2 + from_own
            } else if options.has_windows() {
                2
            } else {
                1 + from_own
            };
            Memory::of(&options.sizes, messages)
        },
    };
    super::measured(&plan, &options.node, |world, rows| {
        for &by in &options.by {
            for (&size, tag) in options.sizes.iter().zip(FIRST_TAG..) {
                let took = message(world, options, by, size, tag)?;
                let bytes = size as f64;
                let row = Row::Bandwidth {
                    by: by.name(),
                    size,
                    window: window_of(options, by, size),
                    gb_s: bytes / took.median,
                    best: bytes / took.best,
                };
                if !rows.add(world, row)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    })
}

fn what(options: &BandwidthOptions) -> String {
    let memory = memory(options.shared_buffers);
    if options.by.contains(&By::Window) {
        format!("Windows of {} messages, from {memory}.", options.window())
    } else if options.has_windows() {
        format!(
            "Windows of up to {} messages, from {memory}.",
            options.window()
        )
    } else {
        format!("One message at a time, from {memory}.")
    }
}

/// Nanoseconds per message.
fn message(
    world: &World,
    options: &BandwidthOptions,
    by: By,
    size: usize,
    tag: i32,
) -> Result<Samples, CommError> {
    let Some(window) = window_of(options, by, size) else {
        return one_way(world, &options.node, options.shared_buffers, by, size);
    };
    let (took, messages) = if by == By::Exchange {
        (exchange(world, options, size, tag)?, 2 * window)
    } else if world.rank() == 0 {
        (send(world, options, size, tag)?, window)
    } else {
        (receive(world, options, size, tag)?, window)
    };
    Ok(Samples {
        median: took.median / f64::from(messages),
        best: took.best / f64::from(messages),
    })
}

/// Messages of a window, if there are any windows; of an exchange each way.
fn window_of(options: &BandwidthOptions, by: By, size: usize) -> Option<u32> {
    match by {
        By::Window => Some(options.window()),
        By::Exchange => Some(standing(options, size) as u32),
        By::Pingpong | By::Rewritten => None,
    }
}

/// Receives that are posted at a time.
fn standing(options: &BandwidthOptions, size: usize) -> usize {
    let window = options.window() as usize;
    window.min((IN_FLIGHT / size.max(1)).max(2))
}

fn send(
    world: &World,
    options: &BandwidthOptions,
    size: usize,
    tag: i32,
) -> Result<Samples, CommError> {
    let out = Outgoing::new(world, options.shared_buffers, size, 0)?;
    sample(world, &options.node, Clock::First, || {
        world.scope(|scope| {
            for _ in 0..options.window() {
                scope.isend(&out, 1, tag)?;
            }
            scope.wait_all()
        })?;
        world.recv(&mut [0_u8; 0], 1, ACKNOWLEDGED)?;
        Ok(())
    })
}

fn receive(
    world: &World,
    options: &BandwidthOptions,
    size: usize,
    tag: i32,
) -> Result<Samples, CommError> {
    let standing = standing(options, size);
    // One page-aligned block of memory, as in `benches/node/modes.c`.
    let mut memory = Aligned::filled(0xa5, standing * size)?;
    world.scope(|scope| {
        let mut requests = VecDeque::new();
        let mut rest = &mut memory[..];
        for _ in 0..standing {
            let (buffer, others) = rest.split_at_mut(size);
            requests.push_back(scope.irecv(buffer, 0, tag)?);
            rest = others;
        }
        let mut unchecked = standing;
        let samples = sample(world, &options.node, Clock::First, || {
            for _ in 0..options.window() {
                if let Some(oldest) = requests.pop_front() {
                    let (buffer, _) = oldest.wait()?;
                    if unchecked > 0 {
                        check(buffer, size, 0)?;
                        unchecked -= 1;
                    }
                    requests.push_back(scope.irecv(buffer, 0, tag)?);
                }
            }
            world.send(&[0_u8; 0], 0, ACKNOWLEDGED)
        })?;
        for request in requests {
            // Nothing more is sent; a cancelled receive is complete.
            drop(request.cancel());
        }
        Ok(samples)
    })
}

/// Both processes send each other a window.
fn exchange(
    world: &World,
    options: &BandwidthOptions,
    size: usize,
    tag: i32,
) -> Result<Samples, CommError> {
    let standing = standing(options, size);
    let other = 1 - world.rank();
    let out = Outgoing::new(world, options.shared_buffers, size, 0)?;
    let mut memory = Aligned::filled(0xa5, standing * size)?;
    let mut checked = false;
    sample(world, &options.node, Clock::First, || {
        world.scope(|scope| {
            let mut rest = &mut memory[..];
            for _ in 0..standing {
                let (buffer, others) = rest.split_at_mut(size);
                scope.irecv(buffer, other, tag)?;
                rest = others;
            }
            for _ in 0..standing {
                scope.isend(&out, other, tag)?;
            }
            scope.wait_all()
        })?;
        if !checked {
            for buffer in memory.chunks(size.max(1)) {
                check(buffer, size, 0)?;
            }
            checked = true;
        }
        Ok(())
    })
}
