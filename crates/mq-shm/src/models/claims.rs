//! Messages that both sides copy. The pages stand for the receiver's memory: the kernel copies into it
//! for the sender, and the receiver later uses it for something else.
#![allow(unsafe_code, reason = "touches pages as the kernel would")]

use super::*;
use crate::large::claims::Claims;
use crate::large::cooperative::Shown;
use crate::sync::{Guarded, Ordering, fence};

/// The receiver takes four first; two are left for whichever side comes next.
const PAGES: u32 = 6;
/// More pieces than there are.
const ALL: u32 = PAGES;

struct Shared {
    claims: Claims,
    /// The sender's, which the kernel reads for the receiver.
    shown: Shown,
    pages: [Guarded<u32>; PAGES as usize],
}

// SAFETY: loom looks for two threads that touch a page without an edge between them.
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            claims: Claims::default(),
            shown: Shown::new(7),
            pages: core::array::from_fn(|_| Guarded::new(0)),
        })
    }

    fn write(&self, page: u32, content: u32) {
        // SAFETY: loom checks that nobody else touches it.
        self.pages[page as usize].with_mut(|page| unsafe { page.write(content) });
    }

    fn read(&self, page: u32) -> u32 {
        // SAFETY: as above.
        self.pages[page as usize].with(|page| unsafe { page.read() })
    }

    /// The sender's part of an offer, which gives up the piece after this many; returns how many pages
    /// it copied.
    fn help(&self, number: u32, pieces: u32) -> u32 {
        let mut helped = 0;
        while let Some(taken) = self.claims.take_for_sender(number, PAGES) {
            if helped == pieces {
                self.claims.report_given_up(number, PAGES, taken.end);
                break;
            }
            helped += taken.len() as u32;
            taken.clone().for_each(|page| self.write(page, number));
            self.claims.report_copied(number, PAGES, taken.start);
        }
        helped
    }

    /// The receiver's part; returns how many pages the sender copied.
    fn receive(&self, number: u32) -> u32 {
        (0..PAGES).for_each(|page| self.write(page, 0));
        let mut next = 0..self.claims.open(number, PAGES);
        loop {
            next.for_each(|page| self.write(page, number));
            match self.claims.take_for_receiver(number, PAGES) {
                Some(more) => next = more,
                None => break,
            }
        }
        let back = self.claims.taken_by_sender(PAGES);
        let help = loop {
            let help = self.claims.help(number);
            if help.copied == back || help.gave_up {
                break help;
            }
            thread::yield_now();
        };
        (PAGES - back..PAGES - help.copied).for_each(|page| self.write(page, number));
        assert!((0..PAGES).all(|page| self.read(page) == number));
        help.copied
    }
}

/// Runs it in all interleavings, and expects these numbers of pages from the sender, each in some
/// interleaving.
fn model(expected: &[u32], run: impl Fn() -> u32 + Sync + Send + 'static) {
    use std::collections::BTreeSet;
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let all = std::sync::Arc::clone(&seen);
    loom::model(move || {
        let helped = run();
        all.lock().unwrap().insert(helped);
    });
    let seen = seen.lock().unwrap().iter().copied().collect::<Vec<_>>();
    assert_eq!(seen, expected);
}

#[test]
fn a_message_is_copied_by_both_and_the_memory_used_again() {
    model(&[0, 1, 2], || {
        let shared = Shared::new();
        let sender = {
            let shared = Arc::clone(&shared);
            // Its second message uses the same memory, if it is asked in time.
            thread::spawn(move || shared.help(1, ALL) + shared.help(2, ALL))
        };
        let first = shared.receive(1);
        let second = shared.receive(2);
        assert_eq!(sender.join().unwrap(), first + second);
        first
    });
}

#[test]
fn what_a_sender_gives_up_is_copied_by_the_receiver() {
    for (pieces, copied) in [(0, &[0][..]), (1, &[0, 1])] {
        model(copied, move || {
            let shared = Shared::new();
            let sender = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.help(1, pieces))
            };
            let helped = shared.receive(1);
            // It may do what it likes with its memory.
            (0..PAGES).for_each(|page| shared.write(page, 7));
            assert_eq!(sender.join().unwrap(), helped);
            helped
        });
    }
}

#[test]
fn nobody_writes_after_the_rest_is_taken() {
    model(&[0, 1, 2], || {
        let shared = Shared::new();
        let sender = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.help(1, ALL))
        };
        // The kernel refuses to go on: what is left goes another way.
        shared.claims.open(1, PAGES);
        shared.claims.take_rest(1, PAGES);
        let back = shared.claims.taken_by_sender(PAGES);
        while shared.claims.help(1).copied != back {
            thread::yield_now();
        }
        (0..PAGES).for_each(|page| shared.write(page, 7));
        assert_eq!(sender.join().unwrap(), back);
        back
    });
}

#[test]
fn who_is_at_it_no_longer_has_copied_what_it_took() {
    model(&[0, 1, 2], || {
        let shared = Shared::new();
        let sender = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.shown.begin_to_help(BOB.0, 1);
                // What it counts as copied is lost: a stray write hits it.
                while let Some(taken) = shared.claims.take_for_sender(1, PAGES) {
                    taken.for_each(|page| shared.write(page, 1));
                }
                shared.shown.end_help();
                // Whoever reads only this knows as much.
                shared.shown.begin_to_help(2, 2);
            })
        };
        (0..PAGES).for_each(|page| shared.write(page, 0));
        shared.claims.open(1, PAGES);
        shared.claims.take_rest(1, PAGES);
        let back = shared.claims.taken_by_sender(PAGES);
        if back > 0 {
            while Shown::is_at(shared.shown.read_helping(), BOB.0, 1) {
                thread::yield_now();
            }
            fence(Ordering::Acquire);
        }
        assert!((PAGES - back..PAGES).all(|page| shared.read(page) == 1));
        (0..PAGES).for_each(|page| shared.write(page, 7));
        sender.join().unwrap();
        back
    });
}

#[test]
fn a_sender_after_another_counts_for_itself() {
    model(&[0, 1, 2], || {
        let shared = Shared::new();
        let senders = [1, 2].map(|number| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.help(number, ALL))
        });
        let helped = [shared.receive(1), shared.receive(2)];
        assert_eq!(senders.map(|sender| sender.join().unwrap()), helped);
        helped[1]
    });
}
