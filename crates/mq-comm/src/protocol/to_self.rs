//! Messages of a process to itself: the transport has no part in them.
//!
//! Each is matched where it is sent. A receive that waits for it gets its bytes straight from the sender's
//! buffer; otherwise a short one is kept as any unexpected message, and a long one is announced, so that its
//! bytes are copied once, when it is received. A blocking send has a long one kept too: nobody could receive it
//! while the call waits.

use mq_shm::Process;

use super::Core;
use super::arrive::corrupt;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::header::{self, Word};
use crate::request::{Name, New, Outcome, Stage};
use crate::transport::{Arrived, Transport};

/// Own messages between two looks at what has come from others.
const LOOK_AROUND_EVERY: u32 = 64;

/// A whole message in the buffer that it is sent from.
struct MessageToItself<'a> {
    from: Process,
    header: [u64; 2],
    bytes: &'a [u8],
}

impl Arrived for MessageToItself<'_> {
    #[inline]
    fn source(&self) -> Process {
        self.from
    }

    #[inline]
    fn header(&self) -> [u64; 2] {
        self.header
    }

    #[inline]
    fn total(&self) -> u64 {
        self.bytes.len() as u64
    }

    #[inline]
    fn offset(&self) -> u64 {
        0
    }

    #[inline]
    fn bytes(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    fn copy_to(&mut self, into: &mut [u8]) -> usize {
        let count = into.len().min(self.bytes.len());
        into[..count].copy_from_slice(&self.bytes[..count]);
        count
    }
}

impl<T: Transport> Core<T> {
    /// Begins to send a buffer to this process itself; `word` is that of an eager message.
    #[inline(never)]
    pub(super) fn start_send_to_itself(
        &mut self,
        bits: u64,
        word: Word,
        buffer: Buffer,
        set: u32,
    ) -> (Name, Result<(), Error>) {
        let (peer, total) = (self.state.me, buffer.len());
        let new = |stage, buffer| New {
            stage,
            peer,
            context: word.context(),
            bits,
            total: total as u64,
            buffer,
            set,
        };
        if self.state.is_eager(peer, word, total) {
            let sent = self.send_to_itself(bits, word, buffer.bytes());
            let stage = match sent {
                Ok(()) => Stage::Done,
                Err(_) => Stage::Waiting,
            };
            return (self.state.requests.add(new(stage, buffer)), sent);
        }
        self.look_around();
        let refused = (self.state.contexts).refuses(word.context(), header::tag_of(bits));
        let name = self.state.requests.add(new(Stage::Waiting, buffer));
        if refused {
            return (name, Err(Error::Revoked));
        }
        self.state.requests.at_mut(name.slot()).word = word;
        (name, self.announce(name.slot()))
    }

    /// Goes round once after some messages of this process's own, and where something waits to be sent: else a
    /// process that only sends to itself would neither hear of others nor go on with what it owes them.
    pub(crate) fn look_around(&mut self) {
        self.sends_to_itself = self.sends_to_itself.wrapping_add(1);
        if (self.state.attention || self.sends_to_itself.is_multiple_of(LOOK_AROUND_EVERY))
            && let Err(error) = self.progress()
        {
            self.state.failed_elsewhere(error);
        }
    }

    /// Sends a message to this process itself with its bytes. If that fails, nothing has been sent.
    #[inline(never)]
    pub(crate) fn send_to_itself(
        &mut self,
        bits: u64,
        word: Word,
        bytes: &[u8],
    ) -> Result<(), Error> {
        self.look_around();
        if (self.state.contexts).refuses(word.context(), header::tag_of(bits)) {
            return Err(Error::Revoked);
        }
        self.tell_itself([bits, word.0], bytes)?;
        self.state.profile.count_eager(bytes.len() as u64);
        Ok(())
    }

    /// Takes in a message of this process's own, an answer too. If that fails, it does before anything has been
    /// matched or answered.
    pub(super) fn tell_itself(&mut self, header: [u64; 2], bytes: &[u8]) -> Result<(), Error> {
        let from = self.state.me;
        let mut message = MessageToItself {
            from,
            header,
            bytes,
        };
        let follow = self.state.accept(&mut message, None)?;
        self.follow(from, follow)
    }

    /// Copies an announced message of this process's own into the buffer of its receive, which has room for
    /// `room` bytes of it.
    pub(super) fn copy_to_itself(
        &mut self,
        receive: u32,
        name: Name,
        room: usize,
    ) -> Result<(), Error> {
        let me = self.state.me;
        let requests = &mut self.state.requests;
        let is_it = |send: &u32| {
            let slot = requests.at(*send);
            slot.stage == Stage::Announced && slot.peer == me && slot.buffer.len() >= room
        };
        let Some(send) = requests.find(name).filter(is_it) else {
            // No message of this process's: what it read in shared memory is damaged.
            requests.complete(receive, Outcome::Withdrawn);
            return Err(corrupt("an announcement", me));
        };
        let (into, message) = requests.two_at_mut(receive, send);
        into.buffer.bytes_mut()[..room].copy_from_slice(&message.buffer.bytes()[..room]);
        if into.exposed.is_shared() {
            self.state.profile.shared_copy += 1;
        } else {
            self.state.profile.single_copy += 1;
        }
        self.fetched(receive, me, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;

    /// A scope that fails withdraws its own messages, and is answered at once: that must not hide them from
    /// it.
    #[test]
    fn what_a_scope_has_withdrawn_is_not_left_in_the_pool() {
        let world = World::alone().unwrap();
        let long = vec![1_u8; 100_000];
        let failed = world.scope(|s| {
            core::mem::forget(s.isend(&long, 0, 1)?);
            drop(s.isend(&long, 0, 1)?);
            Err::<(), _>(Error::Cancelled)
        });
        assert!(matches!(failed, Err(Error::Cancelled)));
        assert_eq!(world.inner.core().state.requests.all().count(), 0);
    }
}
