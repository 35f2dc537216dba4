//! Probes: a message is shown, and stays where it is until a receive asks for it.

use core::mem;
use core::time::Duration;

use mq_core::Source;
use mq_core::mpi::MpiPattern;
use mq_shm::{Peeked, Process};

use super::progress::ROUNDS;
use super::{Awaited, Core, Number, State};
use crate::error::{Error, NoticedBy};
use crate::header::{self, Kind, Word};
use crate::messages::Keeper;
use crate::request::ANYONE;
use crate::status::Status;
use crate::transport::Transport;

impl<T: Transport> Core<T> {
    /// Shows a message that has come with its bytes, where no other is before it and no receive waits, and leaves it
    /// in the transport: the receive that mostly follows takes it from there, as it takes one that nobody has probed
    /// for.
    #[inline]
    pub(crate) fn peek(&mut self, pattern: &MpiPattern) -> Option<Status> {
        if !self.state.may_peek() {
            return None;
        }
        let peeked = self.transport.peek_wanted()?;
        if let Some(shown) = self.state.shown
            && shown.from != peeked.from
            && self.transport.is_due(shown)
        {
            // Only one is remembered: that one is taken in first.
            return None;
        }
        let [bits, word] = peeked.header;
        let word = Word(word);
        if word.kind() != Some(Kind::Eager) || !header::takes(pattern, bits, word) {
            return None;
        }
        self.state.shown = Some(peeked);
        self.state.follows_any_source_probe = usize::from(pattern.source() == Source::Any);
        Some(Status::new(bits, peeked.bytes as u64))
    }

    /// What the next receive is for: if it is from any source, and the last probe was so too and has shown a message
    /// where it lay, for that one, though another sender's may be found before it by now. Where that message has been
    /// taken in meanwhile, it is the first of its sender that waits.
    pub(crate) fn narrow_to_shown(
        &mut self,
        from: Process,
        pattern: MpiPattern,
    ) -> (Process, MpiPattern) {
        let follows_probe = mem::take(&mut self.state.follows_any_source_probe) != 0;
        let shown = match self.state.shown {
            Some(shown) if follows_probe && from == ANYONE => shown,
            _ => return (from, pattern),
        };
        let [bits, word] = shown.header;
        if !header::takes(&pattern, bits, Word(word)) {
            return (from, pattern);
        }
        let (source, tag) = (header::source_of(bits), header::tag_of(bits));
        let alone = MpiPattern::new(pattern.context().0, source, tag);
        (shown.from, alone)
    }

    /// [`peek`](Self::peek) for a caller that waits: looks a few times.
    pub(crate) fn watch_and_peek(&mut self, pattern: &MpiPattern) -> Option<Status> {
        if self.state.may_peek() && self.transport.watch_to_peek(&mut self.idle) {
            self.peek(pattern)
        } else {
            None
        }
    }

    /// Shows an unexpected message.
    pub(crate) fn probe(&mut self, pattern: &MpiPattern) -> Result<Option<Status>, Error> {
        let Some(message) = self.state.matching.probe(pattern)? else {
            return Ok(None);
        };
        self.state.follows_any_source_probe = 0;
        let message = self.state.messages.at_mut(message);
        message.shown = true;
        Ok(Some(message.status()))
    }

    /// All looks of a waiting probe: at the next message where it lies, among the unexpected ones, and, while this
    /// process is patient, at where the next one will lie.
    #[inline(always)]
    pub(crate) fn look(&mut self, pattern: &MpiPattern) -> Result<Option<Status>, Error> {
        if let Some(status) = self.peek(pattern) {
            return Ok(Some(status));
        }
        if let Some(status) = self.probe(pattern)? {
            return Ok(Some(status));
        }
        Ok(self.watch_and_peek(pattern))
    }

    /// Takes in what has come and looks again, for a probe that has found nothing and does not wait.
    pub(crate) fn look_once(
        &mut self,
        from: Process,
        pattern: &MpiPattern,
    ) -> Result<Option<Status>, Error> {
        self.take_in_for_probe(from, pattern)?;
        match self.probe(pattern)? {
            None => self.check_may_come(from, pattern).map(|()| None),
            found => Ok(found),
        }
    }

    /// Takes in what has come for a probe that has found nothing: some of it, or all if the probe is to be
    /// told of a death next.
    pub(crate) fn take_in_for_probe(
        &mut self,
        from: Process,
        pattern: &MpiPattern,
    ) -> Result<(), Error> {
        if self.check_may_come(from, pattern).is_ok() {
            let shown = self.state.shown;
            let Some(shown) = shown.filter(|&shown| self.transport.is_due(shown)) else {
                let awaited = Awaited::Message(pattern, from);
                return self.progress_for_asker(awaited).map(drop);
            };
            // One round may end before it comes to what was shown.
            let is_over = |core: &mut Self| {
                Ok(!core.transport.is_due(shown) || core.probe(pattern)?.is_some())
            };
            return self.take_in_until(ROUNDS, is_over).map(drop);
        }
        self.come_before_death(from, pattern).map(drop)
    }

    /// Whether a message from a live process for a probe from any source was still in the transport.
    #[cold]
    fn come_before_death(&mut self, from: Process, pattern: &MpiPattern) -> Result<bool, Error> {
        let rounds = if from == ANYONE { ROUNDS } else { 1 };
        self.take_in_until(rounds, |core| Ok(core.probe(pattern)?.is_some()))
    }

    /// Goes on with a blocking probe for which nothing has come, unless nothing will. It waits no longer than this.
    pub(crate) fn progress_for_probe(
        &mut self,
        from: Process,
        pattern: &MpiPattern,
        longest: Duration,
    ) -> Result<(), Error> {
        if let Err(gone) = self.check_may_come(from, pattern) {
            return match self.come_before_death(from, pattern)? {
                true => Ok(()),
                false => Err(gone),
            };
        }
        match self.progress() {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => return self.bear(error),
        }
        match self.state.waits_in_vain(from, pattern.context().0) {
            Some((process, how)) => {
                let by = NoticedBy::probe(pattern, from == ANYONE);
                Err(Error::Gone { process, how, by })
            }
            None => self.rest_within(longest, Awaited::Message(pattern, from)),
        }
    }

    /// Takes out an unexpected message for the user.
    pub(crate) fn extract(&mut self, pattern: &MpiPattern) -> Result<Option<u32>, Error> {
        let Some(message) = self.state.matching.extract(pattern)? else {
            return Ok(None);
        };
        self.state.messages.at_mut(message).keeper = Keeper::User;
        Ok(Some(message))
    }
}

impl State {
    /// Nobody receives on a communicator any more. What a probe has shown there is discarded when it comes, and is not
    /// to be waited for once the number is given to another communicator.
    pub(super) fn forget_shown(&mut self, number: Number) {
        let is_there = |shown: Peeked| Number::of(Word(shown.header[1]).context()) == number;
        if self.shown.is_some_and(is_there) {
            self.shown = None;
            self.follows_any_source_probe = 0;
        }
    }

    /// Whether the next message is the first that a probe could find, and nothing else is to be done before it
    /// is shown.
    #[inline]
    fn may_peek(&self) -> bool {
        self.matching.waiting() | self.obstacles == 0 && !self.attention
    }
}
