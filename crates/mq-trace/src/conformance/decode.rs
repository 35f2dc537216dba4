//! Steps from bytes: for fuzzers, and for random runs from a seed.

use mq_core::mpi::TagSelector;
use mq_core::{Rank, Source, Tag};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::step::{Carried, Step, Wanted};
use super::{CONTEXTS, RANKS};

/// The most ranks that a run uses, spread over all ranks.
const DIFFERENT: u32 = 40;

/// Sizes that contexts get while they are in use.
const SIZES: [u32; 4] = [RANKS, RANKS + 1, 1000, 70_000];

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
            ranks: [1, 3, 10, DIFFERENT][usize::from(ranks % 4)],
            tags: 1 + tags % 8,
        }
    }
}

/// Reads steps from bytes: four bytes that limit how many contexts, ranks and tags there are, then four
/// per step. Every input is valid.
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
#[must_use]
pub fn random_steps(seed: u64, length: usize) -> Vec<Step> {
    let mut bytes = vec![0; (length + 1) * STEP_BYTES];
    StdRng::seed_from_u64(seed).fill_bytes(&mut bytes);
    decode(&bytes)
}

fn decode_step([what, place, key, extra]: [u8; 4], limits: &Limits, receives: u32) -> Step {
    let comm = u32::from(place) % limits.contexts;
    // Each rank has its own line in structures with several dimensions; few are in numerical order.
    let rank = u32::from(key) % limits.ranks * 97 % RANKS;
    let tag = tag(extra, limits);
    let carried = Carried {
        comm,
        source: rank,
        tag,
    };
    let named = Source::Rank(Rank(rank));
    let exact = TagSelector::Exact(Tag(tag));
    let masked = TagSelector::Masked {
        wanted: Tag(tag),
        ignore: MASKS[usize::from(extra >> 4)],
    };
    let (source, tag) = match place >> 5 {
        0 => (Source::Any, exact),
        1 => (named, TagSelector::Any),
        2 => (named, masked),
        4 => (Source::Any, TagSelector::Any),
        5 => (Source::Any, masked),
        _ => (named, exact),
    };
    let wanted = Wanted { comm, source, tag };
    match what {
        0..66 => Step::Post(wanted),
        66..96 => Step::PostHalves(wanted),
        96..160 => Step::Arrive(carried),
        160..190 => Step::ArriveHalves(carried),
        190..203 => Step::Probe(wanted),
        203..209 => Step::Extract(wanted),
        209..215 => Step::Take(wanted),
        215..222 => Step::Deliver(carried),
        // Recent receives, some of them still queued, and old ones, most of which have left.
        222..238 => Step::Cancel(receives.saturating_sub(u32::from(key) % 24)),
        238..246 => Step::Cancel(receives * u32::from(key) / 256),
        246 if key < 64 => Step::Clear,
        246 if key < 160 => Step::Resize(comm, SIZES[usize::from(extra % 4)]),
        246..249 => Step::PurgeContext(comm),
        249..252 => Step::PurgeSource(comm, rank),
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_kinds_of_steps_and_all_numbers_of_contexts_occur() {
        let mut contexts = [false; CONTEXTS as usize];
        let mut kinds = BTreeSet::new();
        let mut wildcards = BTreeSet::new();
        for seed in 0..200 {
            let steps = random_steps(seed, 300);
            let posted: Vec<_> = steps
                .iter()
                .filter_map(|step| match step {
                    Step::Post(wanted) | Step::PostHalves(wanted) => Some(wanted),
                    _ => None,
                })
                .collect();
            let used = posted.iter().map(|wanted| wanted.comm);
            contexts[used.max().unwrap_or(0) as usize] = true;
            wildcards.extend(posted.iter().map(|wanted| {
                let selector = match wanted.tag {
                    TagSelector::Exact(_) => "exact",
                    TagSelector::Any => "any",
                    TagSelector::Masked { .. } => "masked",
                };
                (wanted.source == Source::Any, selector)
            }));
            kinds.extend(
                steps
                    .iter()
                    .filter_map(|step| step.to_string().chars().next()),
            );
        }
        assert_eq!(contexts, [true; CONTEXTS as usize]);
        assert_eq!(kinds.into_iter().collect::<String>(), "APabdgmprtuxz");
        assert_eq!(wildcards.len(), 2 * 3, "{wildcards:?}");
    }
}
