//! Patterns: what a receive asks for, and the rule of matching.

use core::fmt;

use crate::envelope::{ContextId, Envelope, MatchBits, Rank, TrafficClass};

/// The source a receive asks for. MPI 4.1 §3.2.4.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// `MPI_ANY_SOURCE`.
    Any,
    /// One sender.
    Rank(Rank),
}

impl From<u32> for Source {
    fn from(rank: u32) -> Self {
        Self::Rank(Rank(rank))
    }
}

impl From<Rank> for Source {
    fn from(rank: Rank) -> Self {
        Self::Rank(rank)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.pad("*"),
            Self::Rank(rank) => rank.fmt(f),
        }
    }
}

/// The word type of a pattern's envelopes.
pub type BitsOf<P> = <<P as Pattern>::Envelope as Envelope>::Bits;

/// What a receive asks for: a context, and a masked comparison with an envelope's bits.
///
/// For instance, a header with an 8-bit source and a 16-bit tag packs them as `source << 16 | tag`. A
/// receive from any source with tag 5 has the bits `5` and cares about `0xffff`; one from source 2 with
/// any tag has the bits `2 << 16` and cares about `0xff_0000`; one from source 2 with tag 5 has the bits
/// `2 << 16 | 5` and cares about all 64 bits, even those that are never set. That is how structures tell
/// it from a receive with a wildcard, which is searched for in more places.
///
/// # Example
/// ```
/// use mq_core::structures::Indexed;
/// use mq_core::{
///     ContextId, ContextOptions, Engine, Envelope, MatchBits, Pattern, Post, Rank, Source,
/// };
///
/// #[derive(Clone, Copy, Debug)]
/// struct Header {
///     source: u8,
///     tag: u16,
/// }
///
/// impl Envelope for Header {
///     type Bits = u64;
///     fn context(&self) -> ContextId {
///         ContextId(0)
///     }
///     fn source(&self) -> Rank {
///         Rank(self.source.into())
///     }
///     fn bits(&self) -> u64 {
///         u64::from(self.source) << 16 | u64::from(self.tag)
///     }
/// }
///
/// #[derive(Clone, Copy, Debug)]
/// struct Wanted {
///     source: Option<u8>,
///     tag: Option<u16>,
/// }
///
/// impl Pattern for Wanted {
///     type Envelope = Header;
///     fn context(&self) -> ContextId {
///         ContextId(0)
///     }
///     fn source(&self) -> Source {
///         self.source.map_or(Source::Any, |source| Source::Rank(Rank(source.into())))
///     }
///     fn bits(&self) -> u64 {
///         u64::from(self.source.unwrap_or(0)) << 16 | u64::from(self.tag.unwrap_or(0))
///     }
///     fn care(&self) -> u64 {
///         match (self.source, self.tag) {
///             (Some(_), Some(_)) => u64::ALL,
///             (Some(_), None) => 0xff_0000,
///             (None, Some(_)) => 0xffff,
///             (None, None) => 0,
///         }
///     }
///     fn any_tag(&self) -> bool {
///         self.tag.is_none()
///     }
/// }
///
/// let mut engine: Engine<Indexed<Wanted, &str, ()>> = Engine::new();
/// engine.create_context(0, ContextOptions::new())?;
/// let _ = engine.arrive(Header { source: 2, tag: 9 }, ())?;
/// let _ = engine.arrive(Header { source: 2, tag: 5 }, ())?;
/// let wanted = Wanted { source: Some(2), tag: Some(5) };
/// assert!(matches!(engine.post(wanted, "the second")?, Post::Matched { .. }));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
/// The example `custom_envelope` also has contexts, and selects tags by their first bits.
///
/// # Contract
/// If `source` is a rank, every envelope that the pattern matches comes from that rank: structures choose a queue by
/// it. Bits that the pattern does not care about may have any value. Neither a method nor `Clone` may panic, as for an
/// [`Envelope`].
pub trait Pattern: Copy + fmt::Debug {
    /// The envelopes this pattern is compared with.
    type Envelope: Envelope;

    /// The communicator; there is no wildcard for it.
    fn context(&self) -> ContextId;
    /// The sender's rank, or any.
    fn source(&self) -> Source;
    /// The source, or rank 0 for any source.
    #[inline(always)]
    fn least_rank(&self) -> Rank {
        match self.source() {
            Source::Any => Rank(0),
            Source::Rank(rank) => rank,
        }
    }
    /// The wanted source and tag, packed as in [`Envelope::bits`].
    fn bits(&self) -> BitsOf<Self>;
    /// The bits that must be equal; all 64 or 128, including unused ones, for a fully specified receive. Few
    /// different ones are best: [`Indexed`](crate::structures::Indexed) has an index for each of the first
    /// seven, and compares receives with others one by one.
    fn care(&self) -> BitsOf<Self>;
    /// Whether more than one tag can match (refused where `no_any_tag` was promised). Also true of a
    /// receive that leaves open anything else that distinguishes one sender's messages: where both wildcards
    /// are promised away, a `SharedEngine` relies on receives being matched by equality.
    fn any_tag(&self) -> bool;
    /// The operation the receive belongs to; [`TrafficClass::Unknown`] if it may be one of several.
    fn class(&self) -> TrafficClass {
        TrafficClass::PointToPoint
    }
}

/// Whether a receive takes a message: equal contexts, and equal bits where the pattern cares.
///
/// Every structure follows this rule, most of them by calling this function. `indexed`, and the code
/// that searches it, apply the rule themselves: inner loops compare only what is not known yet. MPI 4.1
/// §3.2.4: a source or `ANY_SOURCE` and a tag or `ANY_TAG` are both such masks (see [`mpi`](crate::mpi)).
///
/// # Cost
/// One comparison of contexts, and a masked one of the packed words.
#[inline(always)]
pub fn matches<P: Pattern>(pattern: &P, envelope: &P::Envelope) -> bool {
    pattern.context() == envelope.context()
        && (pattern.bits() ^ envelope.bits()) & pattern.care() == MatchBits::ZERO
}
