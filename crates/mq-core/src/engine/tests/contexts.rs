//! Contexts, and the objects that hold their queues.

use super::*;
use crate::Entry;

/// Messages of the last rank of each context wait only for its receives, and the rank after it is
/// refused.
fn check_contexts(engine: &mut Engine<Queues>, sizes: [u32; 3]) {
    let contexts = || (0..).zip(sizes);
    for (context, size) in contexts() {
        let last = MpiEnvelope::new(context, size - 1, 7);
        let arrival = engine.arrive(last, vec![0; context as usize]);
        assert_eq!(arrival.expect("the last rank"), Arrive::Unexpected);
        let refused = engine.arrive(MpiEnvelope::new(context, size, 7), vec![]);
        let error = refused.expect_err("no such rank").error;
        assert!(matches!(error, Error::RankOutOfRange { .. }), "{error}");
        let refused = engine.post(MpiPattern::new(context, size, 7), 1);
        let error = refused.expect_err("no such rank").error;
        assert!(matches!(error, Error::RankOutOfRange { .. }), "{error}");
    }
    for (context, size) in contexts() {
        let post = engine.post(MpiPattern::new(context, size - 1, 7), 1);
        let Post::Matched { message, .. } = post.expect("the last rank") else {
            panic!("the message of context {context} waits");
        };
        assert_eq!(message.len(), context as usize);
    }
}

#[test]
fn contexts_are_found_whether_or_not_their_queues_have_their_numbers() {
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]] {
        let mut engine: Engine<Queues> = Engine::new();
        for context in order {
            let options = ContextOptions::new().size(context + 2);
            engine.create_context(context, options).expect("fresh");
        }
        check_contexts(&mut engine, [2, 3, 4]);
        for context in [order[0], order[1]] {
            engine
                .free_context(context, &mut |_| {})
                .expect("it exists");
            let refused = engine.arrive(MpiEnvelope::new(context, 0, 7), vec![1]);
            let error = refused.expect_err("it is gone").error;
            assert_eq!(error, Error::UnknownContext(ContextId(context)));
        }
        // Made again in the other order, smaller, and with a promise.
        let mut sizes = [2, 3, 4];
        for context in [order[1], order[0]] {
            sizes[context as usize] = 1;
            let options = ContextOptions::new().size(1).no_any_source();
            engine.create_context(context, options).expect("free");
        }
        check_contexts(&mut engine, sizes);
        for context in [order[0], order[1]] {
            let refused = engine.post(MpiPattern::new(context, Source::Any, 7), 1);
            let error = refused.expect_err("promised away").error;
            assert_eq!(error, Error::AnySourceForbidden(ContextId(context)));
        }
        let any = engine.post(MpiPattern::new(order[2], Source::Any, 7), 1);
        assert!(matches!(any, Ok(Post::Queued(_))));
    }
}

#[test]
fn contexts_beyond_the_dense_table_work_too() {
    let mut engine: Engine<Queues> = Engine::new();
    for id in [0, 4_095, 4_096, u32::MAX] {
        engine
            .create_context(id, ContextOptions::new())
            .expect("fresh");
        let again = engine.create_context(id, ContextOptions::new());
        assert_eq!(again, Err(Error::ContextExists(ContextId(id))));
        let _ = engine.arrive(MpiEnvelope::new(id, 0, 0), vec![]);
        engine.free_context(id, &mut |_| ()).expect("exists");
        let gone = engine.arrive(MpiEnvelope::new(id, 0, 0), vec![]);
        assert!(gone.is_err());
    }
    assert_eq!(engine.unexpected_len(), 0);
}

#[test]
fn each_context_may_have_a_structure_of_its_own() {
    let mut engine: Engine<AnyQueues<MpiPattern, u32, ()>> = Engine::new();
    for (id, &kind) in (0..).zip(Kind::ALL) {
        engine
            .create_context(id, ContextOptions::new().size(16).kind(kind))
            .expect("fresh");
        assert_eq!(
            engine.queues(id).map(|(_, queues)| queues.kind()),
            Some(kind)
        );
        let _ = engine.post(MpiPattern::new(id, 3, 9), id);
    }
    for id in 0..Kind::ALL.len() {
        let id = u32::try_from(id).expect("few");
        let arrival = engine.arrive(MpiEnvelope::new(id, 3, 9), ());
        assert!(matches!(arrival, Ok(Arrive::Matched { receive, .. }) if receive == id));
    }
}

#[test]
fn contexts_have_the_object_of_their_own_number_in_whatever_order_they_come() {
    let mut engine: Engine<Indexed<MpiPattern, u32, u32>> = Engine::new();
    for context in [1, 0, 4, 2, 3] {
        engine
            .create_context(context, ContextOptions::new().size(2))
            .expect("a new context");
        let (object, _) = engine.queues(context).expect("the context");
        assert_eq!(object, context as usize);
    }
}

#[test]
fn contexts_that_come_and_go_with_new_numbers_share_few_objects() {
    let mut engine: Engine<Indexed<MpiPattern, u32, u32>> = Engine::new();
    for context in 0..1000 {
        engine
            .create_context(context, ContextOptions::new().size(2))
            .expect("a new context");
        let (object, _) = engine.queues(context).expect("the context");
        assert!(object < 4, "object {object} for context {context}");
        engine
            .free_context(context, &mut |_| ())
            .expect("it is there");
    }
}

#[test]
fn one_context_is_purged_and_no_other_whether_or_not_they_share_queues() {
    use crate::queues::Removed;

    for &kind in Kind::ALL {
        let mut engine: Engine<AnyQueues<MpiPattern, u32, u32>> = Engine::new();
        for context in [3, 4] {
            let options = ContextOptions::new().size(16).kind(kind);
            engine.create_context(context, options).expect("new");
            for tag in 0..3 {
                let receive = engine.post(MpiPattern::new(context, 1, tag), context);
                assert!(receive.is_ok_and(|post| matches!(post, Post::Queued(_))));
            }
        }
        let mut gone = Vec::new();
        let is_odd = |entry: Entry<'_, MpiPattern, u32, u32>| match entry {
            Entry::Posted(_, pattern, _) => pattern.tag() == TagSelector::Exact(crate::Tag(1)),
            Entry::Unexpected(..) => false,
        };
        let purged = engine.purge_context(4, &mut |entry| !is_odd(entry), &mut |removed| {
            if let Removed::Posted(pattern, receive) = removed {
                gone.push((pattern.tag(), receive));
            }
        });
        assert_eq!(purged, Ok(()));
        let tags = [0, 2].map(|tag| (TagSelector::Exact(crate::Tag(tag)), 4));
        assert_eq!(gone, tags, "{kind}");
        assert_eq!(engine.posted_len(), 4);
        let unknown = engine.purge_context(5, &mut |_| true, &mut |_| {});
        assert_eq!(unknown, Err(Error::UnknownContext(ContextId(5))));
    }
}

#[test]
fn queues_by_number_are_those_of_the_context_or_none() {
    let mut engine: Engine<Queues> = Engine::new();
    for context in [0, 1, 70, 5000] {
        let made = engine.create_context(context, ContextOptions::new().size(4));
        made.expect("a fresh context");
    }
    // One with the number of its object, and one with another.
    for context in [1, 70] {
        let queues = engine.queues_by_number(context, 3);
        let queues = queues.expect("a number below 4,096");
        queues.queue_receive(MpiPattern::new(context, 3, 7), 42);
        let arrival = engine.arrive(MpiEnvelope::new(context, 3, 7), vec![]);
        assert!(matches!(arrival, Ok(Arrive::Matched { receive: 42, .. })));
    }
    // No such rank, no such context, one that is found by hash. The object with number 2 is that of context 70.
    for (context, source) in [(1, 4), (70, 4), (2, 0), (71, 0), (5000, 0)] {
        assert!(engine.queues_by_number(context, source).is_none());
    }
    let budget = Budget::UNLIMITED.entries(1);
    let mut counted: Engine<Queues> = Engine::with_options(EngineOptions::new().budget(budget));
    let made = counted.create_context(0, ContextOptions::new().size(4));
    made.expect("a fresh context");
    assert!(
        counted.queues_by_number(0, 0).is_none(),
        "budgets see every message"
    );
}

#[test]
fn lengths_of_a_context_are_its_own_with_every_structure() {
    for &kind in Kind::ALL {
        let mut engine: Engine<AnyQueues<MpiPattern, u32, u32>> =
            Engine::with_options(EngineOptions::new().kind(kind));
        for context in 0..3 {
            let created = engine.create_context(context, ContextOptions::new());
            created.expect("it is new");
        }
        assert_eq!(engine.context_lengths(1), Ok((0, 0)), "{kind}");
        for (context, receives, messages) in [(0, 1, 4), (1, 3, 2), (2, 0, 0)] {
            for number in 0..receives {
                let posted = engine.post(MpiPattern::new(context, 1, 5), number);
                assert!(matches!(posted, Ok(Post::Queued(_))));
            }
            for number in 0..messages {
                let arrived = engine.arrive(MpiEnvelope::new(context, 2, 6), number);
                assert!(matches!(arrived, Ok(Arrive::Unexpected)));
            }
        }
        let lengths = [0, 1, 2].map(|context| engine.context_lengths(context));
        assert_eq!(lengths, [Ok((1, 4)), Ok((3, 2)), Ok((0, 0))], "{kind}");
        let unknown = engine.context_lengths(9);
        assert_eq!(unknown, Err(Error::UnknownContext(ContextId(9))));
    }
}

#[test]
fn the_contexts_are_listed_while_they_exist() {
    let mut engine: Engine<Queues> = Engine::new();
    let listed = |engine: &Engine<Queues>| {
        let mut ids: Vec<u32> = engine.contexts().map(|id| id.0).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(listed(&engine), []);
    for context in [5, 0, 4095, 4096, u32::MAX] {
        let made = engine.create_context(context, ContextOptions::new());
        made.expect("a fresh context");
    }
    assert_eq!(listed(&engine), [0, 5, 4095, 4096, u32::MAX]);
    for context in [0, u32::MAX] {
        engine
            .free_context(context, &mut |_| ())
            .expect("it exists");
    }
    assert_eq!(listed(&engine), [5, 4095, 4096]);
}

#[test]
fn the_last_context_of_a_structure_gives_its_memory_back() {
    for &kind in Kind::ALL {
        let mut engine: Engine<AnyQueues<MpiPattern, u32, u32>> =
            Engine::with_options(EngineOptions::new().kind(kind));
        let create = |engine: &mut Engine<_>, context| {
            let created = engine.create_context(context, ContextOptions::new().size(64));
            created.expect("it is new");
        };
        let mut idle = 0;
        for round in 0..3 {
            (0..3).for_each(|context| create(&mut engine, context));
            let mut handles = Vec::new();
            for number in 0..3000 {
                let arrived = engine.arrive(MpiEnvelope::new(number % 3, 1, 5), number);
                assert!(matches!(arrived, Ok(Arrive::Unexpected)), "{kind}");
                match engine.post(MpiPattern::new(number % 3, 2, 5), number) {
                    Ok(Post::Queued(handle)) => handles.push(handle),
                    other => panic!("{kind}: {other:?}"),
                }
            }
            // The others keep their entries while one context goes.
            let mut left = 0;
            for context in 0..3 {
                let freed = engine.free_context(context, &mut |_| left += 1);
                freed.expect("it exists");
                assert_eq!(left, 2000 * (context + 1), "{kind}");
            }
            assert!(
                handles
                    .into_iter()
                    .all(|handle| engine.cancel(handle).is_none())
            );
            let bytes = engine.memory().total();
            assert!(bytes < 4096, "{kind}: {bytes} bytes");
            // Objects and their places are reused.
            idle = if round == 0 { bytes } else { idle };
            assert!(bytes <= idle, "{kind}: {bytes} bytes, {idle} at first");
        }
    }
}
