//! Handles of receives that have left, or whose context has.

use super::*;

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
