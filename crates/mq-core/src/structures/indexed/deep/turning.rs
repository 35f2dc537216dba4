//! How queues become deep, and short again.

use super::super::Indexed;
use super::super::finders::{deep, index_in, without_finders};
use super::nodes::{self, Slot, posted, slot_in, slot_of, unexpected};
use crate::arrangement::Slabs;
use crate::pattern::Pattern;
use crate::slab::NIL;

/// Queues with at most this many entries together become short again.
pub(in crate::structures::indexed) const SHORT: u32 = 4;

impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// Begins logs with all entries, or indexes them, in order. None is moved.
    #[cold]
    #[inline(never)]
    pub(in crate::structures::indexed) fn deepen(&mut self) {
        // Also makes the index, if no search has needed one.
        self.end_tables();
        let short_limit = u32::from(self.short_limit);
        let are_filled = self.posted.is_filled() && self.unexpected.is_filled();
        let receives = self.posted.leave(&mut self.slabs.posted);
        let messages = self.unexpected.leave(&mut self.slabs.unexpected);
        deep(&mut self.finders).take_over(
            &mut self.slabs,
            receives,
            messages,
            short_limit,
            are_filled,
        );
        let index = deep(&mut self.finders);
        // While there is a log, its queue does not ask for these slots, and they may be given back with others.
        if index.logs_receives() {
            while self.posted.free_unused(&mut self.slabs.posted) {}
        }
        if index.logs_messages() {
            while self.unexpected.free_unused(&mut self.slabs.unexpected) {}
        }
    }

    /// Few entries are left in the deep form, for the size of its table or for any size: makes the table
    /// smaller, or returns to scanning if there are no entries or enough removals have paid for
    /// collecting them. `leaving` is the node of an entry that is on no list and about to be removed; it
    /// is returned.
    #[cold]
    #[inline(never)]
    fn shorten(&mut self, left: u32, leaving: u32) -> u32 {
        let Some(index) = index_in(&mut self.finders) else {
            return without_finders(leaving);
        };
        if left == 0 {
            index.rest();
            self.slabs.posted.rest();
            self.slabs.unexpected.rest();
            self.posted.restart();
            self.unexpected.restart();
            return leaving;
        }
        if left > SHORT {
            index.shrink(&mut self.slabs);
            return leaving;
        }
        // The short form expects its entries near.
        let Slabs { posted, unexpected } = &self.slabs;
        let slots = posted.near_slots() + unexpected.near_slots();
        let is_paid = index.pay_for(slots);
        if self.slabs.has_far() || !is_paid {
            index.end_logs_of_few();
            if left <= index.few() {
                index.shrink(&mut self.slabs);
            }
            return leaving;
        }
        self.return_to_windows(leaving)
    }

    /// Collects the entries, which are few and near, into their windows. `leaving` is as in
    /// [`shorten`](Self::shorten): its entry moves, too, and its node now is returned.
    fn return_to_windows(&mut self, leaving: u32) -> u32 {
        let index = deep(&mut self.finders);
        let Slabs { posted, unexpected } = &mut self.slabs;
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
}

/// What is done before a step that needs room, and after one that takes an entry.
impl<P: Pattern, R, M> Indexed<P, R, M> {
    #[cold]
    #[inline(never)]
    pub(super) fn make_room_for_receive(&mut self, pattern: P) {
        let slabs = &mut self.slabs;
        if deep(&mut self.finders).make_room_in_log_of_receives(slabs, pattern) {
            return;
        }
        if !self.posted.free_unused(&mut self.slabs.posted) {
            self.slabs.posted.make_room(pattern);
        }
        deep(&mut self.finders).serve(&mut self.slabs);
    }

    /// Makes room for a receive if there is none.
    #[inline(always)]
    pub(super) fn ensure_room_for_receive(&mut self, pattern: P) {
        let posted = &self.slabs.posted;
        let is_full = match deep(&mut self.finders).logs_receives() {
            true => posted.is_at_end(),
            false => posted.is_full(),
        };
        if is_full {
            self.make_room_for_receive(pattern);
        }
    }

    /// Takes a slot for a receive that is yet to be linked, if there is one.
    #[inline(always)]
    pub(super) fn reserve_for_any_receive(&mut self) -> Option<u32> {
        match deep(&mut self.finders).logs_receives() {
            true => self.slabs.posted.reserve_last(),
            false => self.slabs.posted.reserve(NIL),
        }
    }

    /// Makes room for a message if there is none.
    #[inline(always)]
    pub(super) fn ensure_room_for_message(&mut self, envelope: P::Envelope) {
        let unexpected = &self.slabs.unexpected;
        let is_full = match deep(&mut self.finders).logs_messages() {
            true => unexpected.is_at_end(),
            false => unexpected.is_full(),
        };
        if is_full {
            self.make_room_for_message(envelope);
        }
    }

    /// Takes a slot for a message that is yet to be linked, where the last search has ended, if there is one.
    #[inline(always)]
    pub(super) fn reserve_for_any_message(&mut self) -> Option<u32> {
        let index = deep(&mut self.finders);
        match index.logs_messages() {
            true => self.slabs.unexpected.reserve_last(),
            false => self.slabs.unexpected.reserve(index.home()),
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn make_room_for_message(&mut self, envelope: P::Envelope) {
        let slabs = &mut self.slabs;
        if deep(&mut self.finders).make_room_in_log_of_messages(slabs, envelope) {
            return;
        }
        if !self.unexpected.free_unused(&mut self.slabs.unexpected) {
            self.slabs.unexpected.make_room(envelope);
        }
        deep(&mut self.finders).serve(&mut self.slabs);
    }

    /// An entry is off all lists and will be removed: returns its node, which may be another then.
    #[inline(always)]
    pub(super) fn before_removal(&mut self, node: u32) -> u32 {
        let len = self.slabs.posted.len() + self.slabs.unexpected.len();
        if len <= deep(&mut self.finders).low() {
            return self.shorten(len - 1, node);
        }
        node
    }

    /// [`before_removal`](Self::before_removal) of the receive in a slot: returns its slot.
    pub(in crate::structures::indexed) fn before_removal_of_receive(&mut self, slot: u32) -> u32 {
        self.before_removal(posted(slot))
    }

    /// [`before_removal`](Self::before_removal) of the message in a slot: returns its slot.
    pub(in crate::structures::indexed) fn before_removal_of_message(&mut self, slot: u32) -> u32 {
        slot_in(self.before_removal(unexpected(slot)))
    }
}
