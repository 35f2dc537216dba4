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
use std::io::IsTerminal;
use std::process::ExitCode;

use mq_comm::World;

use self::cores::Places;
use self::rows::Rows;
use crate::cli::{Bind, Format, Label, NodeOptions, RunOptions};
use crate::error::Error;
use crate::progress::ByLines;

pub(crate) use self::bandwidth::run as bandwidth;
pub(crate) use self::halo::run as halo;
pub(crate) use self::pingpong::run as pingpong;
pub(crate) use self::rate::run as rate;

/// What a command is about to do.
struct Plan {
    processes: u32,
    /// Rows to come.
    rows: usize,
    /// What is the same in all rows and stands in none, as a sentence.
    what: String,
}

/// Does a measurement with the planned processes, of which this is one, or that this one starts.
fn measured(
    plan: &Plan,
    options: &NodeOptions,
    measure: impl FnOnce(&World, &mut Rows) -> Result<(), mq_comm::Error>,
) -> Result<ExitCode, Error> {
    let processes = plan.processes;
    if options.cores.is_some() {
        cores::check(processes, options)?;
    }
    if World::size_to_be().map_err(failed)? == 1 && processes > 1 {
        prepare_plot(options)?;
        // Its ranks say what is wrong with the environment.
        return start(plan, options);
    }
    let world = World::init().map_err(failed)?;
    if world.size() != processes {
        let size = world.size();
        let message = format!("{processes} processes are needed, {size} were started");
        return Err(Error::Usage(message));
    }
    if world.rank() == 0 {
        // One alone: what one looks for another may be making.
        prepare_plot(options)?;
    }
    let places = Places::of(options)?;
    let cores = places.bind(&world, processes).map_err(failed)?;
    let mut rows = Rows::new(options, places, cores, world.rank() == 0);
    measure(&world, &mut rows).map_err(failed)?;
    rows.finish(&plan.what)?;
    Ok(ExitCode::SUCCESS)
}

fn prepare_plot(options: &NodeOptions) -> Result<(), Error> {
    options.plot.as_deref().map_or(Ok(()), crate::plot::prepare)
}

/// Runs this very command once in each process.
fn start(plan: &Plan, options: &NodeOptions) -> Result<ExitCode, Error> {
    let here = |source| Error::Start {
        name: "mq".into(),
        source,
    };
    let mut program = vec![std::env::current_exe().map_err(here)?.into_os_string()];
    program.extend(std::env::args_os().skip(1).collect::<Vec<OsString>>());
    let run = RunOptions {
        processes: plan.processes,
        label: Label::Never,
        keep_going: false,
        grace: std::time::Duration::from_secs(2),
        timeout: None,
        bind: Bind::None,
        cores: None,
        program,
    };
    crate::run::run_with(&run, bar(plan, options.format))
}

/// A bar that advances by rows; none where they are seen themselves.
fn bar(plan: &Plan, format: Format) -> Option<ByLines> {
    let head = match format {
        Format::Table => rows::HEAD_LINES,
        Format::Json => 0,
    };
    let seen = std::io::stdout().is_terminal();
    (!seen).then(|| ByLines::new(head, plan.rows as u64, "measuring"))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Usage(error.to_string())
}
