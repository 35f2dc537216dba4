//! Probes, which show what stays: from the shard and from before the division, beside threads that take it.

use loom::thread;

use super::*;

/// What a probe shows.
fn probe(context: &Context, source: impl Into<Source>) -> Option<u32> {
    let pattern = MpiPattern::new(CONTEXT, source, TAG);
    let seen = context.probe_with(&pattern, |_, message| *message);
    seen.expect("the context exists")
}

fn extract_any(context: &Context) -> Option<u32> {
    let taken = context.extract(&MpiPattern::new(CONTEXT, Source::Any, TAG));
    taken
        .expect("the context exists")
        .map(|(_, message)| message)
}

/// [ELDERS], [ORDER]: a probe of one sender holds its shard and then the undivided queues, where the elder is that
/// another thread takes with all locks. It shows what is the earliest before that or after.
#[test]
fn a_probe_shows_the_elder_or_what_came_next() {
    outcomes(&[Some(1), Some(2)], || {
        let (_engine, context) = engine(Divide::Never);
        assert_eq!(arrive(&context, 0, 1), Got::Queued);
        assert_eq!(context.divide(), Ok(()));
        assert_eq!(arrive(&context, 0, 2), Got::Queued);
        let other = context.clone();
        let taking = thread::spawn(move || extract_any(&other));
        let seen = probe(&context, 0);
        assert_eq!(taking.join().expect("no panic"), Some(1));
        assert_eq!(post(&context, 0, "next"), Got::Message(2));
        seen
    });
}

/// [NUMBER]: what a probe for any source has shown is what a receive for any source then takes, though another
/// sender's message comes into a shard that has counted less.
#[test]
fn what_was_shown_for_any_source_is_not_overtaken() {
    let expected = [
        (Some(1), Got::Message(1), Got::Queued),
        (Some(2), Got::Message(2), Got::Queued),
    ];
    outcomes(&expected, || {
        let context = divided();
        for message in [8, 9] {
            assert_eq!(arrive(&context, 0, message), Got::Queued);
            assert_eq!(post(&context, 0, "before"), Got::Message(message));
        }
        assert_eq!(arrive(&context, 0, 1), Got::Queued);
        let other = context.clone();
        let arriving = thread::spawn(move || arrive(&other, 1, 2));
        let seen = probe(&context, Source::Any);
        let taken = post(&context, Source::Any, "any");
        (seen, taken, arriving.join().expect("no panic"))
    });
}
