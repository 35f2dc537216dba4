//! What a process knows of each other one.

use mq_shm::liveness::Gone;

use super::ahead::Credit;
use super::turns::Turns;

/// What is known of another process.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// The message from it of which more parts are to come, and the bytes that have come.
    pub(super) assembly: Option<(Target, u64)>,
    /// How it has ended, if it has and all that it had sent has been taken in.
    pub(crate) gone: Option<Gone>,
    /// How it ends, if it has said that it dies and the program was told, while something that it sent may still come.
    pub(crate) ends: Option<Gone>,
    /// Messages that were announced to it and that it has not answered yet.
    pub(super) announced: u32,
    /// What it wants to have unasked from this process.
    pub(super) credit: Credit,
    /// It was told that its messages may go ahead, and has not been told since that they may not.
    pub(super) may_go_ahead: bool,
    /// It was asked to announce all that it sends, and has not been told since that short messages need not be.
    pub(super) is_to_announce: bool,
    /// It has asked this process to announce all messages to it, however short.
    pub(super) wants_announcements: bool,
    /// The kernel refuses to read its memory.
    pub(super) memory_is_unreadable: bool,
    /// Its shared buffers could not be read.
    pub(super) shared_buffers_are_unreadable: bool,
    /// Of the last large message from it: an index into the classes of [`Ways`](super::ways::Ways).
    pub(super) last_large_class: Option<u8>,
    /// Whether large messages go back and forth.
    pub(super) turns: Turns,
}

impl Peer {
    /// Whether its messages, in shared buffers or not, come only through rings.
    pub(super) const fn is_unreadable(&self, is_shared: bool) -> bool {
        if is_shared {
            self.shared_buffers_are_unreadable
        } else {
            self.memory_is_unreadable
        }
    }
}

/// Where the parts of a message go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Request(u32),
    Message(u32),
    Nowhere,
}
