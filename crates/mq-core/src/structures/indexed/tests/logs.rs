//! Logs: long queues that are filled and drained without being indexed, and what ends that.

use super::*;
use crate::structures::list::List;

type Oracle = List<MpiPattern, u32, u32>;

fn has_logs(queues: &Queues) -> bool {
    let finders = queues.finders.as_ref();
    finders.is_some_and(|finders| finders.index.has_logs())
}

/// Queues that become deep soon, a list to compare them with, and how many sources and tags there are.
struct Stream {
    queues: Queues,
    oracle: Oracle,
    sources: u32,
    tags: u32,
    number: u32,
    handles: Vec<(crate::Handle, crate::Handle)>,
}

impl Stream {
    fn new(sources: u32, tags: u32, seed: u32) -> Self {
        Self {
            queues: soon_deep_with_seed(64, Some(seed)),
            oracle: Oracle::with_config(&Config::default()),
            sources,
            tags,
            number: 0,
            handles: Vec::new(),
        }
    }

    fn post(&mut self, pattern: MpiPattern) {
        self.number += 1;
        let number = self.number;
        match (
            self.queues.post(pattern, number),
            self.oracle.post(pattern, number),
        ) {
            (Post::Queued(handle), Post::Queued(other)) => self.handles.push((handle, other)),
            (Post::Matched { message, .. }, Post::Matched { message: other, .. }) => {
                assert_eq!(message, other);
            }
            (found, other) => panic!("{found:?}, but {other:?}"),
        }
    }

    fn arrive(&mut self, envelope: MpiEnvelope) {
        self.number += 1;
        let found = self.queues.arrive(envelope, self.number);
        let other = self.oracle.arrive(envelope, self.number);
        assert_eq!(found, other);
    }

    /// One operation of many kinds; the greater `inclined`, the rather a receive is posted than a message arrives.
    fn step(&mut self, random: &mut impl FnMut(u32) -> u32, inclined: u32, wild: bool) {
        let (source, any) = (random(self.sources), wild && random(50) == 0);
        let tag = i32::try_from(random(self.tags)).expect("few tags");
        let envelope = MpiEnvelope::new(0, source, tag);
        let from = if any {
            Source::Any
        } else {
            Source::from(source)
        };
        let pattern = match any && random(2) == 0 {
            true => MpiPattern::new(0, from, TagSelector::Any),
            false => MpiPattern::new(0, from, tag),
        };
        match random(20) {
            0 if !self.handles.is_empty() => {
                let at = random(u32::MAX) as usize % self.handles.len();
                let (handle, other) = self.handles.swap_remove(at);
                assert_eq!(self.queues.cancel(handle), self.oracle.cancel(other));
            }
            1 => {
                let found = self.queues.probe(&pattern).map(|(_, &message)| message);
                assert_eq!(
                    found,
                    self.oracle.probe(&pattern).map(|(_, &message)| message)
                );
            }
            2 => {
                let found = self.queues.extract(&pattern).map(|(_, message)| message);
                assert_eq!(
                    found,
                    self.oracle.extract(&pattern).map(|(_, message)| message)
                );
            }
            3 => {
                let found = self.queues.deliver(&envelope).map(|(_, receive)| receive);
                assert_eq!(
                    found,
                    self.oracle.deliver(&envelope).map(|(_, receive)| receive)
                );
            }
            4 => {
                let found = self.queues.find(&pattern).map(|(handle, ..)| handle);
                let other = self.oracle.find(&pattern).map(|(handle, ..)| handle);
                assert_eq!(found.is_some(), other.is_some());
                if let (Some(found), Some(other)) = (found, other) {
                    assert_eq!(self.queues.take(found), self.oracle.take(other));
                }
            }
            other if other < inclined => self.post(pattern),
            _ => self.arrive(envelope),
        }
        assert_eq!(self.queues.posted_len(), self.oracle.posted_len());
        assert_eq!(self.queues.unexpected_len(), self.oracle.unexpected_len());
    }
}

#[test]
fn whatever_comes_queues_with_logs_agree_with_a_list() {
    let mut with_logs = 0;
    for seed in 0..60 {
        let mut random = random(seed.into());
        let keys = [(3, 2), (40, 40), (2000, 1), (1, 2000)][seed as usize % 4];
        let mut stream = Stream::new(keys.0, keys.1, seed + 1);
        for _ in 0..12 {
            // Mostly receives, mostly messages, or both.
            let inclined = [20, 6, 12, 18][random(4) as usize];
            let wild = random(3) == 0;
            for _ in 0..random(700) {
                stream.step(&mut random, inclined, wild);
                with_logs += u32::from(has_logs(&stream.queues));
            }
        }
    }
    assert!(with_logs > 20_000, "{with_logs} steps with logs");
}

/// Queues whose logs, with some seeds, do not end because a factor is bad.
fn with_seed(seed: u32) -> Queues {
    soon_deep_with_seed(Config::default().tuning.short_limit, Some(seed))
}

/// Fills a queue with receives, or messages, of these ranks.
fn fill(queues: &mut Queues, are_posted: bool, ranks: impl Iterator<Item = u32>) {
    for rank in ranks {
        match are_posted {
            true => assert!(matches!(
                queues.post(MpiPattern::new(0, rank, 7), rank),
                Post::Queued(_)
            )),
            false => assert_eq!(
                queues.arrive(MpiEnvelope::new(0, rank, 7), rank),
                Arrive::Unexpected
            ),
        }
    }
}

/// Takes one of them.
fn take(queues: &mut Queues, are_posted: bool, rank: u32) {
    let found = match are_posted {
        true => match queues.arrive(MpiEnvelope::new(0, rank, 7), 0) {
            Arrive::Matched { receive, .. } => Some(receive),
            Arrive::Unexpected => None,
        },
        false => match queues.post(MpiPattern::new(0, rank, 7), 0) {
            Post::Matched { message, .. } => Some(message),
            Post::Queued(_) => None,
        },
    };
    assert_eq!(found, Some(rank));
}

#[test]
fn a_long_queue_that_drains_is_never_indexed() {
    for are_posted in [true, false] {
        let mut queues = with_seed(1);
        for round in 0..4 {
            fill(&mut queues, are_posted, 0..20_000);
            assert!(has_logs(&queues));
            // In an order that leaves holes everywhere.
            for i in 0..20_000 {
                // At first nobody knows that the last will go too.
                let few = if round < 2 { 2048 } else { 0 };
                assert!(has_logs(&queues) || i + few >= 20_000, "{i} taken");
                take(&mut queues, are_posted, i * 7_919 % 20_000);
            }
            assert!(!queues.is_deep());
            let idle = queues.memory().total();
            assert!(idle <= 64 << 10, "{idle} bytes in round {round}");
        }
    }
}

#[test]
fn a_queue_that_stays_long_is_indexed_after_half_as_many_have_come() {
    for are_posted in [true, false] {
        let mut queues = with_seed(1);
        fill(&mut queues, are_posted, 0..10_000);
        // Each that is taken comes again, behind the others.
        let mut steps = 0;
        while has_logs(&queues) {
            let rank = steps * 7_919 % 10_000;
            take(&mut queues, are_posted, rank);
            fill(&mut queues, are_posted, rank..=rank);
            steps += 1;
            assert!(steps < 12_000, "it ends");
        }
        assert!(steps > 5_000, "after {steps}");
        // Two of each are taken in order, wherever they were.
        fill(&mut queues, are_posted, 0..10_000);
        for rank in (0..10_000).chain((0..10_000).rev()) {
            take(&mut queues, are_posted, rank);
        }
        assert!(!queues.is_deep());
    }
}

#[test]
fn a_wildcard_ends_logs_and_takes_the_earliest_meanwhile() {
    let mut queues = with_seed(1);
    fill(&mut queues, true, 0..6000);
    let any = MpiPattern::new(0, Source::Any, 7);
    assert!(matches!(queues.post(any, 9999), Post::Queued(_)));
    fill(&mut queues, true, 6000..6010);
    for rank in (0..6000).rev() {
        take(&mut queues, true, rank);
    }
    assert!(!has_logs(&queues));
    // It was posted before these.
    let arrival = queues.arrive(MpiEnvelope::new(0, 6005, 7), 0);
    assert!(matches!(arrival, Arrive::Matched { receive: 9999, .. }));
    (6000..6010).for_each(|rank| take(&mut queues, true, rank));

    fill(&mut queues, false, 0..6000);
    for rank in 0..3000 {
        let found = queues.extract(&any).map(|(_, message)| message);
        assert_eq!(found, Some(rank));
        fill(&mut queues, false, 6000 + rank..=6000 + rank);
    }
    assert!(!has_logs(&queues));
    for rank in (3000..9000).rev() {
        take(&mut queues, false, rank);
    }
}

#[test]
fn a_few_entries_of_many_hold_no_buckets() {
    let mut queues = with_seed(1);
    fill(&mut queues, true, 0..200_000);
    let most = queues.memory().index;
    for rank in 5..200_000 {
        take(&mut queues, true, rank);
    }
    let left = queues.memory().index;
    assert!(most > 1 << 20 && left < 64 << 10, "{left} of {most} bytes");
    (0..5).for_each(|rank| take(&mut queues, true, rank));
}

#[test]
fn a_queue_that_empties_beside_another_is_filled_again() {
    let mut queues = with_seed(1);
    fill(&mut queues, false, 10_000..10_003);
    for ranks in [5000, 5000, 9000] {
        fill(&mut queues, true, 0..ranks);
        (0..ranks).for_each(|rank| take(&mut queues, true, rank));
    }
    for _ in 0..3 {
        fill(&mut queues, true, 0..100);
        (0..100)
            .rev()
            .for_each(|rank| take(&mut queues, true, rank));
    }
    (10_000..10_003).for_each(|rank| take(&mut queues, false, rank));
}

#[test]
fn a_log_whose_factor_spreads_keys_badly_ends_and_the_next_has_another() {
    // Of a hundred secrets some do, with ranks that follow each other.
    let mut bad = 0;
    for seed in 1..100 {
        let mut queues = with_seed(seed);
        let mut ended = 0;
        for _ in 0..4 {
            fill(&mut queues, true, 0..9000);
            ended += u32::from(!has_logs(&queues));
            (0..9000)
                .rev()
                .for_each(|rank| take(&mut queues, true, rank));
        }
        bad += u32::from(ended > 0);
        assert!(ended < 4, "seed {seed}");
    }
    assert!(bad > 0);
}

#[test]
fn halves_use_logs_too() {
    let mut queues = with_seed(1);
    for rank in 0..9000 {
        queues.queue_receive(MpiPattern::new(0, rank, 7), rank);
    }
    assert!(has_logs(&queues));
    for rank in (0..9000).rev() {
        let found = queues.deliver(&MpiEnvelope::new(0, rank, 7));
        assert!(matches!(found, Some((_, receive)) if receive == rank));
        assert!(queues.deliver(&MpiEnvelope::new(0, rank, 7)).is_none());
    }
    for rank in 0..9000 {
        queues.queue_message(MpiEnvelope::new(0, rank, 7), rank);
    }
    assert!(has_logs(&queues));
    for rank in (0..9000).rev() {
        let found = queues.extract(&MpiPattern::new(0, rank, 7));
        assert!(matches!(found, Some((_, message)) if message == rank));
        assert!(queues.extract(&MpiPattern::new(0, rank, 7)).is_none());
    }
}
