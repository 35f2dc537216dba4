//! The memory that a shared engine says it has.

#![cfg(all(feature = "shared", not(mq_loom)))]

use std::sync::Arc;

use mq_core::config::Clusters;
use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::{Sharding, SharedEngine};
use mq_core::structures::{ClusteredLists, Indexed};
use mq_core::{Arrive, Budget, ContextId, ContextOptions, EngineOptions, Footprint, Rank, Tuning};

type Queues = Indexed<MpiPattern, u32, u32>;

fn with(budget: Budget<u32>) -> SharedEngine<Queues> {
    SharedEngine::with_options(EngineOptions::new().budget(budget), Sharding::new())
}

fn create(engine: &SharedEngine<Queues>, context: u32) {
    let made = engine.create_context(context, ContextOptions::new());
    made.expect("a new context");
}

#[test]
fn the_directory_of_contexts_is_counted() {
    let engine = with(Budget::UNLIMITED);
    let empty = engine.memory().index;
    create(&engine, 0);
    let one = engine.memory().index - empty;
    create(&engine, 1);
    assert_eq!(engine.memory().index, empty + 2 * one, "they are alike");
    create(&engine, 100);
    let farther = engine.memory().index - empty - 2 * one;
    assert!(
        farther > one,
        "a segment of the directory: {farther} > {one}"
    );
    create(&engine, 1 << 20);
    let sparse = engine.memory().index - empty - 2 * one - farther;
    assert!(sparse > one, "a place in the map: {sparse} > {one}");
}

#[test]
fn what_is_kept_of_each_source_is_counted() {
    let limited = Budget::UNLIMITED.entries_per_source(4);
    let engines = [with(Budget::UNLIMITED), with(limited)];
    let [without, limited] = engines.map(|engine| {
        create(&engine, 0);
        for source in 0..1000 {
            let arrived = engine.arrive(MpiEnvelope::new(0, source, 0), 0);
            assert!(matches!(arrived, Ok(Arrive::Unexpected)), "there is room");
        }
        engine.memory().index
    });
    assert!(limited >= without + 1000 * 8, "{limited}, {without}");
}

#[test]
fn a_freed_context_lets_go_of_its_profile() {
    let profile = Arc::new(Clusters::new([((ContextId(0), Rank(1)), 0)]));
    let kept = Arc::downgrade(&profile);
    let engine: SharedEngine<ClusteredLists<MpiPattern, u32, u32>> = SharedEngine::new();
    let tuning = Tuning::default().with(|tuning| tuning.clusters = Some(profile));
    let made = engine.create_context(0, ContextOptions::new().tuning(tuning));
    drop(made.expect("a new context"));
    assert!(kept.upgrade().is_some(), "it uses it");
    engine.free_context(0, &mut |_| {}).expect("it is there");
    assert!(kept.upgrade().is_none());
}

#[test]
fn the_shards_of_a_context_are_counted() {
    let [four, eight] = [4, 8].map(|shards| {
        let sharding = Sharding::new().shards(shards);
        let engine: SharedEngine<Queues> =
            SharedEngine::with_options(EngineOptions::new(), sharding);
        let made = engine.create_context(0, ContextOptions::new());
        let context = made.expect("a new context");
        let before = engine.memory().index;
        context.divide().expect("it exists");
        engine.memory().index - before
    });
    assert!(four >= 4 * size_of::<Queues>(), "{four}");
    assert_eq!(eight, 2 * four);
}
