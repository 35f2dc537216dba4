//! The one loop that every waiting call goes round in.

use std::time::Duration;

use mq_shm::wait::Idle;

use super::front::Taken;
use super::{Awaited, Core, Hand, State};
use crate::error::Error;
use crate::request::Outcome;
use crate::say::say;
use crate::transport::{Arrived, Caller, Event, Transport};

/// Messages that are taken in before the other work has its turn.
const BATCH: usize = 16;

/// How many times messages are taken in, at most, before a receive from any source is told of a death, or to find
/// what a probe has shown.
pub(super) const ROUNDS: u32 = 256;

/// What is known of a program that does not wait, but asks.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// The questions in a row in which nothing had happened since the one before.
    in_vain: Idle,
    /// Messages received by the last one.
    received: u64,
    /// How many these are.
    row: u64,
}

/// Questions in vain after which the clock is read, to find long waits. That takes as long as a few questions.
const QUESTIONS_PER_CHECK: u64 = 1024;

impl<T: Transport> Core<T> {
    /// Goes round once: takes messages in, sends what waits, moves what is in rings. Returns whether anything
    /// has happened.
    pub(crate) fn progress(&mut self) -> Result<bool, Error> {
        self.go_round(None, Caller::Asks)
    }

    /// The same for a program that does not wait, but asks again and again (`test`, `iprobe`): if it asks in
    /// vain, others may need its core, and the user may be told what it asks for.
    pub(crate) fn progress_for_asker(&mut self, awaited: Awaited<'_>) -> Result<bool, Error> {
        let moved = self.progress()?;
        let received = self.state.profile.received;
        if moved || received != self.asked.received {
            self.asked.in_vain.reset();
            self.asked.received = received;
            self.asked.row = 0;
        } else {
            self.transport.give_way(&mut self.asked.in_vain);
            self.asked.row += 1;
            if self.asked.row.is_multiple_of(QUESTIONS_PER_CHECK) {
                self.note_questions(self.asked.row == QUESTIONS_PER_CHECK, awaited);
            }
        }
        Ok(moved)
    }

    /// Goes round once, perhaps with a receive in hand.
    #[inline(always)]
    fn go_round(&mut self, hand: Option<&Hand>, caller: Caller) -> Result<bool, Error> {
        let waits = caller == Caller::Waits;
        let heard = self.roll_call.tick() && self.call_the_roll(hand)?;
        let mut left = BATCH;
        while left > 0 {
            let taken = self.take_short(hand, left)?;
            left -= taken;
            // The last message waited for may have come. If not, it is looked for the next time.
            let satisfied = waits && taken > 0 && self.state.waits_for_none(hand);
            if left == 0 || satisfied || !self.poll_once(hand, caller)? {
                break;
            }
            left -= 1;
            if waits && self.state.waits_for_none(hand) {
                break;
            }
        }
        let mut moved = heard || left < BATCH;
        moved |= self.flush_and_advance_rings()?;
        if self.state.deaths.untold > 0 {
            moved = self.tell_of_deaths(moved);
        }
        if moved {
            self.idle.reset();
        }
        Ok(moved)
    }

    /// Takes in short messages as long as they come from processes that are waited for; returns how many, of
    /// `most`. `hand` is a receive that comes after all posted ones.
    ///
    /// # Errors
    /// As of [`poll_once`](Self::poll_once).
    #[inline]
    pub(crate) fn take_short(&mut self, hand: Option<&Hand>, most: usize) -> Result<usize, Error> {
        let mut taken = 0;
        // A window comes from one sender.
        let mut sender = None;
        while taken < most {
            let Some(mut message) = (match sender {
                None => self.transport.poll_wanted_by_turns(),
                Some(sender) => self.transport.poll_again(sender),
            }) else {
                // Others may be waited for too.
                if sender.take().is_some() && self.state.matching.front.runs() > 1 {
                    continue;
                }
                break;
            };
            taken += 1;
            let from = message.source();
            if let Some(Taken { unwanted, .. }) = self.state.accept_in_front(&mut message) {
                drop(message);
                sender = Some(from);
                let Some(process) = unwanted else {
                    continue;
                };
                self.unwant(process);
                sender = None;
            } else {
                let follow = self.state.accept(&mut message, hand);
                drop(message);
                self.follow(from, follow?)?;
                // What comes next from there may no longer be wanted.
                sender = None;
            }
            if self.state.waits_for_none(hand) {
                // What comes next is mostly asked for soon, and is then taken from where it lies.
                break;
            }
        }
        Ok(taken)
    }

    /// Takes in one message, if there is one; returns whether there was.
    fn poll_once(&mut self, hand: Option<&Hand>, caller: Caller) -> Result<bool, Error> {
        let polled = match self.transport.poll(caller)? {
            None => return Ok(false),
            Some(Event::Message(mut message)) => {
                let from = message.source();
                let follow = self.state.accept(&mut message, hand);
                drop(message);
                Ok((from, follow?))
            }
            Some(Event::Gone(process, how)) => Err((process, how)),
        };
        match polled {
            Ok((from, follow)) => self.follow(from, follow)?,
            Err((process, how)) => self.on_end(process, how, None)?,
        }
        Ok(true)
    }

    /// Sends what waits, and moves what is in rings, if there is any. Returns whether anything happened.
    #[inline(always)]
    pub(crate) fn flush_and_advance_rings(&mut self) -> Result<bool, Error> {
        if !self.state.attention {
            return Ok(false);
        }
        if let Some(failure) = self.state.failure.take() {
            return Err(failure);
        }
        let flushed = self.flush();
        let advanced = self.advance_rings();
        self.state.attention = self.state.is_busy();
        let advanced = advanced?;
        Ok(flushed? | advanced)
    }

    /// Looks for deaths, and takes in what the dead have sent, and that they are dead, before messages of
    /// others, who may send without end. Returns whether there were any deaths.
    #[cold]
    #[inline(never)]
    fn call_the_roll(&mut self, hand: Option<&Hand>) -> Result<bool, Error> {
        let dead = self.transport.check_peers()?;
        let known = self.state.deaths.ended + dead;
        while self.state.deaths.ended < known && self.poll_once(hand, Caller::Asks)? {}
        Ok(dead > 0)
    }

    /// Takes in what those have sent whose end has been found, for whoever asks who has ended: a send may have failed
    /// because of it already.
    #[cold]
    pub(crate) fn hear_of_ends(&mut self) {
        for _ in 0..ROUNDS {
            if !self.transport.has_ends_to_report() {
                break;
            }
            if let Err(error) = self.progress() {
                self.state.failed_elsewhere(error);
                break;
            }
        }
    }

    /// Takes in what has come, about as many messages as asked for, without waiting for any.
    pub(crate) fn take_in(&mut self, messages: u32) -> Result<(), Error> {
        for _ in 0..=messages as usize / BATCH {
            if !self.progress()? {
                break;
            }
        }
        Ok(())
    }

    /// Takes in what has come until something is `found`, in at most `rounds` rounds; returns whether it was.
    pub(super) fn take_in_until(
        &mut self,
        rounds: u32,
        mut found: impl FnMut(&mut Self) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        for _ in 0..rounds {
            let moved = self.progress()?;
            if found(self)? {
                return Ok(true);
            }
            if !moved {
                break;
            }
        }
        Ok(false)
    }

    /// Goes round once, and rests if nothing happened.
    pub(crate) fn progress_or_rest(&mut self, awaited: Awaited<'_>) -> Result<(), Error> {
        match self.go_round(None, Caller::Waits) {
            Ok(true) => Ok(()),
            Ok(false) => self.rest(awaited),
            Err(error) => self.bear(error),
        }
    }

    /// After a round of a caller that waits has failed. That memory is refused for something ends no wait at once: it
    /// is tried again in each round, and what is waited for may come without it.
    #[cold]
    #[inline(never)]
    pub(crate) fn bear(&mut self, error: Error) -> Result<(), Error> {
        if !error.is_out_of_memory() {
            return Err(error);
        }
        self.transport.rest_briefly(&mut self.idle)?;
        if !self.refusals.tolerate() {
            return Err(error);
        }
        if self.refusals.take_report() {
            let me = self.transport.me().0;
            say(&format!(
                "rank {me}: in a collective operation, and still waiting for memory: {error}"
            ));
        }
        Ok(())
    }

    /// [`progress_or_rest`](Self::progress_or_rest) for a caller that waits for requests and sends nothing meanwhile:
    /// if nobody else is left that could send, and all of them are receives from any source, they end.
    pub(crate) fn progress_for(
        &mut self,
        hand: Option<&Hand>,
        waited_for: impl Fn(&State) -> Vec<u32>,
    ) -> Result<(), Error> {
        match self.go_round(hand, Caller::Waits) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => return self.bear(error),
        }
        if self.idle.is_fresh() && self.state.has_lost_any() {
            let waited_for = waited_for(&self.state);
            if self.end_hopeless(&waited_for, hand) {
                return Ok(());
            }
        }
        self.rest(Awaited::Requests(&waited_for, hand))
    }

    #[inline]
    fn rest(&mut self, awaited: Awaited<'_>) -> Result<(), Error> {
        self.rest_within(Duration::MAX, awaited)
    }

    /// The same for a caller that waits no longer than this.
    #[inline]
    pub(crate) fn rest_within(
        &mut self,
        longest: Duration,
        awaited: Awaited<'_>,
    ) -> Result<(), Error> {
        let idle = &mut self.idle;
        let before = idle.sleeps();
        if self.state.rings.is_moving() {
            // The other end of a ring may be filling or emptying it, which does not always wake.
            self.transport.rest_briefly(idle)?;
        } else if self.transport.watch_wanted(idle) {
            return Ok(());
        } else {
            self.transport.rest_within(idle, longest)?;
        }
        self.note_rest(before, awaited);
        Ok(())
    }

    /// Whether an error is that of a request which is waited for, and not of something else that failed in the same
    /// round: it is not complete, or it was ended because of the error, and says less.
    pub(super) fn is_its_own(&self, request: u32) -> bool {
        !self.is_done(request) || self.state.requests.at(request).outcome == Outcome::Withdrawn
    }

    /// Waits until a request is complete.
    pub(crate) fn wait(&mut self, request: u32) -> Result<(), Error> {
        self.idle.reset();
        while !self.is_done(request) {
            if let Err(error) = self.progress_for(None, |_| vec![request]) {
                if self.is_its_own(request) {
                    return Err(error);
                }
                // It has come to its end in a round in which something else failed.
                self.state.failed_elsewhere(error);
            }
        }
        Ok(())
    }
}
