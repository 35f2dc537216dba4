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
//!
//! The only call of a step in the common case is a tail call, so that it saves hardly a register. Nor does it return a
//! constant if there are no finders, which never happens: the constant would occupy a register from the start.

mod messages;
mod receives;

use super::super::Indexed;
use super::super::finders::{Finders, new_finders};
use crate::pattern::{BitsOf, Pattern};

impl<P: Pattern, R, M> Indexed<P, R, M> {
    #[inline(always)]
    fn finders(&mut self) -> &mut Finders<BitsOf<P>> {
        let (seed, limit) = (self.hash_seed, self.scan_limit);
        match &mut self.finders {
            Some(finders) => finders,
            none => new_finders(none, seed, limit),
        }
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
