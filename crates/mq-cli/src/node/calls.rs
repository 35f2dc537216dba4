//! `mq calls`: what other calls take: collectives, exchanges, and a process that serves the others.

use std::process::ExitCode;

use mq_comm::{Error as CommError, Source, Status, World};

use super::outgoing::{Aligned, write};
use super::rows::Row;
use super::sampling::{Clock, Samples, check, sample};
use super::{Memory, Plan};
use crate::cli::{Call, CallsOptions, NodeOptions};
use crate::error::Error;

const QUESTION: i32 = 1;
const ANSWER: i32 = 2;
const EXCHANGE: i32 = 3;

pub(crate) fn run(options: &CallsOptions) -> Result<ExitCode, Error> {
    let wanted: Vec<(Call, usize)> = (options.calls.iter())
        .flat_map(|&call| {
            sizes_of(call, &options.sizes)
                .iter()
                .map(move |&size| (call, size))
        })
        .collect();
    // Of each message one buffer to send from and one to receive into.
    let messages = (options.calls.iter()).map(|&call| match call {
        Call::Barrier => 0,
        Call::Alltoall => 2 * u64::from(options.processes),
        _ => 2,
    });
    let memory = Memory::of(&options.sizes, messages.max().unwrap_or(0));
    let plan = Plan {
        processes: options.processes,
        rows: wanted.len(),
        what: format!("{} processes.", options.processes),
        shared_buffers: false,
        memory: Memory {
            processes: options.processes,
            chosen_by: "--sizes or --processes",
            ..memory
        },
    };
    super::measured(&plan, &options.node, |world, rows| {
        for &(call, size) in &wanted {
            let round = measure(world, &options.node, call, size)?;
            let row = Row::Calls {
                call: call.name(),
                ranks: options.processes,
                size,
                ns: round.median,
                best: round.best,
            };
            if !rows.add(world, row)? {
                return Ok(());
            }
        }
        Ok(())
    })
}

/// A barrier has no bytes.
fn sizes_of(call: Call, sizes: &[usize]) -> &[usize] {
    match call {
        Call::Barrier => &[0],
        _ => sizes,
    }
}

/// The number of a message among all, for its pattern.
fn message(from: u32, to: u32) -> usize {
    (from * 61 + to) as usize
}

/// The buffers of a process, and whether what comes is compared.
struct Work<'a> {
    world: &'a World,
    size: usize,
    out: Aligned,
    into: Aligned,
    checks: bool,
}

fn measure(
    world: &World,
    options: &NodeOptions,
    call: Call,
    size: usize,
) -> Result<Samples, CommError> {
    let places = match call {
        Call::Alltoall => world.size() as usize,
        _ => 1,
    };
    let mut work = Work {
        world,
        size,
        out: Aligned::filled(0, size * places)?,
        into: Aligned::filled(0xa5, size * places)?,
        checks: true,
    };
    let mut round = 0;
    // Each rank is the root of a broadcast that is checked.
    while round < world.size() {
        work.once(call, round)?;
        round += 1;
    }
    work.checks = false;
    sample(world, options, Clock::First, || {
        work.once(call, round)?;
        round = round.wrapping_add(1);
        Ok(())
    })
}

impl Work<'_> {
    fn once(&mut self, call: Call, round: u32) -> Result<(), CommError> {
        let (rank, size) = (self.world.rank(), self.world.size());
        match call {
            Call::Barrier => self.world.barrier(),
            Call::Broadcast => self.broadcast(round % size),
            Call::Sendrecv => self.shift((rank + 1) % size, (rank + size - 1) % size),
            Call::Itself => self.shift(rank, rank),
            Call::Alltoall => self.all_to_all(),
            Call::Recv | Call::Probe | Call::Iprobe | Call::Test if rank == 0 => self.serve(call),
            Call::Recv | Call::Probe | Call::Iprobe | Call::Test => self.ask(),
        }
    }

    /// Puts the pattern of a message in the `at`th place to send from.
    fn fill(&mut self, at: usize, number: usize) {
        if self.checks {
            write(&mut self.out[at * self.size..][..self.size], number);
        }
    }

    /// Compares what is in the `at`th place to receive into, and spoils it for the next time.
    fn check(&mut self, at: usize, number: usize) -> Result<(), CommError> {
        if self.checks {
            let place = &mut self.into[at * self.size..][..self.size];
            check(place, self.size, number)?;
            place.fill(0xa5);
        }
        Ok(())
    }

    /// From and into one buffer, as in MPI: who is the root has mostly just received what it sends.
    fn broadcast(&mut self, root: u32) -> Result<(), CommError> {
        if self.checks && self.world.rank() == root {
            write(&mut self.into, message(root, 0));
        }
        self.world.broadcast(&mut self.into, root)?;
        self.check(0, message(root, 0))
    }

    /// To one rank, and from another.
    fn shift(&mut self, to: u32, from: u32) -> Result<(), CommError> {
        let rank = self.world.rank();
        self.fill(0, message(rank, to));
        self.world
            .sendrecv(&self.out, to, EXCHANGE, &mut self.into, from, EXCHANGE)?;
        self.check(0, message(from, rank))
    }

    /// Each rank to each, itself included, receives first.
    fn all_to_all(&mut self) -> Result<(), CommError> {
        let (rank, size) = (self.world.rank(), self.world.size());
        for to in 0..size {
            self.fill(to as usize, message(rank, to));
        }
        let (world, bytes) = (self.world, self.size);
        let (out, into) = (&self.out, &mut self.into);
        world.scope(|scope| {
            let mut rest = &mut into[..];
            for from in 0..size {
                let (place, others) = rest.split_at_mut(bytes);
                scope.irecv(place, from, EXCHANGE)?;
                rest = others;
            }
            for number in 0..size {
                let to = (rank + number) % size;
                scope.isend(&out[to as usize * bytes..][..bytes], to, EXCHANGE)?;
            }
            scope.wait_all()
        })?;
        (0..size).try_for_each(|from| self.check(from as usize, message(from, rank)))
    }

    /// Rank 0 answers as many questions as there are other ranks.
    fn serve(&mut self, call: Call) -> Result<(), CommError> {
        for _ in 1..self.world.size() {
            let from = self.hear(call)?.source();
            self.check(0, message(from, 0))?;
            self.fill(0, message(0, from));
            self.world.send(&self.out, from, ANSWER)?;
        }
        Ok(())
    }

    /// Receives a question from anybody, found in one of four ways.
    fn hear(&mut self, call: Call) -> Result<Status, CommError> {
        let (world, into) = (self.world, &mut self.into);
        match call {
            Call::Probe => {
                let found = world.probe(Source::Any, QUESTION)?;
                world.recv(into, found.source(), QUESTION)
            }
            Call::Iprobe => loop {
                if let Some(found) = world.iprobe(Source::Any, QUESTION)? {
                    return world.recv(into, found.source(), QUESTION);
                }
            },
            Call::Test => world.scope(|scope| {
                let receive = scope.irecv(into, Source::Any, QUESTION)?;
                while !receive.test()? {}
                receive.wait().map(|(_, status)| status)
            }),
            _ => world.recv(into, Source::Any, QUESTION),
        }
    }

    fn ask(&mut self) -> Result<(), CommError> {
        let rank = self.world.rank();
        self.fill(0, message(rank, 0));
        self.world.send(&self.out, 0, QUESTION)?;
        self.world.recv(&mut self.into, 0, ANSWER)?;
        self.check(0, message(0, rank))
    }
}
