//! [`Held`] and [`All`]: the locks that an operation holds, and the steps that need all of them.

use super::numbers::{PlaceId, count_of};
use super::place::{Mode, Place, Reach, Standing, shard_of};
use super::sync::MutexGuard;
use crate::config::Config;
use crate::envelope::ContextId;
use crate::handle::{Handle, MessageHandle};
use crate::queues::{Entry, EntryOf, EnvelopeOf, FoundMessageOf, MatchQueues, TakenMessageOf};

/// The locks that an operation holds.
pub(super) enum Held<'a, Q> {
    One(PlaceId, MutexGuard<'a, Place<Q>>),
    All(All<'a, Q>),
}

impl<Q> Held<'_, Q> {
    #[inline]
    pub(super) fn standing(&self) -> &Standing {
        match self {
            Self::One(_, place) => &place.standing,
            Self::All(all) => &all.undivided.standing,
        }
    }
}

/// All locks of a context.
pub(super) struct All<'a, Q> {
    pub(super) shards: Vec<MutexGuard<'a, Place<Q>>>,
    pub(super) undivided: MutexGuard<'a, Place<Q>>,
}

impl<Q: MatchQueues> All<'_, Q> {
    /// Takes the earliest message of the earliest place: what came before the context was divided,
    /// then the smallest number.
    pub(super) fn extract(&mut self, pattern: &Q::Pattern) -> Option<TakenMessageOf<Q>> {
        let found = match self.undivided.queues.find(pattern) {
            Some((elder, ..)) => Ok(elder),
            None => Err(self.earliest(pattern)?.1),
        };
        // Arrivals from now on are later than all waiting messages, whatever their shard. Before one is taken, which a
        // panic in here would lose.
        self.level();
        match found {
            Ok(elder) => self.take_elder(elder),
            Err(index) => self.shards[index].queues.extract(pattern),
        }
    }

    /// Takes a message out of the undivided queues by its handle.
    pub(super) fn take_elder(&mut self, message: MessageHandle) -> Option<TakenMessageOf<Q>> {
        let taken = self.undivided.queues.take(message)?;
        self.elder_left(&taken.0);
        Some(taken)
    }

    /// A message has left the undivided queues. [ELDERS]
    fn elder_left(&mut self, envelope: &EnvelopeOf<Q>) {
        if let Reach::Shard(hash) = self.undivided.standing.mode.reach_of_envelope(envelope) {
            let index = shard_of(hash, self.shards.len());
            let elders = &mut self.shards[index].elders;
            *elders = elders.saturating_sub(1);
        }
    }

    /// Shows the message that [`extract`](Self::extract) would take.
    pub(super) fn find(&mut self, pattern: &Q::Pattern) -> Option<FoundMessageOf<'_, Q>> {
        let shard = match self.undivided.queues.probe(pattern) {
            Some(_) => None,
            None => Some(self.earliest(pattern)?.1),
        };
        // As when it is taken: the receive that follows must not prefer a message that arrives later. And
        // if that receive names the sender it was shown, only this keeps the senders level.
        self.level();
        match shard {
            None => self.undivided.queues.find(pattern),
            Some(index) => self.shards[index].queues.find(pattern),
        }
    }

    /// The number of the earliest message in the shards, and its shard.
    fn earliest(&mut self, pattern: &Q::Pattern) -> Option<(u64, usize)> {
        let shards = self.shards.iter_mut().enumerate();
        let found = shards.filter_map(|(index, shard)| {
            let (handle, ..) = shard.queues.find(pattern)?;
            Some((count_of(handle.sequence()), index))
        });
        found.min()
    }

    /// The context is divided by `mode`: tells each shard which entries from before the division concern
    /// it. A receive that names its source keeps only its own shard's gate closed while it stays.
    /// [GATE-CLOSE] [ELDERS]
    pub(super) fn tell_what_was_before(&mut self, mode: Mode) {
        let Self { shards, undivided } = self;
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
            Reach::Undivided | Reach::All => 0..count,
        };
        // They are shown in order.
        let mut early = undivided.before.receives;
        undivided.queues.visit(&mut |entry| match entry {
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
            shard.gate = if shard.early { 0 } else { undivided.gate };
        }
    }

    /// Queues a receive that no shard can hold, numbered between all receives before and all after,
    /// and closes the gates. [NUMBER] [GATE-CLOSE]
    pub(super) fn queue_receive(&mut self, pattern: Q::Pattern, receive: Q::Receive) -> Handle {
        let count = self.level();
        let handle = self.undivided.queues.queue_receive(pattern, receive);
        self.undivided.gate = self.undivided.gate.min(count);
        for shard in &mut self.shards {
            shard.gate = shard.gate.min(count);
        }
        handle
    }

    /// Makes all places continue counting from the same number, and returns it.
    fn level(&mut self) -> u64 {
        let count = self.next_count();
        self.undivided
            .queues
            .raise_sequence(PlaceId::UNDIVIDED.number(count));
        for (index, shard) in self.shards.iter_mut().enumerate() {
            let number = PlaceId::shard(index).number(count);
            shard.queues.raise_sequence(number);
        }
        count
    }

    /// A count greater than that of any entry so far.
    pub(super) fn next_count(&self) -> u64 {
        let places = self.shards.iter().chain([&self.undivided]);
        let counts = places.map(|place| count_of(place.queues.next_sequence()));
        counts.fold(0, u64::max)
    }

    /// Shows the entries of every place.
    pub(super) fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Q>)) {
        self.undivided.queues.visit(visitor);
        for shard in &self.shards {
            shard.queues.visit(visitor);
        }
    }

    pub(super) fn posted_len(&self) -> usize {
        let shards = self.shards.iter().map(|shard| shard.queues.posted_len());
        self.undivided.queues.posted_len() + shards.sum::<usize>()
    }

    pub(super) fn unexpected_len(&self) -> usize {
        let shards = self
            .shards
            .iter()
            .map(|shard| shard.queues.unexpected_len());
        self.undivided.queues.unexpected_len() + shards.sum::<usize>()
    }

    pub(super) fn shards_are_empty(&self) -> bool {
        let len = |queues: &Q| queues.posted_len() + queues.unexpected_len();
        self.shards.iter().all(|shard| len(&shard.queues) == 0)
    }

    pub(super) fn update(&mut self, id: ContextId, config: &Config) {
        self.undivided.queues.update_context(id, config);
        for shard in &mut self.shards {
            shard.queues.update_context(id, config);
        }
    }
}
