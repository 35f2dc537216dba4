//! Contexts of a shared engine whose size and promises change while they are in use.

#![cfg(all(feature = "shared", not(mq_loom)))]

use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::shared::{Divide, Sharding, SharedContext, SharedEngine};
use mq_core::structures::{Array, Indexed};
use mq_core::{Arrive, ContextId, ContextOptions, EngineOptions, Error, Post, Rank, Source};

type Queues = Indexed<MpiPattern, u32, u32>;

const CONTEXT: u32 = 3;
const ID: ContextId = ContextId(CONTEXT);

fn context(
    divide: Divide,
    options: ContextOptions,
) -> (SharedEngine<Queues>, SharedContext<Queues>) {
    let sharding = Sharding::new().shards(4).divide(divide);
    let engine = SharedEngine::with_options(EngineOptions::new(), sharding);
    let context = engine.create_context(CONTEXT, options).expect("a new one");
    (engine, context)
}

fn any(tag: impl Into<TagSelector>) -> MpiPattern {
    MpiPattern::new(CONTEXT, Source::Any, tag)
}

fn from(source: u32, tag: i32) -> MpiEnvelope {
    MpiEnvelope::new(CONTEXT, source, tag)
}

fn promises() -> ContextOptions {
    ContextOptions::new().no_any_source().no_any_tag()
}

#[test]
fn size_and_promises_change_for_operations_that_follow() {
    for divide in [Divide::AtOnce, Divide::Never] {
        let (engine, context) = context(divide, ContextOptions::new());
        let posted = context.post(MpiPattern::new(CONTEXT, 2, 5), 10);
        assert!(matches!(posted, Ok(Post::Queued(_))));
        context
            .update(ContextOptions::new().size(4).no_any_source())
            .unwrap();

        assert_eq!(engine.terms(CONTEXT).map(|terms| terms.last_rank), Some(3));
        let refused = context.post(any(5), 11).unwrap_err();
        assert_eq!(
            (refused.error, refused.payload),
            (Error::AnySourceForbidden(ID), 11)
        );
        let refused = engine.arrive(from(4, 5), 12).unwrap_err();
        let rank = Rank(4);
        assert_eq!(
            refused.error,
            Error::RankOutOfRange {
                context: ID,
                rank,
                size: 4
            }
        );
        // What was queued before is there.
        let arrived = context.arrive(from(2, 5), 13);
        assert!(matches!(arrived, Ok(Arrive::Matched { receive: 10, .. })));

        engine
            .update_context(CONTEXT, ContextOptions::new())
            .unwrap();
        assert!(matches!(context.post(any(5), 14), Ok(Post::Queued(_))));
        let arrived = context.arrive(from(1 << 20, 5), 15);
        assert!(matches!(arrived, Ok(Arrive::Matched { receive: 14, .. })));
    }
}

#[test]
fn terms_that_a_queued_entry_breaks_are_refused_and_change_nothing() {
    for divide in [Divide::AtOnce, Divide::Never] {
        let (engine, context) = context(divide, ContextOptions::new());
        let _ = context.post(any(TagSelector::Any), 1).unwrap();
        let _ = context.arrive(from(9, -3), 2).unwrap();
        let update = |options| engine.update_context(CONTEXT, options);
        assert_eq!(
            update(ContextOptions::new().no_any_source()),
            Err(Error::AnySourceForbidden(ID))
        );
        assert_eq!(
            update(ContextOptions::new().no_any_tag()),
            Err(Error::AnyTagForbidden(ID))
        );
        let (rank, size) = (Rank(9), 9);
        let out_of_range = Error::RankOutOfRange {
            context: ID,
            rank,
            size,
        };
        assert_eq!(update(ContextOptions::new().size(9)), Err(out_of_range));
        assert_eq!(
            update(ContextOptions::new().size(0)),
            Err(Error::NoRanks(ID))
        );
        assert_eq!(
            engine.update_context(4, promises()),
            Err(Error::UnknownContext(ContextId(4)))
        );
        assert_eq!(
            engine.terms(CONTEXT).map(|terms| terms.last_rank),
            Some(u32::MAX)
        );
        assert_eq!(
            (context.posted_len(), context.unexpected_len()),
            (Ok(1), Ok(1))
        );
        update(ContextOptions::new().size(10)).unwrap();

        // The handle of a freed context changes no other.
        engine.free_context(CONTEXT, &mut |_| ()).unwrap();
        let _ = engine
            .create_context(CONTEXT, ContextOptions::new())
            .unwrap();
        assert_eq!(context.update(promises()), Err(Error::UnknownContext(ID)));
    }
}

#[test]
fn a_context_divided_by_its_promises_takes_them_back_when_its_shards_are_empty() {
    let (_, context) = context(Divide::AtOnce, promises());
    // Tags of one sender that are in different shards, so that their order is not known.
    for tag in 0..8 {
        let arrived = context.arrive(from(1, tag), tag.unsigned_abs());
        assert!(matches!(arrived, Ok(Arrive::Unexpected)));
    }
    let weaker = [ContextOptions::new(), ContextOptions::new().no_any_tag()];
    for options in weaker {
        assert_eq!(context.update(options), Err(Error::PromisesInUse(ID)));
    }
    // Others may change.
    context.update(promises().size(2)).unwrap();
    for tag in 0..8 {
        let posted = context.post(MpiPattern::new(CONTEXT, 1, tag), 0);
        assert!(
            matches!(posted, Ok(Post::Matched { message, .. }) if message == tag.unsigned_abs())
        );
    }
    context.update(ContextOptions::new()).unwrap();
    assert_eq!(context.shards(), Ok(Some(4)));
    // From now on one sender's messages are in one shard, and in order.
    for tag in 0..8 {
        let _ = context.arrive(from(1, tag), tag.unsigned_abs()).unwrap();
    }
    for tag in 0..8 {
        let posted = context.post(any(TagSelector::Any), 0);
        assert!(matches!(posted, Ok(Post::Matched { message, .. }) if message == tag));
    }
}

#[test]
fn elders_do_not_keep_promises_from_being_taken_back() {
    let (_, context) = context(Divide::WhenContended, promises());
    for tag in 0..4 {
        let _ = context.arrive(from(1, tag), tag.unsigned_abs()).unwrap();
    }
    // They stay where they are, in order.
    context.divide().unwrap();
    context.update(ContextOptions::new()).unwrap();
    let _ = context.arrive(from(1, 4), 4).unwrap();
    for tag in 0..5 {
        let posted = context.post(any(TagSelector::Any), 0);
        assert!(matches!(posted, Ok(Post::Matched { message, .. }) if message == tag));
    }
}

/// Entries queued before the division are still found after the shards have changed.
#[test]
fn what_was_there_before_is_found_when_promises_are_taken_back() {
    for source in 0..16 {
        let (_, context) = context(Divide::Never, promises());
        let posted = context.post(MpiPattern::new(CONTEXT, source, 5), 10);
        assert!(matches!(posted, Ok(Post::Queued(_))));
        let arrived = context.arrive(from(source, 6), 20);
        assert!(matches!(arrived, Ok(Arrive::Unexpected)));
        context.divide().unwrap();
        context.update(ContextOptions::new()).unwrap();
        let arrived = context.arrive(from(source, 5), 21).unwrap();
        assert!(
            matches!(arrived, Arrive::Matched { receive: 10, .. }),
            "the receive from {source}: {arrived:?}"
        );
        let posted = context.post(MpiPattern::new(CONTEXT, source, 6), 11);
        assert!(
            matches!(posted, Ok(Post::Matched { message: 20, .. })),
            "the message from {source}: {posted:?}"
        );
    }
}

/// A structure that plans by the size is recreated in every shard: earlier handles stay stale, and entries
/// queued afterwards have handles of their own.
#[test]
fn what_plans_by_the_size_plans_anew_in_each_shard() {
    for divide in [Divide::AtOnce, Divide::Never] {
        let sharding = Sharding::new().shards(4).divide(divide);
        let engine = SharedEngine::<Array<MpiPattern, u32, u32>>::with_options(
            EngineOptions::new(),
            sharding,
        );
        let context = engine.create_context(CONTEXT, ContextOptions::new());
        let context = context.expect("a new one");
        let post = |source: u32, receive| match context
            .post(MpiPattern::new(CONTEXT, source, 5), receive)
        {
            Ok(Post::Queued(handle)) => handle,
            other => panic!("{other:?}"),
        };
        let before: Vec<_> = (0..8).map(|source| post(source, source)).collect();
        for (source, &handle) in (0..).zip(&before) {
            assert_eq!(context.cancel(handle), Some(source));
        }
        context.update(ContextOptions::new().size(64)).unwrap();
        let after: Vec<_> = (0..8).map(|source| post(source, 100 + source)).collect();
        for &handle in &before {
            assert_eq!(context.cancel(handle), None, "{divide:?}");
        }
        if divide == Divide::Never {
            // With what is queued, by the size that it was told last.
            context.divide().unwrap();
        }
        for (source, handle) in (0..).zip(after) {
            if source % 2 == 0 {
                assert_eq!(context.cancel(handle), Some(100 + source));
            } else {
                let arrival = engine.arrive(from(source, 5), 0);
                assert!(
                    matches!(arrival, Ok(Arrive::Matched { receive, .. }) if receive == 100 + source)
                );
            }
        }
        assert_eq!((engine.posted_len(), engine.unexpected_len()), (0, 0));
        let refused = engine.arrive(from(64, 5), 0).unwrap_err();
        assert!(matches!(refused.error, Error::RankOutOfRange { .. }));
    }
}
