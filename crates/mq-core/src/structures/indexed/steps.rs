//! The two halves of a step of `indexed`, in either form: the search, and the link of a newcomer.

use super::Indexed;
use super::hash::Key;
use super::index::Index;
use super::nodes::key_of_receive;
use crate::envelope::ContextId;
use crate::fifo::Keys;
use crate::meter::{Meter, Queue, Unmetered};
use crate::pattern::{BitsOf, Pattern, matches};
use crate::slab::NIL;

/// The searches of a step: each takes what it finds off its list and leaves it in storage, and returns
/// its slot, or [`NIL`].
impl<P: Pattern, R, M> Indexed<P, R, M> {
    // The head of a short queue is looked at before anything else: it is nearly always the one.

    #[inline(always)]
    pub(super) fn unlink_message_for(&mut self, pattern: P, meter: &mut impl Meter) -> u32 {
        if self.deep {
            let Key {
                context,
                bits,
                care,
            } = key_of_receive(&pattern);
            // One by one: so they stay in registers.
            return self.unlink_message_deep(context, bits, care, meter);
        }
        let head = self.unexpected.first();
        if head == NIL {
            meter.visited(Queue::Unexpected, 0);
            return NIL;
        }
        let messages = &mut self.slabs.unexpected;
        if matches(&pattern, messages.near_keys().key(head)) {
            meter.visited(Queue::Unexpected, 1);
            self.unexpected.unlink_head(&mut messages.near());
            return head;
        }
        self.unlink_message_behind_head(pattern, meter)
    }

    #[inline(always)]
    pub(super) fn unlink_receive_for(
        &mut self,
        envelope: P::Envelope,
        meter: &mut impl Meter,
    ) -> u32 {
        if self.deep {
            return self.unlink_receive_deep(envelope, meter);
        }
        let head = self.posted.first();
        if head == NIL {
            meter.visited(Queue::Posted, 0);
            return NIL;
        }
        let receives = &mut self.slabs.posted;
        if matches(receives.near_keys().key(head), &envelope) {
            meter.visited(Queue::Posted, 1);
            self.posted.unlink_head(&mut receives.near());
            return head;
        }
        self.unlink_receive_behind_head(envelope, meter)
    }

    #[inline(never)]
    fn unlink_message_behind_head(&mut self, pattern: P, meter: &mut impl Meter) -> u32 {
        let search = self.scan_unexpected(&pattern);
        meter.visited(Queue::Unexpected, search.visited);
        if search.visited > u32::from(self.scan_limit) {
            self.deepen();
            let Key {
                context,
                bits,
                care,
            } = key_of_receive(&pattern);
            return self.unlink_message_deep(context, bits, care, &mut Unmetered);
        }
        let Some(slot) = search.found else {
            return NIL;
        };
        let mut links = self.slabs.unexpected.near();
        self.unexpected.unlink_from(&mut links, slot);
        slot
    }

    #[inline(never)]
    fn unlink_receive_behind_head(&mut self, envelope: P::Envelope, meter: &mut impl Meter) -> u32 {
        let search = self.scan_posted(&envelope);
        meter.visited(Queue::Posted, search.visited);
        if search.visited > u32::from(self.scan_limit) {
            self.deepen();
            return self.unlink_receive_deep(envelope, &mut Unmetered);
        }
        let Some(slot) = search.found else {
            return NIL;
        };
        self.posted.unlink_from(&mut self.slabs.posted.near(), slot);
        slot
    }

    #[inline(never)]
    fn unlink_message_deep(
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
        let far = self.slabs.has_far();
        let index = deep(&mut self.index);
        if far {
            index.unlink_message_for::<false, _, _, _>(&mut self.slabs, key, meter)
        } else {
            index.unlink_message_for::<true, _, _, _>(&mut self.slabs, key, meter)
        }
    }

    #[inline(never)]
    fn unlink_receive_deep(&mut self, envelope: P::Envelope, meter: &mut impl Meter) -> u32 {
        let far = self.slabs.has_far();
        let index = deep(&mut self.index);
        if far {
            index.unlink_receive_for::<false, _, _, _>(&mut self.slabs, &envelope, meter)
        } else {
            index.unlink_receive_for::<true, _, _, _>(&mut self.slabs, &envelope, meter)
        }
    }

    /// Links a receive for which [`unlink_message_deep`](Self::unlink_message_deep) has found nothing.
    #[inline(never)]
    pub(super) fn link_receive_deep(&mut self, slot: u32, exact: bool) {
        let index = deep(&mut self.index);
        if exact {
            index.link_exact_receive(&mut self.slabs, slot);
        } else {
            index.link_posted(&mut self.slabs, slot);
        }
    }

    /// Links a message for which [`unlink_receive_deep`](Self::unlink_receive_deep) has found nothing.
    #[inline(never)]
    pub(super) fn link_message_deep(&mut self, slot: u32) {
        deep(&mut self.index).link_message(&mut self.slabs, slot);
    }
}

/// The index, if the queues are deep.
pub(super) fn if_deep<B>(
    is_deep: bool,
    index: &mut Option<Box<Index<B>>>,
) -> Option<&mut Index<B>> {
    if is_deep { index.as_deref_mut() } else { None }
}

/// The index of deep queues.
#[inline(always)]
pub(super) fn deep<B>(index: &mut Option<Box<Index<B>>>) -> &mut Index<B> {
    match index {
        Some(index) => index,
        None => unreachable!("deep queues have an index"),
    }
}
