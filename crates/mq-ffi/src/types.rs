//! Values that cross the interface.

use core::ffi::{c_char, c_int, c_void};

use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::{
    ContextId, ContextOptions, ContextTerms, Handle, MessageHandle, Rank, Source, Tag, TrafficClass,
};

use crate::class;
use crate::session::mq_session;
use crate::status::{MQ_ERR_ARGUMENT, MQ_ERR_RANK};

/// As `mq_pattern.source`: any sender.
pub const MQ_ANY_SOURCE: i32 = -1;

/// As `mq_pattern.tag`: every tag of 0 or above. Not -1, because libraries use negative tags.
pub const MQ_ANY_TAG: i32 = i32::MIN;

/// What a message carries: its envelope.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct mq_envelope {
    /// The communicator.
    pub context: u32,
    /// The sender's rank, from 0.
    pub source: i32,
    /// The tag; negative tags are the library's own. Not `MQ_ANY_TAG`: no receive could ask for it.
    pub tag: i32,
    /// The traffic class: 0 for point-to-point, else an `MQ_CLASS_*` number. It follows from the context,
    /// the source and the tag: messages with the same three have the same class. Not `MQ_CLASS_UNKNOWN`: a
    /// message whose class is not known has 0.
    pub traffic_class: u32,
}

/// What a receive or a probe asks for.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct mq_pattern {
    /// The communicator.
    pub context: u32,
    /// The sender's rank, or `MQ_ANY_SOURCE`.
    pub source: i32,
    /// The tag, or `MQ_ANY_TAG`.
    pub tag: i32,
    /// Bits of the tag that may differ; 0 for an exact tag. Must be 0 with `MQ_ANY_TAG`.
    pub ignore: u32,
    /// The traffic class of every message that the pattern can match, as in `mq_envelope`, or
    /// `MQ_CLASS_UNKNOWN`. The structures `col` and `col+pnp` look for a message, or a receive, only where
    /// its class is kept: a pattern of another class than its message may meet it at first, and never again once the
    /// structure has given an operation lists of its own. When in doubt
    /// use `MQ_CLASS_UNKNOWN`, which meets all classes at the cost of a longer search. 0 everywhere, in
    /// envelopes too, is correct. (With `ignore`, 0 stands for `MQ_CLASS_UNKNOWN` if the pattern can match
    /// negative tags.)
    pub traffic_class: u32,
}

/// Names a queued receive. Using the handle after the receive has left the queue is harmless: the call finds
/// nothing, provided that all three words of the handle are kept together.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct mq_handle {
    /// Keep unchanged; 0 names nothing.
    pub sequence: u64,
    /// Keep unchanged, together with `sequence`.
    pub slot: u32,
    /// The receive's context.
    pub context: u32,
}

/// Names an unexpected message, from `mq_find` or `mq_queue_message`; like an `mq_handle`, it may be used
/// after the message has left.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct mq_message_handle {
    /// Keep unchanged; 0 names nothing.
    pub sequence: u64,
    /// Keep unchanged, together with `sequence`.
    pub slot: u32,
    /// The message's context.
    pub context: u32,
}

/// Bit of `mq_engine_options.flags`: count, for `mq_statistics_read`.
pub const MQ_STATISTICS: u32 = 1;
/// Every call takes the engine's own lock: for callers that have no lock.
pub const MQ_LOCKED: u32 = 2;
/// Keep no entries where `mq_inline.h` finds them: every inline call becomes a real call.
pub const MQ_NO_FRONT: u32 = 4;

/// Called when a high mark is reached, with the number of unexpected messages and their bytes (0 if nothing
/// limits or marks bytes).
pub type mq_high_water_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, entries: u64, bytes: u64)>;

/// Options for making an engine. Zeroed, they ask for the defaults. Strings are copied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_engine_options {
    /// The name of the structure, with parameters if any (`bins:bins=64`; `mq structures` lists them), or null for
    /// the default.
    pub structure: *const c_char,
    /// The most unexpected messages; 0 for no limit.
    pub max_unexpected: u64,
    /// The most bytes in unexpected messages, as passed to `mq_arrive`; 0 or `UINT64_MAX` for no limit.
    pub max_unexpected_bytes: u64,
    /// `MQ_STATISTICS` and the other flags.
    pub flags: u32,
    /// The session that the engine belongs to, or null.
    pub session: *const mq_session,
    /// The most unexpected messages from each source of each context; 0 for no limit.
    pub max_unexpected_per_source: u64,
    /// The most bytes in unexpected messages from each source of each context; 0 or `UINT64_MAX` for no limit.
    pub max_unexpected_bytes_per_source: u64,
    /// Called when the unexpected messages reach a high mark, and again only after they have fallen to the
    /// low marks; null for no call. It must not call the engine. If the allocator of `mq_allocator_set` has
    /// no memory for a message, it may already have been called for that message.
    pub high_water: mq_high_water_fn,
    /// Passed to `high_water`.
    pub high_water_user: *mut c_void,
    /// The high mark in messages; 0 for none.
    pub high_unexpected: u64,
    /// The low mark in messages, below the high one.
    pub low_unexpected: u64,
    /// The high mark in bytes, as passed to `mq_arrive`; 0 for none.
    pub high_unexpected_bytes: u64,
    /// The low mark in bytes, below the high one.
    pub low_unexpected_bytes: u64,
    /// Must be 0: for options of later versions.
    pub reserved: [u64; 4],
}

/// Bit of `mq_context_options.promises`: no receive uses `MQ_ANY_SOURCE` (`mpi_assert_no_any_source`). One that does is
/// refused, so that the fault is found; matching is as quick without the promise, as no wildcard is queued then.
pub const MQ_NO_ANY_SOURCE: u32 = 1;
/// No receive uses `MQ_ANY_TAG` or a masked tag (`mpi_assert_no_any_tag`).
pub const MQ_NO_ANY_TAG: u32 = 2;
/// Messages may overtake each other (`mpi_assert_allow_overtaking`). This is a permission: no structure uses
/// it so far, and matching stays in order.
pub const MQ_ALLOW_OVERTAKING: u32 = 4;

/// Options for creating or updating a context. Zeroed, they ask for the defaults. The string is read during
/// the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_context_options {
    /// Ranks that can send on the context; 0 if unknown.
    pub size: u32,
    /// `MQ_NO_ANY_SOURCE` and the other promises.
    pub promises: u32,
    /// This process's rank in it, which only a trace needs. A rank that is not below `size`, such as
    /// `UINT32_MAX`, leaves the context's size and rank out of the trace. Use that for an intercommunicator,
    /// where `size` is the remote group's and the rank is in the local group.
    pub rank: u32,
    /// The name of a structure for this context only, or null for the engine's. Its parameters are those of the
    /// engine, and none can be named here.
    pub structure: *const c_char,
    /// Must be 0: for options of later versions.
    pub reserved: [u64; 2],
}

impl mq_envelope {
    /// # Errors
    /// A status.
    #[inline(always)]
    pub(crate) fn read(&self) -> Result<MpiEnvelope, c_int> {
        let source = u32::try_from(self.source).map_err(|_| MQ_ERR_RANK)?;
        let class = read_class(self.traffic_class)?;
        if self.tag == MQ_ANY_TAG || class == TrafficClass::Unknown {
            return Err(MQ_ERR_ARGUMENT);
        }
        Ok(MpiEnvelope::new(self.context, source, self.tag).with_class(class))
    }

    pub(crate) fn of(envelope: &MpiEnvelope) -> Self {
        Self {
            context: envelope.context().0,
            source: envelope.source().0.cast_signed(),
            tag: envelope.tag().0,
            traffic_class: class::number(envelope.class()),
        }
    }
}

impl mq_pattern {
    /// Whether it asks for any source or any tag.
    pub(crate) const fn has_wildcard(&self) -> bool {
        self.source == MQ_ANY_SOURCE || self.tag == MQ_ANY_TAG
    }

    /// # Errors
    /// A status.
    pub(crate) fn read(&self) -> Result<MpiPattern, c_int> {
        let source = match self.source {
            MQ_ANY_SOURCE => Source::Any,
            rank => Source::Rank(Rank(u32::try_from(rank).map_err(|_| MQ_ERR_RANK)?)),
        };
        let tag = match (self.tag, self.ignore) {
            (MQ_ANY_TAG, 0) => TagSelector::Any,
            (MQ_ANY_TAG, _) => return Err(MQ_ERR_ARGUMENT),
            (tag, 0) => TagSelector::Exact(Tag(tag)),
            (tag, ignore) => TagSelector::Masked {
                wanted: Tag(tag),
                ignore,
            },
        };
        let pattern = MpiPattern::new(self.context, source, tag);
        if matches!(tag, TagSelector::Masked { .. }) && self.traffic_class == 0 {
            // The pattern itself knows whether it can match several classes.
            return Ok(pattern);
        }
        Ok(pattern.with_class(read_class(self.traffic_class)?))
    }

    pub(crate) fn of(pattern: &MpiPattern) -> Self {
        let (tag, ignore) = match pattern.tag() {
            TagSelector::Exact(tag) => (tag.0, 0),
            TagSelector::Any => (MQ_ANY_TAG, 0),
            // Ignored bits may have any value: they keep the wanted tag from being taken for the word that
            // means all tags.
            TagSelector::Masked { wanted, ignore } if wanted.0 == MQ_ANY_TAG => (
                wanted.0 | (ignore & ignore.wrapping_neg()).cast_signed(),
                ignore,
            ),
            TagSelector::Masked { wanted, ignore } => (wanted.0, ignore),
        };
        Self {
            context: pattern.context().0,
            source: match pattern.source() {
                Source::Any => MQ_ANY_SOURCE,
                Source::Rank(rank) => rank.0.cast_signed(),
            },
            tag,
            ignore,
            traffic_class: class::number(pattern.class()),
        }
    }

    /// What a message carries, as a pattern that asks for exactly that.
    pub(crate) fn of_envelope(envelope: &MpiEnvelope) -> Self {
        let mq_envelope {
            context,
            source,
            tag,
            traffic_class,
        } = mq_envelope::of(envelope);
        Self {
            context,
            source,
            tag,
            ignore: 0,
            traffic_class,
        }
    }
}

/// A pattern or envelope that may give its source and its whole tag.
pub(crate) trait Exact {
    /// The form that matching uses.
    type Read;

    /// The sender, and the value read in full; `None` if there is a wildcard, or something is wrong with it.
    fn exact(&self) -> Option<(u32, Self::Read)>;
}

impl Exact for mq_pattern {
    type Read = MpiPattern;

    #[inline(always)]
    fn exact(&self) -> Option<(u32, MpiPattern)> {
        // `MQ_ANY_SOURCE` is below 0, too.
        let source = u32::try_from(self.source).ok()?;
        let class = class::read(self.traffic_class)?;
        if self.tag == MQ_ANY_TAG || self.ignore != 0 {
            return None;
        }
        let pattern = MpiPattern::new(self.context, source, self.tag);
        Some((source, pattern.with_class(class)))
    }
}

impl Exact for mq_envelope {
    type Read = MpiEnvelope;

    #[inline(always)]
    fn exact(&self) -> Option<(u32, MpiEnvelope)> {
        let source = u32::try_from(self.source).ok()?;
        self.read().ok().map(|envelope| (source, envelope))
    }
}

impl mq_handle {
    pub(crate) const fn of(handle: Handle) -> Self {
        Self {
            sequence: handle.sequence(),
            slot: handle.slot(),
            context: handle.context().0,
        }
    }

    pub(crate) const fn read(self) -> Handle {
        Handle::new(ContextId(self.context), self.slot, self.sequence)
    }
}

impl mq_message_handle {
    pub(crate) const fn of(message: MessageHandle) -> Self {
        Self {
            sequence: message.sequence(),
            slot: message.slot(),
            context: message.context().0,
        }
    }

    pub(crate) const fn read(self) -> MessageHandle {
        let name = Handle::new(ContextId(self.context), self.slot, self.sequence);
        MessageHandle::new(name)
    }
}

macro_rules! promises {
    ($($bit:ident: $name:ident,)*) => {
        /// The promises of a context, as bits.
        pub(crate) const fn promise_bits(terms: &ContextTerms) -> u32 {
            0 $(| if terms.$name { $bit } else { 0 })*
        }

        /// The promises that bits say.
        ///
        /// # Errors
        /// A status.
        pub(crate) fn read_promises(bits: u32) -> Result<ContextOptions, c_int> {
            if bits & !(0 $(| $bit)*) != 0 {
                return Err(MQ_ERR_ARGUMENT);
            }
            let mut options = ContextOptions::new();
            $(if bits & $bit != 0 {
                options = options.$name();
            })*
            Ok(options)
        }
    };
}

promises! {
    MQ_NO_ANY_SOURCE: no_any_source,
    MQ_NO_ANY_TAG: no_any_tag,
    MQ_ALLOW_OVERTAKING: allow_overtaking,
}

/// The promises that calls check, and so those that a front holds.
pub(crate) const CHECKED_PROMISES: u32 = MQ_NO_ANY_SOURCE | MQ_NO_ANY_TAG;

#[inline(always)]
fn read_class(class: u32) -> Result<TrafficClass, c_int> {
    class::read(class).ok_or(MQ_ERR_ARGUMENT)
}
