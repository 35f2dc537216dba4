//! Measurements inside one node: latency, bandwidth, message rate and halo exchange over `mq-comm`.
//!
//! What is measured, and how, is written in `benches/node/README.md`, whose MPI program does the
//! same.

mod bandwidth;
mod cores;
mod halo;
mod outgoing;
mod pingpong;
mod rate;
mod rows;
mod sampling;

use std::ffi::OsString;
use std::process::ExitCode;

use mq_comm::World;

use self::cores::Cores;
use self::rows::Rows;
use crate::cli::{Bind, Label, NodeOptions, RunOptions};
use crate::error::Error;

pub(crate) use self::bandwidth::run as bandwidth;
pub(crate) use self::halo::run as halo;
pub(crate) use self::pingpong::run as pingpong;
pub(crate) use self::rate::run as rate;

/// Does a measurement with `processes` processes, of which this is one, or that this one starts.
fn measured(
    processes: u32,
    options: &NodeOptions,
    measure: impl FnOnce(&World, &mut Rows) -> Result<(), mq_comm::Error>,
) -> Result<ExitCode, Error> {
    if let Some(path) = &options.plot {
        crate::plot::prepare(path)?;
    }
    if options.cores.is_some() {
        cores::check(processes, options)?;
    }
    if World::size_to_be().map_err(failed)? == 1 && processes > 1 {
        // Its ranks say what is wrong with the environment.
        return start(processes);
    }
    let world = World::init().map_err(failed)?;
    if world.size() != processes {
        let size = world.size();
        let message = format!("{processes} processes are needed, {size} were started");
        return Err(Error::Usage(message));
    }
    let cores = Cores::bound(&world, options)?;
    let mut rows = Rows::new(options, cores, world.rank() == 0);
    measure(&world, &mut rows).map_err(failed)?;
    rows.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Runs this very command once in each process.
fn start(processes: u32) -> Result<ExitCode, Error> {
    let here = |source| Error::Start {
        name: "mq".into(),
        source,
    };
    let mut program = vec![std::env::current_exe().map_err(here)?.into_os_string()];
    program.extend(std::env::args_os().skip(1).collect::<Vec<OsString>>());
    crate::run::run(&RunOptions {
        processes,
        label: Label::Never,
        keep_going: false,
        grace: std::time::Duration::from_secs(2),
        timeout: None,
        bind: Bind::None,
        cores: None,
        program,
    })
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Usage(error.to_string())
}
