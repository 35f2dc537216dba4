//! The search of a message among the linked receives with wildcards.

use super::super::super::key::{Key, is_receive};
use super::{Candidate, Class, NO_CLASS, Wild};
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::pattern::Pattern;
use crate::slab::Entry;

impl<B: MatchBits> Wild<B> {
    /// The first slot of the bucket in which the receives for a message are, or a number that is no
    /// slot, if all receives are of one class.
    #[inline(always)]
    pub(in super::super) fn first_of_one_class(&self, bits: B) -> Option<u32> {
        match self.classes.as_slice() {
            [class] if self.others.is_empty() => {
                let place = self.buckets.place_under(bits & class.care, class.word);
                Some(self.buckets.first(place))
            }
            _ => None,
        }
    }

    /// Takes the receive in the [first slot](Self::first_of_one_class) of a message's bucket off its chain, if
    /// it takes the message: its slot.
    #[inline(always)]
    pub(in super::super) fn take_first_of_one_class<P, R>(
        &mut self,
        near: &[Entry<P, R>],
        context: ContextId,
        bits: B,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let [class] = self.classes.as_mut_slice() else {
            return None;
        };
        if !self.others.is_empty() {
            return None;
        }
        let key = Key::under(context, bits, class.care);
        let place = self.buckets.place_under(key.bits, class.word);
        let bucket = self.buckets.get_mut(place)?;
        let slot = bucket.first();
        let entry = near.get(slot as usize)?;
        if !is_receive(entry, key) {
            return None;
        }
        bucket.drop_first(entry.next);
        self.posted -= 1;
        class.posted -= 1;
        if class.posted == 0 {
            self.classes.clear();
        }
        Some(slot)
    }

    /// The earliest receive of all classes that takes a message, if it is before a slot and all that
    /// may be are first in their buckets, and how many have been compared; `None` if others are.
    #[inline(always)]
    pub(in super::super) fn find_first<P, R>(
        &self,
        near: &[Entry<P, R>],
        context: ContextId,
        bits: B,
        before: u32,
    ) -> Option<(Candidate, u32)>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let mut best = Candidate {
            slot: before,
            place: 0,
            class: 0,
        };
        if !self.others.is_empty() {
            return None;
        }
        let mut visited = 0;
        for (class, &Class { care, word, .. }) in self.classes.iter().enumerate() {
            let key = Key::under(context, bits, care);
            let place = self.buckets.place_under(key.bits, word);
            let slot = self.buckets.first(place);
            if slot < best.slot
                && let Some(entry) = near.get(slot as usize)
            {
                if !is_receive(entry, key) {
                    return None;
                }
                visited += 1;
                best = Candidate { slot, place, class };
            }
        }
        Some((best, visited))
    }

    /// Takes a receive that is the first of its bucket off its chain.
    #[inline(always)]
    pub(in super::super) fn drop_first(&mut self, found: Candidate, second: u32) {
        if let Some(bucket) = self.buckets.get_mut(found.place) {
            bucket.drop_first(second);
        }
        self.leave(found.class);
    }

    /// The earliest receive of all classes that takes a message, if it is before a slot; and how many
    /// have been compared.
    #[inline(always)]
    pub(in super::super) fn find<P, R>(
        &mut self,
        near: &[Entry<P, R>],
        context: ContextId,
        bits: B,
        before: u32,
    ) -> (Candidate, u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let mut best = Candidate {
            slot: before,
            place: 0,
            class: 0,
        };
        let mut visited = 0;
        for (class, &Class { care, word, .. }) in self.classes.iter().enumerate() {
            let key = Key::under(context, bits, care);
            let place = self.buckets.place_under(key.bits, word);
            let mut slot = self.buckets.first(place);
            let mut compared = 0;
            // Chains are in order: no entry of this one is earlier than its first.
            while slot < best.slot {
                let Some(entry) = near.get(slot as usize) else {
                    break;
                };
                compared += 1;
                if is_receive(entry, key) {
                    best = Candidate { slot, place, class };
                    break;
                }
                slot = entry.next;
            }
            self.buckets.count(compared);
            visited += compared;
        }
        for &slot in &self.others {
            let Some(entry) = near.get(slot as usize) else {
                break;
            };
            if slot >= best.slot {
                break;
            }
            visited += 1;
            let pattern = &entry.key;
            let differs = (pattern.bits() ^ bits) & pattern.care();
            if differs == B::ZERO && pattern.context() == context {
                best = Candidate {
                    slot,
                    place: 0,
                    class: NO_CLASS,
                };
            }
        }
        (best, visited)
    }
}
