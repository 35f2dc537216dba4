//! The classes of wildcards.

use super::*;

pub(super) fn masked(ignore: u32) -> TagSelector {
    TagSelector::Masked {
        wanted: crate::Tag(7),
        ignore: ignore << 8,
    }
}

#[test]
fn deep_searches_visit_one_entry_in_every_wildcard_class() {
    let mut queues = deep(1000);
    for (source, tag) in [
        (Source::from(500), TagSelector::from(7)),
        (Source::Any, TagSelector::from(7)),
        (Source::from(501), TagSelector::Any),
        (Source::Any, TagSelector::Any),
    ] {
        let pattern = MpiPattern::new(0, source, tag);
        let is_exact = pattern.care() == u64::ALL;
        let all = queues.unexpected_len() as u64;
        for _ in 0..4 {
            let mut visits = Visits::default();
            assert!(queues.probe_metered(&pattern, &mut visits).is_some());
            let looked_at = if is_exact { 1 } else { all };
            assert_eq!(visits.unexpected, looked_at, "{source} {tag:?}");
        }
        // Each of the next indexes some, and looks at all if it finds nothing there.
        let mut searches = 0;
        loop {
            let mut visits = Visits::default();
            assert!(queues.probe_metered(&pattern, &mut visits).is_some());
            if visits.unexpected == 1 {
                break;
            }
            assert_eq!(visits.unexpected, all, "{source} {tag:?}");
            searches += 1;
            assert!(searches < 100, "{source} {tag:?}");
        }
        let mut visits = Visits::default();
        let found = queues.extract_metered(&pattern, &mut visits);
        assert!(found.is_some());
        assert_eq!(visits.unexpected, 1, "{source} {tag:?}");
    }
}

#[test]
fn a_wildcard_class_that_nobody_uses_any_more_is_dropped() {
    let mut queues = deep(100);
    let any = MpiPattern::new(0, Source::Any, 7);
    for _ in 0..5 {
        assert!(queues.probe(&any).is_some());
    }
    assert!(
        queues
            .finders
            .as_ref()
            .is_some_and(|finders| finders.index.views() == 1)
    );
    for round in 0..2_000 {
        let _ = queues.arrive(MpiEnvelope::new(0, round, 8), round);
        let _ = queues.post(MpiPattern::new(0, round, 8), round);
    }
    assert!(queues.is_deep());
    assert!(
        queues
            .finders
            .as_ref()
            .is_some_and(|finders| finders.index.views() == 0)
    );
    assert!(
        matches!(queues.probe(&any), Some((_, 0))),
        "made again when asked for"
    );
}

#[test]
fn a_look_at_all_messages_finds_the_earliest_between_holes() {
    let any = MpiPattern::new(0, Source::Any, 7);
    let mut queues = unexpected(0);
    for rank in 0..300_u32 {
        let tag = if rank < 150 { 8 } else { 7 };
        let _ = queues.arrive(MpiEnvelope::new(0, rank, tag), rank);
    }
    // Holes near the head, as many as are found without a long search.
    for rank in [2, 4, 6, 8, 10] {
        let taken = queues.extract(&MpiPattern::new(0, rank, 8));
        assert!(matches!(taken, Some((_, message)) if message == rank));
    }
    assert!(matches!(queues.probe(&any), Some((_, 150))));
    let post = queues.post(any, 0);
    assert!(matches!(post, Post::Matched { message, .. } if message == 150));
    assert!(queues.probe(&MpiPattern::new(0, Source::Any, 9)).is_none());
    assert!(!queues.is_deep());
    for rank in (0..150).filter(|rank| ![2, 4, 6, 8, 10].contains(rank)) {
        let taken = queues.extract(&MpiPattern::new(0, rank, 8));
        assert!(matches!(taken, Some((_, message)) if message == rank));
    }
    for rank in 151..300 {
        let taken = queues.extract(&any);
        assert!(matches!(taken, Some((_, message)) if message == rank));
    }
    assert_eq!(queues.unexpected_len(), 0);
}

#[test]
fn messages_are_indexed_for_a_class_while_it_asks_often_for_how_many_they_are() {
    let mut queues = deep(200);
    let mut sender = 0;
    // Takes messages in order, some from any source, and queues as many; returns the number of views
    // at the end.
    let mut steady = |one_in: u32| {
        for i in 0..4_000 {
            let source = if i % one_in == 0 {
                Source::Any
            } else {
                Source::from(sender % 200)
            };
            let post = queues.post(MpiPattern::new(0, source, 7), 0);
            assert!(matches!(post, Post::Matched { message, .. } if message == sender % 200));
            let arrival = queues.arrive(MpiEnvelope::new(0, sender % 200, 7), sender % 200);
            assert_eq!(arrival, Arrive::Unexpected);
            sender += 1;
        }
        assert!(queues.is_deep());
        queues
            .finders
            .as_ref()
            .map_or(0, |finders| finders.index.views())
    };
    assert_eq!(steady(50), 0, "to look at all costs less");
    assert_eq!(steady(2), 1);
    assert_eq!(steady(50), 0, "nor is one kept up");
    assert_eq!(steady(1), 1);
}

/// Fills the queue with messages of a tag each and takes them, the newest first, by receives of some
/// source. Returns how many entries the first of these was compared with.
fn round(queues: &mut Queues, messages: i32, source: Source) -> u64 {
    for tag in 0..messages {
        let arrival = queues.arrive(MpiEnvelope::new(0, 3, tag), 0);
        assert_eq!(arrival, Arrive::Unexpected);
    }
    let mut first = Visits::default();
    for tag in (0..messages).rev() {
        let mut visits = Visits::default();
        let pattern = MpiPattern::new(0, source, tag);
        let post = queues.post_metered(pattern, 0, &mut visits);
        assert!(matches!(post, Post::Matched { envelope, .. } if envelope.tag().0 == tag));
        if tag + 1 == messages {
            first = visits;
        }
    }
    assert!(!queues.is_deep());
    first.unexpected
}

#[test]
fn what_was_received_from_any_source_is_indexed_for_that_while_it_is_asked_for() {
    const SCAN: u64 = 12;
    const WITH_WILDCARDS: u64 = 3 * SCAN;
    let (any, exact) = (Source::Any, Source::from(3));
    // A chain may have an entry or two of other keys.
    let is_found = |visited: u64, scan: u64| (1..8).contains(&(visited - scan));
    let mut queues = soon_deep_with_seed(4096, Some(1));
    assert_eq!(round(&mut queues, 500, any), 500, "nobody could know");
    for _ in 0..3 {
        assert!(is_found(round(&mut queues, 500, any), WITH_WILDCARDS));
    }
    assert!(is_found(round(&mut queues, 500, exact), SCAN));
    assert_eq!(round(&mut queues, 500, any), 500, "a round without");
    for _ in 0..3 {
        assert!(is_found(round(&mut queues, 3000, any), WITH_WILDCARDS));
    }
    // More than stay in their window.
    for _ in 0..3 {
        assert_eq!(round(&mut queues, 10_000, any), 1);
    }
}

#[test]
fn some_long_searches_of_a_class_are_not_worth_a_table() {
    const MESSAGES: i32 = 300;
    const WITH_WILDCARDS: u64 = 3 * 12;
    let last = MpiPattern::new(0, Source::Any, MESSAGES - 1);
    // Fills the queue, has the class search `searches` times for the last message, and takes all in order.
    // Returns how many messages the searches were compared with.
    let filling = |queues: &mut Queues, searches: usize| {
        for tag in 0..MESSAGES {
            let arrival = queues.arrive(MpiEnvelope::new(0, 3, tag), 0);
            assert_eq!(arrival, Arrive::Unexpected);
        }
        let visited: Vec<u64> = (0..searches)
            .map(|_| {
                let mut visits = Visits::default();
                assert!(queues.probe_metered(&last, &mut visits).is_some());
                visits.unexpected
            })
            .collect();
        for tag in 0..MESSAGES {
            let post = queues.post(MpiPattern::new(0, 3, tag), 0);
            assert!(matches!(post, Post::Matched { .. }));
        }
        assert!(!queues.unexpected.is_tabled());
        visited
    };
    let all = MESSAGES as u64;
    let with_a_scan = WITH_WILDCARDS + 1;
    // Chains are as they were.
    let mut config = Config::default();
    config.tuning.hash_seed = Some(1);
    let mut queues = Queues::with_config(&config);
    for _ in 0..2 {
        assert_eq!(filling(&mut queues, 2), [all; 2]);
        let fourth = [all, 1, 1];
        assert_eq!(filling(&mut queues, 3), fourth, "of both fillings");
        let worth_it = [with_a_scan, 1];
        assert_eq!(filling(&mut queues, 2), worth_it, "as the last time");
        round(&mut queues, MESSAGES, Source::from(3));
    }
}

#[test]
fn arrivals_pay_for_wildcards_only_while_some_are_posted() {
    let mut queues = deep(100);
    let is_plain = |queues: &Queues| {
        queues
            .finders
            .as_ref()
            .is_some_and(|finders| finders.index.is_plain())
    };
    assert!(is_plain(&queues));
    // One of a key, and several of another.
    for tag in [50, 51, 51, 51] {
        let post = queues.post(MpiPattern::new(0, Source::Any, tag), 1);
        assert!(matches!(post, Post::Queued(_)));
    }
    for (source, tag) in [(3, 51), (4, 50), (5, 51), (6, 51)] {
        assert!(!is_plain(&queues));
        let arrival = queues.arrive(MpiEnvelope::new(0, source, tag), 1);
        assert!(matches!(arrival, Arrive::Matched { .. }));
    }
    assert!(is_plain(&queues));
}

#[test]
fn more_masks_than_classes_are_still_matched_in_order() {
    let mut queues = deep(100);
    for round in 0..3 {
        for ignore in 0..20 {
            let seen = queues.probe(&MpiPattern::new(0, Source::Any, masked(ignore)));
            assert!(matches!(seen, Some((_, 0))), "round {round}, mask {ignore}");
        }
    }
    for ignore in 0..20 {
        let pattern = MpiPattern::new(0, 1000 + ignore, masked(ignore));
        assert!(matches!(queues.post(pattern, ignore), Post::Queued(_)));
    }
    for rank in 0..20 {
        let arrival = queues.arrive(MpiEnvelope::new(0, 1000 + rank, 7), 0);
        assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == rank));
    }
}

#[test]
fn a_slot_forgets_that_its_receive_had_no_class() {
    let mut queues = deep(20);
    let scan = |queues: &mut Queues, rank| queues.arrive(MpiEnvelope::new(0, rank, 7), 0);
    // More masks than classes, then nothing is left.
    for ignore in 0..20 {
        let pattern = MpiPattern::new(0, 1000 + ignore, masked(ignore));
        assert!(matches!(queues.post(pattern, ignore), Post::Queued(_)));
    }
    for rank in 0..20 {
        assert!(matches!(
            scan(&mut queues, 1000 + rank),
            Arrive::Matched { .. }
        ));
        let _ = queues.extract(&MpiPattern::new(0, rank, 7));
    }
    assert!(!queues.is_deep());
    // The same slots, with one key, and a search that goes past them.
    let handles: Vec<_> = (0..20)
        .map(
            |number| match queues.post(MpiPattern::new(0, 5, 7), number) {
                Post::Queued(handle) => handle,
                Post::Matched { .. } => unreachable!("nothing has come"),
            },
        )
        .collect();
    assert_eq!(scan(&mut queues, 6), Arrive::Unexpected);
    assert!(queues.posted.is_tabled());
    for at in [19, 3, 8] {
        assert_eq!(queues.cancel(handles[at]), u32::try_from(at).ok());
    }
    assert!(matches!(
        queues.post(MpiPattern::new(0, 5, 7), 20),
        Post::Queued(_)
    ));
    for number in (0..21).filter(|number| ![3, 8, 19].contains(number)) {
        let arrival = scan(&mut queues, 5);
        assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == number));
    }
}

/// Takes out all receives but each `kept`-th by messages, in a scattered order, and those after.
fn drain_receives(queues: &mut Queues, depth: u32, kept: u32) {
    let arrive = |queues: &mut Queues, number: u32| {
        let tag = number.cast_signed() / 2;
        queues.arrive(MpiEnvelope::new(0, 5 + number % 2, tag), 0)
    };
    // A prime that divides no depth used here.
    for i in 0..depth {
        let number = u32::try_from(u64::from(i) * 7_919 % u64::from(depth)).unwrap_or(0);
        if number % kept != 0 {
            let taken = arrive(queues, number);
            assert!(matches!(taken, Arrive::Matched { receive, .. } if receive == number));
        }
    }
    for number in (0..depth).step_by(kept as usize) {
        let taken = arrive(queues, number);
        assert!(matches!(taken, Arrive::Matched { receive, .. } if receive == number));
    }
    assert_eq!(queues.posted_len(), 0);
}

#[test]
fn many_wildcards_are_found_and_leave_nothing_behind() {
    let mut queues = unexpected(0);
    for depth in [20_000, 300, 60_000] {
        for kept in [depth, 100] {
            // Half of them from any source, and the others of two classes.
            for number in 0_u32..depth {
                let tag = number.cast_signed() / 2;
                let pattern = match number % 4 {
                    0 | 2 => MpiPattern::new(0, 5, tag),
                    1 => MpiPattern::new(0, Source::Any, tag),
                    _ => {
                        let tag = TagSelector::Masked {
                            wanted: crate::Tag(tag),
                            ignore: 1 << 30,
                        };
                        MpiPattern::new(0, 6, tag)
                    }
                };
                assert!(matches!(queues.post(pattern, number), Post::Queued(_)));
            }
            drain_receives(&mut queues, depth, kept);
            // What fits into the near slots leaves them there.
            let most = if depth < 4096 { 80 << 10 } else { 64 << 10 };
            let idle = queues.memory().total();
            assert!(idle <= most, "{idle} bytes kept after {depth} entries");
        }
    }
}

#[test]
fn cancelled_wildcards_make_their_table_smaller() {
    let mut queues = deep(100);
    let handles: Vec<_> = (0..40_000)
        .map(
            |tag| match queues.post(MpiPattern::new(0, Source::Any, tag + 10), 1) {
                Post::Queued(handle) => handle,
                Post::Matched { .. } => unreachable!("messages have another tag"),
            },
        )
        .collect();
    let most = queues.memory().index;
    for handle in &handles[1000..] {
        assert_eq!(queues.cancel(*handle), Some(1));
    }
    let left = queues.memory().index;
    assert!(most < 360 << 10, "{most} bytes");
    assert!(left < 100 << 10, "{left} of {most} bytes");
    for handle in &handles[..1000] {
        assert_eq!(queues.cancel(*handle), Some(1));
    }
    assert_eq!(queues.posted_len(), 0);
}

#[test]
fn receives_in_the_slots_of_wildcards_get_buckets_of_their_own() {
    const MANY: i32 = 30_000;
    let mut queues = deep(100);
    for tag in 0..MANY {
        let _ = queues.post(MpiPattern::new(0, Source::Any, tag + 10), 1);
    }
    let gone = MANY / 10 * 7;
    for tag in 0..gone {
        let arrival = queues.arrive(MpiEnvelope::new(0, 1, tag + 10), 0);
        assert!(matches!(arrival, Arrive::Matched { .. }));
    }
    // No slot is missing, so storage is not asked for any.
    for rank in 0..gone as u32 {
        let _ = queues.post(MpiPattern::new(0, rank, MANY + 10), rank);
    }
    let buckets = queues
        .finders
        .as_ref()
        .map_or(0, |finders| finders.index.buckets());
    assert!(buckets > gone as u32, "{buckets} for {gone} keys");
    for rank in (0..gone as u32).rev() {
        let arrival = queues.arrive(MpiEnvelope::new(0, rank, MANY + 10), 0);
        assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == rank));
    }
}

#[test]
fn a_wildcard_and_a_receive_of_the_same_bits_are_told_apart() {
    // Source 0 is what a receive from any source says of its source.
    for any_first in [true, false] {
        let mut queues = deep(100);
        let any = MpiPattern::new(0, Source::Any, 9);
        let exact = MpiPattern::new(0, 0, 9);
        let both = if any_first {
            [any, exact]
        } else {
            [exact, any]
        };
        for (number, pattern) in (0..).zip(both) {
            assert!(matches!(queues.post(pattern, number), Post::Queued(_)));
        }
        let first = queues.arrive(MpiEnvelope::new(0, 0, 9), 0);
        assert!(matches!(first, Arrive::Matched { receive: 0, .. }));
        let other = queues.arrive(MpiEnvelope::new(0, 1, 9), 0);
        assert_eq!(matches!(other, Arrive::Matched { .. }), !any_first);
    }
}
