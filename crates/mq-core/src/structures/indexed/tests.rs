use super::*;
use crate::envelope::MatchBits;
use crate::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use crate::{
    Arrive, Config, ContextOptions, Engine, Footprint, MatchQueues, Memory, Pattern, Post, Source,
    Visits,
};

mod logs;
mod tabled;
mod wildcards;

/// Numbers below a bound, the same each time for a seed.
pub(super) fn random(seed: u64) -> impl FnMut(u32) -> u32 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |bound| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u32::try_from(state >> 33).expect("31 bits") % bound
    }
}

type Queues = Indexed<MpiPattern, u32, u32>;

fn unexpected(depth: u32) -> Queues {
    let mut queues = Queues::with_config(&Config::default());
    for rank in 0..depth {
        let arrival = queues.arrive(MpiEnvelope::new(0, rank, 7), rank);
        assert_eq!(arrival, Arrive::Unexpected);
    }
    queues
}

#[test]
fn a_long_search_has_the_queue_tabled_until_it_drains() {
    let mut queues = unexpected(20);
    assert!(!queues.unexpected.is_tabled(), "nothing was searched yet");
    for rank in (0..20).rev() {
        let post = queues.post(MpiPattern::new(0, rank, 7), 0);
        assert!(matches!(post, Post::Matched { message, .. } if message == rank));
        assert_eq!(queues.unexpected.is_tabled(), rank > 0);
        assert!(!queues.posted.is_tabled(), "nobody has searched that");
    }
}

#[test]
fn a_long_queue_is_deep_although_nothing_was_searched() {
    assert!(!unexpected(4096).is_deep());
    assert!(unexpected(4097).is_deep());
}

/// As by a library that knows that no message waits, and by one that knows that no receive is posted.
#[test]
fn queues_that_are_filled_without_a_search_are_indexed_meanwhile() {
    const ENTRIES: u32 = 6000;
    let last = ENTRIES - 1;
    let mut visits = Visits::default();
    let mut queues = unexpected(0);
    for rank in 0..ENTRIES {
        queues.queue_receive(MpiPattern::new(0, rank, 7), rank);
    }
    let arrival = queues.arrive_metered(MpiEnvelope::new(0, last, 7), 0, &mut visits);
    assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == last));
    assert!(visits.posted < 10, "{} compared", visits.posted);
    let mut queues = unexpected(0);
    for rank in 0..ENTRIES {
        queues.queue_message(MpiEnvelope::new(0, rank, 7), rank);
    }
    let post = queues.post_metered(MpiPattern::new(0, last, 7), 0, &mut visits);
    assert!(matches!(post, Post::Matched { message, .. } if message == last));
    assert!(visits.unexpected < 10, "{} compared", visits.unexpected);
}

#[test]
fn a_few_entries_that_stay_are_scanned_again() {
    // The second burst reaches beyond the near slots.
    for burst in [1000, 10_000] {
        let mut queues = unexpected(burst);
        for rank in 3..burst {
            let _ = queues.extract(&MpiPattern::new(0, rank, 7));
        }
        for round in 0..2000 {
            let _ = queues.arrive(MpiEnvelope::new(0, 9, 9), round);
            let _ = queues.post(MpiPattern::new(0, 9, 9), round);
        }
        assert!(!queues.is_deep());
        for rank in 0..3 {
            let post = queues.post(MpiPattern::new(0, Source::Any, 7), 0);
            assert!(matches!(post, Post::Matched { message, .. } if message == rank));
        }
    }
}

/// Queues that are deep as soon as storage grows for more than a few entries.
fn soon_deep(short_limit: u32) -> Queues {
    soon_deep_with_seed(short_limit, None)
}

/// Such queues, of which the chains are the same each time.
fn soon_deep_with_seed(short_limit: u32, seed: Option<u32>) -> Queues {
    let mut config = Config::default();
    config.tuning.short_limit = short_limit;
    config.tuning.hash_seed = seed;
    Queues::with_config(&config)
}

/// Deep queues with this many messages, all indexed: a receive with a wildcard was posted when they became deep.
fn deep(depth: u32) -> Queues {
    let mut queues = soon_deep(depth / 2);
    let Post::Queued(wildcard) = queues.post(MpiPattern::new(0, Source::Any, 5000), 0) else {
        unreachable!("nothing has come");
    };
    for rank in 0..depth {
        let arrival = queues.arrive(MpiEnvelope::new(0, rank, 7), rank);
        assert_eq!(arrival, Arrive::Unexpected);
    }
    assert_eq!(queues.cancel(wildcard), Some(0));
    assert!(queues.is_deep());
    queues
}

#[test]
fn several_entries_with_a_key_leave_in_order_among_others_of_their_bucket() {
    let mut queues = unexpected(0);
    // 4,000 keys, three of each, in more buckets than there are; taken crosswise, with one more
    // queued behind each in between.
    let keys = |i: u32| (i * 7 % 50, i32::try_from(i * 7 / 50).expect("small"));
    for round in 0..3 {
        for i in 0..4000 {
            let (source, tag) = keys(i);
            let _ = queues.arrive(MpiEnvelope::new(0, source, tag), round);
        }
    }
    for round in 0..4 {
        for i in (0..4000).rev() {
            let (source, tag) = keys(i);
            let post = queues.post(MpiPattern::new(0, source, tag), 0);
            assert!(matches!(post, Post::Matched { message, .. } if message == round));
            if round == 0 {
                let _ = queues.arrive(MpiEnvelope::new(0, source, tag), 3);
            }
        }
    }
    assert_eq!(queues.unexpected_len(), 0);
}

#[test]
fn entries_queued_without_a_search_leave_in_order_among_others_of_their_bucket() {
    // As above, all near: of a key the second and the third come when others share its bucket.
    const KEYS: u32 = 1000;
    let keys = |i: u32| (i * 7 % 50, i32::try_from(i * 7 / 50).expect("small"));
    for tries in 0..20 {
        let mut queues = deep(20);
        for round in 0..3 {
            for i in 0..KEYS {
                let (source, tag) = keys(i);
                queues.queue_message(MpiEnvelope::new(0, source, 100 + tag), round);
            }
        }
        // Some buckets begin with an entry of the other queue.
        for i in 0..KEYS {
            let (source, tag) = keys(i);
            queues.queue_receive(MpiPattern::new(0, source, 300 + tag), i);
        }
        for round in 0..3 {
            for i in (0..KEYS).rev() {
                let (source, tag) = keys(i);
                let taken = queues.extract(&MpiPattern::new(0, source, 100 + tag));
                assert!(
                    matches!(taken, Some((_, message)) if message == round),
                    "{tries}"
                );
            }
        }
        for i in 0..KEYS {
            let (source, tag) = keys(i);
            let taken = queues.deliver(&MpiEnvelope::new(0, source, 300 + tag));
            assert!(matches!(taken, Some((_, receive)) if receive == i));
        }
        for rank in 0..20 {
            assert!(queues.extract(&MpiPattern::new(0, rank, 7)).is_some());
        }
        assert!(!queues.is_deep());
        for rank in 0..20 {
            queues.queue_receive(MpiPattern::new(0, rank, 7), rank);
        }
        assert!(queues.deliver(&MpiEnvelope::new(0, 19, 7)).is_some());
        for round in 0..3 {
            for i in 0..KEYS {
                let (source, tag) = keys(i);
                queues.queue_receive(MpiPattern::new(0, source, 100 + tag), round);
            }
        }
        for i in 0..KEYS {
            let (source, tag) = keys(i);
            queues.queue_message(MpiEnvelope::new(0, source, 300 + tag), i);
        }
        for round in 0..3 {
            for i in (0..KEYS).rev() {
                let (source, tag) = keys(i);
                let taken = queues.deliver(&MpiEnvelope::new(0, source, 100 + tag));
                assert!(
                    matches!(taken, Some((_, receive)) if receive == round),
                    "{tries}"
                );
            }
        }
        for i in 0..KEYS {
            let (source, tag) = keys(i);
            let taken = queues.extract(&MpiPattern::new(0, source, 300 + tag));
            assert!(matches!(taken, Some((_, message)) if message == i));
        }
        for rank in 0..19 {
            assert!(queues.deliver(&MpiEnvelope::new(0, rank, 7)).is_some());
        }
        assert_eq!((queues.posted_len(), queues.unexpected_len()), (0, 0));
    }
}

#[test]
fn a_receive_is_cancelled_wherever_it_has_moved() {
    // In its window, and in the deep form between.
    for short_limit in [4096, 60] {
        let mut queues = soon_deep(short_limit);
        cancel_what_has_moved(&mut queues, short_limit == 60);
    }
}

fn cancel_what_has_moved(queues: &mut Queues, becomes_deep: bool) {
    let post = |queues: &mut Queues, rank| match queues.post(MpiPattern::new(0, rank, 7), rank) {
        Post::Queued(handle) => handle,
        Post::Matched { .. } => unreachable!("nothing has come"),
    };
    let arrive = |queues: &mut Queues, rank| {
        let arrival = queues.arrive(MpiEnvelope::new(0, rank, 7), 0);
        assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == rank));
    };
    // The first stays, and is moved behind others as they leave.
    let mut stay: Vec<_> = (0..3).map(|rank| post(queues, rank)).collect();
    post(queues, 1000);
    for rank in 1000..2000 {
        post(queues, rank + 1);
        arrive(queues, rank);
    }
    assert_eq!(queues.cancel(stay[1]), Some(1));
    assert_eq!(queues.cancel(stay[1]), None);
    // Deep, and short again with what stays.
    stay.push(post(queues, 3));
    for rank in 2001..2100 {
        post(queues, rank);
    }
    for rank in (2000..2100).rev() {
        arrive(queues, rank);
    }
    assert_eq!(queues.is_deep(), becomes_deep);
    assert_eq!(queues.cancel(stay[2]), Some(2));
    for rank in 2100..4000 {
        post(queues, rank);
        arrive(queues, rank);
    }
    assert!(!queues.is_deep());
    assert_eq!(queues.cancel(stay[3]), Some(3));
    assert_eq!(queues.cancel(stay[0]), Some(0));
    for handle in stay {
        assert_eq!(queues.cancel(handle), None);
    }
    assert_eq!(queues.posted_len(), 0);
}

#[test]
fn who_has_left_from_the_middle_is_not_found_again() {
    let mut queues = unexpected(1);
    for number in [10, 11, 12] {
        let _ = queues.arrive(MpiEnvelope::new(0, 5, 5), number);
    }
    let _ = queues.arrive(MpiEnvelope::new(0, 6, 6), 0);
    for number in [10, 11, 12] {
        let taken = queues.extract(&MpiPattern::new(0, 5, 5));
        assert!(matches!(taken, Some((_, found)) if found == number));
    }
    assert!(queues.extract(&MpiPattern::new(0, 5, 5)).is_none());
    assert_eq!(queues.unexpected_len(), 2);
}

#[test]
fn the_message_whose_removal_makes_the_queues_short_is_the_one_that_is_taken() {
    let mut queues = deep(100);
    for rank in 0..97 {
        let taken = queues.extract(&MpiPattern::new(0, rank, 7));
        assert!(matches!(taken, Some((_, message)) if message == rank));
    }
    assert!(queues.is_deep());
    for round in 0..200 {
        let _ = queues.arrive(MpiEnvelope::new(0, 9, 9), round);
        let taken = queues.extract(&MpiPattern::new(0, 9, 9));
        assert!(matches!(taken, Some((_, message)) if message == round));
    }
    assert!(!queues.is_deep());
    for rank in 97..100 {
        let taken = queues.extract(&MpiPattern::new(0, rank, 7));
        assert!(matches!(taken, Some((_, message)) if message == rank));
    }
}

/// Fills and drains a queue that is indexed, since a receive with a wildcard is posted when it becomes deep; with
/// `steady` buckets its table does not grow or shrink meanwhile.
fn round(queues: &mut Queues, entries: u32, steady: bool) {
    let mut before = None;
    let mut look = |queues: &Queues| {
        let buckets = queues
            .finders
            .as_ref()
            .map(|finders| finders.index.buckets());
        let changed = before
            .replace(buckets)
            .is_some_and(|before| before != buckets);
        assert!(!(steady && changed), "{buckets:?} for {entries} entries");
    };
    let Post::Queued(wildcard) = queues.post(MpiPattern::new(0, Source::Any, 5000), 0) else {
        unreachable!("nothing has come");
    };
    for rank in 0..entries {
        let _ = queues.post(MpiPattern::new(0, rank, 7), rank);
        if rank >= 5000 {
            look(queues);
        }
    }
    assert_eq!(queues.cancel(wildcard), Some(0));
    for rank in (0..entries).rev() {
        let _ = queues.arrive(MpiEnvelope::new(0, rank, 7), rank);
        if rank >= 500 {
            look(queues);
        }
    }
}

#[test]
fn rounds_of_one_length_leave_the_table_as_large_as_it_is() {
    // Some of as many entries as storage makes ready at a time, and others.
    for entries in [12_288, 20_011, 30_000] {
        let mut queues = Queues::with_config(&Config::default());
        for past in 0..5 {
            round(&mut queues, entries, past >= 2);
        }
    }
}

#[test]
fn an_idle_context_is_small() {
    assert!(size_of::<Queues>() <= 160, "{} bytes", size_of::<Queues>());
}

#[test]
fn a_context_of_a_million_ranks_takes_no_more_than_one_of_two() {
    let with = |contexts: u32, ranks: u32| {
        let mut engine: Engine<Queues> = Engine::new();
        for context in 0..contexts {
            let options = ContextOptions::new().size(ranks);
            engine.create_context(context, options).expect("new");
        }
        let unused = engine.memory().total();
        for context in 0..contexts {
            let last = ranks - 1;
            let pattern = MpiPattern::new(context, last, 7);
            assert!(matches!(engine.post(pattern, 1), Ok(Post::Queued(_))));
            let arrived = engine.arrive(MpiEnvelope::new(context, last, 7), 2);
            assert!(matches!(arrived, Ok(Arrive::Matched { .. })));
        }
        [unused, engine.memory().total()]
    };
    let [unused, used] = with(1_000, 1 << 20);
    assert_eq!([unused, used], with(1_000, 2));
    assert!(unused <= 256_000 && used <= 256_000, "{unused}, {used}");
}

/// Fills a queue with messages of `depth` sources and takes all but each `kept`-th, in a scattered
/// order.
fn fill_and_take(queues: &mut Queues, depth: u32, kept: u32) {
    for rank in 0..depth {
        let arrival = queues.arrive(MpiEnvelope::new(0, rank, 7), rank);
        assert_eq!(arrival, Arrive::Unexpected);
    }
    // A prime that divides no depth used here.
    for i in 0..depth {
        let rank = u32::try_from(u64::from(i) * 7_919 % u64::from(depth)).unwrap_or(0);
        if rank % kept != 0 {
            let post = queues.post(MpiPattern::new(0, rank, 7), 0);
            assert!(matches!(post, Post::Matched { message, .. } if message == rank));
        }
    }
    for rank in (0..depth).step_by(kept as usize) {
        let seen = queues.probe(&MpiPattern::new(0, rank, 7));
        assert!(matches!(seen, Some((_, &message)) if message == rank));
    }
    for rank in (0..depth).step_by(kept as usize) {
        let post = queues.post(MpiPattern::new(0, rank, 7), 0);
        assert!(matches!(post, Post::Matched { message, .. } if message == rank));
    }
    assert_eq!(queues.unexpected_len(), 0);
}

#[test]
fn tables_that_begin_with_the_buckets_of_former_fillings_find_everything() {
    let mut queues = unexpected(0);
    // Buckets come with the first, are there for the third, too many for the fourth and too few for
    // the last.
    for depth in [20_000, 20_000, 20_000, 300, 20_000, 60_000] {
        for kept in [depth, 100] {
            fill_and_take(&mut queues, depth, kept);
            let idle = queues.memory().total();
            assert!(idle <= 64 << 10, "{idle} bytes kept after {depth} entries");
        }
    }
}

#[test]
fn a_short_queue_after_long_ones_gives_their_buckets_back() {
    let mut queues = soon_deep_with_seed(200, Some(1));
    for _ in 0..2 {
        fill_and_take(&mut queues, 60_000, 100);
    }
    // It begins with 112,000 buckets, of which these entries use pages when they are indexed, each
    // another part of one.
    let ranks = |i| i % 1000 * 16;
    for i in 0..1000 {
        let _ = queues.arrive(MpiEnvelope::new(0, ranks(i), 7), i);
    }
    assert!(queues.probe(&MpiPattern::new(0, ranks(999), 7)).is_some());
    let Memory { index, .. } = queues.memory();
    let most = queues.memory().total();
    assert!(most < 600 << 10, "{most} bytes");
    // As long as it stays, steps that end with few entries make the table smaller, when there have
    // been more of them than a queue takes to drain.
    for i in 0..1000 {
        let _ = queues.post(MpiPattern::new(0, ranks(i), 7), i);
        let _ = queues.arrive(MpiEnvelope::new(0, ranks(i), 7), i);
    }
    assert!(queues.memory().index <= index);
    for i in 0..1000 {
        let _ = queues.post(MpiPattern::new(0, ranks(i), 7), i);
        let _ = queues.arrive(MpiEnvelope::new(0, ranks(i), 7), i);
    }
    let left = queues.memory().total();
    assert!(left < 350 << 10, "{left} bytes");
    // That is less than it had before: it did begin with the buckets of the long queues.
    assert!(left + (64 << 10) < most, "{left} of {most} bytes");
}

#[test]
fn a_receive_that_is_queued_without_a_search_harms_no_other() {
    // The contract of the halves is broken: a message is there that the receive would have taken.
    let mut queues = unexpected(5000);
    let key = |rank| (MpiEnvelope::new(0, rank, 7), MpiPattern::new(0, rank, 7));
    for rank in 0..5000 {
        let (_, pattern) = key(rank);
        let _ = queues.queue_receive(pattern, rank);
    }
    for rank in (0..5000).rev() {
        let (envelope, pattern) = key(rank);
        let post = queues.post(pattern, rank);
        assert!(matches!(post, Post::Matched { message, .. } if message == rank));
        let arrival = queues.arrive(envelope, 0);
        assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == rank));
    }
    assert_eq!((queues.posted_len(), queues.unexpected_len()), (0, 0));
}

#[test]
fn a_low_limit_of_short_queues_does_not_make_searches_long() {
    const RECEIVES: u32 = 4000;
    let mut config = Config::default();
    config.tuning.short_limit = 5;
    let mut queues = Queues::with_config(&config);
    let mut visits = Visits::default();
    for _ in 0..2 {
        // The second time there are slots for all, and nobody asks how many there are.
        for rank in 0..RECEIVES {
            let post = queues.post(MpiPattern::new(0, rank, 7), rank);
            assert!(matches!(post, Post::Queued(_)));
        }
        for rank in (0..RECEIVES).rev() {
            let arrival = queues.arrive_metered(MpiEnvelope::new(0, rank, 7), 0, &mut visits);
            assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == rank));
        }
    }
    let visited = visits.posted;
    assert!(visited < 10 * u64::from(RECEIVES), "{visited} compared");
}

#[test]
fn queues_show_how_long_they_are_and_neither_entries_nor_the_secret() {
    for length in [3, 40, 10_000] {
        let text = format!("{:?}", unexpected(length));
        let expected = format!(
            "Indexed {{ posted: 0, unexpected: {length}, is_deep: {}, .. }}",
            length > 4096
        );
        assert_eq!(text, expected);
    }
}
