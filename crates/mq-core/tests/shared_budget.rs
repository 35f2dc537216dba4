//! The budget of a shared engine while threads queue, match, cancel, purge, clear and free: what is counted is what is
//! queued, and nothing is lost.
#![cfg(all(feature = "shared", not(mq_loom)))]

mod common;

use std::sync::Arc;

use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::shared::{Sharding, SharedEngine};
use mq_core::structures::Indexed;
use mq_core::{
    Arrive, Budget, ContextOptions, EngineOptions, Entry, Error, HighWater, Post, Source, Used,
};

/// A message, which weighs its number and holds on to a common count as long as it is anywhere.
struct Message(u32, #[expect(dead_code, reason = "it is counted")] Arc<()>);

type Engine = SharedEngine<Indexed<MpiPattern, u32, Message>>;

/// The last is too large for a cell of its own in the directory.
const CONTEXTS: [u32; 3] = [0, 1, 100_000];
const RANKS: u32 = 4;
const WORKERS: u32 = 3;
const STEPS: u32 = 30_000;
const ENTRIES: usize = 10;
const OF_A_SOURCE: usize = 3;
const BYTES: u64 = 30;

fn engine() -> Engine {
    let weigh = |message: &Message| u64::from(message.0);
    let budget = Budget::UNLIMITED
        .entries(ENTRIES)
        .entries_per_source(OF_A_SOURCE)
        .bytes(BYTES, weigh);
    let options =
        EngineOptions::new()
            .budget(budget)
            .high_water(HighWater::NEVER.entries(8, 3), |used| {
                assert!(used.entries >= 8 && used.entries <= ENTRIES && used.bytes <= BYTES);
            });
    let engine = Engine::with_options(options, Sharding::new().shards(4));
    for context in CONTEXTS {
        create(&engine, context);
    }
    engine
}

fn create(engine: &Engine, context: u32) {
    let options = ContextOptions::new().size(RANKS);
    let made = engine.create_context(context, options);
    let _ = made.expect("it is new, or was freed by this thread");
}

/// Numbers in no order (Marsaglia 2003).
struct Random(u32);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % end
    }
}

/// Whether an operation was refused, as it may be: contexts come and go, and budgets are used up.
fn is_refused(error: &Error) -> bool {
    matches!(
        error,
        Error::UnknownContext(_)
            | Error::EntryBudget { .. }
            | Error::ByteBudget { .. }
            | Error::SourceEntryBudget { .. }
    )
}

fn work(engine: &Engine, thread: u32, alive: &Arc<()>) {
    let mut random = Random(77 + thread);
    let mut posted = Vec::new();
    for _ in 0..STEPS {
        let context = CONTEXTS[random.below(3) as usize];
        let (rank, tag) = (random.below(RANKS), random.below(2).cast_signed());
        let source = match random.below(4) {
            0 => Source::Any,
            _ => Source::from(rank),
        };
        let pattern = MpiPattern::new(context, source, TagSelector::from(tag));
        let error = match random.below(8) {
            0..4 => {
                let message = Message(random.below(6), Arc::clone(alive));
                match engine.arrive(MpiEnvelope::new(context, rank, tag), message) {
                    Ok(Arrive::Matched { .. } | Arrive::Unexpected) => continue,
                    Err(refused) => refused.error,
                }
            }
            4..6 => match engine.post(pattern, thread) {
                Ok(Post::Queued(handle)) => {
                    posted.push(handle);
                    continue;
                }
                Ok(Post::Matched { .. }) => continue,
                Err(refused) => refused.error,
            },
            6 => match engine.extract(&pattern) {
                Ok(_) => continue,
                Err(error) => error,
            },
            _ => {
                if let Some(handle) = posted.pop() {
                    let _ = engine.cancel(handle);
                }
                continue;
            }
        };
        assert!(is_refused(&error), "{error}");
    }
}

/// Takes entries away by other means than matching them.
fn remove(engine: &Engine) {
    let mut random = Random(5);
    for _ in 0..STEPS / 20 {
        let context = CONTEXTS[random.below(3) as usize];
        match random.below(6) {
            0 => engine.purge(&mut |_| true, &mut |_| {}),
            1 => engine.clear(),
            2 => {
                let freed = engine.free_context(context, &mut |_| {});
                freed.expect("only this thread frees");
                create(engine, context);
            }
            3 => {
                let found = engine.context(context).expect("only this thread frees");
                found.divide().expect("it exists");
            }
            _ => {
                let rank = random.below(RANKS);
                let mut of_one = |entry: Entry<'_, MpiPattern, u32, Message>| match entry {
                    Entry::Posted(_, pattern, _) => pattern.source() == Source::from(rank),
                    Entry::Unexpected(_, envelope, _) => envelope.source().0 == rank,
                };
                engine.purge(&mut of_one, &mut |_| {});
            }
        }
        std::thread::yield_now();
    }
}

/// Each source has all its room again, and no more.
fn all_room_is_back(engine: &Engine, alive: &Arc<()>) {
    for context in CONTEXTS {
        for rank in 0..RANKS {
            let arrive = || {
                let envelope = MpiEnvelope::new(context, rank, 0);
                engine.arrive(envelope, Message(1, Arc::clone(alive)))
            };
            for _ in 0..OF_A_SOURCE {
                assert!(matches!(arrive(), Ok(Arrive::Unexpected)));
            }
            let refused = arrive().map(drop).expect_err("it has no more room");
            assert!(matches!(refused.error, Error::SourceEntryBudget { .. }));
            engine.purge(&mut |_| true, &mut |_| {});
        }
    }
}

#[test]
fn what_is_counted_is_what_is_queued_whatever_threads_do() {
    // Threads that wait for each other for ever are an error, too.
    common::watched(120, || {
        let (engine, alive) = (engine(), Arc::new(()));
        std::thread::scope(|scope| {
            for thread in 0..WORKERS {
                let (engine, alive) = (&engine, &alive);
                scope.spawn(move || work(engine, thread, alive));
            }
            scope.spawn(|| remove(&engine));
        });
        let mut weight = 0;
        engine.visit(&mut |entry| {
            if let Entry::Unexpected(_, _, message) = entry {
                weight += u64::from(message.0);
            }
        });
        let used = engine.used();
        assert_eq!(
            (used.entries, used.bytes),
            (engine.unexpected_len(), weight)
        );
        // What is not queued was dropped, and nothing twice.
        assert_eq!(Arc::strong_count(&alive) - 1, used.entries);
        engine.purge(&mut |_| true, &mut |_| {});
        assert_eq!(engine.used(), Used::default());
        all_room_is_back(&engine, &alive);
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

/// A high mark's function may take messages out: only those who want to make a call wait for one.
#[test]
fn a_call_at_a_high_mark_may_use_the_engine_to_make_room() {
    use std::sync::OnceLock;
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    common::watched(60, || {
        let options = EngineOptions::new().high_water(HighWater::NEVER.entries(2, 0), |used| {
            assert_eq!(used.entries, 2);
            let engine = ENGINE.get().expect("it is in use");
            assert_eq!(engine.used().entries, 2);
            for _ in 0..2 {
                let taken = engine.extract(&MpiPattern::new(0, Source::Any, TagSelector::Any));
                assert!(taken.expect("it exists").is_some());
            }
        });
        let engine = ENGINE.get_or_init(|| Engine::with_options(options, Sharding::new()));
        create(engine, 0);
        for _ in 0..3 {
            for rank in 0..2 {
                let message = Message(0, Arc::new(()));
                let arrival = engine.arrive(MpiEnvelope::new(0, rank, 1), message);
                assert!(matches!(arrival, Ok(Arrive::Unexpected)));
            }
            assert_eq!(engine.used(), Used::default());
        }
    });
}
