//! [`EnvelopeFamily`]: the patterns and envelopes in which steps are taken.

use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::tagged::{TaggedEnvelope, TaggedPattern};
use mq_core::{Pattern, Source, Tag, TrafficClass};

use super::step::{Carried, Wanted};

/// How steps are expressed in patterns and envelopes, for queues of a [`Pattern`] of your own.
///
/// Implement it for the pattern itself and call [`compare_all`](super::compare_all). Where that is not allowed, as in
/// an integration test, which is another crate than the pattern's, implement it for an empty type and call
/// [`compare_all_of`](super::compare_all_of).
///
/// # Contract
/// Context and source are those of the step: a [`Wanted`] without a source asks for any. An exact tag is for one tag
/// ([`Pattern::any_tag`] is false). How tags and masks are expressed is free, since the oracle too asks
/// [`matches`](mq_core::matches()), but a pattern for one source matches what the one for any source matches of it.
/// Equal steps give equal patterns. Ranks are below [`RANKS`](super::RANKS); tags may be negative.
///
/// # Example
/// Envelopes with the sender and a key in 64 bits, and patterns that leave the last bits of the key open:
/// ```
/// use mq_core::mpi::TagSelector;
/// use mq_core::structures::Indexed;
/// use mq_core::{ContextId, Envelope, MatchBits, Pattern, Rank, Source};
/// use mq_trace::conformance::{
///     Carried, EnvelopeFamily, Setup, Wanted, compare_all, random_steps,
/// };
///
/// #[derive(Clone, Copy, Debug)]
/// struct Parcel {
///     job: u32,
///     worker: u16,
///     key: u32,
/// }
///
/// impl Envelope for Parcel {
///     type Bits = u64;
///     fn context(&self) -> ContextId {
///         ContextId(self.job)
///     }
///     fn source(&self) -> Rank {
///         Rank(self.worker.into())
///     }
///     fn bits(&self) -> u64 {
///         u64::from(self.worker) << 32 | u64::from(self.key)
///     }
/// }
///
/// #[derive(Clone, Copy, Debug)]
/// struct Task {
///     job: u32,
///     worker: Option<u16>,
///     key: u32,
///     /// How many bits of the key may differ.
///     open: u32,
/// }
///
/// impl Task {
///     fn key_care(&self) -> u32 {
///         u32::MAX.checked_shl(self.open).unwrap_or(0)
///     }
/// }
///
/// impl Pattern for Task {
///     type Envelope = Parcel;
///     fn context(&self) -> ContextId {
///         ContextId(self.job)
///     }
///     fn source(&self) -> Source {
///         self.worker.map_or(Source::Any, |worker| Source::from(u32::from(worker)))
///     }
///     fn bits(&self) -> u64 {
///         u64::from(self.worker.unwrap_or(0)) << 32 | u64::from(self.key & self.key_care())
///     }
///     fn care(&self) -> u64 {
///         match (self.worker, self.open) {
///             (Some(_), 0) => u64::ALL,
///             (Some(_), _) => u64::from(u32::MAX) << 32 | u64::from(self.key_care()),
///             (None, _) => u64::from(self.key_care()),
///         }
///     }
///     fn any_tag(&self) -> bool {
///         self.open > 0
///     }
/// }
///
/// impl EnvelopeFamily for Task {
///     type Pattern = Self;
///     fn pattern(wanted: &Wanted) -> Self {
///         let (tag, open) = match wanted.tag {
///             TagSelector::Exact(tag) => (tag, 0),
///             TagSelector::Any => (0.into(), 32),
///             // Keys are open from the end only: up to the highest bit of the mask.
///             TagSelector::Masked { wanted, ignore } => (wanted, 32 - ignore.leading_zeros()),
///         };
///         let worker = match wanted.source {
///             Source::Any => None,
///             Source::Rank(rank) => Some(rank.0 as u16),
///         };
///         Self { job: wanted.comm, worker, key: tag.0.cast_unsigned(), open }
///     }
///     fn envelope(carried: &Carried) -> Parcel {
///         let key = carried.tag.cast_unsigned();
///         Parcel { job: carried.comm, worker: carried.source as u16, key }
///     }
/// }
///
/// for seed in 0..20 {
///     let steps = random_steps(seed, 200);
///     compare_all::<Indexed<Task, u32, u32>>(&Setup::small(), &steps)?;
/// }
/// # Ok::<(), mq_trace::conformance::Divergence>(())
/// ```
pub trait EnvelopeFamily {
    /// The pattern.
    type Pattern: Pattern;
    /// The pattern for what a step wants.
    fn pattern(wanted: &Wanted) -> Self::Pattern;
    /// The envelope for what a step carries.
    fn envelope(carried: &Carried) -> <Self::Pattern as Pattern>::Envelope;
}

/// Context, rank, 32-bit tag.
impl EnvelopeFamily for MpiPattern {
    type Pattern = Self;

    fn pattern(wanted: &Wanted) -> Self {
        let pattern = MpiPattern::new(wanted.comm, wanted.source, wanted.tag);
        match pattern.tag() {
            TagSelector::Exact(tag) => pattern.with_class(TrafficClass::from_open_mpi_tag(tag)),
            // The pattern knows itself which classes it can match.
            TagSelector::Any | TagSelector::Masked { .. } => pattern,
        }
    }

    fn envelope(carried: &Carried) -> MpiEnvelope {
        MpiEnvelope::new(carried.comm, carried.source, carried.tag).with_class(carried.class())
    }
}

const SIGN: u64 = 1;

/// Bits that are not those of the tag, the sign's not among them.
const CHANGED: u64 = 0x5a3c_96e4_c369_a53c;

/// Spreads the bits of a tag, or of a mask, over the word.
fn spread(bits: u32) -> u64 {
    const EVEN: u32 = 0x5555_5555;
    u64::from(bits & EVEN) << 32 | u64::from(bits & !EVEN)
}

fn widen(tag: Tag) -> u64 {
    (spread(tag.0.cast_unsigned()) ^ CHANGED) | u64::from(tag.0 < 0)
}

/// 64-bit tag and ignore mask. The even bits of the MPI tag are in the upper half and the odd ones in the
/// lower, each once, so that looking at only one half confuses tags. The sign is also in the lowest bit, as
/// in a runtime that wants "any tag >= 0" to be a mask.
impl EnvelopeFamily for TaggedPattern {
    type Pattern = Self;

    fn pattern(wanted: &Wanted) -> Self {
        let source: Source = wanted.source;
        let (tag, ignore) = match wanted.tag {
            TagSelector::Exact(tag) => (widen(tag), 0),
            TagSelector::Any => (0, !SIGN),
            TagSelector::Masked { wanted, ignore } => {
                let sign = u64::from(ignore >> 31);
                let ignore = spread(ignore) | sign;
                (widen(wanted), ignore)
            }
        };
        TaggedPattern::new(wanted.comm, source, tag, ignore).with_class(wanted.class())
    }

    fn envelope(carried: &Carried) -> TaggedEnvelope {
        let tag = widen(Tag(carried.tag));
        TaggedEnvelope::new(carried.comm, carried.source, tag).with_class(carried.class())
    }
}
