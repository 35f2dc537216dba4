//! How processes that no launcher has handed a segment wait for each other.

use std::thread::sleep;
use std::time::{Duration, Instant};

use mq_shm::{Endpoint, Host, Process};

use super::World;
use crate::error::Error;
use crate::say::say;
use crate::transport::Transport;

/// After this time, one of the waiting processes says which one is missing.
const SAID_AFTER: Duration = Duration::from_secs(10);

/// How often deaths are looked for, at most.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Waits until all processes have come. The host is the one that made the segment, and admits the others.
///
/// # Errors
/// [`Error::Start`] if one does not come within `limit`; [`Error::Gone`] if one ends before all have
/// come.
pub(super) fn meet(world: &World, host: Option<Host>, limit: Duration) -> Result<(), Error> {
    let core = || world.inner.core();
    // Everybody's death matters.
    core().transport.want(None)?;
    let come = wait_for_all(world, host.as_ref(), limit);
    core().transport.unwant(None);
    come?;
    // Nobody goes on before the meeting place is gone: the launcher may start another program next, whose
    // processes meet at the same name.
    drop(host);
    world.barrier()
}

fn wait_for_all(world: &World, host: Option<&Host>, limit: Duration) -> Result<(), Error> {
    let has_come = |&rank: &u32| world.inner.core().transport.has_come(Process(rank));
    let begun = Instant::now();
    let mut looked = begun;
    let mut said = false;
    loop {
        if let Some(host) = host {
            host.admit()?;
        }
        let Some(missing) = (0..world.size()).find(|rank| !has_come(rank)) else {
            return Ok(());
        };
        let waited = begun.elapsed();
        if waited >= limit {
            return Err(Error::Start(too_late(missing, world.size(), limit)));
        }
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            look_for_an_end(&mut world.inner.core().transport)?;
        }
        let is_first = || (0..world.size()).find(has_come) == Some(world.rank());
        if waited >= SAID_AFTER && !said && is_first() {
            said = true;
            say(&format!(
                "rank {}: waiting for process {missing} of {} to start",
                world.rank(),
                world.size()
            ));
        }
        // Sleeps an eighth of the time waited so far: processes that come together are not delayed.
        sleep((waited / 8).clamp(Duration::from_micros(20), LOOK_EVERY));
    }
}

/// # Errors
/// [`Error::Gone`] if a process that was here has ended.
fn look_for_an_end(transport: &mut Endpoint) -> Result<(), Error> {
    transport.check_peers();
    for process in (0..transport.processes()).map(Process) {
        if let Some(how) = transport.gone(process) {
            let process = process.0;
            return Err(Error::Gone { process, how });
        }
    }
    Ok(())
}

fn too_late(missing: u32, processes: u32, limit: Duration) -> String {
    format!(
        "process {missing} of {processes} has not started within {} s (MQ_START_SECONDS): it may \
         have failed, or run another program, or be in another container",
        limit.as_secs()
    )
}
