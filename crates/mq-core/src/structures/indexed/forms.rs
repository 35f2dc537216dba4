//! What depends on the form that queues have: newcomers for which there is no room, and entries that are taken out or
//! looked at, wherever they are.

use super::Indexed;
use super::deep::SHORT;
use super::finders::deep;
use super::key::key_of_receive;
use super::short::farther;
use crate::meter::{Meter, Queue};
use crate::pattern::{Pattern, matches};
use crate::slab::{NIL, TOO_FAR};

impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// Queues a receive in its window. Returns its slot.
    #[inline(always)]
    pub(super) fn push_receive(&mut self, pattern: P, receive: R) -> u32 {
        match self.posted.has_room(&self.slabs.posted) {
            true => self.posted.push(&mut self.slabs.posted, pattern, receive),
            false => self.queue_one_more_receive(pattern, receive),
        }
    }

    /// Queues a message in its window. Returns its slot.
    #[inline(always)]
    pub(super) fn push_message(&mut self, envelope: P::Envelope, message: M) -> u32 {
        let unexpected = &mut self.slabs.unexpected;
        match self.unexpected.has_room(unexpected) {
            true => self.unexpected.push(unexpected, envelope, message),
            false => self.queue_one_more_message(envelope, message),
        }
    }

    /// Queues a receive in its window when there is no room for it: only here, and in the twin for messages, the
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
        // It stays in this slot.
        self.deepen_if_long();
        slot
    }

    /// Queues a message in its window when there is no room for it. Returns its slot.
    #[cold]
    #[inline(never)]
    fn queue_one_more_message(&mut self, envelope: P::Envelope, message: M) -> u32 {
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
        // It stays in this slot.
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
        deep(&mut self.finders).unlink_posted(&mut self.slabs, slot);
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
        deep(&mut self.finders).unlink_unexpected(&mut self.slabs, slot);
        let slot = self.before_removal_of_message(slot);
        self.slabs.unexpected.remove(slot)
    }

    /// The slot of the receive that takes a message, which stays.
    pub(super) fn peek_posted(
        &mut self,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> Option<u32> {
        if self.is_deep() {
            return deep(&mut self.finders).find_posted(&mut self.slabs, envelope, meter);
        }
        let mut passed = 0;
        if !self.posted.is_tabled() {
            let limit = u32::from(self.scan_limit);
            let receives = &mut self.slabs.posted;
            let sought = self.posted.find(receives, limit, |p| matches(p, envelope));
            if sought.slot != TOO_FAR {
                meter.visited(Queue::Posted, sought.visited);
                return (sought.slot != NIL).then_some(sought.slot);
            }
            passed = limit;
            self.table_receives();
        }
        let sought = self.peek_receive_tabled(envelope);
        let sought = farther(sought.into(), passed);
        meter.visited(Queue::Posted, sought.visited);
        (sought.slot != NIL).then_some(sought.slot)
    }

    /// The slot of the message that a receive takes, which stays.
    pub(super) fn peek_unexpected(&mut self, pattern: &P, meter: &mut impl Meter) -> Option<u32> {
        let key = key_of_receive(pattern);
        if self.is_deep() {
            return deep(&mut self.finders).find_unexpected(&mut self.slabs, key, meter);
        }
        let (mut passed, mut from) = (0, 0);
        if !self.unexpected.is_tabled() {
            let limit = self.limit_for(key.care);
            let messages = &mut self.slabs.unexpected;
            let sought = self
                .unexpected
                .find(messages, limit, |e| matches(pattern, e));
            if sought.slot != TOO_FAR {
                meter.visited(Queue::Unexpected, sought.visited);
                return (sought.slot != NIL).then_some(sought.slot);
            }
            passed = limit;
            from = self.unexpected.slot_behind(passed);
            self.table_messages();
        }
        let sought = farther(self.peek_message_tabled(key, from).into(), passed);
        meter.visited(Queue::Unexpected, sought.visited);
        (sought.slot != NIL).then_some(sought.slot)
    }

    /// An entry was queued in a window that had to get more slots: indexes all entries if they are too
    /// many. None is moved.
    fn deepen_if_long(&mut self) {
        if self.posted.len() + self.unexpected.len() > u32::from(self.short_limit) {
            self.deepen();
        }
    }
}
