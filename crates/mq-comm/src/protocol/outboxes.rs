//! Outboxes: what waits to be sent, for a cell, for room in a fastbox, or behind other messages to the same process.

use std::collections::VecDeque;

use mq_shm::{Process, Sent, ShmError};

use crate::error::Error;
use crate::header::Payload;
use crate::request::{Outcome, Requests};
use crate::steps::{Step, step};
use crate::transport::Transport;

/// Messages to a process that have waited and are sent in one attempt, at most: their receiver may make room as quickly
/// as they are sent, and be flooded.
const FLUSH_MOST: u32 = 32;

/// Messages for which an outbox that has emptied keeps room.
const KEPT: usize = 256;

/// The outboxes of all processes, and what may go past them.
#[derive(Debug)]
pub(crate) struct Outboxes {
    by_process: Vec<Outbox>,
    /// Processes for which something waits.
    clogged: Vec<Process>,
    /// Messages that may go straight to the transport before this process looks at what has come. Each counts it down,
    /// also below 0:
    ///
    /// | it is | while | the next message |
    /// | --- | --- | --- |
    /// | above 0 | nothing waits, and no communicator is revoked | goes straight to the transport |
    /// | 0 or less | the same, but all that were allowed are gone | makes this process look, and allow more |
    /// | 0 or less | something waits | waits behind it |
    /// | 0 or less | nothing waits, and a communicator is revoked | is refused if it is of that one; after each 256th of the others, this process looks, and begins again at 0: see [`stopped`](Self::stopped) |
    sends_left: i32,
    /// What was left of them when something began to wait.
    sends_kept: i32,
    /// Sends of the program's that it gave up while they waited: they may go out all the same.
    pub(super) abandoned: u64,
}

#[derive(Debug, Default)]
struct Outbox {
    /// To be sent in this order, before anything else.
    waiting: VecDeque<Outgoing>,
    /// Messages that have waited and are sent.
    flushed: u64,
}

/// A message that waits.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) header: [u64; 2],
    pub(super) what: What,
    /// Bytes of it that have been sent.
    pub(super) done: usize,
}

#[derive(Debug)]
pub(super) enum What {
    /// The buffer of a request.
    Request(u32),
    /// A message of the protocol's own.
    Words(Payload),
}

impl Outboxes {
    pub(super) fn new(processes: u32) -> Self {
        Self {
            by_process: (0..processes).map(|_| Outbox::default()).collect(),
            clogged: Vec::new(),
            sends_left: 0,
            sends_kept: 0,
            abandoned: 0,
        }
    }

    /// Whether nothing waits, for any process.
    pub(crate) fn are_empty(&self) -> bool {
        self.clogged.is_empty()
    }

    /// A process for which something waits.
    pub(super) fn any(&self) -> Option<Process> {
        self.clogged.first().copied()
    }

    /// What waits for a process.
    pub(super) fn waiting(&self, to: Process) -> &VecDeque<Outgoing> {
        &self.by_process[to.index()].waiting
    }

    pub(super) fn waiting_mut(&mut self, to: Process) -> &mut VecDeque<Outgoing> {
        &mut self.by_process[to.index()].waiting
    }

    /// Messages to a process that have waited and are sent.
    pub(super) fn flushed(&self, to: Process) -> u64 {
        self.by_process[to.index()].flushed
    }

    /// What [`flushed`](Self::flushed) comes to with all that waits now.
    pub(super) fn flushed_with_all(&self, to: Process) -> u64 {
        self.flushed(to) + self.waiting(to).len() as u64
    }

    #[inline]
    pub(super) fn put(&mut self, to: Process, outgoing: Outgoing) {
        let outbox = &mut self.by_process[to.index()];
        if outbox.waiting.is_empty() {
            if self.clogged.is_empty() {
                self.sends_kept = self.sends_left;
            }
            self.clogged.push(to);
            self.sends_left = 0;
        }
        outbox.waiting.push_back(outgoing);
    }

    /// Nothing is sent to this process any more.
    pub(super) fn discard(&mut self, to: Process) {
        self.by_process[to.index()].waiting = VecDeque::new();
        self.clogged.retain(|&clogged| clogged != to);
    }

    /// Counts a message that is about to be sent; returns whether it may go straight to the transport.
    #[inline(always)]
    pub(super) fn let_pass(&mut self) -> bool {
        self.sends_left -= 1;
        self.sends_left >= 0
    }

    /// Messages that were about to be sent since no more were allowed: while a communicator is revoked, they are
    /// counted although each is looked at.
    pub(super) fn stopped(&self) -> i32 {
        -self.sends_left
    }

    /// So many messages may go straight to the transport.
    pub(super) fn allow(&mut self, sends: i32) {
        self.sends_left = sends;
    }

    /// As many may as when something began to wait.
    pub(super) fn allow_again(&mut self) {
        self.sends_left = self.sends_kept;
    }

    /// Sends what can be sent now, a few messages to each process; returns whether anything has moved, and the first
    /// failure, which holds up no other process.
    pub(super) fn flush<T: Transport>(
        &mut self,
        transport: &mut T,
        requests: &mut Requests,
    ) -> (bool, Option<Error>) {
        let (mut moved, mut failed) = (false, None);
        let mut at = 0;
        while let Some(&to) = self.clogged.get(at) {
            let outbox = &mut self.by_process[to.index()];
            for _ in 0..FLUSH_MOST {
                let Some(outgoing) = outbox.waiting.front_mut() else {
                    break;
                };
                let before = outgoing.done;
                let whole = match outgoing.attempt(to, transport, requests) {
                    Ok(whole) => whole,
                    Err(error) => {
                        failed.get_or_insert(error);
                        false
                    }
                };
                moved |= whole || outgoing.done > before;
                if !whole {
                    break;
                }
                outbox.waiting.pop_front();
                outbox.flushed += 1;
                step(Step::Flushed);
            }
            if outbox.waiting.is_empty() {
                outbox.waiting.shrink_to(KEPT);
                self.clogged.swap_remove(at);
            } else {
                at += 1;
            }
        }
        (moved, failed)
    }
}

impl Outgoing {
    /// Sends as much of it as can be sent now; returns whether that was all.
    pub(super) fn attempt<T: Transport>(
        &mut self,
        to: Process,
        transport: &mut T,
        requests: &mut Requests,
    ) -> Result<bool, Error> {
        let bytes = match &self.what {
            What::Request(send) => requests.at(*send).buffer.bytes(),
            What::Words(payload) => payload.bytes(),
        };
        match transport.try_send(to, self.header, bytes, self.done) {
            Ok(Sent::Whole) => {
                if let What::Request(send) = self.what {
                    requests.complete(send, Outcome::Fine);
                }
                Ok(true)
            }
            Ok(Sent::Upto(done)) => {
                self.done = done;
                Ok(false)
            }
            // The death is reported once all that came from there is received; sends end now.
            Err(ShmError::Gone { how, .. }) => {
                if let What::Request(send) = self.what {
                    requests.complete(send, Outcome::Gone(to, how));
                }
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }
}
