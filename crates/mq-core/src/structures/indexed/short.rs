//! The searches of queues in their windows: scans in the short form, which go on with tables if the queue has them or
//! the scan gets long. They take out what they find.

use super::Indexed;
use super::key::{Key, key_of_receive};
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::meter::{Meter, Queue};
use crate::pattern::{BitsOf, Pattern, matches};
use crate::slab::{NIL, Sought, TOO_FAR};

/// A search with wildcards may visit this many times as many messages: a class needs its own table.
const TIMES_FOR_WILDCARDS: u32 = 3;

/// How a search of queues in their windows has ended.
pub(super) enum Windowed<E> {
    /// At this entry, which has been taken out.
    Found(E),
    /// There is none.
    Nothing,
    /// The queues are deep.
    Away,
}

impl<P: Pattern, R, M> Indexed<P, R, M> {
    // The first entry of a short queue is looked at before anything else: it nearly always matches. Whether
    // its slot is valid is checked once, for the bounds of the storage and for the other forms.

    /// Searches the window of messages.
    #[inline(always)]
    pub(super) fn take_message_in_window(
        &mut self,
        pattern: &P,
        meter: &mut impl Meter,
    ) -> Windowed<(P::Envelope, M)> {
        if self.unexpected.is_empty() {
            meter.visited(Queue::Unexpected, 0);
            return Windowed::Nothing;
        }
        let first = self.unexpected.first();
        let sought = match self.slabs.unexpected.near_entry_mut(first) {
            Some(entry) => {
                if matches(pattern, &entry.key) {
                    meter.visited(Queue::Unexpected, 1);
                    let found = entry.take();
                    self.unexpected.drop_first(&self.slabs.unexpected);
                    return Windowed::Found(found);
                }
                if self.unexpected.ends_with(first) {
                    meter.visited(Queue::Unexpected, 1);
                    return Windowed::Nothing;
                }
                // By value: a reference would have the whole pattern written to memory.
                let key = key_of_receive(pattern);
                let sought = self.find_message_behind(key.context, key.bits, key.care);
                match sought.slot {
                    NIL => sought,
                    TOO_FAR => self.table_and_take_message(key.context, key.bits, key.care),
                    slot => {
                        let messages = &self.slabs.unexpected;
                        self.unexpected.drop_behind_first(messages, slot);
                        sought
                    }
                }
            }
            None if self.unexpected.is_away() => {
                meter.visited(Queue::Unexpected, 0);
                return Windowed::Away;
            }
            None => self.take_message_tabled(key_of_receive(pattern)).into(),
        };
        meter.visited(Queue::Unexpected, sought.visited);
        match sought.slot {
            NIL => Windowed::Nothing,
            slot => Windowed::Found(self.slabs.unexpected.take_near(slot)),
        }
    }

    // Entries after the first are searched in a function whose only call is a tail call, so that it
    // saves hardly a register.

    /// The search behind the first message.
    #[inline(never)]
    fn find_message_behind(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        care: BitsOf<P>,
    ) -> Sought {
        if care != BitsOf::<P>::ALL {
            return self.find_any_message_behind(context, bits, care);
        }
        let limit = u32::from(self.scan_limit);
        let is = |e: &P::Envelope| e.bits() == bits && e.context() == context;
        let messages = &self.slabs.unexpected;
        match self.unexpected.find_without_holes(messages, limit, is) {
            Some(sought) => sought,
            None => self.find_message_between_holes(context, bits),
        }
    }

    /// The search behind the first message, where entries have left from the middle.
    #[inline(never)]
    fn find_message_between_holes(&mut self, context: ContextId, bits: BitsOf<P>) -> Sought {
        let limit = u32::from(self.scan_limit);
        let is = |e: &P::Envelope| e.bits() == bits && e.context() == context;
        let messages = &mut self.slabs.unexpected;
        self.unexpected.find_behind_first(messages, limit, is)
    }

    /// The search behind the first message, for a receive with a wildcard.
    #[inline(never)]
    fn find_any_message_behind(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        care: BitsOf<P>,
    ) -> Sought {
        let key = Key {
            context,
            bits,
            care,
        };
        let limit = self.limit_for(care);
        let messages = &mut self.slabs.unexpected;
        let admits = |e: &P::Envelope| key.admits(e);
        match self.unexpected.find_without_holes(messages, limit, admits) {
            Some(sought) => sought,
            None => self.unexpected.find_behind_first(messages, limit, admits),
        }
    }

    /// The search for a message has gone too far: goes on with tables.
    #[cold]
    #[inline(never)]
    fn table_and_take_message(
        &mut self,
        context: ContextId,
        bits: BitsOf<P>,
        care: BitsOf<P>,
    ) -> Sought {
        let key = Key {
            context,
            bits,
            care,
        };
        let passed = self.limit_for(care);
        let from = self.unexpected.slot_behind(passed);
        self.table_messages();
        let sought = match care == BitsOf::<P>::ALL {
            true => self.take_message_tabled(key),
            false => self.take_any_message_among(key, from),
        };
        farther(sought.into(), passed)
    }

    /// Messages that a receive may be compared with.
    #[inline(always)]
    pub(super) fn limit_for(&self, care: BitsOf<P>) -> u32 {
        let limit = u32::from(self.scan_limit);
        if care == BitsOf::<P>::ALL {
            limit
        } else {
            TIMES_FOR_WILDCARDS * limit
        }
    }

    /// Searches the window of receives.
    #[inline(always)]
    pub(super) fn take_receive_in_window(
        &mut self,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> Windowed<(P, R)> {
        if self.posted.is_empty() {
            meter.visited(Queue::Posted, 0);
            return Windowed::Nothing;
        }
        let first = self.posted.first();
        let sought = match self.slabs.posted.near_entry_mut(first) {
            Some(entry) => {
                if matches(&entry.key, envelope) {
                    meter.visited(Queue::Posted, 1);
                    let found = entry.take();
                    self.posted.drop_first(&self.slabs.posted);
                    return Windowed::Found(found);
                }
                if self.posted.ends_with(first) {
                    meter.visited(Queue::Posted, 1);
                    return Windowed::Nothing;
                }
                let sought = self.find_receive_behind(*envelope);
                match sought.slot {
                    NIL => sought,
                    TOO_FAR => self.table_and_take_receive(*envelope),
                    slot => {
                        self.posted.drop_behind_first(&self.slabs.posted, slot);
                        sought
                    }
                }
            }
            None if self.posted.is_away() => {
                meter.visited(Queue::Posted, 0);
                return Windowed::Away;
            }
            None => self.take_receive_tabled(*envelope).into(),
        };
        meter.visited(Queue::Posted, sought.visited);
        match sought.slot {
            NIL => Windowed::Nothing,
            slot => Windowed::Found(self.slabs.posted.take_near(slot)),
        }
    }

    /// The search behind the first receive.
    #[inline(never)]
    fn find_receive_behind(&mut self, envelope: P::Envelope) -> Sought {
        let limit = u32::from(self.scan_limit);
        let receives = &self.slabs.posted;
        match self
            .posted
            .find_without_holes(receives, limit, |p| matches(p, &envelope))
        {
            Some(sought) => sought,
            None => self.find_receive_between_holes(envelope),
        }
    }

    /// The search behind the first receive, where entries have left from the middle.
    #[inline(never)]
    fn find_receive_between_holes(&mut self, envelope: P::Envelope) -> Sought {
        let limit = u32::from(self.scan_limit);
        let receives = &mut self.slabs.posted;
        self.posted
            .find_behind_first(receives, limit, |p| matches(p, &envelope))
    }

    /// The search for a receive has gone too far: goes on with tables.
    #[cold]
    #[inline(never)]
    fn table_and_take_receive(&mut self, envelope: P::Envelope) -> Sought {
        self.table_receives();
        let sought = self.take_receive_tabled(envelope);
        farther(sought.into(), self.scan_limit.into())
    }
}

/// A search that has passed this many entries before it began.
pub(super) const fn farther(sought: Sought, passed: u32) -> Sought {
    Sought {
        slot: sought.slot,
        visited: sought.visited + passed,
    }
}
