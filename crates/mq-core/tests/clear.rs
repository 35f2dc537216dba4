//! What an engine keeps when it is cleared, and what it forgets.

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::{ColPnp, Kind, KindVisitor};
use mq_core::{
    Arrive, CollectiveCall, Config, ContextId, ContextOptions, Engine, EngineOptions, Footprint,
    MatchQueues, Post, Queue, TrafficClass,
};

/// What a structure of each kind is asked to do.
struct Rounds {
    /// Receives, and as many messages with other tags.
    entries: u32,
}

/// Bytes of entries: before, when the queues were filled, cleared, and drained.
struct Bytes {
    fresh: usize,
    filled: usize,
    cleared: usize,
    drained: usize,
}

impl KindVisitor<MpiPattern, u32, u32> for Rounds {
    type Output = Bytes;

    fn visit<Q>(self) -> Bytes
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32> + Footprint + 'static,
    {
        let ranks = 64;
        let mut engine: Engine<Q> = Engine::with_options(EngineOptions::new());
        let options = ContextOptions::new().size(ranks);
        engine.create_context(0, options).expect("the first");
        let key = |i: u32| (i % ranks, (i / ranks).cast_signed());
        let fill = |engine: &mut Engine<Q>| {
            let mut handles = Vec::new();
            for i in 0..self.entries {
                let (source, tag) = key(i);
                match engine.post(MpiPattern::new(0, source, tag), i) {
                    Ok(Post::Queued(handle)) => handles.push(handle),
                    other => panic!("nothing has this tag: {other:?}"),
                }
                let other = MpiEnvelope::new(0, source, tag + 100_000);
                assert_eq!(engine.arrive(other, i), Ok(Arrive::Unexpected));
            }
            handles
        };
        // From the last one on, so that it is searched for.
        let drain = |engine: &mut Engine<Q>| {
            for i in (0..self.entries).rev() {
                let (source, tag) = key(i);
                let arrival = engine.arrive(MpiEnvelope::new(0, source, tag), 0);
                assert!(matches!(arrival, Ok(Arrive::Matched { receive, .. }) if receive == i));
                let post = engine.post(MpiPattern::new(0, source, tag + 100_000), 0);
                assert!(matches!(post, Ok(Post::Matched { message, .. }) if message == i));
            }
        };
        let fresh = engine.memory().entries;
        fill(&mut engine);
        drain(&mut engine);
        let drained = engine.memory().entries;
        let handles = fill(&mut engine);
        let filled = engine.memory().entries;
        // Half of the receives have been searched for, so that indexed queues have tables.
        for i in (self.entries / 2..self.entries).rev() {
            let (source, tag) = key(i);
            let arrival = engine.arrive(MpiEnvelope::new(0, source, tag), 0);
            assert!(matches!(arrival, Ok(Arrive::Matched { .. })));
        }
        engine.clear();
        let cleared = engine.memory().entries;
        assert_eq!((engine.posted_len(), engine.unexpected_len()), (0, 0));
        for handle in handles {
            assert_eq!(engine.cancel(handle), None, "a handle of before");
        }
        // Whatever is kept has nothing of the entries in it.
        fill(&mut engine);
        drain(&mut engine);
        Bytes {
            fresh,
            filled,
            cleared,
            drained,
        }
    }
}

#[test]
fn the_storage_of_queues_stays() {
    for &kind in Kind::ALL {
        let bytes = kind.accept(Rounds { entries: 700 });
        assert_eq!(bytes.cleared, bytes.filled, "{kind}");
        assert_eq!(bytes.cleared, bytes.drained, "{kind}");
    }
}

#[test]
fn the_storage_of_a_burst_goes() {
    for &kind in Kind::ALL {
        let bytes = kind.accept(Rounds { entries: 5000 });
        assert!(bytes.cleared <= bytes.drained, "{kind}");
        assert!(bytes.cleared - bytes.fresh < bytes.filled / 10, "{kind}");
    }
}

#[test]
fn lists_of_collectives_and_partners_go() {
    const RANKS: u32 = 100;
    let mut queues =
        ColPnp::<MpiPattern, u32, u32>::with_config(&Config::default().with_size(RANKS));
    let class = TrafficClass::Gather;
    for _ in 0..2 {
        queues.announce(&CollectiveCall::new(ContextId(0), class, 8, RANKS));
        for rank in 0..RANKS {
            let _ = queues.arrive(MpiEnvelope::new(0, rank, -19).with_class(class), rank);
            let _ = queues.arrive(MpiEnvelope::new(0, rank % 4, 7), rank);
        }
        for rank in (0..RANKS).rev() {
            let _ = queues.post(MpiPattern::new(0, rank, -19).with_class(class), rank);
        }
    }
    let learned = |queues: &ColPnp<_, _, _>| {
        let queue = Queue::Unexpected;
        (queues.dedicated_lists(queue), queues.partners(queue))
    };
    let (lists, partners) = learned(&queues);
    assert!(lists > 0 && partners > 0, "{lists}, {partners}");
    queues.clear();
    assert_eq!(learned(&queues), (0, 0));
}

#[test]
fn what_a_sender_has_sent_before_makes_it_no_partner() {
    const RANKS: u32 = 10;
    let mut queues =
        ColPnp::<MpiPattern, u32, u32>::with_config(&Config::default().with_size(RANKS));
    for i in 0..99 {
        let _ = queues.arrive(MpiEnvelope::new(0, 1, 7), i);
    }
    queues.clear();
    // As many of each, so that none is above the average.
    for i in 0..100 {
        let _ = queues.arrive(MpiEnvelope::new(0, i % RANKS, 7), i);
    }
    assert_eq!(queues.partners(Queue::Unexpected), 0);
}
