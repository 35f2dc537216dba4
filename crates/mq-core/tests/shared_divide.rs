//! When a context is divided: if threads often wait for each other, and few receives are from any source.

#![cfg(all(feature = "shared", not(mq_loom)))]

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::{Divide, Sharding, SharedContext, SharedEngine};
use mq_core::structures::Indexed;
use mq_core::{Arrive, ContextOptions, EngineOptions, Post, Source};

type Context = SharedContext<Indexed<MpiPattern, u32, u32>>;

/// A message that nobody receives.
const STAYS: u32 = 9;

fn context(divide: Divide) -> Context {
    let sharding = Sharding::new().shards(4).divide(divide);
    let engine = SharedEngine::with_options(EngineOptions::new(), sharding);
    let context = engine
        .create_context(0, ContextOptions::new())
        .expect("a new one");
    let arrival = context.arrive(MpiEnvelope::new(0, STAYS, 0), 0);
    assert!(matches!(arrival, Ok(Arrive::Unexpected)));
    context
}

/// A receive and its message; whether they match.
fn pair(context: &Context, source: Source) -> bool {
    let post = context.post(MpiPattern::new(0, source, 7), 1);
    let arrival = context.arrive(MpiEnvelope::new(0, 1, 7), 2);
    matches!(post, Ok(Post::Queued(_))) && matches!(arrival, Ok(Arrive::Matched { .. }))
}

/// Whether the context is divided after `pairs` pairs, one in `wildcards` of them with a receive from any
/// source, while another thread makes this one wait once in `each` pairs, unless it is late.
fn is_divided(context: &Context, pairs: usize, wildcards: usize, each: usize) -> bool {
    let turn = Barrier::new(2);
    // Nothing may panic in here, or the other thread waits forever.
    let all_match = thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..pairs / each {
                turn.wait();
                let _ = context.probe_with(&MpiPattern::new(0, STAYS, 0), |_, _| {
                    turn.wait();
                    thread::sleep(Duration::from_micros(100));
                });
            }
        });
        let mut all_match = true;
        for number in 0..pairs {
            if number % each == 0 {
                turn.wait();
                turn.wait();
            }
            let any = number % wildcards == wildcards - 1;
            all_match &= pair(context, if any { Source::Any } else { Source::from(1) });
        }
        all_match
    });
    assert!(all_match);
    context.shards().expect("it exists").is_some()
}

#[test]
fn a_context_whose_threads_wait_often_is_divided() {
    let context = context(Divide::WhenContended);
    assert!(!is_divided(&context, 640, 1000, 20), "not on so few");
    assert!(is_divided(&context, 16_000, 1000, 20));
    assert!(pair(&context, Source::from(1)));
}

#[test]
fn a_context_whose_threads_wait_seldom_is_not() {
    let context = context(Divide::WhenContended);
    assert!(!is_divided(&context, 200_000, 1000, 2000));
}

#[test]
fn nor_is_one_in_which_receives_from_any_source_are_frequent_until_they_are_not() {
    let context = context(Divide::WhenContended);
    assert!(!is_divided(&context, 16_000, 20, 20));
    assert!(is_divided(&context, 32_000, 1000, 20));
}

#[test]
fn nor_one_that_is_never_to_be() {
    let context = context(Divide::Never);
    assert!(!is_divided(&context, 16_000, 1000, 20));
}
