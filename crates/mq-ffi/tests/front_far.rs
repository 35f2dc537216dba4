//! A search of the front that goes far, once in a while, leaves everything there.
#![allow(unsafe_code, reason = "the functions are C's")]

mod fixture;

use core::ptr::null_mut;

use mq::*;

use fixture::{Fixture, pattern};

/// As many entries as searches look at, several times.
const MANY: usize = 10 * MQ_FRONT_SCAN;

/// With so many entries in the front, one search after so many more may look at all.
const SELDOM: usize = MANY / 16 + 14;

/// The message that a receive takes, which is not queued if there is none.
fn extract(engine: &Fixture, context: u32, source: i32, tag: i32) -> Option<usize> {
    let pattern = pattern(context, source, tag, 0);
    let mut message = null_mut();
    let (what, out) = (&raw const pattern, &raw mut message);
    // SAFETY: the pointers are valid or null.
    match unsafe { mq_extract(engine.0, what, out, null_mut()) } {
        MQ_MATCHED => Some(message as usize),
        status => {
            assert_eq!(status, MQ_NONE);
            None
        }
    }
}

#[test]
fn a_message_of_another_context_is_found_behind_many() {
    let engine = Fixture::new();
    for message in 0..MANY {
        assert_eq!(engine.arrive(1, 1, 7, message), None);
    }
    assert_eq!(extract(&engine, 2, 5, 7), None, "nothing is there yet");
    for message in MANY..MANY + SELDOM {
        assert_eq!(engine.arrive(1, 1, 7, message), None);
    }
    engine.arrive(2, 5, 7, 1000);
    assert_eq!(extract(&engine, 2, 5, 7), Some(1000));
    assert!(engine.is_open(), "all stand where they stood");
    for message in 0..MANY + SELDOM {
        assert_eq!(extract(&engine, 1, 1, 7), Some(message));
    }
    assert!(engine.is_open());
}

#[test]
fn a_receive_of_another_context_is_found_behind_many() {
    let engine = Fixture::new();
    for receive in 0..MANY {
        engine.post(1, 1, 7, receive);
    }
    assert_eq!(engine.arrive(2, 5, 8, 2000), None, "nobody waits for it");
    engine.post(2, 5, 7, 1000);
    for receive in MANY..MANY + SELDOM {
        engine.post(1, 1, 7, receive);
    }
    assert_eq!(engine.arrive(2, 5, 7, 2001), Some(1000));
    assert!(engine.is_open(), "all stand where they stood");
    for receive in 0..MANY + SELDOM {
        assert_eq!(engine.arrive(1, 1, 7, 0), Some(receive));
    }
    assert_eq!(extract(&engine, 2, 5, 8), Some(2000));
    assert!(engine.is_open());
}

#[test]
fn what_is_refused_moves_nothing() {
    let engine = Fixture::new();
    for message in 0..MANY {
        assert_eq!(engine.arrive(1, 1, 7, message), None);
    }
    for (context, source, error) in [(9, 1, MQ_ERR_UNKNOWN_CONTEXT), (1, 8, MQ_ERR_RANK)] {
        let pattern = pattern(context, source, 7, 0);
        let (what, unused) = (&raw const pattern, null_mut());
        // SAFETY: the pointers are valid or null.
        let refused = unsafe { mq_extract(engine.0, what, unused, null_mut()) };
        assert_eq!(refused, error);
        assert!(engine.is_open());
    }
    assert_eq!(extract(&engine, 1, 1, 7), Some(0));
}

#[test]
fn who_keeps_looking_far_has_the_entries_moved() {
    let engine = Fixture::new();
    for message in 0..MANY {
        assert_eq!(engine.arrive(1, 1, message as i32, message), None);
    }
    for (taken, message) in (0..MANY).rev().enumerate() {
        assert_eq!(extract(&engine, 1, 1, message as i32), Some(message));
        assert_eq!(engine.is_open(), taken == 0, "after {taken} others");
    }
}

#[test]
fn with_a_wildcard_four_more_may_look_far() {
    let engine = Fixture::new();
    for message in 0..MANY {
        assert_eq!(engine.arrive(1, 1, message as i32, message), None);
    }
    for (taken, message) in (0..MANY).rev().enumerate() {
        let any_source = extract(&engine, 1, MQ_ANY_SOURCE, message as i32);
        assert_eq!(any_source, Some(message));
        assert_eq!(engine.is_open(), taken < 5, "after {taken} others");
    }
}
