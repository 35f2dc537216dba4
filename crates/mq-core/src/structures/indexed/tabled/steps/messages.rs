//! Steps of receives: what takes a message.

use core::hint::black_box;

use crate::envelope::{ContextId, MatchBits};
use crate::pattern::{BitsOf, Pattern};
use crate::slab::NIL;
use crate::structures::indexed::Indexed;
use crate::structures::indexed::finders::without_finders;
use crate::structures::indexed::key::Key;
use crate::structures::indexed::tabled::answer::Answer;
use crate::structures::indexed::tabled::{NOT_LINKED, OTHERWISE};

impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// Searches of messages have become long: from now on they are found by key.
    #[cold]
    #[inline(never)]
    pub(in crate::structures::indexed) fn table_messages(&mut self) {
        let first = self.unexpected.begin_tables();
        self.finders().tables.messages.start_at(first);
    }

    /// Takes the message for a receive.
    #[inline(always)]
    pub(in crate::structures::indexed) fn take_message_tabled(
        &mut self,
        key: Key<BitsOf<P>>,
    ) -> Answer {
        match key.care == BitsOf::<P>::ALL {
            true => self.take_message_exact_tabled(key.context, key.bits),
            false => self.take_any_message_tabled(key),
        }
    }

    /// Takes the message for a fully specified receive.
    #[inline(never)]
    fn take_message_exact_tabled(&mut self, context: ContextId, bits: BitsOf<P>) -> Answer {
        let Some(finders) = &mut self.finders else {
            return self.take_message_among(context, bits);
        };
        let messages = &mut finders.tables.messages;
        if !messages.are_plain(&self.unexpected) {
            return self.take_message_specially(context, bits);
        }
        let near = self.slabs.unexpected.near_entries();
        match messages.take_first::<false, _>(near, &mut self.unexpected, context, bits) {
            NIL => Answer::NOTHING,
            NOT_LINKED => self.take_pending_message(context, bits),
            OTHERWISE => self.take_message_among(context, bits),
            slot => self.after_taking_message(Answer::first(slot)),
        }
    }

    /// Takes the message for a fully specified receive, beside views, or where many have come since the
    /// last search.
    #[inline(never)]
    fn take_message_specially(&mut self, context: ContextId, bits: BitsOf<P>) -> Answer {
        let Some(finders) = &mut self.finders else {
            return without_finders(Answer::NOTHING);
        };
        let messages = &mut finders.tables.messages;
        if messages.are_behind(&self.unexpected) {
            return self.link_messages_and_take(context, bits);
        }
        let near = self.slabs.unexpected.near_entries();
        match messages.take_first::<true, _>(near, &mut self.unexpected, context, bits) {
            NIL => Answer::NOTHING,
            NOT_LINKED => self.take_message_of_pending(context, bits),
            OTHERWISE => self.take_message_among(context, bits),
            slot => self.after_taking_message(Answer::first(slot)),
        }
    }

    /// Takes the message for a fully specified receive, where many have come since the last search.
    #[inline(never)]
    fn link_messages_and_take(&mut self, context: ContextId, bits: BitsOf<P>) -> Answer {
        if let Some(finders) = &mut self.finders {
            let near = self.slabs.unexpected.near_entries_mut();
            finders.tables.messages.link(near, &self.unexpected);
        }
        self.take_message_exact_tabled(context, bits)
    }

    /// Takes the message for a fully specified receive, where it can only be one that is not linked: mostly
    /// one has just come, and is the one.
    #[inline(never)]
    fn take_pending_message(&mut self, context: ContextId, bits: BitsOf<P>) -> Answer {
        let Some(finders) = &self.finders else {
            return self.take_message_of_pending(context, bits);
        };
        let near = self.slabs.unexpected.near_entries();
        let messages = &finders.tables.messages;
        match messages.take_only_pending(near, &mut self.unexpected, context, bits) {
            None => self.take_message_of_pending(context, bits),
            Some(slot) => self.after_taking_message(Answer::first(slot)),
        }
    }

    /// Takes the message for a fully specified receive, where several are not linked, or the only one is for
    /// other receives.
    #[inline(never)]
    fn take_message_of_pending(&mut self, context: ContextId, bits: BitsOf<P>) -> Answer {
        let Some(finders) = &mut self.finders else {
            return without_finders(Answer::NOTHING);
        };
        let near = self.slabs.unexpected.near_entries();
        let messages = &mut finders.tables.messages;
        let found = messages.take_pending(near, &mut self.unexpected, context, bits);
        self.after_taking_message(found.into())
    }

    /// Takes the message for a fully specified receive, where it may be any message of its bucket, or one
    /// that is not linked.
    #[inline(never)]
    fn take_message_among(&mut self, context: ContextId, bits: BitsOf<P>) -> Answer {
        let Some(finders) = &mut self.finders else {
            return without_finders(Answer::NOTHING);
        };
        let near = self.slabs.unexpected.near_entries_mut();
        let messages = &mut finders.tables.messages;
        if messages.are_worn_out() {
            messages.link(near, &self.unexpected);
        }
        let found = messages.find(near, &self.unexpected, context, bits);
        if found.slot != NIL {
            self.drop_message_tabled(found.slot);
        }
        found.into()
    }

    /// Takes the message for a receive with a wildcard.
    #[inline(never)]
    fn take_any_message_tabled(&mut self, key: Key<BitsOf<P>>) -> Answer {
        let Some(finders) = &mut self.finders else {
            return self.take_any_message_among(key, 0);
        };
        let near = self.slabs.unexpected.near_entries();
        let messages = &mut finders.tables.messages;
        match messages.take_first_viewed(near, &mut self.unexpected, key) {
            OTHERWISE => self.take_any_message_among(key, 0),
            slot => self.after_taking_message(Answer::first(slot)),
        }
    }

    /// Takes the message for a receive with a wildcard, where it may be any; it is in no slot before `from`.
    #[inline(never)]
    pub(in crate::structures::indexed) fn take_any_message_among(
        &mut self,
        key: Key<BitsOf<P>>,
        from: u32,
    ) -> Answer {
        let Some(finders) = &mut self.finders else {
            return without_finders(Answer::NOTHING);
        };
        let near = self.slabs.unexpected.near_entries();
        let messages = &mut finders.tables.messages;
        let found = messages.find_any(near, &self.unexpected, key, from, true);
        if found.slot != NIL {
            self.drop_message_tabled(found.slot);
        }
        found.into()
    }

    /// The end of a search for a message.
    #[inline(always)]
    fn after_taking_message(&mut self, found: Answer) -> Answer {
        match self.unexpected.has_drained() {
            true => self.last_message(found),
            false => found,
        }
    }

    /// The message that leaves is the last: as [`last_receive`](Self::last_receive).
    #[cold]
    #[inline(never)]
    fn last_message(&mut self, found: Answer) -> Answer {
        self.unexpected.restart();
        self.finders().tables.messages.rest();
        black_box(found)
    }

    /// The message in a slot leaves: takes it off the chain of its key and out of the window.
    pub(in crate::structures::indexed) fn drop_message_tabled(&mut self, slot: u32) {
        if let Some(finders) = &mut self.finders {
            let near = self.slabs.unexpected.near_entries_mut();
            let messages = &mut finders.tables.messages;
            messages.drop_slot(near, &mut self.unexpected, slot);
            if self.unexpected.has_drained() {
                self.last_message(Answer::NOTHING);
            }
        }
    }

    /// The slot of the message for a receive, which stays. One with a wildcard is in no slot before
    /// `from`.
    pub(in crate::structures::indexed) fn peek_message_tabled(
        &mut self,
        key: Key<BitsOf<P>>,
        from: u32,
    ) -> Answer {
        let Some(finders) = &mut self.finders else {
            return without_finders(Answer::NOTHING);
        };
        let messages = &mut finders.tables.messages;
        if key.care != BitsOf::<P>::ALL {
            let near = self.slabs.unexpected.near_entries();
            let found = messages.find_any(near, &self.unexpected, key, from, false);
            return found.into();
        }
        let near = self.slabs.unexpected.near_entries_mut();
        if messages.are_behind(&self.unexpected) || messages.are_worn_out() {
            messages.link(near, &self.unexpected);
        }
        messages
            .find(near, &self.unexpected, key.context, key.bits)
            .into()
    }

    /// A few messages are left in a tabled window: they can be scanned instead.
    #[cold]
    pub(in crate::structures::indexed) fn untable_messages(&mut self) {
        self.unexpected.end_tables(&self.slabs.unexpected);
        self.finders().tables.messages.forget_links(0);
    }

    /// No message is in a slot of a tabled window before this.
    pub(in crate::structures::indexed) fn first_message(&self) -> u32 {
        let finders = self.finders.as_ref();
        finders.map_or(0, |finders| finders.tables.messages.first())
    }
}
