//! Signals that ask for an end while a command runs.

#![expect(
    clippy::disallowed_types,
    reason = "what a signal handler looks at, and no data that threads share"
)]

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

const HELD: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// What comes so soon after a signal says the same: `timeout` sends it to the process and to its
/// group, and the command may end in between.
const THE_SAME: Duration = Duration::from_secs(1);

/// While this lives, Ctrl-C, SIGTERM and SIGHUP end the command alone, and its traces are still
/// collected: batch systems and `timeout` send SIGTERM when the time is over. Afterwards they end
/// `mq` as ever.
pub(super) struct Interrupts {
    deadly: Arc<AtomicBool>,
    signals: Option<Signals>,
    /// One has come.
    interrupted: bool,
}

impl Interrupts {
    /// Holds interrupts from now on.
    pub(super) fn held() -> Self {
        let deadly = Arc::new(AtomicBool::new(false));
        let mut held = HELD.to_vec();
        held.retain(|&signal| !is_ignored(signal));
        for &signal in &held {
            // A handler, because the command would inherit that the signal is ignored. Without it
            // the signal ends `mq` too, and the traces stay as they were written.
            let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&deadly));
        }
        let signals = Signals::new(held).ok();
        Self {
            deadly,
            signals,
            interrupted: false,
        }
    }

    /// Waits for the end of the command, and passes on to it what comes.
    pub(super) fn wait(&mut self, mut command: Child) -> io::Result<ExitStatus> {
        let Some(mut signals) = self.signals.take() else {
            return command.wait();
        };
        let handle = signals.handle();
        std::thread::scope(|scope| {
            let number = command.id();
            let passing = scope.spawn(move || {
                let mut any = false;
                for signal in &mut signals {
                    any = true;
                    pass_on(signal, number);
                }
                any
            });
            // Its number is its own until it has been waited for.
            let ended = until_ended(number);
            handle.close();
            self.interrupted = passing.join().unwrap_or(true);
            ended
        })?;
        command.wait()
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        let deadly = Arc::clone(&self.deadly);
        if !self.interrupted {
            return deadly.store(true, Ordering::SeqCst);
        }
        std::thread::spawn(move || {
            std::thread::sleep(THE_SAME);
            deadly.store(true, Ordering::SeqCst);
        });
    }
}

/// What `nohup` has ignored stays so, here and in the command.
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    crate::run::ignored()(signal)
}

#[cfg(target_os = "linux")]
fn pass_on(signal: i32, command: u32) {
    use rustix::process::{Pid, Signal, kill_process};

    // Ctrl-C goes to all in the foreground of a terminal, and twice would mean something else to
    // many an `mpirun`.
    if signal == SIGINT && is_in_the_foreground() {
        return;
    }
    let pid = i32::try_from(command).ok().and_then(Pid::from_raw);
    if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal)) {
        let _ = kill_process(pid, signal);
    }
}

#[cfg(target_os = "linux")]
fn is_in_the_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty").ok();
    let foreground = terminal.and_then(|terminal| rustix::termios::tcgetpgrp(terminal).ok());
    foreground == Some(rustix::process::getpgrp())
}

#[cfg(target_os = "linux")]
fn until_ended(command: u32) -> io::Result<()> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    let pid = i32::try_from(command).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("a process without a number"))?;
    loop {
        match waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        ) {
            Err(rustix::io::Errno::INTR) => {}
            ended => return Ok(ended.map(drop)?),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn is_ignored(_: i32) -> bool {
    false
}

/// Elsewhere only Ctrl-C, which the command gets by itself, leaves the traces to be collected.
#[cfg(not(target_os = "linux"))]
fn pass_on(_: i32, _: u32) {}

#[cfg(not(target_os = "linux"))]
fn until_ended(_: u32) -> io::Result<()> {
    Ok(())
}
