//! Which messages are sent eagerly, with their bytes.

use mq_shm::Process;

use super::{State, contexts};
use crate::header::Word;

/// Messages of collective operations of up to this many bytes are always eager: all ranks send theirs before
/// any of them receives.
const ALWAYS_EAGER: usize = 256;

/// The lengths of eager messages.
#[derive(Debug)]
pub(super) struct Eager {
    /// The longest.
    pub(super) limit: usize,
    /// Shorter messages are eager, whoever they are for.
    below: usize,
}

impl Eager {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            below: limit.saturating_add(1),
        }
    }
}

impl State {
    /// Whether a message is sent with its bytes at any time.
    #[inline(always)]
    pub(crate) fn is_eager(&self, to: Process, word: Word, bytes: usize) -> bool {
        bytes < self.eager.below || self.is_eager_after_all(to, word, bytes)
    }

    #[cold]
    fn is_eager_after_all(&self, to: Process, word: Word, bytes: usize) -> bool {
        let wanted = bytes <= self.eager.limit && !self.peers[to.index()].wants_announcements;
        wanted || bytes <= ALWAYS_EAGER && contexts::is_of_collectives(word.context())
    }

    /// Whether a message to a process is announced only because that has asked for it.
    #[inline]
    pub(super) fn is_held_back(&self, to: Process, bytes: usize) -> bool {
        bytes <= self.eager.limit && self.peers[to.index()].wants_announcements
    }

    /// Another process wants all messages to it to be announced, or no longer does.
    pub(super) fn set_wants_announcements(&mut self, process: Process, wants: bool) {
        self.peers[process.index()].wants_announcements = wants;
        let any = self.peers.iter().any(|peer| peer.wants_announcements);
        self.eager.below = match any {
            true => 0,
            false => self.eager.limit.saturating_add(1),
        };
    }
}
