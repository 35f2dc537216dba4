//! What a shared engine forgets, and what it knows of itself.

#![cfg(all(feature = "shared", not(mq_loom)))]

use std::sync::Arc;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::{Divide, Sharding, SharedEngine};
use mq_core::structures::{Col, Indexed, Kind};
use mq_core::{
    Arrive, Budget, CollectiveCall, Config, ContextId, ContextOptions, EngineOptions, Error,
    Footprint, MatchQueues, Post, Source, TrafficClass, Used,
};

#[test]
fn an_engine_that_was_cleared_holds_nothing_and_goes_on() {
    type Queues = Indexed<MpiPattern, u32, Arc<()>>;
    for divide in [Divide::AtOnce, Divide::WhenContended] {
        let budget = Budget::UNLIMITED.entries(100);
        let options = EngineOptions::new().budget(budget);
        let sharding = Sharding::new().shards(4).divide(divide);
        let engine: SharedEngine<Queues> = SharedEngine::with_options(options, sharding);
        let contexts = [0, 5, 10_000].map(|context| {
            let options = ContextOptions::new().size(64);
            engine.create_context(context, options).expect("a new one")
        });
        // Its count tells how many messages have not been dropped.
        let token = Arc::new(());
        let mut handles = Vec::new();
        for round in 1..=3 {
            let messages = || contexts.iter().flat_map(|c| (0..8).map(move |i| (c, i)));
            for (context, i) in messages() {
                let message = Arc::clone(&token);
                let _ = context.arrive(MpiEnvelope::new(context.id(), i, 7), message);
                let from = [Source::Any, i.into()][i as usize % 2];
                match context.post(MpiPattern::new(context.id(), from, 8), i) {
                    Ok(Post::Queued(handle)) => handles.push((context, handle)),
                    _ => panic!("no message has the tag"),
                }
                if i == 3 {
                    // In the second half, the undivided queues hold elders.
                    context.divide().expect("it exists");
                }
            }
            let used = engine.used();
            assert_eq!((used.entries, used.bytes), (24, 0), "in round {round}");
            engine.clear();
            assert_eq!(engine.used(), Used::default());
            assert_eq!((engine.posted_len(), engine.unexpected_len()), (0, 0));
            assert_eq!(Arc::strong_count(&token), 1);
            for (context, handle) in &handles {
                assert_eq!(context.cancel(*handle), None);
            }
        }
        // No gate is left closed, nor a message looked for where none is.
        for context in &contexts {
            let any = MpiPattern::new(context.id(), Source::Any, 7);
            assert!(context.extract(&any).expect("it exists").is_none());
            let _ = context.post(MpiPattern::new(context.id(), 9, 7), 90);
            let message = Arc::clone(&token);
            let arrive = context.arrive(MpiEnvelope::new(context.id(), 9, 7), message);
            assert!(matches!(arrive, Ok(Arrive::Matched { receive: 90, .. })));
        }
    }
}

#[test]
fn handles_of_one_engine_are_stale_in_the_next() {
    let first = SharedEngine::<Indexed<MpiPattern, u32, u32>>::new();
    let mut next = SharedEngine::new();
    let mut old = Vec::new();
    for engine in [&first, &next] {
        assert_eq!(engine.next_sequence(), 0);
    }
    let fill = |engine: &SharedEngine<Indexed<MpiPattern, u32, u32>>| {
        let options = ContextOptions::new().no_any_source();
        let context = engine.create_context(3, options).expect("a new one");
        let post = |i| match context.post(MpiPattern::new(3, i, 1), i) {
            Ok(Post::Queued(handle)) => handle,
            _ => panic!("nothing waits"),
        };
        let mut handles: Vec<_> = (0..10).map(post).collect();
        context.divide().expect("it exists");
        handles.extend((10..50).map(post));
        handles
    };
    for (engine, is_freed) in [(&first, false), (&first, true)] {
        if is_freed {
            engine.free_context(3, &mut |_| {}).expect("it exists");
        }
        old.extend(fill(engine));
        let begin = engine.next_sequence();
        next =
            SharedEngine::with_options(EngineOptions::new().first_sequence(begin), Sharding::new());
        let fresh = fill(&next);
        assert!(old.iter().all(|&handle| next.cancel(handle).is_none()));
        assert!(fresh.iter().all(|&handle| next.cancel(handle).is_some()));
    }
}

/// The memory that one object takes to remember a call.
fn plan_of_one(call: &CollectiveCall) -> usize {
    let config = Config::of_kind(Kind::Col).with_size(call.communicator_size);
    let mut queues: Col<MpiPattern, u32, u32> = Col::with_config(&config);
    let before = queues.memory().index;
    queues.announce(call);
    let grown = queues.memory().index - before;
    assert!(grown > 0, "a call that leaves no trace shows nothing");
    grown
}

#[test]
fn an_announced_collective_is_known_in_every_place_until_all_is_cleared() {
    const RANKS: u32 = 64;
    let class = TrafficClass::Gather;
    let options = EngineOptions::new();
    let sharding = Sharding::new().shards(2).divide(Divide::AtOnce);
    let engine: SharedEngine<Col<MpiPattern, u32, u32>> =
        SharedEngine::with_options(options, sharding);
    let context = engine
        .create_context(0, ContextOptions::new().size(RANKS))
        .expect("a new one");
    let call = CollectiveCall::new(ContextId(0), class, 8, RANKS);
    let (alone, places) = (plan_of_one(&call), 3);
    let before = engine.memory().index;
    engine.announce(&call).expect("the context is there");
    assert_eq!(engine.memory().index - before, places * alone);
    engine.clear();
    assert_eq!(engine.memory().index, before);
    for _ in 0..3 {
        engine.announce(&call).expect("the context is there");
        for rank in 0..RANKS {
            let message = MpiEnvelope::new(0, rank, -19).with_class(class);
            let _ = context.arrive(message, rank).expect("in range");
        }
        for rank in (0..RANKS).rev() {
            let receive = MpiPattern::new(0, rank, -19).with_class(class);
            let post = context.post(receive, rank).expect("in range");
            assert!(matches!(post, Post::Matched { message, .. } if message == rank));
        }
    }
    context.announce(&call).expect("its own");
    let other = CollectiveCall::new(ContextId(1), class, 8, RANKS);
    assert_eq!(
        context.announce(&other),
        Err(Error::OtherContext {
            handle: ContextId(0),
            named: ContextId(1)
        })
    );
    let unknown = Err(Error::UnknownContext(ContextId(1)));
    assert_eq!(engine.announce(&other), unknown);
    engine.free_context(0, &mut |_| {}).expect("it exists");
    let gone = Err(Error::UnknownContext(ContextId(0)));
    assert_eq!(context.announce(&call), gone);
}
