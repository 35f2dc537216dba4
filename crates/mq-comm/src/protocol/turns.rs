//! Large messages that go back and forth between two processes, one at a time.
//!
//! A process whose messages go ahead fills a ring of its own. Where an answer follows each message, both ends would
//! then write one ring and read another, and the bytes of neither would be in a near cache any more when their turn
//! comes: between two threads of one core a ping-pong of 64 KiB took 4.1 µs each way in place of 2.4. An answer that
//! is announced goes through the ring of the message instead, whose lines its sender has just read, if that ring's
//! owner lends it ([`Endpoint::lend_ring`](mq_shm::Endpoint::lend_ring)). So an owner that can lend it has answers
//! announced.
//!
//! Two processes that exchange messages, each on its way while the other comes, gain by sending both ahead. What an
//! announced answer costs is that its bytes come when its sender makes a call again: one that computes between `isend`
//! and `wait` keeps the receiver waiting, as with any message that is announced.

use mq_shm::Process;

use super::{Core, State};
use crate::transport::Transport;

/// So many answers in a row, and those that follow are to be announced. A window of messages that is answered by
/// one has one.
const ENOUGH: u8 = 4;

/// What is known of the large messages between this process and another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turns {
    /// One has gone there, through a ring, since one last came from there.
    has_gone: bool,
    /// Answers that came in a row.
    answers: u8,
}

impl Turns {
    /// A large message has gone to the other process, through a ring.
    pub(super) const fn sent(&mut self) {
        self.has_gone = true;
    }

    /// A large message has come from the other process; `taken` if that had taken all that went there, and the ring
    /// is left.
    const fn came(&mut self, taken: bool) {
        self.answers = match self.answers {
            _ if !(self.has_gone && taken) => 0,
            ENOUGH => ENOUGH,
            fewer => fewer + 1,
        };
        self.has_gone = false;
    }

    const fn are_taken(self) -> bool {
        self.answers == ENOUGH
    }
}

impl<T: Transport> Core<T> {
    /// A large message has come.
    pub(super) fn note_turn(&mut self, from: Process) {
        let peer = &mut self.state.peers[from.index()];
        let taken = peer.announced == 0 && self.transport.has_ring_to_lend(from);
        peer.turns.came(taken);
    }
}

impl State {
    /// Whether a process is to announce its large messages because they are answers to those that go there.
    pub(super) fn has_answers_announced(&self, from: Process) -> bool {
        // Of two processes the one with the lower number lends its rings.
        self.me < from && self.peers[from.index()].turns.are_taken()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_answers_are_needed_and_two_messages_in_a_row_or_an_exchange_end_it() {
        let mut turns = Turns::default();
        for goes in [false, true] {
            for _ in 0..ENOUGH {
                assert!(!turns.are_taken());
                turns.sent();
                turns.came(true);
            }
            assert!(turns.are_taken());
            turns.sent();
            turns.came(true);
            assert!(turns.are_taken());
            if goes {
                turns.sent();
            }
            turns.came(!goes);
        }
        assert!(!turns.are_taken());
    }
}
