//! Which cores the processes run on, and what lies between two of them: more than anything else that
//! decides what a message takes.

use std::fs;
use std::io;

use mq_comm::World;
use serde::Serialize;

use crate::binding;
use crate::cli::NodeOptions;
use crate::error::Error;

/// Says where a rank runs.
const TAG: i32 = (1 << 20) + 1;

/// Whether the cores that were asked for are there.
pub(super) fn check(processes: u32, options: &NodeOptions) -> Result<(), Error> {
    let cores = binding::cores(processes, options.cores.as_ref());
    cores.map(drop).map_err(|error| refused(&error))
}

fn refused(error: &io::Error) -> Error {
    Error::Usage(format!("--cores: {error}"))
}

/// The core of each rank, of those that are bound to one.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Cores(Vec<Option<usize>>);

impl Cores {
    /// Binds each process to its core, as the options say, and tells rank 0 about it. On the other
    /// ranks only their own core is in the answer.
    pub(super) fn bound(world: &World, options: &NodeOptions) -> Result<Self, Error> {
        let rank = world.rank() as usize;
        if !options.unbound {
            let wanted = options.cores.as_ref();
            let bound =
                binding::cores(world.size(), wanted).and_then(|cores| binding::bind(cores[rank]));
            if let (Some(_), Err(error)) = (wanted, bound) {
                return Err(refused(&error));
            }
            // Where the system does not permit what nobody asked for, the scheduler decides.
        }
        Self::gathered(world).map_err(super::failed)
    }

    fn gathered(world: &World) -> Result<Self, mq_comm::Error> {
        let own = binding::bound_to();
        if world.rank() != 0 {
            let core = own.map_or(-1, |core| core as i64);
            world.send(&[core], 0, TAG)?;
            return Ok(Self(vec![own]));
        }
        let mut cores = vec![own];
        for rank in 1..world.size() {
            let mut core = [0_i64];
            world.recv(&mut core, rank, TAG)?;
            cores.push(usize::try_from(core[0]).ok());
        }
        Ok(Self(cores))
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        let known: Option<Vec<usize>> = self.0.iter().copied().collect();
        let Some(known) = known else {
            return "The system's scheduler chooses the cores of the processes.".into();
        };
        let numbers: Vec<String> = known.iter().map(ToString::to_string).collect();
        let numbers = numbers.join(", ");
        match known[..] {
            [one, ref others @ ..] if others.iter().all(|other| *other == one) => {
                format!("All processes on core {one}.")
            }
            [one, other] => match between(one, other) {
                Some(between) => format!("Ranks on cores {numbers}: {between}."),
                None => format!("Ranks on cores {numbers}."),
            },
            _ => format!("Ranks on cores {numbers}."),
        }
    }
}

/// What two cores, as the system numbers them, have in common.
fn between(one: usize, other: usize) -> Option<&'static str> {
    let same = |file: &str| -> Option<bool> {
        let read = |core| fs::read_to_string(format!("/sys/devices/system/cpu/cpu{core}/{file}"));
        Some(read(one).ok()? == read(other).ok()?)
    };
    let shared_cache = (2..=4)
        .filter_map(|index| same(&format!("cache/index{index}/shared_cpu_list")))
        .any(|same| same);
    Some(if same("topology/thread_siblings_list")? {
        "threads of one core"
    } else if shared_cache {
        "cores that share a cache"
    } else if same("topology/physical_package_id")? {
        "cores of one socket that share no cache"
    } else {
        "cores of two sockets"
    })
}
