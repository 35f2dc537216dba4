//! Receives that messages take quickly where some that are linked have wildcards.

use super::super::{Found, OTHERWISE};
use super::{Receives, WILDCARD_FIRST};
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::pattern::Pattern;
use crate::slab::{Entry, NIL, Window};

impl<B: MatchBits> Receives<B> {
    /// Takes the receive for a message off its chain and out of the window, if linked receives have
    /// wildcards of one class, none of these is earlier, and it is the first of its bucket. Slot
    /// [`WILDCARD_FIRST`] is for [`take_first_wildcard`](Self::take_first_wildcard); at [`OTHERWISE`] it may be any.
    #[inline(always)]
    pub(in super::super) fn take_first_before_wildcards<P, R>(
        &mut self,
        near: &[Entry<P, R>],
        window: &mut Window,
        context: ContextId,
        bits: B,
    ) -> Found
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some(wildcard) = self.wild.first_of_one_class(bits) else {
            return Found::OTHERWISE;
        };
        let place = self.buckets.place(bits);
        let Some(bucket) = self.buckets.get_mut(place) else {
            return Found::OTHERWISE;
        };
        let slot = bucket.first();
        let Some(entry) = near.get(slot as usize) else {
            let slot = if wildcard < slot {
                WILDCARD_FIRST
            } else {
                OTHERWISE
            };
            return Found { slot, visited: 0 };
        };
        if entry.key.bits() != bits || entry.key.context() != context {
            return Found::OTHERWISE;
        }
        if wildcard < slot {
            let slot = WILDCARD_FIRST;
            return Found { slot, visited: 1 };
        }
        bucket.drop_first(entry.next);
        // The limit stays 0: receives with wildcards are linked.
        if window.drop_tabled(slot) {
            self.linked = self.linked.min(slot);
        }
        Found { slot, visited: 1 }
    }

    /// The slot of the receive with a wildcard that is earlier than others, off its chain and out of
    /// the window; [`OTHERWISE`] if it does not take the message, and another may.
    #[inline(always)]
    pub(in super::super) fn take_first_wildcard<P, R>(
        &mut self,
        near: &[Entry<P, R>],
        window: &mut Window,
        context: ContextId,
        bits: B,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some(slot) = self.wild.take_first_of_one_class(near, context, bits) else {
            return OTHERWISE;
        };
        self.drop_linked(window, slot);
        slot
    }

    /// Takes the earliest linked receive for a message off its chain and out of the window, whatever
    /// classes there are, if each that it may be is the first of its bucket, and there is one; otherwise
    /// at slot [`OTHERWISE`].
    #[inline(always)]
    pub(in super::super) fn take_first_of_all<P, R>(
        &mut self,
        near: &[Entry<P, R>],
        window: &mut Window,
        context: ContextId,
        bits: B,
    ) -> Found
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let place = self.buckets.place(bits);
        let Some(bucket) = self.buckets.get_mut(place) else {
            return Found::OTHERWISE;
        };
        let (mut exact, mut visited) = (NIL, 0);
        if let Some(entry) = near.get(bucket.first() as usize) {
            if entry.key.bits() != bits || entry.key.context() != context {
                return Found::OTHERWISE;
            }
            exact = bucket.first();
            visited = 1;
        }
        let Some((found, more)) = self.wild.find_first(near, context, bits, exact) else {
            return Found::OTHERWISE;
        };
        visited += more;
        let slot = found.slot;
        let Some(entry) = near.get(slot as usize) else {
            return Found::OTHERWISE;
        };
        if slot == exact {
            bucket.drop_first(entry.next);
        } else {
            self.wild.drop_first(found, entry.next);
        }
        self.drop_linked(window, slot);
        Found { slot, visited }
    }
}
