//! Blocking sends.
#![allow(unsafe_code, reason = "lends the buffers of blocking operations")]

use mq_core::mpi::MpiPattern;
use mq_shm::{Process, Sent, ShmError};

use crate::abort::abort_on_unwind;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::header::{self, Word};
use crate::protocol::{Awaited, Core, State};
use crate::request::NONE;
use crate::status::Status;
use crate::transport::Transport;

/// Messages of at most this many bytes are sent whole or not at all.
const UNDIVIDED_BYTES: usize = 8 << 10;

/// A message to be sent; `word` is that of an eager one.
pub(crate) struct Out<'a> {
    pub(crate) to: Process,
    pub(crate) bits: u64,
    pub(crate) word: Word,
    pub(crate) bytes: &'a [u8],
}

impl<T: Transport> Core<T> {
    /// Sends, and waits until the buffer is free; `word` is that of an eager message.
    ///
    /// # Cost
    /// That of the transport's `try_send`, if nothing waits to be sent before it and the message is
    /// short.
    #[inline]
    pub(crate) fn send(
        &mut self,
        to: Process,
        bits: u64,
        word: Word,
        bytes: &[u8],
    ) -> Result<(), Error> {
        if to == self.state.me {
            // However long it is: while this call waits, nobody could receive it.
            return self.send_to_itself(bits, word, bytes);
        }
        if self.prepare_to_send(word) && self.state.is_eager(to, word, bytes.len()) {
            let header = [bits, word.0];
            match self.transport.try_send(to, header, bytes, 0) {
                Ok(Sent::Whole) => {
                    self.state.profile.count_eager(bytes.len() as u64);
                    return Ok(());
                }
                Ok(Sent::Upto(0)) => return self.send_later(to, bits, word, bytes),
                Ok(Sent::Upto(done)) => return self.send_rest(to, bits, word, bytes, done),
                // Its words would have to be kept for this.
                Err(error) => return Err(Error::of_any_send(error)),
            }
        }
        self.send_rest(to, bits, word, bytes, 0)
    }

    /// As [`send`](Self::send), for who need not know of memory that was refused, for the message or for what is before
    /// it, if it goes out later. After a refusal that is an error, nothing of it has been sent, if it is eager.
    pub(crate) fn send_or_leave(
        &mut self,
        to: Process,
        bits: u64,
        word: Word,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let before = self.state.outboxes.abandoned;
        match self.send(to, bits, word, bytes) {
            Err(error) if error.is_out_of_memory() && self.state.outboxes.abandoned != before => {
                Ok(())
            }
            result => result,
        }
    }

    /// Sends an eager message for which there was no room: receives until there is. If the receiving fails, nothing
    /// of it has been sent.
    #[inline(never)]
    fn send_later(
        &mut self,
        to: Process,
        bits: u64,
        word: Word,
        bytes: &[u8],
    ) -> Result<(), Error> {
        self.idle.reset();
        loop {
            self.progress_or_rest(Awaited::Room { to, bits, word })?;
            if !self.state.outboxes.are_empty() {
                // An answer that could not be sent waits there, and what comes after it too.
                return self.send_rest(to, bits, word, bytes, 0);
            }
            let sent = self.transport.try_send(to, [bits, word.0], bytes, 0);
            match sent.map_err(|error| Error::of_send(error, bits, word))? {
                Sent::Whole => break,
                Sent::Upto(0) => {}
                Sent::Upto(done) => return self.send_rest(to, bits, word, bytes, done),
            }
        }
        self.state.profile.count_eager(bytes.len() as u64);
        self.state.profile.deferred += 1;
        Ok(())
    }

    /// Sends and receives, if that takes no request: a short message to another process is gone before the
    /// receive begins, where there is room for it; one to this process itself goes straight to the receive.
    /// `None`: nothing has been done, and the receive has to be there while the send is waited for.
    pub(crate) fn send_and_receive(
        &mut self,
        out: &Out<'_>,
        pattern: &MpiPattern,
        from: Process,
        into: &mut [u8],
    ) -> Result<Option<Status>, Error> {
        let &Out {
            to,
            bits,
            word,
            bytes,
        } = out;
        if to == self.state.me {
            self.look_around();
            return Ok(self.state.take_from_itself(out, pattern, into));
        }
        let is_short = bytes.len() <= UNDIVIDED_BYTES && self.state.is_eager(to, word, bytes.len());
        if !is_short || !self.prepare_to_send(word) {
            return Ok(None);
        }
        let sent = match self.transport.try_send(to, [bits, word.0], bytes, 0) {
            Ok(Sent::Whole) => {
                self.state.profile.count_eager(bytes.len() as u64);
                Ok(())
            }
            Ok(Sent::Upto(0)) => return Ok(None),
            Ok(Sent::Upto(done)) => self.send_rest(to, bits, word, bytes, done),
            // What another has sent is received all the same.
            Err(gone @ ShmError::Gone { .. }) => Err(Error::of_send(gone, bits, word)),
            Err(error) => return Err(error.into()),
        };
        let status = self.receive(pattern, word, from, into)?;
        sent.map(|()| Some(status))
    }

    #[cold]
    #[inline(never)]
    fn send_rest(
        &mut self,
        to: Process,
        bits: u64,
        word: Word,
        bytes: &[u8],
        done: usize,
    ) -> Result<(), Error> {
        abort_on_unwind(|| {
            // SAFETY: the request is over, and the buffer dropped, before this returns.
            let buffer = unsafe { Buffer::shared(bytes) };
            let (send, begun) = self.start_send(to, bits, word, buffer, done, NONE);
            self.see_through(send.slot(), None, begun).map(|_| ())
        })
    }
}

impl State {
    /// Copies a message of this process to itself into the buffer of a blocking receive, if that takes it and
    /// no receive or message is before it.
    fn take_from_itself(
        &mut self,
        out: &Out<'_>,
        pattern: &MpiPattern,
        into: &mut [u8],
    ) -> Option<Status> {
        if self.matching.waiting() | self.obstacles | self.follows_any_source_probe != 0
            || !header::takes(pattern, out.bits, out.word)
        {
            return None;
        }
        let count = out.bytes.len();
        into.get_mut(..count)?.copy_from_slice(out.bytes);
        let bytes = count as u64;
        self.profile.count_eager(bytes);
        self.profile.count_received(bytes);
        self.profile.bypassed += 1;
        Some(Status::new(out.bits, bytes))
    }
}
