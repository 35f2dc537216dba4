//! Which cores the processes run on, and what lies between two of them, which affects the cost of a
//! message more than anything else.

use std::fs;
use std::io;

use mq_comm::{Error as CommError, StartCause, World};
use serde::Serialize;

use crate::binding::{self, CoreList};
use crate::cli::NodeOptions;
use crate::error::Error;

/// Tag of a message that says where a rank runs.
const TAG: i32 = (1 << 20) + 1;

/// Checks that the requested cores exist.
pub(super) fn check(processes: u32, options: &NodeOptions) -> Result<(), Error> {
    let cores = binding::cores(processes, options.cores.as_ref());
    cores.map(drop).map_err(|error| refused(&error))
}

fn refused(error: &io::Error) -> Error {
    Error::Usage(format!("--cores: {error}"))
}

/// Where the processes may run; determined before they are bound, since each may then use only one
/// core.
pub(super) struct Places {
    /// None if the scheduler decides.
    usable: Option<CoreList>,
    /// Whether these were requested.
    wanted: bool,
}

impl Places {
    pub(super) fn of(options: &NodeOptions) -> Result<Self, Error> {
        let wanted = options.cores.as_ref();
        let usable = match binding::usable(wanted) {
            _ if options.unbound => None,
            Ok(usable) => Some(usable),
            Err(error) if wanted.is_some() => return Err(refused(&error)),
            Err(_) => None,
        };
        let wanted = wanted.is_some();
        Ok(Self { usable, wanted })
    }

    /// Binds the first `processes` of the ranks, which share cores only if there are too few, and reports
    /// to rank 0; the other ranks stay where they are. On ranks other than 0 the result holds only
    /// their own core.
    pub(super) fn bind(&self, world: &World, processes: u32) -> Result<Cores, CommError> {
        let cores = self.usable.as_ref().map(|usable| usable.deal(processes));
        let own = cores.and_then(|cores| cores.get(world.rank() as usize).copied());
        // If the system does not allow a binding that nobody requested, the scheduler decides.
        if let Some(core) = own
            && let Err(error) = binding::bind(core)
            && self.wanted
        {
            return Err(CommError::Start {
                cause: StartCause::Other,
                message: format!("--cores: {error}"),
            });
        }
        Cores::gathered(world, processes)
    }
}

/// The core of each rank that is bound to one.
#[derive(Serialize, Clone)]
#[serde(transparent)]
pub(super) struct Cores(Vec<Option<usize>>);

impl Cores {
    /// The cores of the first `processes` of the ranks.
    fn gathered(world: &World, processes: u32) -> Result<Self, CommError> {
        let own = binding::bound_to();
        if world.rank() >= processes {
            return Ok(Self(vec![own]));
        }
        if world.rank() != 0 {
            let core = own.map_or(-1, |core| core as i64);
            world.send(&[core], 0, TAG)?;
            return Ok(Self(vec![own]));
        }
        let mut cores = vec![own];
        for rank in 1..processes {
            let mut core = [0_i64];
            world.recv(&mut core, rank, TAG)?;
            cores.push(usize::try_from(core[0]).ok());
        }
        Ok(Self(cores))
    }

    /// The number of ranks.
    pub(super) const fn ranks(&self) -> usize {
        self.0.len()
    }

    /// The cores as `--cores` takes them; a dash if the scheduler chooses.
    pub(super) fn list(&self) -> String {
        match self.known() {
            None => "-".into(),
            Some(known) if known.is_sorted_by(|a, b| a < b) => CoreList::from(known).to_string(),
            // Shared cores are clearer when listed one by one.
            Some(known) => known
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(","),
        }
    }

    /// The cores, if every process is bound to one.
    fn known(&self) -> Option<Vec<usize>> {
        self.0.iter().copied().collect()
    }

    /// What the cores of two processes have in common.
    pub(super) fn between(&self) -> Option<&'static str> {
        match self.known()?[..] {
            [one, other] if one != other => between(one, other),
            _ => None,
        }
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        let Some(known) = self.known() else {
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
    let caches: Vec<bool> = (2..=4)
        .filter_map(|index| same(&format!("cache/index{index}/shared_cpu_list")))
        .collect();
    Some(if same("topology/thread_siblings_list")? {
        "threads of one core"
    } else if caches.contains(&true) {
        "cores that share a cache"
    } else if same("topology/physical_package_id")? {
        match caches[..] {
            // Some machines do not report their caches.
            [] => "cores of one socket",
            _ => "cores of one socket that share no cache",
        }
    } else {
        "cores of two sockets"
    })
}
