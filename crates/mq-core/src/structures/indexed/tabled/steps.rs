//! Searches of queues that have [tables](super). Those of steps take the found entry off its
//! chain and out of the window; it stays in storage.
//!
//! A step begins in the shortest way, and what that does not decide is left to a longer one. On the left are functions,
//! on the right is where each goes on; what has no line has found an entry, or that there is none.
//!
//! ```text
//! take_receive_tabled          only a newcomer can be it                take_pending_receive
//!                              any receive of the bucket, or newcomer   take_receive_among
//!                              many newcomers, or linked wildcards      take_receive_specially
//!   take_pending_receive       several newcomers, or not the one        take_receive_of_pending
//!   take_receive_specially     many newcomers: links them               take_receive_tabled
//!                              one class, its first may be earlier      take_wildcard
//!                              otherwise                                take_receive_of_classes
//!   take_wildcard              that does not take the message           take_receive_among
//!   take_receive_of_classes    one is not first in its bucket, or none  take_receive_among
//!
//! take_message_tabled          fully specified                          take_message_exact_tabled
//!                              with a wildcard                          take_any_message_tabled
//!   take_message_exact_tabled  only a newcomer can be it                take_pending_message
//!                              any message of the bucket, or newcomer   take_message_among
//!                              many newcomers, or views                 take_message_specially
//!   take_pending_message       several newcomers, or not the one        take_message_of_pending
//!   take_message_specially     many newcomers: links them               take_message_exact_tabled
//!                              only a newcomer can be it                take_message_of_pending
//!                              any message of the bucket, or newcomer   take_message_among
//!   take_any_message_tabled    not the first in its view's bucket       take_any_message_among
//! ```
//!
//! What goes back to the top does so once: no entry is a newcomer any more.

use core::hint::black_box;

use super::super::Indexed;
use super::super::finders::{Finders, new_finders, without_finders};
use super::super::key::Key;
use super::answer::Answer;
use super::receives::WILDCARD_FIRST;
use super::{NOT_LINKED, OTHERWISE};
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::pattern::{BitsOf, Pattern};
use crate::slab::NIL;

impl<P: Pattern, R, M> Indexed<P, R, M> {
    #[inline(always)]
    fn finders(&mut self) -> &mut Finders<BitsOf<P>> {
        let (seed, limit) = (self.hash_seed, self.scan_limit);
        match &mut self.finders {
            Some(finders) => finders,
            none => new_finders(none, seed, limit),
        }
    }

    /// Searches of receives have become long: from now on they are found by key.
    #[cold]
    #[inline(never)]
    pub(in crate::structures::indexed) fn table_receives(&mut self) {
        let first = self.posted.begin_tables();
        self.finders().tables.receives.start_at(first);
    }

    /// Searches of messages have become long: from now on they are found by key.
    #[cold]
    #[inline(never)]
    pub(in crate::structures::indexed) fn table_messages(&mut self) {
        let first = self.unexpected.begin_tables();
        self.finders().tables.messages.start_at(first);
    }

    // The only call in the common case is a tail call, so that it saves hardly a register. Nor does it
    // return a constant if there are no finders, which never happens: the constant would occupy a
    // register from the start.

    /// Takes the receive for a message.
    #[inline(never)]
    pub(in crate::structures::indexed) fn take_receive_tabled(
        &mut self,
        envelope: P::Envelope,
    ) -> Answer {
        let Some(finders) = &mut self.finders else {
            return self.take_receive_among(envelope);
        };
        let receives = &mut finders.tables.receives;
        if !receives.are_plain(&self.posted) {
            return self.take_receive_specially(envelope);
        }
        let near = self.slabs.posted.near_entries();
        let (context, bits) = (envelope.context(), envelope.bits());
        match receives.take_first(near, &mut self.posted, context, bits) {
            NIL => Answer::NOTHING,
            NOT_LINKED => self.take_pending_receive(envelope),
            OTHERWISE => self.take_receive_among(envelope),
            slot => self.after_taking_receive(Answer::first(slot)),
        }
    }

    /// Takes the receive for a message, where it can only be one that is not linked: mostly one has just come,
    /// and is the one.
    #[inline(never)]
    fn take_pending_receive(&mut self, envelope: P::Envelope) -> Answer {
        let Some(finders) = &self.finders else {
            return self.take_receive_of_pending(envelope);
        };
        let near = self.slabs.posted.near_entries();
        let (context, bits) = (envelope.context(), envelope.bits());
        let receives = &finders.tables.receives;
        match receives.take_only_pending(near, &mut self.posted, context, bits) {
            None => self.take_receive_of_pending(envelope),
            Some(slot) => self.after_taking_receive(Answer::first(slot)),
        }
    }

    /// Takes the receive for a message, where several are not linked, or the only one takes other messages.
    #[inline(never)]
    fn take_receive_of_pending(&mut self, envelope: P::Envelope) -> Answer {
        let Some(finders) = &self.finders else {
            return without_finders(Answer::NOTHING);
        };
        let near = self.slabs.posted.near_entries();
        let receives = &finders.tables.receives;
        let found = receives.take_pending(near, &mut self.posted, &envelope);
        self.after_taking_receive(found.into())
    }

    /// Takes the receive for a message, where some have wildcards, or many have come since the last search.
    #[inline(never)]
    fn take_receive_specially(&mut self, envelope: P::Envelope) -> Answer {
        let Some(finders) = &mut self.finders else {
            return without_finders(Answer::NOTHING);
        };
        let receives = &mut finders.tables.receives;
        if receives.are_behind(&self.posted) {
            return self.link_receives_and_take(envelope);
        }
        let near = self.slabs.posted.near_entries();
        let (context, bits) = (envelope.context(), envelope.bits());
        let found = receives.take_first_before_wildcards(near, &mut self.posted, context, bits);
        match found.slot {
            WILDCARD_FIRST => self.take_wildcard(envelope, found.visited),
            OTHERWISE => self.take_receive_of_classes(envelope),
            _ => self.after_taking_receive(found.into()),
        }
    }

    /// Takes the receive for a message, where it may be one with a wildcard, of the only class; so many were
    /// compared before.
    #[inline(never)]
    fn take_wildcard(&mut self, envelope: P::Envelope, visited: u32) -> Answer {
        let Some(finders) = &mut self.finders else {
            return without_finders(Answer::NOTHING);
        };
        let near = self.slabs.posted.near_entries();
        let receives = &mut finders.tables.receives;
        let (context, bits) = (envelope.context(), envelope.bits());
        match receives.take_first_wildcard(near, &mut self.posted, context, bits) {
            OTHERWISE => self.take_receive_among(envelope),
            slot => {
                let visited = visited + 1;
                self.after_taking_receive(Answer::new(slot, visited))
            }
        }
    }

    /// Takes the receive for a message, where it may be one with a wildcard of any class, or any receive of its
    /// bucket.
    #[inline(never)]
    fn take_receive_of_classes(&mut self, envelope: P::Envelope) -> Answer {
        let Some(finders) = &mut self.finders else {
            return without_finders(Answer::NOTHING);
        };
        let near = self.slabs.posted.near_entries();
        let receives = &mut finders.tables.receives;
        let (context, bits) = (envelope.context(), envelope.bits());
        let found = receives.take_first_of_all(near, &mut self.posted, context, bits);
        if found.slot == OTHERWISE {
            return self.take_receive_among(envelope);
        }
        self.after_taking_receive(found.into())
    }

    /// Takes the receive for a message, where many have come since the last search.
    #[inline(never)]
    fn link_receives_and_take(&mut self, envelope: P::Envelope) -> Answer {
        if let Some(finders) = &mut self.finders {
            let near = self.slabs.posted.near_entries_mut();
            finders.tables.receives.link(near, &self.posted);
        }
        self.take_receive_tabled(envelope)
    }

    /// Takes the receive for a message, where it may be any receive of its bucket, or one with a wildcard, or
    /// one that is not linked.
    #[inline(never)]
    fn take_receive_among(&mut self, envelope: P::Envelope) -> Answer {
        let Some(finders) = &mut self.finders else {
            return without_finders(Answer::NOTHING);
        };
        let near = self.slabs.posted.near_entries_mut();
        let receives = &mut finders.tables.receives;
        if receives.are_worn_out() {
            receives.link(near, &self.posted);
        }
        let found = receives.take(near, &mut self.posted, &envelope);
        self.after_taking_receive(found.into())
    }

    /// The end of a search for a receive.
    #[inline(always)]
    fn after_taking_receive(&mut self, found: Answer) -> Answer {
        match self.posted.has_drained() {
            true => self.last_receive(found),
            false => found,
        }
    }

    /// The receive that leaves is the last: the queue is short again. The answer is returned through a
    /// `black_box`: if the compiler knew that it is the argument, the caller would save it across this
    /// call instead of making a tail call.
    #[cold]
    #[inline(never)]
    fn last_receive(&mut self, found: Answer) -> Answer {
        self.posted.restart();
        self.finders().tables.receives.rest();
        black_box(found)
    }

    /// The receive in a slot leaves: takes it off its chain and out of the window.
    pub(in crate::structures::indexed) fn drop_receive_tabled(&mut self, slot: u32) {
        if let Some(finders) = &mut self.finders {
            let near = self.slabs.posted.near_entries_mut();
            let receives = &mut finders.tables.receives;
            receives.drop_slot(near, &mut self.posted, slot);
            if self.posted.has_drained() {
                self.last_receive(Answer::NOTHING);
            }
        }
    }

    /// The slot of the receive for a message, which stays.
    pub(in crate::structures::indexed) fn peek_receive_tabled(
        &mut self,
        envelope: &P::Envelope,
    ) -> Answer {
        let Some(finders) = &mut self.finders else {
            return without_finders(Answer::NOTHING);
        };
        let receives = &mut finders.tables.receives;
        let near = self.slabs.posted.near_entries_mut();
        if receives.are_behind(&self.posted) || receives.are_worn_out() {
            receives.link(near, &self.posted);
        }
        receives.find(near, &self.posted, envelope).into()
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

    /// A few receives are left in a tabled window: they can be scanned instead.
    #[cold]
    pub(in crate::structures::indexed) fn untable_receives(&mut self) {
        self.posted.end_tables(&self.slabs.posted);
        self.finders().tables.receives.forget_links(0);
    }

    /// A few messages are left in a tabled window: they can be scanned instead.
    #[cold]
    pub(in crate::structures::indexed) fn untable_messages(&mut self) {
        self.unexpected.end_tables(&self.slabs.unexpected);
        self.finders().tables.messages.forget_links(0);
    }

    /// No receive is in a slot of a tabled window before this.
    pub(in crate::structures::indexed) fn first_receive(&self) -> u32 {
        let finders = self.finders.as_ref();
        finders.map_or(0, |finders| finders.tables.receives.first())
    }

    /// No message is in a slot of a tabled window before this.
    pub(in crate::structures::indexed) fn first_message(&self) -> u32 {
        let finders = self.finders.as_ref();
        finders.map_or(0, |finders| finders.tables.messages.first())
    }

    /// The queues are to leave their windows: gives up the tables, and passes on what they learned about
    /// wildcards that search for messages. Then there is an index, if only an empty one.
    pub(in crate::structures::indexed) fn end_tables(&mut self) {
        if self.posted.is_tabled() {
            self.posted.end_tables(&self.slabs.posted);
        }
        if self.unexpected.is_tabled() {
            self.unexpected.end_tables(&self.slabs.unexpected);
        }
        let finders = self.finders();
        for care in finders.tables.messages.forget_masks() {
            finders.index.expect_searches_by(care);
        }
        finders.tables.release();
    }
}
