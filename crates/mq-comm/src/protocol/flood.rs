//! More unexpected messages than a process has memory for: their senders announce even short ones.
//!
//! An eager message for which no receive is posted is copied into memory of its receiver. A process that sends
//! faster than another receives, or while the other waits for a third, could use up that memory: no part of MPI
//! keeps it from doing so. So once the unexpected messages of a process take more than
//! [`Options::unexpected_limit`](crate::Options::unexpected_limit), it asks each sender of a further one to
//! announce all messages to it. Their bytes then remain with the sender, whose blocking sends wait for their
//! receives, as MPI allows a standard-mode send to. When half of the memory is free again, the senders are told.
//!
//! Both are requests, and no message depends on when they are heard: what was sent before comes as it was sent, and
//! messages of any length may be announced. A sender hears them when it waits for anything; else it listens to all
//! every 256 messages that go out straight away and every 256 that have waited for room, and to the receiver before it
//! announces a message for that reason alone.
//!
//! Not held back are the short messages of collective operations (`ALWAYS_EAGER`), and the announcements themselves,
//! of which a blocking sender has one at a time.

use mq_shm::Process;

use super::outboxes::What;
use super::{Core, Follow, State};
use crate::error::Error;
use crate::header::{Kind, Payload};
use crate::options::Options;
use crate::say::say;
use crate::steps::{Step, step};
use crate::transport::Transport;

/// What a process does about its unexpected messages.
#[derive(Debug)]
pub(super) struct Flood {
    /// Bytes of unexpected messages above which senders are asked to announce theirs.
    limit: u64,
    /// The senders that have been asked.
    asked: Vec<Process>,
    /// The user knows.
    is_reported: bool,
}

impl Flood {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            limit: options.unexpected_limit as u64,
            asked: Vec::new(),
            is_reported: false,
        }
    }
}

impl State {
    /// A message has been kept: whether its sender is to announce the next ones.
    pub(super) fn after_keeping(&self, from: Process) -> Follow {
        let is_asked = || self.peers[from.index()].is_to_announce || from == self.me;
        if !self.is_flooded() || is_asked() {
            Follow::Nothing
        } else {
            Follow::Flooded
        }
    }

    /// Whether too many messages are unexpected.
    pub(super) fn is_flooded(&self) -> bool {
        self.messages.bytes() > self.flood.limit
    }
}

impl<T: Transport> Core<T> {
    /// Asks the sender of an unexpected message to announce what it sends from now on.
    #[cold]
    pub(super) fn ask_to_announce(&mut self, from: Process) -> Result<(), Error> {
        let State {
            me,
            flood,
            peers,
            messages,
            ..
        } = &mut self.state;
        peers[from.index()].is_to_announce = true;
        flood.asked.push(from);
        if !core::mem::replace(&mut flood.is_reported, true) {
            say(&format!(
                "process {} keeps {} bytes of messages that nobody has received yet, more than \
                 MQ_UNEXPECTED_LIMIT={}: further sends to it wait for their receives",
                me.0,
                messages.bytes(),
                flood.limit
            ));
        }
        step(Step::Flooded);
        self.answer(from, Kind::AnnounceAll, 0, Payload::default())
    }

    /// Goes round once, and looks into the box of a process, or those of all, of which nothing need be wanted: they may
    /// have asked that messages be announced, or that they no longer be.
    #[cold]
    #[inline(never)]
    pub(super) fn listen_to(&mut self, process: Option<Process>) {
        let wanted = self.transport.want(process).map_err(Error::from);
        let heard = self.progress();
        if wanted.is_ok() {
            self.transport.unwant(process);
        }
        if let Err(error) = wanted.and(heard) {
            self.state.failed_elsewhere(error);
        }
    }

    /// Messages may have been received: if few are left, the next ones may be eager again.
    #[inline]
    pub(super) fn after_release(&mut self) {
        if !self.state.flood.asked.is_empty() {
            self.allow_eager();
        }
    }

    #[cold]
    fn allow_eager(&mut self) {
        if self.state.messages.bytes() > self.state.flood.limit / 2 {
            return;
        }
        while let Some(process) = self.state.flood.asked.pop() {
            self.state.peers[process.index()].is_to_announce = false;
            step(Step::FloodOver);
            if let Err(error) = self.answer(process, Kind::EagerAgain, 0, Payload::default()) {
                self.state.failed_elsewhere(error);
            }
        }
    }

    /// Announces the messages that wait to be sent to a process, instead of sending them with their bytes.
    #[cold]
    pub(super) fn announce_waiting(&mut self, to: Process) -> Result<(), Error> {
        if self.state.departure.is_death() {
            // It dies, and nobody could fetch them.
            return Ok(());
        }
        for at in 0..self.state.outboxes.waiting(to).len() {
            let outgoing = &self.state.outboxes.waiting(to)[at];
            let What::Request(send) = outgoing.what else {
                continue;
            };
            let slot = self.state.requests.at(send);
            let (word, bytes) = (slot.word, slot.total);
            if outgoing.done > 0 || self.state.is_eager(to, word, bytes as usize) {
                continue;
            }
            let (header, what) = self.announcement(send)?;
            self.state.profile.eager -= 1;
            self.state.profile.eager_bytes -= bytes;
            let outgoing = &mut self.state.outboxes.waiting_mut(to)[at];
            outgoing.header = header;
            outgoing.what = what;
        }
        Ok(())
    }
}
