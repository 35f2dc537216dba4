//! Blocking sends and receives, and their ways past the queues.
//!
//! A blocking receive for which nothing has come takes the next message straight out of the transport if it
//! is the one it waits for: the receive-queue bypass of Nemesis. As it is the youngest receive of its
//! process, any posted receive is asked first; if there is none, the engine is not entered at all. A blocking
//! send hands its bytes to the transport if nothing waits before them, and receives until there is room for
//! them. Neither has a request then.
#![allow(unsafe_code, reason = "lends the buffers of blocking operations")]

use mq_core::Pattern;
use mq_core::mpi::MpiPattern;
use mq_shm::{Process, Sent, ShmError};

use crate::buffer::Buffer;
use crate::error::Error;
use crate::header::{self, Word};
use crate::protocol::{Core, Failures, Follow, Hand, State};
use crate::request::{NONE, Outcome, Stage};
use crate::status::Status;
use crate::transport::{Arrived, Event, Transport};

/// Ends the program when it is dropped. A panic in the library while an operation that is to end has lent its
/// buffer would leave the loan in the pool; no such panic is known.
pub(crate) struct NoPanic;

impl Drop for NoPanic {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// Messages of at most so many bytes are sent whole or not at all.
const AT_ONCE: usize = 8 << 10;

/// A message that a full poll has found counts as so many rounds: one short message in 64 is found there, and each one
/// in a cell.
const ROUNDS_FOR_A_MESSAGE: u32 = 4;

/// A message to be sent; `word` is that of an eager one.
pub(crate) struct Out<'a> {
    pub(crate) to: Process,
    pub(crate) bits: u64,
    pub(crate) word: Word,
    pub(crate) bytes: &'a [u8],
}

/// What a blocking receive has found other than a short message for it. It has been taken in with the receive
/// in hand.
struct Other {
    no_panic: NoPanic,
    hand: Hand,
    source: Process,
    follow: Result<Follow, Error>,
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
        if self.may_send(word) && self.state.is_eager(to, word, bytes.len()) {
            let header = [bits, word.0];
            match self.transport.try_send(to, header, bytes, 0) {
                Ok(Sent::Whole) => {
                    self.state.profile.count_eager(bytes.len() as u64);
                    return Ok(());
                }
                Ok(Sent::Upto(0)) => return self.send_later(to, bits, word, bytes),
                Ok(Sent::Upto(done)) => return self.send_rest(to, bits, word, bytes, done),
                Err(error) => return Err(error.into()),
            }
        }
        self.send_rest(to, bits, word, bytes, 0)
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
            self.progress_or_rest(None)?;
            if !self.state.outboxes.are_empty() {
                // An answer that could not be sent waits there, and what comes after it too.
                return self.send_rest(to, bits, word, bytes, 0);
            }
            match self.transport.try_send(to, [bits, word.0], bytes, 0)? {
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
            return Ok(self.state.take_own(out, pattern, into));
        }
        let is_short = bytes.len() <= AT_ONCE && self.state.is_eager(to, word, bytes.len());
        if !is_short || !self.may_send(word) {
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
            Err(gone @ ShmError::Gone { .. }) => Err(gone.into()),
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
        let no_panic = NoPanic;
        // SAFETY: the request is over, and the buffer dropped, before this returns; there is no
        // unwinding from here.
        let buffer = unsafe { Buffer::shared(bytes) };
        let (send, begun) = self.start_send(to, bits, word, buffer, done, NONE);
        let result = self.see_through(send.slot(), None, begun).map(|_| ());
        core::mem::forget(no_panic);
        result
    }

    /// Waits for a request of lent memory that has begun, or has failed to, and ends it in any case.
    fn see_through(
        &mut self,
        request: u32,
        hand: Option<&Hand>,
        begun: Result<(), Error>,
    ) -> Result<Status, Error> {
        let mut round = match begun {
            // Only the answer was refused, and is sent later.
            Err(error) if error.is_refusal() && self.state.has_message(request) => Ok(()),
            begun => begun,
        };
        let has_begun = round.is_ok();
        self.idle.reset();
        loop {
            if let Some(hand) = hand {
                self.end_if_revoked(hand);
            }
            if round.is_err() || self.is_done(request) {
                break;
            }
            round = self.progress_for(hand, |_| vec![request]);
        }
        if !self.is_done(request)
            && let Err(error) = round
        {
            if !has_begun && self.state.requests.at(request).stage == Stage::Waiting {
                // Nobody knows of it, and it is in no outbox.
                self.state.requests.release(request);
                return Err(error);
            }
            self.abandon(request);
            self.see_off(request);
            return Err(error);
        }
        let slot = self.state.requests.at(request);
        let mut result = slot.result();
        if let Err(error) = round {
            if slot.outcome == Outcome::Withdrawn {
                // The request was ended because of that error, and says less.
                result = Err(error);
            } else if has_begun {
                // It has come to its end in a round in which something else failed.
                self.state.failed_elsewhere(error);
            }
        }
        self.state.requests.release(request);
        result
    }

    /// After [`abandon`](Self::abandon) of a request of lent memory: waits for the answer to a withdrawal.
    pub(crate) fn see_off(&mut self, request: u32) {
        let mut failures = Failures::default();
        while self.state.requests.is_lent(request) {
            let is_announced =
                |core: &Self| core.state.requests.at(request).stage == Stage::Announced;
            if !is_announced(self) {
                self.abandon(request);
                continue;
            }
            let progress = self.progress_or_rest(None);
            if failures.are_bearable(progress).is_err() && is_announced(self) {
                // The receiver's transport may work, and the receiver may not have heard of the withdrawal.
                self.transport.hide_memory();
                self.state.requests.release(request);
            }
        }
    }

    /// Receives a message of this context that a matched probe has taken out.
    pub(crate) fn receive_matched(
        &mut self,
        message: u32,
        context: u32,
        into: &mut [u8],
    ) -> Result<Status, Error> {
        let no_panic = NoPanic;
        // SAFETY: the request is over, and the buffer dropped, before this returns; there is no
        // unwinding from here.
        let buffer = unsafe { Buffer::exclusive(into) };
        let (request, begun) = self.start_matched(Some(message), context, buffer);
        let result = self.see_through(request.slot(), None, begun);
        core::mem::forget(no_panic);
        result
    }

    /// Receives, and waits until the message is there; `word` is that of an eager message.
    ///
    /// # Cost
    /// That of the transport's `poll`, if no receive is posted, no message waits, and the next message is the
    /// one.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        pattern: &MpiPattern,
        word: Word,
        from: Process,
        into: &mut [u8],
    ) -> Result<Status, Error> {
        let state = &self.state;
        if state.matching.waiting() | state.obstacles != 0 || state.attention {
            return self.receive_slowly(pattern, from, into);
        }
        self.stand(from)?;
        loop {
            let Some(message) = self.transport.poll_wanted() else {
                if self.transport.watch_wanted(&mut self.idle) {
                    continue;
                }
                match self.receive_elsewhere(pattern, word, from, into) {
                    Ok(None) => continue,
                    Ok(Some(status)) => return Ok(status),
                    Err(error) => return Err(error),
                }
            };
            match self.state.offer(message, pattern, word, from, into) {
                Ok(status) => {
                    self.idle.reset();
                    return Ok(status);
                }
                Err(other) => return self.receive_after(other),
            }
        }
    }

    /// A full poll, and a rest if it finds nothing.
    #[inline(never)]
    fn receive_elsewhere(
        &mut self,
        pattern: &MpiPattern,
        word: Word,
        from: Process,
        into: &mut [u8],
    ) -> Result<Option<Status>, Error> {
        let offered = match self.transport.poll(true)? {
            Some(Event::Message(message)) => {
                Ok(self.state.offer(message, pattern, word, from, into))
            }
            Some(Event::Gone(process, how)) => Err(Some((process, how))),
            None => Err(None),
        };
        match offered {
            Ok(Ok(status)) => {
                self.idle.reset();
                // Who always finds a message does not go round.
                if self.roll_call.is_due_after(ROUNDS_FOR_A_MESSAGE)
                    && let Err(error) = self.transport.check_peers()
                {
                    self.state.failed_elsewhere(error.into());
                }
                Ok(Some(status))
            }
            Ok(Err(other)) => self.receive_after(other).map(Some),
            Err(None) => {
                // With enough patience, a process looks for longer than a death may stay unknown.
                if self.roll_call.is_due() {
                    self.transport.check_peers()?;
                }
                self.transport.rest(&mut self.idle)?;
                Ok(None)
            }
            Err(Some((process, how))) => {
                let no_panic = NoPanic;
                // SAFETY: the request is over, and the buffer dropped, before this returns; there is no
                // unwinding from here.
                let hand = unsafe { self.state.lend(pattern, from, into) };
                let begun = self.gone(process, how);
                let begun = begun.or_else(|error| self.bear_in_hand(&hand, error));
                let result = self.see_through(hand.request, Some(&hand), begun);
                core::mem::forget(no_panic);
                result.map(Some)
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn receive_slowly(
        &mut self,
        pattern: &MpiPattern,
        from: Process,
        into: &mut [u8],
    ) -> Result<Status, Error> {
        let no_panic = NoPanic;
        // SAFETY: the request is over, and the buffer dropped, before this returns; there is no
        // unwinding from here.
        let hand = unsafe { self.state.lend(pattern, from, into) };
        let begun = match self.begin_blocking(&hand, from) {
            Ok(()) => Ok(()),
            Err(error) => self.begin_again(&hand, from, error),
        };
        let result = self.see_through(hand.request, Some(&hand), begun);
        core::mem::forget(no_panic);
        result
    }

    /// Begins a receive again, as long as memory is refused for something else.
    #[cold]
    fn begin_again(&mut self, hand: &Hand, from: Process, mut error: Error) -> Result<(), Error> {
        loop {
            self.bear_in_hand(hand, error)?;
            match self.begin_blocking(hand, from) {
                Ok(()) => return Ok(()),
                Err(again) => error = again,
            }
        }
    }

    /// Something for another message than that of a receive in hand has failed: the receive waits on if memory was
    /// refused.
    #[cold]
    fn bear_in_hand(&mut self, hand: &Hand, error: Error) -> Result<(), Error> {
        if self.state.requests.at(hand.request).stage == Stage::Hand {
            self.bear(error)
        } else {
            Err(error)
        }
    }

    fn begin_blocking(&mut self, hand: &Hand, from: Process) -> Result<(), Error> {
        if self.settle(hand)? {
            return Ok(());
        }
        if self.state.bypass {
            return self.stand(from);
        }
        self.post(hand)
    }

    #[cold]
    #[inline(never)]
    fn receive_after(&mut self, other: Other) -> Result<Status, Error> {
        let Other {
            no_panic,
            hand,
            source,
            follow,
        } = other;
        let begun = follow.and_then(|follow| self.follow(source, follow));
        let begun = begun.or_else(|error| self.bear_in_hand(&hand, error));
        let result = self.see_through(hand.request, Some(&hand), begun);
        core::mem::forget(no_panic);
        result
    }
}

impl State {
    /// Copies a message of this process to itself into the buffer of a blocking receive, if that takes it and
    /// no receive or message is before it.
    fn take_own(&mut self, out: &Out<'_>, pattern: &MpiPattern, into: &mut [u8]) -> Option<Status> {
        if self.matching.waiting() | self.obstacles != 0
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

    /// Gives a blocking receive a message, if it is short and the one it waits for; otherwise takes the
    /// message in.
    #[inline(always)]
    fn offer(
        &mut self,
        mut message: impl Arrived,
        pattern: &MpiPattern,
        word: Word,
        from: Process,
        into: &mut [u8],
    ) -> Result<Status, Other> {
        let [bits, its_word] = message.header();
        let bytes = message.bytes();
        let fits = bytes <= into.len() && message.total() == bytes as u64;
        if its_word == word.0 && (bits ^ pattern.bits()) & pattern.care() == 0 && fits {
            message.copy_to(into);
            drop(message);
            self.profile.count_received(bytes as u64);
            self.profile.bypassed += 1;
            return Ok(Status::new(bits, bytes as u64));
        }
        Err(self.take_other(&mut message, pattern, from, into))
    }

    #[cold]
    #[inline(never)]
    fn take_other(
        &mut self,
        message: &mut impl Arrived,
        pattern: &MpiPattern,
        from: Process,
        into: &mut [u8],
    ) -> Other {
        let no_panic = NoPanic;
        // SAFETY: the request is over, and the buffer dropped, before the blocking call returns, which has to
        // do something with the guard to get rid of it: there is no unwinding from here to there.
        let hand = unsafe { self.lend(pattern, from, into) };
        let source = message.source();
        let follow = self.accept(message, Some(&hand));
        Other {
            no_panic,
            hand,
            source,
            follow,
        }
    }

    /// A receive into lent memory that is in no queue.
    ///
    /// # Safety
    /// The request is over before the loan ends.
    #[cold]
    unsafe fn lend(&mut self, pattern: &MpiPattern, from: Process, into: &mut [u8]) -> Hand {
        // SAFETY: the caller's.
        let buffer = unsafe { Buffer::exclusive(into) };
        self.start_hand(*pattern, from, buffer)
    }
}
