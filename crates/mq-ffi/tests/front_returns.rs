//! Receives that stay when all others have left come back to the front of an engine.
#![allow(unsafe_code, reason = "the functions are C's")]

mod fixture;

use core::ffi::c_void;
use core::ptr::null_mut;

use mq::*;

use fixture::{Fixture, options, pattern};

/// The most fillings for which a front rests.
const MOST_REST: usize = 64;

/// More receives than a search in the front looks at, taken last to first.
fn fill_and_drain(engine: &Fixture, context: u32) {
    let tags = 1000..1000 + 2 * MQ_FRONT_SCAN as i32;
    for tag in tags.clone() {
        engine.post(context, 1, tag, tag as usize);
    }
    for tag in tags.rev() {
        assert_eq!(engine.arrive(context, 1, tag, 0), Some(tag as usize));
    }
}

/// Pairs, until the front has rested and is open; how many.
fn until_open(engine: &Fixture, context: u32) -> usize {
    let mut pairs = 0;
    while !engine.is_open() {
        engine.post(context, 1, 2000, 2000);
        assert_eq!(engine.arrive(context, 1, 2000, 0), Some(2000));
        pairs += 1;
        assert!(pairs <= MOST_REST, "it stays closed");
    }
    pairs
}

/// Queues everything behind the front, by a receive that it cannot hold and that is gone again.
fn move_in(engine: &Fixture) {
    engine.post_masked(1, 0, 64, 3, 77);
    assert!(!engine.is_open());
    assert_eq!(engine.arrive(1, 0, 66, 0), Some(77));
}

/// Moves everything behind the front, where nothing leaves.
fn only_move_in(engine: &Fixture) {
    // SAFETY: the engine is there, and a function may be null.
    let purged = unsafe { mq_purge(engine.0, Some(nothing), None, null_mut()) };
    assert_eq!(purged, MQ_NONE);
}

#[test]
fn a_receive_that_stays_does_not_keep_the_front_closed() {
    let engine = Fixture::new();
    let last = engine.post(1, MQ_ANY_SOURCE, 7, 10);
    fill_and_drain(&engine, 1);
    assert!(!engine.is_open(), "it rests");
    until_open(&engine, 1);
    assert_eq!(engine.visit(), [(1, 10)]);
    // Earlier than what is posted now, and later.
    engine.post(1, 3, 7, 11);
    assert_eq!(engine.arrive(1, 3, 7, 0), Some(10));
    assert_eq!(engine.arrive(1, 3, 7, 0), Some(11));
    assert_eq!(engine.cancel(last), None);
    assert!(engine.is_open());
}

#[test]
fn its_name_stays_its_name() {
    let engine = Fixture::new();
    // One is named in the front, one behind it, and one in another context.
    let in_front = engine.post(1, 2, MQ_ANY_TAG, 10);
    move_in(&engine);
    until_open(&engine, 2);
    fill_and_drain(&engine, 1);
    assert!(!engine.is_open());
    let behind = engine.post(1, MQ_ANY_SOURCE, -8, 11);
    let elsewhere = engine.post(2, 900, 5, 12);
    until_open(&engine, 2);
    for _ in 0..3 {
        move_in(&engine);
        until_open(&engine, 1);
    }
    let mut there = engine.visit();
    there.sort_unstable();
    assert_eq!(there, [(1, 10), (1, 11), (1, 12)]);
    assert_eq!(engine.cancel(behind), Some(11));
    assert_eq!(engine.cancel(behind), None);
    assert_eq!(engine.cancel(in_front), Some(10));
    assert_eq!(engine.cancel(elsewhere), Some(12));
    assert_eq!(engine.cancel(in_front), None);
    assert_eq!(engine.visit(), []);
}

#[test]
fn a_name_that_was_shown_stays_a_name() {
    let shown = |engine: &Fixture| {
        let entries = engine.entries();
        let receives = entries.iter().filter(|entry| entry.posted == 1);
        receives.map(|entry| entry.receive).collect::<Vec<_>>()
    };
    // In the front, behind it, back in it, and so on.
    let stages: [fn(&Fixture); 6] = [
        |_| (),
        only_move_in,
        |engine| {
            until_open(engine, 1);
        },
        move_in,
        |engine| {
            until_open(engine, 2);
        },
        only_move_in,
    ];
    for begins_behind in [false, true] {
        for (shown_at, left_at) in (0..6).flat_map(|left| (0..=left).map(move |at| (at, left))) {
            let engine = Fixture::new();
            if begins_behind {
                engine.post_masked(1, 0, 64, 3, 77);
            }
            engine.post(1, 2, MQ_ANY_TAG, 10);
            engine.post(1, MQ_ANY_SOURCE, 7, 11);
            if begins_behind {
                assert_eq!(engine.arrive(1, 0, 66, 0), Some(77));
            }
            let mut names = Vec::new();
            for (stage, goes_there) in stages.iter().enumerate().take(left_at + 1) {
                goes_there(&engine);
                if stage == shown_at {
                    names = shown(&engine);
                }
            }
            let left: Vec<_> = names.iter().map(|name| engine.cancel(*name)).collect();
            assert_eq!(left, [Some(10), Some(11)], "{shown_at} to {left_at}");
            assert!(names.iter().all(|name| engine.cancel(*name).is_none()));
        }
    }
}

#[test]
fn a_receive_that_the_front_cannot_hold_keeps_it_closed_while_it_stands() {
    let engine = Fixture::new();
    engine.post(1, 1, 7, 4);
    engine.post_masked(1, 2, 64, 3, 5);
    for _ in 0..2 * MOST_REST {
        engine.post(1, 1, 9, 6);
        assert!(!engine.is_open());
        assert_eq!(engine.arrive(1, 1, 9, 0), Some(6));
    }
    assert_eq!(engine.arrive(1, 1, 7, 0), Some(4));
    assert_eq!(engine.arrive(1, 2, 67, 0), Some(5));
    assert!(engine.is_open(), "and no longer");
}

#[test]
fn four_receives_come_back_and_five_do_not() {
    for (receives, come_back) in [(4, true), (5, false)] {
        let engine = Fixture::new();
        for receive in 0..receives {
            engine.post(1, 2, 7, receive);
        }
        only_move_in(&engine);
        for _ in 0..2 * MOST_REST {
            engine.post(2, 1, 9, 100);
            assert_eq!(engine.is_open(), come_back);
            assert_eq!(engine.arrive(2, 1, 9, 0), Some(100));
        }
        for receive in 0..receives {
            assert_eq!(engine.arrive(1, 2, 7, 0), Some(receive));
        }
        assert!(engine.is_open());
    }
}

#[test]
fn a_front_to_which_receives_came_back_for_nothing_rests() {
    let engine = Fixture::new();
    engine.post(1, 2, 7, 10);
    only_move_in(&engine);
    assert_eq!(until_open(&engine, 1), 1, "the first time");
    for rest in [8, 16, 32, 64, 64] {
        only_move_in(&engine);
        assert_eq!(until_open(&engine, 1), rest);
    }
    for _ in 0..100 {
        engine.post(1, 1, 9, 11);
        assert_eq!(engine.arrive(1, 1, 9, 0), Some(11));
    }
    only_move_in(&engine);
    assert_eq!(until_open(&engine, 1), 64, "a hundred are not worth it");
    for _ in 0..200 {
        engine.post(1, 1, 9, 11);
        assert_eq!(engine.arrive(1, 1, 9, 0), Some(11));
    }
    only_move_in(&engine);
    assert_eq!(until_open(&engine, 1), 1, "two hundred are");
    assert_eq!(engine.arrive(1, 2, 7, 0), Some(10));
}

#[test]
fn what_came_back_is_as_what_was_queued_there() {
    let engine = Fixture::new();
    // A probe that waits, a receive from any source, and one of a collective operation.
    engine.queue_probe(2, 1, 6, 10);
    let any = engine.post(1, MQ_ANY_SOURCE, 7, 11);
    let barrier = engine.post(1, 4, -9, 12);
    until_open(&engine, 2);
    assert_eq!(engine.update(1, 8, MQ_NO_ANY_SOURCE), MQ_ERR_ANY_SOURCE);
    assert_eq!(engine.update(1, 4, 0), MQ_ERR_RANK);
    assert_eq!(engine.arrive(2, 1, 6, 0), Some(10));
    only_move_in(&engine);
    until_open(&engine, 2);
    assert_eq!(engine.arrive(1, 4, -9, 0), Some(12));
    assert_eq!(engine.cancel(barrier), None);
    // Its context goes, and another of that number comes.
    assert_eq!(engine.free_context(1), (MQ_NONE, vec![(1, 11)]));
    let eight = options(8, 0);
    // SAFETY: the pointers are valid.
    let made = unsafe { mq_context_create(engine.0, 1, &raw const eight) };
    assert_eq!(made, MQ_NONE);
    engine.post(1, MQ_ANY_SOURCE, 7, 13);
    assert_eq!(engine.cancel(any), None);
    assert_eq!(engine.visit(), [(1, 13)]);
}

/// What is queued, first to last, and every name that was given.
#[derive(Default)]
struct Model {
    posted: Vec<(u32, i32, i32, usize)>,
    unexpected: Vec<(u32, i32, i32, usize)>,
    names: Vec<(mq_handle, usize)>,
    random: u64,
    came_back: usize,
}

impl Model {
    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }

    fn matches(
        (context, source, tag, _): (u32, i32, i32, usize),
        message: (u32, i32, i32),
    ) -> bool {
        context == message.0
            && (source == MQ_ANY_SOURCE || source == message.1)
            && (tag == message.2 || tag == MQ_ANY_TAG && message.2 >= 0)
    }

    fn post(&mut self, engine: &Fixture, receive: usize) {
        let context = 1 + self.below(2) as u32;
        let source = if self.below(3) == 0 {
            MQ_ANY_SOURCE
        } else {
            self.below(6) as i32
        };
        let tag = if self.below(5) == 0 {
            MQ_ANY_TAG
        } else {
            self.below(5) as i32 - 2
        };
        let wanted = (context, source, tag, receive);
        let found = self.unexpected.iter();
        let mut found = found.map(|&(context, source, tag, _)| (context, source, tag));
        if found.any(|message| Self::matches(wanted, message)) {
            return;
        }
        let name = engine.post(context, source, tag, receive);
        self.posted.push(wanted);
        self.names.push((name, receive));
    }

    fn arrive(&mut self, engine: &Fixture, message: usize) {
        let some = self.below(self.posted.len() as u64 + 1) as usize;
        let carried = match self.posted.get(some).copied() {
            Some((context, source, tag, _)) => (
                context,
                source.max(0),
                if tag == MQ_ANY_TAG { 2 } else { tag },
            ),
            // Little is to be left most of the time.
            None if self.below(4) == 0 => (1, self.below(6) as i32, self.below(5) as i32 - 2),
            None => return,
        };
        let place = self
            .posted
            .iter()
            .position(|&wanted| Self::matches(wanted, carried));
        let expected = place.map(|place| self.posted.remove(place).3);
        let (context, source, tag) = carried;
        assert_eq!(engine.arrive(context, source, tag, message), expected);
        if place.is_none() {
            self.unexpected.push((context, source, tag, message));
        }
    }

    fn extract(&mut self, engine: &Fixture) {
        let place = self.below(self.unexpected.len() as u64 + 1) as usize;
        let Some(&(context, source, tag, _)) = self.unexpected.get(place) else {
            return;
        };
        let is_it =
            |other: &(u32, i32, i32, usize)| (other.0, other.1, other.2) == (context, source, tag);
        let first = self.unexpected.iter().position(is_it).expect("it is there");
        let expected = self.unexpected.remove(first).3;
        let pattern = pattern(context, source, tag, 0);
        let mut message = null_mut();
        // SAFETY: the pointers are valid or null.
        let found =
            unsafe { mq_extract(engine.0, &raw const pattern, &raw mut message, null_mut()) };
        assert_eq!((found, message as usize), (MQ_MATCHED, expected));
    }

    fn cancel(&mut self, engine: &Fixture) {
        let some = self.below(self.names.len() as u64 + 1) as usize;
        let Some(&(name, receive)) = self.names.get(some) else {
            return;
        };
        let place = self
            .posted
            .iter()
            .position(|&(.., posted)| posted == receive);
        let expected = place.map(|place| self.posted.remove(place).3);
        assert_eq!(engine.cancel(name), expected);
    }

    /// Whether nothing that is queued takes part in a filling.
    fn may_fill(&self) -> bool {
        self.unexpected.is_empty() && !self.posted.iter().any(|&(.., tag, _)| tag == MQ_ANY_TAG)
    }

    fn step(&mut self, engine: &Fixture, i: usize) {
        let was_closed = !engine.is_open();
        match self.below(32) {
            0..8 => self.post(engine, i),
            8..20 => self.arrive(engine, i),
            20..26 => self.extract(engine),
            26..28 => self.cancel(engine),
            28 if self.may_fill() && self.below(16) == 0 => fill_and_drain(engine, 1),
            // Everything moves, and nothing leaves.
            29 if self.below(8) == 0 => only_move_in(engine),
            _ => {}
        }
        self.came_back += usize::from(was_closed && engine.is_open() && !self.posted.is_empty());
    }

    fn check(&self, engine: &Fixture) {
        let mut shown = engine.visit();
        shown.sort_unstable();
        let posted = self.posted.iter().map(|&(.., receive)| (1, receive));
        let mut queued: Vec<_> = posted.collect();
        queued.extend(self.unexpected.iter().map(|&(.., message)| (0, message)));
        queued.sort_unstable();
        assert_eq!(shown, queued);
    }
}

unsafe extern "C-unwind" fn nothing(_: *mut c_void, _: *const mq_entry) -> i32 {
    0
}

#[test]
fn random_programs_see_what_a_list_would_show() {
    let structures = (0..).map(|index| mq_structure_name(index));
    let structures: Vec<_> = structures.take_while(|name| !name.is_null()).collect();
    assert!(structures.len() >= 12);
    let mut came_back = 0;
    for (seed, &structure) in (1..=480).zip(structures.iter().cycle()) {
        let engine = Fixture::of(structure);
        let mut model = Model {
            random: 0x9e37_79b9_7f4a_7c15 ^ seed,
            ..Model::default()
        };
        for i in 1..=2000 {
            model.step(&engine, i);
            if i % 50 == 0 {
                model.check(&engine);
            }
        }
        came_back += model.came_back;
    }
    assert!(came_back > 1000, "they came back {came_back} times");
}
