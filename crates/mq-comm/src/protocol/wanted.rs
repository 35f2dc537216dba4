//! Whose messages the transport looks for first.

use mq_shm::Process;

use super::Core;
use crate::error::Error;
use crate::request::ANYONE;
use crate::transport::Transport;

impl<T: Transport> Core<T> {
    pub(crate) fn want(&mut self, from: Process) -> Result<(), Error> {
        Ok(self.transport.want(named(from))?)
    }

    pub(crate) fn unwant(&mut self, from: Process) {
        self.transport.unwant(named(from));
    }

    /// Makes the transport look for messages from where a blocking receive wants one. It continues to do so:
    /// the next blocking receive often wants the same.
    #[inline]
    pub(crate) fn keep_want(&mut self, from: Process) -> Result<(), Error> {
        if self.kept_want == Some(from) {
            return Ok(());
        }
        self.keep_other_want(from)
    }

    /// Ends that when a receive is posted: from now on only what receives wait for is wanted, and anything
    /// else is taken from where it lies once it is asked for.
    #[inline(always)]
    pub(super) fn end_kept_want(&mut self) {
        if let Some(before) = self.kept_want.take() {
            self.unwant(before);
        }
    }

    #[cold]
    fn keep_other_want(&mut self, from: Process) -> Result<(), Error> {
        self.want(from)?;
        if let Some(before) = self.kept_want.replace(from) {
            self.unwant(before);
        }
        Ok(())
    }
}

/// A process, unless it stands for any.
fn named(process: Process) -> Option<Process> {
    (process != ANYONE).then_some(process)
}
