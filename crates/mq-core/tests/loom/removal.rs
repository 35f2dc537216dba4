//! Entries that are purged, cleared, cancelled or freed while others match them.

use loom::thread;
use mq_core::{Entry, Source};

use super::*;

/// Purges the entries that are wanted; how many there were.
fn purge(context: &Context, wanted: fn(Entry<'_, MpiPattern, &'static str, u32>) -> bool) -> usize {
    let mut back = 0;
    let purged = context.purge(&mut |entry| wanted(entry), &mut |_| back += 1);
    assert_eq!(purged, Ok(()));
    back
}

/// [GATE-OPEN]: a receive from any source is purged before a message takes it or after, and the gates that it kept
/// closed are right afterwards.
#[test]
fn a_wildcard_is_purged_or_matched() {
    let expected = [(0, Got::Receive("any")), (1, Got::Queued)];
    outcomes(&expected, || {
        let context = divided();
        post_any(&context);
        let other = context.clone();
        let purging =
            thread::spawn(move || purge(&other, |entry| matches!(entry, Entry::Posted(..))));
        let arrived = arrive(&context, 0, 1);
        let purged = purging.join().expect("no panic");
        // Whoever comes next meets gates that are neither open too early nor closed to what is posted now.
        assert_eq!(arrive(&context, 1, 2), Got::Queued);
        assert_eq!(post(&context, 1, "named"), Got::Message(2));
        let left = usize::from(arrived == Got::Queued);
        assert_eq!(lengths(&context), (0, left));
        if left == 0 {
            post_any(&context);
            assert_eq!(arrive(&context, 1, 3), Got::Receive("any"));
        }
        (purged, arrived)
    });
}

/// [ELDERS]: a message from before the division is purged or received; the shard is alone afterwards.
#[test]
fn an_elder_is_purged_or_received() {
    let expected = [(0, Got::Message(1)), (1, Got::Queued)];
    outcomes(&expected, || {
        let (_engine, context) = engine(Divide::Never);
        assert_eq!(arrive(&context, 0, 1), Got::Queued);
        assert_eq!(context.divide(), Ok(()));
        let other = context.clone();
        let purging =
            thread::spawn(move || purge(&other, |entry| matches!(entry, Entry::Unexpected(..))));
        let posted = post(&context, 0, "named");
        let purged = purging.join().expect("no panic");
        let expected = match posted {
            Got::Queued => Got::Receive("named"),
            _ => Got::Queued,
        };
        assert_eq!(arrive(&context, 0, 2), expected);
        (purged, posted)
    });
}

/// [ORDER]: a context is cleared between the operations of two others: a receive and its message are never left side
/// by side.
#[test]
fn a_clear_leaves_no_receive_beside_its_message() {
    loom::model(|| {
        let (engine, context) = engine(Divide::AtOnce);
        let other = context.clone();
        let posting = thread::spawn(move || post(&other, Source::Any, "any"));
        let clearing = thread::spawn(move || engine.clear());
        let arrived = arrive(&context, 0, 1);
        let posted = posting.join().expect("no panic");
        clearing.join().expect("no panic");
        let met = posted == Got::Message(1) || arrived == Got::Receive("any");
        match lengths(&context) {
            (0, 0) => {}
            (1, 0) => assert!(!met && posted == Got::Queued),
            (0, 1) => assert!(!met && arrived == Got::Queued),
            both => panic!("{both:?} are queued"),
        }
    });
}

/// [NUMBER]: a receive is purged or cancelled, and comes back once.
#[test]
fn a_wildcard_is_purged_or_cancelled() {
    let expected = [(0, Some("any")), (1, None)];
    outcomes(&expected, || {
        let context = divided();
        let handle = post_any(&context);
        let other = context.clone();
        let purging = thread::spawn(move || purge(&other, |_| true));
        let cancelled = context.cancel(handle);
        let purged = purging.join().expect("no panic");
        assert_eq!(arrive(&context, 0, 1), Got::Queued);
        (purged, cancelled)
    });
}

/// [STAND]: the handle of a receive is stale when its context has been freed and made again, whoever has posted there
/// since.
#[test]
fn an_old_handle_cancels_nothing_in_a_new_life() {
    let expected = [(0, Some("any")), (1, None)];
    outcomes(&expected, || {
        let (engine, context) = engine(Divide::Never);
        let handle = post_any(&context);
        let engine = Arc::new(engine);
        let other = Arc::clone(&engine);
        let cancelling = thread::spawn(move || other.cancel(handle));
        let back = free(&engine, CONTEXT);
        let next = engine.create_context(CONTEXT, ContextOptions::new());
        let next = next.expect("it was freed");
        post_any(&next);
        let cancelled = cancelling.join().expect("no panic");
        assert_eq!(lengths(&next), (1, 0), "the new receive stays");
        (back, cancelled)
    });
}
