//! Contexts that are divided, and whose promises change, while others use them.

use loom::thread;
use mq_core::{Error, Source};

use super::*;

/// [MODE], [ELDERS]: the context is divided between the operations of another thread; what was
/// queued before is still found, and in order.
#[test]
fn dividing_a_context_moves_nothing_out_of_reach() {
    loom::model(|| {
        let (_engine, context) = engine(Divide::Never);
        assert_eq!(arrive(&context, 0, 1), Got::Queued);
        assert_eq!(post(&context, 1, "named"), Got::Queued);
        let other = context.clone();
        let working = thread::spawn(move || {
            let second = arrive(&other, 0, 2);
            let first = post(&other, 0, "first");
            (second, first, arrive(&other, 1, 3))
        });
        assert_eq!(context.divide(), Ok(()));
        assert_eq!(context.shards(), Ok(Some(2)));
        let worked = working.join().expect("no panic");
        let expected = (Got::Queued, Got::Message(1), Got::Receive("named"));
        assert_eq!(worked, expected);
        assert_eq!(post(&context, 0, "second"), Got::Message(2));
        assert_eq!(lengths(&context), (0, 0));
    });
}

/// [MODE]: two threads divide a context, and a third works in it.
#[test]
fn a_context_is_divided_once() {
    loom::model(|| {
        let (_engine, context) = engine(Divide::Never);
        let (other, third) = (context.clone(), context.clone());
        let dividing = thread::spawn(move || other.divide());
        let working = thread::spawn(move || arrive(&third, 0, 1));
        assert_eq!(context.divide(), Ok(()));
        assert_eq!(dividing.join().expect("no panic"), Ok(()));
        assert_eq!(working.join().expect("no panic"), Got::Queued);
        assert_eq!(post(&context, Source::Any, "any"), Got::Message(1));
    });
}

/// [STAND]: promises are withdrawn before a message arrives or after; receives from any source, allowed
/// from then on, find the message where they look for it.
#[test]
fn promises_are_taken_back_before_an_operation_or_after() {
    let expected = [false, true];
    outcomes(&expected, || {
        let (engine, context) = engine(Divide::AtOnce);
        let promises = ContextOptions::new().no_any_source().no_any_tag();
        // Divided again, by what the promises allow.
        engine
            .free_context(CONTEXT, &mut |_| ())
            .expect("it exists");
        drop(context);
        let context = engine
            .create_context(CONTEXT, promises)
            .expect("it was freed");
        let other = context.clone();
        let updating = thread::spawn(move || other.update(ContextOptions::new()));
        let arrived = arrive(&context, 0, 1);
        let updated = updating.join().expect("no panic");
        assert_eq!(arrived, Got::Queued);
        match updated {
            Ok(()) => {
                // Where it is now, which a receive from any source would find wherever it is.
                assert_eq!(post(&context, 0, "named"), Got::Message(1));
                assert_eq!(arrive(&context, 0, 2), Got::Queued);
                assert_eq!(post(&context, Source::Any, "any"), Got::Message(2));
            }
            Err(error) => {
                assert_eq!(error, Error::PromisesInUse(CONTEXT.into()));
                assert_eq!(post(&context, 0, "named"), Got::Message(1));
            }
        }
        assert_eq!(lengths(&context), (0, 0));
        updated.is_ok()
    });
}

/// [STAND]: a context is made smaller before a message of a rank that it loses arrives, or not at all.
#[test]
fn a_rank_is_taken_away_before_its_message_or_stays() {
    for divide in [Divide::AtOnce, Divide::Never] {
        let expected = [(false, Got::Queued, (0, 1)), (true, Got::Unknown, (0, 0))];
        outcomes(&expected, move || {
            let (_engine, context) = engine(divide);
            let other = context.clone();
            let updating = thread::spawn(move || other.update(ContextOptions::new().size(1)));
            let arrived = arrive(&context, 1, 1);
            let updated = updating.join().expect("no panic");
            if let Err(error) = updated {
                assert!(matches!(error, Error::RankOutOfRange { size: 1, .. }));
            }
            (updated.is_ok(), arrived, lengths(&context))
        });
    }
}

/// [STAND], [ELDERS], [GATE-CLOSE]: promises are withdrawn, by which the shards are chosen differently, while there are
/// a message and a receive from before the division: both are found before and after.
#[test]
fn what_was_before_the_division_is_found_when_promises_are_taken_back() {
    loom::model(|| {
        let sharding = Sharding::new().shards(2).divide(Divide::Never);
        let engine: SharedEngine<Queues> =
            SharedEngine::with_options(EngineOptions::new(), sharding);
        let promises = ContextOptions::new().no_any_source().no_any_tag();
        let context = engine.create_context(CONTEXT, promises);
        let context = context.expect("it is the first");
        assert_eq!(arrive(&context, 0, 1), Got::Queued);
        assert_eq!(post(&context, 1, "early"), Got::Queued);
        assert_eq!(context.divide(), Ok(()));
        let (other, third) = (context.clone(), context.clone());
        let updating = thread::spawn(move || other.update(ContextOptions::new()));
        let arriving = thread::spawn(move || arrive(&third, 1, 2));
        assert_eq!(post(&context, 0, "named"), Got::Message(1));
        assert_eq!(arriving.join().expect("no panic"), Got::Receive("early"));
        assert_eq!(updating.join().expect("no panic"), Ok(()));
        assert_eq!(post(&context, Source::Any, "any"), Got::Queued);
        assert_eq!(arrive(&context, 0, 3), Got::Receive("any"));
        assert_eq!(lengths(&context), (0, 0));
    });
}
