//! Steps of messages: what takes a receive.

use core::hint::black_box;

use crate::envelope::Envelope;
use crate::pattern::Pattern;
use crate::slab::NIL;
use crate::structures::indexed::Indexed;
use crate::structures::indexed::finders::without_finders;
use crate::structures::indexed::tabled::answer::Answer;
use crate::structures::indexed::tabled::receives::WILDCARD_FIRST;
use crate::structures::indexed::tabled::{NOT_LINKED, OTHERWISE};

impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// Searches of receives have become long: from now on they are found by key.
    #[cold]
    #[inline(never)]
    pub(in crate::structures::indexed) fn table_receives(&mut self) {
        let first = self.posted.begin_tables();
        self.finders().tables.receives.start_at(first);
    }

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

    /// Takes the receive for a message, where it may be one with a wildcard, of the only class; `visited` were
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

    /// A few receives are left in a tabled window: they can be scanned instead.
    #[cold]
    pub(in crate::structures::indexed) fn untable_receives(&mut self) {
        self.posted.end_tables(&self.slabs.posted);
        self.finders().tables.receives.forget_links(0);
    }

    /// No receive is in a slot of a tabled window before this.
    pub(in crate::structures::indexed) fn first_receive(&self) -> u32 {
        let finders = self.finders.as_ref();
        finders.map_or(0, |finders| finders.tables.receives.first())
    }
}
