//! The two envelope families in which steps are taken.

use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::tagged::{TaggedEnvelope, TaggedPattern};
use mq_core::{Pattern, Source, Tag, TrafficClass};

use super::step::{Carried, Wanted};

/// How a family expresses steps.
pub(super) trait Family {
    type Pattern: Pattern;
    fn pattern(wanted: &Wanted) -> Self::Pattern;
    fn envelope(carried: &Carried) -> <Self::Pattern as Pattern>::Envelope;
}

/// Context, rank, 32-bit tag.
pub(super) struct Mpi;

impl Family for Mpi {
    type Pattern = MpiPattern;

    fn pattern(wanted: &Wanted) -> MpiPattern {
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

/// 64-bit tag and ignore mask. The even bits of the MPI tag are in the upper half and the odd ones in the
/// lower, each once, so that looking at only one half confuses tags. The sign is also in the lowest bit, as
/// in a runtime that wants "any tag >= 0" to be a mask.
pub(super) struct Tagged;

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

impl Family for Tagged {
    type Pattern = TaggedPattern;

    fn pattern(wanted: &Wanted) -> TaggedPattern {
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
