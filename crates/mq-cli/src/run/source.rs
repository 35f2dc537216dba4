//! The ranks' output.

use rustix::io::Errno;

use super::lines::Lines;
use super::output::{Output, Stream};
use super::start::Pipe;
use crate::cli::{Label, RunOptions};

/// The most that is read at once, in bytes.
const AT_ONCE: usize = 16 * 1024;
/// The most that is read of a stream after the ranks' end, in bytes: the largest pipe that a user may
/// have. Anything beyond it comes from a process that has left the rank's process group.
const LEFT_IN_PIPE: usize = 1024 * 1024;

/// One stream of one rank.
pub(super) struct Source {
    pipe: Pipe,
    lines: Lines,
    left: usize,
}

/// The result of reading from a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Took {
    Bytes(usize),
    NothingYet,
    Ended,
}

impl Source {
    pub(super) fn new(pipe: Pipe, options: &RunOptions) -> Self {
        let labelled = match options.label {
            Label::Auto => options.processes > 1,
            Label::Always => true,
            Label::Never => false,
        };
        let lines = match (labelled, options.processes) {
            (true, _) => Lines::whole(format!("[{}] ", pipe.rank)),
            (false, 1) => Lines::Unchanged,
            (false, _) => Lines::whole(String::new()),
        };
        let left = LEFT_IN_PIPE;
        Self { pipe, lines, left }
    }

    /// Where its lines go.
    pub(super) const fn stream(&self) -> Stream {
        self.pipe.stream
    }

    /// The descriptor to wait for.
    pub(super) fn awaited(&self) -> &impl std::os::fd::AsFd {
        &self.pipe.fd
    }

    /// Reads once and passes on the whole lines.
    pub(super) fn take(&mut self, output: &mut Output) -> Took {
        let mut bytes = [0; AT_ONCE];
        let mut lines = Vec::new();
        let took = match rustix::io::read(&self.pipe.fd, &mut bytes) {
            // Nobody reads it: dropping the pipe lets the rank know. Where it cannot be written, as on a full disk,
            // the rank is to go on.
            _ if output.unread(self.pipe.stream) => Took::Ended,
            Ok(count @ 1..) => {
                self.lines.take(&bytes[..count], &mut lines);
                Took::Bytes(count)
            }
            Err(Errno::AGAIN | Errno::INTR) => Took::NothingYet,
            Ok(0) | Err(_) => {
                self.lines.finish(&mut lines);
                Took::Ended
            }
        };
        output.push(self.pipe.stream, lines);
        took
    }

    /// Passes on what is left when the ranks have ended, as long as the output takes it; returns whether
    /// that was all.
    pub(super) fn empty(&mut self, output: &mut Output) -> bool {
        while !output.full(self.pipe.stream) {
            match self.take(output) {
                Took::Ended => return true,
                Took::Bytes(count) if count < self.left => self.left -= count,
                Took::Bytes(_) | Took::NothingYet => {
                    let mut lines = Vec::new();
                    self.lines.finish(&mut lines);
                    output.push(self.pipe.stream, lines);
                    return true;
                }
            }
        }
        false
    }
}
