//! MPI's envelopes and patterns: context, rank, 32-bit tag.
//!
//! Source and tag share one 64-bit word, so a match is one masked comparison:
//!
//! | receive | bits that must be equal |
//! | --- | --- |
//! | source, tag | all 64 |
//! | `ANY_SOURCE`, tag | the 32 of the tag |
//! | source, `ANY_TAG` | the 32 of the source, and the tag's sign |
//! | `ANY_SOURCE`, `ANY_TAG` | the tag's sign |
//!
//! The sign is compared so that `ANY_TAG` matches tags >= 0 only; libraries use negative tags on
//! the same context for their own messages.

use core::fmt;

use crate::envelope::{ContextId, Envelope, Rank, Tag, TrafficClass};
use crate::pattern::{Pattern, Source};

const TAG_BITS: u64 = 0xffff_ffff;
const TAG_SIGN: u64 = 0x8000_0000;
const SOURCE_BITS: u64 = TAG_BITS << 32;

/// What an MPI message carries.
///
/// ```
/// use mq_core::mpi::MpiEnvelope;
/// use mq_core::{Rank, Tag};
///
/// let envelope = MpiEnvelope::new(0, 3, 17);
/// assert_eq!((envelope.source(), envelope.tag()), (Rank(3), Tag(17)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MpiEnvelope {
    bits: u64,
    stream: Stream,
}

impl MpiEnvelope {
    /// A point-to-point message from rank `source` with tag `tag`.
    #[inline]
    pub fn new(
        context: impl Into<ContextId>,
        source: impl Into<Rank>,
        tag: impl Into<Tag>,
    ) -> Self {
        Self {
            bits: pack(source.into().0, tag.into().0),
            stream: Stream::new(context.into().0, TrafficClass::PointToPoint),
        }
    }

    /// The same message as part of a collective operation. See [`TrafficClass`]: a receive that can
    /// take it has the same class, or is [`Unknown`](TrafficClass::Unknown).
    #[inline]
    #[must_use]
    pub const fn with_class(mut self, class: TrafficClass) -> Self {
        self.stream = Stream::new(self.stream.context(), class);
        self
    }

    /// The communicator.
    #[inline(always)]
    #[must_use]
    pub const fn context(&self) -> ContextId {
        ContextId(self.stream.context())
    }

    /// The sender's rank.
    #[inline(always)]
    #[must_use]
    pub const fn source(&self) -> Rank {
        Rank(high(self.bits))
    }

    /// The message's tag.
    #[inline]
    #[must_use]
    pub const fn tag(&self) -> Tag {
        Tag(low(self.bits))
    }

    /// The traffic class.
    #[inline(always)]
    #[must_use]
    pub const fn class(&self) -> TrafficClass {
        self.stream.class()
    }
}

impl Envelope for MpiEnvelope {
    type Bits = u64;

    #[inline(always)]
    fn context(&self) -> ContextId {
        self.context()
    }
    #[inline(always)]
    fn source(&self) -> Rank {
        self.source()
    }
    #[inline(always)]
    fn bits(&self) -> u64 {
        self.bits
    }
    #[inline(always)]
    fn class(&self) -> TrafficClass {
        self.stream.class()
    }
}

impl fmt::Debug for MpiEnvelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, tag) = (self.source(), self.tag());
        write!(
            f,
            "MpiEnvelope({} {source} {tag}, {})",
            self.context(),
            self.class()
        )
    }
}

/// The tag a receive asks for. MPI 4.1 §3.2.4; masks as in libfabric, UCX and PSM.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TagSelector {
    /// One tag, negative ones included.
    Exact(Tag),
    /// `MPI_ANY_TAG`: every tag >= 0.
    Any,
    /// Tags equal to `wanted` outside the bits of `ignore`; the sign has no special meaning.
    Masked {
        /// The tag whose bits are compared.
        wanted: Tag,
        /// The bits that may differ.
        ignore: u32,
    },
}

/// The tag; `*` for any; the tag and the bits that may differ, as in `0x5/0xff`.
impl fmt::Display for TagSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(tag) => tag.fmt(f),
            Self::Any => f.write_str("*"),
            Self::Masked { wanted, ignore } => write!(f, "{:#x}/{ignore:#x}", wanted.0),
        }
    }
}

impl From<i32> for TagSelector {
    fn from(tag: i32) -> Self {
        Self::Exact(Tag(tag))
    }
}

impl From<Tag> for TagSelector {
    fn from(tag: Tag) -> Self {
        Self::Exact(tag)
    }
}

/// What an MPI receive asks for.
///
/// ```
/// use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
/// use mq_core::{Source, matches};
///
/// let any = MpiPattern::new(0, Source::Any, TagSelector::Any);
/// assert!(matches(&any, &MpiEnvelope::new(0, 3, 17)));
/// assert!(!matches(&any, &MpiEnvelope::new(0, 3, -12))); // the library's own message
/// assert!(!matches(&any, &MpiEnvelope::new(1, 3, 17))); // another communicator
/// ```
#[derive(Copy, PartialEq, Eq, Hash)]
pub struct MpiPattern {
    bits: u64,
    care: u64,
    stream: Stream,
}

/// Copies word by word, as a pattern is written. Copying in one piece would use loads wider than the
/// stores, and such a load waits until the stores have reached the cache: some 10 ns for a receive
/// that is taken soon after it was posted.
#[expect(clippy::non_canonical_clone_impl, reason = "that copies in one piece")]
impl Clone for MpiPattern {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self {
            bits: by_itself(self.bits),
            care: by_itself(self.care),
            stream: Stream(by_itself(self.stream.0)),
        }
    }
}

impl MpiPattern {
    /// A receive from `source` with a tag that `tag` admits, of point-to-point class.
    ///
    /// A number is that tag, negative ones included: the value of a library's `MPI_ANY_TAG`, often -1, has to be
    /// translated into [`TagSelector::Any`].
    ///
    /// A pattern with ignored tag bits has the class [`TrafficClass::Unknown`] if it can match
    /// negative tags, since those are collective traffic.
    #[inline]
    pub fn new(
        context: impl Into<ContextId>,
        source: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Self {
        let (source_bits, source_care) = match source.into() {
            Source::Any => (0, 0),
            Source::Rank(Rank(rank)) => (pack(rank, 0), SOURCE_BITS),
        };
        let (tag_bits, tag_care) = match tag.into() {
            TagSelector::Exact(tag) => (pack(0, tag.0), TAG_BITS),
            TagSelector::Any => (0, TAG_SIGN),
            TagSelector::Masked { wanted, ignore } => {
                let care = TAG_BITS & !u64::from(ignore);
                (pack(0, wanted.0) & care, care)
            }
        };
        let exact = tag_care == TAG_BITS;
        let never_negative = tag_care & TAG_SIGN != 0 && tag_bits & TAG_SIGN == 0;
        let class = if exact || never_negative {
            TrafficClass::PointToPoint
        } else {
            TrafficClass::Unknown
        };
        Self {
            bits: source_bits | tag_bits,
            care: source_care | tag_care,
            stream: Stream::new(context.into().0, class),
        }
    }

    /// The same receive as part of a collective operation, for a receive that [`new`](Self::new) takes
    /// for point-to-point because it names its tag. See [`TrafficClass`]: every message that it can
    /// match has the same class.
    #[inline]
    #[must_use]
    pub const fn with_class(mut self, class: TrafficClass) -> Self {
        self.stream = Stream::new(self.stream.context(), class);
        self
    }

    /// The communicator.
    #[inline(always)]
    #[must_use]
    pub const fn context(&self) -> ContextId {
        ContextId(self.stream.context())
    }

    /// The source this receive admits.
    #[inline(always)]
    #[must_use]
    pub const fn source(&self) -> Source {
        if self.care >> 32 == 0 {
            Source::Any
        } else {
            Source::Rank(Rank(high(self.bits)))
        }
    }

    /// The traffic class.
    #[inline(always)]
    #[must_use]
    pub const fn class(&self) -> TrafficClass {
        self.stream.class()
    }

    /// The tags this receive admits.
    #[must_use]
    pub const fn tag(&self) -> TagSelector {
        let care = self.care & TAG_BITS;
        let wanted = Tag(low(self.bits));
        if care == TAG_BITS {
            TagSelector::Exact(wanted)
        } else if care == TAG_SIGN && wanted.0 == 0 {
            TagSelector::Any
        } else {
            TagSelector::Masked {
                wanted,
                ignore: !low(care).cast_unsigned(),
            }
        }
    }
}

impl Pattern for MpiPattern {
    type Envelope = MpiEnvelope;

    #[inline(always)]
    fn context(&self) -> ContextId {
        self.context()
    }
    #[inline(always)]
    fn source(&self) -> Source {
        self.source()
    }
    #[inline(always)]
    fn least_rank(&self) -> Rank {
        // Bits that do not matter are 0.
        Rank(high(self.bits))
    }
    #[inline(always)]
    fn bits(&self) -> u64 {
        self.bits
    }
    #[inline(always)]
    fn care(&self) -> u64 {
        self.care
    }
    #[inline(always)]
    fn any_tag(&self) -> bool {
        self.care & TAG_BITS != TAG_BITS
    }
    #[inline(always)]
    fn class(&self) -> TrafficClass {
        self.stream.class()
    }
}

impl fmt::Debug for MpiPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MpiPattern({} {} ", self.context(), self.source())?;
        match self.tag() {
            TagSelector::Exact(tag) => write!(f, "{tag}")?,
            TagSelector::Any => f.write_str("*")?,
            TagSelector::Masked { wanted, ignore } => write!(f, "{wanted}/{ignore:#x}")?,
        }
        write!(f, ", {})", self.class())
    }
}

/// A context and a class in one word. It has no invalid value that the compiler could use as a niche,
/// so an envelope is copied word by word, whatever it is part of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Stream(u64);

impl Stream {
    #[inline(always)]
    const fn new(context: u32, class: TrafficClass) -> Self {
        Self((class as u64) << 32 | context as u64)
    }

    #[inline(always)]
    const fn context(self) -> u32 {
        (self.0 & 0xffff_ffff) as u32
    }

    #[inline(always)]
    const fn class(self) -> TrafficClass {
        TrafficClass::ALL[(self.0 >> 32) as usize]
    }
}

/// The same word. The compiler recognises that only after it has given up copying the whole value in
/// one piece.
#[inline(always)]
const fn by_itself(word: u64) -> u64 {
    word.rotate_left(32).rotate_left(32)
}

#[inline(always)]
const fn pack(source: u32, tag: i32) -> u64 {
    (source as u64) << 32 | tag.cast_unsigned() as u64
}

#[inline(always)]
const fn high(bits: u64) -> u32 {
    (bits >> 32) as u32
}

#[inline(always)]
const fn low(bits: u64) -> i32 {
    (bits & TAG_BITS) as u32 as i32
}

#[cfg(test)]
mod tests;
