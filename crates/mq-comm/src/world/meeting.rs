//! Processes that no launcher has handed a segment meet at a name in `/dev/shm`.

use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::thread::sleep;
use std::time::{Duration, Instant};

use mq_shm::{Endpoint, Mapped, Process, ShmError};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::World;
use crate::error::Error;
use crate::transport::Transport;

/// After so long one of those that wait says for whom.
const SAID_AFTER: Duration = Duration::from_secs(10);

/// How often deaths are looked for, and signals.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Signals by which processes are ended, held back in this thread while there is a name to be
/// removed. Those that are ignored stay so.
pub(super) struct Held {
    before: SigSet,
    come: SignalFd,
}

impl Held {
    /// Nothing if the system does not do that.
    pub(super) fn new() -> Option<Self> {
        let ending = [
            Signal::SIGINT,
            Signal::SIGTERM,
            Signal::SIGHUP,
            Signal::SIGQUIT,
        ];
        let ignored = ignored();
        // What the program has blocked itself it hears of in its own way.
        let blocked = SigSet::thread_get_mask().ok()?;
        let ending = ending.into_iter();
        let ending = ending.filter(|&signal| !ignored(signal) && !blocked.contains(signal));
        let ending = SigSet::from_iter(ending);
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let come = SignalFd::with_flags(&ending, flags).ok()?;
        let before = ending.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok()?;
        Some(Self { before, come })
    }

    /// One that has come.
    fn come(&self) -> Option<Signal> {
        let info = self.come.read_signal().ok()??;
        Signal::try_from(i32::try_from(info.ssi_signo).ok()?).ok()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // What was allowed before is allowed again.
        let _ = self.before.thread_set_mask();
    }
}

/// Which signals this process was told to ignore.
fn ignored() -> impl Fn(Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    move |signal| mask.unwrap_or(0) >> (signal as i32 - 1) & 1 == 1
}

/// The name of the segment at which processes meet.
pub(super) struct Name<'a> {
    text: &'a str,
    /// What has the name, as long as nobody has removed it.
    file: OwnedFd,
}

impl<'a> Name<'a> {
    /// That of a segment.
    pub(super) fn of(text: &'a str, memory: &Mapped) -> Result<Self, Error> {
        let file = memory.file().try_clone_to_owned();
        let file = file.map_err(|source| ShmError::System {
            what: format!("looking at {text} in /dev/shm"),
            source,
        })?;
        Ok(Self { text, file })
    }

    /// Removes it, unless another has, who fails or is done: another program of the same launcher may
    /// have made it anew.
    pub(super) fn remove(&self) -> Result<(), Error> {
        match Mapped::forget_of(self.text, self.file.as_fd()) {
            // In between.
            Err(ShmError::System { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(()),
            removed => Ok(removed.map(|_| ())?),
        }
    }
}

/// Waits until all processes have opened the segment of this name, and removes the name. A signal
/// that is held back meanwhile does its work here, with the name gone.
///
/// # Errors
/// [`Error::Start`] if one does not come within `limit`, or a signal came and left the process
/// alive; [`Error::Gone`] if one ends before all have come. The name may be there still.
pub(super) fn meet(
    world: &World,
    name: &Name<'_>,
    limit: Duration,
    mut held: Option<Held>,
) -> Result<(), Error> {
    let core = || world.inner.core();
    // Everybody's death matters.
    core().transport.want(None)?;
    let come = wait_for_all(world, name, limit, &mut held);
    core().transport.unwant(None);
    come?;
    if world.rank() == 0 {
        name.remove()?;
    }
    drop(held);
    // Nobody goes on before the name is gone: the launcher may start another program next, whose
    // processes meet at the same.
    world.barrier()
}

fn wait_for_all(
    world: &World,
    name: &Name<'_>,
    limit: Duration,
    held: &mut Option<Held>,
) -> Result<(), Error> {
    let has_come = |&rank: &u32| world.inner.core().transport.has_come(Process(rank));
    let begun = Instant::now();
    let mut looked = begun;
    let mut said = false;
    loop {
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
            if let Some(signal) = held.as_ref().and_then(Held::come) {
                let _ = name.remove();
                *held = None;
                // It ends the process here, unless the program has other plans.
                let _ = raise(signal);
                return Err(Error::Start(format!(
                    "{signal} came before process {missing} of {} had started",
                    world.size()
                )));
            }
        }
        let is_first = || (0..world.size()).find(has_come) == Some(world.rank());
        if waited >= SAID_AFTER && !said && is_first() {
            said = true;
            eprintln!(
                "mq: rank {}: waiting for process {missing} of {} to start",
                world.rank(),
                world.size()
            );
        }
        // As long again as it has been, so that those that come together are not kept.
        sleep((waited / 8).clamp(Duration::from_micros(20), LOOK_EVERY));
    }
}

/// # Errors
/// [`Error::Gone`] if a process that was here has ended.
fn look_for_an_end(transport: &mut Endpoint) -> Result<(), Error> {
    transport.check_peers()?;
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
         have failed, or run another program, or look in another /dev/shm",
        limit.as_secs()
    )
}
