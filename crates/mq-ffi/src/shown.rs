//! Entries as the caller's functions see them.

use core::ffi::{c_int, c_void};

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::{Entry, Handle, MessageHandle, Removed};

use crate::matching::{EntryOf, Message, RemovedOf};
use crate::types::{mq_handle, mq_message_handle, mq_pattern};

/// One queued entry, as shown to a visitor; valid until the visitor returns. Only the library makes one: later versions
/// append fields, so copy what you need of it rather than so many bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_entry {
    /// 1 for a posted receive, 0 for an unexpected message. A probe of `mq_queue_probe` is shown as a receive: only
    /// your cookie can tell.
    pub posted: c_int,
    /// What a receive asks for, or what a message carries: not always word for word as it was passed. Bits of a tag
    /// that may differ are 0, if all may it is `MQ_ANY_TAG`, and class 0 may be `MQ_CLASS_UNKNOWN`.
    pub pattern: mq_pattern,
    /// The caller's receive or message.
    pub cookie: *mut c_void,
    /// For `mq_cancel`, after the call that shows it: names the receive as long as it is queued, as the handle that
    /// posting wrote does, but not always by the same words. Zeroed for a message, and for a receive that was removed.
    pub receive: mq_handle,
    /// For `mq_take`, likewise: names the message. Zeroed for a receive, and for a message that was removed.
    pub message: mq_message_handle,
    /// The bytes of a message, as passed to `mq_arrive`; 0 for a receive.
    pub bytes: u64,
}

/// An entry of either queue with the caller's own pointer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shown {
    Posted(Handle, MpiPattern, *mut c_void),
    Unexpected(MessageHandle, MpiEnvelope, Message),
}

impl Shown {
    pub(crate) fn context(self) -> u32 {
        match self {
            Self::Posted(_, pattern, _) => pattern.context().0,
            Self::Unexpected(_, envelope, _) => envelope.context().0,
        }
    }

    pub(crate) const fn is_posted(&self) -> bool {
        matches!(self, Self::Posted(..))
    }

    /// An entry of an engine whose payloads are the caller's own.
    pub(crate) fn of(entry: &EntryOf<'_>) -> Self {
        match *entry {
            Entry::Posted(name, pattern, cookie) => Self::Posted(name, pattern, *cookie),
            Entry::Unexpected(name, envelope, message) => {
                Self::Unexpected(name, envelope, *message)
            }
        }
    }
}

/// A name that no entry has.
const NO_RECEIVE: mq_handle = mq_handle {
    sequence: 0,
    slot: 0,
    context: 0,
};
const NO_MESSAGE: mq_message_handle = mq_message_handle {
    sequence: 0,
    slot: 0,
    context: 0,
};

impl mq_entry {
    pub(crate) fn of(entry: Shown) -> Self {
        match entry {
            Shown::Posted(name, pattern, cookie) => Self {
                receive: mq_handle::of(name),
                ..Self::receive(&pattern, cookie)
            },
            Shown::Unexpected(name, envelope, message) => Self {
                message: mq_message_handle::of(name),
                ..Self::message(&envelope, message)
            },
        }
    }

    pub(crate) fn of_removed(removed: &RemovedOf) -> Self {
        match removed {
            Removed::Posted(pattern, cookie) => Self::receive(pattern, *cookie),
            Removed::Unexpected(envelope, message) => Self::message(envelope, *message),
        }
    }

    fn receive(pattern: &MpiPattern, cookie: *mut c_void) -> Self {
        Self {
            posted: 1,
            pattern: mq_pattern::of(pattern),
            cookie,
            receive: NO_RECEIVE,
            message: NO_MESSAGE,
            bytes: 0,
        }
    }

    fn message(envelope: &MpiEnvelope, Message { cookie, bytes }: Message) -> Self {
        Self {
            posted: 0,
            pattern: mq_pattern::of_envelope(envelope),
            cookie,
            receive: NO_RECEIVE,
            message: NO_MESSAGE,
            bytes,
        }
    }
}
