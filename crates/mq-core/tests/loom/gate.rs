//! Messages and receives at the gates between shards and undivided queues.

use loom::thread;
use mq_core::Source;
use mq_core::shared::Divide;

use super::*;

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
