//! A queue of a million entries fills and drains in every structure that is not a list, and frees its
//! memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use mq_core::config::Clusters;
use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::{AnyQueues, Kind};
use mq_core::{Arrive, Config, ContextId, Footprint, MatchQueues, Post, Rank, Visits};

const ENTRIES: u32 = 1_000_000;
/// Sixteen messages from each rank.
const RANKS: u32 = ENTRIES / 16;

type Queues = AnyQueues<MpiPattern, u32, u32>;

fn config(kind: Kind) -> Config {
    let mut config = Config::of_kind(kind).with_size(RANKS);
    config.tuning.bins = 1 << 16;
    let groups = (0..RANKS).map(|rank| ((ContextId(0), Rank(rank)), rank % 4096));
    config.tuning.clusters = Some(Arc::new(Clusters::new(groups.collect::<BTreeMap<_, _>>())));
    config
}

fn key(entry: u32) -> (u32, i32) {
    (entry % RANKS, (entry / RANKS).cast_signed())
}

/// The order in which a queue is drained: the worst for a list, or its best.
#[derive(Clone, Copy)]
enum Drain {
    Reverse,
    Forward,
}

impl Drain {
    fn order(self, entries: u32) -> Box<dyn Iterator<Item = u32>> {
        match self {
            Self::Reverse => Box::new((0..entries).rev()),
            Self::Forward => Box::new(0..entries),
        }
    }
}

fn build_and_drain_posted(queues: &mut Queues, entries: u32, drain: Drain) -> Visits {
    let mut visits = Visits::default();
    for entry in 0..entries {
        let (rank, tag) = key(entry);
        let post = queues.post_metered(MpiPattern::new(0, rank, tag), entry, &mut visits);
        assert!(matches!(post, Post::Queued(_)));
    }
    for entry in drain.order(entries) {
        let (rank, tag) = key(entry);
        let arrival = queues.arrive_metered(MpiEnvelope::new(0, rank, tag), 0, &mut visits);
        assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == entry));
    }
    visits
}

fn build_and_drain_unexpected(queues: &mut Queues, entries: u32, drain: Drain) -> Visits {
    let mut visits = Visits::default();
    for entry in 0..entries {
        let (rank, tag) = key(entry);
        let arrival = queues.arrive_metered(MpiEnvelope::new(0, rank, tag), entry, &mut visits);
        assert!(matches!(arrival, Arrive::Unexpected));
    }
    for entry in drain.order(entries) {
        let (rank, tag) = key(entry);
        let post = queues.post_metered(MpiPattern::new(0, rank, tag), 0, &mut visits);
        assert!(matches!(post, Post::Matched { message, .. } if message == entry));
    }
    visits
}

/// Structures whose searches are a whole queue in this test: one list, or shared lists whose senders are all alike, so
/// that few of them become partners (2,000 of 62,500), and nothing a collective.
const LIST_LIKE: [Kind; 4] = [Kind::List, Kind::Pnp, Kind::Col, Kind::ColPnp];

#[test]
fn a_million_entries_take_no_quadratic_time_and_leave_little_behind() {
    for &kind in Kind::ALL {
        // A list of a million in reverse would take days; in order it is as quick as any.
        let drain = if LIST_LIKE.contains(&kind) {
            Drain::Forward
        } else {
            Drain::Reverse
        };
        let mut queues = Queues::with_config(&config(kind));
        for (queue, visits) in [
            (
                "posted",
                build_and_drain_posted(&mut queues, ENTRIES, drain),
            ),
            (
                "unexpected",
                build_and_drain_unexpected(&mut queues, ENTRIES, drain),
            ),
        ] {
            let per_entry = visits.total() / u64::from(ENTRIES);
            println!("{kind}: {queue}: {per_entry} entries and objects visited per entry");
            assert!(per_entry <= 2_000, "{kind}: {per_entry} visited per entry");
        }
        let idle = queues.memory();
        println!("{kind}: {} bytes idle: {idle:?}", idle.total());
        // What stays is what the structure plans for: heads for ranks, bins, groups, profiles.
        assert!(idle.entries <= 512 << 10, "{kind}: {idle:?}");
        assert!(idle.index <= 4 << 20, "{kind}: {idle:?}");
    }
}

#[test]
fn structures_that_are_lists_here_work_in_reverse_too() {
    for kind in LIST_LIKE {
        let mut queues = Queues::with_config(&config(kind));
        build_and_drain_posted(&mut queues, 4_000, Drain::Reverse);
        build_and_drain_unexpected(&mut queues, 4_000, Drain::Reverse);
        assert_eq!((queues.posted_len(), queues.unexpected_len()), (0, 0));
    }
}
