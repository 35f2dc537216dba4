//! Particles that wander between processes: structs are sent as their bytes, lists of unknown length are received
//! after a matched probe, parameters are broadcast, parts of the processes have a communicator of their own, and an
//! option is set in code.
//!
//! Run it: `cargo build --release -p mq-examples --examples`, then `mq run -n 4 -- target/release/examples/particles`

use mq_comm::zerocopy::{FromBytes, Immutable, IntoBytes};
use mq_comm::{Communicator, Error, Options, Refused, Source, World};

/// What all processes have to know.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "mq_comm::zerocopy")]
#[repr(C)]
struct Setup {
    particles: u64,
    steps: u64,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "mq_comm::zerocopy")]
#[repr(C)]
struct Particle {
    /// Between 0 and 1. Each process has an equal part of that.
    at: f64,
    speed: f64,
    number: u64,
}

/// Tags of lists of particles begin here, one for each step: a process may be a step ahead of others.
const FIRST_STEP: i32 = 100;
const COUNT: i32 = 1;

fn main() -> Result<(), Error> {
    // The environment's options, but for one: lists of some thousand particles are sent with their bytes.
    let (options, ignored) = Options::from_environment();
    ignored.iter().for_each(|ignored| eprintln!("{ignored}"));
    World::run_with(&options.with(|o| o.eager_limit = 64 << 10), wander)
}

fn wander(world: &World) -> Result<(), Error> {
    let mut setup = Setup {
        particles: 0,
        steps: 0,
    };
    if world.rank() == 0 {
        setup = Setup {
            particles: 10_000,
            steps: 20,
        };
    }
    world.broadcast(std::slice::from_mut(&mut setup), 0)?;

    let Setup { particles, steps } = setup;
    let everywhere = (0..particles).map(|number| Particle {
        at: number as f64 / particles as f64,
        speed: (number % 7) as f64 / 100.0,
        number,
    });
    let mut own: Vec<Particle> = everywhere
        .filter(|particle| home(world, particle) == world.rank())
        .collect();
    for tag in (FIRST_STEP..).take(steps as usize) {
        for particle in &mut own {
            particle.at = (particle.at + particle.speed).fract();
        }
        own = exchanged(world, &own, tag)?;
    }
    count(world, &own, particles)
}

/// The rank that has the place where a particle is.
fn home(ranks: &Communicator, particle: &Particle) -> u32 {
    (particle.at * f64::from(ranks.size())) as u32
}

/// Sends each rank a list of what has moved there, and returns what is here now.
fn exchanged(
    ranks: &Communicator,
    particles: &[Particle],
    tag: i32,
) -> Result<Vec<Particle>, Error> {
    let mut lists = vec![Vec::new(); ranks.size() as usize];
    for particle in particles {
        lists[home(ranks, particle) as usize].push(*particle);
    }
    let mut here = std::mem::take(&mut lists[ranks.rank() as usize]);
    let mut sends = ranks.request_set();
    for (rank, list) in (0..).zip(lists) {
        if rank != ranks.rank() {
            sends.add(ranks.isend(list, rank, tag)?);
        }
    }
    for _ in 1..ranks.size() {
        // Whoever is first: the message is taken out of the queue, and its length is known before there is a buffer.
        let message = ranks.mprobe(Source::Any, tag)?;
        here.extend(
            message
                .recv_vec::<Particle>()
                .map_err(Refused::into_error)?,
        );
    }
    sends.wait_all()?.into_results()?;
    Ok(here)
}

/// Counts the particles of each half of the processes, and checks that none is lost.
fn count(ranks: &Communicator, own: &[Particle], particles: u64) -> Result<(), Error> {
    let is_upper = 2 * ranks.rank() >= ranks.size();
    let half = ranks.split(Some(is_upper.into()), 0)?;
    let half = half.expect("each rank has named its part");
    let mut counted = [0, 0];
    for particle in own {
        counted[0] += 1;
        counted[1] += particle.number;
    }
    if half.rank() != 0 {
        return half.send(&counted, 0, COUNT);
    }
    let mut theirs = [0_u64; 2];
    for _ in 1..half.size() {
        half.recv(&mut theirs, Source::Any, COUNT)?;
        counted = [counted[0] + theirs[0], counted[1] + theirs[1]];
    }
    let name = if is_upper { "upper" } else { "lower" };
    println!("{} particles in the {name} half", counted[0]);
    if ranks.rank() != 0 {
        return ranks.send(&counted, 0, COUNT);
    }
    if ranks.size() > 1 {
        // The other half's first rank.
        ranks.recv(&mut theirs, Source::Any, COUNT)?;
        counted = [counted[0] + theirs[0], counted[1] + theirs[1]];
    }
    assert_eq!(counted, [particles, particles * (particles - 1) / 2]);
    println!("{particles} particles, none is lost");
    Ok(())
}
