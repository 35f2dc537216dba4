use std::collections::VecDeque;

use super::search::HOLES;
use super::*;
use crate::ContextId;
use crate::slab::{NIL, RUN};

type Names = VecDeque<(u32, Handle)>;

/// A window and a plain queue of what should be in it.
struct Both {
    slab: Slab<u32, u32>,
    window: Window,
    entries: Names,
    next: u32,
}

impl Both {
    fn new() -> Self {
        Self {
            slab: Slab::new(7),
            window: Window::EMPTY,
            entries: Names::new(),
            next: 0,
        }
    }

    fn with(entries: u32) -> Self {
        let mut both = Self::new();
        (0..entries).for_each(|_| both.push());
        both
    }

    fn push(&mut self) {
        let key = self.next;
        if !self.window.has_room(&self.slab) {
            assert!(self.window.make_room(&mut self.slab, key));
        }
        let sequence = self.slab.next_sequence();
        let slot = self.window.push(&mut self.slab, key, key);
        let handle = Handle::new(ContextId(0), slot, sequence);
        self.entries.push_back((key, handle));
        self.next += 1;
    }

    /// Takes the entry at a place out, by its handle.
    fn take(&mut self, at: usize) {
        let (key, handle) = self.entries.remove(at).expect("there are so many");
        let slot = self
            .window
            .slot_of(&self.slab, handle, 0)
            .expect("it is there");
        assert_eq!(self.slab.take_near(slot), (key, key));
        self.window.drop_slot(&self.slab, slot);
        assert_eq!(self.window.slot_of(&self.slab, handle, 0), None);
    }

    /// Looks for the entry at a place, as a search that may visit `limit` entries.
    fn find(&mut self, at: usize, limit: u32) -> Sought {
        let wanted = self.entries[at].0;
        let found = self.window.find(&mut self.slab, limit, |&k| k == wanted);
        if found.slot < TOO_FAR {
            assert_eq!(*self.slab.key(found.slot), wanted);
        }
        found
    }

    /// Compares everything.
    fn check(&mut self) {
        assert_eq!(self.window.len() as usize, self.entries.len());
        assert_eq!(self.window.is_empty(), self.entries.is_empty());
        let none = self.window.find(&mut self.slab, u32::MAX, |_| false);
        assert_eq!(none.slot, NIL);
        assert_eq!(none.visited as usize, self.entries.len());
        let slots = self.window.head..self.window.tail;
        let seen: Vec<u32> = slots
            .filter(|&slot| !self.slab.is_free_near(slot))
            .map(|slot| *self.slab.key(slot))
            .collect();
        let keys: Vec<u32> = self.entries.iter().map(|&(key, _)| key).collect();
        assert_eq!(seen, keys);
        for &(key, handle) in &self.entries {
            let slot = self.window.slot_of(&self.slab, handle, 0);
            assert_eq!(slot.map(|slot| *self.slab.key(slot)), Some(key));
        }
    }
}

/// Numbers that look random and are the same each time.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    }
}

#[test]
fn entries_stay_in_order_whatever_leaves() {
    for (seed, longest) in [(1, 3), (2, 20), (3, 70), (4, 300)] {
        let mut number = numbers(seed);
        let mut both = Both::new();
        // Alternately filling and draining, mostly near the beginning, as searches do.
        for round in 0..4000 {
            let filling = round / longest % 2 == 0;
            if both.entries.is_empty() || filling && number(3) > 0 {
                both.push();
            } else {
                let near = both.entries.len().min(if number(8) > 0 { 5 } else { 1000 });
                both.take(number(near));
            }
            if round % 7 == 0 {
                both.check();
            }
        }
    }
}

#[test]
fn a_search_visits_entries_and_no_holes_and_ends_at_its_limit() {
    let mut both = Both::with(60);
    (0..20).for_each(|_| both.take(3));
    for (at, limit) in [(0, 1), (2, 3), (3, 4), (10, 12), (11, 12)] {
        let visited = u32::try_from(at).expect("small") + 1;
        let slot = both.find(at, limit).slot;
        assert!(slot < TOO_FAR, "{at} of {limit}");
        assert_eq!(both.find(at, limit), Sought { slot, visited });
    }
    let too_far = Sought {
        slot: TOO_FAR,
        visited: 12,
    };
    assert_eq!(both.find(12, 12), too_far);
    both.check();
}

#[test]
fn an_entry_that_stays_first_is_moved_to_the_others() {
    let mut both = Both::with(2);
    for _ in 0..10_000 {
        both.push();
        let _ = both.find(1, 12);
        both.take(1);
    }
    assert!(both.slab.near_slots() <= 64, "holes are closed");
    assert!(both.window.holes <= HOLES + 1);
    both.check();
}

#[test]
fn a_window_has_room_for_some_times_its_entries_and_no_more() {
    for entries in [1, 4, 5, 60, 100, 1000] {
        let mut both = Both::with(entries);
        for _ in 0..10_000 {
            both.push();
            both.take(0);
        }
        let entries_and_one = entries as usize + 1;
        let most = (2 * entries_and_one).max((4 * entries_and_one).min(FEW)) + RUN;
        let slots = both.slab.near_slots();
        assert!(slots <= most, "{slots} slots for {entries} entries");
        (0..entries).for_each(|_| both.take(0));
        both.push();
        assert_eq!(both.window.first(), 0, "an empty window begins anew");
    }
}

#[test]
fn a_window_of_all_near_slots_has_room_when_half_of_its_entries_have_left() {
    let mut both = Both::with(NEAR as u32);
    for left in [NEAR, NEAR / 2 + 1] {
        (0..NEAR - left).for_each(|_| both.take(1));
        assert!(!both.window.has_room(&both.slab));
        assert!(!both.window.make_room(&mut both.slab, 0));
    }
    both.take(0);
    both.push();
    both.check();
}

#[test]
fn all_slots_are_used_when_the_window_is_away() {
    // With slots behind, before and between the entries, and without.
    for (entries, gone) in [
        (20, 0),
        (20, 5),
        (64, 0),
        (64, 30),
        (64, 63),
        (1, 1),
        (0, 0),
    ] {
        let mut both = Both::with(entries);
        (0..gone).for_each(|_| both.take(0));
        if gone == 30 {
            (0..10).for_each(|_| both.push());
            both.take(3);
            both.take(8);
        }
        let Both {
            slab,
            window,
            entries,
            ..
        } = &mut both;
        let mut leaving = window.leave(slab);
        assert!(window.is_away());
        let mut slots: Vec<u32> = std::iter::from_fn(|| leaving.next(slab)).collect();
        let keys: Vec<u32> = slots.iter().map(|&slot| *slab.key(slot)).collect();
        assert!(keys.iter().eq(entries.iter().map(|(key, _)| key)));
        assert_eq!(slab.len() as usize, entries.len());
        let near = slab.near_slots();
        loop {
            while let Some(slot) = slab.reserve_near(NIL) {
                slots.push(slot);
            }
            if !window.free_unused(slab) {
                break;
            }
        }
        slots.sort_unstable();
        assert!(slots.iter().copied().eq(0..near as u32), "{slots:?}");
    }
}

/// Entries of which the first has moved, and the last has come since.
fn moved() -> Both {
    let mut both = Both::with(3);
    both.take(0);
    while both.window.moved == 0 {
        both.push();
        both.take(1);
    }
    let [(_, first), (_, last)] = [both.entries[0], both.entries[1]];
    assert_ne!(both.slab.slot_of(first), Some(first.slot()));
    assert_eq!(both.window.moved_below(&both.slab), last.sequence());
    both
}

#[test]
fn who_has_come_since_entries_moved_is_looked_for_nowhere_else() {
    let mut both = moved();
    let first_that_stays = both.window.moved_below(&both.slab);
    (0..100).for_each(|_| both.push());
    let (_, gone) = both.entries[50];
    both.take(50);
    let mut leaving = both.window.leave(&mut both.slab);
    while leaving.next(&mut both.slab).is_some() {}
    assert!(both.window.is_away());
    for &(key, handle) in &both.entries {
        let slot = both.window.slot_of(&both.slab, handle, 0);
        assert_eq!(slot.map(|slot| *both.slab.key(slot)), Some(key));
    }
    assert_eq!(both.window.slot_of(&both.slab, gone, 0), None);
    let moved_below = both.window.moved_below(&both.slab);
    assert_eq!(moved_below, first_that_stays);
    assert!(gone.sequence() >= moved_below, "no slot is looked at");
}

#[test]
fn who_has_moved_is_found_however_many_numbers_were_given_since() {
    for skipped in [1, (1 << 31) - 2, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 40] {
        let mut both = moved();
        let next = both.slab.next_sequence();
        both.slab.raise_sequence(next + skipped);
        both.check();
        both.push();
        both.check();
    }
}

#[test]
fn entries_come_back_in_order_with_their_names() {
    for leaving in [0, 2, 4] {
        let mut both = Both::with(40);
        (0..35).for_each(|_| both.take(1));
        let mut gone = both.window.leave(&mut both.slab);
        let mut slots: Vec<u32> = std::iter::from_fn(|| gone.next(&mut both.slab)).collect();
        let last = slots.remove(leaving);
        let last = both
            .window
            .come_back(&mut both.slab, &mut slots, Some(last))
            .expect("one leaves");
        let (key, _) = both.entries.remove(leaving).expect("it was there");
        assert_eq!(both.slab.remove(last), (key, key));
        both.check();
        both.push();
        both.check();
    }
}
