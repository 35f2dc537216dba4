//! Halves of steps in the deep form: searches that queue nothing, and newcomers without a search.

use super::super::Indexed;
use super::super::finders::{deep, index_in, without_finders};
use super::super::key::{Key, key_of_receive};
use super::index::QuickSearch;
use super::nodes::{AGAIN, slot_in};
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::meter::{Meter, Queue};
use crate::pattern::{BitsOf, Pattern};
use crate::slab::NIL;

/// Searches: each takes what it finds off all lists and leaves it in storage, and returns its slot, or
/// [`NIL`] if there is nothing.
impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// Searches for a message for a receive.
    #[inline(always)]
    pub(in crate::structures::indexed) fn take_message_deep(
        &mut self,
        pattern: &P,
        meter: &mut impl Meter,
    ) -> u32 {
        let key = key_of_receive(pattern);
        if key.care != BitsOf::<P>::ALL {
            return self.unlink_message_deep(key.context, key.bits, key.care, meter);
        }
        self.take_message_exact(key.context, key.bits, meter)
    }

    // The only calls in these two are tail calls: see `post_exact_deep`.

    /// Searches for a message for a fully specified receive.
    #[inline(never)]
    fn take_message_exact(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let key = Key::exact(context, bits);
        let Some(index) = index_in(&mut self.finders) else {
            return without_finders(NIL);
        };
        if index.has_near_messages() {
            match index.take_message_quick(&self.slabs, key) {
                QuickSearch::Found(node) => {
                    meter.visited(Queue::Unexpected, 1);
                    let slot = slot_in(node);
                    if self.slabs.unexpected.len() <= index.low() {
                        return self.before_removal_of_message(slot);
                    }
                    return slot;
                }
                QuickSearch::Nothing => {
                    meter.visited(Queue::Unexpected, 0);
                    return NIL;
                }
                QuickSearch::Otherwise => {}
            }
        }
        if index.has_log_of_messages() {
            let found = self.unlink_logged_message(context, bits, meter);
            return found.unwrap_or_else(|| {
                meter.visited(Queue::Unexpected, 0);
                NIL
            });
        }
        self.unlink_message_deep(context, bits, BitsOf::<P>::ALL, meter)
    }

    /// Searches for a receive for a message.
    #[inline(never)]
    pub(in crate::structures::indexed) fn take_receive_deep(
        &mut self,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> u32 {
        let Some(index) = index_in(&mut self.finders) else {
            return without_finders(NIL);
        };
        if index.has_near_receives() {
            let key = Key::exact(envelope.context(), envelope.bits());
            match index.take_receive_quick(&self.slabs, key) {
                // The node of a receive is its slot.
                QuickSearch::Found(slot) => {
                    meter.visited(Queue::Posted, 1);
                    if self.slabs.posted.len() <= index.low() {
                        return self.before_removal_of_receive(slot);
                    }
                    return slot;
                }
                QuickSearch::Nothing => {
                    meter.visited(Queue::Posted, 0);
                    return NIL;
                }
                QuickSearch::Otherwise => {}
            }
        }
        if index.has_log_of_receives() {
            let (context, bits) = (envelope.context(), envelope.bits());
            let found = self.unlink_logged_receive(context, bits, meter);
            return found.unwrap_or_else(|| {
                meter.visited(Queue::Posted, 0);
                NIL
            });
        }
        self.unlink_receive_deep(envelope, meter)
    }

    /// Searches for a message, in any state of the index.
    #[inline(never)]
    pub(super) fn unlink_message_deep(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        care: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let key = Key {
            context,
            bits,
            care,
        };
        let slot = deep(&mut self.finders).unlink_message_for(&mut self.slabs, key, meter);
        match slot {
            NIL => NIL,
            slot => self.before_removal_of_message(slot),
        }
    }

    /// Searches for a receive, in any state of the index.
    #[inline(never)]
    pub(super) fn unlink_receive_deep(
        &mut self,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> u32 {
        let slot = deep(&mut self.finders).unlink_receive_for(&mut self.slabs, envelope, meter);
        match slot {
            NIL => NIL,
            slot => self.before_removal_of_receive(slot),
        }
    }
}

/// Newcomers, without a search. Each returns the slot. They too index some of what is not indexed: a library
/// that knows the other queue to be empty does not search before it queues.
impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// Queues a receive.
    #[inline(always)]
    pub(in crate::structures::indexed) fn queue_receive_deep(
        &mut self,
        pattern: P,
        receive: R,
    ) -> u32 {
        let slot = match pattern.care() == BitsOf::<P>::ALL {
            true if self.has_log_of_receives() => self.slabs.posted.reserve_last().unwrap_or(AGAIN),
            true => self.reserve_for_receive(pattern.context(), pattern.bits()),
            false => AGAIN,
        };
        if slot == AGAIN {
            return self.queue_receive_rarely(pattern, receive);
        }
        self.slabs.posted.fill(slot, pattern, receive);
        slot
    }

    /// The slot of a fully specified receive, linked and yet to be filled; [`AGAIN`] if that is not
    /// quickly done.
    #[inline(never)]
    fn reserve_for_receive(&mut self, context: ContextId, bits: BitsOf<P>) -> u32 {
        match index_in(&mut self.finders) {
            Some(index) if index.is_near_whatever_is_posted() => {
                index.queue_receive_quick(&mut self.slabs, Key::exact(context, bits))
            }
            _ => AGAIN,
        }
    }

    /// Queues a receive for which that is not quickly done.
    #[inline(never)]
    fn queue_receive_rarely(&mut self, pattern: P, receive: R) -> u32 {
        let slot = self.queue_any_receive(pattern, receive);
        deep(&mut self.finders).move_on(&mut self.slabs);
        slot
    }

    /// Queues any receive, in any state of the index.
    #[inline(never)]
    pub(in crate::structures::indexed) fn queue_any_receive(
        &mut self,
        pattern: P,
        receive: R,
    ) -> u32 {
        self.ensure_room_for_receive(pattern);
        let slot = self.reserve_for_any_receive().expect("there is room");
        self.slabs.posted.fill(slot, pattern, receive);
        deep(&mut self.finders).link_posted(&mut self.slabs, slot);
        slot
    }

    /// Queues a message.
    #[inline(always)]
    pub(in crate::structures::indexed) fn queue_message_deep(
        &mut self,
        envelope: P::Envelope,
        message: M,
    ) -> u32 {
        let slot = match self.has_log_of_messages() {
            true => self.slabs.unexpected.reserve_last().unwrap_or(AGAIN),
            false => self.reserve_for_message(envelope.context(), envelope.bits()),
        };
        if slot == AGAIN {
            return self.queue_message_rarely(envelope, message);
        }
        self.slabs.unexpected.fill(slot, envelope, message);
        slot
    }

    /// The slot of a message, linked and yet to be filled; [`AGAIN`] if that is not quickly done.
    #[inline(never)]
    fn reserve_for_message(&mut self, context: ContextId, bits: BitsOf<P>) -> u32 {
        match index_in(&mut self.finders) {
            Some(index) if index.is_near_whatever_is_posted() => {
                index.queue_message_quick(&mut self.slabs, Key::exact(context, bits))
            }
            _ => AGAIN,
        }
    }

    /// Queues a message for which that is not quickly done.
    #[inline(never)]
    fn queue_message_rarely(&mut self, envelope: P::Envelope, message: M) -> u32 {
        let slot = self.queue_any_message(envelope, message);
        deep(&mut self.finders).move_on(&mut self.slabs);
        slot
    }

    /// Queues any message, in any state of the index.
    #[inline(never)]
    pub(in crate::structures::indexed) fn queue_any_message(
        &mut self,
        envelope: P::Envelope,
        message: M,
    ) -> u32 {
        self.ensure_room_for_message(envelope);
        let slot = self.reserve_for_any_message().expect("there is room");
        self.slabs.unexpected.fill(slot, envelope, message);
        deep(&mut self.finders).link_unexpected(&mut self.slabs, slot);
        slot
    }
}
