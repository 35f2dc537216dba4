//! Ctrl-C while a command runs.

#![expect(
    clippy::disallowed_types,
    reason = "what a signal handler looks at, and no data that threads share"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;

/// While this lives, Ctrl-C ends the command alone, which has the same terminal, and its traces are
/// still collected; afterwards Ctrl-C ends `mq` as ever.
pub(super) struct Interrupts {
    deadly: Arc<AtomicBool>,
}

impl Interrupts {
    /// Holds interrupts from now on.
    pub(super) fn held() -> Self {
        let deadly = Arc::new(AtomicBool::new(false));
        // A handler, because the command would inherit that the signal is ignored. Without it
        // Ctrl-C ends `mq` too, and the traces stay as they were written.
        let _ = signal_hook::flag::register_conditional_default(SIGINT, Arc::clone(&deadly));
        Self { deadly }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.deadly.store(true, Ordering::SeqCst);
    }
}
