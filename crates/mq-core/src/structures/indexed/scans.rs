//! The searches of the short form, which are scans. Those of steps take what they find off its list
//! and leave it in storage.

use super::Indexed;
use crate::fifo::ELSEWHERE;
use crate::meter::{Meter, Queue};
use crate::pattern::{Pattern, matches};

/// How a search of the short form has ended.
pub(super) enum Short {
    /// At the entry in this slot, which is off the list and still in storage.
    Found(u32),
    /// There is none.
    Nothing,
    /// The queues are deep, or have become so because the search would be long.
    Deep,
}

impl Short {
    /// For the head of a list that is no slot.
    #[inline(always)]
    const fn not_found(head: u32) -> Self {
        if head == ELSEWHERE {
            Self::Deep
        } else {
            Self::Nothing
        }
    }
}

impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// The receive that takes a message, and the entries visited; [`ELSEWHERE`] if the scan would
    /// be long.
    #[inline(always)]
    pub(super) fn scan_posted(&self, envelope: &P::Envelope) -> (u32, u32) {
        let posted = self.slabs.posted.near_keys();
        let limit = u32::from(self.scan_limit);
        self.posted
            .find_within(&posted, limit, |p| matches(p, envelope))
    }

    /// The message that a receive takes, likewise.
    #[inline(always)]
    pub(super) fn scan_unexpected(&self, pattern: &P) -> (u32, u32) {
        let unexpected = self.slabs.unexpected.near_keys();
        let limit = u32::from(self.scan_limit);
        self.unexpected
            .find_within(&unexpected, limit, |e| matches(pattern, e))
    }

    // The head of a short queue is looked at before anything else: it is nearly always the one.
    // That it is a slot at all is asked once, for the bounds of the storage, the end of the list
    // and the deep form.

    /// Searches the short form.
    #[inline(always)]
    pub(super) fn unlink_message_short(&mut self, pattern: &P, meter: &mut impl Meter) -> Short {
        let messages = &mut self.slabs.unexpected;
        let head = self.unexpected.first();
        let Some(entry) = messages.near_entry(head) else {
            meter.visited(Queue::Unexpected, 0);
            return Short::not_found(head);
        };
        let next = entry.next;
        if matches(pattern, &entry.key) {
            meter.visited(Queue::Unexpected, 1);
            self.unexpected.unlink_head(&mut messages.near(), next);
            return Short::Found(head);
        }
        let mut visited = 1;
        let mut slot = next;
        while let Some(entry) = messages.near_entry(slot) {
            if visited >= u32::from(self.scan_limit) {
                meter.visited(Queue::Unexpected, visited);
                self.give_up();
                return Short::Deep;
            }
            visited += 1;
            if matches(pattern, &entry.key) {
                meter.visited(Queue::Unexpected, visited);
                self.unexpected.unlink_from(&mut messages.near(), slot);
                return Short::Found(slot);
            }
            slot = entry.next;
        }
        meter.visited(Queue::Unexpected, visited);
        Short::Nothing
    }

    /// Searches the short form, likewise.
    #[inline(always)]
    pub(super) fn unlink_receive_short(
        &mut self,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> Short {
        let receives = &mut self.slabs.posted;
        let head = self.posted.first();
        let Some(entry) = receives.near_entry(head) else {
            meter.visited(Queue::Posted, 0);
            return Short::not_found(head);
        };
        let next = entry.next;
        if matches(&entry.key, envelope) {
            meter.visited(Queue::Posted, 1);
            self.posted.unlink_head(&mut receives.near(), next);
            return Short::Found(head);
        }
        let mut visited = 1;
        let mut slot = next;
        while let Some(entry) = receives.near_entry(slot) {
            if visited >= u32::from(self.scan_limit) {
                meter.visited(Queue::Posted, visited);
                self.give_up();
                return Short::Deep;
            }
            visited += 1;
            if matches(&entry.key, envelope) {
                meter.visited(Queue::Posted, visited);
                self.posted.unlink_from(&mut receives.near(), slot);
                return Short::Found(slot);
            }
            slot = entry.next;
        }
        meter.visited(Queue::Posted, visited);
        Short::Nothing
    }

    /// A scan has gone as far as scans go.
    #[cold]
    #[inline(never)]
    fn give_up(&mut self) {
        self.deepen();
    }
}
