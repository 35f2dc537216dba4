//! Queues that stay in their windows and have tables.

use std::collections::VecDeque;

use super::wildcards::masked;
use super::*;
use crate::{Handle, Removed, Tag, matches};

/// A plain list of each queue beside the structure.
struct Both {
    queues: Queues,
    receives: VecDeque<(MpiPattern, u32, Handle)>,
    messages: VecDeque<(MpiEnvelope, u32)>,
    number: u32,
}

impl Both {
    fn new(scan_limit: u32) -> Self {
        let mut config = Config::default();
        config.tuning.scan_limit = scan_limit;
        Self {
            queues: Queues::with_config(&config),
            receives: VecDeque::new(),
            messages: VecDeque::new(),
            number: 0,
        }
    }

    fn post(&mut self, pattern: MpiPattern) {
        self.number += 1;
        let is = |(envelope, _): &(MpiEnvelope, u32)| matches(&pattern, envelope);
        let expected = self.messages.iter().position(is);
        let expected = expected.and_then(|at| self.messages.remove(at));
        match self.queues.post(pattern, self.number) {
            Post::Matched {
                envelope, message, ..
            } => assert_eq!(Some((envelope, message)), expected),
            Post::Queued(handle) => {
                assert_eq!(expected, None);
                self.receives.push_back((pattern, self.number, handle));
            }
        }
    }

    fn arrive(&mut self, envelope: MpiEnvelope) {
        self.number += 1;
        let is = |(pattern, ..): &(MpiPattern, u32, Handle)| matches(pattern, &envelope);
        let expected = self.receives.iter().position(is);
        let expected = expected.and_then(|at| self.receives.remove(at));
        match self.queues.arrive(envelope, self.number) {
            Arrive::Matched { receive, .. } => {
                assert_eq!(Some(receive), expected.map(|(_, number, _)| number));
            }
            Arrive::Unexpected => {
                assert!(expected.is_none(), "{expected:?}");
                self.messages.push_back((envelope, self.number));
            }
        }
    }

    fn probe(&mut self, pattern: MpiPattern) {
        let is = |(envelope, _): &&(MpiEnvelope, u32)| matches(&pattern, envelope);
        let expected = self.messages.iter().find(is).copied();
        let seen = self.queues.probe(&pattern);
        assert_eq!(seen.map(|(envelope, &number)| (envelope, number)), expected);
    }

    fn cancel(&mut self, at: usize) {
        let Some((_, number, handle)) = self.receives.remove(at % self.receives.len().max(1))
        else {
            return;
        };
        assert_eq!(self.queues.cancel(handle), Some(number));
        assert_eq!(self.queues.cancel(handle), None);
    }

    fn take(&mut self, pattern: MpiPattern) {
        let Some((handle, ..)) = self.queues.find(&pattern) else {
            return;
        };
        let (envelope, number) = self.queues.take(handle).expect("it is there");
        let is = |&(other, n): &(MpiEnvelope, u32)| (other, n) == (envelope, number);
        let at = self.messages.iter().position(is).expect("it was queued");
        let before = |(other, _): &(MpiEnvelope, u32)| matches(&pattern, other);
        assert!(!self.messages.iter().take(at).any(before), "an earlier one");
        self.messages.remove(at);
    }

    fn purge(&mut self, rank: u32) {
        let mut gone = 0;
        self.queues.purge(
            &mut |entry| match entry {
                crate::Entry::Posted(_, pattern, _) => pattern.source() == Source::from(rank),
                crate::Entry::Unexpected(_, envelope, _) => envelope.source().0 == rank,
            },
            &mut |removed| {
                assert!(matches!(
                    removed,
                    Removed::Posted(..) | Removed::Unexpected(..)
                ));
                gone += 1;
            },
        );
        let before = self.receives.len() + self.messages.len();
        self.receives
            .retain(|(pattern, ..)| pattern.source() != Source::from(rank));
        self.messages
            .retain(|(envelope, _)| envelope.source().0 != rank);
        assert_eq!(before - self.receives.len() - self.messages.len(), gone);
    }

    fn check_lengths(&self) {
        assert_eq!(self.queues.posted_len(), self.receives.len());
        assert_eq!(self.queues.unexpected_len(), self.messages.len());
    }
}

fn any_pattern(random: &mut impl FnMut(u32) -> u32, keys: u32, wild: u32) -> MpiPattern {
    let (source, tag) = (random(keys), random(keys).cast_signed());
    if random(100) >= wild {
        return MpiPattern::new(0, source, tag);
    }
    match random(5) {
        4 => {
            // More masks than there are classes.
            let ignore = 1 << random(6) | 1 << random(6);
            let wanted = Tag(tag & !ignore);
            let ignore = ignore.cast_unsigned();
            MpiPattern::new(0, source, TagSelector::Masked { wanted, ignore })
        }
        0 => MpiPattern::new(0, Source::Any, tag),
        1 => MpiPattern::new(0, source, TagSelector::Any),
        2 => MpiPattern::new(0, Source::Any, TagSelector::Any),
        _ => MpiPattern::new(
            0,
            source,
            TagSelector::Masked {
                wanted: Tag(tag),
                ignore: 3,
            },
        ),
    }
}

#[test]
fn whatever_is_done_entries_are_found_in_order() {
    let mut tabled = 0;
    for seed in 0..60 {
        let mut random = random(seed + 1);
        let mut both = Both::new([0, 1, 12][seed as usize % 3]);
        let keys = [4, 12, 40][seed as usize / 3 % 3];
        let wild = [0, 10, 50][seed as usize / 9 % 3];
        for _ in 0..6 {
            // A phase leans to one queue, so that both grow and drain in turn.
            let lean = random(100);
            for _ in 0..random(500) {
                match random(100) {
                    0..3 => both.cancel(random(4096) as usize),
                    3..6 => both.probe(any_pattern(&mut random, keys, 50)),
                    6..9 => both.take(any_pattern(&mut random, keys, wild)),
                    9 if random(20) == 0 => both.purge(random(keys)),
                    _ if random(100) < lean => both.post(any_pattern(&mut random, keys, wild)),
                    _ => {
                        let tag = random(keys).cast_signed();
                        both.arrive(MpiEnvelope::new(0, random(keys), tag));
                    }
                }
                tabled += u32::from(both.queues.posted.is_tabled());
                tabled += u32::from(both.queues.unexpected.is_tabled());
            }
            both.check_lengths();
        }
    }
    assert!(tabled > 10_000, "{tabled} steps with tables");
}

#[test]
fn long_queues_with_wildcards_drain_in_any_order() {
    for seed in 0..6 {
        let mut random = random(seed + 100);
        let mut both = Both::new(12);
        // No message is taken by a receive that is not its own before that one's turn, but by earlier
        // wildcards: what the lists say.
        for i in 0..1500_u32 {
            let pattern = match random(10) {
                0 => MpiPattern::new(0, Source::Any, i.cast_signed() / 4),
                1 => MpiPattern::new(0, i % 40, TagSelector::Any),
                _ => MpiPattern::new(0, i % 40, i.cast_signed() / 4),
            };
            both.post(pattern);
        }
        for _ in 0..4000 {
            let i = random(1500);
            both.arrive(MpiEnvelope::new(0, i % 40, i.cast_signed() / 4));
            if both.messages.len() > 1000 {
                break;
            }
        }
        assert!(both.queues.posted.is_tabled() || both.receives.is_empty());
        while let Some(&(envelope, _)) = both.messages.back() {
            let any = random(3) == 0;
            let source = if any {
                Source::Any
            } else {
                Source::Rank(envelope.source())
            };
            both.post(MpiPattern::new(0, source, envelope.tag().0));
        }
        both.check_lengths();
    }
}

#[test]
fn a_queue_that_stays_long_and_never_drains_becomes_deep() {
    let mut queues = unexpected(100);
    let mut steps = 0;
    while !queues.is_deep() {
        let rank = steps * 7 % 100;
        let post = queues.post(MpiPattern::new(0, rank, 7), 0);
        assert!(matches!(post, Post::Matched { message, .. } if message == rank));
        let arrival = queues.arrive(MpiEnvelope::new(0, rank, 7), rank);
        assert_eq!(arrival, Arrive::Unexpected);
        steps += 1;
        assert!(steps < 1000, "it never does");
    }
    for rank in 0..100 {
        let taken = queues.extract(&MpiPattern::new(0, rank, 7));
        assert!(matches!(taken, Some((_, message)) if message == rank));
    }
    assert!(!queues.is_deep());
}

#[test]
fn entries_that_come_and_go_behind_others_stay_in_the_window() {
    let mut queues = unexpected(64);
    for round in 0..10_000 {
        let arrival = queues.arrive(MpiEnvelope::new(0, 99, 9), round);
        assert_eq!(arrival, Arrive::Unexpected);
        let post = queues.post(MpiPattern::new(0, 99, 9), 0);
        assert!(matches!(post, Post::Matched { message, .. } if message == round));
    }
    assert!(queues.unexpected.is_tabled());
    assert!(queues.memory().total() < 16 << 10);
    // Nothing of the deep form, whose smallest table has 4 KiB.
    assert!(queues.memory().index < 3 << 10);
}

#[test]
fn a_few_that_stay_of_a_tabled_queue_are_scanned_again() {
    let mut queues = unexpected(300);
    for rank in (4..300).rev() {
        let post = queues.post(MpiPattern::new(0, rank, 7), 0);
        assert!(matches!(post, Post::Matched { message, .. } if message == rank));
    }
    assert!(queues.unexpected.is_tabled());
    for round in 0..1000 {
        let _ = queues.arrive(MpiEnvelope::new(0, round % 8 + 10, 8), round);
        let _ = queues.arrive(MpiEnvelope::new(0, round % 8 + 30, 8), round);
        let _ = queues.post(MpiPattern::new(0, round % 8 + 10, 8), round);
        let _ = queues.post(MpiPattern::new(0, round % 8 + 30, 8), round);
    }
    assert!(!queues.unexpected.is_tabled() && !queues.is_deep());
    for rank in 0..4 {
        let taken = queues.extract(&MpiPattern::new(0, rank, 7));
        assert!(matches!(taken, Some((_, message)) if message == rank));
    }
}

#[test]
fn tables_spread_keys_of_any_regular_kind() {
    type Keys = fn(u32) -> (u32, i32);
    let kinds: [(&str, Keys); 7] = [
        ("ranks", |i| (i, 7)),
        ("tags", |i| (3, i.cast_signed())),
        ("ranks far apart", |i| (i * 1024, 7)),
        ("tags far apart", |i| (3, (i << 16).cast_signed())),
        ("a grid", |i| (i / 64, (i % 64).cast_signed())),
        ("a coarse grid", |i| {
            (i / 64 * 16, (i % 64 * 4096).cast_signed())
        }),
        ("bits turned round", |i| (5, i.reverse_bits().cast_signed())),
    ];
    for seed in 1..6 {
        for (name, key) in kinds {
            let mut config = Config::default();
            config.tuning.hash_seed = Some(seed);
            let mut queues = Queues::with_config(&config);
            let mut visits = Visits::default();
            // The first fillings try factors.
            for round in 0..10 {
                visits = Visits::default();
                for i in 0..2000 {
                    let (source, tag) = key(i);
                    let _ = queues.post(MpiPattern::new(0, source, tag), i);
                }
                for i in (0..2000).rev() {
                    let (source, tag) = key(i);
                    let arrival =
                        queues.arrive_metered(MpiEnvelope::new(0, source, tag), 0, &mut visits);
                    assert!(
                        matches!(arrival, Arrive::Matched { receive, .. } if receive == i),
                        "{name}, round {round}"
                    );
                }
            }
            // A random function would have 1.25 compared for each.
            let mean = visits.posted as f64 / 2000.0;
            assert!(
                mean < 1.4,
                "{mean} compared for each of {name}, seed {seed}"
            );
        }
    }
}

#[test]
fn chains_that_are_searched_in_vain_are_parted() {
    // Contexts are not hashed, so receives of many contexts with the same bits share a bucket; that
    // is nothing another factor can part, and searches must stay right. Other keys in that bucket are
    // to be parted from it.
    let mut config = Config::default();
    config.tuning.hash_seed = Some(3);
    let mut queues = Queues::with_config(&config);
    for context in 0..1000 {
        let _ = queues.post(MpiPattern::new(context, 5, 5), context);
    }
    let mut visits = Visits::default();
    for context in (0..1000).rev() {
        let arrival = queues.arrive_metered(MpiEnvelope::new(context, 5, 5), 0, &mut visits);
        assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == context));
    }
    // One key stays, many times. A search for another key in its bucket finds nothing.
    for number in 0..1000 {
        let _ = queues.post(MpiPattern::new(0, 1, 1), number);
    }
    let mut search = |tag| {
        let mut visits = Visits::default();
        let arrival = queues.arrive_metered(MpiEnvelope::new(0, 2, tag), 0, &mut visits);
        assert_eq!(arrival, Arrive::Unexpected);
        assert!(queues.extract(&MpiPattern::new(0, 2, tag)).is_some());
        visits.posted
    };
    let beside = (0..100_000).find(|&tag| search(tag) >= 1000);
    let beside = beside.expect("a key of every bucket");
    let passed: u64 = (0..200).map(|_| search(beside)).sum();
    assert!(passed < 20_000, "{passed} compared");
    for number in 0..1000 {
        let arrival = queues.arrive(MpiEnvelope::new(0, 1, 1), 0);
        assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == number));
    }
}

/// Fills the queue with fully specified receives and, behind them, some from any source, and takes
/// them, the newest first. Returns the most bytes of the index meanwhile.
fn round(queues: &mut Queues, exact: u32, any: u32) -> usize {
    for i in 0..exact + any {
        let source = if i < exact {
            Source::from(3)
        } else {
            Source::Any
        };
        let post = queues.post(MpiPattern::new(0, source, i.cast_signed()), i);
        assert!(matches!(post, Post::Queued(_)));
    }
    let mut most = 0;
    for i in (0..exact + any).rev() {
        let arrival = queues.arrive(MpiEnvelope::new(0, 3, i.cast_signed()), 0);
        assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == i));
        most = most.max(queues.memory().index);
    }
    most
}

#[test]
fn a_burst_of_wildcards_does_not_make_later_tables_large() {
    let mut queues = unexpected(0);
    let many = round(&mut queues, 0, 4000);
    assert!(many >= 96 << 10, "{many} bytes");
    // The first round after it cannot know.
    round(&mut queues, 19, 1);
    for _ in 0..3 {
        let few = round(&mut queues, 19, 1);
        assert!(few < 48 << 10, "{few} bytes");
    }
}

/// Each time that there is no room for one more, the whole queue is relinked.
#[test]
fn wildcards_that_come_one_by_one_have_the_queue_linked_anew_as_seldom_as_tables_grow() {
    let mut queues = unexpected(0);
    let mut tag = 0..;
    let mut post = |queues: &mut Queues, source: Source| {
        let tag = tag.next().expect("there are more");
        let post = queues.post(MpiPattern::new(0, source, tag), 0);
        assert!(matches!(post, Post::Queued(_)));
        tag
    };
    for _ in 0..1000 {
        post(&mut queues, Source::from(3));
    }
    let mut rooms = Vec::new();
    for _ in 0..129 {
        post(&mut queues, Source::Any);
        // So many have come since the last search that this one links them.
        let last = (0..20).map(|_| post(&mut queues, Source::from(3))).last();
        let arrival = queues.arrive(MpiEnvelope::new(0, 3, last.expect("twenty")), 0);
        assert!(matches!(arrival, Arrive::Matched { .. }));
        let finders = queues.finders.as_ref().expect("it has tables");
        rooms.push(finders.tables.room_for_wildcards());
    }
    assert_eq!(rooms[0], 128, "the smallest table");
    rooms.dedup();
    assert_eq!(rooms, [128, 256]);
}

#[test]
fn many_wildcards_that_come_at_once_have_a_table_that_is_large_enough() {
    // Under this factor the keys are spread so well that most are linked in a row.
    let mut config = Config::default();
    config.tuning.hash_seed = Some(4);
    let mut queues = Queues::with_config(&config);
    let mut room_after = |tags: core::ops::Range<i32>| {
        let last = tags.end - 1;
        for tag in tags {
            let post = queues.post(MpiPattern::new(0, Source::Any, tag), 0);
            assert!(matches!(post, Post::Queued(_)));
        }
        let arrival = queues.arrive(MpiEnvelope::new(0, 3, last), 0);
        assert!(matches!(arrival, Arrive::Matched { .. }));
        let finders = queues.finders.as_ref().expect("it has tables");
        finders.tables.room_for_wildcards()
    };
    assert_eq!(room_after(0..20), 128);
    assert_eq!(room_after(20..600), 1024);
}

#[test]
fn tables_of_drained_queues_keep_little() {
    let mut queues = unexpected(0);
    for _ in 0..3 {
        for i in 0..4000_u32 {
            let tag = i.cast_signed();
            let _ = match i % 3 {
                0 => queues.post(MpiPattern::new(0, Source::Any, tag), i),
                1 => queues.post(MpiPattern::new(0, 7, tag), i),
                _ => queues.post(MpiPattern::new(0, 7, masked(1)), i),
            };
        }
        for i in (0..4000).rev() {
            let _ = queues.arrive(MpiEnvelope::new(0, 7, i), 0);
        }
        for i in 0..4000 {
            let _ = queues.arrive(MpiEnvelope::new(0, 7, i), 0);
        }
        while queues.unexpected_len() > 0 {
            for source in [Source::Any, Source::from(7)] {
                let _ = queues.extract(&MpiPattern::new(0, source, TagSelector::Any));
            }
            let _ = queues.extract(&MpiPattern::new(0, Source::Any, 3999));
        }
        let _ = queues.arrive(MpiEnvelope::new(0, 7, 7), 0);
        while queues.posted_len() > 0 {
            let _ = queues.arrive(MpiEnvelope::new(0, 7, 263), 0);
        }
        queues.purge(&mut |_| true, &mut |_| {});
    }
    let index = queues.memory().index;
    assert!(index <= 140 << 10, "{index} bytes");
}
