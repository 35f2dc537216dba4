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
mod tests;
