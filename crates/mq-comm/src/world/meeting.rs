//! Processes that no launcher has handed a segment meet at a name in `/dev/shm`.

use std::thread::sleep;
use std::time::{Duration, Instant};

use mq_shm::{Mapped, Process};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::World;
use crate::error::Error;

/// After so long one of those that wait says for whom.
const SAID_AFTER: Duration = Duration::from_secs(10);

/// Waits until all processes have opened the segment of this name, and removes the name.
///
/// # Errors
/// [`Error::Start`] if one does not come within `limit`; [`Error::Gone`] if one ends before all
/// have come. The name may be there still.
pub(super) fn meet(world: &World, name: &str, limit: Duration) -> Result<(), Error> {
    wait_for_all(world, name, limit)?;
    world.barrier()?;
    if world.rank() == 0 {
        Mapped::forget(name)?;
    }
    // Nobody goes on before the name is gone: the launcher may start another program next, whose
    // processes meet at the same.
    world.barrier()
}

/// Signals that end the process, held back in this thread: what waits at a name removes it first.
struct Held {
    before: SigSet,
    come: SignalFd,
}

impl Held {
    /// Nothing if the system does not do that, or for a thread that it has nothing to say to.
    fn new() -> Option<Self> {
        let ending = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
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

fn wait_for_all(world: &World, name: &str, limit: Duration) -> Result<(), Error> {
    let missing = || world.inner.core().transport.first_missing();
    let begun = Instant::now();
    let mut said = false;
    let mut held = None;
    while let Some(process) = missing() {
        if held.is_none() {
            held = Held::new();
        }
        if let Some(signal) = held.as_ref().and_then(Held::come) {
            let _ = Mapped::forget(name);
            drop(held);
            // It ends the process here, unless the program has other plans.
            let _ = raise(signal);
            return Err(Error::Start(format!(
                "{signal} came before process {} of {} had started",
                process.0,
                world.size()
            )));
        }
        let waited = begun.elapsed();
        if waited >= limit {
            return Err(Error::Start(too_late(process, world.size(), limit)));
        }
        // The first that is here says it.
        if waited >= SAID_AFTER && !said && (world.rank() == 0 || process == Process(0)) {
            said = true;
            eprintln!(
                "mq: rank {}: waiting for process {} of {} to start",
                world.rank(),
                process.0,
                world.size()
            );
        }
        // As long again as it has been, so that those that come together are not kept.
        sleep((waited / 8).clamp(Duration::from_micros(20), Duration::from_millis(20)));
    }
    Ok(())
}

fn too_late(process: Process, processes: u32, limit: Duration) -> String {
    format!(
        "process {} of {processes} has not started within {} s (MQ_START_SECONDS): it may have failed, or run \
         another program, or look in another /dev/shm",
        process.0,
        limit.as_secs()
    )
}
