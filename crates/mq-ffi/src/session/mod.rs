//! Sessions: one process's settings, trace and statistics, for all its engines.

mod interface;
mod report;
mod settings;
mod tally;
mod trace_file;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use mq_trace::{Header, Recorder};
use parking_lot::Mutex;

pub(crate) use self::interface::session_of;
pub use self::interface::{mq_session, mq_session_close, mq_session_open, mq_session_options};
pub(crate) use self::settings::Settings;
pub(crate) use self::tally::Tally;
pub use self::tally::{mq_queue_statistics, mq_statistics};
use self::trace_file::{LineFile, TraceFile};

/// One process's settings, trace and statistics.
#[derive(Debug)]
pub(crate) struct Session {
    library: String,
    rank: u32,
    pub(crate) settings: Settings,
    pub(crate) tally: Tally,
    trace: Mutex<Option<TraceFile>>,
    next_context: AtomicU32,
    over_budget: AtomicBool,
    /// Probes that the trace has not, since it has one that tells of them.
    probes_left_out: AtomicU64,
    began: Instant,
    /// The process that opened it, the only one that speaks for it: after a fork the child has it
    /// too.
    process: u32,
}

impl Session {
    fn open(library: String, rank: u32, size: u32, mut settings: Settings) -> Self {
        let trace = settings.trace.as_ref().and_then(|folder| {
            let mut header = Header::new().with("source", &library).with("rank", rank);
            if size > 0 {
                header = header.with("ranks", size);
            }
            if let Some(structure) = &settings.structure {
                header = header.with("structure", structure);
            }
            let safe = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let name = format!("{library}-r{rank}").replace(|c| !safe(c), "_");
            match TraceFile::create(folder, &name, &header) {
                Ok(trace) => Some(trace),
                Err(error) => {
                    let (name, folder) = (settings.trace_name(), folder.display());
                    let wrong = format!("{name}={folder} is ignored; expected a writable folder");
                    report::say(rank, &format!("{wrong} ({error})"));
                    None
                }
            }
        });
        // Without a trace there is no reason to watch the engines for one.
        if trace.is_none() {
            settings.trace = None;
        }
        Self {
            library,
            rank,
            settings,
            tally: Tally::default(),
            trace: Mutex::new(trace),
            next_context: AtomicU32::new(0),
            over_budget: AtomicBool::new(false),
            probes_left_out: AtomicU64::new(0),
            began: Instant::now(),
            process: std::process::id(),
        }
    }

    /// A context was created in one of the engines; returns its number in the session. `group` is
    /// the communicator's size and this process's rank in it.
    pub(crate) fn context_created(&self, group: Option<(u32, u32)>) -> u32 {
        let number = self.next_context.fetch_add(1, Ordering::Relaxed);
        self.record(|recorder| recorder.context_created(number, group));
        number
    }

    /// A context that was created without its size, which is known now.
    pub(crate) fn size_known(&self, number: u32, group: (u32, u32)) {
        self.record(|recorder| recorder.context_created(number, Some(group)));
    }

    pub(crate) fn context_freed(&self, number: u32) {
        self.record(|recorder| {
            recorder.context_freed(number);
            Ok(())
        });
    }

    /// A probe missed as one in the trace did, and for the same reason.
    pub(crate) fn probe_left_out(&self) {
        self.probes_left_out.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes to the trace, if there is one. After a failed write there is none.
    pub(crate) fn record<T: Default>(
        &self,
        write: impl FnOnce(&mut Recorder<LineFile>) -> io::Result<T>,
    ) -> T {
        let mut trace = self.trace.lock();
        let Some(file) = &mut *trace else {
            return T::default();
        };
        match file.record(write) {
            Ok(written) => written,
            Err(error) => {
                let path = file.path().display().to_string();
                *trace = None;
                drop(trace);
                self.say(&format!("the trace {path} ends here: {error}"));
                T::default()
            }
        }
    }

    /// Whether a trace is being written.
    pub(crate) fn traces(&self) -> bool {
        self.trace.lock().is_some()
    }

    /// Something happened that a trace cannot represent: what has been written stays, and is valid.
    pub(crate) fn end_trace(&self, reason: &str) {
        let ended = self.trace.lock().take();
        if let Some(trace) = ended {
            let path = trace.path().display().to_string();
            self.say(&format!("the trace {path} ends here: {reason}"));
            self.finish_trace(trace);
        }
    }

    fn finish_trace(&self, trace: TraceFile) {
        let path = trace.path().display().to_string();
        match trace.finish() {
            // One line for a job, not one for each of its processes.
            Ok(_) if self.rank > 0 => (),
            Ok(recorded) => {
                let left_out = self.probes_left_out.load(Ordering::Relaxed);
                self.say(&report::recorded(&recorded, left_out, self.began.elapsed()));
            }
            Err(error) => self.say(&format!("the trace {path} is incomplete: {error}")),
        }
    }

    /// A message was queued: reports, once, that the budget is exceeded.
    pub(crate) fn check_budget(&self) {
        let Settings { entries, bytes, .. } = self.settings;
        if entries.is_none() && bytes.is_none() || self.over_budget.load(Ordering::Relaxed) {
            return;
        }
        let queue = self.tally.read().unexpected;
        let over = if entries.is_some_and(|limit| queue.length > limit) {
            format!(
                "{} unexpected messages, over MQ_BUDGET_ENTRIES",
                queue.length
            )
        } else if bytes.is_some_and(|limit| queue.bytes > limit) {
            let bytes = queue.bytes;
            format!("{bytes} bytes in unexpected messages, over MQ_BUDGET_BYTES")
        } else {
            return;
        };
        if !self.over_budget.swap(true, Ordering::Relaxed) {
            self.say(&format!("{over}; they are kept; this is reported once"));
        }
    }

    fn close(&self) {
        // Before anything is locked: a lock's holder may not exist in the child.
        if self.is_forked() {
            return;
        }
        if let Some(trace) = self.trace.lock().take() {
            self.finish_trace(trace);
        }
        if self.settings.statistics {
            let text = report::table(&self.library, self.rank, &self.tally);
            report::write(&text);
        }
    }

    /// Whether this is a child of the process that opened the session.
    fn is_forked(&self) -> bool {
        std::process::id() != self.process
    }

    fn say(&self, text: &str) {
        if !self.is_forked() {
            report::say(self.rank, text);
        }
    }
}
