//! What the launcher writes.

use std::collections::VecDeque;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, fstat, makedev, open};
use rustix::io::Errno;

use crate::progress::ByLines;
use crate::report::escaped;

/// The bytes that may wait to be written before no more output is read from the ranks.
const ENOUGH: usize = 256 * 1024;
/// What a pipe that is ready for writing takes without blocking, in bytes: a page. (A terminal may
/// take less, see [`Terminals`].)
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

/// Those of the two streams that are terminals, opened once more. A terminal that is ready for writing
/// may have less room than a [`PORTION`], and whoever has stopped it by Ctrl-S takes nothing at all: so
/// it is written without blocking. To say so of the descriptor that was inherited would say it of the
/// shell's as well.
#[derive(Default)]
struct Terminals {
    out: Option<OwnedFd>,
    err: Option<OwnedFd>,
}

impl Terminals {
    fn found() -> Self {
        Self {
            out: opened_again(Stream::Out.fd()),
            err: opened_again(Stream::Err.fd()),
        }
    }

    /// The descriptor by which a stream is written.
    fn fd(&self, stream: Stream) -> BorrowedFd<'_> {
        let own = match stream {
            Stream::Out => &self.out,
            Stream::Err => &self.err,
        };
        own.as_ref().map_or_else(|| stream.fd(), AsFd::as_fd)
    }
}

/// Another descriptor of a terminal, one that does not block; none of anything else, or of a terminal
/// that this user may write but not open.
fn opened_again(fd: BorrowedFd<'_>) -> Option<OwnedFd> {
    if !fd.is_terminal() {
        return None;
    }
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let again = open(path, flags, Mode::empty()).ok()?;
    // The other side of a terminal (`/dev/ptmx`) is a new terminal each time that it is opened.
    let is_a_maker = fstat(fd).ok()?.st_rdev == makedev(5, 2);
    (!is_a_maker).then_some(again)
}

/// Lines on their way to one place.
#[derive(Default)]
struct Queue {
    lines: VecDeque<(Stream, Vec<u8>)>,
    /// Bytes of them.
    waiting: usize,
    /// Bytes of the first that are written.
    written: usize,
}

/// Lines on their way to standard output and standard error: in one queue where both are the same, as a
/// terminal where a line of one must not end up in a line of the other; otherwise in one each, so that what is
/// wrong is said also where nobody reads what was printed before. Writing never blocks, so that signals and time
/// limits are seen to whatever the reader does.
#[derive(Default)]
pub(super) struct Output {
    queues: [Queue; 2],
    /// Whether standard error has a queue of its own.
    apart: bool,
    closed: Vec<Stream>,
    failed: bool,
    terminals: Terminals,
    /// Advances by the lines of standard output; it is drawn on standard error.
    progress: Option<ByLines>,
}

impl Output {
    pub(super) fn new(progress: Option<ByLines>) -> Self {
        Self {
            progress,
            terminals: Terminals::found(),
            apart: are_apart(),
            ..Self::default()
        }
    }

    /// Adds whole lines. If nobody reads the stream any more they are forgotten.
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

    /// Which queue a stream's lines are in.
    const fn number(&self, stream: Stream) -> usize {
        match stream {
            Stream::Err if self.apart => 1,
            _ => 0,
        }
    }

    /// Adds a sentence of the launcher's own.
    pub(super) fn say(&mut self, sentence: &str) {
        // What is in it may come from a program's name.
        let line = format!("mq: {}\n", escaped(sentence));
        self.push(Stream::Err, line.into_bytes());
    }

    /// Whether so much waits that who writes more to the stream has to.
    pub(super) fn full(&self, stream: Stream) -> bool {
        self.queues[self.number(stream)].waiting >= ENOUGH
    }

    /// Whether a stream takes no more.
    pub(super) fn closed(&self, stream: Stream) -> bool {
        self.closed.contains(&stream)
    }

    /// Whether something could not be written, for another reason than that nobody reads it.
    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    /// What has to become ready for more to be written.
    pub(super) fn awaited(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let first = self.queues.iter().filter_map(|queue| queue.lines.front());
        first.map(|(stream, _)| self.terminals.fd(*stream))
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
            let fd = self.terminals.fd(stream);
            if !ready(fd) {
                return;
            }
            let rest = &lines[queue.written..];
            let write = || rustix::io::write(fd, &rest[..rest.len().min(PORTION)]);
            let written = match (stream, &self.progress) {
                // No line of the ranks begins behind the bar.
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
        self.closed.push(stream);
        let queue = &mut self.queues[self.number(stream)];
        queue.lines.retain(|(other, _)| *other != stream);
        queue.waiting = queue.lines.iter().map(|(_, lines)| lines.len()).sum();
        queue.written = 0;
        if error != Errno::PIPE {
            self.failed = true;
            let error = io::Error::from(error);
            self.say(&format!("{}: cannot write: {error}", stream.name()));
        }
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

/// Whether the two streams lead to different places.
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
