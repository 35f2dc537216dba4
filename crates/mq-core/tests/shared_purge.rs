//! Callbacks of a shared engine's purge that panic.

#![cfg(all(feature = "shared", not(mq_loom)))]

use std::panic::{AssertUnwindSafe, catch_unwind};

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::{Divide, Sharding, SharedEngine};
use mq_core::structures::Indexed;
use mq_core::{Budget, ContextOptions, EngineOptions, Entry, Error, Post, Removed};

type Queues = Indexed<MpiPattern, u32, u32>;

#[test]
fn a_choice_that_panics_leaves_all_messages_and_their_room() {
    let options = EngineOptions::new().budget(Budget::UNLIMITED.entries(3));
    let sharding = Sharding::new().divide(Divide::AtOnce);
    let engine: SharedEngine<Queues> = SharedEngine::with_options(options, sharding);
    engine
        .create_context(0, ContextOptions::new())
        .expect("the first context");
    for sender in 0..3 {
        let message = MpiEnvelope::new(0, sender, 7);
        let _ = engine.arrive(message, sender).expect("there is room");
    }
    let mut asked = 0;
    let purge = AssertUnwindSafe(|| {
        engine.purge(
            &mut |entry| {
                asked += 1;
                assert!(asked < 3, "this one is asked once too often");
                matches!(entry, Entry::Unexpected(..))
            },
            &mut |_| panic!("nothing is removed"),
        );
    });
    assert!(catch_unwind(purge).is_err());
    assert_eq!(engine.unexpected_len(), 3);
    let refused = engine.arrive(MpiEnvelope::new(0, 5, 7), 5);
    let error = refused.expect_err("there are three").error;
    assert_eq!(error, Error::EntryBudget { limit: 3 });
    for sender in 0..3 {
        let post = engine.post(MpiPattern::new(0, sender, 7), 0);
        assert!(matches!(post, Ok(Post::Matched { message, .. }) if message == sender));
    }
    // All of their room is there again.
    for sender in 0..3 {
        let message = MpiEnvelope::new(0, sender, 8);
        let _ = engine.arrive(message, sender).expect("there is room");
    }
}

#[test]
fn a_choice_is_made_entry_by_entry() {
    let sharding = Sharding::new().divide(Divide::AtOnce);
    let engine: SharedEngine<Queues> = SharedEngine::with_options(EngineOptions::new(), sharding);
    engine
        .create_context(0, ContextOptions::new())
        .expect("the first context");
    for number in 0..40_u32 {
        let (sender, tag) = (number % 8, (number / 8).cast_signed());
        let receive = MpiPattern::new(0, sender, tag);
        let _ = engine.post(receive, number).expect("it is queued");
        let message = MpiEnvelope::new(0, sender, 100 + tag);
        let _ = engine.arrive(message, number).expect("it is queued");
    }
    let mut back = Vec::new();
    let chosen = |entry: Entry<'_, MpiPattern, u32, u32>| match entry {
        Entry::Posted(_, _, number) | Entry::Unexpected(_, _, number) => *number % 3 == 0,
    };
    engine.purge(&mut |entry| chosen(entry), &mut |removed| match removed {
        Removed::Posted(_, number) | Removed::Unexpected(_, number) => back.push(number),
    });
    back.sort_unstable();
    let expected: Vec<u32> = (0..40)
        .filter(|n| n % 3 == 0)
        .flat_map(|n| [n, n])
        .collect();
    assert_eq!(back, expected);
    assert_eq!((engine.posted_len(), engine.unexpected_len()), (26, 26));
}
