//! Streams of operations: those that fill the queues first, and those that are timed.

use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::{Source, Tag};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};

/// A step of a stream, in twelve bytes: long streams are read while they are timed; as patterns and
/// envelopes they would take more cache than the queues do.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Post(Key),
    PostAnySource(i32),
    PostAnyTag(u32),
    /// From any source, of any tag that ends in these three bits.
    PostAnyOf(i32),
    Arrive(Key),
}

/// What a step asks for.
pub(crate) enum Asked {
    Post(MpiPattern),
    Arrive(MpiEnvelope),
}

impl Step {
    #[inline(always)]
    pub(crate) fn asked(self) -> Asked {
        Asked::Post(match self {
            Self::Arrive((source, tag)) => {
                return Asked::Arrive(MpiEnvelope::new(0, source, tag));
            }
            Self::Post((source, tag)) => MpiPattern::new(0, source, tag),
            Self::PostAnySource(tag) => MpiPattern::new(0, Source::Any, tag),
            Self::PostAnyTag(source) => MpiPattern::new(0, source, TagSelector::Any),
            Self::PostAnyOf(tag) => {
                let tag_bits = TagSelector::Masked {
                    wanted: Tag(tag),
                    ignore: !0x8000_0007,
                };
                MpiPattern::new(0, Source::Any, tag_bits)
            }
        })
    }

    /// Sender and tag, if it names both.
    #[inline(always)]
    pub(crate) fn key(self) -> Option<Key> {
        match self {
            Self::Post(key) | Self::Arrive(key) => Some(key),
            Self::PostAnySource(_) | Self::PostAnyTag(_) | Self::PostAnyOf(_) => None,
        }
    }
}

/// Steps that leave the queues as they found them, after others that fill them once.
pub(crate) struct Stream {
    pub(crate) fill: Vec<Step>,
    pub(crate) steps: Vec<Step>,
    /// After this many steps the queues are as long as before: a pair for a steady queue, or a queue
    /// filled and drained.
    pub(crate) unit: usize,
    /// How often the steps are repeated in one measurement.
    pub(crate) rounds: u32,
}

/// The fewest pairs in one measurement.
const PAIRS: u32 = 16_384;

/// The fewest pairs of a steady queue. If the same 4,096 pairs repeat, a processor learns every branch,
/// which no program lets it do.
const NOT_BY_HEART: u32 = 65_536;

/// The smallest communicator.
const FEWEST_RANKS: u32 = 64;

/// The fewest pairs passed in one call, so that the call itself does not matter.
const AT_ONCE: usize = 2048;

impl Stream {
    fn repeated(fill: Vec<Step>, steps: &[Step]) -> Self {
        let unit = steps.len();
        let copies = AT_ONCE.div_ceil(unit / 2);
        let steps = steps.repeat(copies);
        let pairs = u32::try_from(steps.len() / 2).unwrap_or(u32::MAX);
        Self {
            fill,
            steps,
            unit,
            rounds: (PAIRS / pairs).max(1),
        }
    }

    /// Ranks of a communicator that holds all senders, a power of two.
    pub(crate) fn ranks(&self) -> u32 {
        let steps = self.fill.iter().chain(&self.steps);
        let sources = steps.map(|step| match *step {
            Step::PostAnySource(_) | Step::PostAnyOf(_) => 0,
            Step::PostAnyTag(source) | Step::Post((source, _)) | Step::Arrive((source, _)) => {
                source
            }
        });
        (sources.max().unwrap_or(0) + 1)
            .next_power_of_two()
            .max(FEWEST_RANKS)
    }
}

/// What the entries of a queue differ in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Source,
    Tag,
}

/// The order in which a queue is searched, against that in which it was filled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Forward,
    Reverse,
    Random,
}

/// Which queue is filled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    Posted,
    Unexpected,
}

/// A sender and a tag.
pub(crate) type Key = (u32, i32);

pub(crate) fn keys(by: By, depth: u32) -> Vec<Key> {
    (0..depth)
        .map(|i| match by {
            By::Source => (i, 7),
            By::Tag => (3, i.cast_signed()),
        })
        .collect()
}

pub(crate) fn random(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

/// Fills a queue with the keys and drains it in an order.
pub(crate) fn fill_and_drain(queue: Queue, keys: &[Key], order: Order) -> Stream {
    let mut drained = keys.to_vec();
    match order {
        Order::Forward => {}
        Order::Reverse => drained.reverse(),
        Order::Random => drained.shuffle(&mut random(1)),
    }
    let messages = |keys: Vec<Key>| keys.into_iter().map(Step::Arrive);
    let receives = |keys: Vec<Key>| keys.into_iter().map(Step::Post);
    let steps = match queue {
        Queue::Posted => receives(keys.to_vec())
            .chain(messages(drained))
            .collect::<Vec<_>>(),
        Queue::Unexpected => messages(keys.to_vec()).chain(receives(drained)).collect(),
    };
    Stream::repeated(Vec::new(), &steps)
}

/// The same with receives from any source.
pub(crate) fn from_any_source(mut stream: Stream) -> Stream {
    for step in stream.fill.iter_mut().chain(&mut stream.steps) {
        if let Step::Post((_, tag)) = *step {
            *step = Step::PostAnySource(tag);
        }
    }
    stream
}

/// What a receive of a mix leaves open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wild {
    Source,
    Tag,
    Both,
}

/// The receive, of a class of wildcards, that takes the message with this key.
fn wild_receive(wild: Wild, (source, tag): Key) -> Step {
    match wild {
        Wild::Source => Step::PostAnySource(tag),
        Wild::Tag => Step::PostAnyTag(source),
        // A receive that named neither source nor tag would take everything; so this one names three bits
        // of the tag, one of which is set aside for wildcards.
        Wild::Both => Step::PostAnyOf(tag & 3),
    }
}

/// A queue of constant length: each step takes an entry, chosen at random, and puts it back as the
/// latest. `percent` of the entries belong to wildcard receives.
///
/// Every entry has its own source and tag, so a message is taken by the receive meant for it or, with
/// `Wild::Both`, by one of a quarter of the wildcards, all alike.
pub(crate) fn steady(queue: Queue, depth: u32, wild: Wild, percent: u32) -> Stream {
    let mut random = random(2);
    let is_wild: Vec<bool> = (0..depth)
        .map(|_| random.random_range(0..100) < percent)
        .collect();
    let keys: Vec<Key> = (0..)
        .zip(&is_wild)
        .map(|(i, &wild)| {
            // Bit 2 of the tag is clear in messages for wildcards; see `wild_receive`.
            let tag = (i >> 2) << 3 | u32::from(!wild) << 2 | (i & 3);
            (i, tag.cast_signed())
        })
        .collect();
    let post = |i: usize| match is_wild[i] {
        true => wild_receive(wild, keys[i]),
        false => Step::Post(keys[i]),
    };
    let pairs = depth.max(NOT_BY_HEART);
    let chosen: Vec<usize> = (0..pairs)
        .map(|_| random.random_range(0..depth) as usize)
        .collect();
    let mut fill: Vec<usize> = (0..depth as usize).collect();
    fill.shuffle(&mut random);
    match queue {
        Queue::Posted => Stream {
            fill: fill.into_iter().map(post).collect(),
            steps: chosen
                .into_iter()
                .flat_map(|i| [Step::Arrive(keys[i]), post(i)])
                .collect(),
            unit: 2,
            rounds: 1,
        },
        Queue::Unexpected => Stream {
            fill: fill.into_iter().map(|i| Step::Arrive(keys[i])).collect(),
            steps: chosen
                .into_iter()
                .flat_map(|i| [post(i), Step::Arrive(keys[i])])
                .collect(),
            unit: 2,
            rounds: 1,
        },
    }
}

/// A step of the hot spot: 16 receives for each of 127 senders are posted in reverse, a quarter of
/// them from any source; the messages come in the order of the senders, in one of many
/// interleavings.
pub(crate) fn hotspot(a_quarter_any: bool) -> Stream {
    const SENDERS: u32 = 127;
    const EACH: i32 = 16;
    let mut steps = Vec::new();
    for sender in (1..=SENDERS).rev() {
        for tag in (0..EACH).rev() {
            steps.push(if a_quarter_any && tag % 4 == 0 {
                Step::PostAnySource(100 + tag)
            } else {
                Step::Post((sender, 100 + tag))
            });
        }
    }
    let mut random = random(3);
    let mut sent = vec![0; SENDERS as usize];
    let mut left: Vec<u32> = (0..SENDERS).collect();
    while !left.is_empty() {
        let i = random.random_range(0..left.len());
        let sender = left[i];
        let tag = &mut sent[sender as usize];
        steps.push(Step::Arrive((sender + 1, 100 + *tag)));
        *tag += 1;
        if *tag == EACH {
            left.swap_remove(i);
        }
    }
    Stream::repeated(Vec::new(), &steps)
}

/// Windows: 64 entries for each of 64 senders, all of one tag, filled sender by sender and taken
/// from each in turn.
pub(crate) fn windows(queue: Queue) -> Stream {
    const SENDERS: u32 = 64;
    const EACH: u32 = 64;
    let receives = |key: fn(u32) -> u32| (0..SENDERS * EACH).map(move |i| Step::Post((key(i), 7)));
    let messages =
        |key: fn(u32) -> u32| (0..SENDERS * EACH).map(move |i| Step::Arrive((key(i), 7)));
    let (by_sender, in_turn) = (|i| i / EACH, |i| i % SENDERS);
    let steps: Vec<_> = match queue {
        Queue::Posted => receives(by_sender).chain(messages(in_turn)).collect(),
        Queue::Unexpected => messages(by_sender).chain(receives(in_turn)).collect(),
    };
    Stream::repeated(Vec::new(), &steps)
}

/// A random number of 31 bits, as a tag.
pub(crate) fn random_tag(random: &mut impl Rng) -> i32 {
    (random.next_u32() >> 1).cast_signed()
}
