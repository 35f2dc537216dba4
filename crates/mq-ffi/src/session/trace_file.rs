//! A trace that is written while the application runs, and stays readable if the application is killed, except
//! at most for its last line.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mq_trace::{Header, Process, Recorder, Span, is_of_a_recording};

use super::signals;
use super::timing::{Estimate, Timing};

/// The longest that recorded operations wait to be written while others follow.
const FLUSH_AFTER: Duration = Duration::from_millis(100);

/// A process that is killed during a longer write leaves what fills the page that the kernel is at.
const PAGE: u64 = 4096;

/// How many of the whole lines to write at once at this offset of a file: those that end in the same page,
/// which gets all of them or none. A line that continues in the next page is written by itself.
fn piece_of(lines: &[u8], at: u64) -> usize {
    let room = usize::try_from(PAGE - at % PAGE).unwrap_or(usize::MAX);
    let in_page = &lines[..room.min(lines.len())];
    let is_end = |byte: &u8| *byte == b'\n';
    let end = in_page.iter().rposition(is_end);
    let end = end.or_else(|| lines.iter().position(is_end));
    end.map_or(lines.len(), |end| end + 1)
}

/// A file that receives whole lines only, and only from the process that opened it.
#[derive(Debug)]
pub(crate) struct LineFile {
    file: File,
    /// The beginning of a line whose end has not been written yet.
    rest: Vec<u8>,
    process: u32,
    written: u64,
    lines: u64,
}

impl LineFile {
    /// Nothing follows. If the trace is whole, what its header says of its time at this offset is replaced.
    fn close(&self, at: u64, span: Option<Span>) -> io::Result<()> {
        // Some file systems say only now that there was no room. Before it: a header that says that the trace is whole
        // is not on a disc that lacks a part of it.
        self.file.sync_data()?;
        let Some(span) = span else {
            return Ok(());
        };
        // After a fork the trace is the parent's, and goes on.
        if std::process::id() != self.process {
            return Ok(());
        }
        signals::without(|| self.file.write_all_at(span.to_string().as_bytes(), at))
    }
}

impl Write for LineFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // After a fork the child has the same file: what it writes would land between the parent's lines.
        if std::process::id() != self.process {
            return Ok(bytes.len());
        }
        self.rest.extend_from_slice(bytes);
        if let Some(end) = self.rest.iter().rposition(|&byte| byte == b'\n') {
            let mut whole = &self.rest[..=end];
            while !whole.is_empty() {
                let (piece, others) = whole.split_at(piece_of(whole, self.written));
                if let Err(error) = signals::without(|| self.file.write_all(piece)) {
                    // What was written of it, if the disc is full, would end the trace within a line.
                    let _ = self.file.set_len(self.written);
                    return Err(error);
                }
                self.written += piece.len() as u64;
                self.lines += piece.iter().filter(|&&byte| byte == b'\n').count() as u64;
                whole = others;
            }
            self.rest.drain(..=end);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A trace being recorded.
#[derive(Debug)]
pub(super) struct TraceFile {
    recorder: Recorder<LineFile>,
    path: PathBuf,
    /// Where in the file it says how long it took.
    span_at: u64,
    begun: Instant,
    flushed: Instant,
    timing: Timing,
    flushing: Duration,
}

/// What recording a trace took.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// In the file, including its header.
    pub(super) lines: u64,
    /// Of the operations and of writing them, without waiting for the disc at the end: where that takes long, it takes
    /// no less for a trace of nothing.
    pub(super) time: Duration,
    /// Whether an operation took so long that it was counted as less: the process was interrupted.
    pub(super) is_cut: bool,
    /// What the trace covers.
    pub(super) of: Duration,
}

/// A file of this name or, if an earlier session has left one, with a number appended.
fn new_file(folder: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    /// The last number of this process: a later session need not try the names of all before it.
    static LAST: AtomicU64 = AtomicU64::new(1);
    let mut path = folder.join(format!("{name}.mqt"));
    loop {
        match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
                path = folder.join(format!("{name}-{number}.mqt"));
            }
            made => return Ok((path, above_the_streams(made?)?)),
        }
    }
}

/// The same file under a number that is no standard stream's: a program may have been started with those closed, and
/// what it prints would get into the file.
fn above_the_streams(file: File) -> io::Result<File> {
    #[cfg(unix)]
    if std::os::fd::AsRawFd::as_raw_fd(&file) <= 2 {
        // A clone has a number above them.
        return file.try_clone();
    }
    Ok(file)
}

/// Why a folder that `mq record` has made is not here.
const NOT_SHARED: &str = "mq record has made this folder, but it is not here: name one that all machines share, by \
     --output";

impl TraceFile {
    /// Begins a trace of this process in a folder, which is created if it does not exist, unless it is one that only
    /// `mq record` makes. Until the trace is finished its header says that it is not, whatever ends the process.
    pub(super) fn create(folder: &Path, name: &str, header: &Header) -> io::Result<Self> {
        // One that is missing is on another machine's disc, and nobody would look for traces in one of its name on this
        // one.
        if is_of_a_recording(folder) && !folder.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotFound, NOT_SHARED));
        }
        std::fs::create_dir_all(folder)?;
        // The program may change its directory, and a reason be left beside the trace after that.
        let folder = std::path::absolute(folder)?;
        let process = std::process::id();
        let (path, file) = new_file(&folder, &format!("{name}-{process}"))?;
        let file = LineFile {
            file,
            rest: Vec::new(),
            process,
            written: 0,
            lines: 0,
        };
        let header = header.clone().with(Process::KEY, Process::this());
        let header = header.with(Span::KEY, Span::Unfinished);
        // It is the last field.
        let span_at = (header.to_string().len() - Span::WIDTH) as u64;
        let begun = Recorder::new(file, &header).and_then(|mut recorder| {
            // Whatever happens to the process, the file is a trace.
            recorder.flush()?;
            Ok(recorder)
        });
        if begun.is_err() {
            let _ = std::fs::remove_file(&path);
        }
        let recorder = begun?;
        let now = Instant::now();
        Ok(Self {
            recorder,
            path,
            span_at,
            begun: now,
            flushed: now,
            timing: Timing::default(),
            flushing: Duration::ZERO,
        })
    }

    pub(super) fn record<T>(
        &mut self,
        write: impl FnOnce(&mut Recorder<LineFile>) -> io::Result<T>,
    ) -> io::Result<T> {
        let start = Instant::now();
        let written = write(&mut self.recorder)?;
        self.timing.operation(|| start.elapsed());
        if start.duration_since(self.flushed) >= FLUSH_AFTER {
            self.recorder.flush()?;
            self.flushed = Instant::now();
            self.flushing += self.flushed.duration_since(start);
        }
        Ok(written)
    }

    /// Writes the remainder. If the trace is whole, its header says from then on how long it took.
    pub(super) fn finish(self, is_whole: bool) -> io::Result<Recorded> {
        let start = Instant::now();
        let of = start.duration_since(self.begun);
        let file = self.recorder.finish()?;
        let flushing = self.flushing + start.elapsed();
        file.close(self.span_at, is_whole.then_some(Span::Of(of)))?;
        let Estimate { time, is_cut } = self.timing.estimate();
        Ok(Recorded {
            path: self.path,
            bytes: file.written,
            lines: file.lines,
            time: time + flushing,
            is_cut,
            of,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mq_core::mpi::MpiEnvelope;
    use std::time::SystemTime;

    /// A folder that does not exist yet. By the process's number alone it could be one that an earlier process of
    /// the same number has left.
    fn fresh(name: &str) -> PathBuf {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let (process, now) = (std::process::id(), now.unwrap().as_nanos());
        std::env::temp_dir().join(format!("mq-{name}-{process}-{now}"))
    }

    /// A trace in a folder of its own, and the folder.
    fn begun(name: &str) -> (TraceFile, PathBuf) {
        let folder = fresh(name);
        let header = Header::new().with("rank", 3);
        (TraceFile::create(&folder, "mq", &header).unwrap(), folder)
    }

    #[test]
    fn a_trace_says_whether_it_is_whole() {
        let (trace, folder) = begun("header");
        let begun = std::fs::read_to_string(trace.path()).unwrap();
        let process = Process::this();
        let expected = format!("# mqtrace 1 rank=3 process={process} seconds=unfinished\n");
        assert_eq!(begun, expected);
        let recorded = trace.finish(true).unwrap();
        let whole = std::fs::read_to_string(&recorded.path).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let seconds = Span::Of(recorded.of).to_string();
        assert_eq!(whole, begun.replace("unfinished", &seconds));
    }

    #[test]
    fn a_folder_that_only_a_recording_makes_is_not_made() {
        let folder = fresh("not-shared");
        for name in ["recording-12", "recording-12-3"] {
            let there = folder.join(name);
            let refused = TraceFile::create(&there, "mq", &Header::new()).unwrap_err();
            assert_eq!(refused.to_string(), NOT_SHARED);
            assert!(!folder.exists());
        }
        for name in [
            "recording-",
            "recording-x",
            "recording-1-2-3",
            "my-recording-1",
        ] {
            assert!(!is_of_a_recording(Path::new(name)), "{name}");
        }
        let made = folder.join("recording-12");
        std::fs::create_dir_all(&made).unwrap();
        assert!(TraceFile::create(&made, "mq", &Header::new()).is_ok());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn lines_are_counted_as_the_file_has_them() {
        let (mut trace, folder) = begun("lines");
        for number in 0..3 {
            // The file contains nothing about these.
            let group = None;
            let created = trace.record(|recorder| recorder.context_created(number, group));
            created.unwrap();
            let message = MpiEnvelope::new(number, 1, 5);
            trace
                .record(|recorder| recorder.arrived(&message, None))
                .unwrap();
        }
        let recorded = trace.finish(true).unwrap();
        let text = std::fs::read_to_string(&recorded.path).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(recorded.lines, text.lines().count() as u64);
        assert_eq!((recorded.lines, recorded.bytes), (4, text.len() as u64));
    }

    const FOLDER: &str = "MQ_TEST_FULL";

    /// The test of this name once more, in a process whose files may have so many blocks, of 512 bytes or of 1,024.
    fn with_files_of(blocks: u32, test: &str, folder: &Path) {
        let limited = format!("ulimit -f {blocks}; exec \"$0\" --exact \"$1\"");
        let wrote = std::process::Command::new("sh")
            .args(["-c", &limited])
            .arg(std::env::current_exe().unwrap())
            .arg(format!("session::trace_file::tests::{test}"))
            .env(FOLDER, folder)
            .output()
            .unwrap();
        assert!(wrote.status.success(), "{wrote:?}");
    }

    /// A disc that is full, or a limit, takes part of a line. The limit is that of a process of its own: this test
    /// again, which writes until it cannot.
    #[test]
    fn a_write_that_fails_leaves_whole_lines() {
        if let Some(folder) = std::env::var_os(FOLDER) {
            let mut trace = TraceFile::create(folder.as_ref(), "mq", &Header::new()).unwrap();
            let message = MpiEnvelope::new(0, 1, 5);
            while trace
                .record(|recorder| {
                    recorder.arrived(&message, None)?;
                    recorder.flush()
                })
                .is_ok()
            {}
            return;
        }
        let folder = fresh("full");
        with_files_of(8, "a_write_that_fails_leaves_whole_lines", &folder);
        let file = std::fs::read_dir(&folder).unwrap().flatten().next();
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!((4_000..8_192).contains(&text.len()), "{} bytes", text.len());
        assert!(text.ends_with("a 1 1 5\n"), "{text}");
    }

    #[test]
    fn where_no_header_can_be_written_no_file_is_left() {
        if let Some(folder) = std::env::var_os(FOLDER) {
            assert!(TraceFile::create(folder.as_ref(), "mq", &Header::new()).is_err());
            return;
        }
        let folder = fresh("no-header");
        with_files_of(0, "where_no_header_can_be_written_no_file_is_left", &folder);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn lines_are_written_page_by_page() {
        let lines: Vec<u8> = (0..900)
            .flat_map(|line| format!("p 0 {line} 5\n").into_bytes())
            .collect();
        let (mut at, mut crossing) = (0, 0);
        while at < lines.len() {
            let piece = &lines[at..][..piece_of(&lines[at..], at as u64)];
            assert_eq!(piece.last(), Some(&b'\n'));
            let pages = [at, at + piece.len() - 1].map(|byte| byte as u64 / PAGE);
            if pages[0] != pages[1] {
                crossing += 1;
                assert_eq!(piece.iter().filter(|&&byte| byte == b'\n').count(), 1);
            }
            at += piece.len();
        }
        assert_eq!(at, lines.len());
        assert!((1..=lines.len() as u64 / PAGE).contains(&crossing));
    }

    #[test]
    fn a_later_session_keeps_the_traces_of_those_before() {
        let folder = fresh("sessions");
        std::fs::create_dir(&folder).unwrap();
        let names = ["first", "second", "third"].map(|session| {
            let (path, mut file) = new_file(&folder, "mq-7").unwrap();
            file.write_all(session.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), session);
            path.file_name().unwrap().to_owned()
        });
        assert_eq!(names[0], "mq-7.mqt");
        let numbers = names.map(|name| {
            let name = name.to_str().unwrap().trim_end_matches(".mqt");
            name.rsplit_once('-').unwrap().1.parse::<u64>().unwrap()
        });
        assert!(1 < numbers[1] && numbers[1] < numbers[2], "{numbers:?}");
        let first = std::fs::read_to_string(folder.join("mq-7.mqt")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(first, "first");
    }
}
