//! `indexed` agrees with `array`, which shares nothing with its index, while tens of thousands of
//! entries come and go: tables split and merge, chunks of storage appear and vanish, forms change. So do the
//! other structures, with thousands.

use std::collections::BTreeMap;

use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::structures::{Array, Indexed, Kind, KindVisitor};
use mq_core::{
    Arrive, ArriveOf, Config, Entry, Footprint, Handle, MatchQueues, Post, PostOf, Removed, Source,
    Tag,
};

const RANKS: u32 = 4096;

/// A generator that needs no crate: `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[expect(clippy::cast_possible_truncation, reason = "below the bound")]
    fn below(&mut self, bound: u32) -> u32 {
        (self.next() % u64::from(bound)) as u32
    }
}

/// Like a library that allocates a request only when it has to be queued.
fn post_in_halves<Q>(queues: &mut Q, pattern: MpiPattern, receive: u32) -> PostOf<Q>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    match queues.extract(&pattern) {
        Some((envelope, message)) => Post::Matched {
            envelope,
            message,
            receive,
        },
        None => Post::Queued(queues.queue_receive(pattern, receive)),
    }
}

/// Like a library that first looks which receive would match.
fn arrive_in_halves<Q>(queues: &mut Q, envelope: MpiEnvelope, message: u32) -> ArriveOf<Q>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    let shown = queues
        .find_receive(&envelope)
        .map(|(_, _, &receive)| receive);
    let delivered = queues.deliver(&envelope);
    assert_eq!(shown, delivered.map(|(_, receive)| receive));
    match delivered {
        Some((pattern, receive)) => Arrive::Matched {
            pattern,
            receive,
            message,
        },
        None => {
            queues.queue_message(envelope, message);
            Arrive::Unexpected
        }
    }
}

/// Both structures, always given the same operations.
struct Pair<Q> {
    subject: Q,
    array: Array<MpiPattern, u32, u32>,
    /// The receives that are posted, by payload.
    posted: BTreeMap<u32, (Handle, Handle)>,
    unexpected: u32,
    next: u32,
}

impl<Q> Pair<Q>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    fn new() -> Self {
        let config = Config::default().with_size(RANKS);
        Self {
            subject: Q::with_config(&config),
            array: Array::with_config(&config),
            posted: BTreeMap::new(),
            unexpected: 0,
            next: 0,
        }
    }

    fn post(&mut self, pattern: MpiPattern) {
        self.next += 1;
        let receive = self.next;
        let post = match receive % 3 {
            0 => post_in_halves(&mut self.subject, pattern, receive),
            _ => self.subject.post(pattern, receive),
        };
        match (post, self.array.post(pattern, receive)) {
            (Post::Queued(a), Post::Queued(b)) => drop(self.posted.insert(receive, (a, b))),
            (Post::Matched { message: a, .. }, Post::Matched { message: b, .. }) => {
                assert_eq!(a, b, "{pattern:?}");
                self.unexpected -= 1;
            }
            (a, b) => panic!("{pattern:?}: {a:?} and {b:?}"),
        }
    }

    fn arrive(&mut self, envelope: MpiEnvelope) {
        self.next += 1;
        let message = self.next;
        let arrival = match message % 3 {
            0 => arrive_in_halves(&mut self.subject, envelope, message),
            _ => self.subject.arrive(envelope, message),
        };
        match (arrival, self.array.arrive(envelope, message)) {
            (Arrive::Unexpected, Arrive::Unexpected) => self.unexpected += 1,
            (Arrive::Matched { receive: a, .. }, Arrive::Matched { receive: b, .. }) => {
                assert_eq!(a, b, "{envelope:?}");
                self.posted.remove(&a);
            }
            (a, b) => panic!("{envelope:?}: {a:?} and {b:?}"),
        }
    }

    fn cancel(&mut self, random: &mut Random) {
        let from = random.below(self.next + 1);
        let behind = self.posted.range(from..).next();
        let chosen = behind.or_else(|| self.posted.first_key_value());
        let chosen = chosen.map(|(&receive, &handles)| (receive, handles));
        if let Some((receive, (a, b))) = chosen {
            assert_eq!(self.subject.cancel(a), Some(receive));
            assert_eq!(self.array.cancel(b), Some(receive));
            assert_eq!(self.subject.cancel(a), None);
            self.posted.remove(&receive);
        }
    }

    fn extract(&mut self, pattern: &MpiPattern) {
        let seen = self.subject.probe(pattern).map(|(_, &message)| message);
        let a = match self.next % 2 {
            0 => self.subject.extract(pattern),
            _ => {
                let found = self.subject.find(pattern).map(|(handle, ..)| handle);
                found.and_then(|handle| self.subject.take(handle))
            }
        };
        let b = self.array.extract(pattern);
        assert_eq!(a.map(|found| found.1), b.map(|found| found.1));
        assert_eq!(seen, b.map(|found| found.1), "a probe");
        self.unexpected -= u32::from(b.is_some());
    }

    /// Purges what asks for, or comes from, one rank in `one_in`.
    fn purge(&mut self, one_in: u32) {
        let chosen = |entry: &Entry<'_, MpiPattern, u32, u32>| match entry {
            Entry::Posted(_, pattern, _) => {
                matches!(pattern.source(), Source::Rank(rank) if rank.0 % one_in == 0)
            }
            Entry::Unexpected(_, envelope, _) => envelope.source().0 % one_in == 0,
        };
        let number = |removed: Removed<MpiPattern, u32, u32>| match removed {
            Removed::Posted(_, number) | Removed::Unexpected(_, number) => number,
        };
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let mut back = |removed| a.push(number(removed));
        self.subject.purge(&mut |entry| chosen(&entry), &mut back);
        let mut back = |removed| b.push(number(removed));
        self.array.purge(&mut |entry| chosen(&entry), &mut back);
        assert_eq!(a, b);
        for purged in b {
            if self.posted.remove(&purged).is_none() {
                self.unexpected -= 1;
            }
        }
    }

    fn len(&self) -> u32 {
        assert_eq!(self.subject.posted_len(), self.posted.len());
        assert_eq!(self.subject.unexpected_len(), self.unexpected as usize);
        self.unexpected + u32::try_from(self.posted.len()).unwrap_or(u32::MAX)
    }
}

fn tag(random: &mut Random) -> i32 {
    (random.below(8) << 16).cast_signed() - (1 << 17)
}

/// One receive in `one_wild_in` is a wildcard.
fn pattern(random: &mut Random, one_wild_in: u32) -> MpiPattern {
    let source = random.below(RANKS);
    let tag = tag(random);
    if random.below(one_wild_in) > 0 {
        return MpiPattern::new(0, source, tag);
    }
    match random.below(4) {
        0 => MpiPattern::new(0, Source::Any, tag),
        1 => MpiPattern::new(0, source, TagSelector::Any),
        2 => MpiPattern::new(0, Source::Any, TagSelector::Any),
        _ => {
            let ignore = 1 << (16 + random.below(3));
            let wanted = Tag(tag);
            MpiPattern::new(0, source, TagSelector::Masked { wanted, ignore })
        }
    }
}

/// Whether the queues are to grow, and which one.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Posted,
    Unexpected,
    Mixed,
    Drain,
}

fn run<Q>(phase: Phase, until: u32, one_wild_in: u32, pair: &mut Pair<Q>, random: &mut Random)
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    for step in 0_u32.. {
        let posts = match phase {
            Phase::Posted => 90,
            Phase::Unexpected => 10,
            Phase::Mixed => 50,
            Phase::Drain if pair.posted.len() > pair.unexpected as usize => 0,
            Phase::Drain => 100,
        };
        match (phase, random.below(100)) {
            (Phase::Drain, 0..60) => {
                // `ANY_TAG` would leave the negative ones.
                let (wanted, ignore) = (Tag(0), u32::MAX);
                let anything = TagSelector::Masked { wanted, ignore };
                pair.extract(&MpiPattern::new(0, Source::Any, anything));
                pair.cancel(random);
            }
            (_, 0..3) => pair.cancel(random),
            (_, 3..6) => pair.extract(&pattern(random, one_wild_in)),
            _ if random.below(100) < posts => pair.post(pattern(random, one_wild_in)),
            _ => {
                let tag = tag(random);
                pair.arrive(MpiEnvelope::new(0, random.below(RANKS), tag));
            }
        }
        let done = match phase {
            Phase::Mixed => step >= until,
            Phase::Drain => pair.len() <= until,
            _ => pair.len() >= until,
        };
        if done {
            return;
        }
    }
}

#[test]
fn deep_queues_agree_with_arrays_of_ranks() {
    let mut random = Random(1);
    for one_wild_in in [1_000_000, 200, 20] {
        let mut pair = Pair::<Indexed<MpiPattern, u32, u32>>::new();
        for (phase, until) in [
            (Phase::Posted, 12_000),
            (Phase::Drain, 3),
            (Phase::Mixed, 2_000),
            (Phase::Unexpected, 12_000),
            (Phase::Mixed, 5_000),
            (Phase::Drain, 1_500),
            (Phase::Posted, 6_000),
            (Phase::Drain, 0),
        ] {
            run(phase, until, one_wild_in, &mut pair, &mut random);
        }
        assert_eq!(pair.len(), 0);
        let idle = pair.subject.memory().total();
        assert!(idle <= 64 << 10, "{idle} bytes idle");
    }
}

#[test]
fn messages_that_wildcards_take_in_rounds_agree_with_arrays_of_ranks() {
    let mut random = Random(2);
    let mut pair = Pair::<Indexed<MpiPattern, u32, u32>>::new();
    // Lengths at which entries are indexed all at once, in parts, and as they come.
    for messages in [300, 300, 900, 900, 3000, 3000, 6000, 12_000, 3000, 500] {
        run(Phase::Unexpected, messages, 3, &mut pair, &mut random);
        run(Phase::Mixed, messages / 4, 2, &mut pair, &mut random);
        run(Phase::Drain, 0, 2, &mut pair, &mut random);
        assert_eq!(pair.len(), 0);
    }
}

/// Queues beyond the first part of a slab, which has 4,096 places.
struct Deep;

impl KindVisitor<MpiPattern, u32, u32> for Deep {
    type Output = ();

    fn visit<Q>(self)
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32> + Footprint + 'static,
    {
        let mut random = Random(3);
        let mut pair = Pair::<Q>::new();
        for (phase, until) in [
            (Phase::Posted, 5_000),
            (Phase::Mixed, 1_000),
            (Phase::Drain, 4_000),
            (Phase::Posted, 5_000),
            (Phase::Drain, 100),
            (Phase::Unexpected, 5_000),
            (Phase::Mixed, 1_000),
            (Phase::Drain, 50),
        ] {
            run(phase, until, 50, &mut pair, &mut random);
            pair.purge(5);
            pair.len();
        }
        run(Phase::Drain, 0, 50, &mut pair, &mut random);
        assert_eq!(pair.len(), 0);
    }
}

#[test]
fn all_structures_agree_with_arrays_of_ranks_beyond_the_first_part_of_their_storage() {
    // An array would be compared with itself.
    for &kind in Kind::ALL.iter().filter(|&&kind| kind != Kind::Array) {
        println!("{kind}");
        kind.accept(Deep);
    }
}
