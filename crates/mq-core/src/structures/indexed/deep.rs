//! The deep form of `indexed`: its [index](index::Index), and steps [of receives](post) and [of messages](arrive), and
//! [halves](halves) of them.
//!
//! Each whole step returns the node where it ended: that of an unlinked entry of the searched queue, or
//! that of a slot of the other queue, reserved for the newcomer and linked, which the caller fills. So
//! only words pass between them.
//!
//! Buckets are added where storage adds slots, so that common steps count nothing. Steps that find two
//! other keys in their bucket check whether there are too many keys, since slots may have been those of
//! receives with wildcards, which need no bucket. A step that finds no free slot returns, and is repeated.
//!
//! A queue that is being filled has a [log](log) instead, with [steps of its own](logged).
//!
//! A step begins in the shortest way, and what that does not decide is left to a longer one. In these ladders the names
//! on the left are functions, and on the right is where each goes on; what has no line ends at a node, after a removal
//! perhaps with [few entries](turning). A bucket is *simple* if it is empty, holds one entry of the newcomer's queue
//! with another key, or begins with the only entry that the newcomer matches.
//!
//! ```text
//! search_for_receive      fully specified                                  post_exact_deep
//!                         with a wildcard                                  post_in_any_state
//!   post_exact_deep       there are logs                                   post_logged
//!                         several with its key                             post_several
//!                         not simple, far, or no slot                      post_beside
//!                         buckets are far                                  post_wide
//!                         views, or entries are being indexed              post_special
//!   post_logged           only to be appended, and no slot                 again
//!                         not found in a log, or one queue has none        post_beside_logs
//!   post_beside_logs      a log ends; the index asks for more; or no slot  again
//!                         receives are indexed                             post_wide
//!   post_wide             not simple, or no slot                           post_beside
//!   post_special          entries are being indexed                        again
//!                         not simple, or no slot                           post_beside
//!   post_several          the second is far, or of the other queue         post_beside
//!   post_beside           no slot                                          again
//! again: post_rarely      entries are being indexed, or there are logs     post_in_any_state
//!                         otherwise makes room                             post_whole
//!
//! search_for_message      nothing but the table, near                      arrive_exact
//!                         there are logs                                   arrive_logged
//!                         nothing but the table, far                       arrive_wide
//!                         otherwise                                        arrive_special
//!   arrive_logged         only to be appended, and no slot                 again
//!                         not found in a log, or one queue has none        arrive_beside_logs
//!   arrive_beside_logs    a log ends; the index asks for more; or no slot  again
//!                         messages are indexed                             arrive_wide
//!   arrive_exact          several with its key                             arrive_several
//!                         not simple, far, or no slot                      arrive_beside
//!   arrive_wide           not simple, or no slot                           arrive_beside
//!   arrive_special        entries are being indexed, or have no class      again
//!                         a bucket of a class is marked                    arrive_marked
//!                         no such bucket, and views                        arrive_in_views
//!                         no such bucket, and no views                     arrive_exact, arrive_wide
//!   arrive_in_views       then links what was queued in the views          arrive_exact, arrive_wide
//!   arrive_marked         no receive there takes it, and no views          arrive_exact, arrive_wide
//!                         one does, but not simply; several; or views      arrive_among_wildcards
//!   arrive_among_wildcards  no slot, or messages with its key              again
//!   arrive_several        the second is far, or of the other queue         arrive_beside
//!   arrive_beside         no slot                                          again
//! again: arrive_rarely    more than the table to look at                   arrive_in_any_state
//!                         otherwise makes room                             arrive_whole
//!
//! take_message_deep       fully specified                                  take_message_exact
//!                         with a wildcard                                  unlink_message_deep
//!   take_message_exact    a log has all messages                           takes from it
//!                         more than the table, far, or not simple          unlink_message_deep
//! take_receive_deep       a log has all receives                           takes from it
//!                         more than the table, far, or not simple          unlink_receive_deep
//! queue_receive_deep, queue_message_deep
//!                         a log of all, and a slot                         appends to it
//!                         the same as above, or no slot                    queue_receive_rarely, queue_message_rarely
//! ```

mod arrive;
mod chains;
mod classes;
mod filling;
mod halves;
mod heads;
mod index;
mod log;
mod logged;
mod marked;
mod nodes;
mod paged;
mod post;
mod turning;
mod view;

pub(super) use self::index::Index;
pub(super) use self::nodes::{AGAIN, is_slot, slot_in};
pub(super) use self::turning::SHORT;
