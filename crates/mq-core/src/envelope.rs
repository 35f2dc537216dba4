//! Envelopes: what a message carries, and the fields it is made of.
//!
//! A runtime keeps its own header type and implements [`Envelope`] for it. Two ready-made families:
//! [`mpi`](crate::mpi) and [`tagged`](crate::tagged).

use core::fmt;
use core::hash::Hash;
use core::ops::{BitAnd, BitXor, Not};

/// The communicator (context id) of a message: matching never crosses contexts.
///
/// MPI 4.1 §3.2.3. Any `u32` works; small dense numbers are fastest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ContextId(pub u32);

/// The rank of a process within a communicator, from 0. MPI 4.1 §3.2.3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rank(pub u32);

/// An MPI message tag. A receive of any tag asks for [`TagSelector::Any`](crate::mpi::TagSelector::Any).
///
/// Tags below 0 are the library's own (collectives and fault tolerance travel on the same context
/// as the user's messages); `ANY_TAG` never matches them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Tag(pub i32);

/// Conversions of a newtype from and to its number.
macro_rules! number {
    ($type:ident, $number:ty) => {
        impl From<$number> for $type {
            #[inline(always)]
            fn from(number: $number) -> Self {
                Self(number)
            }
        }

        impl From<$type> for $number {
            #[inline(always)]
            fn from(named: $type) -> Self {
                named.0
            }
        }
    };
}
number!(ContextId, u32);
number!(Rank, u32);
number!(Tag, i32);

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

macro_rules! traffic_classes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $tag:literal;)*) => {
        /// What kind of operation a message belongs to.
        ///
        /// Structures that keep collective traffic apart (`col`, `col+pnp`) route by it; nothing
        /// matches by it. The class must therefore follow from what is matched: every message that
        /// a pattern can match has the pattern's class, or the pattern says
        /// [`Unknown`](Self::Unknown) and is tried against all classes.
        ///
        /// More classes may get names. A class's number, `class as u8`, is for tables in memory and may
        /// differ between versions of this crate; the C interface has its own, stable numbers.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum TrafficClass {
            /// A send and a receive called by the application.
            #[default]
            PointToPoint,
            /// A collective that has no name here: neighbourhood, non-blocking, fault tolerance.
            OtherCollective,
            $($(#[$doc])* $variant,)*
            /// A pattern that may match messages of several classes. Never an envelope's class.
            Unknown,
        }

        impl TrafficClass {
            /// Every class, in declaration order; a class is `ALL[class as usize]`.
            pub const ALL: &[Self] = &[
                Self::PointToPoint, Self::OtherCollective, $(Self::$variant,)* Self::Unknown,
            ];

            /// The class whose `class as u32` is `number`.
            #[inline]
            pub const fn numbered(number: u32) -> Option<Self> {
                match number {
                    _ if number == Self::PointToPoint as u32 => Some(Self::PointToPoint),
                    _ if number == Self::OtherCollective as u32 => Some(Self::OtherCollective),
                    $(_ if number == Self::$variant as u32 => Some(Self::$variant),)*
                    _ if number == Self::Unknown as u32 => Some(Self::Unknown),
                    _ => None,
                }
            }

            /// The class that Open MPI 5 encodes in a negative tag; tags >= 0 are point-to-point.
            pub const fn from_open_mpi_tag(tag: Tag) -> Self {
                match tag.0 {
                    0.. => Self::PointToPoint,
                    $($tag => Self::$variant,)*
                    _ => Self::OtherCollective,
                }
            }

            /// A lower-case name for tables, such as `allreduce`.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::PointToPoint => "point-to-point",
                    $(Self::$variant => $name,)*
                    Self::OtherCollective => "other collective",
                    Self::Unknown => "unknown",
                }
            }
        }
    };
}

traffic_classes! {
    /// `MPI_Allgather`, MPI 4.1 §6.7.
    Allgather = "allgather", -10;
    /// `MPI_Allgatherv`, MPI 4.1 §6.7.
    Allgatherv = "allgatherv", -11;
    /// `MPI_Allreduce`, MPI 4.1 §6.9.6.
    Allreduce = "allreduce", -12;
    /// `MPI_Alltoall`, MPI 4.1 §6.8.
    Alltoall = "alltoall", -13;
    /// `MPI_Alltoallv`, MPI 4.1 §6.8.
    Alltoallv = "alltoallv", -14;
    /// `MPI_Alltoallw`, MPI 4.1 §6.8.
    Alltoallw = "alltoallw", -15;
    /// `MPI_Barrier`, MPI 4.1 §6.3.
    Barrier = "barrier", -16;
    /// `MPI_Bcast`, MPI 4.1 §6.4.
    Broadcast = "broadcast", -17;
    /// `MPI_Exscan`, MPI 4.1 §6.11.
    Exscan = "exscan", -18;
    /// `MPI_Gather`, MPI 4.1 §6.5.
    Gather = "gather", -19;
    /// `MPI_Gatherv`, MPI 4.1 §6.5.
    Gatherv = "gatherv", -20;
    /// `MPI_Reduce`, MPI 4.1 §6.9.
    Reduce = "reduce", -21;
    /// `MPI_Reduce_scatter`, MPI 4.1 §6.10.
    ReduceScatter = "reduce-scatter", -22;
    /// `MPI_Reduce_scatter_block`, MPI 4.1 §6.10.
    ReduceScatterBlock = "reduce-scatter-block", -23;
    /// `MPI_Scan`, MPI 4.1 §6.11.
    Scan = "scan", -24;
    /// `MPI_Scatter`, MPI 4.1 §6.6.
    Scatter = "scatter", -25;
    /// `MPI_Scatterv`, MPI 4.1 §6.6.
    Scatterv = "scatterv", -26;
}

impl TrafficClass {
    /// How many classes there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Whether this is traffic of a collective operation.
    #[must_use]
    pub const fn is_collective(self) -> bool {
        !matches!(self, Self::PointToPoint | Self::Unknown)
    }
}

impl fmt::Display for TrafficClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The machine word in which an envelope packs all that must match besides its context.
///
/// Implemented for `u64` (MPI: source and tag) and `u128` (source and a 64-bit tag).
pub trait MatchBits:
    Copy
    + Eq
    + Hash
    + fmt::Debug
    + fmt::LowerHex
    + BitXor<Output = Self>
    + BitAnd<Output = Self>
    + Not<Output = Self>
    + sealed::Sealed
{
    /// No bit set.
    const ZERO: Self;
    /// All bits set.
    const ALL: Self;
    /// The word in 64 bits, for a hash that spreads them: the word itself if it fits, otherwise its
    /// [`digest`](Self::digest).
    fn fold(self, seed: u64) -> u64;
    /// A 64-bit digest for hashing. Equal words have equal digests under equal seeds; without knowing
    /// the seed, nobody can choose many words with the same digest.
    fn digest(self, seed: u64) -> u64;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u64 {}
    impl Sealed for u128 {}
}

impl MatchBits for u64 {
    const ZERO: Self = 0;
    const ALL: Self = !0;
    #[inline(always)]
    fn fold(self, _: u64) -> u64 {
        self
    }
    #[inline(always)]
    fn digest(self, seed: u64) -> u64 {
        self ^ seed
    }
}

impl MatchBits for u128 {
    const ZERO: Self = 0;
    const ALL: Self = !0;
    #[inline(always)]
    fn fold(self, seed: u64) -> u64 {
        self.digest(seed)
    }
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
    fn digest(self, seed: u64) -> u64 {
        // Adding a secret to each half before they are multiplied keeps a pair (high, low) from
        // cancelling another. Each half is added once more, in case the other makes the product 0.
        let low = (self as u64) ^ seed;
        let high = ((self >> 64) as u64) ^ seed.rotate_left(32) ^ 0x9e37_79b9_7f4a_7c15;
        let product = u128::from(low) * u128::from(high);
        (product as u64) ^ (product >> 64) as u64 ^ low ^ high.rotate_left(32)
    }
}

/// What a message carries for matching: small, `Copy`, and never a wildcard.
///
/// [`bits`](Self::bits) packs everything that must match besides the context; a
/// [`Pattern`](crate::Pattern) is compared with it under a mask, by
/// the rule of [`matches()`](crate::matches).
///
/// # Contract
/// `source` and `class` are functions of what is matched: two envelopes with equal context and bits have equal source
/// and class. Neither a method nor `Clone` may panic: an engine that was moving entries could lose some of them.
pub trait Envelope: Copy + fmt::Debug {
    /// The word that holds all that must match besides the context: the source, the tag, and
    /// whatever else tells messages apart. `u64` or `u128`.
    type Bits: MatchBits;

    /// The communicator.
    fn context(&self) -> ContextId;
    /// The sender's rank.
    fn source(&self) -> Rank;
    /// All that must match besides the context, packed. The source is part of it: a pattern that
    /// names a source cares about its bits.
    fn bits(&self) -> Self::Bits;
    /// The operation the message belongs to.
    fn class(&self) -> TrafficClass {
        TrafficClass::PointToPoint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_found_by_its_number() {
        for (number, &class) in (0..).zip(TrafficClass::ALL) {
            assert_eq!(class as u32, number);
            assert_eq!(TrafficClass::numbered(number), Some(class));
        }
        let classes = u32::try_from(TrafficClass::ALL.len()).unwrap_or(u32::MAX);
        assert_eq!(TrafficClass::numbered(classes), None);
        assert_eq!(TrafficClass::numbered(u32::MAX), None);
    }
}
