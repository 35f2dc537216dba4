//! What a process knows of each other one, and what it still has to send there.

use std::collections::VecDeque;

use mq_shm::liveness::Gone;

use super::ahead::Credit;
use super::turns::Turns;
use crate::header::Payload;

/// What is known of another process.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// What is to be sent to it, in this order, before anything else.
    pub(super) outbox: VecDeque<Outgoing>,
    /// How many messages have been in the outbox and left it, sent.
    pub(super) flushed: u64,
    /// The message from it of which more parts are to come, and the bytes that have come.
    pub(super) assembly: Option<(Target, u64)>,
    /// How it has ended, if it has and all that it had sent has been taken in.
    pub(crate) gone: Option<Gone>,
    /// The same, before that, of one that has said that it dies, if the program was told.
    pub(crate) ends: Option<Gone>,
    /// Messages that were announced to it and that it has not answered yet.
    pub(super) announced: u32,
    /// What it wants to have unasked.
    pub(super) ahead: Credit,
    /// It was told that messages may go ahead, and has not been told since that they may not.
    pub(super) goes_ahead: bool,
    /// It was asked to announce all that it sends, and has not been told since that short messages need not be.
    pub(super) is_to_announce: bool,
    /// It has asked for that.
    pub(super) wants_announcements: bool,
    /// Its memory cannot be read; its shared buffers cannot.
    pub(super) only_by_ring: [bool; 2],
    /// Of the last large message from it: an index into the classes of [`Ways`](super::ways::Ways).
    pub(super) last_large_class: Option<u8>,
    /// Whether large messages go back and forth.
    pub(super) turns: Turns,
}

/// A message that waits for a cell, or for room in a fastbox.
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

/// Where the parts of a message go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Request(u32),
    Message(u32),
    Nowhere,
}
