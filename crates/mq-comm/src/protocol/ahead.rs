//! Messages that go ahead: through a ring, unasked.
//!
//! A large message is announced, asked for and given a ring: three messages, and two trips for which its
//! sender waits. If such messages follow each other, as in a window, and receives for them are posted, the
//! answers are always the same. So a receiver that asks for a ring also says up to which length further
//! messages may go ahead, if it had a receive for this one when it came. As long as the ring to the receiver
//! has room for a whole message, the sender reserves the buffers itself, says where they are, and fills them
//! immediately, so that its send is over with the call, unless there is no room to say so. The receiver
//! empties them into the receive's buffer; if there is none, into memory of its own, and then it has the
//! sender announce the next ones until it asks for a ring again. It does the same when it is time to find out whether
//! another way is quicker (`ways`), and where messages are answers (`turns`). A sender that does not hear of that
//! has no more than a [`CREDIT`], and gets none while too many messages are unexpected (`flood`).
//!
//! Every message that has gone ahead is taken out of the ring, whoever it is for, since those after it wait
//! for its buffers.

use mq_shm::{Process, Stretch};

use super::arrive::corrupt;
use super::rings::Pull;
use super::{Core, Follow, State, Target};
use crate::error::Error;
use crate::header::{GoneAhead, Kind, Payload, RingGiven};
use crate::messages;
use crate::options::Options;
use crate::request::Stage;
use crate::steps::{Step, step};
use crate::transport::{Arrived, Transport};

/// The longest message that may go ahead, in bytes, whatever the receiver allows: a quarter of a ring.
pub(crate) const MOST_BYTES: usize = 256 << 10;

/// Bytes that may go ahead before the receiver asks for a ring again: a sender takes at most that much memory
/// with messages that nobody waits for.
const CREDIT: u64 = 4 << 20;

/// Which messages may go ahead: those longer than a number just below a power of two, and up to another
/// length.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Lengths {
    pub(super) more_than: u32,
    pub(super) up_to: u32,
}

impl Lengths {
    const POWER: u32 = 24;

    /// In one word: the longest, followed by the power of two.
    pub(super) const fn word(self) -> u32 {
        debug_assert!(self.up_to >> Self::POWER == 0 && (self.more_than + 1).is_power_of_two());
        (self.more_than + 1).ilog2() << Self::POWER | self.up_to
    }

    /// Reads a word, in which another process may have written anything.
    const fn of(word: u32) -> Self {
        Self {
            more_than: 1_u32.wrapping_shl(word >> Self::POWER) - 1,
            up_to: word & ((1 << Self::POWER) - 1),
        }
    }
}

/// What a receiver wants to have unasked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credit {
    lengths: Lengths,
    /// Bytes of all messages together.
    left: u64,
}

impl Credit {
    /// For messages of these lengths.
    pub(super) const fn of(lengths: u32) -> Self {
        Self {
            lengths: Lengths::of(lengths),
            left: CREDIT,
        }
    }

    const fn allows(self, bytes: usize) -> bool {
        let Lengths { more_than, up_to } = self.lengths;
        bytes > more_than as usize && bytes <= up_to as usize && bytes as u64 <= self.left
    }
}

/// A message that has gone ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    pub(super) bytes: usize,
    stretch: Stretch,
}

impl Ahead {
    /// Reads the payload of a message.
    pub(super) fn read(message: &mut impl Arrived) -> Result<Self, Error> {
        let from = message.source();
        let mut payload = [0; Payload::MOST];
        let count = message.copy_to(&mut payload);
        let said = payload.get(..count).and_then(GoneAhead::from_bytes);
        let bytes = said.and_then(|said| usize::try_from(said.bytes).ok());
        match (said, bytes) {
            (Some(GoneAhead { ring, first, .. }), Some(bytes)) if bytes <= MOST_BYTES => {
                let stretch = RingGiven { ring, first }.stretch(from, 0);
                Ok(Self { bytes, stretch })
            }
            _ => Err(corrupt("a message that went ahead", from)),
        }
    }
}

/// The longest message that a process wants to have unasked: one for which it would ask for a ring.
pub(super) fn longest_wanted(options: &Options) -> u32 {
    let by_ring = match options.single_copy_from {
        _ if !options.single_copy => usize::MAX,
        Some(from) => from.saturating_sub(1),
        // As long as the ring is found to be quicker.
        None => usize::MAX,
    };
    by_ring.min(options.ahead_limit).min(MOST_BYTES) as u32
}

impl<T: Transport> Core<T> {
    /// Sends a message ahead, if its receiver wants that and there is room; returns whether it was sent. The
    /// send has then begun, whatever goes wrong: a failure shows when it is tried again.
    pub(super) fn go_ahead(&mut self, send: u32) -> bool {
        let slot = self.state.requests.at_mut(send);
        let (to, bytes, bits) = (slot.peer, slot.buffer.len(), slot.bits);
        let peer = &self.state.peers[to.index()];
        let is_clogged = !self.state.outboxes.waiting(to).is_empty();
        if !peer.credit.allows(bytes) || is_clogged || peer.wants_announcements {
            return false;
        }
        if self.transport.expose(slot.buffer.bytes()).shared.is_some() {
            // One copy is quicker than two.
            return false;
        }
        let Some(taken) = self.transport.take_ring_with_room(to, bytes) else {
            return false;
        };
        self.state.peers[to.index()].credit.left -= bytes as u64;
        slot.stage = Stage::Pushing;
        let header = [bits, slot.word.with_kind(Kind::Ahead).0];
        self.state.profile.ahead += 1;
        self.state.profile.ahead_bytes += bytes as u64;
        let given = RingGiven::from(taken);
        let said = GoneAhead {
            bytes: bytes as u64,
            ring: given.ring,
            first: given.first,
        };
        let stretch = given.stretch(self.state.me, 0);
        step(Step::GoingAhead);
        let _ = self.transmit_or_owe(to, header, said.to_bytes());
        self.push_told_last(to, send, stretch);
        step(Step::GoneAhead);
        // The other rings have their turn again with every step.
        let _ = self.advance_rings();
        true
    }

    /// A message has come ahead for which no receive was posted.
    pub(super) fn came_too_early(&mut self, from: Process) -> Result<(), Error> {
        step(Step::CameTooEarly);
        self.advance_rings()?;
        self.tell_to_announce_large(from)?;
        match self.state.after_keeping(from) {
            Follow::Flooded => self.ask_to_announce(from),
            _ => Ok(()),
        }
    }

    /// Has a process announce the large messages that it sends, unless it already does.
    pub(super) fn tell_to_announce_large(&mut self, from: Process) -> Result<(), Error> {
        let peer = &mut self.state.peers[from.index()];
        if !core::mem::take(&mut peer.may_go_ahead) {
            return Ok(());
        }
        self.answer(from, Kind::AnnounceLarge, 0, Payload::default())
    }
}

impl State {
    /// From now on, the bytes of a message that has come ahead are taken out of the ring.
    pub(super) fn pull_ahead(&mut self, from: Process, ahead: Ahead, into: Target) {
        if let Target::Message(message) = into {
            messages::grow(&mut self.messages.at_mut(message).bytes, ahead.bytes);
        }
        self.start_pull(Pull {
            into,
            from,
            stretch: ahead.stretch,
            done: 0,
            until: ahead.bytes,
        });
    }

    /// A receive takes a message that is still on its way through a ring.
    pub(super) fn take_on_its_way(&mut self, receive: u32, message: u32) {
        let done = (self.rings).redirect(Target::Message(message), Target::Request(receive));
        let slot = self.requests.at_mut(receive);
        let into = slot.buffer.bytes_mut();
        let count = into.len().min(done);
        into[..count].copy_from_slice(&self.messages.at(message).bytes[..count]);
        slot.stage = Stage::Pulling;
        self.messages.release(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_they_are_written() {
        for (more_than, up_to) in [(0, 0), (0, 65_536), ((1 << 16) - 1, MOST_BYTES as u32)] {
            let lengths = Lengths { more_than, up_to };
            assert_eq!(Lengths::of(lengths.word()), lengths);
        }
        for word in [u32::MAX, 31 << 24, 32 << 24, 255 << 24] {
            let _any = Lengths::of(word);
        }
    }
}
