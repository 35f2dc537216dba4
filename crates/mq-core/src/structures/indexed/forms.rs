//! From one form to another: what queues do when their room is used up, or few entries are left; and what
//! depends on nothing but the form.

use super::Indexed;
use super::nodes::{self, Slot, slot_of};
use super::steps::deep;
use crate::arrangement::Slabs;
use crate::pattern::Pattern;

/// Queues with at most this many entries together become short again.
pub(super) const SHORT: u32 = 4;

impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// Indexes all entries, in order.
    #[cold]
    #[inline(never)]
    pub(super) fn deepen(&mut self) {
        self.end_tables();
        let most = u32::from(self.short_limit);
        let receives = self.posted.leave(&mut self.slabs.posted);
        let messages = self.unexpected.leave(&mut self.slabs.unexpected);
        deep(&mut self.index).take_over(&mut self.slabs, receives, messages, most);
    }

    /// Few entries are left in the deep form, for the size of its table or for any size: makes the table
    /// smaller, or returns to scanning if there are no entries or enough removals have paid for
    /// collecting them. `leaving` is the node of an entry that is on no list and about to be removed; it
    /// is returned.
    #[cold]
    #[inline(never)]
    pub(super) fn shorten(&mut self, left: u32, leaving: u32) -> u32 {
        let Some(index) = &mut self.index else {
            return leaving;
        };
        if left > SHORT {
            index.shrink(&mut self.slabs);
            return leaving;
        }
        if left > 0 {
            // The short form expects its entries near.
            let Slabs { posted, unexpected } = &self.slabs;
            let far = self.slabs.has_far();
            if far || !index.has_paid_for(posted.near_slots() + unexpected.near_slots()) {
                if left <= index.few() {
                    index.shrink(&mut self.slabs);
                }
                return leaving;
            }
        }
        let Slabs { posted, unexpected } = &mut self.slabs;
        if left == 0 {
            index.rest();
            self.posted.restart();
            self.unexpected.restart();
            return leaving;
        }
        let mut receives = posted.slots_in_order();
        receives.retain(|&slot| nodes::posted(slot) != leaving);
        let mut messages = unexpected.slots_in_order();
        messages.retain(|&slot| nodes::unexpected(slot) != leaving);
        for &slot in &receives {
            index.unlink_posted(&mut self.slabs, slot);
        }
        for &slot in &messages {
            index.unlink_unexpected(&mut self.slabs, slot);
        }
        index.rest();
        let (receive, message) = match slot_of(leaving) {
            Slot::Posted(slot) => (Some(slot), None),
            Slot::Unexpected(slot) => (None, Some(slot)),
            Slot::None => (None, None),
        };
        let Slabs { posted, unexpected } = &mut self.slabs;
        let receive = self.posted.come_back(posted, &mut receives, receive);
        let message = self
            .unexpected
            .come_back(unexpected, &mut messages, message);
        receive
            .map(nodes::posted)
            .or(message.map(nodes::unexpected))
            .unwrap_or(leaving)
    }

    /// Queues a receive in the short form when there is no room for it: only here, and in the twin for messages, the
    /// length of the queues is checked. Returns its slot.
    #[cold]
    #[inline(never)]
    pub(super) fn queue_one_more_receive(&mut self, pattern: P, receive: R) -> u32 {
        if self.posted.is_tabled() && self.posted.len() <= SHORT {
            self.untable_receives();
        }
        let slabs = &mut self.slabs;
        if self.posted.is_worn_out() || !self.posted.make_room(&mut slabs.posted, pattern) {
            self.deepen();
            return self.queue_any_receive(pattern, receive);
        }
        let slot = self.posted.push(&mut self.slabs.posted, pattern, receive);
        self.deepen_if_long();
        slot
    }

    /// Queues a message in the short form when there is no room for it. Returns its slot.
    #[cold]
    #[inline(never)]
    pub(super) fn queue_one_more_message(&mut self, envelope: P::Envelope, message: M) -> u32 {
        if self.unexpected.is_tabled() && self.unexpected.len() <= SHORT {
            self.untable_messages();
        }
        let slabs = &mut self.slabs;
        if self.unexpected.is_worn_out()
            || !self.unexpected.make_room(&mut slabs.unexpected, envelope)
        {
            self.deepen();
            return self.queue_any_message(envelope, message);
        }
        let unexpected = &mut self.slabs.unexpected;
        let slot = self.unexpected.push(unexpected, envelope, message);
        self.deepen_if_long();
        slot
    }

    /// Takes out a receive, wherever it is.
    pub(super) fn take_receive(&mut self, slot: u32) -> (P, R) {
        if !self.is_deep() {
            if self.posted.is_tabled() {
                self.drop_receive_tabled(slot);
                return self.slabs.posted.take_near(slot);
            }
            let taken = self.slabs.posted.take_near(slot);
            self.posted.drop_slot(&self.slabs.posted, slot);
            return taken;
        }
        deep(&mut self.index).unlink_posted(&mut self.slabs, slot);
        let slot = self.before_removal_of_receive(slot);
        self.slabs.posted.remove(slot)
    }

    /// Takes out a message, wherever it is.
    pub(super) fn take_message(&mut self, slot: u32) -> (P::Envelope, M) {
        if !self.is_deep() {
            if self.unexpected.is_tabled() {
                self.drop_message_tabled(slot);
                return self.slabs.unexpected.take_near(slot);
            }
            let taken = self.slabs.unexpected.take_near(slot);
            self.unexpected.drop_slot(&self.slabs.unexpected, slot);
            return taken;
        }
        deep(&mut self.index).unlink_unexpected(&mut self.slabs, slot);
        let slot = self.before_removal_of_message(slot);
        self.slabs.unexpected.remove(slot)
    }

    /// An entry was queued in a window that had to get more slots: indexes all entries if they are too
    /// many.
    fn deepen_if_long(&mut self) {
        if self.posted.len() + self.unexpected.len() > u32::from(self.short_limit) {
            self.deepen();
        }
    }
}
