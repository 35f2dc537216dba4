//! The memory that a shared engine says it has.

#![cfg(all(feature = "shared", not(mq_loom)))]

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::{Sharding, SharedEngine};
use mq_core::structures::Indexed;
use mq_core::{Arrive, Budget, ContextOptions, EngineOptions, Footprint};

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
