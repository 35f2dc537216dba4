use super::*;
use crate::Source;
use crate::error::Refused;
use crate::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use crate::queues::{Arrive, Post};
use crate::structures::{AnyQueues, Indexed, Kind};

type Queues = Indexed<MpiPattern, u32, Vec<u8>>;

fn engine(options: ContextOptions) -> Engine<Queues> {
    let mut engine = Engine::new();
    engine.create_context(7, options).expect("a fresh engine");
    engine
}

#[test]
fn wrong_arguments_are_refused_with_the_payload_and_the_reason() {
    let mut engine = engine(ContextOptions::new().size(4).no_any_source().no_any_tag());
    let refusals = [
        (MpiPattern::new(8, 0, 0), "context 8 does not exist"),
        (
            MpiPattern::new(7, 4, 0),
            "rank 4 is outside context 7, which has 4 ranks",
        ),
        (
            MpiPattern::new(7, Source::Any, 0),
            "has the promise no_any_source",
        ),
        (
            MpiPattern::new(7, 1, TagSelector::Any),
            "has the promise no_any_tag",
        ),
    ];
    for (pattern, reason) in refusals {
        let refused = engine.post(pattern, 42).expect_err("wrong arguments");
        assert_eq!(refused.payload, 42);
        assert!(refused.to_string().contains(reason), "{refused}");
    }
    let refused = engine
        .arrive(MpiEnvelope::new(7, 9, 0), vec![1])
        .expect_err("rank 9 of 4");
    assert_eq!(refused.payload, [1]);
    assert_eq!((engine.posted_len(), engine.unexpected_len()), (0, 0));
}

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
fn a_context_in_use_gets_the_terms_that_its_entries_keep() {
    let limits = [Budget::UNLIMITED, Budget::UNLIMITED.entries(9)];
    for (budget, number) in limits
        .into_iter()
        .flat_map(|limit| [(limit, 0), (limit, 7)])
    {
        let mut engine: Engine<Queues> = Engine::with_options(EngineOptions::new().budget(budget));
        let other = number + 1;
        for context in [number, other] {
            let created = engine.create_context(context, ContextOptions::new());
            created.expect("fresh");
        }
        let any = MpiPattern::new(number, Source::Any, TagSelector::Any);
        let Ok(Post::Queued(handle)) = engine.post(any, 1) else {
            panic!("nothing is there to match");
        };
        let _ = engine.arrive(MpiEnvelope::new(number, 3, -7), vec![]);
        let _ = engine.arrive(MpiEnvelope::new(other, 8, 7), vec![]);
        let (id, four) = (ContextId(number), || ContextOptions::new().size(4));
        for (options, error) in [
            (four().no_any_source(), Error::AnySourceForbidden(id)),
            (four().no_any_tag(), Error::AnyTagForbidden(id)),
            (four().size(0), Error::NoRanks(id)),
            (
                four().size(3),
                Error::RankOutOfRange {
                    context: id,
                    rank: Rank(3),
                    size: 3,
                },
            ),
        ] {
            assert_eq!(engine.update_context(number, options), Err(error));
            let limits = engine.limits(number).expect("it exists");
            assert_eq!((limits.last_rank, limits.no_any_source), (u32::MAX, false));
        }
        let unknown = engine.update_context(other + 1, four());
        assert_eq!(unknown, Err(Error::UnknownContext(ContextId(other + 1))));

        assert_eq!(engine.update_context(number, four()), Ok(()));
        let refused = engine.arrive(MpiEnvelope::new(number, 4, 7), vec![]);
        let error = refused.expect_err("no such rank").error;
        assert!(matches!(error, Error::RankOutOfRange { .. }), "{error}");
        assert_eq!(engine.cancel(handle), Some(1));
        assert_eq!(
            engine.update_context(number, four().no_any_source()),
            Ok(())
        );
        let error = engine.post(any, 1).expect_err("promised away").error;
        assert_eq!(error, Error::AnySourceForbidden(id));
        let post = engine.post(MpiPattern::new(number, 3, -7), 1);
        assert!(
            matches!(post, Ok(Post::Matched { .. })),
            "it was there before"
        );
        // A promise left out is withdrawn.
        assert_eq!(engine.update_context(number, ContextOptions::new()), Ok(()));
        assert!(matches!(engine.post(any, 1), Ok(Post::Queued(_))));
        let arrival = engine.arrive(MpiEnvelope::new(number, 99, 7), vec![]);
        assert!(matches!(arrival, Ok(Arrive::Matched { .. })));
    }
}

#[test]
fn a_structure_that_plans_by_the_size_plans_anew_as_soon_as_nothing_is_queued() {
    type Arrays = crate::structures::Array<MpiPattern, u32, u32>;
    fn heads(engine: &Engine<Arrays>) -> Option<usize> {
        let (_, queues) = engine.queues(0).expect("it exists");
        let queues = queues.queues(ContextId(0))?;
        Some(queues.route().allocated())
    }
    let update = |engine: &mut Engine<Arrays>, options| {
        assert_eq!(engine.update_context(0, options), Ok(()));
    };
    let mut engine: Engine<Arrays> = Engine::new();
    let created = engine.create_context(0, ContextOptions::new());
    created.expect("fresh");
    // A message that came before its communicator.
    let _ = engine.arrive(MpiEnvelope::new(0, 3, 5), 1);
    assert_eq!(heads(&engine), Some(0));
    update(&mut engine, ContextOptions::new().size(4));
    assert_eq!(heads(&engine), Some(0), "its place depends on the plan");
    let post = engine.post(MpiPattern::new(0, 3, 5), 2);
    assert!(matches!(post, Ok(Post::Matched { message: 1, .. })));
    let Ok(Post::Queued(stale)) = engine.post(MpiPattern::new(0, 3, 5), 3) else {
        panic!("nothing waits");
    };
    assert_eq!(heads(&engine), Some(4), "nothing was queued any more");
    // The last one told counts.
    update(&mut engine, ContextOptions::new().size(5));
    update(&mut engine, ContextOptions::new().size(4));
    assert_eq!(engine.cancel(stale), Some(3));
    let arrival = engine.arrive(MpiEnvelope::new(0, 3, 5), 1);
    assert!(matches!(arrival, Ok(Arrive::Unexpected)));
    assert_eq!(heads(&engine), Some(4));
    let post = engine.post(MpiPattern::new(0, 3, 5), 2);
    assert!(matches!(post, Ok(Post::Matched { message: 1, .. })));

    update(&mut engine, ContextOptions::new().size(8));
    assert_eq!(heads(&engine), Some(0), "made at its next use");
    let Ok(Post::Queued(handle)) = engine.post(MpiPattern::new(0, 7, 5), 4) else {
        panic!("nothing waits");
    };
    assert_eq!(heads(&engine), Some(8));
    assert_eq!(engine.cancel(stale), None);
    assert_eq!(engine.cancel(handle), Some(4));
    // Other promises are no other plan.
    update(&mut engine, ContextOptions::new().size(8).no_any_source());
    assert_eq!(heads(&engine), Some(8));
}

#[test]
fn a_byte_budget_refuses_exactly_and_is_released_by_every_way_out() {
    let budget = Budget::UNLIMITED.bytes(10, |message: &Vec<u8>| message.len() as u64);
    let mut engine: Engine<Queues> = Engine::with_options(EngineOptions::new().budget(budget));
    engine
        .create_context(0, ContextOptions::new())
        .expect("fresh");
    let envelope = MpiEnvelope::new(0, 1, 5);
    let pattern = MpiPattern::new(0, 1, 5);
    for way in 0..3 {
        let _ = engine.arrive(envelope, vec![0; 6]).expect("6 of 10");
        let refused = engine.arrive(envelope, vec![0; 5]).expect_err("11 of 10");
        let error = Error::ByteBudget {
            limit: 10,
            used: 6,
            wanted: 5,
        };
        assert_eq!((refused.error, refused.payload.len()), (error, 5));
        let _ = engine.arrive(envelope, vec![0; 4]).expect("10 of 10");
        match way {
            0 => engine.purge(&mut |_| true, &mut |_| ()),
            1 => while engine.extract(&pattern).expect("valid").is_some() {},
            _ => {
                for receive in 0..2 {
                    let post = engine.post(pattern, receive).expect("valid");
                    assert!(matches!(post, Post::Matched { .. }));
                }
            }
        }
        assert_eq!(engine.used(), Used::default());
    }
}

#[test]
fn a_message_past_the_budget_still_finds_its_posted_receive() {
    let budget = Budget::UNLIMITED.entries(0);
    let mut engine: Engine<Queues> = Engine::with_options(EngineOptions::new().budget(budget));
    engine
        .create_context(0, ContextOptions::new())
        .expect("fresh");
    let _ = engine.post(MpiPattern::new(0, 1, 5), 1);
    let arrival = engine.arrive(MpiEnvelope::new(0, 1, 5), vec![]);
    assert!(matches!(arrival, Ok(Arrive::Matched { receive: 1, .. })));
    assert!(engine.arrive(MpiEnvelope::new(0, 1, 5), vec![]).is_err());
}

#[test]
fn a_handle_of_a_freed_context_stays_stale_when_the_number_is_used_again() {
    for &kind in Kind::ALL {
        let options = EngineOptions::new().kind(kind);
        let mut engine: Engine<AnyQueues<MpiPattern, u32, ()>> = Engine::with_options(options);
        engine
            .create_context(3, ContextOptions::new().size(2))
            .expect("fresh");
        let Ok(Post::Queued(old)) = engine.post(MpiPattern::new(3, 1, 1), 10) else {
            unreachable!("nothing to match");
        };
        let mut back = Vec::new();
        let freed = engine.free_context(3, &mut |removed| back.push(removed));
        assert!(freed.is_ok());
        assert!(
            matches!(back[..], [crate::Removed::Posted(_, 10)]),
            "{kind}"
        );
        assert!(engine.cancel(old).is_none(), "{kind}: the context is gone");
        engine
            .create_context(3, ContextOptions::new().size(2))
            .expect("freed before");
        let _ = engine.post(MpiPattern::new(3, 1, 1), 11);
        assert!(
            engine.cancel(old).is_none(),
            "{kind}: another receive of the same context"
        );
    }
}

#[test]
fn a_stale_handle_names_nothing_in_queues_that_its_context_moved_to() {
    let mut engine: Engine<AnyQueues<MpiPattern, &str, ()>> = Engine::new();
    let shared = ContextOptions::new().kind(Kind::List);
    engine
        .create_context(0, ContextOptions::new())
        .expect("fresh");
    engine.create_context(1, shared.clone()).expect("fresh");
    let Ok(Post::Queued(old)) = engine.post(MpiPattern::new(0, 1, 1), "old") else {
        unreachable!("nothing to match");
    };
    // The same slot and the same number, in the queues that context 0 is about to share.
    let _ = engine.post(MpiPattern::new(1, 1, 1), "other context");
    engine.free_context(0, &mut |_| ()).expect("it exists");
    engine.create_context(0, shared).expect("it was freed");
    assert_eq!(engine.cancel(old), None);
    let _ = engine.post(MpiPattern::new(0, 1, 1), "new");
    assert_eq!(engine.cancel(old), None);
    assert_eq!(engine.posted_len(), 2);
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
fn numbers_that_begin_too_high_leave_room_for_all_that_follow() {
    for wanted in [0, 1 << 40, u64::MAX] {
        let options = EngineOptions::new().first_sequence(wanted);
        let mut engine: Engine<Queues> = Engine::with_options(options);
        for context in 0..3 {
            let options = ContextOptions::new();
            engine.create_context(context, options).expect("a new one");
        }
        let mut handles = Vec::new();
        for round in 0..100 {
            let context = round % 3;
            let post = engine.post(MpiPattern::new(context, 1, 1), round);
            let Ok(Post::Queued(handle)) = post else {
                panic!("nothing waits");
            };
            handles.push((handle, round));
            if round == 50 {
                // Its numbers are not given again.
                let options = ContextOptions::new();
                engine.free_context(2, &mut |_| {}).expect("it exists");
                engine.create_context(2, options).expect("it was freed");
            }
        }
        for (handle, round) in handles {
            let stale = round % 3 == 2 && round <= 50;
            assert_eq!(engine.cancel(handle), (!stale).then_some(round));
        }
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
            Entry::Posted(pattern, _) => pattern.tag() == TagSelector::Exact(crate::Tag(1)),
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
fn a_refusal_is_passed_on_with_its_payload_or_by_dropping_it() {
    let mut engine = engine(ContextOptions::new());
    let refused = engine.post(MpiPattern::new(9, 0, 0), 1).unwrap_err();
    let why = Error::UnknownContext(ContextId(9));
    assert_eq!(refused.into_parts(), (why, 1));
    assert_eq!(refused.into_error(), why);
    let boxed: Box<dyn core::error::Error> = refused.into();
    assert_eq!(boxed.to_string(), why.to_string());
    let inside = boxed.downcast_ref::<Refused<u32>>();
    assert_eq!(inside.map(|refused| refused.payload), Some(1));
}

#[test]
fn own_queues_are_those_of_the_context_or_none() {
    let mut engine: Engine<Queues> = Engine::new();
    for context in [0, 1, 5000] {
        let made = engine.create_context(context, ContextOptions::new().size(4));
        made.expect("a fresh context");
    }
    let queues = engine.own_queues(1, 3).expect("numbered from 0");
    queues.queue_receive(MpiPattern::new(1, 3, 7), 42);
    let arrival = engine.arrive(MpiEnvelope::new(1, 3, 7), vec![]);
    assert!(matches!(arrival, Ok(Arrive::Matched { receive: 42, .. })));
    // No such rank, no such context, one that the directory knows.
    for (context, source) in [(1, 4), (2, 0), (5000, 0)] {
        assert!(engine.own_queues(context, source).is_none());
    }
    let budget = Budget::UNLIMITED.entries(1);
    let mut counted: Engine<Queues> = Engine::with_options(EngineOptions::new().budget(budget));
    let made = counted.create_context(0, ContextOptions::new().size(4));
    made.expect("a fresh context");
    assert!(
        counted.own_queues(0, 0).is_none(),
        "budgets see every message"
    );
}

#[test]
fn an_engine_of_any_structure_may_be_looked_at_from_several_threads() {
    const fn is_sync<T: Sync + Send>() {}
    is_sync::<Engine<AnyQueues<MpiPattern, u32, Vec<u8>>>>();
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
fn a_stale_handle_names_nothing_though_numbers_begin_at_the_end_of_the_range() {
    for &kind in Kind::ALL {
        let mut engine: Engine<AnyQueues<MpiPattern, u32, ()>> =
            Engine::with_options(EngineOptions::new().kind(kind));
        let mut post = |life: u32| {
            engine.create_context(0, ContextOptions::new()).unwrap();
            let queues = engine.queues_for_receive(0, Source::Any, false).unwrap();
            queues.raise_sequence(u64::MAX);
            let Ok(Post::Queued(handle)) = engine.post(MpiPattern::new(0, 1, 7), life) else {
                panic!("nothing has come");
            };
            engine.free_context(0, &mut |_| {}).unwrap();
            handle
        };
        let (first, second) = (post(1), post(2));
        assert!(first.sequence() < second.sequence(), "{kind}");
    }
}
