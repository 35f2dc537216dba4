//! How processes that no launcher has handed a segment wait for each other.

use std::thread::sleep;
use std::time::{Duration, Instant};

use mq_shm::{Endpoint, Host, Process};

use super::World;
use super::launch::Said;
use crate::error::{Error, NoticedBy, StartCause};
use crate::say::say;
use crate::transport::Transport;

/// After this time, one of the waiting processes says which one is missing.
const SAID_AFTER: Duration = Duration::from_secs(10);

/// How often deaths are looked for, at most.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Waits until all processes have come, of which their launcher has `said` something. The host is the one that made
/// the segment, and admits the others.
///
/// # Errors
/// [`Error::Start`] if one does not come within `limit`; [`Error::Gone`] if one ends before all have
/// come.
pub(super) fn meet(
    world: &World,
    host: Option<Host>,
    said: Said,
    limit: Duration,
) -> Result<(), Error> {
    let core = || world.inner.core();
    // Everybody's death matters.
    core().transport.want(None)?;
    let come = wait_for_all(world, host.as_ref(), said, limit);
    core().transport.unwant(None);
    come?;
    // Nobody goes on before the meeting place is gone: the launcher may start another program next, whose
    // processes meet at the same name.
    drop(host);
    world.barrier()
}

fn wait_for_all(
    world: &World,
    host: Option<&Host>,
    said: Said,
    limit: Duration,
) -> Result<(), Error> {
    let has_come = |&rank: &u32| world.inner.core().transport.has_come(Process(rank));
    let begun = Instant::now();
    let mut looked = begun;
    let mut is_told = false;
    loop {
        if let Some(host) = host {
            host.admit()?;
        }
        let Some(missing) = (0..world.size()).find(|rank| !has_come(rank)) else {
            return Ok(());
        };
        let waited = begun.elapsed();
        if waited >= limit {
            let message = too_late(missing, world.size(), said, limit);
            return Err(Error::start(StartCause::NotInTime, message));
        }
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            look_for_an_end(&mut world.inner.core().transport)?;
        }
        let is_first = || (0..world.size()).find(has_come) == Some(world.rank());
        if waited >= SAID_AFTER && !is_told && is_first() {
            is_told = true;
            say(&format!(
                "rank {}: waiting for process {missing} of {} ({}) to start; it may be {}",
                world.rank(),
                world.size(),
                said.size_in,
                elsewhere(said)
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
            let by = NoticedBy::Start;
            return Err(Error::Gone { process, how, by });
        }
    }
    Ok(())
}

fn too_late(missing: u32, processes: u32, said: Said, limit: Duration) -> String {
    format!(
        "process {missing} of {processes} has not started within {} s (MQ_START_SECONDS): it may have failed, or run \
         another program, or be {}; {} is {processes}: a program that is to run alone, as in an interactive shell, \
         is started with `mq run -n 1`",
        limit.as_secs(),
        elsewhere(said),
        said.size_in
    )
}

/// Where a process may be that does not come.
const fn elsewhere(said: Said) -> &'static str {
    if said.all_here {
        "in another container"
    } else {
        "in another container or on another machine"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_come_may_be_on_another_machine_unless_the_launcher_says_no() {
        let told = |all_here| {
            let size_in = "SLURM_STEP_NUM_TASKS";
            let limit = Duration::from_secs(120);
            too_late(3, 4, Said { size_in, all_here }, limit)
        };
        let begin = "process 3 of 4 has not started within 120 s (MQ_START_SECONDS): it may have failed, or run \
                     another program, or be in another container";
        let end = "; SLURM_STEP_NUM_TASKS is 4: a program that is to run alone, as in an interactive shell, is \
                   started with `mq run -n 1`";
        assert_eq!(told(true), format!("{begin}{end}"));
        assert_eq!(told(false), format!("{begin} or on another machine{end}"));
    }
}
