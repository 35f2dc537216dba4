//! Steps from bytes: for fuzzers, and for random runs from a seed.

use mq_core::mpi::TagSelector;
use mq_core::{Rank, Source, Tag};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::step::{Carried, Step, Wanted};
use super::{CONTEXTS, RANKS};

/// Bytes of one step, and of the limits before the first.
const STEP_BYTES: usize = 4;

/// How many different contexts, ranks and tags a run uses. Few make most operations match, many
/// make long queues.
struct Limits {
    contexts: u32,
    ranks: u32,
    tags: u8,
}

impl Limits {
    fn decode(bytes: [u8; STEP_BYTES]) -> Self {
        let [contexts, ranks, tags, _] = bytes;
        Self {
            contexts: 1 + u32::from(contexts) % CONTEXTS,
            ranks: [1, 3, 10, RANKS][usize::from(ranks % 4)],
            tags: 1 + tags % 8,
        }
    }
}

/// Reads steps from bytes: four that limit how many contexts, ranks and tags there are, then four a
/// step. Every input is valid.
pub fn decode(bytes: &[u8]) -> Vec<Step> {
    let mut chunks = bytes.chunks_exact(STEP_BYTES).map(|chunk| {
        let mut four = [0; STEP_BYTES];
        four.copy_from_slice(chunk);
        four
    });
    let Some(limits) = chunks.next().map(Limits::decode) else {
        return Vec::new();
    };
    let mut receives = 0;
    chunks
        .map(|chunk| {
            let step = decode_step(chunk, &limits, receives);
            receives += u32::from(matches!(step, Step::Post(_) | Step::PostHalves(_)));
            step
        })
        .collect()
}

/// A sequence of `length` random steps, the same for the same seed.
pub fn random_steps(seed: u64, length: usize) -> Vec<Step> {
    let mut bytes = vec![0; (length + 1) * STEP_BYTES];
    StdRng::seed_from_u64(seed).fill_bytes(&mut bytes);
    decode(&bytes)
}

fn decode_step([what, place, key, extra]: [u8; 4], limits: &Limits, receives: u32) -> Step {
    let comm = u32::from(place) % limits.contexts;
    let source = u32::from(key) % limits.ranks;
    let carried = Carried {
        comm,
        source,
        tag: tag(extra, limits),
    };
    let wanted = Wanted {
        comm,
        source: if place & 0x60 == 0 {
            Source::Any
        } else {
            Source::Rank(Rank(source))
        },
        tag: selector(place, extra, limits),
    };
    match what {
        0..66 => Step::Post(wanted),
        66..96 => Step::PostHalves(wanted),
        96..160 => Step::Arrive(carried),
        160..190 => Step::ArriveHalves(carried),
        190..203 => Step::Probe(wanted),
        203..209 => Step::Extract(wanted),
        209..215 => Step::Take(wanted),
        215..222 => Step::Deliver(carried),
        // Recent receives, of which some are still queued, and old ones, of which most have left.
        222..238 => Step::Cancel(receives.saturating_sub(u32::from(key) % 24)),
        238..246 => Step::Cancel(receives * u32::from(key) / 256),
        246 if key < 64 => Step::Clear,
        246..249 => Step::PurgeContext(comm),
        249..252 => Step::PurgeSource(comm, source),
        252.. => Step::Announce(comm, -12 - i32::from(extra % 3), 1 << (key % 12)),
    }
}

/// Up to four tags of the application, and four of collectives.
fn tag(extra: u8, limits: &Limits) -> i32 {
    match extra % limits.tags {
        collective @ (1 | 3 | 5 | 7) => -11 - i32::from(collective / 2),
        6 => i32::MAX,
        application => i32::from(application),
    }
}

fn selector(place: u8, extra: u8, limits: &Limits) -> TagSelector {
    match place >> 5 {
        1 | 4 => TagSelector::Any,
        2 => TagSelector::Masked {
            wanted: Tag(tag(extra, limits)),
            ignore: MASKS[usize::from(extra >> 4)],
        },
        _ => TagSelector::Exact(Tag(tag(extra, limits))),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_of_steps_and_all_numbers_of_contexts_occur() {
        let mut contexts = [false; CONTEXTS as usize];
        let mut kinds = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let steps = random_steps(seed, 300);
            let used = steps.iter().filter_map(|step| match step {
                Step::Post(wanted) | Step::PostHalves(wanted) => Some(wanted.comm),
                _ => None,
            });
            contexts[used.max().unwrap_or(0) as usize] = true;
            kinds.extend(
                steps
                    .iter()
                    .filter_map(|step| step.to_string().chars().next()),
            );
        }
        assert_eq!(contexts, [true; CONTEXTS as usize]);
        assert_eq!(kinds.into_iter().collect::<String>(), "APabdgmptuxz");
    }
}
