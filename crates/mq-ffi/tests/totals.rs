//! The lengths of all queues together stay right whatever leaves how, with thousands of contexts.
#![allow(unsafe_code, reason = "the functions are C's")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "what a call gets is valid in all its parts"
)]

mod fixture;

use core::ffi::{c_int, c_void};
use core::ptr::{null, null_mut};

use mq::*;

use self::fixture::{Fixture, options};

const CONTEXTS: u32 = 3_000;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005) | 1;
        self.0 = self.0.rotate_left(23).wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((self.0 >> 33) % u64::from(end)) as u32
    }
}

/// An engine, and what is queued in it by what its calls have said.
struct Counted {
    engine: Fixture,
    posted: u64,
    unexpected: u64,
    handles: Vec<mq_handle>,
}

/// Counts what is removed, receives and messages.
unsafe extern "C-unwind" fn count(user: *mut c_void, entry: *const mq_entry) {
    // SAFETY: `removing` passes two numbers, and the library a valid entry.
    let (removed, entry) = unsafe { (&mut *user.cast::<[u64; 2]>(), &*entry) };
    removed[usize::from(entry.posted == 0)] += 1;
}

/// Chooses entries of some contexts.
unsafe extern "C-unwind" fn is_of_some(_: *mut c_void, entry: *const mq_entry) -> c_int {
    // SAFETY: the library passes a valid entry.
    c_int::from(unsafe { &*entry }.pattern.context.is_multiple_of(7))
}

impl Counted {
    fn new(structure: Option<&core::ffi::CStr>, flags: u32) -> Self {
        let engine = Fixture::with(structure.map_or(null(), core::ffi::CStr::as_ptr), flags);
        for context in 3..CONTEXTS {
            create(&engine, context);
        }
        Self {
            engine,
            posted: 0,
            unexpected: 0,
            handles: Vec::new(),
        }
    }

    /// A call that hands back what it removes.
    fn removing(&mut self, call: impl FnOnce(*mut mq_engine, mq_removed_fn, *mut c_void) -> c_int) {
        let mut removed = [0; 2];
        let status = call(self.engine.0, Some(count), (&raw mut removed).cast());
        assert_eq!(status, MQ_NONE);
        self.posted -= removed[0];
        self.unexpected -= removed[1];
    }

    fn step(&mut self, random: &mut Random) {
        let context = 1 + random.below(CONTEXTS - 1);
        let (source, tag) = (random.below(3) as i32, random.below(4) as i32);
        match random.below(1_000) {
            ..430 => {
                let wanted = fixture::pattern(context, source, tag, 0);
                let mut handle = mq_handle {
                    sequence: 0,
                    slot: 0,
                    context: 0,
                };
                let (wanted, to) = (&raw const wanted, &raw mut handle);
                let cookie = null_mut();
                // SAFETY: the pointers are valid or null.
                match unsafe { mq_post(self.engine.0, wanted, cookie, to, null_mut(), null_mut()) }
                {
                    MQ_MATCHED => self.unexpected -= 1,
                    status => {
                        assert_eq!(status, MQ_NONE);
                        self.posted += 1;
                        self.handles.push(handle);
                    }
                }
            }
            430..860 => match self.engine.arrive(context, source, tag, 1) {
                Some(_) => self.posted -= 1,
                None => self.unexpected += 1,
            },
            860..950 if !self.handles.is_empty() => {
                let at = random.below(self.handles.len() as u32) as usize;
                let left = self.engine.cancel(self.handles.swap_remove(at));
                self.posted -= u64::from(left.is_some());
            }
            950..980 => {
                // SAFETY: the functions take what they get for what it is.
                self.removing(|engine, back, user| unsafe {
                    mq_context_free(engine, context, back, user)
                });
                create(&self.engine, context);
            }
            980..998 => {
                // SAFETY: as above.
                self.removing(|engine, back, user| unsafe {
                    mq_context_purge(engine, context, None, back, user)
                });
            }
            998.. => {
                // SAFETY: as above.
                self.removing(|engine, back, user| unsafe {
                    mq_purge(engine, Some(is_of_some), back, user)
                });
            }
            _ => {}
        }
        self.check();
    }

    fn check(&self) {
        let (mut posted, mut unexpected) = (9, 9);
        // SAFETY: the pointers are valid.
        let status = unsafe { mq_lengths(self.engine.0, &raw mut posted, &raw mut unexpected) };
        let expected = (MQ_NONE, self.posted, self.unexpected);
        assert_eq!((status, posted, unexpected), expected);
    }
}

fn create(engine: &Fixture, context: u32) {
    let options = options(8, 0);
    // SAFETY: the pointers are valid.
    let created = unsafe { mq_context_create(engine.0, context, &raw const options) };
    assert_eq!(created, MQ_NONE);
}

#[test]
fn the_totals_are_those_of_the_calls() {
    for (structure, flags) in [
        (None, 0),
        (None, MQ_NO_FRONT),
        (None, MQ_LOCKED),
        (None, MQ_STATISTICS),
        (Some(c"list"), 0),
        (Some(c"array"), MQ_STATISTICS),
    ] {
        let mut counted = Counted::new(structure, flags);
        let mut random = Random(7);
        for _ in 0..6_000 {
            counted.step(&mut random);
        }
        let seen = counted.engine.visit();
        assert_eq!(seen.len() as u64, counted.posted + counted.unexpected);
        assert!(counted.posted > 100 && counted.unexpected > 100);
        for context in 1..CONTEXTS {
            // SAFETY: as in `step`.
            counted.removing(|engine, back, user| unsafe {
                mq_context_free(engine, context, back, user)
            });
            counted.check();
        }
        assert_eq!((counted.posted, counted.unexpected), (0, 0));
    }
}
