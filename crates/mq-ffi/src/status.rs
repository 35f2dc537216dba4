//! Return values of calls: outcomes from 0, errors below.

use core::ffi::{CStr, c_char, c_int};

use mq_core::Error;

// The numbers are part of the ABI: existing ones never change, new ones may be added.

/// Nothing matched: a receive or message was queued, a probe saw nothing, a handle was stale; or a call that matches
/// nothing has done its work.
pub const MQ_NONE: c_int = 0;
/// A match was found, or a receive was cancelled.
pub const MQ_MATCHED: c_int = 1;
/// A pointer that must not be null is null.
pub const MQ_ERR_NULL: c_int = -1;
/// The context was never created, or was freed.
pub const MQ_ERR_UNKNOWN_CONTEXT: c_int = -2;
/// The context already exists.
pub const MQ_ERR_CONTEXT_EXISTS: c_int = -3;
/// The rank is outside the communicator, or a negative source is not `MQ_ANY_SOURCE`.
pub const MQ_ERR_RANK: c_int = -4;
/// The context has the promise `MQ_NO_ANY_SOURCE`.
pub const MQ_ERR_ANY_SOURCE: c_int = -5;
/// The context has the promise `MQ_NO_ANY_TAG`.
pub const MQ_ERR_ANY_TAG: c_int = -6;
/// The budget of unexpected messages is used up; the message was not queued.
pub const MQ_ERR_ENTRY_BUDGET: c_int = -7;
/// The budget of bytes does not cover the message; it was not queued.
pub const MQ_ERR_BYTE_BUDGET: c_int = -8;
/// There is no structure of that name, or it has no such parameter, or the parameter cannot have that value, or
/// a context's structure has parameters.
pub const MQ_ERR_STRUCTURE: c_int = -9;
/// An argument has an invalid value.
pub const MQ_ERR_ARGUMENT: c_int = -10;
/// The engine or session was already freed or closed.
pub const MQ_ERR_ENGINE: c_int = -11;
/// The call came from within a callback of a call to the same engine.
pub const MQ_ERR_REENTRANT: c_int = -12;
/// The caller's allocator refused; nothing was queued.
pub const MQ_ERR_MEMORY: c_int = -13;
/// The engine was made without `MQ_STATISTICS`, and its session neither records nor counts.
pub const MQ_ERR_NO_STATISTICS: c_int = -14;
/// The budget of unexpected messages from one source is used up; the message was not queued.
pub const MQ_ERR_SOURCE_ENTRY_BUDGET: c_int = -15;
/// The budget of bytes from one source does not cover the message; it was not queued.
pub const MQ_ERR_SOURCE_BYTE_BUDGET: c_int = -16;
/// libmq already holds memory, which must go back to where it came from.
pub const MQ_ERR_TOO_LATE: c_int = -17;
/// A fault inside libmq; the engine must not be used any more.
pub const MQ_ERR_INTERNAL: c_int = -99;
/// What `mq_try_post` and the others of `mq_inline.h` return, and no call does: nothing has been done, and a call would
/// do it.
pub const MQ_NOT_IN_PLACE: c_int = -100;

/// The text for a status.
fn text(status: c_int) -> Option<&'static CStr> {
    Some(match status {
        MQ_NONE => c"nothing matched",
        MQ_MATCHED => c"matched",
        MQ_ERR_NULL => c"a pointer that must not be null is null",
        MQ_ERR_UNKNOWN_CONTEXT => c"the context does not exist; create it before use",
        MQ_ERR_CONTEXT_EXISTS => c"the context already exists; free it before creating it again",
        MQ_ERR_RANK => {
            c"the rank is outside the context's size, or a negative source is not MQ_ANY_SOURCE"
        }
        MQ_ERR_ANY_SOURCE => c"the context has the promise no_any_source; name the source",
        MQ_ERR_ANY_TAG => c"the context has the promise no_any_tag; name the tag",
        MQ_ERR_ENTRY_BUDGET => {
            c"the budget of unexpected messages is used up; keep the message, and what its source sends after \
              it, and retry"
        }
        MQ_ERR_BYTE_BUDGET => {
            c"the budget of bytes in unexpected messages does not cover this one; keep it, and what its source \
              sends after it, and retry"
        }
        MQ_ERR_STRUCTURE => c"there is no structure with that name (see mq_structure_name), or not with those parameters",
        MQ_ERR_ARGUMENT => {
            c"an argument has an invalid value: an unknown flag or promise, a nonzero reserved word, \
              a traffic class that is unknown or not valid in this call, MQ_ANY_TAG in a message or \
              with bits to ignore, high_water without marks, marks without high_water or out of \
              order, or a structure for mq_context_update"
        }
        MQ_ERR_ENGINE => c"the engine or session was already freed or closed",
        MQ_ERR_REENTRANT => {
            c"a callback must not call the engine that called it; do it after the call returns"
        }
        MQ_ERR_MEMORY => c"the allocator returned null; nothing was queued",
        MQ_ERR_NO_STATISTICS => c"the engine was made without MQ_STATISTICS",
        MQ_ERR_SOURCE_ENTRY_BUDGET => {
            c"the source's budget of unexpected messages is used up; keep the message, and what it sends after \
              it, and retry"
        }
        MQ_ERR_SOURCE_BYTE_BUDGET => {
            c"the source's budget of bytes in unexpected messages does not cover this one; keep it, and what \
              that source sends after it, and retry"
        }
        MQ_ERR_TOO_LATE => c"libmq already holds memory; set the allocator before any other call",
        MQ_ERR_INTERNAL => c"a fault inside libmq; the engine must not be used any more",
        MQ_NOT_IN_PLACE => c"nothing was done, because it cannot be done in place; make the call of that name",
        _ => return None,
    })
}

/// The status for an engine's error.
pub(crate) fn status_of(error: Error) -> c_int {
    match error {
        Error::UnknownContext(_) => MQ_ERR_UNKNOWN_CONTEXT,
        Error::ContextExists(_) => MQ_ERR_CONTEXT_EXISTS,
        Error::RankOutOfRange { .. } => MQ_ERR_RANK,
        Error::AnySourceForbidden(_) => MQ_ERR_ANY_SOURCE,
        Error::AnyTagForbidden(_) => MQ_ERR_ANY_TAG,
        Error::EntryBudget { .. } => MQ_ERR_ENTRY_BUDGET,
        Error::ByteBudget { .. } => MQ_ERR_BYTE_BUDGET,
        Error::SourceEntryBudget { .. } => MQ_ERR_SOURCE_ENTRY_BUDGET,
        Error::SourceByteBudget { .. } => MQ_ERR_SOURCE_BYTE_BUDGET,
        _ => MQ_ERR_INTERNAL,
    }
}

/// A sentence in English for any status; never null, valid forever.
#[unsafe(no_mangle)]
pub extern "C" fn mq_strerror(status: c_int) -> *const c_char {
    text(status).unwrap_or(c"unknown status").as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_sentence_of_its_own() {
        let known: Vec<_> = (-200..200).filter_map(text).collect();
        let mut distinct = known.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(known.len(), 21);
        assert_eq!(distinct.len(), known.len());
    }
}
