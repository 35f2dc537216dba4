//! Messages of a process to itself: the transport has no part in them.
//!
//! Each is matched where it is sent. A receive that waits for it gets its bytes straight from the sender's
//! buffer; otherwise a short one is kept as any unexpected message, and a long one is announced, so that its
//! bytes are copied once, when it is received. A blocking send has a long one kept too: nobody could receive it
//! while the call waits.

use mq_shm::Process;

use super::Core;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::header::{NOWHERE, Word};
use crate::request::{Name, New, Stage};
use crate::transport::{Arrived, Transport};

/// A whole message in the buffer that it is sent from.
struct Own<'a> {
    from: Process,
    header: [u64; 2],
    bytes: &'a [u8],
}

impl Arrived for Own<'_> {
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
        let total = buffer.len();
        let is_eager = self.state.is_eager(word, total);
        let sent = match is_eager {
            true => self.send_to_itself(bits, word, buffer.bytes()),
            false => Ok(()),
        };
        let name = self.state.requests.add(New {
            stage: match is_eager && sent.is_ok() {
                true => Stage::Done,
                false => Stage::Waiting,
            },
            peer: self.state.me,
            context: word.context(),
            bits,
            total: total as u64,
            buffer,
            set,
        });
        if is_eager {
            return (name, sent);
        }
        self.state.requests.at_mut(name.slot()).word = word;
        (name, self.announce(name.slot()))
    }

    /// Sends a message to this process itself with its bytes. If that fails, nothing has been sent.
    #[inline(never)]
    pub(crate) fn send_to_itself(
        &mut self,
        bits: u64,
        word: Word,
        bytes: &[u8],
    ) -> Result<(), Error> {
        self.tell_itself([bits, word.0], bytes)?;
        self.state.profile.eager += 1;
        self.state.profile.eager_bytes += bytes.len() as u64;
        Ok(())
    }

    /// Takes in a message of this process's own.
    pub(super) fn tell_itself(&mut self, header: [u64; 2], bytes: &[u8]) -> Result<(), Error> {
        let from = self.state.me;
        let mut message = Own {
            from,
            header,
            bytes,
        };
        let follow = self.state.accept(&mut message, None)?;
        self.follow(from, follow)
    }

    /// Copies an announced message of this process's own into the buffer of its receive, which has room for
    /// so many bytes of it.
    pub(super) fn copy_own(&mut self, receive: u32, send: u64, room: usize) -> Result<(), Error> {
        let (into, message) = self.state.requests.two_at_mut(receive, Name(send).slot());
        into.buffer.bytes_mut()[..room].copy_from_slice(&message.buffer.bytes()[..room]);
        if into.shared == NOWHERE {
            self.state.profile.single_copy += 1;
        } else {
            self.state.profile.shared_copy += 1;
        }
        self.fetched(receive, self.state.me, send)
    }
}
