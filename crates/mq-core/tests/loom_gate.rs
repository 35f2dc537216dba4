//! Models of a divided context: every interleaving of two or three threads at one race each, on the
//! engine's own code. The names in brackets are those of `docs/memory-model.md`; `ci/loom.sh` runs
//! these.
#![cfg(mq_loom)]

use std::sync::{Arc, Mutex};

use loom::thread;
use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::{Divide, Sharding, SharedContext, SharedEngine};
use mq_core::structures::List;
use mq_core::{Arrive, Budget, ContextOptions, EngineOptions, Error, HighWater, Post, Source};

type Queues = List<MpiPattern, &'static str, u32>;
type Context = SharedContext<Queues>;

const CONTEXT: u32 = 0;
const TAG: i32 = 7;

/// An engine of one context over two shards. Sender 0 and sender 1 are in different ones.
fn engine(divide: Divide) -> (SharedEngine<Queues>, Context) {
    let sharding = Sharding::new().shards(2).divide(divide);
    let engine = SharedEngine::with_options(EngineOptions::new(), sharding);
    let context = engine.create_context(CONTEXT, ContextOptions::new());
    let context = context.expect("it is the first");
    (engine, context)
}

fn divided() -> Context {
    let (_, context) = engine(Divide::AtOnce);
    assert_eq!(context.shards(), Ok(Some(2)));
    context
}

/// What a thread's operation gave: the receive that a message got, or the message of a receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Got {
    Receive(&'static str),
    Message(u32),
    Queued,
    Unknown,
}

fn post(context: &Context, source: impl Into<Source>, receive: &'static str) -> Got {
    match context.post(MpiPattern::new(CONTEXT, source, TAG), receive) {
        Ok(Post::Matched { message, .. }) => Got::Message(message),
        Ok(Post::Queued(_)) => Got::Queued,
        Err(refused) => {
            assert_eq!(refused.payload, receive);
            Got::Unknown
        }
    }
}

fn arrive(context: &Context, source: u32, message: u32) -> Got {
    match context.arrive(MpiEnvelope::new(CONTEXT, source, TAG), message) {
        Ok(Arrive::Matched { receive, .. }) => Got::Receive(receive),
        Ok(Arrive::Unexpected) => Got::Queued,
        Err(refused) => {
            assert_eq!(refused.payload, message);
            Got::Unknown
        }
    }
}

fn lengths(context: &Context) -> (usize, usize) {
    let posted = context.posted_len().expect("it exists");
    (posted, context.unexpected_len().expect("it exists"))
}

/// Tries everything, up to the preemptions that `LOOM_MAX_PREEMPTIONS` allows; exactly the expected
/// outcomes must occur.
fn outcomes<T: Ord + Clone + Send + std::fmt::Debug + 'static>(
    expected: &[T],
    model: impl Fn() -> T + Send + Sync + 'static,
) {
    let seen = Arc::new(Mutex::new(std::collections::BTreeSet::new()));
    let of_model = Arc::clone(&seen);
    loom::model(move || {
        let outcome = model();
        of_model.lock().expect("no panic").insert(outcome);
    });
    let seen: Vec<T> = seen.lock().expect("no panic").iter().cloned().collect();
    assert_eq!(seen, expected);
}

impl PartialOrd for Got {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Got {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        format!("{self:?}").cmp(&format!("{other:?}"))
    }
}

/// [GATE-CLOSE]: a message and a receive from any source, at the same time, find each other.
#[test]
fn a_message_and_a_wildcard_never_miss_each_other() {
    let expected = [
        (Got::Message(1), Got::Queued),
        (Got::Queued, Got::Receive("any")),
    ];
    outcomes(&expected, || {
        let context = divided();
        let other = context.clone();
        let posting = thread::spawn(move || post(&other, Source::Any, "any"));
        let arrived = arrive(&context, 0, 1);
        let posted = posting.join().expect("no panic");
        assert_eq!(lengths(&context), (0, 0));
        (posted, arrived)
    });
}

/// [GATE-CLOSE]: messages of two shards and one wildcard: one of them gets it.
#[test]
fn messages_of_two_senders_do_not_share_a_wildcard() {
    let expected = [
        (Got::Message(1), Got::Queued, Got::Queued),
        (Got::Message(2), Got::Queued, Got::Queued),
        (Got::Queued, Got::Queued, Got::Receive("any")),
        (Got::Queued, Got::Receive("any"), Got::Queued),
    ];
    outcomes(&expected, || {
        let context = divided();
        let (first, second) = (context.clone(), context.clone());
        let first = thread::spawn(move || arrive(&first, 0, 1));
        let second = thread::spawn(move || arrive(&second, 1, 2));
        let posted = post(&context, Source::Any, "any");
        let first = first.join().expect("no panic");
        let second = second.join().expect("no panic");
        assert_eq!(lengths(&context), (0, 1));
        (posted, first, second)
    });
}

/// [NUMBER]: one thread posts a named receive and then one from any source; the message takes the
/// named one if both are there.
#[test]
fn a_named_receive_that_was_posted_first_is_taken_first() {
    let expected = [
        (Got::Message(1), Got::Queued, Got::Queued),
        (Got::Queued, Got::Queued, Got::Receive("named")),
    ];
    outcomes(&expected, || {
        let context = divided();
        // The gate is closed by a receive that matches nothing, and the shard's numbers are ahead.
        let standing = MpiPattern::new(CONTEXT, Source::Any, TAG + 1);
        assert!(matches!(
            context.post(standing, "other"),
            Ok(Post::Queued(_))
        ));
        for message in [8, 9] {
            assert_eq!(post(&context, 0, "before"), Got::Queued);
            assert_eq!(arrive(&context, 0, message), Got::Receive("before"));
        }
        let other = context.clone();
        let posting = thread::spawn(move || {
            let named = post(&other, 0, "named");
            (named, post(&other, Source::Any, "any"))
        });
        let arrived = arrive(&context, 0, 1);
        let (named, any) = posting.join().expect("no panic");
        assert_eq!(lengths(&context), (2, 0));
        (named, any, arrived)
    });
}

/// [NUMBER]: the other way round.
#[test]
fn a_wildcard_that_was_posted_first_is_taken_first() {
    let expected = [
        (Got::Message(1), Got::Queued, Got::Queued),
        (Got::Queued, Got::Queued, Got::Receive("any")),
    ];
    outcomes(&expected, || {
        let context = divided();
        // The numbers of the undivided queues are ahead.
        assert_eq!(post(&context, Source::Any, "before"), Got::Queued);
        assert_eq!(arrive(&context, 1, 9), Got::Receive("before"));
        let other = context.clone();
        let posting = thread::spawn(move || {
            let any = post(&other, Source::Any, "any");
            (any, post(&other, 0, "named"))
        });
        let arrived = arrive(&context, 0, 1);
        let (any, named) = posting.join().expect("no panic");
        assert_eq!(lengths(&context), (1, 0));
        (any, named, arrived)
    });
}

/// [NUMBER]: posted by different threads, in whatever order; of two messages of one sender each then takes
/// one, the second what the first left.
#[test]
fn two_messages_take_a_wildcard_and_a_named_receive() {
    loom::model(|| {
        let context = divided();
        let other = context.clone();
        let posting = thread::spawn(move || post(&other, Source::Any, "any"));
        let named = post(&context, 0, "named");
        let any = posting.join().expect("no panic");
        assert_eq!((named, any), (Got::Queued, Got::Queued));
        let both = [arrive(&context, 0, 1), arrive(&context, 0, 2)];
        assert!(both.contains(&Got::Receive("named")), "{both:?}");
        assert!(both.contains(&Got::Receive("any")), "{both:?}");
    });
}

/// [GATE-OPEN]: two messages of different shards at a closed gate, with one wildcard behind it.
#[test]
fn a_gate_that_opens_loses_no_message() {
    let expected = [
        (Got::Queued, Got::Receive("any")),
        (Got::Receive("any"), Got::Queued),
    ];
    outcomes(&expected, || {
        let context = divided();
        assert_eq!(post(&context, Source::Any, "any"), Got::Queued);
        let other = context.clone();
        let second = thread::spawn(move || arrive(&other, 1, 2));
        let first = arrive(&context, 0, 1);
        let second = second.join().expect("no panic");
        assert_eq!(lengths(&context), (0, 1));
        (first, second)
    });
}

/// [GATE-OPEN]: the gate opens for one message while another wildcard is posted.
#[test]
fn a_gate_that_opens_and_closes_at_once_is_closed() {
    loom::model(|| {
        let context = divided();
        assert_eq!(post(&context, Source::Any, "first"), Got::Queued);
        let other = context.clone();
        let posting = thread::spawn(move || post(&other, Source::Any, "second"));
        assert_eq!(arrive(&context, 0, 1), Got::Receive("first"));
        assert_eq!(posting.join().expect("no panic"), Got::Queued);
        assert_eq!(arrive(&context, 0, 2), Got::Receive("second"));
        assert_eq!(arrive(&context, 1, 3), Got::Queued);
    });
}

/// [GATE-OPEN]: a wildcard is cancelled or matched, never both and never neither.
#[test]
fn a_wildcard_is_cancelled_or_matched() {
    let expected = [(None, Got::Receive("any")), (Some("any"), Got::Queued)];
    outcomes(&expected, || {
        let context = divided();
        let pattern = MpiPattern::new(CONTEXT, Source::Any, TAG);
        let Ok(Post::Queued(handle)) = context.post(pattern, "any") else {
            panic!("nothing has arrived");
        };
        let other = context.clone();
        let cancelling = thread::spawn(move || other.cancel(handle));
        let arrived = arrive(&context, 0, 1);
        (cancelling.join().expect("no panic"), arrived)
    });
}

/// [GATE-OPEN], [MODE]: the same for receives from before the division, while their context is divided. Those
/// from any source are counted apart; afterwards the gates know that they have left.
#[test]
fn a_receive_from_before_the_division_is_cancelled_or_matched() {
    for source in [Source::Any, Source::from(0)] {
        let expected = [(None, Got::Receive("it")), (Some("it"), Got::Queued)];
        outcomes(&expected, move || {
            let (_engine, context) = engine(Divide::Never);
            let pattern = MpiPattern::new(CONTEXT, source, TAG);
            let Ok(Post::Queued(handle)) = context.post(pattern, "it") else {
                panic!("nothing has arrived");
            };
            let (other, third) = (context.clone(), context.clone());
            let cancelling = thread::spawn(move || other.cancel(handle));
            let dividing = thread::spawn(move || third.divide());
            let arrived = arrive(&context, 0, 1);
            let cancelled = cancelling.join().expect("no panic");
            assert_eq!(dividing.join().expect("no panic"), Ok(()));
            assert_eq!(arrive(&context, 1, 2), Got::Queued);
            let left = 1 + usize::from(arrived == Got::Queued);
            assert_eq!(lengths(&context), (0, left));
            (cancelled, arrived)
        });
    }
}

/// [ELDERS]: messages from before the division, a receive that names their sender and one from any source:
/// each takes one, and what arrives meanwhile comes after them.
#[test]
fn two_receives_take_the_messages_from_before_the_division_in_order() {
    let expected = [
        (Got::Message(1), Got::Message(2)),
        (Got::Message(2), Got::Message(1)),
    ];
    outcomes(&expected, || {
        let (_engine, context) = engine(Divide::Never);
        assert_eq!(arrive(&context, 0, 1), Got::Queued);
        assert_eq!(arrive(&context, 0, 2), Got::Queued);
        assert_eq!(context.divide(), Ok(()));
        let other = context.clone();
        let third = context.clone();
        let any = thread::spawn(move || post(&other, Source::Any, "any"));
        let named = thread::spawn(move || post(&third, 0, "named"));
        assert_eq!(arrive(&context, 0, 3), Got::Queued);
        let both = (
            any.join().expect("no panic"),
            named.join().expect("no panic"),
        );
        assert_eq!(post(&context, 0, "last"), Got::Message(3));
        assert_eq!(lengths(&context), (0, 0));
        both
    });
}

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

/// [STAND]: a message that arrives while its context is freed is handed back by one of the two.
#[test]
fn a_context_is_freed_before_an_operation_or_after() {
    let expected = [(0, Got::Unknown), (1, Got::Queued)];
    for divide in [Divide::AtOnce, Divide::Never] {
        outcomes(&expected, move || {
            let (engine, context) = engine(divide);
            let arriving = thread::spawn(move || arrive(&context, 0, 1));
            let mut back = 0;
            let freed = engine.free_context(CONTEXT, &mut |_| back += 1);
            assert_eq!(freed, Ok(()));
            (back, arriving.join().expect("no panic"))
        });
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

/// [STAND]: a message by number, while a divided context is freed and an undivided one is made, is of one
/// of the two or of none.
#[test]
fn a_message_is_of_one_life_or_of_none() {
    let expected = [(0, Got::Queued), (0, Got::Unknown), (1, Got::Queued)];
    outcomes(&expected, || {
        let (engine, context) = engine(Divide::Never);
        assert_eq!(context.divide(), Ok(()));
        let engine = Arc::new(engine);
        let other = Arc::clone(&engine);
        let arriving =
            thread::spawn(
                move || match other.arrive(MpiEnvelope::new(CONTEXT, 1, TAG), 1) {
                    Ok(Arrive::Unexpected) => Got::Queued,
                    Ok(Arrive::Matched { .. }) => unreachable!("nothing is posted"),
                    Err(_) => Got::Unknown,
                },
            );
        let mut back = 0;
        let freed = engine.free_context(CONTEXT, &mut |_| back += 1);
        assert_eq!(freed, Ok(()));
        let next = engine.create_context(CONTEXT, ContextOptions::new());
        let next = next.expect("it was freed");
        let arrived = arriving.join().expect("no panic");
        if (back, arrived) == (0, Got::Queued) {
            assert_eq!(post(&next, 1, "named"), Got::Message(1));
        }
        (back, arrived)
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
            Ok(()) => assert_eq!(post(&context, Source::Any, "any"), Got::Message(1)),
            Err(error) => {
                assert_eq!(error, Error::PromisesInUse(CONTEXT.into()));
                assert_eq!(post(&context, 0, "named"), Got::Message(1));
            }
        }
        assert_eq!(lengths(&context), (0, 0));
        updated.is_ok()
    });
}
