//! What a trace has of an engine's operations.

use core::ffi::{c_int, c_void};
use core::mem::zeroed;
use core::ptr::{null, null_mut, without_provenance_mut};

use mq::*;

use super::{CARRIED, WANTED, probe};

/// The lines of the trace that a session writes while `steps` are done on an engine of its.
fn traced(name: &str, steps: impl FnOnce(*mut mq_engine)) -> String {
    let folder = std::env::temp_dir().join(format!("mq-{name}-{}", std::process::id()));
    let path = std::ffi::CString::new(folder.to_str().expect("it is UTF-8")).expect("no zero");
    // SAFETY: zeroed options are those of C; the pointers are valid or null.
    unsafe {
        let mut options: mq_session_options = zeroed();
        options.trace = path.as_ptr();
        let mut session = null_mut();
        assert_eq!(
            mq_session_open(&raw const options, &raw mut session),
            MQ_NONE
        );
        let mut options: mq_engine_options = zeroed();
        options.session = session;
        let mut engine = null_mut();
        assert_eq!(mq_engine_new(&raw const options, &raw mut engine), MQ_NONE);
        let context: mq_context_options = zeroed();
        assert_eq!(mq_context_create(engine, 1, &raw const context), MQ_NONE);
        steps(engine);
        assert_eq!(mq_engine_free(engine), MQ_NONE);
        assert_eq!(mq_session_close(session), MQ_NONE);
    }
    let files = std::fs::read_dir(&folder).expect("it is there").flatten();
    let paths = files.map(|file| file.path());
    // A trace that ended early has the reason beside it.
    let traces: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "mqt"))
        .collect();
    let [trace] = &traces[..] else {
        panic!("{traces:?}");
    };
    let text = std::fs::read_to_string(trace).expect("it is text");
    std::fs::remove_dir_all(&folder).expect("it is ours");
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Neither its waiting nor its end moves anything: a replay that has only the probe pairs the others alike.
#[test]
fn a_probe_that_waits_is_traced_as_a_probe_and_no_receive() {
    let trace = traced("waits", |engine| {
        // SAFETY: valid, or null where that is allowed.
        unsafe {
            let none = null_mut();
            // Its message goes on to the receive behind it, or waits for one.
            probe(engine);
            assert_eq!(
                mq_post(engine, &WANTED, none, null_mut(), null_mut(), null_mut()),
                MQ_NONE
            );
            assert_eq!(mq_deliver(engine, &CARRIED, null_mut()), MQ_MATCHED);
            assert_eq!(mq_arrive(engine, &CARRIED, 5, none, null_mut()), MQ_MATCHED);
            probe(engine);
            assert_eq!(mq_deliver(engine, &CARRIED, null_mut()), MQ_MATCHED);
            assert_eq!(mq_arrive(engine, &CARRIED, 5, none, null_mut()), MQ_NONE);
            assert_eq!(
                mq_extract(engine, &WANTED, null_mut(), null_mut()),
                MQ_MATCHED
            );
            // Others are given up, by name, with their context, and with their engine.
            let given_up = probe(engine);
            assert_eq!(mq_cancel(engine, given_up, null_mut()), MQ_MATCHED);
            probe(engine);
            assert_eq!(mq_context_free(engine, 1, None, null_mut()), MQ_NONE);
            assert_eq!(mq_context_create(engine, 1, null()), MQ_NONE);
            probe(engine);
        }
    });
    let lines = [
        "b 1 3 7",
        "p 1 3 7",
        "a 1 3 7 =0",
        "b 1 3 7",
        "a 1 3 7",
        "p 1 3 7 =1",
        "b 1 3 7",
        "b 1 3 7",
        "b 2 3 7",
    ];
    assert_eq!(trace, lines.join("\n"));
}

/// A message that is taken by its name, from behind another like it: no receive does that, and a
/// line that said one did would be wrong.
#[test]
fn a_message_taken_from_behind_another_like_it_ends_the_trace() {
    let queue = |engine| {
        // SAFETY: valid, or null where that is allowed.
        unsafe {
            let mut name = zeroed();
            assert_eq!(mq_deliver(engine, &CARRIED, null_mut()), MQ_NONE);
            let queued = mq_queue_message(engine, &CARRIED, 5, null_mut(), &raw mut name);
            assert_eq!(queued, MQ_NONE);
            name
        }
    };
    // SAFETY: as above.
    let take = |engine, name| unsafe { mq_take(engine, name, null_mut(), null_mut()) };
    // SAFETY: as above.
    let post = |engine| unsafe {
        mq_post(
            engine,
            &WANTED,
            null_mut(),
            null_mut(),
            null_mut(),
            null_mut(),
        )
    };
    let both = traced("behind", |engine| {
        queue(engine);
        let second = queue(engine);
        assert_eq!(take(engine, second), MQ_MATCHED);
        assert_eq!(post(engine), MQ_MATCHED);
    });
    let first = traced("before", |engine| {
        let first = queue(engine);
        queue(engine);
        assert_eq!(take(engine, first), MQ_MATCHED);
        assert_eq!(post(engine), MQ_MATCHED);
    });
    let received = |trace: &str| trace.lines().filter(|line| line.starts_with('p')).count();
    assert_eq!(
        (received(&both), received(&first)),
        (0, 2),
        "{both}\n\n{first}"
    );
}

/// Chooses the messages whose cookies are in the range that `user` points at.
unsafe extern "C-unwind" fn is_chosen(user: *mut c_void, entry: *const mq_entry) -> c_int {
    // SAFETY: the tests pass a range, and the library a valid entry.
    let (chosen, entry) = unsafe { (&*user.cast::<core::ops::Range<usize>>(), &*entry) };
    c_int::from(chosen.contains(&entry.cookie.addr()))
}

/// What is recorded when of six messages, of which those are alike that are `apart`, those of `chosen` are purged and
/// the others received.
fn purged(name: &str, apart: i32, mut chosen: core::ops::Range<usize>) -> String {
    traced(name, |engine| {
        let of = |message: i32| (message % apart + 1, message % apart + 5);
        for message in 0..6 {
            let (source, tag) = of(message);
            let carried = mq_envelope {
                source,
                tag,
                ..CARRIED
            };
            let cookie = without_provenance_mut(message.unsigned_abs() as usize);
            // SAFETY: valid, or null where that is allowed.
            let arrived = unsafe { mq_arrive(engine, &raw const carried, 5, cookie, null_mut()) };
            assert_eq!(arrived, MQ_NONE);
        }
        let user = (&raw mut chosen).cast();
        // SAFETY: as above; the function takes the range for what it is.
        let status = unsafe { mq_purge(engine, Some(is_chosen), None, user) };
        assert_eq!(status, MQ_NONE);
        for message in (0..6).filter(|&message| !chosen.contains(&(message as usize))) {
            let (source, tag) = of(message);
            let wanted = mq_pattern {
                source,
                tag,
                ..WANTED
            };
            // SAFETY: as above.
            let taken = unsafe { mq_extract(engine, &raw const wanted, null_mut(), null_mut()) };
            assert_eq!(taken, MQ_MATCHED);
        }
    })
}

#[test]
fn purged_messages_are_traced_unless_one_like_them_stays_before() {
    let received = |trace: &str| trace.lines().filter(|line| line.starts_with('p')).count();
    for (name, apart, chosen, lines) in [
        ("none", 3, 6..9, 6),
        ("all", 3, 0..6, 6),
        ("first-of-each", 3, 0..3, 6),
        ("one-behind-another", 3, 1..4, 2),
        ("last-of-each", 3, 3..6, 0),
        ("middle-of-each", 2, 2..4, 0),
    ] {
        let trace = purged(name, apart, chosen);
        assert_eq!(received(&trace), lines, "{name}:\n{trace}");
    }
}

/// Receives and messages that nobody takes leave with their engine, as with their context: no later engine of the
/// session has them in its queues, nor has a replay.
#[test]
fn what_is_queued_in_a_freed_engine_leaves_the_trace() {
    let trace = traced("freed", |engine| {
        // SAFETY: valid, or null where that is allowed.
        unsafe {
            let none = null_mut();
            let other = mq_pattern { tag: 8, ..WANTED };
            assert_eq!(mq_arrive(engine, &CARRIED, 5, none, null_mut()), MQ_NONE);
            assert_eq!(mq_arrive(engine, &CARRIED, 5, none, null_mut()), MQ_NONE);
            let posted = mq_post(
                engine,
                &raw const other,
                none,
                null_mut(),
                null_mut(),
                null_mut(),
            );
            assert_eq!(posted, MQ_NONE);
        }
    });
    let lines = [
        "a 1 3 7",
        "a 1 3 7",
        "p 1 3 8",
        "x 0",
        "p 1 3 7 =0",
        "p 1 3 7 =1",
    ];
    assert_eq!(trace, lines.join("\n"));
}

/// A program that polls would fill the disc with probes that say nothing new.
#[test]
fn a_probe_that_misses_again_is_recorded_once_until_a_message_is_queued() {
    let other = mq_pattern { tag: 8, ..WANTED };
    let trace = traced("polls", |engine| {
        // SAFETY: valid, or null where that is allowed.
        unsafe {
            let poll = || {
                for _ in 0..100 {
                    for pattern in [&WANTED, &other] {
                        mq_probe(engine, pattern, null_mut(), null_mut());
                    }
                }
            };
            poll();
            // Another communicator with the same number.
            assert_eq!(mq_context_free(engine, 1, None, null_mut()), MQ_NONE);
            assert_eq!(mq_context_create(engine, 1, null()), MQ_NONE);
            poll();
            let none = null_mut();
            let posted = mq_post(engine, &WANTED, none, null_mut(), null_mut(), null_mut());
            assert_eq!(posted, MQ_NONE);
            assert_eq!(mq_arrive(engine, &CARRIED, 5, none, null_mut()), MQ_MATCHED);
            poll();
            assert_eq!(mq_arrive(engine, &CARRIED, 5, none, null_mut()), MQ_NONE);
            assert_eq!(mq_probe(engine, &other, null_mut(), null_mut()), MQ_NONE);
            assert_eq!(mq_probe(engine, &other, null_mut(), null_mut()), MQ_NONE);
            for _ in 0..2 {
                assert_eq!(
                    mq_probe(engine, &WANTED, null_mut(), null_mut()),
                    MQ_MATCHED
                );
            }
            assert_eq!(
                mq_extract(engine, &WANTED, null_mut(), null_mut()),
                MQ_MATCHED
            );
        }
    });
    let lines = [
        "b 1 3 7",
        "b 1 3 8",
        "b 2 3 7",
        "b 2 3 8",
        "p 2 3 7",
        "a 2 3 7 =0",
        "a 2 3 7",
        "b 2 3 8",
        "b 2 3 7 =1",
        "b 2 3 7 =1",
        "p 2 3 7 =1",
    ];
    assert_eq!(trace, lines.join("\n"));
}

/// A program that probes for ever more tags would fill the memory.
#[test]
fn probes_beyond_those_that_are_remembered_are_recorded_each_time() {
    const REMEMBERED: usize = 4096;
    let trace = traced("many", |engine| {
        for _ in 0..3 {
            for tag in 0..REMEMBERED as i32 + 5 {
                let pattern = mq_pattern { tag, ..WANTED };
                // SAFETY: valid, or null where that is allowed.
                let seen = unsafe { mq_probe(engine, &raw const pattern, null_mut(), null_mut()) };
                assert_eq!(seen, MQ_NONE);
            }
        }
    });
    assert_eq!(trace.lines().count(), REMEMBERED + 3 * 5);
}

/// A message may come before its communicator, whose size is given later; and an id may be used again.
#[test]
fn a_size_that_is_given_later_is_in_the_trace() {
    let trace = traced("sizes", |engine| {
        // SAFETY: valid, or null where that is allowed.
        unsafe {
            let sized = |size| {
                let mut options: mq_context_options = zeroed();
                (options.size, options.rank) = (size, 2);
                options
            };
            let update = |size| {
                let options = sized(size);
                mq_context_update(engine, 1, &raw const options)
            };
            let none = null_mut();
            assert_eq!(mq_arrive(engine, &CARRIED, 5, none, null_mut()), MQ_NONE);
            assert_eq!((update(10), update(10)), (MQ_NONE, MQ_NONE));
            // It has a message: still the same.
            assert_eq!(update(12), MQ_NONE);
            assert_eq!(
                mq_extract(engine, &WANTED, null_mut(), null_mut()),
                MQ_MATCHED
            );
            // The next communicators: of another size, of the same, between two groups, and again of one.
            for size in [Some(12), Some(12), None, None, Some(12)] {
                assert_eq!(mq_context_update(engine, 1, null()), MQ_NONE);
                let mut options = sized(size.unwrap_or(20));
                if size.is_none() {
                    options.rank = u32::MAX;
                }
                assert_eq!(mq_context_update(engine, 1, &raw const options), MQ_NONE);
                assert_eq!(mq_arrive(engine, &CARRIED, 5, none, null_mut()), MQ_NONE);
                let taken = mq_extract(engine, &WANTED, null_mut(), null_mut());
                assert_eq!(taken, MQ_MATCHED);
            }
        }
    });
    let lines = [
        "a 1 3 7",
        "c 1 10 2",
        "p 1 3 7 =0",
        "c 2 12 2",
        "a 2 3 7",
        "p 2 3 7 =1",
        "c 3 12 2",
        "a 3 3 7",
        "p 3 3 7 =2",
        "a 5 3 7",
        "p 5 3 7 =3",
        "a 7 3 7",
        "p 7 3 7 =4",
        "c 8 12 2",
        "a 8 3 7",
        "p 8 3 7 =5",
    ];
    assert_eq!(trace, lines.join("\n"));
}

/// An empty context may become another communicator, but does not when it is told what is known.
#[test]
fn only_another_group_makes_an_empty_context_another_communicator() {
    let trace = traced("same", |engine| {
        // SAFETY: valid, or null where that is allowed.
        unsafe {
            let mut options: mq_context_options = zeroed();
            for (size, rank) in [(12, 2), (12, 2), (10, 2), (10, 3), (10, 3)] {
                (options.size, options.rank) = (size, rank);
                let updated = mq_context_update(engine, 1, &raw const options);
                assert_eq!(updated, MQ_NONE);
                let arrived = mq_arrive(engine, &CARRIED, 5, null_mut(), null_mut());
                assert_eq!(arrived, MQ_NONE);
                let received = mq_extract(engine, &WANTED, null_mut(), null_mut());
                assert_eq!(received, MQ_MATCHED);
            }
        }
    });
    let lines = [
        "c 1 12 2",
        "a 1 3 7",
        "p 1 3 7 =0",
        "a 1 3 7",
        "p 1 3 7 =1",
        "c 2 10 2",
        "a 2 3 7",
        "p 2 3 7 =2",
        "c 3 10 3",
        "a 3 3 7",
        "p 3 3 7 =3",
        "a 3 3 7",
        "p 3 3 7 =4",
    ];
    assert_eq!(trace, lines.join("\n"));
}

#[test]
fn a_probe_is_of_the_communicator_in_which_it_was_made() {
    let trace = traced("of-which", |engine| {
        // SAFETY: valid, or null where that is allowed.
        unsafe {
            let mut options: mq_context_options = zeroed();
            options.size = 12;
            assert_eq!(mq_context_update(engine, 1, &raw const options), MQ_NONE);
            let last = mq_pattern {
                source: 11,
                ..WANTED
            };
            let seen = mq_probe(engine, &raw const last, null_mut(), null_mut());
            assert_eq!(seen, MQ_NONE);
            options.size = 10;
            assert_eq!(mq_context_update(engine, 1, &raw const options), MQ_NONE);
        }
    });
    let lines = ["c 1 12 0", "b 1 11 7", "c 2 10 0"];
    assert_eq!(trace, lines.join("\n"));
}

#[test]
fn a_probe_that_missed_in_an_earlier_communicator_of_its_context_is_recorded_again() {
    let elsewhere = mq_pattern {
        context: 2,
        ..WANTED
    };
    let trace = traced("anew", |engine| {
        // SAFETY: valid, or null where that is allowed.
        unsafe {
            assert_eq!(mq_context_create(engine, 2, null()), MQ_NONE);
            let mut options: mq_context_options = zeroed();
            for size in [12, 10] {
                options.size = size;
                let updated = mq_context_update(engine, 1, &raw const options);
                assert_eq!(updated, MQ_NONE);
                for pattern in [&WANTED, &elsewhere] {
                    let seen = mq_probe(engine, pattern, null_mut(), null_mut());
                    assert_eq!(seen, MQ_NONE);
                }
                // What follows a probe shows that it was one.
                assert_eq!(mq_deliver(engine, &CARRIED, null_mut()), MQ_NONE);
            }
        }
    });
    let lines = ["c 1 12 0", "b 1 3 7", "b 2 3 7", "c 3 10 0", "b 3 3 7"];
    assert_eq!(trace, lines.join("\n"));
}

/// A communicator that is released may leave its context behind, and the next one with its id may have the same size. A
/// library that does not know takes the size away before it gives one.
#[test]
fn a_context_that_loses_its_size_is_another_communicator_only_if_it_is_empty() {
    let trace = traced("reused", |engine| {
        // SAFETY: valid, or null where that is allowed.
        unsafe {
            let none = null_mut();
            let mut options: mq_context_options = zeroed();
            (options.size, options.rank) = (12, 2);
            let make = || {
                assert_eq!(mq_context_update(engine, 1, null()), MQ_NONE);
                let updated = mq_context_update(engine, 1, &raw const options);
                assert_eq!(updated, MQ_NONE);
            };
            let arrive = || {
                let arrived = mq_arrive(engine, &CARRIED, 5, none, null_mut());
                assert_eq!(arrived, MQ_NONE);
            };
            let receive = || {
                let received = mq_extract(engine, &WANTED, null_mut(), null_mut());
                assert_eq!(received, MQ_MATCHED);
            };
            // The message comes before its communicator.
            arrive();
            make();
            receive();
            // The next communicator, whose message comes after it.
            make();
            arrive();
            receive();
            // One of which nothing is recorded but its size.
            make();
            // A message comes before its communicator, in the context that the last one has left.
            arrive();
            make();
            receive();
            make();
            arrive();
            receive();
        }
    });
    let lines = [
        "a 1 3 7",
        "c 1 12 2",
        "p 1 3 7 =0",
        "c 2 12 2",
        "a 2 3 7",
        "p 2 3 7 =1",
        "c 3 12 2",
        "a 3 3 7",
        "p 3 3 7 =2",
        "c 4 12 2",
        "a 4 3 7",
        "p 4 3 7 =3",
    ];
    assert_eq!(trace, lines.join("\n"));
}
