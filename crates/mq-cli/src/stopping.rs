//! Signals that end this process: what it has done so far is shown before, and no part of a file is left.

#![expect(
    clippy::disallowed_types,
    reason = "what a signal handler sets, and no data that threads share"
)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, Once, PoisonError, mpsc};
use std::thread;
use std::time::Instant;

use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ,
};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::error::Error;
use crate::signals::{self, THE_SAME, die_of, is_ignored};
use crate::{output_file, report, say};

/// The signals that would end this process.
const ENDING: [i32; 8] = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2,
];

/// Bytes for the stack of the thread that waits for signals, which does little.
const STACK: usize = 64 << 10;

/// What is done once, at the first signal.
type AtSignal = Box<dyn FnOnce(i32) + Send>;

static AT_SIGNAL: Mutex<Option<AtSignal>> = Mutex::new(None);
/// Whether a signal has come, from the moment at which it came.
static HAS_COME: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// What long work has brought so far. A signal that ends the process shows it first; a second one does not wait.
pub(crate) struct Kept<T>(Arc<Mutex<Work<T>>>);

struct Work<T> {
    results: T,
    /// They have been shown, because the work has ended by itself.
    is_shown: bool,
}

impl<T: Send + 'static> Kept<T> {
    /// Keeps results from now on; `show` shows them and is given the signal that ends the work.
    pub(crate) fn new(results: T, show: impl FnOnce(&mut T, i32) + Send + 'static) -> Self {
        let is_shown = false;
        let kept = Arc::new(Mutex::new(Work { results, is_shown }));
        let stopped = Arc::clone(&kept);
        *lock(&AT_SIGNAL) = Some(Box::new(move |signal| {
            // Held until the process ends: nobody changes or shows them after this.
            let mut work = lock(&stopped);
            if !work.is_shown {
                show(&mut work.results, signal);
            }
            die(signal);
        }));
        watch();
        Self(kept)
    }

    /// Adds to the results.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut lock(&self.0).results)
    }

    /// Shows them when the work has ended by itself. If it has only failed because others got the signal too, that
    /// signal ends this process.
    pub(crate) fn show<R>(self, show: impl FnOnce(&mut T) -> R) -> R {
        while HAS_COME.load(Ordering::SeqCst) {
            thread::park();
        }
        let mut work = lock(&self.0);
        work.is_shown = true;
        show(&mut work.results)
    }
}

/// Says what a signal has left undone, if anything was done, and what went wrong in showing that.
pub(crate) fn tell(signal: i32, done: usize, of: usize, what: &str, shown: &[Result<(), Error>]) {
    if done > 0 {
        let (by, done) = (signals::describe(signal), report::count(done));
        say(&format!(
            "stopped by {by} after {done} of {} {what}",
            report::count(of)
        ));
    }
    for failed in shown.iter().filter_map(|shown| shown.as_ref().err()) {
        if !matches!(failed, Error::ClosedPipe) {
            say(&failed.to_string());
        }
    }
}

/// From now on, a file that is as long as the process may make it is one that cannot be written, and does not end the
/// process. Children do not inherit this, as they would a signal that is ignored.
pub(crate) fn outlast_long_files() {
    if !is_ignored(SIGXFSZ) {
        let _ = flag::register(SIGXFSZ, Arc::default());
    }
}

/// From now on, signals that end the process do so in good order.
pub(crate) fn watch() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        let (watching, watched) = mpsc::channel::<()>();
        let watch = move || {
            let ending = ENDING.into_iter().filter(|&signal| !is_ignored(signal));
            let ending: Vec<i32> = ending.collect();
            let signals = Signals::new(&ending);
            if signals.is_ok() {
                for &signal in &ending {
                    let _ = flag::register(signal, Arc::clone(&HAS_COME));
                }
            }
            drop(watching);
            if let Ok(mut signals) = signals {
                heed(&mut signals);
            }
        };
        // Without it, as if there is no memory for it, less is shown and a part may be left: no reason to do nothing.
        let _ = thread::Builder::new().stack_size(STACK).spawn(watch);
        let _ = watched.recv();
    });
}

fn heed(signals: &mut Signals) {
    let mut first = None;
    for signal in signals.forever() {
        let at_signal = lock(&AT_SIGNAL).take();
        match (at_signal, first) {
            // Whoever asks for a dump of the memory wants it as it is.
            (Some(act), None) if signal != SIGQUIT => {
                first = Some(Instant::now());
                // Not here: nobody may be reading what it prints.
                let begun = thread::Builder::new().spawn(move || act(signal));
                if begun.is_err() {
                    die(signal);
                }
            }
            (_, Some(first)) if first.elapsed() < THE_SAME => {}
            _ => die(signal),
        }
    }
}

/// Ends the process as the signal does.
fn die(signal: i32) -> ! {
    let _held = output_file::give_up();
    die_of(signal);
    std::process::exit(128 + signal);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
