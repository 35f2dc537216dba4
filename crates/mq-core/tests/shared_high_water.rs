//! The high-water call of a shared engine comes when the message is queued.

#![cfg(all(feature = "shared", not(mq_loom)))]

use std::panic::{AssertUnwindSafe, catch_unwind};

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::{Sharding, SharedEngine};
use mq_core::structures::Indexed;
use mq_core::{Arrive, Budget, ContextOptions, EngineOptions, Error, HighWater, Post, Used};

type Queues = Indexed<MpiPattern, u32, u32>;

#[test]
fn a_call_that_panics_loses_neither_the_message_nor_its_room() {
    let budget = Budget::UNLIMITED.entries(2);
    let marks = HighWater::share_of(&budget, 50, 0);
    let options = EngineOptions::new()
        .budget(budget)
        .high_water(marks, |_| panic!("told"));
    let engine: SharedEngine<Queues> = SharedEngine::with_options(options, Sharding::new());
    engine
        .create_context(0, ContextOptions::new())
        .expect("the first context");

    let arrival = AssertUnwindSafe(|| engine.arrive(MpiEnvelope::new(0, 1, 7), 5));
    assert!(catch_unwind(arrival).is_err(), "the mark is reached");
    assert_eq!(engine.unexpected_len(), 1);
    assert_eq!(engine.used().entries, 1);
    // Its room is counted once: there is as much left as for one more.
    let second = engine.arrive(MpiEnvelope::new(0, 1, 7), 6);
    assert!(matches!(second, Ok(Arrive::Unexpected)));
    let refused = engine.arrive(MpiEnvelope::new(0, 1, 7), 7);
    let error = refused.expect_err("there are two").error;
    assert_eq!(error, Error::EntryBudget { limit: 2 });
    for number in [5, 6] {
        let post = engine.post(MpiPattern::new(0, 1, 7), 8);
        assert!(matches!(post, Ok(Post::Matched { message, .. }) if message == number));
    }
    assert_eq!(engine.unexpected_len(), 0);
    assert_eq!(engine.used(), Used::default());
}
