//! Steps that involve more than one place: elders, the gate, and operations for any source.

use super::context::{All, Context};
use super::numbers::{PlaceId, count_of};
use super::place::{Mode, OPEN, Place, Reach, shard_of};
use crate::handle::{Handle, MessageHandle};
use crate::queues::{DeliveredOf, Entry, EnvelopeOf, MatchQueues, SeenOf, TakenOf};

/// Steps that also ask the undivided queues.
impl<Q: MatchQueues> Context<Q> {
    /// Takes a message that came before the context was divided: it is earlier than everything in the
    /// shard.
    #[inline]
    pub(super) fn extract_elder(
        &self,
        shard: &mut Place<Q>,
        pattern: &Q::Pattern,
    ) -> Option<TakenOf<Q>> {
        if shard.elders == 0 {
            return None;
        }
        let taken = self.whole().queues.extract(pattern)?;
        // The pattern's messages are of its own shard; if its type breaks that, counts are off. [ELDERS]
        shard.elders = shard.elders.saturating_sub(1);
        Some(taken)
    }

    /// Takes the earliest receive for a message.
    pub(super) fn deliver_at(
        &self,
        place: &mut Place<Q>,
        envelope: &EnvelopeOf<Q>,
    ) -> Option<DeliveredOf<Q>> {
        // Nothing in the undivided queues is for it. [GATE-CLOSE] [GATE-OPEN]
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
        // Nothing in the undivided queues is earlier. [GATE-CLOSE] [GATE-OPEN]
        if let Some((handle, pattern)) = here
            && count_of(handle.sequence()) < shard.gate
        {
            return take(&mut shard.queues, handle, pattern);
        }
        let mut whole = self.whole();
        let there = whole.queues.find_receive(envelope).map(name);
        let delivered = match (here, there) {
            (Some((handle, pattern)), None) => take(&mut shard.queues, handle, pattern),
            // Equal numbers: the one in the shard was queued later. [NUMBER]
            (Some((mine, pattern)), Some((theirs, _)))
                if count_of(mine.sequence()) < count_of(theirs.sequence()) =>
            {
                take(&mut shard.queues, mine, pattern)
            }
            (_, Some((handle, pattern))) => {
                let delivered = take(&mut whole.queues, handle, pattern);
                whole.after_receive_left(count_of(handle.sequence()));
                delivered
            }
            (None, None) => None,
        };
        // Both locks are held: the shard may learn what the undivided queues know. [GATE-OPEN]
        shard.early &= whole.before.receives > 0;
        shard.gate = if shard.early { 0 } else { whole.gate };
        delivered
    }
}

/// Steps on all places.
impl<Q: MatchQueues> All<'_, Q> {
    /// Takes the earliest message of the earliest place: what came before the context was divided,
    /// then the smallest number.
    pub(super) fn extract(&mut self, pattern: &Q::Pattern) -> Option<TakenOf<Q>> {
        let taken = match self.extract_elder(pattern) {
            Some(taken) => taken,
            None => {
                let (_, index) = self.earliest(pattern)?;
                self.shards[index].queues.extract(pattern)?
            }
        };
        // Arrivals from now on are later than all waiting messages, whatever their shard.
        self.level();
        Some(taken)
    }

    fn extract_elder(&mut self, pattern: &Q::Pattern) -> Option<TakenOf<Q>> {
        let taken = self.whole.queues.extract(pattern)?;
        self.elder_left(&taken.0);
        Some(taken)
    }

    /// Takes a message out of the undivided queues by name.
    pub(super) fn take_elder(&mut self, message: MessageHandle) -> Option<TakenOf<Q>> {
        let taken = self.whole.queues.take(message)?;
        self.elder_left(&taken.0);
        Some(taken)
    }

    /// A message has left the undivided queues. [ELDERS]
    fn elder_left(&mut self, envelope: &EnvelopeOf<Q>) {
        if let Reach::Shard(hash) = self.whole.standing.mode.reach_of_envelope(envelope) {
            let index = shard_of(hash, self.shards.len());
            let elders = &mut self.shards[index].elders;
            *elders = elders.saturating_sub(1);
        }
    }

    /// Shows the message that [`extract`](Self::extract) would take.
    pub(super) fn probe(&mut self, pattern: &Q::Pattern) -> Option<SeenOf<'_, Q>> {
        let shard = match self.whole.queues.probe(pattern) {
            Some(_) => None,
            None => Some(self.earliest(pattern)?.1),
        };
        // As when it is taken: the receive that follows must not prefer a message that arrives later. And
        // if that receive names the sender it was shown, only this keeps the senders level.
        self.level();
        match shard {
            None => self.whole.queues.probe(pattern),
            Some(index) => self.shards[index].queues.probe(pattern),
        }
    }

    /// The number of the earliest message in the shards, and its shard.
    fn earliest(&mut self, pattern: &Q::Pattern) -> Option<(u64, usize)> {
        let shards = self.shards.iter_mut().enumerate();
        let found = shards.filter_map(|(index, shard)| {
            let (name, ..) = shard.queues.find(pattern)?;
            Some((count_of(name.sequence()), index))
        });
        found.min()
    }

    /// The context is divided by `mode`: tells each shard which entries from before the division concern
    /// it. A receive that names its source keeps only its own shard's gate closed while it stays.
    /// [GATE-CLOSE] [ELDERS]
    pub(super) fn tell_what_was_before(&mut self, mode: Mode) {
        let Self { shards, whole } = self;
        for shard in shards.iter_mut() {
            shard.early = false;
            shard.elders = 0;
        }
        let count = shards.len();
        let concerned = |reach| match reach {
            Reach::Shard(hash) => {
                let index = shard_of(hash, count);
                index..index + 1
            }
            Reach::Whole | Reach::All => 0..count,
        };
        // They are shown in order.
        let mut early = whole.before.receives;
        whole.queues.visit(&mut |entry| match entry {
            Entry::Posted(_, pattern, _) if early > 0 => {
                early -= 1;
                let concerned = concerned(mode.reach_of_pattern(&pattern));
                shards[concerned]
                    .iter_mut()
                    .for_each(|shard| shard.early = true);
            }
            Entry::Posted(..) => {}
            Entry::Unexpected(_, envelope, _) => {
                let concerned = concerned(mode.reach_of_envelope(&envelope));
                shards[concerned]
                    .iter_mut()
                    .for_each(|shard| shard.elders += 1);
            }
        });
        for shard in shards.iter_mut() {
            shard.gate = if shard.early { 0 } else { whole.gate };
        }
    }

    /// Queues a receive that no shard can hold, numbered between all receives before and all after,
    /// and closes the gates. [NUMBER] [GATE-CLOSE]
    pub(super) fn queue_receive(&mut self, pattern: Q::Pattern, receive: Q::Receive) -> Handle {
        let count = self.level();
        let handle = self.whole.queues.queue_receive(pattern, receive);
        self.whole.gate = self.whole.gate.min(count);
        for shard in &mut self.shards {
            shard.gate = shard.gate.min(count);
        }
        handle
    }

    /// Makes all places continue counting from the same number, and returns it.
    fn level(&mut self) -> u64 {
        let count = self.next_count();
        self.whole
            .queues
            .raise_sequence(PlaceId::WHOLE.number(count));
        for (index, shard) in self.shards.iter_mut().enumerate() {
            let number = PlaceId::shard(index).number(count);
            shard.queues.raise_sequence(number);
        }
        count
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

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::engine::Terms;
    use crate::envelope::ContextId;
    use crate::mpi::{MpiEnvelope, MpiPattern};
    use crate::pattern::Pattern;
    use crate::shared::Sharding;
    use crate::structures::Indexed;
    use crate::{ContextOptions, Source};

    type Queues = Indexed<MpiPattern, u32, u32>;

    #[test]
    fn what_was_there_before_concerns_its_own_shard_alone() {
        let id = ContextId(0);
        let context: Context<Queues> = Context::new(id, Sharding::new().shards(4), None);
        let terms = Terms::new(id, &ContextOptions::new());
        context.begin(terms, Config::default()).unwrap();
        // A receive that waits for a long time, and a message that nobody wants.
        context
            .whole()
            .queues
            .queue_receive(MpiPattern::new(0, 1, 7), 5);
        context
            .whole()
            .queues
            .queue_message(MpiEnvelope::new(0, 0, 9), 6);
        context.divide(None);
        let mut all = context.lock_all();
        let closed = |all: &All<'_, Queues>| -> Vec<usize> {
            (0..4).filter(|&at| all.shards[at].gate != OPEN).collect()
        };
        let elders: Vec<usize> = (0..4).filter(|&at| all.shards[at].elders > 0).collect();
        assert_eq!((closed(&all).len(), elders.len()), (1, 1));
        assert_ne!(
            closed(&all),
            elders,
            "ranks 0 and 1 are in different shards"
        );
        // A receive from any source concerns all shards, as long as it is there.
        let any = MpiPattern::new(0, Source::Any, 8);
        let own = closed(&all)[0];
        let leave: [&dyn Fn(Handle); 3] = [
            &|handle| assert_eq!(context.cancel(None, handle), Some(8)),
            &|_| assert_eq!(purge_tag(&context, 8), 1),
            &|_| {
                for rank in 0..16 {
                    let envelope = MpiEnvelope::new(0, rank, 8);
                    let found = context.deliver(None, &envelope).unwrap();
                    assert_eq!(found.is_some(), rank == 0);
                }
            },
        ];
        for leave in leave {
            let handle = all.queue_receive(any, 8);
            assert_eq!(closed(&all), [0, 1, 2, 3]);
            drop(all);
            leave(handle);
            for rank in 0..16 {
                let none = context.deliver(None, &MpiEnvelope::new(0, rank, 9));
                assert!(none.unwrap().is_none());
            }
            all = context.lock_all();
            assert_eq!(
                closed(&all),
                [own],
                "gates that only it kept closed are open"
            );
        }
        // The early one goes too.
        drop(all);
        let envelope = MpiEnvelope::new(0, 1, 7);
        assert_eq!(context.deliver(None, &envelope).unwrap().unwrap().1, 5);
        assert!(closed(&context.lock_all()).is_empty());
    }

    /// A context of four shards in which such messages came before it was divided.
    fn divided_behind(messages: &[(u32, i32)]) -> Context<Queues> {
        let id = ContextId(0);
        let context: Context<Queues> = Context::new(id, Sharding::new().shards(4), None);
        let terms = Terms::new(id, &ContextOptions::new());
        context.begin(terms, Config::default()).unwrap();
        for &(rank, tag) in messages {
            arrive(&context, rank, tag);
        }
        context.divide(None);
        context
    }

    fn arrive(context: &Context<Queues>, rank: u32, tag: i32) {
        let arrival = context.arrive(None, MpiEnvelope::new(0, rank, tag), rank);
        assert!(matches!(arrival, Ok(crate::Arrive::Unexpected)));
    }

    /// The sender of the message that a receive takes.
    fn receive(context: &Context<Queues>, source: Source, tag: i32) -> Option<u32> {
        let taken = context.extract(None, &MpiPattern::new(0, source, tag));
        Some(taken.unwrap()?.1)
    }

    #[test]
    fn a_shard_whose_elders_have_left_is_alone_again_though_others_have_some() {
        let elders = |context: &Context<Queues>| -> Vec<usize> {
            let all = context.lock_all();
            all.shards.iter().map(|shard| shard.elders).collect()
        };
        let context = divided_behind(&[(0, 7), (1, 7), (1, 8), (0, 9), (0, 6)]);
        assert_eq!(elders(&context).iter().sum::<usize>(), 5);
        let mut name = None;
        context.lock_all().visit(&mut |entry| match entry {
            Entry::Unexpected(message, envelope, _) if envelope.tag().0 == 6 => {
                name = Some(message);
            }
            _ => {}
        });
        let taken = context.take(None, name.expect("it is shown"));
        assert!(taken.is_some_and(|(_, sender)| sender == 0));
        let before = elders(&context);
        assert_eq!(before.iter().filter(|&&left| left == 2).count(), 2);
        assert_eq!(receive(&context, Source::from(1), 8), Some(1));
        assert_eq!(receive(&context, Source::Any, 7), Some(0));
        assert_eq!(elders(&context).iter().sum::<usize>(), 2);
        assert_eq!(receive(&context, Source::from(1), 7), Some(1));
        // The first rank's other message is left, and concerns nobody else.
        assert_eq!(elders(&context).iter().filter(|&&left| left > 0).count(), 1);
        let mut all = context.lock_all();
        context.purge(&mut all, &mut |entry| {
            matches!(entry, Entry::Unexpected(..))
        });
        drop(all);
        assert_eq!(elders(&context), [0; 4]);
    }

    #[test]
    fn whoever_arrives_after_an_elder_was_taken_by_any_source_is_later_than_all_that_waits() {
        let context = divided_behind(&[(0, 7)]);
        arrive(&context, 1, 7);
        arrive(&context, 1, 7);
        for _ in 0..2 {
            assert_eq!(receive(&context, Source::from(1), 7), Some(1));
        }
        arrive(&context, 1, 7);
        assert_eq!(receive(&context, Source::Any, 7), Some(0), "the elder");
        arrive(&context, 0, 7);
        assert_eq!(receive(&context, Source::Any, 7), Some(1));
        assert_eq!(receive(&context, Source::Any, 7), Some(0));
    }

    fn probed(context: &Context<Queues>, source: Source) -> Option<u32> {
        let pattern = MpiPattern::new(0, source, 7);
        let seen = context.probe_with(None, &pattern, |envelope, _| envelope.source().0);
        seen.unwrap()
    }

    #[test]
    fn a_receive_from_any_source_takes_what_a_probe_showed_before_it() {
        let context = divided_behind(&[]);
        for _ in 0..2 {
            arrive(&context, 0, 7);
            assert_eq!(receive(&context, Source::from(0), 7), Some(0));
        }
        arrive(&context, 0, 7);
        assert_eq!(probed(&context, Source::Any), Some(0));
        arrive(&context, 1, 7);
        assert_eq!(receive(&context, Source::Any, 7), Some(0));
        assert_eq!(receive(&context, Source::Any, 7), Some(1));
    }

    #[test]
    fn a_sender_that_goes_on_sending_is_not_always_the_one_that_a_probe_shows() {
        let context = divided_behind(&[]);
        // A's messages have high numbers, and one of them waits.
        for _ in 0..100 {
            arrive(&context, 0, 7);
            assert_eq!(receive(&context, Source::from(0), 7), Some(0));
        }
        arrive(&context, 0, 7);
        // B sends one for each that is received; the receives name the source that a probe showed.
        arrive(&context, 1, 7);
        let shown: Vec<_> = (0..3)
            .map(|_| {
                let source = probed(&context, Source::Any).unwrap();
                assert_eq!(receive(&context, Source::from(source), 7), Some(source));
                arrive(&context, 1, 7);
                source
            })
            .collect();
        assert_eq!(shown, [1, 0, 1]);
    }

    /// Removes all receives of a tag, and says how many.
    fn purge_tag(context: &Context<Queues>, tag: i32) -> usize {
        let mut all = context.lock_all();
        let tag = MpiPattern::new(0, Source::Any, tag).bits();
        let mut chosen = |entry: Entry<'_, MpiPattern, u32, u32>| matches!(entry, Entry::Posted(_, pattern, _) if pattern.bits() == tag);
        context.purge(&mut all, &mut chosen).len()
    }
}
