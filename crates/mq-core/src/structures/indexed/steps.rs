//! The steps of the deep form of `indexed`.

use super::Indexed;
use super::hash::Key;
use super::index::{Index, Quick, Wildcards};
use super::nodes::{Slot, key_of_receive, posted, slot_of, slot_of_message, unexpected};
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::meter::{Meter, Queue};
use crate::pattern::{BitsOf, Pattern};
use crate::slab::{NIL, SLOTS};

/// Whether a search has found a slot.
#[inline(always)]
pub(super) const fn is_slot(found: u32) -> bool {
    found < SLOTS
}

/// Searches alone: each takes what it finds off all lists and leaves it in storage, and returns its
/// slot.
impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// Searches the deep form.
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
        let slot = deep(&mut self.index).unlink_message_for(&mut self.slabs, key, meter);
        match slot {
            NIL => NIL,
            slot => self.before_removal_of_message(slot),
        }
    }

    /// Searches the deep form.
    #[inline(never)]
    pub(super) fn unlink_receive_deep(
        &mut self,
        envelope: P::Envelope,
        meter: &mut impl Meter,
    ) -> u32 {
        let slot = deep(&mut self.index).unlink_receive_for(&mut self.slabs, &envelope, meter);
        match slot {
            NIL => NIL,
            slot => self.before_removal_of_receive(slot),
        }
    }
}

/// The steps of the deep form. Each says at which node it ended: that of an entry of the queue that
/// is searched, unlinked, or that of a slot of the other queue, reserved for the newcomer and
/// linked, which the caller writes there. So nothing but words passes between them.
impl<P: Pattern, R, M> Indexed<P, R, M> {
    // Where storage is asked for more slots, and nowhere else, the table is asked for more buckets:
    // so steps count nothing. A step that finds no slot free comes back, and is taken again.

    /// The step of a receive; [`NIL`] if it is one for [`post_rarely`](Self::post_rarely).
    #[inline(always)]
    pub(super) fn search_for_receive(&mut self, pattern: &P, meter: &mut impl Meter) -> u32 {
        let (context, bits) = (pattern.context(), pattern.bits());
        if pattern.care() != BitsOf::<P>::ALL {
            return self.post_any_deep(*pattern, meter);
        }
        self.post_exact_deep(context, bits, meter)
    }

    /// The step of a fully specified receive for which no slot is free, or while entries are being
    /// indexed. It ends at a node.
    #[cold]
    #[inline(never)]
    pub(super) fn post_rarely(&mut self, pattern: P, meter: &mut impl Meter) -> u32 {
        if deep(&mut self.index).is_moving() {
            return self.post_any_deep(pattern, meter);
        }
        self.make_room_for_receive(pattern);
        self.post_any_exact(pattern.context(), pattern.bits(), meter)
    }

    /// The step of a message for which no slot is free, or that takes more than the quick ways. It
    /// ends at a node.
    #[cold]
    #[inline(never)]
    pub(super) fn arrive_rarely(&mut self, envelope: P::Envelope, meter: &mut impl Meter) -> u32 {
        if !deep(&mut self.index).is_plain() {
            return self.arrive_deep(envelope, meter);
        }
        self.make_room_for_message(envelope);
        self.arrive_any_plain(envelope.context(), envelope.bits(), meter)
    }

    /// A step of a message while there is more to look at than the table, if it is only wildcards
    /// and views; otherwise [`NIL`], and nothing has changed.
    #[inline(never)]
    fn arrive_special(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let index = deep(&mut self.index);
        if !index.has_only_wildcards() {
            return NIL;
        }
        if index.has_views() || index.may_have_wildcards_for(context, bits) {
            return self.arrive_among_wildcards(context, bits, meter);
        }
        match index.is_wide() {
            true => self.arrive_wide(context, bits, meter),
            false => self.arrive_exact(context, bits, meter),
        }
    }

    /// The same where there may be receives with wildcards for the message, or views.
    #[inline(never)]
    fn arrive_among_wildcards(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let index = deep(&mut self.index);
        match index.wildcards_for(&self.slabs, context, bits) {
            Wildcards::None if !index.has_views() => {
                return match index.is_wide() {
                    true => self.arrive_wide(context, bits, meter),
                    false => self.arrive_plain(context, bits, meter),
                };
            }
            Wildcards::One {
                class,
                bucket,
                slot,
            } => {
                let key = Key::exact(context, bits);
                let found = (class, bucket, slot);
                let (node, visited) = index.take_wildcard_quick(&mut self.slabs, key, found);
                if node != NIL {
                    meter.visited(Queue::Posted, visited);
                    return self.before_removal(node);
                }
            }
            _ => {}
        }
        let node = index.arrive_among_wildcards(&mut self.slabs, context, bits, meter);
        if let Slot::Posted(_) = slot_of(node) {
            return self.before_removal(node);
        }
        node
    }

    #[cold]
    #[inline(never)]
    pub(super) fn make_room_for_receive(&mut self, pattern: P) {
        if !self.posted.free_unused(&mut self.slabs.posted) {
            self.slabs.posted.make_room(pattern);
        }
        deep(&mut self.index).serve(&mut self.slabs);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn make_room_for_message(&mut self, envelope: P::Envelope) {
        if !self.unexpected.free_unused(&mut self.slabs.unexpected) {
            self.slabs.unexpected.make_room(envelope);
        }
        deep(&mut self.index).serve(&mut self.slabs);
    }

    /// A step of a fully specified receive; [`NIL`] if no slot is free, or not all entries are
    /// indexed.
    ///
    /// This function has no call but in the place of its return, so it saves hardly a register.
    /// What is not near is left to the next one, which is given the place.
    #[inline(never)]
    fn post_exact_deep(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let key = Key::exact(context, bits);
        // There is one. But not even a panic is called from here.
        let Some(index) = &mut self.index else {
            return NIL;
        };
        if !index.is_near_for_receives() {
            if index.is_plain_for_receives() {
                return self.post_wide(context, bits, meter);
            }
            return self.post_special(context, bits, meter);
        }
        let place = index.place(key);
        match index.post_quick(&mut self.slabs, key, place) {
            Quick::Queued(node) => {
                meter.visited(Queue::Unexpected, 0);
                node
            }
            Quick::Found(node) => {
                meter.visited(Queue::Unexpected, 1);
                if self.slabs.unexpected.len() <= index.low() {
                    return self.before_removal(node);
                }
                node
            }
            Quick::Several => self.post_several(context, bits, place, meter),
            Quick::Beside => self.post_beside(context, bits, place, meter),
        }
    }

    /// A step of a fully specified receive while there is more to look at than the table; [`NIL`],
    /// and nothing has changed, if not all entries are indexed.
    #[inline(never)]
    fn post_special(&mut self, context: ContextId, bits: BitsOf<P>, meter: &mut impl Meter) -> u32 {
        let index = deep(&mut self.index);
        if index.is_moving() {
            return NIL;
        }
        let place = index.place(Key::exact(context, bits));
        self.post_beside(context, bits, place, meter)
    }

    /// [`post_exact_deep`](Self::post_exact_deep) where buckets are far. Without calls, likewise.
    #[inline(never)]
    fn post_wide(&mut self, context: ContextId, bits: BitsOf<P>, meter: &mut impl Meter) -> u32 {
        let key = Key::exact(context, bits);
        let Some(index) = &mut self.index else {
            return NIL;
        };
        let place = index.place(key);
        match index.post_wide(&mut self.slabs, key, index.bucket_of(place)) {
            Quick::Queued(node) => {
                meter.visited(Queue::Unexpected, 0);
                node
            }
            Quick::Found(node) => {
                meter.visited(Queue::Unexpected, 1);
                if self.slabs.unexpected.len() <= index.low() {
                    return self.before_removal(node);
                }
                node
            }
            Quick::Several | Quick::Beside => self.post_beside(context, bits, place, meter),
        }
    }

    #[inline(never)]
    fn post_several(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        place: u32,
        meter: &mut impl Meter,
    ) -> u32 {
        let node = deep(&mut self.index).take_message_of_several(&mut self.slabs, place);
        if node == NIL {
            return self.post_beside(context, bits, place, meter);
        }
        meter.visited(Queue::Unexpected, 1);
        self.before_removal(node)
    }

    #[inline(never)]
    fn post_beside(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        place: u32,
        meter: &mut impl Meter,
    ) -> u32 {
        let key = Key::exact(context, bits);
        let node = deep(&mut self.index).post_beside(&mut self.slabs, key, place);
        match slot_of(node) {
            Slot::Posted(_) => meter.visited(Queue::Unexpected, 0),
            Slot::Unexpected(_) => {
                meter.visited(Queue::Unexpected, 1);
                return self.before_removal(node);
            }
            Slot::None => {}
        }
        node
    }

    #[inline(never)]
    fn post_any_exact(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let key = Key::exact(context, bits);
        let node = deep(&mut self.index).post_exact(&mut self.slabs, key, meter);
        if let Slot::Unexpected(_) = slot_of(node) {
            return self.before_removal(node);
        }
        node
    }

    /// A step of any receive, in any state of the index.
    #[inline(never)]
    fn post_any_deep(&mut self, pattern: P, meter: &mut impl Meter) -> u32 {
        if self.slabs.posted.is_full() {
            self.make_room_for_receive(pattern);
        }
        let Key {
            context,
            bits,
            care,
        } = key_of_receive(&pattern);
        let slot = self.unlink_message_deep(context, bits, care, meter);
        if slot != NIL {
            return unexpected(slot);
        }
        let Some(slot) = self.slabs.posted.reserve(NIL) else {
            return NIL;
        };
        self.slabs.posted.set_key(slot, pattern);
        deep(&mut self.index).link_posted(&mut self.slabs, slot);
        posted(slot)
    }

    /// The step of a message; [`NIL`] if it is one for [`arrive_rarely`](Self::arrive_rarely).
    ///
    /// As [`post_exact_deep`](Self::post_exact_deep) it saves hardly a register.
    #[inline(never)]
    pub(super) fn search_for_message(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        match &self.index {
            Some(index) if index.is_near() => self.arrive_exact(context, bits, meter),
            Some(index) if index.is_plain() => self.arrive_wide(context, bits, meter),
            _ => self.arrive_special(context, bits, meter),
        }
    }

    /// [`arrive_exact`](Self::arrive_exact), for those who rarely take it.
    #[inline(never)]
    fn arrive_plain(&mut self, context: ContextId, bits: BitsOf<P>, meter: &mut impl Meter) -> u32 {
        self.arrive_exact(context, bits, meter)
    }

    /// The step of a message that has nothing to look at but the table.
    #[inline(always)]
    fn arrive_exact(&mut self, context: ContextId, bits: BitsOf<P>, meter: &mut impl Meter) -> u32 {
        let key = Key::exact(context, bits);
        let Some(index) = &mut self.index else {
            return NIL;
        };
        let place = index.place(key);
        match index.arrive_quick(&mut self.slabs, key, place) {
            Quick::Queued(node) => {
                meter.visited(Queue::Posted, 0);
                node
            }
            Quick::Found(node) => {
                meter.visited(Queue::Posted, 1);
                if self.slabs.posted.len() <= index.low() {
                    return self.before_removal(node);
                }
                node
            }
            Quick::Several => self.arrive_several(context, bits, place, meter),
            Quick::Beside => self.arrive_beside(context, bits, place, meter),
        }
    }

    /// [`arrive_exact`](Self::arrive_exact) where buckets are far. Without calls.
    #[inline(never)]
    fn arrive_wide(&mut self, context: ContextId, bits: BitsOf<P>, meter: &mut impl Meter) -> u32 {
        let key = Key::exact(context, bits);
        let Some(index) = &mut self.index else {
            return NIL;
        };
        let place = index.place(key);
        match index.arrive_wide(&mut self.slabs, key, index.bucket_of(place)) {
            Quick::Queued(node) => {
                meter.visited(Queue::Posted, 0);
                node
            }
            Quick::Found(node) => {
                meter.visited(Queue::Posted, 1);
                if self.slabs.posted.len() <= index.low() {
                    return self.before_removal(node);
                }
                node
            }
            Quick::Several | Quick::Beside => self.arrive_beside(context, bits, place, meter),
        }
    }

    #[inline(never)]
    fn arrive_several(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        place: u32,
        meter: &mut impl Meter,
    ) -> u32 {
        let node = deep(&mut self.index).take_receive_of_several(&mut self.slabs, place);
        if node == NIL {
            return self.arrive_beside(context, bits, place, meter);
        }
        meter.visited(Queue::Posted, 1);
        self.before_removal(node)
    }

    #[inline(never)]
    fn arrive_beside(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        place: u32,
        meter: &mut impl Meter,
    ) -> u32 {
        let key = Key::exact(context, bits);
        let node = deep(&mut self.index).arrive_beside(&mut self.slabs, key, place);
        match slot_of(node) {
            Slot::Unexpected(_) => meter.visited(Queue::Posted, 0),
            Slot::Posted(_) => {
                meter.visited(Queue::Posted, 1);
                return self.before_removal(node);
            }
            Slot::None => {}
        }
        node
    }

    #[inline(never)]
    fn arrive_any_plain(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let key = Key::exact(context, bits);
        let node = deep(&mut self.index).arrive_plain(&mut self.slabs, key, meter);
        if let Slot::Posted(_) = slot_of(node) {
            return self.before_removal(node);
        }
        node
    }

    /// A step of a message, in any state of the index.
    #[inline(never)]
    fn arrive_deep(&mut self, envelope: P::Envelope, meter: &mut impl Meter) -> u32 {
        if self.slabs.unexpected.is_full() {
            self.make_room_for_message(envelope);
        }
        let slot = self.unlink_receive_deep(envelope, meter);
        if slot != NIL {
            return posted(slot);
        }
        let index = deep(&mut self.index);
        let Some(slot) = self.slabs.unexpected.reserve(index.home()) else {
            return NIL;
        };
        self.slabs.unexpected.set_key(slot, envelope);
        index.link_message(&mut self.slabs, slot);
        unexpected(slot)
    }

    /// An entry is off all lists and will be removed: returns its node, which may be another then.
    #[inline(always)]
    fn before_removal(&mut self, node: u32) -> u32 {
        let len = self.slabs.posted.len() + self.slabs.unexpected.len();
        if len <= deep(&mut self.index).low() {
            return self.shorten(len - 1, node);
        }
        node
    }

    /// [`before_removal`](Self::before_removal) of the receive in a slot: returns its slot.
    pub(super) fn before_removal_of_receive(&mut self, slot: u32) -> u32 {
        self.before_removal(posted(slot))
    }

    /// [`before_removal`](Self::before_removal) of the message in a slot: returns its slot.
    pub(super) fn before_removal_of_message(&mut self, slot: u32) -> u32 {
        slot_of_message(self.before_removal(unexpected(slot)))
    }
}

/// The index of deep queues.
#[inline(always)]
pub(super) fn deep<B>(index: &mut Option<Box<Index<B>>>) -> &mut Index<B> {
    match index {
        Some(index) => index,
        None => unreachable!("deep queues have an index"),
    }
}
