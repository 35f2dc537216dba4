//! What a front knows of contexts, and what it holds of them.

use core::ffi::c_int;

use super::layout::{mq_front, mq_known, mq_parked};
use crate::matching::Matching;
use crate::status::{MQ_ERR_ANY_SOURCE, MQ_ERR_ANY_TAG, MQ_ERR_RANK};
use crate::types::{
    CHECKED_PROMISES, MQ_ANY_SOURCE, MQ_ANY_TAG, MQ_NO_ANY_SOURCE, MQ_NO_ANY_TAG, promise_bits,
};

#[cold]
pub(super) fn learn(front: &mut mq_front, matching: &Matching, context: u32) {
    if let Ok(terms) = matching.terms(context) {
        front.learn(mq_known {
            context,
            last_rank: terms.last_rank,
            promises: promise_bits(&terms) & CHECKED_PROMISES,
        });
    }
}

/// A context is removed, or gets other terms: what the front knows about it is void.
pub(crate) fn forget(front: &mut mq_front, context: u32) {
    front.forget(context);
}

/// Whether what is queued here could be queued in the context under other terms.
///
/// # Errors
/// `MQ_ERR_RANK`, `MQ_ERR_ANY_SOURCE` or `MQ_ERR_ANY_TAG`.
pub(crate) fn check(
    front: &mq_front,
    context: u32,
    last_rank: u32,
    promises: u32,
) -> Result<(), c_int> {
    let is_out =
        |entry: &mq_parked| entry.source() >= 0 && entry.source().cast_unsigned() > last_rank;
    for receive in front
        .receives
        .entries()
        .filter(|entry| entry.context() == context)
    {
        if is_out(&receive) {
            return Err(MQ_ERR_RANK);
        }
        if receive.source() == MQ_ANY_SOURCE && promises & MQ_NO_ANY_SOURCE != 0 {
            return Err(MQ_ERR_ANY_SOURCE);
        }
        if receive.tag_or_any() == MQ_ANY_TAG && promises & MQ_NO_ANY_TAG != 0 {
            return Err(MQ_ERR_ANY_TAG);
        }
    }
    let mut messages = front
        .messages
        .entries()
        .filter(|entry| entry.context() == context);
    match messages.any(|entry| is_out(&entry)) {
        true => Err(MQ_ERR_RANK),
        false => Ok(()),
    }
}

/// Whether everything queued is here, and nothing here belongs to the context.
pub(crate) fn is_all_there_is_and_lacks(front: &mq_front, context: u32) -> bool {
    let mut entries = front.receives.entries().chain(front.messages.entries());
    front.is_open() && entries.all(|entry| entry.context() != context)
}
