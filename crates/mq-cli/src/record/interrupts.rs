//! Signals that ask `mq record` to end while a command runs.

#![expect(
    clippy::disallowed_types,
    reason = "what a signal handler looks at, and no data that threads share"
)]

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithRawSiginfo;

use crate::signals::{THE_SAME, is_ignored};

/// Signals that are for the command; each would end `mq`, and nobody would collect the command's
/// traces.
const HELD: [i32; 7] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU];

/// While this exists, Ctrl-C, SIGTERM and so on end only the command, and its traces are still
/// collected: batch systems and `timeout` send SIGTERM when the time is over. Afterwards they end `mq`
/// as usual.
pub(super) struct Interrupts {
    deadly: Arc<AtomicBool>,
    signals: Option<SignalsInfo<WithRawSiginfo>>,
    /// A signal has come.
    interrupted: bool,
}

impl Interrupts {
    /// Holds interrupts from now on.
    pub(super) fn held() -> Self {
        let deadly = Arc::new(AtomicBool::new(false));
        let mut held = HELD.to_vec();
        held.retain(|&signal| !is_ignored(signal));
        for &signal in &held {
            // A handler, because the command would inherit an ignored signal. If it cannot be installed,
            // the signal ends `mq` too, and the traces stay as they were written.
            let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&deadly));
        }
        let signals = SignalsInfo::<WithRawSiginfo>::new(held).ok();
        // If SIGCHLD is ignored, as by some parents of `mq`, the status of children is lost. A handler
        // prevents that; the command does not inherit it.
        let _ = signal_hook::flag::register(SIGCHLD, Arc::new(AtomicBool::new(false)));
        Self {
            deadly,
            signals,
            interrupted: false,
        }
    }

    /// Waits for the end of the command, and passes signals on to it.
    pub(super) fn wait(&mut self, mut command: Child) -> io::Result<ExitStatus> {
        let Some(mut signals) = self.signals.take() else {
            return command.wait();
        };
        let handle = signals.handle();
        std::thread::scope(|scope| {
            let number = command.id();
            let passing = scope.spawn(move || {
                let mut any = false;
                for come in &mut signals {
                    any = true;
                    pass_on(come.si_signo, come.si_code, number);
                }
                any
            });
            // Its number is not reused until it has been waited for.
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
            // The command may end in between.
            std::thread::sleep(THE_SAME);
            deadly.store(true, Ordering::SeqCst);
        });
    }
}

/// Passes a signal on, unless the command gets it from the terminal. Signals from processes have an
/// origin of 0 or below, those from the kernel one above. Whether a signal was sent to the whole group,
/// as by `timeout`, does not show: the command gets it twice.
#[cfg(target_os = "linux")]
fn pass_on(signal: i32, origin: i32, command: u32) {
    use rustix::process::{Pid, Signal, kill_process};

    // Typed signals reach all of the terminal's foreground group, and to many an `mpirun` a second
    // one means something else.
    if origin > 0 && matches!(signal, SIGINT | SIGQUIT) {
        return;
    }
    let pid = i32::try_from(command).ok().and_then(Pid::from_raw);
    if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal)) {
        let _ = kill_process(pid, signal);
    }
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

/// On other systems traces are collected only after Ctrl-C, which the command gets by itself.
#[cfg(not(target_os = "linux"))]
fn pass_on(_: i32, _: i32, _: u32) {}

#[cfg(not(target_os = "linux"))]
fn until_ended(_: u32) -> io::Result<()> {
    Ok(())
}
