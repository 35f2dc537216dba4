//! A send begins: its message goes out, or waits for room or a cell, or after others, or is announced.

use mq_shm::{Process, Sent};

use super::outboxes::{Outgoing, What};
use super::{Core, Number, State};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::header::{self, Announcement, Kind, Payload, Word};
use crate::request::{Name, New, Outcome, Stage};
use crate::steps::{Step, step};
use crate::transport::Transport;

/// Messages that are put off between two attempts to send those before them.
const FLUSH_EVERY: usize = 8;

/// Attempts to send between two looks at what has come.
const LOOK_EVERY: u32 = 8;

/// Messages that are sent between two looks at what has come, while nothing waits.
const SENDS: i32 = 256;

impl<T: Transport> Core<T> {
    /// Returns whether a message may be sent at once: nothing waits to be sent before it, and its communicator is not
    /// revoked. Counts it, and now and then takes in what has come: a receiver may be flooded.
    #[inline(always)]
    pub(crate) fn prepare_to_send(&mut self, word: Word) -> bool {
        self.state.outboxes.let_pass() || self.prepare_to_send_slowly(word)
    }

    #[cold]
    #[inline(never)]
    fn prepare_to_send_slowly(&mut self, word: Word) -> bool {
        let State {
            contexts, outboxes, ..
        } = &mut self.state;
        let is_free = outboxes.are_empty();
        if contexts.is_any_revoked() {
            if !is_free || contexts.is_revoked(Number::of(word.context())) {
                outboxes.allow(0);
                return false;
            }
            // Each send comes here, and is counted all the same.
            if outboxes.stopped() < SENDS {
                return true;
            }
        }
        outboxes.allow(0);
        if is_free {
            if !contexts.is_any_revoked() {
                outboxes.allow(SENDS);
            }
            self.listen_to(None);
        }
        self.state.outboxes.are_empty()
    }

    /// Begins to send a buffer of which `done` bytes have been sent; `word` is that of an eager message. If
    /// that fails, the caller has to end the request.
    #[inline(always)]
    pub(crate) fn start_send(
        &mut self,
        to: Process,
        bits: u64,
        word: Word,
        buffer: Buffer,
        mut done: usize,
        set: u32,
    ) -> (Name, Result<(), Error>) {
        if to == self.state.me {
            return self.start_send_to_itself(bits, word, buffer, set);
        }
        let total = buffer.len();
        let mut tried = false;
        // The rest of a message follows its first part, whatever its receiver has asked for meanwhile.
        if done > 0 || self.prepare_to_send(word) && self.state.is_eager(to, word, total) {
            match self
                .transport
                .try_send(to, [bits, word.0], buffer.bytes(), done)
            {
                Ok(Sent::Whole) => {
                    self.state.profile.count_eager(total as u64);
                    let name = self.state.requests.add(New {
                        stage: Stage::Done,
                        peer: to,
                        context: word.context(),
                        bits,
                        total: total as u64,
                        buffer,
                        set,
                    });
                    return (name, Ok(()));
                }
                Ok(Sent::Upto(sent)) => {
                    done = sent;
                    tried = true;
                }
                // Occurs again, and is handled, below.
                Err(_) => {}
            }
        } else if self.state.is_held_back(to, total) {
            // It may have been told that it no longer is.
            self.listen_to(Some(to));
        }
        let name = self.state.requests.add(New {
            stage: Stage::Waiting,
            peer: to,
            context: word.context(),
            bits,
            total: total as u64,
            buffer,
            set,
        });
        (name, self.start_send_slowly(name.slot(), word, done, tried))
    }

    /// `tried` says that an eager message has just been tried, and could not be sent whole.
    #[inline(never)]
    fn start_send_slowly(
        &mut self,
        send: u32,
        word: Word,
        done: usize,
        tried: bool,
    ) -> Result<(), Error> {
        let slot = self.state.requests.at_mut(send);
        slot.word = word;
        let (to, bits, bytes) = (slot.peer, slot.bits, slot.total);
        let contexts = &self.state.contexts;
        if done == 0 && contexts.refuses(word.context(), header::tag_of(bits)) {
            Err(Error::Revoked)
        } else if let Some(how) = self.state.peers[to.index()].gone {
            self.state.requests.complete(send, Outcome::Gone(to, how));
            Ok(())
        } else if done > 0 || self.state.is_eager(to, word, bytes as usize) {
            self.state.profile.count_eager(bytes);
            let header = [bits, word.0];
            if tried || !self.state.outboxes.waiting(to).is_empty() {
                self.put_off(to, header, What::Request(send), done);
                let waiting = self.state.outboxes.waiting(to).len();
                if waiting.is_multiple_of(FLUSH_EVERY) {
                    self.go_on();
                }
                Ok(())
            } else {
                if let Err(error) = self.transmit(to, header, What::Request(send), done) {
                    if done == 0 {
                        return Err(error);
                    }
                    // Its receiver has the first part, and waits for the rest.
                    self.put_off(to, header, What::Request(send), done);
                }
                self.go_on();
                Ok(())
            }
        } else if self.go_ahead(send) {
            Ok(())
        } else {
            self.announce(send)
        }
    }

    /// Goes on with the outboxes, for a program that sends for long before it waits for anything. Seldom takes in
    /// what has come: the receives for it may be about to be posted.
    fn go_on(&mut self) {
        self.attempts = self.attempts.wrapping_add(1);
        if self.attempts.is_multiple_of(LOOK_EVERY) {
            self.listen_to(None);
        } else if let Err(error) = self.flush() {
            self.state.failed_elsewhere(error);
        }
    }

    /// Announces the message of a send.
    pub(super) fn announce(&mut self, send: u32) -> Result<(), Error> {
        let to = self.state.requests.at(send).peer;
        let (header, what) = self.announcement(send)?;
        if let Err(error) = self.transmit(to, header, what, 0) {
            // Nobody knows of it, so nothing has to be withdrawn.
            self.count_answer(to);
            self.state.requests.at_mut(send).stage = Stage::Waiting;
            return Err(error);
        }
        step(Step::Announced);
        Ok(())
    }

    /// The announcement of the message of a send, which waits for an answer from now on.
    pub(super) fn announcement(&mut self, send: u32) -> Result<([u64; 2], What), Error> {
        let name = self.state.requests.name(send);
        let slot = self.state.requests.at_mut(send);
        slot.stage = Stage::Announced;
        step(Step::Announcing);
        let (to, bits) = (slot.peer, slot.bits);
        let word = slot.word.with_kind(Kind::Announce);
        let profile = &mut self.state.profile;
        profile.rendezvous += 1;
        profile.rendezvous_bytes += slot.total;
        if slot.total <= self.state.eager.limit as u64 {
            profile.held_back += 1;
        }
        let remote = self.transport.expose(slot.buffer.bytes());
        let announcement = Announcement::new(remote, name.0);
        self.transport.want(Some(to))?;
        self.state.peers[to.index()].announced += 1;
        Ok(([bits, word.0], What::Words(announcement.to_bytes())))
    }

    /// Sends an answer. An answer that cannot be sent, since there is no memory for a cell, is tried again
    /// with every step from now on: the other side waits for it, whatever becomes of the call that fails
    /// here. `about` is the header's first word.
    pub(super) fn answer(
        &mut self,
        to: Process,
        kind: Kind,
        about: u64,
        payload: Payload,
    ) -> Result<(), Error> {
        self.transmit_or_owe(to, [about, Word::answer(kind).0], payload)
    }

    /// Sends a message of the protocol's own; if it cannot be sent, it waits in the outbox all the same.
    pub(super) fn transmit_or_owe(
        &mut self,
        to: Process,
        header: [u64; 2],
        payload: Payload,
    ) -> Result<(), Error> {
        let sent = self.transmit(to, header, What::Words(payload), 0);
        if sent.is_err() && to != self.state.me {
            self.put_off(to, header, What::Words(payload), 0);
        }
        sent
    }

    /// Sends a short message, at once or, if there is no memory for it, as an [answer](Self::answer) that is put off;
    /// not in a communicator that is revoked, as all its ranks hear.
    pub(crate) fn tell(&mut self, to: Process, bits: u64, word: Word, payload: Payload) {
        if self
            .state
            .contexts
            .refuses(word.context(), header::tag_of(bits))
        {
            return;
        }
        let _ = self.transmit_or_owe(to, [bits, word.0], payload);
    }

    /// Sends what can be sent now, and puts the rest into the outbox. Nothing is sent to a process that has
    /// ended; what is for this process itself is taken in.
    pub(super) fn transmit(
        &mut self,
        to: Process,
        header: [u64; 2],
        what: What,
        done: usize,
    ) -> Result<(), Error> {
        if to == self.state.me
            && let What::Words(payload) = &what
        {
            return self.tell_itself(header, payload.bytes());
        }
        let mut outgoing = Outgoing { header, what, done };
        if self.state.peers[to.index()].gone.is_some() {
            return Ok(());
        }
        if self.state.outboxes.waiting(to).is_empty()
            && outgoing.attempt(to, &mut self.transport, &mut self.state.requests)?
        {
            return Ok(());
        }
        self.put_off(to, header, outgoing.what, outgoing.done);
        Ok(())
    }

    /// Puts what is left to send into the outbox.
    #[inline]
    pub(super) fn put_off(&mut self, to: Process, header: [u64; 2], what: What, done: usize) {
        debug_assert!(to != self.state.me, "what is for itself is matched at once");
        (self.state.outboxes).put(to, Outgoing { header, what, done });
        self.state.attention = true;
        self.state.profile.deferred += 1;
        step(Step::Deferred);
    }

    /// Goes on with the outboxes, a few messages each; returns whether anything has moved. One that fails holds up no
    /// other.
    pub(crate) fn flush(&mut self) -> Result<bool, Error> {
        let State {
            outboxes,
            requests,
            contexts,
            ..
        } = &mut self.state;
        let (moved, failed) = outboxes.flush(&mut self.transport, requests);
        if moved && outboxes.are_empty() && !contexts.is_any_revoked() {
            outboxes.allow_again();
        }
        failed.map_or(Ok(moved), Err)
    }
}
