//! The searches of the short form, which are scans. Those of steps take out what they find.

use super::Indexed;
use super::hash::Key;
use super::nodes::key_of_receive;
use super::steps::deep;
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::meter::{Meter, Queue};
use crate::pattern::{BitsOf, Pattern, matches};
use crate::slab::{NIL, Scan, Sought, TOO_FAR, Window};

/// A search in vain that has compared so many entries costs more than one of the deep form.
const VAIN: u32 = 4;

/// A search with wildcards may visit so many times as many messages: to index them for its class too
/// takes four times as long as for exact receives, and to take one out twice as long. Some may
/// [look at all](super::foresight::Foresight::may_look_at_all).
const FARTHER: u32 = 6;

/// How a search of the short form has ended.
pub(super) enum Short<E> {
    /// At this entry, which has been taken out.
    Found(E),
    /// There is none.
    Nothing,
    /// The queues are deep, or have become so because the search would be long.
    Deep,
}

impl<P: Pattern, R, M> Indexed<P, R, M> {
    // The first of a short queue is looked at before anything else: it is nearly always the one.
    // That its slot is one is asked once, for the bounds of the storage and for the deep form.

    /// Searches the short form.
    #[inline(always)]
    pub(super) fn take_message_short(
        &mut self,
        pattern: &P,
        meter: &mut impl Meter,
    ) -> Short<(P::Envelope, M)> {
        if self.unexpected.is_empty() {
            meter.visited(Queue::Unexpected, 0);
            return Short::Nothing;
        }
        let first = self.unexpected.first();
        let Some(entry) = self.slabs.unexpected.near_entry_mut(first) else {
            meter.visited(Queue::Unexpected, 0);
            return Short::Deep;
        };
        if matches(pattern, &entry.key) {
            meter.visited(Queue::Unexpected, 1);
            let found = entry.take();
            self.unexpected.drop_first(&self.slabs.unexpected);
            return Short::Found(found);
        }
        if self.unexpected.ends_with(first) {
            meter.visited(Queue::Unexpected, 1);
            return Short::Nothing;
        }
        // In words: a reference would have the whole pattern written to memory.
        let key = key_of_receive(pattern);
        let sought = self.find_message_behind(key.context, key.bits, key.care);
        meter.visited(Queue::Unexpected, sought.visited);
        match sought.slot {
            NIL => Short::Nothing,
            TOO_FAR => {
                self.give_up();
                Short::Deep
            }
            slot => {
                let found = self.slabs.unexpected.take_near(slot);
                self.unexpected
                    .drop_behind_first(&self.slabs.unexpected, slot);
                Short::Found(found)
            }
        }
    }

    // What is behind the first is looked for in a function without a call but in the place of its
    // return, so that it saves hardly a register.

    /// The search behind the first message.
    #[inline(never)]
    fn find_message_behind(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        care: BitsOf<P>,
    ) -> Sought {
        if care != BitsOf::<P>::ALL {
            return self.find_any_message_behind(context, bits, care);
        }
        let limit = u32::from(self.scan_limit);
        let is = |e: &P::Envelope| e.bits() == bits && e.context() == context;
        let messages = &self.slabs.unexpected;
        match self.unexpected.find_without_holes(messages, limit, is) {
            Scan::Ended(sought) => sought,
            Scan::Nothing if self.unexpected.len() >= VAIN => self.foresee_receives(),
            Scan::Nothing => Sought {
                slot: NIL,
                visited: self.unexpected.len(),
            },
            Scan::Holes => self.find_message_between_holes(context, bits),
        }
    }

    /// The same where entries have left from the middle.
    #[inline(never)]
    fn find_message_between_holes(&mut self, context: ContextId, bits: BitsOf<P>) -> Sought {
        let limit = u32::from(self.scan_limit);
        let is = |e: &P::Envelope| e.bits() == bits && e.context() == context;
        let messages = &mut self.slabs.unexpected;
        self.unexpected.find_behind_first(messages, limit, is)
    }

    /// The search behind the first message, for a receive with a wildcard.
    #[inline(never)]
    fn find_any_message_behind(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        care: BitsOf<P>,
    ) -> Sought {
        let key = Key {
            context,
            bits,
            care,
        };
        let limit = self.limit_for(care);
        let slabs = &mut self.slabs;
        let near = match self
            .unexpected
            .find_without_holes(&slabs.unexpected, limit, |e| key.admits(e))
        {
            Scan::Ended(sought) => sought,
            Scan::Nothing if self.unexpected.len() >= VAIN => return self.foresee_receives(),
            Scan::Nothing => Sought {
                slot: NIL,
                visited: self.unexpected.len(),
            },
            Scan::Holes => self
                .unexpected
                .find_behind_first(&mut slabs.unexpected, limit, |e| key.admits(e)),
        };
        if near.slot != TOO_FAR {
            return near;
        }
        if !self.may_look_at_all(care) {
            self.foresight.becomes_deep();
            self.deepen_for(care);
            return near;
        }
        self.unexpected
            .find_behind_first(&mut self.slabs.unexpected, u32::MAX, |e| key.admits(e))
    }

    /// Messages that a receive may be compared with.
    #[inline(always)]
    fn limit_for(&self, care: BitsOf<P>) -> u32 {
        let limit = u32::from(self.scan_limit);
        if care == BitsOf::<P>::ALL {
            limit
        } else {
            FARTHER * limit
        }
    }

    /// Whether a search that has reached its limit may go on to the end: where few have wildcards,
    /// indexing for them takes longer than looking for each.
    #[cold]
    fn may_look_at_all(&mut self, care: BitsOf<P>) -> bool {
        care != BitsOf::<P>::ALL
            && !self.index.as_ref().is_some_and(|index| index.wants(care))
            && self.foresight.may_look_at_all()
    }

    /// Searches the short form, likewise.
    #[inline(always)]
    pub(super) fn take_receive_short(
        &mut self,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> Short<(P, R)> {
        if self.posted.is_empty() {
            meter.visited(Queue::Posted, 0);
            return Short::Nothing;
        }
        let first = self.posted.first();
        let Some(entry) = self.slabs.posted.near_entry_mut(first) else {
            meter.visited(Queue::Posted, 0);
            return Short::Deep;
        };
        if matches(&entry.key, envelope) {
            meter.visited(Queue::Posted, 1);
            let found = entry.take();
            self.posted.drop_first(&self.slabs.posted);
            return Short::Found(found);
        }
        if self.posted.ends_with(first) {
            meter.visited(Queue::Posted, 1);
            return Short::Nothing;
        }
        let sought = self.find_receive_behind(*envelope);
        meter.visited(Queue::Posted, sought.visited);
        match sought.slot {
            NIL => Short::Nothing,
            TOO_FAR => {
                self.give_up();
                Short::Deep
            }
            slot => {
                let found = self.slabs.posted.take_near(slot);
                self.posted.drop_behind_first(&self.slabs.posted, slot);
                Short::Found(found)
            }
        }
    }

    /// The search behind the first receive.
    #[inline(never)]
    fn find_receive_behind(&mut self, envelope: P::Envelope) -> Sought {
        let limit = u32::from(self.scan_limit);
        let receives = &self.slabs.posted;
        match self
            .posted
            .find_without_holes(receives, limit, |p| matches(p, &envelope))
        {
            Scan::Ended(sought) => sought,
            Scan::Nothing if self.posted.len() >= VAIN => self.foresee_messages(),
            Scan::Nothing => Sought {
                slot: NIL,
                visited: self.posted.len(),
            },
            Scan::Holes => self.find_receive_between_holes(envelope),
        }
    }

    /// The same where entries have left from the middle.
    #[inline(never)]
    fn find_receive_between_holes(&mut self, envelope: P::Envelope) -> Sought {
        let limit = u32::from(self.scan_limit);
        let receives = &mut self.slabs.posted;
        self.posted
            .find_behind_first(receives, limit, |p| matches(p, &envelope))
    }

    /// How a receive's search in vain ends: it has gone too far if the receive is to be queued
    /// behind many, which will soon be searched out of order, if all is as it was.
    #[inline(never)]
    fn foresee_receives(&mut self) -> Sought {
        let slot = self.foresee(self.posted);
        let visited = self.unexpected.len();
        Sought { slot, visited }
    }

    /// The same for a message.
    #[inline(never)]
    fn foresee_messages(&mut self) -> Sought {
        let slot = self.foresee(self.unexpected);
        let visited = self.posted.len();
        Sought { slot, visited }
    }

    /// How the search ends whose entry is to be queued behind those in `queue`.
    #[inline(always)]
    const fn foresee(&mut self, queue: Window) -> u32 {
        match self.foresight.is_early(queue.len()) {
            true => TOO_FAR,
            false => NIL,
        }
    }

    /// A scan has gone too far, or would if it came later. One by a receive with a wildcard has had
    /// the queues become deep itself.
    #[cold]
    #[inline(never)]
    fn give_up(&mut self) {
        if !self.is_deep() {
            self.foresight.becomes_deep();
            self.deepen();
        }
    }

    /// The slot of the receive that takes a message, which stays.
    pub(super) fn peek_posted(
        &mut self,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> Option<u32> {
        if !self.is_deep() {
            let limit = u32::from(self.scan_limit);
            let receives = &mut self.slabs.posted;
            let sought = self.posted.find(receives, limit, |p| matches(p, envelope));
            meter.visited(Queue::Posted, sought.visited);
            match sought.slot {
                NIL => return None,
                TOO_FAR => self.deepen(),
                slot => return Some(slot),
            }
        }
        deep(&mut self.index).find_posted(&mut self.slabs, envelope, meter)
    }

    /// The slot of the message that a receive takes, which stays.
    pub(super) fn peek_unexpected(&mut self, pattern: &P, meter: &mut impl Meter) -> Option<u32> {
        if !self.is_deep() {
            let limit = self.limit_for(pattern.care());
            let messages = &mut self.slabs.unexpected;
            let sought = self
                .unexpected
                .find(messages, limit, |e| matches(pattern, e));
            meter.visited(Queue::Unexpected, sought.visited);
            match sought.slot {
                NIL => return None,
                TOO_FAR => {
                    let farther = self.look_at_all(*pattern, meter);
                    if farther != TOO_FAR {
                        return (farther != NIL).then_some(farther);
                    }
                }
                slot => return Some(slot),
            }
        }
        let key = key_of_receive(pattern);
        deep(&mut self.index).find_unexpected(&mut self.slabs, key, meter)
    }

    /// The search for a message that stays has reached its limit: the slot if it may go on; otherwise
    /// [`TOO_FAR`], and the queues are deep.
    #[cold]
    #[inline(never)]
    fn look_at_all(&mut self, pattern: P, meter: &mut impl Meter) -> u32 {
        if !self.may_look_at_all(pattern.care()) {
            self.deepen_for(pattern.care());
            return TOO_FAR;
        }
        let limit = self.limit_for(pattern.care());
        let messages = &mut self.slabs.unexpected;
        let sought = self
            .unexpected
            .find(messages, u32::MAX, |e| matches(&pattern, e));
        // Those before the limit have been counted.
        meter.visited(Queue::Unexpected, sought.visited.saturating_sub(limit));
        sought.slot
    }
}
