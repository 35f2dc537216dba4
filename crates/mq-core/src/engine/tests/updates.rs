//! Contexts whose size and promises change while they are in use.

use super::*;

#[test]
fn a_context_in_use_gets_the_terms_that_its_entries_keep() {
    let limits = [Budget::UNLIMITED, Budget::UNLIMITED.entries(9)];
    let kinds = Kind::ALL.iter();
    let limited = kinds.flat_map(|&kind| limits.map(|limit| (kind, limit)));
    for (kind, budget, number) in
        limited.flat_map(|(kind, limit)| [(kind, limit, 0), (kind, limit, 7)])
    {
        let options = EngineOptions::new().kind(kind).budget(budget);
        let mut engine: Engine<AnyQueues<MpiPattern, u32, Vec<u8>>> = Engine::with_options(options);
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
        // Of a rank that the new size leaves out, but in a context that keeps its own.
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
            let terms = engine.terms(number).expect("it exists");
            assert_eq!((terms.last_rank, terms.no_any_source), (u32::MAX, false));
        }
        let unknown = engine.update_context(other + 1, four());
        assert_eq!(unknown, Err(Error::UnknownContext(ContextId(other + 1))));

        assert_eq!(engine.update_context(number, four()), Ok(()), "{kind}");
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
fn terms_are_stricter_if_they_refuse_what_the_others_admit() {
    let new = ContextOptions::new;
    let stricter = |now: ContextOptions, before: ContextOptions| {
        let terms = |options| Terms::new(ContextId(0), &options).expect("there are ranks");
        terms(now).are_stricter_than(&terms(before))
    };
    for (now, before) in [
        (new(), new()),
        (new(), new().size(4).no_any_source().no_any_tag()),
        (new().size(4), new().size(4).no_any_tag()),
        (new().size(5), new().size(4)),
        (new().allow_overtaking(), new()),
        (new().no_any_source(), new().no_any_source().no_any_tag()),
    ] {
        assert!(!stricter(now, before));
    }
    for (now, before) in [
        (new().size(4), new()),
        (new().size(4), new().size(5)),
        (new().no_any_source(), new().no_any_tag()),
        (new().size(9).no_any_tag(), new().size(4).no_any_source()),
    ] {
        assert!(stricter(now, before));
    }
}
