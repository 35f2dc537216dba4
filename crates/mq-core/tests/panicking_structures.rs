//! Structures of one's own that panic: what engines keep then.

#![cfg(all(feature = "shared", not(mq_loom)))]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::{Divide, Sharding, SharedEngine};
use mq_core::structures::Indexed;
use mq_core::{
    Arrive, Budget, Config, ContextId, ContextOptions, Engine, EngineOptions, EntryOf, Error,
    FoundMessageOf, FoundReceiveOf, Handle, MatchQueues, MessageHandle, Meter, Post, Removed,
    RemovedOf, Scope, Source, TakenMessageOf,
};

thread_local! {
    /// The method that panics, and in which of its calls.
    static PANICS: Cell<Option<(Method, usize)>> = const { Cell::new(None) };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    WithConfig,
    RaiseSequence,
    RemoveContext,
}

/// Does some work while a method panics in one of its calls, the first being number 0; says whether it did.
fn panics(method: Method, call: usize, work: impl FnOnce()) -> bool {
    PANICS.set(Some((method, call)));
    let outcome = catch_unwind(AssertUnwindSafe(work));
    PANICS.set(None);
    outcome.is_err()
}

fn called(method: Method) {
    match PANICS.get() {
        Some((planned, call)) if planned == method => {
            PANICS.set(call.checked_sub(1).map(|call| (method, call)));
            assert!(call > 0, "as planned");
        }
        _ => {}
    }
}

/// [`Indexed`], but for the panics.
struct Queues(Indexed<MpiPattern, u32, u32>);

impl MatchQueues for Queues {
    type Pattern = MpiPattern;
    type Receive = u32;
    type Message = u32;

    fn with_config(config: &Config) -> Self {
        called(Method::WithConfig);
        Self(Indexed::with_config(config))
    }

    fn scope(_: &Config) -> Scope {
        Scope::Context
    }

    fn find_metered(
        &mut self,
        pattern: &MpiPattern,
        meter: &mut impl Meter,
    ) -> Option<FoundMessageOf<'_, Self>> {
        self.0.find_metered(pattern, meter)
    }

    fn find_receive_metered(
        &mut self,
        envelope: &MpiEnvelope,
        meter: &mut impl Meter,
    ) -> Option<FoundReceiveOf<'_, Self>> {
        self.0.find_receive_metered(envelope, meter)
    }

    fn take(&mut self, message: MessageHandle) -> Option<TakenMessageOf<Self>> {
        self.0.take(message)
    }

    fn cancel(&mut self, handle: Handle) -> Option<u32> {
        self.0.cancel(handle)
    }

    fn queue_receive(&mut self, pattern: MpiPattern, receive: u32) -> Handle {
        self.0.queue_receive(pattern, receive)
    }

    fn queue_message(&mut self, envelope: MpiEnvelope, message: u32) -> MessageHandle {
        self.0.queue_message(envelope, message)
    }

    fn posted_len(&self) -> usize {
        self.0.posted_len()
    }

    fn unexpected_len(&self) -> usize {
        self.0.unexpected_len()
    }

    fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Self>)) {
        self.0.visit(visitor);
    }

    fn purge(
        &mut self,
        select: &mut dyn FnMut(EntryOf<'_, Self>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Self>),
    ) {
        self.0.purge(select, back);
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn next_sequence(&self) -> u64 {
        self.0.next_sequence()
    }

    fn raise_sequence(&mut self, sequence: u64) {
        called(Method::RaiseSequence);
        self.0.raise_sequence(sequence);
    }

    fn add_context(&mut self, config: &Config) {
        self.0.add_context(config);
    }

    fn remove_context(&mut self, context: ContextId) {
        called(Method::RemoveContext);
        self.0.remove_context(context);
    }
}

const SHARDS: u32 = 4;

/// An engine with context 0, which is divided at once or when it is asked to be.
fn shared(divide: Divide, budget: Budget<u32>) -> SharedEngine<Queues> {
    let options = EngineOptions::new().budget(budget);
    let sharding = Sharding::new().shards(SHARDS as usize).divide(divide);
    let engine = SharedEngine::with_options(options, sharding);
    let made = engine.create_context(0, ContextOptions::new());
    made.expect("the first");
    engine
}

fn queue(engine: &SharedEngine<Queues>, source: u32, message: u32) {
    let arrival = engine.arrive(MpiEnvelope::new(0, source, 7), message);
    assert!(matches!(arrival, Ok(Arrive::Unexpected)));
}

#[test]
fn a_handle_stays_stale_if_a_structure_panics_when_its_context_is_freed() {
    for method in [Method::WithConfig, Method::RemoveContext] {
        let mut engine: Engine<Queues> = Engine::new();
        let queue = |engine: &mut Engine<Queues>, receive| {
            let made = engine.create_context(0, ContextOptions::new());
            made.expect("there is none");
            match engine.post(MpiPattern::new(0, 1, 7), receive) {
                Ok(Post::Queued(handle)) => handle,
                _ => panic!("nothing has come"),
            }
        };
        let old = queue(&mut engine, 1);
        let mut back = Vec::new();
        let free = panics(method, 0, || {
            let _ = engine.free_context(0, &mut |removed| back.push(removed));
        });
        assert!(free);
        assert!(matches!(back[..], [Removed::Posted(_, 1)]));
        let new = queue(&mut engine, 2);
        assert_eq!(engine.cancel(old), None);
        assert_eq!(engine.cancel(new), Some(2));
    }
}

#[test]
fn a_message_stays_if_a_structure_panics_before_it_is_taken_from_any_source() {
    for is_elder in [false, true] {
        for call in 0..=SHARDS as usize {
            let engine = shared(Divide::Never, Budget::UNLIMITED.entries(1));
            let divide = || engine.context(0).expect("it exists").divide();
            if is_elder {
                queue(&engine, 1, 5);
            }
            divide().expect("it exists");
            if !is_elder {
                queue(&engine, 1, 5);
            }
            let any = MpiPattern::new(0, Source::Any, 7);
            let extract = panics(Method::RaiseSequence, call, || {
                let _ = engine.extract(&any);
            });
            let post = panics(Method::RaiseSequence, call, || {
                let _ = engine.post(any, 0);
            });
            assert!(extract && post);
            assert_eq!((engine.unexpected_len(), engine.used().entries), (1, 1));
            let taken = (MpiEnvelope::new(0, 1, 7), 5);
            assert_eq!(engine.extract(&any), Ok(Some(taken)));
            assert_eq!(engine.used().entries, 0);
            queue(&engine, 1, 6);
        }
    }
}

#[test]
fn a_context_stays_if_a_structure_panics_before_its_entries_are_handed_back() {
    for call in 0..=SHARDS as usize {
        let engine = shared(Divide::AtOnce, Budget::UNLIMITED);
        for source in 0..SHARDS {
            queue(&engine, source, source);
        }
        let free = panics(Method::WithConfig, call, || {
            let _ = engine.free_context(0, &mut |_| panic!("it comes back, and is freed"));
        });
        assert!(free);
        assert_eq!(engine.context_lengths(0), Ok((0, SHARDS as usize)));
        let mut back = Vec::new();
        let freed = engine.free_context(0, &mut |removed| match removed {
            Removed::Posted(..) => panic!("none was posted"),
            Removed::Unexpected(_, message) => back.push(message),
        });
        assert_eq!(freed, Ok(()));
        back.sort_unstable();
        assert!(back.into_iter().eq(0..SHARDS));
        let unknown = Err(Error::UnknownContext(ContextId(0)));
        assert_eq!(engine.context_lengths(0), unknown);
    }
}
