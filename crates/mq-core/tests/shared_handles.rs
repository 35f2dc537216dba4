//! An operation through the handle of another context, or of an earlier life, is refused, whichever way it would have
//! taken.

#![cfg(all(feature = "shared", not(mq_loom)))]

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::{Divide, Sharding, SharedContext, SharedEngine};
use mq_core::structures::Indexed;
use mq_core::{
    Budget, CollectiveCall, ContextId, ContextOptions, EngineOptions, Error, Source, TrafficClass,
};

type Queues = Indexed<MpiPattern, u32, u32>;

const OTHER: Error = Error::OtherContext {
    handle: ContextId(0),
    named: ContextId(1),
};

/// Undivided and divided, without a budget and with one that is not used up.
const KINDS: [(Divide, Option<usize>); 4] = [
    (Divide::Never, None),
    (Divide::Never, Some(100)),
    (Divide::AtOnce, None),
    (Divide::AtOnce, Some(100)),
];

fn engine(divide: Divide, entries: Option<usize>) -> SharedEngine<Queues> {
    let limit = |entries| Budget::UNLIMITED.entries(entries);
    let budget = entries.map_or(Budget::UNLIMITED, limit);
    let options = EngineOptions::new().budget(budget);
    SharedEngine::with_options(options, Sharding::new().shards(2).divide(divide))
}

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
    for (divide, entries) in KINDS {
        let engine = engine(divide, entries);
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

/// The same for a handle of an earlier life: in the present one, each operation would find something or change it.
fn all_are_of_no_context(old: &SharedContext<Queues>) {
    let unknown = Error::UnknownContext(old.id());
    for source in [Source::from(2), Source::Any] {
        let pattern = MpiPattern::new(old.id(), source, 6);
        let refused = old.post(pattern, 5).expect_err("of an earlier life");
        assert_eq!((refused.error, refused.payload), (unknown, 5));
        assert_eq!(old.probe(&pattern), Err(unknown));
        let seen = old.probe_with(&pattern, |_, _| panic!("it is not shown"));
        assert_eq!(seen, Err::<Option<()>, _>(unknown));
        assert_eq!(old.extract(&pattern), Err(unknown));
    }
    let envelope = MpiEnvelope::new(old.id(), 1, 5);
    let refused = old.arrive(envelope, 6).expect_err("of an earlier life");
    assert_eq!((refused.error, refused.payload), (unknown, 6));
    assert_eq!(old.deliver(&envelope), Err(unknown));
    let purged = old.purge(&mut |_| panic!("it is not asked about"), &mut |_| {});
    assert_eq!(purged, Err(unknown));
    let visited = old.visit(&mut |_| panic!("it is not shown"));
    assert_eq!(visited, Err(unknown));
    let call = CollectiveCall::new(old.id(), TrafficClass::Gather, 8, 8);
    assert_eq!(old.announce(&call), Err(unknown));
    assert_eq!(old.update(ContextOptions::new().size(4)), Err(unknown));
    assert_eq!(old.divide(), Err(unknown));
    assert_eq!(old.shards(), Err(unknown));
    assert_eq!(old.posted_len(), Err(unknown));
    assert_eq!(old.unexpected_len(), Err(unknown));
}

#[test]
fn a_handle_of_an_earlier_life_reaches_nothing_of_the_next() {
    for (divide, entries) in KINDS {
        // The second is too large for a cell of its own in the directory.
        for id in [0, 10_000] {
            let engine = engine(divide, entries);
            let create = || {
                let made = engine.create_context(id, ContextOptions::new().size(8));
                made.expect("a new one")
            };
            let old = create();
            engine.free_context(id, &mut |_| {}).expect("it exists");
            all_are_of_no_context(&old);
            let new = create();
            let shards = new.shards();
            let _ = new.post(MpiPattern::new(id, 1, 5), 1).expect("its own");
            let _ = new.arrive(MpiEnvelope::new(id, 2, 6), 2).expect("its own");
            all_are_of_no_context(&old);
            assert_eq!((new.posted_len(), new.unexpected_len()), (Ok(1), Ok(1)));
            assert_eq!(new.shards(), shards, "nor was it divided");
            let last = MpiEnvelope::new(id, 7, 5);
            assert_eq!(new.deliver(&last), Ok(None), "nor made smaller");
            assert_eq!(engine.used().entries, usize::from(entries.is_some()));
        }
    }
}

#[test]
fn the_contexts_are_listed_while_they_exist() {
    for (divide, entries) in KINDS {
        let engine = engine(divide, entries);
        for number in [70, 0, 4096] {
            let made = engine.create_context(number, ContextOptions::new());
            made.expect("a new one");
        }
        engine.free_context(0, &mut |_| ()).expect("it exists");
        let mut listed = engine.contexts();
        listed.sort_unstable();
        assert_eq!(listed, [ContextId(70), ContextId(4096)]);
    }
}
