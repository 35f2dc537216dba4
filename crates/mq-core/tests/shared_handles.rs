//! An operation through the handle of another context is refused, whichever way it would have taken.

#![cfg(all(feature = "shared", not(mq_loom)))]

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::{Divide, Sharding, SharedContext, SharedEngine};
use mq_core::structures::Indexed;
use mq_core::{Budget, ContextId, ContextOptions, EngineOptions, Error, Source};

type Queues = Indexed<MpiPattern, u32, u32>;

const OTHER: Error = Error::OtherContext {
    handle: ContextId(0),
    named: ContextId(1),
};

/// Every operation that names a context: none may reach the queues of `first`, which is context 0, for one of context
/// 1.
fn all_are_refused(first: &SharedContext<Queues>) {
    for source in [Source::from(2), Source::Any] {
        let pattern = MpiPattern::new(1, source, 7);
        let refused = first.post(pattern, 5).expect_err("of another context");
        assert_eq!((refused.error, refused.payload), (OTHER, 5));
        assert_eq!(first.probe(&pattern), Err(OTHER));
        assert_eq!(first.probe_with(&pattern, |_, _| ()), Err(OTHER));
        assert_eq!(first.extract(&pattern), Err(OTHER));
    }
    let envelope = MpiEnvelope::new(1, 2, 7);
    let refused = first.arrive(envelope, 6).expect_err("of another context");
    assert_eq!((refused.error, refused.payload), (OTHER, 6));
    assert_eq!(first.deliver(&envelope), Err(OTHER));
}

#[test]
fn another_contexts_handle_reaches_no_queue() {
    for (divide, entries) in [
        (Divide::Never, None),
        (Divide::Never, Some(100)),
        (Divide::AtOnce, None),
        (Divide::AtOnce, Some(100)),
    ] {
        let limit = |entries| Budget::UNLIMITED.entries(entries);
        let budget = entries.map_or(Budget::UNLIMITED, limit);
        let options = EngineOptions::new().budget(budget);
        let sharding = Sharding::new().shards(2).divide(divide);
        let engine: SharedEngine<Queues> = SharedEngine::with_options(options, sharding);
        let contexts = [0, 1].map(|number| {
            let made = engine.create_context(number, ContextOptions::new().size(8));
            made.expect("a new one")
        });
        all_are_refused(&contexts[0]);
        // In its own context the same would match, and so do the other queues while they hold something.
        let _ = contexts[1]
            .post(MpiPattern::new(1, 3, 8), 1)
            .expect("its own");
        let _ = contexts[0]
            .arrive(MpiEnvelope::new(0, 2, 7), 2)
            .expect("its own");
        let _ = contexts[0]
            .post(MpiPattern::new(0, Source::Any, 9), 3)
            .expect("its own");
        all_are_refused(&contexts[0]);
        for (context, lengths) in contexts.iter().zip([(1, 1), (1, 0)]) {
            assert_eq!(context.posted_len(), Ok(lengths.0));
            assert_eq!(context.unexpected_len(), Ok(lengths.1));
        }
        assert_eq!(engine.used().entries, usize::from(entries.is_some()));
    }
}
