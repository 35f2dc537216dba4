//! The launcher's output.

use std::collections::VecDeque;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, makedev, open};
use rustix::io::Errno;

use crate::progress::ByLines;
use crate::report::escaped;

/// The bytes that may be queued before no more output is read from the ranks.
const ENOUGH: usize = 256 * 1024;
/// The bytes that a pipe ready for writing takes without blocking: a page. (A terminal may
/// take less, see [`Reopened`].)
const PORTION: usize = 4096;

/// Where output comes from and goes to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Out,
    Err,
}

impl Stream {
    fn fd(self) -> BorrowedFd<'static> {
        match self {
            Self::Out => rustix::stdio::stdout(),
            Self::Err => rustix::stdio::stderr(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Out => "standard output",
            Self::Err => "standard error",
        }
    }
}

/// Those of the two streams that are terminals or pipes, opened once more. One that is ready for writing may have less
/// room than a [`PORTION`], since others write there too, and a terminal stopped by Ctrl-S takes nothing at all, so it
/// is written without blocking. Setting that on the inherited descriptor would set it for the shell too.
#[derive(Default)]
struct Reopened {
    out: Option<OwnedFd>,
    err: Option<OwnedFd>,
    /// Standard output is a pipe without a name: nobody can read it once its reader has left.
    is_out_a_pipe: bool,
}

impl Reopened {
    fn found() -> Self {
        Self {
            out: opened_again(Stream::Out.fd()),
            err: opened_again(Stream::Err.fd()),
            is_out_a_pipe: is_without_name(Stream::Out.fd()),
        }
    }

    /// The descriptor through which a stream is written.
    fn fd(&self, stream: Stream) -> BorrowedFd<'_> {
        let own = match stream {
            Stream::Out => &self.out,
            Stream::Err => &self.err,
        };
        own.as_ref().map_or_else(|| stream.fd(), AsFd::as_fd)
    }
}

/// Whether a descriptor is one of a pipe that has no name in the file system.
fn is_without_name(fd: BorrowedFd<'_>) -> bool {
    let target = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
    target.is_ok_and(|target| target.as_os_str().as_encoded_bytes().starts_with(b"pipe:"))
}

/// A new, non-blocking descriptor of a terminal or pipe; none for anything else, or for what this user may write but
/// not open.
fn opened_again(fd: BorrowedFd<'_>) -> Option<OwnedFd> {
    let is_pipe =
        || fstat(fd).is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Fifo);
    if !fd.is_terminal() && !is_pipe() {
        return None;
    }
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let again = open(path, flags, Mode::empty()).ok()?;
    // Opening the other side of a terminal (`/dev/ptmx`) makes a new terminal each time.
    let is_a_maker = fstat(fd).ok()?.st_rdev == makedev(5, 2);
    (!is_a_maker).then_some(again)
}

/// Lines queued for one destination.
#[derive(Default)]
struct Queue {
    lines: VecDeque<(Stream, Vec<u8>)>,
    /// Bytes in `lines`.
    waiting: usize,
    /// Bytes of the first line that are already written.
    written: usize,
}

/// Lines queued for standard output and standard error: in one queue if both are the same, such as a
/// terminal, where their lines must not mix; otherwise in one queue each, so that errors are written even if
/// nobody reads the earlier output. Writing never blocks, so that signals and time limits are handled whatever
/// the reader does.
#[derive(Default)]
pub(super) struct Output {
    queues: [Queue; 2],
    /// Whether standard error has a queue of its own.
    apart: bool,
    /// The streams that nobody reads any more.
    unread: Vec<Stream>,
    /// The streams that cannot be written, for another reason.
    lost: Vec<Stream>,
    reopened: Reopened,
    /// Advances by the lines of standard output; drawn on standard error.
    progress: Option<ByLines>,
}

impl Output {
    pub(super) fn new(progress: Option<ByLines>) -> Self {
        Self {
            progress,
            reopened: Reopened::found(),
            apart: are_apart(),
            ..Self::default()
        }
    }

    /// Adds whole lines. If the stream accepts no more output, they are dropped.
    pub(super) fn push(&mut self, stream: Stream, lines: Vec<u8>) {
        if !lines.is_empty() && !self.closed(stream) {
            if let (Stream::Out, Some(progress)) = (stream, &mut self.progress) {
                progress.advance(&lines);
            }
            let queue = &mut self.queues[self.number(stream)];
            queue.waiting += lines.len();
            queue.lines.push_back((stream, lines));
        }
    }

    /// The queue of a stream's lines.
    const fn number(&self, stream: Stream) -> usize {
        match stream {
            Stream::Err if self.apart => 1,
            _ => 0,
        }
    }

    /// Adds a sentence of the launcher's own.
    pub(super) fn say(&mut self, sentence: &str) {
        // It may contain a program's name.
        let line = format!("mq: {}\n", escaped(sentence));
        self.push(Stream::Err, line.into_bytes());
    }

    /// Whether so much is queued that the stream's writers have to wait.
    pub(super) fn full(&self, stream: Stream) -> bool {
        self.queues[self.number(stream)].waiting >= ENOUGH
    }

    /// Whether nobody reads a stream any more.
    pub(super) fn unread(&self, stream: Stream) -> bool {
        self.unread.contains(&stream)
    }

    /// Whether a stream accepts no more output.
    fn closed(&self, stream: Stream) -> bool {
        self.unread(stream) || self.lost.contains(&stream)
    }

    /// Whether a write failed for a reason other than a missing reader.
    pub(super) fn failed(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The descriptors that must become ready before more can be written.
    pub(super) fn awaited(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let first = self.queues.iter().filter_map(|queue| queue.lines.front());
        first.map(|(stream, _)| self.reopened.fd(*stream))
    }

    /// Standard output, if it is a pipe whose reader may leave for good: an error there says so, whether or not there
    /// is something to write.
    pub(super) fn watched(&self) -> Option<BorrowedFd<'_>> {
        let is_watched = self.reopened.is_out_a_pipe && !self.closed(Stream::Out);
        is_watched.then(|| self.reopened.fd(Stream::Out))
    }

    /// Nobody reads standard output any more.
    pub(super) fn nobody_reads(&mut self) {
        self.close(Stream::Out, Errno::PIPE);
    }

    /// Writes what can be written now.
    pub(super) fn flush(&mut self) {
        (0..self.queues.len()).for_each(|number| self.flush_queue(number));
    }

    fn flush_queue(&mut self, number: usize) {
        loop {
            let queue = &self.queues[number];
            let Some((stream, lines)) = queue.lines.front() else {
                return;
            };
            let stream = *stream;
            let fd = self.reopened.fd(stream);
            if !ready(fd) {
                return;
            }
            let rest = &lines[queue.written..];
            let write = || rustix::io::write(fd, &rest[..rest.len().min(PORTION)]);
            let written = match (stream, &self.progress) {
                // No line of the ranks may begin on the bar's line.
                (Stream::Err, Some(progress)) => progress.aside(write),
                _ => write(),
            };
            match written {
                Ok(count) => self.queues[number].advance(count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(error) => self.close(stream, error),
            }
        }
    }

    fn close(&mut self, stream: Stream, error: Errno) {
        let queue = &mut self.queues[self.number(stream)];
        queue.lines.retain(|(other, _)| *other != stream);
        queue.waiting = queue.lines.iter().map(|(_, lines)| lines.len()).sum();
        queue.written = 0;
        if error == Errno::PIPE {
            return self.unread.push(stream);
        }
        self.lost.push(stream);
        let error = io::Error::from(error);
        self.say(&format!(
            "{}: cannot write: {error}; what the ranks print there from now on is lost",
            stream.name()
        ));
    }
}

impl Queue {
    fn advance(&mut self, count: usize) {
        self.written += count;
        self.waiting -= count;
        let (_, first) = self.lines.front().expect("some of it was written");
        if first.len() == self.written {
            self.lines.pop_front();
            self.written = 0;
        }
    }
}

/// Whether the two streams go to different destinations.
fn are_apart() -> bool {
    let place = |stream: Stream| {
        let status = fstat(stream.fd()).ok()?;
        Some((status.st_dev, status.st_ino, status.st_rdev))
    };
    match (place(Stream::Out), place(Stream::Err)) {
        (Some(out), Some(err)) => out != err,
        _ => false,
    }
}

fn ready(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    let now = Duration::ZERO.try_into().ok();
    poll(&mut fds, now.as_ref()).is_ok_and(|ready| ready > 0)
}
