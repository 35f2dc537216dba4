//! Traffic classes: what the header says of them holds in every structure.
#![allow(unsafe_code, reason = "the functions are C's")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a test calls many functions with the same valid pointers"
)]

use core::ffi::c_int;
use core::mem::zeroed;
use core::ptr::{null, null_mut, without_provenance_mut};

use mq::*;

/// More than a search of the front looks at.
const MANY: i32 = 100;

/// Runs `steps` on an engine of each structure, whose entries are in its queues.
fn in_every_structure(steps: impl Fn(*mut mq_engine)) {
    for index in 0.. {
        let name = mq_structure_name(index);
        if name.is_null() {
            break;
        }
        // SAFETY: zeroed options are those of C; the pointers are valid or null.
        unsafe {
            let mut options: mq_engine_options = zeroed();
            options.structure = name;
            options.flags = MQ_NO_FRONT;
            let mut engine = null_mut();
            assert_eq!(mq_engine_new(&raw const options, &raw mut engine), MQ_NONE);
            assert_eq!(mq_context_create(engine, 1, null()), MQ_NONE);
            steps(engine);
            assert_eq!(mq_engine_free(engine), MQ_NONE);
        }
    }
}

fn arrive(engine: *mut mq_engine, tag: i32, traffic_class: u32) -> c_int {
    let envelope = mq_envelope {
        context: 1,
        source: 3,
        tag,
        traffic_class,
    };
    // SAFETY: the pointers are valid or null.
    unsafe { mq_arrive(engine, &raw const envelope, 0, null_mut(), null_mut()) }
}

fn post(engine: *mut mq_engine, tag: i32, traffic_class: u32) -> c_int {
    let pattern = mq_pattern {
        context: 1,
        source: 3,
        tag,
        ignore: 0,
        traffic_class,
    };
    let receive = without_provenance_mut(1);
    let nothing = null_mut();
    // SAFETY: the pointers are valid or null.
    unsafe {
        mq_post(
            engine,
            &raw const pattern,
            receive,
            null_mut(),
            nothing,
            null_mut(),
        )
    }
}

/// The class of a message, as its tag says it.
fn class_of(tag: i32) -> u32 {
    tag.cast_unsigned() % MQ_CLASS_END
}

#[test]
fn a_pattern_of_unknown_class_meets_messages_of_every_class() {
    in_every_structure(|engine| {
        for tag in 0..MANY {
            assert_eq!(arrive(engine, tag, class_of(tag)), MQ_NONE);
        }
        for tag in (0..MANY).rev() {
            assert_eq!(post(engine, tag, MQ_CLASS_UNKNOWN), MQ_MATCHED);
        }
        for tag in 0..MANY {
            assert_eq!(post(engine, tag, MQ_CLASS_UNKNOWN), MQ_NONE);
        }
        for tag in (0..MANY).rev() {
            assert_eq!(arrive(engine, tag, class_of(tag)), MQ_MATCHED);
        }
    });
}

#[test]
fn a_pattern_of_its_messages_class_meets_them() {
    in_every_structure(|engine| {
        for tag in 0..MANY {
            assert_eq!(arrive(engine, tag, class_of(tag)), MQ_NONE);
            assert_eq!(post(engine, MANY + tag, class_of(tag)), MQ_NONE);
        }
        for tag in (0..MANY).rev() {
            assert_eq!(post(engine, tag, class_of(tag)), MQ_MATCHED);
            assert_eq!(arrive(engine, MANY + tag, class_of(tag)), MQ_MATCHED);
        }
    });
}

#[test]
fn a_message_of_unknown_class_is_refused() {
    in_every_structure(|engine| {
        assert_eq!(arrive(engine, 5, MQ_CLASS_UNKNOWN), MQ_ERR_ARGUMENT);
        assert_eq!(post(engine, 5, MQ_CLASS_UNKNOWN), MQ_NONE);
    });
}
