//! Where the numbers of a shared engine's handles begin.

#![cfg(all(feature = "shared", not(mq_loom)))]

use mq_core::mpi::MpiPattern;
use mq_core::shared::{Divide, Sharding, SharedContext, SharedEngine};
use mq_core::structures::Indexed;
use mq_core::{ContextOptions, EngineOptions, Handle, Post};

type Queues = Indexed<MpiPattern, u32, u32>;

#[test]
fn numbers_that_begin_too_high_leave_room_for_all_that_follow() {
    for wanted in [0, 1 << 40, u64::MAX] {
        let options = EngineOptions::new().first_sequence(wanted);
        let engine: SharedEngine<Queues> = SharedEngine::with_options(options, Sharding::new());
        for context in 0..2 {
            let options = ContextOptions::new().no_any_source();
            engine.create_context(context, options).expect("a new one");
        }
        let handles: Vec<_> = (0..100)
            .map(|i| match engine.post(MpiPattern::new(i % 2, i, 1), i) {
                Ok(Post::Queued(handle)) => handle,
                _ => panic!("nothing waits"),
            })
            .collect();
        for (i, &handle) in (0..).zip(&handles) {
            assert_eq!(engine.cancel(handle), Some(i));
            assert_eq!(engine.cancel(handle), None);
        }
    }
}

#[test]
fn a_handle_of_a_freed_context_cancels_nothing_in_its_next_life() {
    let engine: SharedEngine<Indexed<MpiPattern, u32, u32>> = SharedEngine::new();
    let promises = || ContextOptions::new().no_any_source().no_any_tag();
    for divided in [false, true] {
        let old = engine.create_context(3, promises()).expect("a new one");
        engine.free_context(3, &mut |_| {}).expect("it is there");
        let new = engine.create_context(3, promises()).expect("a new one");
        if divided {
            new.divide().expect("it lives");
        }
        let Post::Queued(handle) = new.post(MpiPattern::new(3, 1, 7), 5).expect("valid") else {
            panic!("nothing is there to be matched");
        };
        assert_eq!(old.cancel(handle), None);
        assert_eq!(new.cancel(handle), Some(5));
        engine.free_context(3, &mut |_| {}).expect("it is there");
    }
}

/// 40 receives, numbered from `first` on, in a context of which each shard has some.
fn post_in_all_shards(context: &SharedContext<Queues>, first: u32) -> Vec<Handle> {
    let post = |i| {
        let pattern = MpiPattern::new(context.id(), i % 8, 1);
        match context.post(pattern, first + i) {
            Ok(Post::Queued(handle)) => handle,
            _ => panic!("nothing waits"),
        }
    };
    (0..40).map(post).collect()
}

#[test]
fn handles_of_a_freed_context_cancel_nothing_by_its_number() {
    // The second is forgotten when it is freed.
    for id in [3, 100_000] {
        let sharding = Sharding::new().shards(4).divide(Divide::AtOnce);
        let engine = SharedEngine::with_options(EngineOptions::new(), sharding);
        let create = || {
            let made = engine.create_context(id, ContextOptions::new());
            made.expect("a new one")
        };
        let old = post_in_all_shards(&create(), 0);
        engine.free_context(id, &mut |_| {}).expect("it is there");
        let context = create();
        let new = post_in_all_shards(&context, 100);
        for &handle in &old {
            assert_eq!(engine.cancel(handle), None);
        }
        assert_eq!((engine.posted_len(), engine.unexpected_len()), (40, 0));
        for (number, &handle) in (100..).zip(&new) {
            assert_eq!(engine.cancel(handle), Some(number));
            assert_eq!(engine.cancel(handle), None);
        }
        assert_eq!(context.posted_len(), Ok(0));
    }
}
