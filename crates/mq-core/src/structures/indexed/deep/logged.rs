//! Steps in the deep form where there may be [logs](super::log).

use super::super::Indexed;
use super::super::finders::{deep, index_in, without_finders};
use super::super::key::Key;
use super::index::QuickSearch;
use super::nodes::{AGAIN, posted, unexpected};
use crate::envelope::ContextId;
use crate::meter::{Meter, Queue};
use crate::pattern::{BitsOf, Pattern};

impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// The step of a fully specified receive; [`AGAIN`] if it is one for [`post_rarely`](Self::post_rarely).
    #[inline(never)]
    pub(super) fn post_logged(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let Some(index) = index_in(&mut self.finders) else {
            return without_finders(AGAIN);
        };
        if self.slabs.unexpected.is_empty() {
            if index.has_log_of_receives() {
                return self.append_receive(meter);
            }
        } else if index.has_log_of_messages()
            && let Some(slot) = self.unlink_logged_message(context, bits, meter)
        {
            return unexpected(slot);
        }
        self.post_beside_logs(context, bits, meter)
    }

    /// The step of a message; [`AGAIN`] if it is one for [`arrive_rarely`](Self::arrive_rarely).
    #[inline(never)]
    pub(super) fn arrive_logged(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let Some(index) = index_in(&mut self.finders) else {
            return without_finders(AGAIN);
        };
        if self.slabs.posted.is_empty() {
            if index.has_log_of_messages() {
                return self.append_message(meter);
            }
        } else if index.has_log_of_receives()
            && let Some(slot) = self.unlink_logged_receive(context, bits, meter)
        {
            return posted(slot);
        }
        self.arrive_beside_logs(context, bits, meter)
    }

    /// Whether a fully specified receive that is only to be queued takes the next slot of its log: there is one, and
    /// nothing is being indexed.
    #[inline(always)]
    pub(super) fn has_log_of_receives(&self) -> bool {
        matches!(&self.finders, Some(finders) if finders.index.has_log_of_receives())
    }

    /// Whether a message that is only to be queued takes the next slot of its log.
    #[inline(always)]
    pub(super) fn has_log_of_messages(&self) -> bool {
        matches!(&self.finders, Some(finders) if finders.index.has_log_of_messages())
    }

    /// Takes a slot for a receive in its log, where no message is for it.
    #[inline(always)]
    fn append_receive(&mut self, meter: &mut impl Meter) -> u32 {
        let Some(slot) = self.slabs.posted.reserve_last() else {
            return AGAIN;
        };
        meter.visited(Queue::Unexpected, 0);
        posted(slot)
    }

    /// Takes a slot for a message in its log, where no receive is for it.
    #[inline(always)]
    fn append_message(&mut self, meter: &mut impl Meter) -> u32 {
        let Some(slot) = self.slabs.unexpected.reserve_last() else {
            return AGAIN;
        };
        meter.visited(Queue::Posted, 0);
        unexpected(slot)
    }

    /// The slot of the message that a fully specified receive takes from a log of all, unlinked.
    #[inline(always)]
    pub(super) fn unlink_logged_message(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> Option<u32> {
        let index = index_in(&mut self.finders)?;
        let slot = index.take_logged_message(&mut self.slabs, Key::exact(context, bits))?;
        meter.visited(Queue::Unexpected, 1);
        match self.slabs.unexpected.len() <= index.low() {
            true => Some(self.before_removal_of_message(slot)),
            false => Some(slot),
        }
    }

    /// The slot of the receive that takes a message, from a log of all, unlinked.
    #[inline(always)]
    pub(super) fn unlink_logged_receive(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> Option<u32> {
        let index = index_in(&mut self.finders)?;
        let slot = index.take_logged_receive(&mut self.slabs, Key::exact(context, bits))?;
        meter.visited(Queue::Posted, 1);
        match self.slabs.posted.len() <= index.low() {
            true => Some(self.before_removal_of_receive(slot)),
            false => Some(slot),
        }
    }

    /// The step of a fully specified receive for which there is no message in a log.
    #[inline(never)]
    fn post_beside_logs(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let index = deep(&mut self.finders);
        if index.is_moving() {
            return AGAIN;
        }
        if !index.has_log_of_receives() {
            return self.post_wide(context, bits, meter);
        }
        if !index.has_log_of_messages() {
            match index.take_message_quick(&self.slabs, Key::exact(context, bits)) {
                QuickSearch::Found(node) => {
                    meter.visited(Queue::Unexpected, 1);
                    return self.before_removal(node);
                }
                QuickSearch::Nothing => {}
                QuickSearch::Otherwise => return AGAIN,
            }
        }
        self.append_receive(meter)
    }

    /// The step of a message for which there is no receive in a log.
    #[inline(never)]
    fn arrive_beside_logs(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let index = deep(&mut self.finders);
        if index.is_moving() {
            return AGAIN;
        }
        if !index.has_log_of_messages() {
            return self.arrive_wide(context, bits, meter);
        }
        if !index.has_log_of_receives() {
            match index.take_receive_quick(&self.slabs, Key::exact(context, bits)) {
                QuickSearch::Found(node) => {
                    meter.visited(Queue::Posted, 1);
                    return self.before_removal(node);
                }
                QuickSearch::Nothing => {}
                QuickSearch::Otherwise => return AGAIN,
            }
        }
        self.append_message(meter)
    }
}
