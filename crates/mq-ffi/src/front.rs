//! The front of an engine: the first entries, kept where `mq_inline.h` finds them without a call.
//!
//! While everything queued fits here, the inline calls of `mq_inline.h` answer on the spot, in the
//! time that a caller's own list would take, and the match operations of the interface do the same
//! ([`steps`]). When it does not fit, and before operations that take entries by other means, the
//! entries move into the queues, some with each match operation ([`moving`]) or all ([`settle`]). The
//! front opens again when the queues are empty ([`reopen`]), or some time after that if many had to
//! move ([`Rest`]). The few receives that are left when everything else has gone come back to it
//! ([`standing`]), so a receive that stays posted for long does not keep it closed.
//!
//! Receives and messages of all contexts are in one array each, in order and without gaps, every
//! entry with its context. Entries join at the end and leave anywhere, so an array is used from left
//! to right; what is left at its right end moves back to the left, and an array that runs empty
//! starts there again. What calls have to check about a context, its size and its promises, is kept
//! for [`MQ_FRONT_CONTEXTS`] of them; calls for others are answered behind the front.

mod array;
mod layout;
mod memory;
pub(crate) mod moving;
mod open;
mod rest;
mod room;
mod settle;
mod standing;
pub(crate) mod steps;
mod terms;

pub(crate) use self::array::Reach;
pub use self::layout::{
    MQ_FRONT_CONTEXTS, MQ_FRONT_LAYOUT, MQ_FRONT_SCAN, MQ_FRONT_SLOT, mq_front, mq_front_queue,
    mq_known, mq_parked,
};
pub(crate) use self::memory::Memory;
pub(crate) use self::open::{emptied, filled, hide, reopen, show};
pub(crate) use self::rest::Rest;
pub(crate) use self::room::{Searched, furnish, grant_far_exit, grant_far_look, prepare};
pub(crate) use self::settle::{end_moving, is_settled, settle, visit};
pub(crate) use self::standing::MOST_BACK;
pub(crate) use self::terms::{check, forget, is_all_there_is_and_lacks};
