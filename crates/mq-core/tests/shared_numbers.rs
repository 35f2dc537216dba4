//! Where the numbers of a shared engine's handles begin.

#![cfg(all(feature = "shared", not(loom)))]

use mq_core::mpi::MpiPattern;
use mq_core::shared::{Sharding, SharedEngine};
use mq_core::structures::Indexed;
use mq_core::{ContextOptions, EngineOptions, Post};

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
