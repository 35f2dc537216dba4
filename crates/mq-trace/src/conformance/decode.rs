//! Steps from bytes: for fuzzers, and for random runs from a seed.

use mq_core::mpi::TagSelector;
use mq_core::{Rank, Source, Tag};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::step::{Carried, Step, Wanted};
use super::{CONTEXTS, RANKS};

/// Bytes of one step.
const STEP_BYTES: usize = 4;

/// Reads steps from bytes, four a step; every input is valid.
///
/// Few distinct tags and ranks are used, so that most operations have something to match.
pub fn decode(bytes: &[u8]) -> Vec<Step> {
    let mut receives = 0;
    let chunks = bytes.chunks_exact(STEP_BYTES);
    chunks
        .map(|chunk| {
            let step = decode_step([chunk[0], chunk[1], chunk[2], chunk[3]], receives);
            receives += u32::from(matches!(step, Step::Post(_)));
            step
        })
        .collect()
}

/// A sequence of `length` random steps, the same for the same seed.
pub fn random_steps(seed: u64, length: usize) -> Vec<Step> {
    let mut bytes = vec![0; length * STEP_BYTES];
    StdRng::seed_from_u64(seed).fill_bytes(&mut bytes);
    decode(&bytes)
}

fn decode_step([what, place, key, extra]: [u8; STEP_BYTES], receives: u32) -> Step {
    let comm = u32::from(place) % CONTEXTS;
    let source = u32::from(key) % RANKS;
    let carried = Carried {
        comm,
        source,
        tag: tag(extra),
    };
    let wanted = Wanted {
        comm,
        source: if place & 0x60 == 0 {
            Source::Any
        } else {
            Source::Rank(Rank(source))
        },
        tag: selector(place, extra),
    };
    match what {
        0..96 => Step::Post(wanted),
        96..190 => Step::Arrive(carried),
        190..205 => Step::Probe(wanted),
        205..215 => Step::Extract(wanted),
        215..222 => Step::Deliver(carried),
        // Mostly recent receives, of which some have left.
        222..247 => Step::Cancel(receives.saturating_sub(u32::from(key) % 24)),
        247..249 => Step::PurgeContext(comm),
        249..252 => Step::PurgeSource(comm, source),
        252.. => Step::Announce(comm, -12 - i32::from(extra % 3), 1 << (key % 12)),
    }
}

/// Four tags of the application, and four of collectives.
fn tag(extra: u8) -> i32 {
    match extra % 8 {
        small @ 0..4 => i32::from(small),
        4 => i32::MAX,
        collective => -7 - i32::from(collective),
    }
}

fn selector(place: u8, extra: u8) -> TagSelector {
    match place >> 5 {
        1 | 4 => TagSelector::Any,
        2 => TagSelector::Masked {
            wanted: Tag(tag(extra)),
            ignore: MASKS[usize::from(extra >> 4)],
        },
        _ => TagSelector::Exact(Tag(tag(extra))),
    }
}

/// More masks than any structure keeps an index for.
const MASKS: [u32; 16] = [
    1,
    2,
    3,
    !0,
    0x8000_0000,
    0x7fff_ffff,
    0,
    4,
    5,
    6,
    7,
    0xff,
    0xf0,
    0x8000_0001,
    0x8000_0003,
    !1,
];
