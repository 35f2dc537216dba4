//! The steps of a receive in the deep form.

use super::super::Indexed;
use super::super::finders::{deep, index_in, without_finders};
use super::super::key::{Key, key_of_receive};
use super::index::Quick;
use super::nodes::{AGAIN, Slot, posted, slot_in, slot_of, unexpected};
use crate::envelope::{ContextId, MatchBits};
use crate::meter::{Meter, Queue};
use crate::pattern::{BitsOf, Pattern};
use crate::slab::NIL;

impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// The step of a receive; [`AGAIN`] if it is one for [`post_rarely`](Self::post_rarely).
    #[inline(always)]
    pub(in crate::structures::indexed) fn search_for_receive(
        &mut self,
        pattern: &P,
        meter: &mut impl Meter,
    ) -> u32 {
        debug_assert!(deep(&mut self.finders).knows_its_deviations());
        let (context, bits) = (pattern.context(), pattern.bits());
        if pattern.care() != BitsOf::<P>::ALL {
            return self.post_in_any_state(*pattern, meter);
        }
        self.post_exact_deep(context, bits, meter)
    }

    /// A step of a fully specified receive; [`AGAIN`] if no slot is free, or not all entries are
    /// indexed.
    ///
    /// The only call in this function is a tail call, so it saves hardly a register. Entries that are not
    /// near are left to the next function, which gets the likely bucket.
    #[inline(never)]
    fn post_exact_deep(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        meter: &mut impl Meter,
    ) -> u32 {
        let key = Key::exact(context, bits);
        let Some(index) = index_in(&mut self.finders) else {
            return without_finders(AGAIN);
        };
        if !index.is_near_whatever_is_posted() {
            if index.has_logs() {
                return self.post_logged(context, bits, meter);
            }
            if index.is_plain_whatever_is_posted() {
                return self.post_wide(context, bits, meter);
            }
            return self.post_special(context, bits, meter);
        }
        let likely = index.likely_bucket(key);
        let (quick, low) = (index.post_quick(&mut self.slabs, key, likely), index.low());
        self.after_quick_post(quick, low, (context, bits, likely), meter)
    }

    /// [`post_exact_deep`](Self::post_exact_deep) where buckets are far. Without calls, likewise.
    #[inline(never)]
    pub(super) fn post_wide(
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
        let quick = index.post_wide(&mut self.slabs, key, index.bucket_of(likely));
        let low = index.low();
        self.after_quick_post(quick, low, (context, bits, likely), meter)
    }

    /// The end of a quick step, or what it has left to slower ones. The queues are to be looked at if
    /// no more than `low` messages are left.
    #[inline(always)]
    fn after_quick_post(
        &mut self,
        quick: Quick,
        low: u32,
        (context, bits, likely): (ContextId, BitsOf<P>, u32),
        meter: &mut impl Meter,
    ) -> u32 {
        match quick {
            Quick::Queued(node) => {
                meter.visited(Queue::Unexpected, 0);
                node
            }
            Quick::Found(node) => {
                meter.visited(Queue::Unexpected, 1);
                if self.slabs.unexpected.len() <= low {
                    return self.before_removal(node);
                }
                node
            }
            Quick::Several => self.post_several(context, bits, likely, meter),
            Quick::Beside => self.post_beside(context, bits, likely, meter),
        }
    }

    /// The step of a receive for which several messages with its key are queued.
    #[inline(never)]
    fn post_several(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        likely: u32,
        meter: &mut impl Meter,
    ) -> u32 {
        let node = deep(&mut self.finders).take_message_of_several(&mut self.slabs, likely);
        if node == AGAIN {
            return self.post_beside(context, bits, likely, meter);
        }
        meter.visited(Queue::Unexpected, 1);
        self.before_removal(node)
    }

    /// The step of a receive in whose bucket other keys are, or several entries with its own.
    #[inline(never)]
    fn post_beside(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        likely: u32,
        meter: &mut impl Meter,
    ) -> u32 {
        let key = Key::exact(context, bits);
        let node = deep(&mut self.finders).post_beside(&mut self.slabs, key, likely);
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

    /// A step of a fully specified receive while there is more to look at than the table; [`AGAIN`]
    /// if not all entries are indexed.
    #[inline(never)]
    fn post_special(&mut self, context: ContextId, bits: BitsOf<P>, meter: &mut impl Meter) -> u32 {
        let index = deep(&mut self.finders);
        if index.is_moving() {
            return AGAIN;
        }
        let key = Key::exact(context, bits);
        let likely = index.likely_bucket(key);
        let quick = match index.is_wide() {
            true => index.post_wide(&mut self.slabs, key, index.bucket_of(likely)),
            false => index.post_quick(&mut self.slabs, key, likely),
        };
        match quick {
            Quick::Found(node) => {
                index.unlink_from_views(&self.slabs, slot_in(node));
                meter.visited(Queue::Unexpected, 1);
                self.before_removal(node)
            }
            Quick::Queued(node) => {
                meter.visited(Queue::Unexpected, 0);
                node
            }
            Quick::Several | Quick::Beside => self.post_beside(context, bits, likely, meter),
        }
    }

    /// The step of a fully specified receive for which no slot is free, or while entries are being
    /// indexed. It ends at a node.
    #[cold]
    #[inline(never)]
    pub(in crate::structures::indexed) fn post_rarely(
        &mut self,
        pattern: P,
        meter: &mut impl Meter,
    ) -> u32 {
        let index = deep(&mut self.finders);
        if index.is_moving() || index.has_logs() {
            return self.post_in_any_state(pattern, meter);
        }
        self.make_room_for_receive(pattern);
        self.post_whole(pattern.context(), pattern.bits(), meter)
    }

    /// The step of a fully specified receive, whatever is in its bucket.
    #[inline(never)]
    fn post_whole(&mut self, context: ContextId, bits: BitsOf<P>, meter: &mut impl Meter) -> u32 {
        let key = Key::exact(context, bits);
        let node = deep(&mut self.finders).post_whole(&mut self.slabs, key, meter);
        if let Slot::Unexpected(_) = slot_of(node) {
            return self.before_removal(node);
        }
        node
    }

    /// A step of any receive, in any state of the index. It ends at a node.
    #[inline(never)]
    fn post_in_any_state(&mut self, pattern: P, meter: &mut impl Meter) -> u32 {
        let Key {
            context,
            bits,
            care,
        } = key_of_receive(&pattern);
        let slot = self.unlink_message_deep(context, bits, care, meter);
        if slot != NIL {
            return unexpected(slot);
        }
        // Not before the search, with which a log may end. A step that is repeated is taken for one without wildcards.
        self.ensure_room_for_receive(pattern);
        let slot = self.reserve_for_any_receive().expect("there is room");
        self.slabs.posted.set_key(slot, pattern);
        deep(&mut self.finders).link_posted(&mut self.slabs, slot);
        posted(slot)
    }
}
