//! The steps of a message in the deep form.

use super::super::Indexed;
use super::super::finders::{deep, index_in, without_finders};
use super::super::key::Key;
use super::index::{Quick, Wildcards};
use super::nodes::{AGAIN, Slot, posted, slot_of, unexpected};
use crate::envelope::{ContextId, Envelope};
use crate::meter::{Meter, Queue};
use crate::pattern::{BitsOf, Pattern};
use crate::slab::NIL;

impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// The step of a message; [`AGAIN`] if it is one for [`arrive_rarely`](Self::arrive_rarely).
    ///
    /// As [`post_exact_deep`](Self::post_exact_deep) it saves hardly a register.
    #[inline(never)]
    pub(in crate::structures::indexed) fn search_for_message(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        debug_assert!(deep(&mut self.finders).knows_its_deviations());
        match index_in(&mut self.finders) {
            Some(index) if index.is_near() => self.arrive_exact(context, bits, meter),
            Some(index) if index.has_logs() => self.arrive_logged(context, bits, meter),
            Some(index) if index.is_plain() => self.arrive_wide(context, bits, meter),
            _ => self.arrive_special(context, bits, meter),
        }
    }

    /// The step of a message that has nothing to look at but the table.
    #[inline(always)]
    fn arrive_exact(&mut self, context: ContextId, bits: BitsOf<P>, meter: &mut impl Meter) -> u32 {
        let key = Key::exact(context, bits);
        let Some(index) = index_in(&mut self.finders) else {
            return without_finders(AGAIN);
        };
        let likely = index.likely_bucket(key);
        let (quick, low) = (
            index.arrive_quick(&mut self.slabs, key, likely),
            index.low(),
        );
        self.after_quick_arrival(quick, low, (context, bits, likely), meter)
    }

    /// [`arrive_exact`](Self::arrive_exact), out of line for rare callers.
    #[inline(never)]
    fn arrive_exact_apart(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        self.arrive_exact(context, bits, meter)
    }

    /// [`arrive_exact`](Self::arrive_exact) where buckets are far. Without calls.
    #[inline(never)]
    pub(super) fn arrive_wide(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let key = Key::exact(context, bits);
        let Some(index) = index_in(&mut self.finders) else {
            return without_finders(AGAIN);
        };
        let likely = index.likely_bucket(key);
        let quick = index.arrive_wide(&mut self.slabs, key, index.bucket_of(likely));
        let low = index.low();
        self.after_quick_arrival(quick, low, (context, bits, likely), meter)
    }

    /// The end of a quick step, or what it has left to slower ones. The queues are to be looked at if
    /// no more than `low` receives are left.
    #[inline(always)]
    fn after_quick_arrival(
        &mut self,
        quick: Quick,
        low: u32,
        (context, bits, likely): (ContextId, BitsOf<P>, u32),
        meter: &mut impl Meter,
    ) -> u32 {
        match quick {
            Quick::Queued(node) => {
                meter.visited(Queue::Posted, 0);
                node
            }
            Quick::Found(node) => {
                meter.visited(Queue::Posted, 1);
                if self.slabs.posted.len() <= low {
                    return self.before_removal(node);
                }
                node
            }
            Quick::Several => self.arrive_several(context, bits, likely, meter),
            Quick::Beside => self.arrive_beside(context, bits, likely, meter),
        }
    }

    /// The step of a message for which several receives with its key are posted.
    #[inline(never)]
    fn arrive_several(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        likely: u32,
        meter: &mut impl Meter,
    ) -> u32 {
        let node = deep(&mut self.finders).take_receive_of_several(&mut self.slabs, likely);
        if node == AGAIN {
            return self.arrive_beside(context, bits, likely, meter);
        }
        meter.visited(Queue::Posted, 1);
        self.before_removal(node)
    }

    /// The step of a message in whose bucket other keys are, or several entries with its own.
    #[inline(never)]
    fn arrive_beside(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        likely: u32,
        meter: &mut impl Meter,
    ) -> u32 {
        let key = Key::exact(context, bits);
        let node = deep(&mut self.finders).arrive_beside(&mut self.slabs, key, likely);
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

    /// A step of a message while there is more to look at than the table, if it is only wildcards
    /// and views; otherwise [`AGAIN`].
    #[inline(never)]
    fn arrive_special(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let index = deep(&mut self.finders);
        if !index.has_only_wildcards() {
            return AGAIN;
        }
        if let Some(first) = index.marked_class(context, bits) {
            return self.arrive_marked(context, bits, first, meter);
        }
        match (index.has_views(), index.is_wide()) {
            (true, _) => self.arrive_in_views(context, bits, meter),
            (false, true) => self.arrive_wide(context, bits, meter),
            (false, false) => self.arrive_exact(context, bits, meter),
        }
    }

    /// The step of a message that no receive with a wildcard takes, while messages are indexed for some.
    #[inline(never)]
    fn arrive_in_views(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let node = match deep(&mut self.finders).is_wide() {
            true => self.arrive_wide(context, bits, meter),
            false => self.arrive_exact_apart(context, bits, meter),
        };
        if let Slot::Unexpected(slot) = slot_of(node) {
            let key = Key::exact(context, bits);
            deep(&mut self.finders).link_in_views(&self.slabs, slot, key);
        }
        node
    }

    /// The step of a message for which there may be receives with wildcards, the first of this class, in
    /// this bucket.
    #[inline(never)]
    fn arrive_marked(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        first: (usize, u32),
        meter: &mut impl Meter,
    ) -> u32 {
        let index = deep(&mut self.finders);
        match index.wildcards_for(&self.slabs, context, bits, first) {
            Wildcards::None if !index.has_views() => {
                return match index.is_wide() {
                    true => self.arrive_wide(context, bits, meter),
                    false => self.arrive_exact_apart(context, bits, meter),
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
                if node != AGAIN {
                    meter.visited(Queue::Posted, visited);
                    return self.before_removal(node);
                }
            }
            _ => {}
        }
        self.arrive_among_wildcards(context, bits, meter)
    }

    /// The step of a message, whatever receives with wildcards there are for it, or views.
    #[inline(never)]
    fn arrive_among_wildcards(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let index = deep(&mut self.finders);
        let node = index.arrive_among_wildcards(&mut self.slabs, context, bits, meter);
        if let Slot::Posted(_) = slot_of(node) {
            return self.before_removal(node);
        }
        node
    }

    /// The step of a message for which no slot is free, or that needs more than the quick paths. It ends
    /// at a node.
    #[cold]
    #[inline(never)]
    pub(in crate::structures::indexed) fn arrive_rarely(
        &mut self,
        envelope: P::Envelope,
        meter: &mut impl Meter,
    ) -> u32 {
        if !deep(&mut self.finders).is_plain() {
            return self.arrive_in_any_state(envelope, meter);
        }
        self.make_room_for_message(envelope);
        self.arrive_whole(envelope.context(), envelope.bits(), meter)
    }

    /// The step of a message that has nothing to look at but the table, whatever is in its bucket.
    #[inline(never)]
    fn arrive_whole(&mut self, context: ContextId, bits: BitsOf<P>, meter: &mut impl Meter) -> u32 {
        let key = Key::exact(context, bits);
        let node = deep(&mut self.finders).arrive_whole(&mut self.slabs, key, meter);
        if let Slot::Posted(_) = slot_of(node) {
            return self.before_removal(node);
        }
        node
    }

    /// A step of a message, in any state of the index. It ends at a node.
    #[inline(never)]
    fn arrive_in_any_state(&mut self, envelope: P::Envelope, meter: &mut impl Meter) -> u32 {
        self.ensure_room_for_message(envelope);
        let slot = self.unlink_receive_deep(&envelope, meter);
        if slot != NIL {
            return posted(slot);
        }
        // Room is made before the search, since that moves keys, and the newcomer is linked where the search has ended;
        // unless a log has ended with it, and no slot is free.
        if let Some(slot) = self.reserve_for_any_message() {
            self.slabs.unexpected.set_key(slot, envelope);
            deep(&mut self.finders).link_message(&mut self.slabs, slot);
            return unexpected(slot);
        }
        self.make_room_for_message(envelope);
        let slot = self.reserve_for_any_message().expect("there is room");
        self.slabs.unexpected.set_key(slot, envelope);
        deep(&mut self.finders).link_unexpected(&mut self.slabs, slot);
        unexpected(slot)
    }
}
