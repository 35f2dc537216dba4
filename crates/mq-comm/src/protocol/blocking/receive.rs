//! Blocking receives.
#![allow(unsafe_code, reason = "lends the buffers of blocking operations")]

use mq_core::Pattern;
use mq_core::mpi::MpiPattern;
use mq_shm::Process;

use crate::abort::{AbortOnUnwind, abort_on_unwind};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::header::Word;
use crate::protocol::{Awaited, Core, Follow, Hand, State};
use crate::request::{ANYONE, Stage};
use crate::status::Status;
use crate::transport::{Arrived, Caller, Event, Transport};

/// A message that a full poll has found counts as this many rounds: one short message in 64 is found there, and each
/// one in a cell.
const ROUNDS_FOR_A_MESSAGE: u32 = 4;

/// What a blocking receive has found other than a short message for it. It has been taken in with the receive
/// in hand.
struct Other {
    guard: AbortOnUnwind,
    hand: Hand,
    source: Process,
    follow: Result<Follow, Error>,
}

impl<T: Transport> Core<T> {
    /// Receives a message of this context that a matched probe has taken out.
    pub(crate) fn receive_matched(
        &mut self,
        message: u32,
        context: u32,
        into: &mut [u8],
    ) -> Result<Status, Error> {
        abort_on_unwind(|| {
            // SAFETY: the request is over, and the buffer dropped, before this returns.
            let buffer = unsafe { Buffer::exclusive(into) };
            let (request, begun) = self.start_matched(Some(message), context, buffer);
            self.see_through(request.slot(), None, begun)
        })
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
        self.receive_by::<false>(pattern, word, from, into)
    }

    /// [`receive`](Self::receive) from any source: a sender that never stops does not keep the others waiting.
    pub(crate) fn receive_by_turns(
        &mut self,
        pattern: &MpiPattern,
        word: Word,
        into: &mut [u8],
    ) -> Result<Status, Error> {
        self.receive_by::<true>(pattern, word, ANYONE, into)
    }

    #[inline(always)]
    fn receive_by<const TURNS: bool>(
        &mut self,
        pattern: &MpiPattern,
        word: Word,
        from: Process,
        into: &mut [u8],
    ) -> Result<Status, Error> {
        let state = &self.state;
        if state.matching.waiting() | state.obstacles | state.follows_any_source_probe != 0
            || state.attention
        {
            return self.receive_slowly(pattern, word, from, into);
        }
        self.keep_want(from)?;
        loop {
            let Some(message) = (match TURNS {
                true => self.transport.poll_wanted_by_turns(),
                false => self.transport.poll_wanted(),
            }) else {
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
        let offered = match self.transport.poll(Caller::Waits)? {
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
                if self.roll_call.tick_by(ROUNDS_FOR_A_MESSAGE)
                    && let Err(error) = self.transport.check_peers()
                {
                    self.state.failed_elsewhere(error.into());
                }
                Ok(Some(status))
            }
            Ok(Err(other)) => self.receive_after(other).map(Some),
            Err(None) => {
                // With enough patience, a process looks for longer than a death may stay unknown.
                if self.roll_call.tick() {
                    self.transport.check_peers()?;
                }
                let before = self.idle.sleeps();
                self.transport.rest(&mut self.idle)?;
                self.note_rest(before, Awaited::Message(pattern, from));
                Ok(None)
            }
            Err(Some((process, how))) => {
                let status = abort_on_unwind(|| {
                    // SAFETY: the request is over, and the buffer dropped, before this returns.
                    let hand = unsafe { self.state.lend(pattern, from, into) };
                    let begun = self.on_end(process, how, Some(&hand));
                    let begun = begun.or_else(|error| self.bear_in_hand(&hand, error));
                    self.see_through(hand.request, Some(&hand), begun)
                });
                status.map(Some)
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn receive_slowly(
        &mut self,
        pattern: &MpiPattern,
        word: Word,
        from: Process,
        into: &mut [u8],
    ) -> Result<Status, Error> {
        if self.state.follows_any_source_probe != 0 {
            let (from, pattern) = self.narrow_to_shown(from, *pattern);
            return self.receive(&pattern, word, from, into);
        }
        abort_on_unwind(|| {
            // SAFETY: the request is over, and the buffer dropped, before this returns.
            let hand = unsafe { self.state.lend(pattern, from, into) };
            let begun = match self.begin_blocking(&hand, from) {
                Ok(()) => Ok(()),
                Err(error) => self.begin_again(&hand, from, error),
            };
            self.see_through(hand.request, Some(&hand), begun)
        })
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
            return self.keep_want(from);
        }
        self.post(hand)
    }

    #[cold]
    #[inline(never)]
    fn receive_after(&mut self, other: Other) -> Result<Status, Error> {
        let Other {
            guard,
            hand,
            source,
            follow,
        } = other;
        let begun = follow.and_then(|follow| self.follow(source, follow));
        let begun = begun.or_else(|error| self.bear_in_hand(&hand, error));
        let result = self.see_through(hand.request, Some(&hand), begun);
        core::mem::forget(guard);
        result
    }
}

impl State {
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
        let guard = AbortOnUnwind;
        // SAFETY: the request is over, and the buffer dropped, before the blocking call returns, which has to
        // do something with the guard to get rid of it: there is no unwinding from here to there.
        let hand = unsafe { self.lend(pattern, from, into) };
        let source = message.source();
        let follow = self.accept(message, Some(&hand));
        Other {
            guard,
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
