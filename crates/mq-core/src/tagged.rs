//! The 64-bit tag with an ignore mask, as in libfabric, UCX, PSM and Portals.
//!
//! A message matches if `(tag ^ wanted) & !ignore == 0` and its source is the one asked for, or
//! any. Runtimes that put the source into the tag leave the source 0 on both sides.

use crate::envelope::{ContextId, Envelope, Rank, TrafficClass};
use crate::pattern::{Pattern, Source};

const SOURCE_SHIFT: u32 = 64;

/// A message with a 64-bit tag.
///
/// ```
/// use mq_core::tagged::{TaggedEnvelope, TaggedPattern};
/// use mq_core::{Source, matches};
///
/// let wanted = TaggedPattern::new(0, Source::Any, 0xaa_0000, 0xffff);
/// assert!(matches(&wanted, &TaggedEnvelope::new(0, 5, 0xaa_1234)));
/// assert!(!matches(&wanted, &TaggedEnvelope::new(0, 5, 0xab_1234)));
/// assert_eq!(wanted, TaggedPattern::new(0, Source::Any, 0xaa_5678, 0xffff));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TaggedEnvelope {
    context: ContextId,
    source: Rank,
    tag: u64,
    class: TrafficClass,
}

impl TaggedEnvelope {
    /// A point-to-point message to an endpoint or communicator. The sender is always 0 if the tag names it.
    pub fn new(context: impl Into<ContextId>, source: impl Into<Rank>, tag: u64) -> Self {
        Self {
            context: context.into(),
            source: source.into(),
            tag,
            class: TrafficClass::PointToPoint,
        }
    }

    /// The same message, as part of another kind of operation.
    #[must_use]
    pub const fn with_class(mut self, class: TrafficClass) -> Self {
        self.class = class;
        self
    }

    /// The endpoint or communicator.
    #[must_use]
    pub const fn context(&self) -> ContextId {
        self.context
    }

    /// The sender.
    #[must_use]
    pub const fn source(&self) -> Rank {
        self.source
    }

    /// The tag.
    #[must_use]
    pub const fn tag(&self) -> u64 {
        self.tag
    }

    /// Which operation the message belongs to.
    #[must_use]
    pub const fn class(&self) -> TrafficClass {
        self.class
    }
}

impl Envelope for TaggedEnvelope {
    type Bits = u128;

    #[inline(always)]
    fn context(&self) -> ContextId {
        self.context
    }
    #[inline(always)]
    fn source(&self) -> Rank {
        self.source
    }
    #[inline(always)]
    fn bits(&self) -> u128 {
        u128::from(self.source.0) << SOURCE_SHIFT | u128::from(self.tag)
    }
    #[inline(always)]
    fn class(&self) -> TrafficClass {
        self.class
    }
}

/// A receive that compares a 64-bit tag outside an ignore mask. Two that match the same messages are equal, whatever
/// they were given in bits that are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TaggedPattern {
    context: ContextId,
    source: Source,
    /// 0 where the tag may differ.
    wanted: u64,
    ignore: u64,
    class: TrafficClass,
}

impl TaggedPattern {
    /// A receive whose class is unknown if any tag bit is ignored, else point-to-point.
    pub fn new(
        context: impl Into<ContextId>,
        source: impl Into<Source>,
        wanted: u64,
        ignore: u64,
    ) -> Self {
        Self {
            context: context.into(),
            source: source.into(),
            wanted: wanted & !ignore,
            ignore,
            class: if ignore == 0 {
                TrafficClass::PointToPoint
            } else {
                TrafficClass::Unknown
            },
        }
    }

    /// The same receive, as part of another kind of operation.
    #[must_use]
    pub const fn with_class(mut self, class: TrafficClass) -> Self {
        self.class = class;
        self
    }

    /// The endpoint or communicator.
    #[must_use]
    pub const fn context(&self) -> ContextId {
        self.context
    }

    /// The sender, or any.
    #[must_use]
    pub const fn source(&self) -> Source {
        self.source
    }

    /// The bits of the tag that a message must have; 0 where they may differ.
    #[must_use]
    pub const fn wanted(&self) -> u64 {
        self.wanted
    }

    /// The bits of the tag that may differ.
    #[must_use]
    pub const fn ignore(&self) -> u64 {
        self.ignore
    }

    /// Which operation the receive belongs to.
    #[must_use]
    pub const fn class(&self) -> TrafficClass {
        self.class
    }
}

impl Pattern for TaggedPattern {
    type Envelope = TaggedEnvelope;

    #[inline(always)]
    fn context(&self) -> ContextId {
        self.context
    }
    #[inline(always)]
    fn source(&self) -> Source {
        self.source
    }
    #[inline(always)]
    fn bits(&self) -> u128 {
        let source = match self.source {
            Source::Any => 0,
            Source::Rank(rank) => rank.0,
        };
        u128::from(source) << SOURCE_SHIFT | u128::from(self.wanted)
    }
    #[inline(always)]
    fn care(&self) -> u128 {
        let source = match self.source {
            Source::Any => 0,
            Source::Rank(_) => u128::MAX << SOURCE_SHIFT,
        };
        source | u128::from(!self.ignore)
    }
    #[inline(always)]
    fn any_tag(&self) -> bool {
        self.ignore != 0
    }
    #[inline(always)]
    fn class(&self) -> TrafficClass {
        self.class
    }
}
