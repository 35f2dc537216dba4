//! Entries that are purged, cleared, cancelled or freed while others match them.

use loom::thread;
use mq_core::{Handle, Source};

use super::*;

fn purge(context: &Context) -> usize {
    let mut back = 0;
    let purged = context.purge(&mut |_| true, &mut |_| back += 1);
    assert_eq!(purged, Ok(()));
    back
}

fn post_any(context: &Context) -> Handle {
    match context.post(MpiPattern::new(CONTEXT, Source::Any, TAG), "any") {
        Ok(Post::Queued(handle)) => handle,
        other => panic!("nothing has come: {other:?}"),
    }
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
        let purging = thread::spawn(move || {
            let mut back = 0;
            let is_receive = &mut |entry: mq_core::Entry<'_, MpiPattern, &'static str, u32>| {
                matches!(entry, mq_core::Entry::Posted(..))
            };
            let purged = other.purge(is_receive, &mut |_| back += 1);
            assert_eq!(purged, Ok(()));
            back
        });
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
        let purging = thread::spawn(move || {
            let mut back = 0;
            let is_message = &mut |entry: mq_core::Entry<'_, MpiPattern, &'static str, u32>| {
                matches!(entry, mq_core::Entry::Unexpected(..))
            };
            let purged = other.purge(is_message, &mut |_| back += 1);
            assert_eq!(purged, Ok(()));
            back
        });
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

/// [STAND]: with a receive from any source queued, a context is freed before a message arrives or after.
#[test]
fn a_context_with_a_closed_gate_is_freed_before_a_message_or_after() {
    let expected = [(0, Got::Receive("any")), (1, Got::Unknown)];
    outcomes(&expected, || {
        let (engine, context) = engine(Divide::AtOnce);
        post_any(&context);
        let arriving = thread::spawn(move || arrive(&context, 0, 1));
        let mut back = 0;
        let freed = engine.free_context(CONTEXT, &mut |_| back += 1);
        assert_eq!(freed, Ok(()));
        (back, arriving.join().expect("no panic"))
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
        let purging = thread::spawn(move || purge(&other));
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
        let mut back = 0;
        let freed = engine.free_context(CONTEXT, &mut |_| back += 1);
        assert_eq!(freed, Ok(()));
        let next = engine.create_context(CONTEXT, ContextOptions::new());
        let next = next.expect("it was freed");
        post_any(&next);
        let cancelled = cancelling.join().expect("no panic");
        assert_eq!(lengths(&next), (1, 0), "the new receive stays");
        (back, cancelled)
    });
}

/// [DIRECTORY]: a context that has no cell of its own in the directory is freed and made again: a message by number is
/// of one life or of none.
#[test]
fn a_message_is_of_one_life_of_a_rare_context_or_of_none() {
    const RARE: u32 = 2;
    let expected = [(0, Got::Queued), (0, Got::Unknown), (1, Got::Queued)];
    outcomes(&expected, || {
        let (engine, _) = engine(Divide::Never);
        let made = engine.create_context(RARE, ContextOptions::new());
        drop(made.expect("it is new"));
        let engine = Arc::new(engine);
        let other = Arc::clone(&engine);
        let arriving =
            thread::spawn(
                move || match other.arrive(MpiEnvelope::new(RARE, 1, TAG), 1) {
                    Ok(Arrive::Unexpected) => Got::Queued,
                    Ok(Arrive::Matched { .. }) => unreachable!("nothing is posted"),
                    Err(_) => Got::Unknown,
                },
            );
        let mut back = 0;
        assert_eq!(engine.free_context(RARE, &mut |_| back += 1), Ok(()));
        let next = engine.create_context(RARE, ContextOptions::new());
        let next = next.expect("it was freed");
        let arrived = arriving.join().expect("no panic");
        let left = next.unexpected_len().expect("it exists");
        assert_eq!(left, usize::from((back, arrived) == (0, Got::Queued)));
        (back, arrived)
    });
}
