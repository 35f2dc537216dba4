//! The operations on one context.

use super::all::Held;
use super::context::Context;
use super::numbers::{PlaceId, count_of};
use super::place::{MeantLife, OPEN, Place, Standing};
use super::sync::MutexGuard;
use crate::collective::CollectiveCall;
use crate::envelope::{ContextId, Envelope};
use crate::error::{Error, Refused};
use crate::handle::{Handle, MessageHandle};
use crate::meter::Unmetered;
use crate::pattern::{Pattern, Source};
use crate::queues::{
    Arrive, ArriveOf, EnvelopeOf, MatchQueues, Post, PostOf, TakenMessageOf, TakenReceiveOf,
};

/// The operations. Each locks what it reaches, checks with the place that the context exists and
/// admits the operation, and does its work. The module documentation proves that this is enough.
impl<Q: MatchQueues> Context<Q> {
    #[inline(always)]
    pub(super) fn post(
        &self,
        life: MeantLife,
        pattern: Q::Pattern,
        receive: Q::Receive,
    ) -> Result<PostOf<Q>, Refused<Q::Receive>> {
        if self.budget.is_none()
            && let Some(mut place) = self.quick_for_pattern(life, &pattern)
        {
            return Ok(post_at(&mut place.queues, pattern, receive));
        }
        self.post_held(life, pattern, receive)
    }

    #[inline(never)]
    fn post_held(
        &self,
        life: MeantLife,
        pattern: Q::Pattern,
        receive: Q::Receive,
    ) -> Result<PostOf<Q>, Refused<Q::Receive>> {
        let mut held = match self.hold_for_pattern(life, &pattern) {
            Ok(held) => held,
            Err(error) => {
                return Err(Refused {
                    error,
                    payload: receive,
                });
            }
        };
        let post = match &mut held {
            Held::One(_, place) => match self.extract_elder(place, &pattern) {
                Some(taken) => matched(taken, receive),
                None => post_at(&mut place.queues, pattern, receive),
            },
            Held::All(all) => match all.extract(&pattern) {
                Some(taken) => matched(taken, receive),
                None => Post::Queued(all.queue_receive(pattern, receive)),
            },
        };
        if let Some(budget) = &self.budget
            && let Post::Matched {
                envelope, message, ..
            } = &post
        {
            budget.release(envelope, message);
        }
        Ok(post)
    }

    pub(super) fn extract(
        &self,
        life: MeantLife,
        pattern: &Q::Pattern,
    ) -> Result<Option<TakenMessageOf<Q>>, Error> {
        let mut held = self.hold_for_pattern(life, pattern)?;
        let taken = match &mut held {
            Held::One(_, place) => match self.extract_elder(place, pattern) {
                Some(taken) => Some(taken),
                None => place.queues.extract(pattern),
            },
            Held::All(all) => all.extract(pattern),
        };
        if let (Some(budget), Some((envelope, message))) = (&self.budget, &taken) {
            budget.release(envelope, message);
        }
        Ok(taken)
    }

    pub(super) fn find_with<T>(
        &self,
        life: MeantLife,
        pattern: &Q::Pattern,
        see: impl FnOnce(MessageHandle, EnvelopeOf<Q>, &Q::Message) -> T,
    ) -> Result<Option<T>, Error> {
        let mut held = self.hold_for_pattern(life, pattern)?;
        let found = match &mut held {
            Held::One(_, place) => {
                if place.elders > 0 {
                    let mut undivided = self.undivided();
                    if let Some((name, envelope, message)) = undivided.queues.find(pattern) {
                        return Ok(Some(see(name, envelope, message)));
                    }
                }
                place.queues.find(pattern)
            }
            Held::All(all) => all.find(pattern),
        };
        Ok(found.map(|(name, envelope, message)| see(name, envelope, message)))
    }

    #[inline(always)]
    pub(super) fn arrive(
        &self,
        life: MeantLife,
        envelope: EnvelopeOf<Q>,
        message: Q::Message,
    ) -> Result<ArriveOf<Q>, Refused<Q::Message>> {
        if self.budget.is_none()
            && let Some(mut place) = self.quick_for_envelope(life, &envelope)
        {
            return Ok(arrive_at(&mut place.queues, envelope, message));
        }
        self.arrive_held(life, envelope, message)
    }

    #[inline(never)]
    fn arrive_held(
        &self,
        life: MeantLife,
        envelope: EnvelopeOf<Q>,
        message: Q::Message,
    ) -> Result<ArriveOf<Q>, Refused<Q::Message>> {
        let mut place = match self.hold_for_envelope(life, &envelope) {
            Ok(place) => place,
            Err(error) => {
                return Err(Refused {
                    error,
                    payload: message,
                });
            }
        };
        if self.budget.is_none() && place.gate == OPEN {
            return Ok(arrive_at(&mut place.queues, envelope, message));
        }
        // A message that a receive takes needs no room.
        if let Some((pattern, receive)) = self.deliver_at(&mut place, &envelope) {
            return Ok(Arrive::Matched {
                pattern,
                receive,
                message,
            });
        }
        let Some(budget) = &self.budget else {
            place.queues.queue_message(envelope, message);
            return Ok(Arrive::Unexpected);
        };
        let room = match budget.take(envelope, &message) {
            Ok(room) => room,
            Err(error) => {
                return Err(Refused {
                    error,
                    payload: message,
                });
            }
        };
        place.queues.queue_message(envelope, message);
        let reached = room.keep();
        drop(place);
        if reached {
            budget.ring();
        }
        Ok(Arrive::Unexpected)
    }

    pub(super) fn deliver(
        &self,
        life: MeantLife,
        envelope: &EnvelopeOf<Q>,
    ) -> Result<Option<TakenReceiveOf<Q>>, Error> {
        let mut place = self.hold_for_envelope(life, envelope)?;
        Ok(self.deliver_at(&mut place, envelope))
    }

    /// Entries stay where they were queued until they leave the queue, so the handle tells which lock
    /// to take.
    pub(super) fn cancel(&self, life: MeantLife, handle: Handle) -> Option<Q::Receive> {
        let id = PlaceId::of(handle);
        let mut place = self.alone(life, id)?;
        place.standing.check_alive(self.id, life).ok()?;
        let receive = place.queues.cancel(handle)?;
        if id == PlaceId::UNDIVIDED {
            place.after_receive_left(count_of(handle.sequence()));
        }
        Some(receive)
    }

    pub(super) fn take(
        &self,
        life: MeantLife,
        message: MessageHandle,
    ) -> Option<TakenMessageOf<Q>> {
        let taken = match PlaceId::of(message.handle()) {
            // The shard that it concerns is told that it has left.
            PlaceId::UNDIVIDED => self.lock_alive(life).ok()?.take_elder(message)?,
            id => {
                let mut place = self.alone(life, id)?;
                place.standing.check_alive(self.id, life).ok()?;
                place.queues.take(message)?
            }
        };
        if let Some(budget) = &self.budget {
            budget.release(&taken.0, &taken.1);
        }
        Some(taken)
    }

    /// Announces a collective call to every place, since it is unknown which of them its messages will
    /// reach.
    pub(super) fn announce(&self, life: MeantLife, call: &CollectiveCall) -> Result<(), Error> {
        let mut all = self.lock_alive(life)?;
        all.undivided.queues.announce(call);
        for shard in &mut all.shards {
            shard.queues.announce(call);
        }
        Ok(())
    }
}

/// Locking and checking.
impl<Q: MatchQueues> Context<Q> {
    /// The place of a receive, if no other is needed and nothing is wrong with it.
    #[inline(always)]
    fn quick_for_pattern(
        &self,
        life: MeantLife,
        pattern: &Q::Pattern,
    ) -> Option<MutexGuard<'_, Place<Q>>> {
        // Its message may be one from before the division; whether a gate is closed is for messages to ask.
        let is_enough = |place: &Place<Q>| place.elders == 0;
        let mut place = self.quick(|mode| mode.reach_of_pattern(pattern), is_enough)?;
        self.admit_pattern(&place.standing, life, pattern).ok()?;
        if pattern.source() == Source::Any {
            place.pressure.wildcard();
        }
        Some(place)
    }

    /// The place of a message, if no other is needed and nothing is wrong with it.
    #[inline(always)]
    fn quick_for_envelope(
        &self,
        life: MeantLife,
        envelope: &EnvelopeOf<Q>,
    ) -> Option<MutexGuard<'_, Place<Q>>> {
        let is_enough = |place: &Place<Q>| place.gate == OPEN;
        let place = self.quick(|mode| mode.reach_of_envelope(envelope), is_enough)?;
        self.admit_envelope(&place.standing, life, envelope).ok()?;
        Some(place)
    }

    fn hold_for_pattern(
        &self,
        life: MeantLife,
        pattern: &Q::Pattern,
    ) -> Result<Held<'_, Q>, Error> {
        let mut held = self.hold(life, |mode| mode.reach_of_pattern(pattern));
        self.admit_pattern(held.standing(), life, pattern)?;
        if let Held::One(PlaceId::UNDIVIDED, place) = &mut held
            && pattern.source() == Source::Any
        {
            place.pressure.wildcard();
        }
        Ok(held)
    }

    fn hold_for_envelope(
        &self,
        life: MeantLife,
        envelope: &EnvelopeOf<Q>,
    ) -> Result<MutexGuard<'_, Place<Q>>, Error> {
        let held = self.hold(life, |mode| mode.reach_of_envelope(envelope));
        self.admit_envelope(held.standing(), life, envelope)?;
        match held {
            Held::One(_, place) => Ok(place),
            Held::All(_) => unreachable!("a message is of one place"),
        }
    }

    #[inline(always)]
    fn admit_pattern(
        &self,
        standing: &Standing,
        life: MeantLife,
        pattern: &Q::Pattern,
    ) -> Result<(), Error> {
        self.check_own(pattern.context())?;
        standing.check_alive(self.id, life)?;
        let (source, any_tag) = (pattern.source(), pattern.any_tag());
        standing.terms.check_source(self.id, source, any_tag)
    }

    #[inline(always)]
    fn admit_envelope(
        &self,
        standing: &Standing,
        life: MeantLife,
        envelope: &EnvelopeOf<Q>,
    ) -> Result<(), Error> {
        self.check_own(envelope.context())?;
        standing.check_alive(self.id, life)?;
        standing.terms.check_rank(self.id, envelope.source())
    }

    #[inline]
    pub(super) fn check_own(&self, named: ContextId) -> Result<(), Error> {
        if named != self.id {
            return Err(Error::OtherContext {
                handle: self.id,
                named,
            });
        }
        Ok(())
    }
}

// The answers of the quick paths are built where they are written to the caller's memory. Passed on
// whole, each would be copied in pieces other than those it was written in, and the copy would wait
// for the writes, under the lock.

#[inline(always)]
fn post_at<Q: MatchQueues>(queues: &mut Q, pattern: Q::Pattern, receive: Q::Receive) -> PostOf<Q> {
    match queues.post_metered(pattern, receive, &mut Unmetered) {
        Post::Matched {
            envelope,
            message,
            receive,
        } => Post::Matched {
            envelope,
            message,
            receive,
        },
        Post::Queued(handle) => Post::Queued(handle),
    }
}

#[inline(always)]
fn arrive_at<Q: MatchQueues>(
    queues: &mut Q,
    envelope: EnvelopeOf<Q>,
    message: Q::Message,
) -> ArriveOf<Q> {
    match queues.arrive_metered(envelope, message, &mut Unmetered) {
        Arrive::Matched {
            pattern,
            receive,
            message,
        } => Arrive::Matched {
            pattern,
            receive,
            message,
        },
        Arrive::Unexpected => Arrive::Unexpected,
    }
}

fn matched<E, R, M>((envelope, message): (E, M), receive: R) -> Post<E, R, M> {
    Post::Matched {
        envelope,
        message,
        receive,
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests;
