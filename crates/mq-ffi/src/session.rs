//! Sessions: one process's settings, trace and statistics, for all its engines.

mod interface;
mod report;
mod settings;
mod signals;
mod tally;
mod timing;
mod trace_file;
mod undisturbed;

use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use mq_trace::{Header, Recorder, reason_file};

pub(crate) use self::interface::session_of;
pub use self::interface::{
    mq_session, mq_session_budgets, mq_session_close, mq_session_open, mq_session_options,
    mq_session_statistics_read,
};
pub(crate) use self::settings::Settings;
pub(crate) use self::tally::Tally;
pub use self::tally::{mq_queue_statistics, mq_statistics};
use self::trace_file::{LineFile, TraceFile};
use self::undisturbed::undisturbed;
use crate::lock::lock;

/// One process's settings, trace and statistics.
#[derive(Debug)]
pub(crate) struct Session {
    library: String,
    rank: u32,
    pub(crate) settings: Settings,
    pub(crate) tally: Tally,
    trace: Mutex<Option<TraceFile>>,
    next_context: AtomicU32,
    /// Whether that has been said: of entries, of bytes.
    over_budget: [AtomicBool; 2],
    /// Probes that the trace has not, since it has one that tells of them.
    probes_left_out: AtomicU64,
    /// The process that opened it, the only one that speaks for it: after a fork the child has it
    /// too.
    process: u32,
}

/// Which process of which job it is.
#[derive(Debug, Default)]
struct Place {
    rank: u32,
    /// The number of processes; 0 if unknown.
    size: u32,
    job: Option<String>,
}

impl Session {
    fn open(library: String, place: Place, mut settings: Settings) -> Self {
        let Place { rank, size, job } = place;
        let trace = settings.trace.as_ref().and_then(|folder| {
            let mut header = Header::new().with("source", &library).with("rank", rank);
            if size > 0 {
                header = header.with("ranks", size);
            }
            if let Some(job) = &job {
                header = header.with("job", job);
            }
            if let Some(structure) = &settings.structure {
                header = header.with("structure", structure);
            }
            let name = format!("{}-r{rank}", file_name(&library));
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
            over_budget: [const { AtomicBool::new(false) }; 2],
            probes_left_out: AtomicU64::new(0),
            process: std::process::id(),
        }
    }

    /// A context was created in one of the engines; returns its number in the session. `group` is
    /// the communicator's size and this process's rank in it.
    pub(crate) fn context_created(&self, group: Option<(u32, u32)>) -> u32 {
        let number = self.next_context.fetch_add(1, Ordering::Relaxed);
        if number == u32::MAX {
            // The next would have the number of the first, which may still be there.
            self.end_trace("a trace cannot hold more than 2^32 - 1 communicators");
        }
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
        let mut trace = lock(&self.trace);
        let Some(file) = &mut *trace else {
            return T::default();
        };
        match file.record(write) {
            Ok(written) => written,
            Err(error) => {
                let path = file.path().to_owned();
                *trace = None;
                drop(trace);
                self.ended_early(&path, &error.to_string());
                T::default()
            }
        }
    }

    /// Whether a trace is being written.
    pub(crate) fn traces(&self) -> bool {
        lock(&self.trace).is_some()
    }

    /// Something happened that a trace cannot represent: what has been written stays, and is valid.
    pub(crate) fn end_trace(&self, reason: &str) {
        let ended = lock(&self.trace).take();
        if let Some(trace) = ended {
            undisturbed(|| {
                self.ended_early(trace.path(), reason);
                self.finish_trace(trace, false);
            });
        }
    }

    fn ended_early(&self, path: &Path, reason: &str) {
        self.say(&format!("the trace {} ends here: {reason}", path.display()));
        self.leave_reason(path, reason);
    }

    /// The trace itself does not show that something is missing. On a full disk the file may be empty: that it is
    /// there says enough.
    fn leave_reason(&self, path: &Path, reason: &str) {
        // After a fork the trace is the parent's, and goes on.
        if !self.is_forked() {
            let _ = signals::without(|| std::fs::write(reason_file(path), reason));
        }
    }

    fn finish_trace(&self, trace: TraceFile, is_whole: bool) {
        let path = trace.path().to_owned();
        match trace.finish(is_whole) {
            // One line for a job, not one for each of its processes.
            Ok(_) if self.rank > 0 => (),
            Ok(recorded) => {
                let left_out = self.probes_left_out.load(Ordering::Relaxed);
                self.say(&report::recorded(&recorded, left_out));
            }
            Err(error) => {
                self.say(&format!(
                    "the trace {} is incomplete: {error}",
                    path.display()
                ));
                self.leave_reason(&path, &error.to_string());
            }
        }
    }

    /// A message was queued: reports, once for each budget, that it is exceeded.
    pub(crate) fn check_budget(&self) {
        let Settings { entries, bytes, .. } = self.settings;
        let [over_entries, over_bytes] = &self.over_budget;
        let is_watched =
            |limit: Option<u64>, over: &AtomicBool| limit.filter(|_| !over.load(Ordering::Relaxed));
        let entries = is_watched(entries, over_entries);
        let bytes = is_watched(bytes, over_bytes);
        if entries.is_none() && bytes.is_none() {
            return;
        }
        let queue = self.tally.read().unexpected;
        let (length, weight) = (queue.length, queue.bytes);
        if entries.is_some_and(|limit| length > limit) {
            self.say_once(over_entries, || {
                format!("{length} unexpected messages, over MQ_BUDGET_ENTRIES")
            });
        }
        if bytes.is_some_and(|limit| weight > limit) {
            self.say_once(over_bytes, || {
                format!("{weight} bytes in unexpected messages, over MQ_BUDGET_BYTES")
            });
        }
    }

    fn say_once(&self, said: &AtomicBool, over: impl FnOnce() -> String) {
        if !said.swap(true, Ordering::Relaxed) {
            let over = over();
            self.say(&format!("{over}; they are kept; this is reported once"));
        }
    }

    fn close(&self) {
        // Before anything is locked: a lock's holder may not exist in the child.
        if self.is_forked() {
            return;
        }
        if let Some(trace) = lock(&self.trace).take() {
            self.finish_trace(trace, true);
        }
        if self.settings.statistics {
            let library = in_one_line(&self.library);
            let text = report::table(&library, self.rank, &self.tally);
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

/// A library's name as the beginning of a file's: MPI libraries call themselves by texts of many lines.
fn file_name(library: &str) -> String {
    const LONGEST: usize = 64;
    let safe = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let name: String = library.chars().take(LONGEST).collect();
    name.replace(|c| !safe(c), "_")
}

/// A library's name in one line, for a table's heading.
fn in_one_line(library: &str) -> String {
    library.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_of_a_library_makes_a_short_name_of_a_file() {
        let version = "MPICH Version:\t4.0.2\n".repeat(100);
        assert_eq!(file_name(&version).len(), 64);
        assert!(file_name(&version).starts_with("MPICH_Version__4.0.2_"));
        assert_eq!(file_name("Open MPI"), "Open_MPI");
        assert_eq!(
            in_one_line("MPICH Version:\t4.0.2\n"),
            "MPICH Version: 4.0.2"
        );
    }

    /// What is left beside the trace of a session in which this happens.
    fn reason_left(name: &str, steps: impl FnOnce(&Session)) -> Option<String> {
        let process = std::process::id();
        let folder = std::env::temp_dir().join(format!("mq-ended-{name}-{process}"));
        let settings = Settings {
            trace: Some(folder.clone()),
            ..Settings::default()
        };
        let session = Session::open("mq".into(), Place::default(), settings);
        steps(&session);
        session.close();
        let trace = folder.join(format!("mq-r0-{process}.mqt"));
        assert!(trace.is_file());
        let reason = std::fs::read_to_string(reason_file(&trace)).ok();
        std::fs::remove_dir_all(&folder).unwrap();
        reason
    }

    #[test]
    fn a_trace_that_ends_before_its_process_has_the_reason_beside_it() {
        assert_eq!(reason_left("whole", |_| ()), None);
        let withdrawn = reason_left("withdrawn", |session| session.end_trace("it was withdrawn"));
        assert_eq!(withdrawn.as_deref(), Some("it was withdrawn"));
        let full = reason_left("full", |session| {
            session.record(|_| Err::<(), _>(io::Error::other("the disk is full")));
        });
        assert_eq!(full.as_deref(), Some("the disk is full"));
    }
}
