//! Contexts that are made and freed while others use them.

use loom::thread;
use mq_core::{Error, Source};

use super::*;

/// [STAND]: a message that arrives while its context is freed is handed back by one of the two, or has taken the
/// receive that closes its gate.
#[test]
fn a_context_is_freed_before_an_operation_or_after() {
    for divide in [Divide::AtOnce, Divide::Never] {
        for is_posted in [false, true] {
            let matched = if is_posted {
                (0, Got::Receive("any"))
            } else {
                (1, Got::Queued)
            };
            let unknown = (usize::from(is_posted), Got::Unknown);
            let mut expected = [matched, unknown];
            expected.sort();
            outcomes(&expected, move || {
                let (engine, context) = engine(divide);
                if is_posted {
                    post_any(&context);
                }
                let arriving = thread::spawn(move || arrive(&context, 0, 1));
                let back = free(&engine, CONTEXT);
                (back, arriving.join().expect("no panic"))
            });
        }
    }
}

/// [STAND]: a message through an old handle, while its context is freed and another is made, never
/// reaches the new one.
#[test]
fn a_new_life_sees_nothing_of_the_old() {
    loom::model(|| {
        let (engine, context) = engine(Divide::Never);
        let arriving = thread::spawn(move || arrive(&context, 0, 1));
        let freed = engine.free_context(CONTEXT, &mut |_| {});
        assert_eq!(freed, Ok(()));
        let next = engine.create_context(CONTEXT, ContextOptions::new());
        let next = next.expect("it was freed");
        let _ = arriving.join().expect("no panic");
        assert_eq!(lengths(&next), (0, 0));
    });
}

/// The first message of sender 1 arrives through the engine, which looks the context up.
fn arrive_by_number(engine: &SharedEngine<Queues>, context: u32) -> Got {
    match engine.arrive(MpiEnvelope::new(context, 1, TAG), 1) {
        Ok(Arrive::Unexpected) => Got::Queued,
        Ok(Arrive::Matched { receive, .. }) => Got::Receive(receive),
        Err(refused) => {
            assert_eq!(refused.payload, 1);
            assert_eq!(refused.error, Error::UnknownContext(context.into()));
            Got::Unknown
        }
    }
}

/// [STAND], [DIRECTORY], [ORDER]: a message by number, while a context is freed and another is made, is of one of the
/// two or of none: where the first is divided, and where neither has a cell of its own in the directory.
#[test]
fn a_message_is_of_one_life_or_of_none() {
    const RARE: u32 = 2;
    let expected = [(0, Got::Queued), (0, Got::Unknown), (1, Got::Queued)];
    for id in [CONTEXT, RARE] {
        outcomes(&expected, move || {
            let (engine, context) = engine(Divide::Never);
            if id == CONTEXT {
                assert_eq!(context.divide(), Ok(()));
            } else {
                let made = engine.create_context(id, ContextOptions::new());
                drop(made.expect("it is new"));
            }
            let engine = Arc::new(engine);
            let other = Arc::clone(&engine);
            let arriving = thread::spawn(move || arrive_by_number(&other, id));
            let back = free(&engine, id);
            let next = engine.create_context(id, ContextOptions::new());
            let next = next.expect("it was freed");
            let arrived = arriving.join().expect("no panic");
            let left = usize::from((back, arrived) == (0, Got::Queued));
            assert_eq!(lengths(&next), (0, left));
            (back, arrived)
        });
    }
}

/// [STAND], [GATE-CLOSE]: the same where both lives are divided: in the second it may meet a receive from any source,
/// before that is posted or after.
#[test]
fn a_message_meets_what_is_posted_in_its_own_life() {
    let expected = [
        (0, Got::Queued, Got::Message(1)),
        (0, Got::Receive("any"), Got::Queued),
        (0, Got::Unknown, Got::Queued),
        (1, Got::Queued, Got::Queued),
    ];
    outcomes(&expected, || {
        let (engine, context) = engine(Divide::AtOnce);
        drop(context);
        let engine = Arc::new(engine);
        let other = Arc::clone(&engine);
        let arriving = thread::spawn(move || arrive_by_number(&other, CONTEXT));
        let back = free(&engine, CONTEXT);
        let next = engine.create_context(CONTEXT, ContextOptions::new());
        let next = next.expect("it was freed");
        let posted = post(&next, Source::Any, "any");
        let arrived = arriving.join().expect("no panic");
        let met = posted == Got::Message(1) || arrived == Got::Receive("any");
        assert_eq!(lengths(&next), (usize::from(!met), 0));
        (back, arrived, posted)
    });
}

/// [DIRECTORY]: a context that another thread is making is found whole or not at all.
#[test]
fn a_context_is_found_whole_or_not_at_all() {
    let expected = [
        (Some(Error::UnknownContext(mq_core::ContextId(1))), 0),
        (None, 1),
    ];
    let seen = Arc::new(Mutex::new(Vec::new()));
    let of_model = Arc::clone(&seen);
    loom::model(move || {
        let sharding = Sharding::new().shards(2).divide(Divide::Never);
        let engine: Arc<SharedEngine<Queues>> =
            Arc::new(SharedEngine::with_options(EngineOptions::new(), sharding));
        let other = Arc::clone(&engine);
        // loom remembers one access of each atomic, so the writer, which reads first, goes first.
        let arriving = thread::spawn(move || other.arrive(MpiEnvelope::new(1, 0, TAG), 1));
        let made = engine.create_context(1, ContextOptions::new());
        assert!(made.is_ok());
        let arrival = arriving.join().expect("no panic");
        let outcome = (arrival.err().map(|r| r.error), engine.unexpected_len());
        let mut seen = of_model.lock().expect("no panic");
        if !seen.contains(&outcome) {
            seen.push(outcome);
        }
    });
    let seen = seen.lock().expect("no panic");
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(expected.iter().all(|outcome| seen.contains(outcome)));
}
