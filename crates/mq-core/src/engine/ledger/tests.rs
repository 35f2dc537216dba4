use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, channel};

use super::sources::KEPT_BYTES;
use super::*;
use crate::mpi::{MpiEnvelope, MpiPattern};
use crate::structures::{AnyQueues, Kind};
use crate::{
    Arrive, ContextId, ContextOptions, Engine, EngineOptions, Footprint, MatchQueues, Post, Rank,
    Source,
};

type Queues = AnyQueues<MpiPattern, u32, Vec<u8>>;

#[expect(clippy::ptr_arg, reason = "the budget's signature")]
fn length(message: &Vec<u8>) -> u64 {
    message.len() as u64
}

fn engine(options: EngineOptions<Vec<u8>>) -> Engine<Queues> {
    let mut engine = Engine::with_options(options);
    for context in 0..2 {
        engine
            .create_context(context, ContextOptions::new())
            .expect("fresh");
    }
    engine
}

fn budgeted(budget: Budget<Vec<u8>>) -> Engine<Queues> {
    engine(EngineOptions::new().budget(budget))
}

/// The engine, and what its high-water call was told.
fn watched(marks: HighWater) -> (Engine<Queues>, Receiver<Used>) {
    let (note, notes) = channel();
    let budget = Budget::UNLIMITED.bytes(u64::MAX, length);
    let options = EngineOptions::new()
        .budget(budget)
        .high_water(marks, move |used| {
            note.send(used).expect("the test listens");
        });
    (engine(options), notes)
}

fn sources(engine: &Engine<Queues>) -> usize {
    engine.ledger.as_ref().map_or(0, |l| l.sources.len())
}

fn queue(engine: &mut Engine<Queues>, source: u32, bytes: usize) {
    let arrival = engine.arrive(MpiEnvelope::new(0, source, 5), vec![0; bytes]);
    assert!(matches!(arrival, Ok(Arrive::Unexpected)));
}

/// Bytes that are counted for a mark only are no reason to refuse anything.
#[test]
fn bytes_without_a_limit_may_be_any() {
    let budget = Budget::UNLIMITED
        .bytes(u64::MAX, |_: &Vec<u8>| u64::MAX)
        .entries_per_source(2);
    let mut engine = budgeted(budget);
    for source in [0, 0, 1] {
        queue(&mut engine, source, 1);
    }
    assert_eq!(engine.unexpected_len(), 3);
}

fn of_seven() -> MpiPattern {
    MpiPattern::new(0, 7, 5)
}

fn refusal(engine: &mut Engine<Queues>, source: u32, bytes: usize) -> Error {
    let envelope = MpiEnvelope::new(0, source, 5);
    let message: Vec<u8> = (0..=255).cycle().take(bytes).collect();
    let before = (engine.used(), engine.memory(), sources(engine));
    let refused = engine.arrive(envelope, message.clone()).expect_err("full");
    assert_eq!(refused.payload, message);
    let again = engine.queue_message(envelope, refused.payload);
    let again = again.expect_err("still full");
    assert_eq!((again.error, again.payload), (refused.error, message));
    assert_eq!((engine.used(), engine.memory(), sources(engine)), before);
    again.error
}

#[test]
fn a_source_is_refused_exactly_past_its_entries() {
    let mut engine = budgeted(Budget::UNLIMITED.entries_per_source(3));
    (0..3).for_each(|_| queue(&mut engine, 7, 0));
    let error = refusal(&mut engine, 7, 9);
    let expected = Error::SourceEntryBudget {
        context: ContextId(0),
        rank: Rank(7),
        limit: 3,
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains("rank 7 of context 0"), "{error}");
}

#[test]
fn a_source_is_refused_exactly_past_its_bytes() {
    let mut engine = budgeted(Budget::UNLIMITED.bytes_per_source(10, length));
    queue(&mut engine, 7, 6);
    let expected = Error::SourceByteBudget {
        context: ContextId(0),
        rank: Rank(7),
        limit: 10,
        used: 6,
        wanted: 5,
    };
    assert_eq!(refusal(&mut engine, 7, 5), expected);
    queue(&mut engine, 7, 4);
    queue(&mut engine, 7, 0);
    assert!(expected.to_string().contains("rank 7 of context 0"));
}

#[test]
fn limits_of_the_engine_are_told_before_those_of_the_source() {
    let budget = Budget::UNLIMITED.entries(1).entries_per_source(1);
    let mut engine = budgeted(budget);
    queue(&mut engine, 7, 0);
    assert_eq!(refusal(&mut engine, 7, 0), Error::EntryBudget { limit: 1 });
    assert_eq!(refusal(&mut engine, 8, 0), Error::EntryBudget { limit: 1 });
}

#[test]
fn a_flood_from_one_source_leaves_room_for_the_others() {
    let budget = Budget::UNLIMITED.entries(100).entries_per_source(10);
    let mut engine = budgeted(budget);
    let flood = |engine: &mut Engine<Queues>| {
        let arrivals = (0..1_000).map(|_| engine.arrive(MpiEnvelope::new(0, 7, 5), vec![]));
        arrivals.filter(Result::is_ok).count()
    };
    assert_eq!(flood(&mut engine), 10);
    for source in 8..17 {
        (0..10).for_each(|_| queue(&mut engine, source, 0));
    }
    assert_eq!(engine.used().entries, 100);
    // The same rank of another context is another source; here the engine is what is full.
    let elsewhere = engine.arrive(MpiEnvelope::new(1, 7, 5), vec![]);
    assert!(
        matches!(elsewhere, Err(refused) if refused.error == Error::EntryBudget { limit: 100 })
    );
    let _ = engine.extract(&MpiPattern::new(0, 8, 5));
    assert_eq!(
        flood(&mut engine),
        0,
        "room of another source is not for it"
    );
    let elsewhere = engine.arrive(MpiEnvelope::new(1, 7, 5), vec![]);
    assert!(matches!(elsewhere, Ok(Arrive::Unexpected)));
}

#[test]
fn a_posted_receive_takes_a_message_of_a_source_without_room() {
    for &kind in Kind::ALL {
        let budget = Budget::UNLIMITED.entries_per_source(1);
        let mut engine = engine(EngineOptions::new().kind(kind).budget(budget));
        queue(&mut engine, 7, 0);
        let _ = engine.post(MpiPattern::new(0, Source::Any, 6), 42);
        let arrival = engine.arrive(MpiEnvelope::new(0, 7, 6), vec![1]);
        let matched =
            matches!(arrival, Ok(Arrive::Matched { receive: 42, message, .. }) if message == [1]);
        assert!(matched, "{kind}");
        assert_eq!(engine.used().entries, 1);
    }
}

#[test]
fn every_way_out_gives_a_source_its_room_back() {
    type Out = fn(&mut Engine<Queues>);
    let ways: [(&str, Out); 6] = [
        ("post", |engine| {
            for receive in 0..2 {
                let post = engine.post(of_seven(), receive);
                assert!(matches!(post, Ok(Post::Matched { .. })));
            }
        }),
        ("extract", |engine| {
            while engine.extract(&of_seven()).expect("valid").is_some() {}
        }),
        ("take", |engine| {
            while let Some((handle, ..)) = engine.find(&of_seven()).expect("valid") {
                assert!(engine.take(handle).is_some());
                assert!(engine.take(handle).is_none());
            }
        }),
        ("purge", |engine| {
            engine.purge(&mut |_| true, &mut |_| ());
        }),
        ("free_context", |engine| {
            engine.free_context(0, &mut |_| ()).expect("it exists");
            engine
                .create_context(0, ContextOptions::new())
                .expect("freed");
        }),
        ("clear", Engine::clear),
    ];
    let budget = Budget::UNLIMITED
        .bytes_per_source(10, length)
        .entries_per_source(2);
    for &kind in Kind::ALL {
        let mut engine = engine(EngineOptions::new().kind(kind).budget(budget));
        for (way, out) in ways {
            queue(&mut engine, 7, 3);
            let envelope = MpiEnvelope::new(0, 7, 5);
            engine
                .queue_message(envelope, vec![0; 7])
                .expect("10 of 10");
            refusal(&mut engine, 7, 1);
            assert_eq!(sources(&engine), 1);
            out(&mut engine);
            assert_eq!(engine.used(), Used::default(), "{kind}: {way}");
            assert_eq!(sources(&engine), 0, "{kind}: {way}");
        }
    }
}

#[test]
fn freeing_a_context_gives_back_the_room_of_its_sources_only() {
    // Of process scope: both contexts are in one object.
    let budget = Budget::UNLIMITED.entries_per_source(1);
    let mut engine = engine(EngineOptions::new().kind(Kind::List).budget(budget));
    for context in 0..2 {
        let arrival = engine.arrive(MpiEnvelope::new(context, 7, 5), vec![]);
        assert!(matches!(arrival, Ok(Arrive::Unexpected)));
    }
    engine.free_context(0, &mut |_| ()).expect("it exists");
    assert_eq!((engine.used().entries, sources(&engine)), (1, 1));
    let refused = engine.arrive(MpiEnvelope::new(1, 7, 5), vec![]);
    assert!(refused.is_err());
}

/// What an engine may hold when it is idle: two slabs and an index of 256 KiB for each of two
/// contexts, and the table of sources.
const IDLE_BYTES: usize = 7 * KEPT_BYTES;

#[test]
fn a_million_sources_in_turn_leave_nothing_behind() {
    let budget = Budget::UNLIMITED.entries_per_source(4);
    let mut engine = budgeted(budget);
    for source in 0..1 << 20 {
        queue(&mut engine, source, 0);
        if source >= 100 {
            let pattern = MpiPattern::new(0, source - 100, 5);
            assert!(engine.extract(&pattern).expect("valid").is_some());
        }
        assert!(sources(&engine) <= 101);
    }
    let ledger = engine.ledger.as_ref().expect("limited");
    assert!(ledger.heap_bytes() <= 64 << 10);
    assert!(engine.memory().total() <= IDLE_BYTES);
}

#[test]
fn each_of_many_sources_has_its_own_limit() {
    let mut engine = budgeted(Budget::UNLIMITED.entries_per_source(2));
    let many = 0..3_000;
    for round in 0..3 {
        for source in many.clone() {
            queue(&mut engine, source, 0);
            queue(&mut engine, source, 0);
            let refused = refusal(&mut engine, source, 0);
            assert!(
                matches!(refused, Error::SourceEntryBudget { rank: Rank(of), .. } if of == source)
            );
        }
        assert_eq!(sources(&engine), 3_000);
        // The last are left for a while.
        for source in many.clone().take(if round == 1 { 2_990 } else { 3_000 }) {
            let pattern = MpiPattern::new(0, source, 5);
            assert!(engine.extract(&pattern).expect("valid").is_some());
            assert_eq!(sources(&engine), 3_000 - source as usize);
            assert!(engine.extract(&pattern).expect("valid").is_some());
        }
        if round == 1 {
            assert_eq!(sources(&engine), 10);
            engine.clear();
        }
        assert_eq!((sources(&engine), engine.used()), (0, Used::default()));
    }
}

#[test]
fn memory_is_back_after_a_million_sources_at_once() {
    let budget = Budget::UNLIMITED.entries(1 << 20).entries_per_source(1);
    let mut engine = budgeted(budget);
    for round in 0..2 {
        (0..1 << 20).for_each(|source| queue(&mut engine, source, 0));
        assert_eq!(sources(&engine), 1 << 20);
        assert!(matches!(
            refusal(&mut engine, 1 << 20, 0),
            Error::EntryBudget { .. }
        ));
        if round == 0 {
            let any = MpiPattern::new(0, Source::Any, 5);
            (0..1 << 20).for_each(|_| assert!(engine.extract(&any).expect("valid").is_some()));
        } else {
            engine.clear();
        }
        assert_eq!(sources(&engine), 0);
        let table = engine.ledger.as_ref().expect("limited").heap_bytes();
        assert!(table <= KEPT_BYTES, "{table}");
        let total = engine.memory().total();
        // Clearing keeps what the queues hold, for reuse; draining gives it back.
        assert!(round == 1 || total <= IDLE_BYTES, "{total}");
    }
}

#[test]
fn what_is_refused_takes_no_memory() {
    let mut engine = budgeted(Budget::UNLIMITED.entries(1_000).entries_per_source(10));
    for source in 0..100 {
        (0..10).for_each(|_| queue(&mut engine, source, 0));
    }
    let before = engine.memory();
    for source in 0..100_000 {
        let refused = engine.arrive(MpiEnvelope::new(0, source, 5), vec![]);
        assert!(refused.is_err());
    }
    assert_eq!(engine.memory(), before);
    assert_eq!(sources(&engine), 100);
}

#[test]
fn the_high_water_call_comes_once_for_each_crossing() {
    let (mut engine, notes) = watched(HighWater::NEVER.entries(4, 2));
    let pattern = of_seven();
    for _ in 0..3 {
        while engine.used().entries < 6 {
            queue(&mut engine, 7, 1);
        }
        let told: Vec<Used> = notes.try_iter().collect();
        let expected = Used {
            entries: 4,
            bytes: 4,
        };
        assert_eq!(told, [expected]);
        // Down to 3 and up again: not far enough.
        (0..3).for_each(|_| drop(engine.extract(&pattern)));
        (0..3).for_each(|_| queue(&mut engine, 7, 1));
        assert_eq!(notes.try_iter().count(), 0);
        (0..4).for_each(|_| drop(engine.extract(&pattern)));
    }
}

#[test]
fn every_way_down_makes_the_high_water_call_possible_again() {
    type Down = fn(&mut Engine<Queues>);
    let ways: [Down; 5] = [
        |engine| drop(engine.post(of_seven(), 0)),
        |engine| {
            let found = engine.find(&of_seven()).expect("valid");
            let handle = found.expect("it waits").0;
            drop(engine.take(handle));
        },
        |engine| engine.purge(&mut |_| true, &mut |_| ()),
        |engine| {
            engine.free_context(0, &mut |_| ()).expect("it exists");
            engine
                .create_context(0, ContextOptions::new())
                .expect("freed");
        },
        Engine::clear,
    ];
    let (mut engine, notes) = watched(HighWater::NEVER.bytes(5, 0));
    for down in ways {
        queue(&mut engine, 7, 5);
        assert_eq!(notes.try_iter().count(), 1);
        down(&mut engine);
        assert_eq!(engine.used(), Used::default());
    }
}

#[test]
fn either_mark_calls_and_both_must_be_left() {
    let (mut engine, notes) = watched(HighWater::NEVER.entries(3, 1).bytes(100, 50));
    queue(&mut engine, 1, 100);
    assert_eq!(notes.try_iter().count(), 1, "bytes");
    (0..3).for_each(|_| queue(&mut engine, 2, 0));
    let _ = engine.extract(&MpiPattern::new(0, 1, 5));
    queue(&mut engine, 2, 0);
    assert_eq!(notes.try_iter().count(), 0, "entries were never left");
    engine.clear();
    (0..3).for_each(|_| queue(&mut engine, 2, 0));
    assert_eq!(notes.try_iter().count(), 1, "entries");
}

#[test]
fn a_mark_that_is_switched_off_holds_nothing_back() {
    let off = [
        HighWater::NEVER.bytes(1000, 500).entries(usize::MAX, 0),
        HighWater::NEVER.entries(10, 5).bytes(u64::MAX, 0),
    ];
    for marks in off {
        let (mut engine, notes) = watched(marks);
        for round in 0..5 {
            (0..10).for_each(|_| queue(&mut engine, 7, 100));
            assert_eq!(notes.try_iter().count(), 1, "{marks:?} in round {round}");
            while engine.used().entries > 1 {
                let taken = engine.extract(&of_seven()).expect("a context");
                assert!(taken.is_some());
            }
        }
    }
}

/// One of unknown length weighs as much as there can be: what it leaves behind is still counted.
#[test]
fn marks_hold_behind_weights_that_no_sum_has_room_for() {
    let weigh = |message: &Vec<u8>| match message.len() {
        0 => u64::MAX,
        bytes => bytes as u64,
    };
    let (note, notes) = channel();
    let marks = HighWater::NEVER.bytes(1000, 100);
    let options = EngineOptions::new()
        .budget(Budget::UNLIMITED.bytes(u64::MAX, weigh))
        .high_water(marks, move |used| {
            note.send(used.bytes).expect("the test listens");
        });
    let mut engine = engine(options);
    for bytes in [0, 900] {
        queue(&mut engine, 7, bytes);
    }
    assert_eq!(engine.used().bytes, u64::MAX);
    let take = |engine: &mut Engine<Queues>, left| {
        let taken = engine.extract(&of_seven()).expect("a context");
        assert!(taken.is_some());
        assert_eq!(engine.used().bytes, left);
    };
    take(&mut engine, 900);
    queue(&mut engine, 7, 500);
    let told: Vec<u64> = notes.try_iter().collect();
    assert_eq!(told, [u64::MAX], "it was never at the low mark");
    take(&mut engine, 500);
    take(&mut engine, 0);
    queue(&mut engine, 7, 1500);
    assert_eq!(notes.try_iter().collect::<Vec<_>>(), [1500]);
}

#[test]
fn marks_keep_their_order() {
    let marks = [
        HighWater::NEVER.entries(0, 5),
        HighWater::NEVER.entries(1, 1),
        HighWater::NEVER.entries(1, 0),
    ];
    assert!(marks.iter().all(|&m| m == marks[0]));
    let budget = Budget::UNLIMITED.entries(50).bytes(1_000, length);
    let expected = HighWater::NEVER.entries(40, 25).bytes(800, 500);
    assert_eq!(HighWater::share_of(&budget, 80, 50), expected);
    let all = HighWater::NEVER.entries(50, 49).bytes(1_000, 999);
    assert_eq!(HighWater::share_of(&budget, 200, 200), all);
    let unlimited = Budget::<()>::UNLIMITED;
    assert_eq!(HighWater::share_of(&unlimited, 80, 50), HighWater::NEVER);
}

#[test]
fn marks_count_without_a_budget() {
    let (note, notes) = channel();
    let marks = HighWater::NEVER.entries(2, 0);
    let mut engine = engine(EngineOptions::new().high_water(marks, move |used| {
        note.send(used.entries).expect("the test listens");
    }));
    (0..5).for_each(|_| queue(&mut engine, 7, 3));
    assert_eq!(notes.try_iter().collect::<Vec<_>>(), [2]);
    assert_eq!((engine.used().entries, engine.used().bytes), (5, 0));
}

#[test]
fn a_call_that_panics_loses_nothing() {
    let marks = HighWater::NEVER.entries(1, 0);
    let mut engine = engine(EngineOptions::new().high_water(marks, |_| panic!("as planned")));
    let arrival = catch_unwind(AssertUnwindSafe(|| {
        let _ = engine.arrive(MpiEnvelope::new(0, 7, 5), vec![1]);
    }));
    assert!(arrival.is_err());
    assert_eq!(engine.used().entries, 1);
    let _ = engine.arrive(MpiEnvelope::new(0, 7, 5), vec![2]);
    for byte in 1..=2 {
        let taken = engine.extract(&of_seven()).expect("valid");
        assert!(matches!(taken, Some((_, message)) if message == [byte]));
    }
    assert_eq!(engine.used(), Used::default());
}

#[test]
fn messages_that_came_past_the_budget_count_when_they_leave_and_never_below_none() {
    let mut engine = budgeted(Budget::UNLIMITED.entries(5).entries_per_source(5));
    let envelope = MpiEnvelope::new(0, 7, 5);
    let _ = engine.arrive(envelope, vec![]).expect("there is room");
    let queues = engine.queues_for_message(0, 7).expect("valid");
    let _ = queues.arrive(envelope, vec![]);
    assert_eq!((engine.used().entries, sources(&engine)), (1, 1));
    for _ in 0..2 {
        assert!(
            engine
                .extract(&of_seven())
                .is_ok_and(|taken| taken.is_some())
        );
        assert_eq!((engine.used().entries, sources(&engine)), (0, 0));
    }
}
