//! What a shared engine hands back, shows and drops: callers may use the engine then, except while something is shown,
//! and may panic.

#![cfg(all(feature = "shared", not(mq_loom)))]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, Weak};

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::{Divide, Sharding, SharedContext, SharedEngine};
use mq_core::structures::Indexed;
use mq_core::{
    Arrive, Budget, ContextId, ContextOptions, EngineOptions, Entry, Error, Post, Removed, Source,
    Used,
};

type Engine<R, M> = SharedEngine<Indexed<MpiPattern, R, M>>;
type Context<R, M> = SharedContext<Indexed<MpiPattern, R, M>>;

/// Does some work; fails if it is stuck.
fn watched(work: impl FnOnce() + Send + 'static) {
    common::watched(60, work);
}

/// An engine with contexts 0 and 1.
fn engine<R, M>(divide: Divide, budget: Budget<M>) -> Engine<R, M> {
    let options = EngineOptions::new().budget(budget);
    let engine = SharedEngine::with_options(options, Sharding::new().shards(4).divide(divide));
    for context in [0, 1] {
        create(&engine, context);
    }
    engine
}

fn create<R, M>(engine: &Engine<R, M>, context: u32) -> Context<R, M> {
    let made = engine.create_context(context, ContextOptions::new());
    made.expect("a new one")
}

fn queue_receive<R, M>(engine: &Engine<R, M>, pattern: MpiPattern, receive: R) {
    match engine.post(pattern, receive) {
        Ok(Post::Queued(_)) => {}
        _ => panic!("nothing waits for it"),
    }
}

fn queue_message<R, M>(engine: &Engine<R, M>, envelope: MpiEnvelope, message: M) {
    match engine.arrive(envelope, message) {
        Ok(Arrive::Unexpected) => {}
        _ => panic!("nothing is posted for it, and there is room"),
    }
}

/// Queues two receives and two messages in each context, none for another, and says how many entries that is.
fn fill<T>(engine: &Engine<T, T>, mut entry: impl FnMut() -> T) -> usize {
    for context in [0, 1] {
        for source in [Source::from(1), Source::Any] {
            queue_receive(engine, MpiPattern::new(context, source, 5), entry());
        }
        for source in [1, 2] {
            queue_message(engine, MpiEnvelope::new(context, source, 6), entry());
        }
    }
    8
}

fn number_of(removed: &Removed<MpiPattern, u32, u32>) -> u32 {
    match *removed {
        Removed::Posted(_, number) | Removed::Unexpected(_, number) => number,
    }
}

type Purge = fn(&Engine<u32, u32>, &mut dyn FnMut(Removed<MpiPattern, u32, u32>));

#[test]
fn what_a_purge_hands_back_comes_when_the_engine_can_be_used() {
    let whole: Purge = |engine, back| engine.purge(&mut |_| true, back);
    let one_by_one: Purge = |engine, back| {
        for number in [0, 1] {
            let context = engine.context(number).expect("it exists");
            context.purge(&mut |_| true, back).expect("it exists");
        }
    };
    for divide in [Divide::AtOnce, Divide::Never] {
        for purge in [whole, one_by_one] {
            watched(move || {
                let engine = engine(divide, Budget::UNLIMITED);
                let mut numbers = 0..;
                let count = fill(&engine, || numbers.next().expect("there is no end"));
                let mut back = Vec::new();
                purge(&engine, &mut |removed| {
                    let number = number_of(&removed);
                    let context = match removed {
                        Removed::Posted(pattern, _) => pattern.context(),
                        Removed::Unexpected(envelope, _) => envelope.context(),
                    };
                    queue_receive(&engine, MpiPattern::new(context.0, 3, 7), number);
                    queue_message(&engine, MpiEnvelope::new(context.0, 3, 8), number);
                    create(&engine, 10 + number);
                    back.push(number);
                    assert!(engine.posted_len() >= back.len());
                });
                back.sort_unstable();
                assert!((0..).take(count).eq(back), "each comes back once");
                let lengths = (engine.posted_len(), engine.unexpected_len());
                assert_eq!(lengths, (count, count), "what was queued meanwhile");
            });
        }
    }
}

#[test]
fn what_a_freed_context_hands_back_comes_when_contexts_can_be_made_and_freed() {
    for divide in [Divide::AtOnce, Divide::Never] {
        watched(move || {
            let engine = engine(divide, Budget::UNLIMITED);
            let count = fill(&engine, || 0_u32) / 2;
            let (mut back, mut other_back) = (0, 0);
            let freed = engine.free_context(0, &mut |_| {
                let made = engine.create_context(0, ContextOptions::new());
                let freed = engine.free_context(1, &mut |_| other_back += 1);
                if back == 0 {
                    assert_eq!((made.map(drop), freed), (Ok(()), Ok(())));
                } else {
                    let exists = Err(Error::ContextExists(ContextId(0)));
                    let unknown = Err(Error::UnknownContext(ContextId(1)));
                    assert_eq!((made.map(drop), freed), (exists, unknown));
                }
                assert!(engine.next_sequence() > 0);
                back += 1;
            });
            assert_eq!(freed, Ok(()));
            assert_eq!((back, other_back), (count, count));
            assert!(engine.context(0).is_some() && engine.context(1).is_none());
            assert_eq!((engine.posted_len(), engine.unexpected_len()), (0, 0));
        });
    }
}

/// An entry that uses its engine when it is dropped, and is counted then.
struct Caller {
    engine: Weak<Engine<Self, Self>>,
    dropped: Arc<Mutex<usize>>,
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.upgrade() {
            engine.posted_len();
            *self.dropped.lock().expect("no panic") += 1;
        }
    }
}

#[test]
fn what_a_clear_drops_is_dropped_when_the_engine_can_be_used() {
    for divide in [Divide::AtOnce, Divide::Never] {
        watched(move || {
            let engine = Arc::new(engine(divide, Budget::UNLIMITED));
            let dropped = Arc::new(Mutex::new(0));
            let count = fill(&engine, || Caller {
                engine: Arc::downgrade(&engine),
                dropped: Arc::clone(&dropped),
            });
            assert_eq!(*dropped.lock().expect("no panic"), 0);
            engine.clear();
            assert_eq!(*dropped.lock().expect("no panic"), count);
            assert_eq!((engine.posted_len(), engine.unexpected_len()), (0, 0));
        });
    }
}

/// Holds on to a common count as long as it is anywhere; may panic when it is dropped.
struct Payload {
    panics: bool,
    _alive: Arc<()>,
}

impl Drop for Payload {
    fn drop(&mut self) {
        assert!(!self.panics, "as planned");
    }
}

#[test]
fn a_payload_that_panics_when_its_engine_is_dropped_keeps_no_other() {
    // Contexts from 4,096 on are kept in another way.
    for contexts in [0..5, 4_094..4_099, 5_000..5_005] {
        for panics in contexts.clone() {
            let alive = Arc::new(());
            let engine: Engine<(), Payload> = SharedEngine::new();
            for context in contexts.clone() {
                create(&engine, context);
                for source in 0..3 {
                    let payload = Payload {
                        panics: context == panics && source == 1,
                        _alive: Arc::clone(&alive),
                    };
                    queue_message(&engine, MpiEnvelope::new(context, source, 7), payload);
                }
            }
            assert_eq!(Arc::strong_count(&alive), 1 + 3 * 5);
            let dropping = catch_unwind(AssertUnwindSafe(move || drop(engine)));
            assert!(dropping.is_err());
            assert_eq!(
                Arc::strong_count(&alive),
                1,
                "context {panics} of {contexts:?}"
            );
        }
    }
}

const SENDERS: u32 = 6;

/// An engine with a message of each sender, all of which hold on to `alive`, and no room for another.
fn full(alive: &Arc<()>) -> Engine<(), Arc<()>> {
    let engine = engine(Divide::AtOnce, Budget::UNLIMITED.entries(6));
    for sender in 0..SENDERS {
        queue_message(&engine, MpiEnvelope::new(0, sender, 7), Arc::clone(alive));
    }
    engine
}

/// As many messages as the budget admits are queued, and no more.
fn has_all_its_room(engine: &Engine<(), Arc<()>>) {
    for sender in 0..SENDERS {
        queue_message(engine, MpiEnvelope::new(0, sender, 8), Arc::new(()));
    }
    let refused = engine.arrive(MpiEnvelope::new(0, 9, 8), Arc::new(()));
    let error = refused.expect_err("there are six").error;
    assert_eq!(error, Error::EntryBudget { limit: 6 });
}

/// Takes what is handed back, but for the second entry.
fn panics_at_the_second() -> impl FnMut(Removed<MpiPattern, (), Arc<()>>) {
    let mut count = 0;
    move |_| {
        count += 1;
        assert!(count < 2, "it is the second");
    }
}

#[test]
fn who_panics_at_what_a_purge_hands_back_loses_no_other_message_and_no_room() {
    let alive = Arc::new(());
    let engine = full(&alive);
    let purge = AssertUnwindSafe(|| {
        let mut is_even = |entry: Entry<'_, MpiPattern, (), Arc<()>>| match entry {
            Entry::Posted(..) => false,
            Entry::Unexpected(_, envelope, _) => envelope.source().0 % 2 == 0,
        };
        engine.purge(&mut is_even, &mut panics_at_the_second());
    });
    assert!(catch_unwind(purge).is_err());
    assert_eq!((engine.unexpected_len(), engine.used().entries), (3, 3));
    assert_eq!(Arc::strong_count(&alive), 1 + 3, "the others are dropped");
    for sender in [1, 3, 5] {
        let post = engine.post(MpiPattern::new(0, sender, 7), ());
        assert!(matches!(post, Ok(Post::Matched { .. })));
    }
    assert_eq!(engine.used(), Used::default());
    has_all_its_room(&engine);
}

#[test]
fn who_panics_at_what_a_freed_context_hands_back_has_freed_it() {
    let alive = Arc::new(());
    let engine = full(&alive);
    let free = AssertUnwindSafe(|| engine.free_context(0, &mut panics_at_the_second()));
    assert!(catch_unwind(free).is_err());
    assert_eq!(engine.used(), Used::default());
    assert_eq!(Arc::strong_count(&alive), 1, "the others are dropped");
    let unknown = Err(Error::UnknownContext(ContextId(0)));
    assert_eq!(engine.free_context(0, &mut |_| {}), unknown);
    let context = create(&engine, 0);
    assert_eq!(
        (context.posted_len(), context.unexpected_len()),
        (Ok(0), Ok(0))
    );
    has_all_its_room(&engine);
}

#[test]
fn who_panics_at_a_message_that_is_shown_leaves_it_and_no_lock_behind() {
    let engine: Engine<(), u32> = engine(Divide::Never, Budget::UNLIMITED);
    let context = engine.context(0).expect("it exists");
    queue_message(&engine, MpiEnvelope::new(0, 1, 7), 1);
    context.divide().expect("it exists");
    queue_message(&engine, MpiEnvelope::new(0, 1, 7), 2);
    let of_prober = context.clone();
    watched(move || {
        for source in [Source::from(1), Source::Any] {
            let probe = AssertUnwindSafe(|| -> Result<Option<()>, Error> {
                let pattern = MpiPattern::new(0, source, 7);
                of_prober.probe_with(&pattern, |_, _| panic!("it is shown"))
            });
            assert!(catch_unwind(probe).is_err());
        }
    });
    watched(move || {
        let third = context.arrive(MpiEnvelope::new(0, 1, 7), 3);
        assert!(matches!(third, Ok(Arrive::Unexpected)));
        for number in 1..=3 {
            let post = context.post(MpiPattern::new(0, 1, 7), ());
            assert!(matches!(post, Ok(Post::Matched { message, .. }) if message == number));
        }
    });
}
