//! A budget that threads share.

use loom::thread;
use mq_core::{Budget, Error, HighWater};

use super::*;

/// [ORDER]: two messages and a receive, with room for one unexpected message: what is queued has room, what
/// is refused comes back, and the mark is reported whenever it is reached.
#[test]
fn the_budget_is_exact_and_its_mark_is_reported() {
    let seen = Arc::new(Mutex::new(std::collections::BTreeSet::new()));
    let of_model = Arc::clone(&seen);
    loom::model(move || {
        let budget = Budget::UNLIMITED.entries(1);
        let calls = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&calls);
        let options = EngineOptions::new().budget(budget).high_water(
            HighWater::NEVER.entries(1, 0),
            move |used| {
                assert_eq!(used.entries, 1);
                *counted.lock().expect("no panic") += 1;
            },
        );
        let sharding = Sharding::new().shards(2).divide(Divide::AtOnce);
        let engine: SharedEngine<Queues> = SharedEngine::with_options(options, sharding);
        let context = engine.create_context(CONTEXT, ContextOptions::new());
        let context = context.expect("it is the first");
        let other = context.clone();
        // `Unknown`: it came back.
        let second = thread::spawn(move || arrive(&other, 1, 2));
        let first = arrive(&context, 0, 1);
        let received = post(&context, 0, "named");
        let second = second.join().expect("no panic");
        let left = engine.unexpected_len();
        assert_eq!(engine.used().entries, left);
        assert!(left <= 1);
        let calls = *calls.lock().expect("no panic");
        let queued = [first, second]
            .iter()
            .filter(|got| **got == Got::Queued)
            .count();
        assert!(
            (1..=queued).contains(&calls),
            "{calls} calls, {queued} queued"
        );
        of_model
            .lock()
            .expect("no panic")
            .insert((first, received, second));
    });
    let seen: Vec<_> = seen.lock().expect("no panic").iter().copied().collect();
    let expected = [
        (Got::Queued, Got::Message(1), Got::Queued),
        (Got::Queued, Got::Message(1), Got::Unknown),
        (Got::Unknown, Got::Queued, Got::Queued),
    ];
    assert_eq!(seen, expected);
}

/// [ORDER]: what a purge takes out of one context makes room in others at one moment.
#[test]
fn a_purge_makes_room_for_all_that_it_takes_at_once() {
    let expected = [
        (Got::Queued, Got::Queued),
        (Got::Unknown, Got::Queued),
        (Got::Unknown, Got::Unknown),
    ];
    outcomes(&expected, || {
        let options = EngineOptions::new().budget(Budget::UNLIMITED.entries(2));
        let sharding = Sharding::new().divide(Divide::Never);
        let engine: SharedEngine<Queues> = SharedEngine::with_options(options, sharding);
        let [full, other] = [0, 1].map(|context| {
            let made = engine.create_context(context, ContextOptions::new());
            made.expect("it is new")
        });
        assert_eq!(arrive(&full, 0, 1), Got::Queued);
        assert_eq!(arrive(&full, 0, 2), Got::Queued);
        let purging = thread::spawn(move || full.purge(&mut |_| true, &mut |_| {}));
        let arrive = |message| match other.arrive(MpiEnvelope::new(1, 0, TAG), message) {
            Ok(_) => Got::Queued,
            Err(refused) => {
                assert_eq!(refused.error, Error::EntryBudget { limit: 2 });
                Got::Unknown
            }
        };
        let arrived = (arrive(3), arrive(4));
        assert_eq!(purging.join().expect("no panic"), Ok(()));
        arrived
    });
}

/// [ORDER]: a high-water call takes all locks of the context, since it is made while the arrival that reached the mark
/// holds none; another thread does the same meanwhile.
#[test]
fn a_high_water_call_takes_what_has_come() {
    let expected = [
        (Got::Queued, Got::Message(1), None),
        (Got::Queued, Got::Queued, Some(1)),
        (Got::Receive("any"), Got::Queued, None),
    ];
    outcomes(&expected, || {
        let (at, taken) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None)));
        let (its_context, its_taken) = (Arc::clone(&at), Arc::clone(&taken));
        let budget = Budget::UNLIMITED.entries(2);
        let options = EngineOptions::new().budget(budget).high_water(
            HighWater::NEVER.entries(1, 0),
            move |_| {
                let context: Option<Context> = its_context.lock().expect("no panic").clone();
                let context = context.expect("it was made before any message came");
                let any = MpiPattern::new(CONTEXT, Source::Any, TAG);
                let extracted = context.extract(&any).expect("it exists");
                *its_taken.lock().expect("no panic") = extracted.map(|(_, message)| message);
            },
        );
        let sharding = Sharding::new().shards(2).divide(Divide::AtOnce);
        let engine: SharedEngine<Queues> = SharedEngine::with_options(options, sharding);
        let context = engine.create_context(CONTEXT, ContextOptions::new());
        let context = context.expect("it is the first");
        *at.lock().expect("no panic") = Some(context.clone());
        let other = context.clone();
        let posting = thread::spawn(move || post(&other, Source::Any, "any"));
        let arrived = arrive(&context, 0, 1);
        let posted = posting.join().expect("no panic");
        // The call keeps the engine, and the engine the call.
        at.lock().expect("no panic").take();
        let taken = *taken.lock().expect("no panic");
        (arrived, posted, taken)
    });
}
