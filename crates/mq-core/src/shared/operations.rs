//! The operations on one context, and what they do when the gate is closed.

use super::context::{All, Context, Held};
use super::names::{PlaceId, inner, outer};
use super::place::{OPEN, Place, Standing};
use super::sync::MutexGuard;
use crate::envelope::{ContextId, Envelope};
use crate::error::{Error, Refused};
use crate::handle::Handle;
use crate::pattern::{Pattern, Source};
use crate::queues::{
    Arrive, ArriveOf, DeliveredOf, EnvelopeOf, MatchQueues, Post, PostOf, TakenOf,
};

/// The life of a context that a caller means; `None` for the present one.
pub(super) type Life = Option<u64>;

/// The operations. Each locks what it reaches, asks the place whether the context is there and admits
/// it, and does its work; the module's documentation proves that this is enough.
impl<Q: MatchQueues> Context<Q> {
    #[inline]
    pub(super) fn post(
        &self,
        life: Life,
        pattern: Q::Pattern,
        receive: Q::Receive,
    ) -> Result<PostOf<Q>, Refused<Q::Receive>> {
        if self.budget.is_none()
            && let Some((id, mut place)) = self.quick_for_pattern(life, &pattern)
        {
            return Ok(named(place.queues.post(pattern, receive), id));
        }
        self.post_held(life, pattern, receive)
    }

    #[inline(never)]
    fn post_held(
        &self,
        life: Life,
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
            Held::One(id, place) => match self.extract_elder(place, &pattern) {
                Some(taken) => matched(taken, receive),
                None => named(place.queues.post(pattern, receive), *id),
            },
            Held::All(all) => match all.extract(&pattern) {
                Some(taken) => matched(taken, receive),
                None => Post::Queued(outer(all.queue_receive(pattern, receive), PlaceId::WHOLE)),
            },
        };
        if let (Some(budget), Post::Matched { message, .. }) = (&self.budget, &post) {
            budget.release(message);
        }
        Ok(post)
    }

    pub(super) fn extract(
        &self,
        life: Life,
        pattern: &Q::Pattern,
    ) -> Result<Option<TakenOf<Q>>, Error> {
        let mut held = self.hold_for_pattern(life, pattern)?;
        let taken = match &mut held {
            Held::One(_, place) => match self.extract_elder(place, pattern) {
                Some(taken) => Some(taken),
                None => place.queues.extract(pattern),
            },
            Held::All(all) => all.extract(pattern),
        };
        if let (Some(budget), Some((_, message))) = (&self.budget, &taken) {
            budget.release(message);
        }
        Ok(taken)
    }

    pub(super) fn probe_with<T>(
        &self,
        life: Life,
        pattern: &Q::Pattern,
        see: impl FnOnce(EnvelopeOf<Q>, &Q::Message) -> T,
    ) -> Result<Option<T>, Error> {
        let mut held = self.hold_for_pattern(life, pattern)?;
        let seen = match &mut held {
            Held::One(_, place) => {
                if place.elders {
                    let mut whole = self.whole();
                    if let Some((envelope, message)) = whole.queues.probe(pattern) {
                        return Ok(Some(see(envelope, message)));
                    }
                }
                place.queues.probe(pattern)
            }
            Held::All(all) => all.probe(pattern),
        };
        Ok(seen.map(|(envelope, message)| see(envelope, message)))
    }

    #[inline]
    pub(super) fn arrive(
        &self,
        life: Life,
        envelope: EnvelopeOf<Q>,
        message: Q::Message,
    ) -> Result<ArriveOf<Q>, Refused<Q::Message>> {
        if self.budget.is_none()
            && let Some(mut place) = self.quick_for_envelope(life, &envelope)
        {
            return Ok(place.queues.arrive(envelope, message));
        }
        self.arrive_held(life, envelope, message)
    }

    #[inline(never)]
    fn arrive_held(
        &self,
        life: Life,
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
        // A message that a receive takes needs no room.
        if let Some((pattern, receive)) = self.deliver_at(&mut place, &envelope) {
            return Ok(Arrive::Matched {
                pattern,
                receive,
                message,
            });
        }
        if let Some(budget) = &self.budget
            && let Err(error) = budget.take(&message)
        {
            return Err(Refused {
                error,
                payload: message,
            });
        }
        place.queues.queue_message(envelope, message);
        Ok(Arrive::Unexpected)
    }

    pub(super) fn deliver(
        &self,
        life: Life,
        envelope: &EnvelopeOf<Q>,
    ) -> Result<Option<DeliveredOf<Q>>, Error> {
        let mut place = self.hold_for_envelope(life, envelope)?;
        Ok(self.deliver_at(&mut place, envelope))
    }

    /// Entries stay where they were queued until they leave, so the handle tells which lock to take.
    pub(super) fn cancel(&self, handle: Handle) -> Option<Q::Receive> {
        let (place, handle) = inner(handle);
        let Some(index) = place.index() else {
            let mut whole = self.whole();
            let receive = whole.queues.cancel(handle);
            whole.after_receive_left();
            return receive;
        };
        self.shard(index)?.queues.cancel(handle)
    }
}

/// Locking and checking.
impl<Q: MatchQueues> Context<Q> {
    /// The place of a receive, if no other is needed and nothing is wrong with it.
    #[inline(always)]
    fn quick_for_pattern(
        &self,
        life: Life,
        pattern: &Q::Pattern,
    ) -> Option<(PlaceId, MutexGuard<'_, Place<Q>>)> {
        let (id, mut place) = self.quick(|mode| mode.reach_of_pattern(pattern))?;
        if pattern.source() == Source::Any {
            place.pressure.wildcard();
        }
        self.admit_pattern(&place.standing, life, pattern).ok()?;
        Some((id, place))
    }

    /// The place of a message, if no other is needed and nothing is wrong with it.
    #[inline(always)]
    fn quick_for_envelope(
        &self,
        life: Life,
        envelope: &EnvelopeOf<Q>,
    ) -> Option<MutexGuard<'_, Place<Q>>> {
        let (_, place) = self.quick(|mode| mode.reach_of_envelope(envelope))?;
        self.admit_envelope(&place.standing, life, envelope).ok()?;
        Some(place)
    }

    fn hold_for_pattern(&self, life: Life, pattern: &Q::Pattern) -> Result<Held<'_, Q>, Error> {
        let held = self.hold(|mode| mode.reach_of_pattern(pattern));
        self.admit_pattern(held.standing(), life, pattern)?;
        Ok(held)
    }

    fn hold_for_envelope(
        &self,
        life: Life,
        envelope: &EnvelopeOf<Q>,
    ) -> Result<MutexGuard<'_, Place<Q>>, Error> {
        let held = self.hold(|mode| mode.reach_of_envelope(envelope));
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
        life: Life,
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
        life: Life,
        envelope: &EnvelopeOf<Q>,
    ) -> Result<(), Error> {
        self.check_own(envelope.context())?;
        standing.check_alive(self.id, life)?;
        standing.terms.check_rank(self.id, envelope.source())
    }

    #[inline]
    fn check_own(&self, named: ContextId) -> Result<(), Error> {
        if named != self.id {
            return Err(Error::OtherContext {
                handle: self.id,
                named,
            });
        }
        Ok(())
    }
}

/// With the undivided queues asked.
impl<Q: MatchQueues> Context<Q> {
    /// Takes a message that came before the context was divided: it is earlier than all in the shard.
    #[inline]
    fn extract_elder(&self, shard: &mut Place<Q>, pattern: &Q::Pattern) -> Option<TakenOf<Q>> {
        if !shard.elders {
            return None;
        }
        let mut whole = self.whole();
        let taken = whole.queues.extract(pattern);
        // No message is queued there any more, so that this stays true. [ELDERS]
        shard.elders = whole.queues.unexpected_len() > 0;
        taken
    }

    /// Takes the earliest receive for a message.
    fn deliver_at(&self, place: &mut Place<Q>, envelope: &EnvelopeOf<Q>) -> Option<DeliveredOf<Q>> {
        if place.gate == OPEN {
            return place.queues.deliver(envelope);
        }
        self.deliver_gated(place, envelope)
    }

    /// Takes the earliest receive of two places.
    fn deliver_gated(
        &self,
        shard: &mut Place<Q>,
        envelope: &EnvelopeOf<Q>,
    ) -> Option<DeliveredOf<Q>> {
        let here = shard.queues.find_receive(envelope).map(name);
        if let Some((handle, pattern)) = here
            && handle.sequence() < shard.gate
        {
            return take(&mut shard.queues, handle, pattern);
        }
        let mut whole = self.whole();
        let there = whole.queues.find_receive(envelope).map(name);
        let delivered = match (here, there) {
            (Some((handle, pattern)), None) => take(&mut shard.queues, handle, pattern),
            // Equal numbers: the one in the shard was queued later. [NUMBER]
            (Some((mine, pattern)), Some((theirs, _))) if mine.sequence() < theirs.sequence() => {
                take(&mut shard.queues, mine, pattern)
            }
            (_, Some((handle, pattern))) => {
                let delivered = take(&mut whole.queues, handle, pattern);
                whole.after_receive_left();
                delivered
            }
            (None, None) => None,
        };
        // Both locks are held: the shard may know what the undivided queues know. [GATE-OPEN]
        shard.gate = whole.gate;
        delivered
    }
}

/// Steps on all places.
impl<Q: MatchQueues> All<'_, Q> {
    /// Takes the earliest message of the earliest place: what came before the context was divided,
    /// then the smallest number.
    fn extract(&mut self, pattern: &Q::Pattern) -> Option<TakenOf<Q>> {
        if let Some(taken) = self.whole.queues.extract(pattern) {
            return Some(taken);
        }
        let (_, index) = self.earliest(pattern)?;
        let taken = self.shards[index].queues.extract(pattern);
        // What arrives from now on is later than all that waits, whatever its shard.
        self.level();
        taken
    }

    fn probe(&mut self, pattern: &Q::Pattern) -> Option<crate::queues::SeenOf<'_, Q>> {
        let elder = self.whole.queues.probe(pattern).is_some();
        if elder {
            return self.whole.queues.probe(pattern);
        }
        let (_, index) = self.earliest(pattern)?;
        self.shards[index].queues.probe(pattern)
    }

    /// The number of the earliest message in the shards, and which shard has it.
    fn earliest(&mut self, pattern: &Q::Pattern) -> Option<(u64, usize)> {
        let shards = self.shards.iter_mut().enumerate();
        let found = shards.filter_map(|(index, shard)| {
            let (name, ..) = shard.queues.find(pattern)?;
            Some((name.name().sequence(), index))
        });
        found.min()
    }

    /// Queues a receive that no shard can hold, numbered between all receives before and all after,
    /// and closes the gates. [NUMBER] [GATE-CLOSE]
    fn queue_receive(&mut self, pattern: Q::Pattern, receive: Q::Receive) -> Handle {
        let number = self.level();
        let handle = self.whole.queues.queue_receive(pattern, receive);
        let gate = self.whole.gate.min(number);
        self.whole.gate = gate;
        for shard in &mut self.shards {
            shard.gate = gate;
        }
        handle
    }

    /// Makes all places number from the same number on, and returns it.
    fn level(&mut self) -> u64 {
        let number = self.next_sequence();
        self.whole.queues.raise_sequence(number);
        for shard in &mut self.shards {
            shard.queues.raise_sequence(number);
        }
        number
    }
}

/// A receive that was shown, without its payload.
fn name<P, R>((handle, pattern, _): (Handle, P, &R)) -> (Handle, P) {
    (handle, pattern)
}

fn take<Q: MatchQueues>(
    queues: &mut Q,
    handle: Handle,
    pattern: Q::Pattern,
) -> Option<DeliveredOf<Q>> {
    let receive = queues.cancel(handle);
    debug_assert!(receive.is_some(), "it was found under the same lock");
    Some((pattern, receive?))
}

fn named<E, R, M>(post: Post<E, R, M>, place: PlaceId) -> Post<E, R, M> {
    match post {
        Post::Queued(handle) => Post::Queued(outer(handle, place)),
        matched => matched,
    }
}

fn matched<E, R, M>((envelope, message): (E, M), receive: R) -> Post<E, R, M> {
    Post::Matched {
        envelope,
        message,
        receive,
    }
}
