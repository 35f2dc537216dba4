//! Steps in a shard that also ask the undivided queues: elders and the gate.

use super::context::Context;
use super::numbers::count_of;
use super::place::{OPEN, Place};
use crate::handle::Handle;
use crate::queues::{EnvelopeOf, MatchQueues, TakenMessageOf, TakenReceiveOf};

impl<Q: MatchQueues> Context<Q> {
    /// Takes a message that came before the context was divided: it is earlier than everything in the
    /// shard.
    #[inline]
    pub(super) fn extract_elder(
        &self,
        shard: &mut Place<Q>,
        pattern: &Q::Pattern,
    ) -> Option<TakenMessageOf<Q>> {
        if shard.elders == 0 {
            return None;
        }
        let taken = self.undivided().queues.extract(pattern)?;
        // The pattern's messages are of its own shard; if its type breaks that, counts are off. [ELDERS]
        shard.elders = shard.elders.saturating_sub(1);
        Some(taken)
    }

    /// Takes the earliest receive for a message.
    pub(super) fn deliver_at(
        &self,
        place: &mut Place<Q>,
        envelope: &EnvelopeOf<Q>,
    ) -> Option<TakenReceiveOf<Q>> {
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
    ) -> Option<TakenReceiveOf<Q>> {
        let here = shard.queues.find_receive(envelope).map(without_receive);
        // Nothing in the undivided queues is earlier. [GATE-CLOSE] [GATE-OPEN]
        if let Some((handle, pattern)) = here
            && count_of(handle.sequence()) < shard.gate
        {
            return take(&mut shard.queues, handle, pattern);
        }
        let mut undivided = self.undivided();
        let there = undivided.queues.find_receive(envelope).map(without_receive);
        let delivered = match (here, there) {
            (Some((handle, pattern)), None) => take(&mut shard.queues, handle, pattern),
            // Equal numbers: the one in the shard was queued later. [NUMBER]
            (Some((mine, pattern)), Some((theirs, _)))
                if count_of(mine.sequence()) < count_of(theirs.sequence()) =>
            {
                take(&mut shard.queues, mine, pattern)
            }
            (_, Some((handle, pattern))) => {
                let delivered = take(&mut undivided.queues, handle, pattern);
                undivided.after_receive_left(count_of(handle.sequence()));
                delivered
            }
            (None, None) => None,
        };
        // Both locks are held: the shard may learn what the undivided queues know. [GATE-OPEN]
        shard.early &= undivided.before.receives > 0;
        shard.gate = if shard.early { 0 } else { undivided.gate };
        delivered
    }
}

/// Lets go of the queues that a receive was found in.
fn without_receive<P, R>((handle, pattern, _): (Handle, P, &R)) -> (Handle, P) {
    (handle, pattern)
}

fn take<Q: MatchQueues>(
    queues: &mut Q,
    handle: Handle,
    pattern: Q::Pattern,
) -> Option<TakenReceiveOf<Q>> {
    let receive = queues.cancel(handle);
    debug_assert!(receive.is_some(), "it was found under the same lock");
    Some((pattern, receive?))
}

#[cfg(all(test, not(mq_loom)))]
mod tests;
