use super::*;
use crate::ContextId;

#[test]
fn a_handle_does_not_name_the_next_user_of_its_slot() {
    let mut slab = Slab::new(5);
    let slot = slab.insert('a', 1, 0);
    let handle = Handle::new(ContextId(0), slot, slab.sequence(slot));
    assert_eq!(slab.slot_of(handle), Some(slot));
    slab.remove(slot);
    assert_eq!(slab.slot_of(handle), None);
    assert_eq!(slab.insert('b', 2, 0), slot);
    assert_eq!(slab.slot_of(handle), None);
}

#[test]
fn a_drained_burst_gives_its_memory_back() {
    let mut slab = Slab::new(0);
    for i in 0..1_000_000_u32 {
        slab.insert(i, i, 0);
    }
    assert!(slab.bytes() > 16_000_000);
    for slot in slab.slots_in_order() {
        slab.remove(slot);
    }
    assert!(slab.bytes() <= 8 << 10, "{} bytes", slab.bytes());
    assert_eq!(slab.insert(0, 0, 0), 0);
}

#[test]
fn an_entry_that_stays_holds_one_chunk() {
    for stays in [0, 1, NEAR as u32, 100_000, 199_999] {
        let mut slab = Slab::new(0);
        let slots: Vec<u32> = (0..200_000_u32).map(|i| slab.insert(i, i, 0)).collect();
        let full = slab.bytes();
        for (i, &slot) in (0..).zip(&slots) {
            if i != stays {
                slab.remove(slot);
            }
        }
        assert!(slab.bytes() < full / 20, "{} of {full}", slab.bytes());
        let slot = slots[stays as usize];
        assert_eq!(slab.slots_in_order(), [slot]);
        let next = slab.insert(9, 9, 0);
        assert_eq!(slab.slots_in_order(), [slot, next]);
    }
}

#[test]
fn a_length_that_swings_about_the_end_of_a_chunk_keeps_its_chunks() {
    let mut slab = Slab::new(0);
    let mut slots: Vec<u32> = (0..5000_u32).map(|i| slab.insert(i, i, 0)).collect();
    for slot in slots.drain(NEAR..).rev() {
        slab.remove(slot);
    }
    let slot = slab.insert(0, 0, 0);
    let bytes = slab.bytes();
    slab.remove(slot);
    for _ in 0..3 {
        let slot = slab.insert(0, 0, 0);
        assert_eq!(slab.bytes(), bytes);
        slab.remove(slot);
        assert_eq!(slab.bytes(), bytes);
    }
}

#[test]
fn chunks_are_used_again() {
    let mut slab = Slab::new(0);
    let mut slots: Vec<u32> = (0..10_000_u32).map(|i| slab.insert(i, i, 0)).collect();
    let full = slab.bytes();
    for round in 0..50_u32 {
        let gone = slots.split_off(5_000 - round as usize);
        for &slot in gone.iter().rev() {
            slab.remove(slot);
        }
        slots.extend((0..gone.len() as u32).map(|i| slab.insert(i, i, 0)));
        assert!(slab.bytes() <= full + full / 20);
    }
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots.len(), 10_000);
}

#[test]
fn a_small_burst_keeps_its_memory_and_its_layout() {
    let mut slab = Slab::new(0);
    let slots: Vec<u32> = (0..100_u32).map(|i| slab.insert(i, i, 0)).collect();
    let bytes = slab.bytes();
    for &slot in slots.iter().rev() {
        slab.remove(slot);
    }
    let again: Vec<u32> = (0..100_u32).map(|i| slab.insert(i, i, 0)).collect();
    assert_eq!((slots, bytes), (again, slab.bytes()));
}

#[test]
fn order_is_that_of_insertion_whatever_the_slots() {
    let mut slab = Slab::new(0);
    let first = slab.insert(0, (), 0);
    slab.insert(1, (), 0);
    slab.remove(first);
    slab.insert(2, (), 0);
    let keys: Vec<i32> = slab
        .slots_in_order()
        .iter()
        .map(|&s| *slab.key(s))
        .collect();
    assert_eq!(keys, [1, 2]);
}

#[test]
fn a_removal_in_a_full_slab_leaves_a_slot_to_the_next_entry() {
    const ENTRIES: u32 = NEAR as u32 + 4 * 256;
    let mut slab = Slab::new(0);
    let mut slots: Vec<u32> = (0..ENTRIES).map(|i| slab.insert(i, i, 0)).collect();
    assert!(slab.is_full());
    let bytes = slab.bytes();
    for round in 0..3000 {
        // One of any chunk.
        let i = round * 7919 % slots.len();
        slab.remove(slots.swap_remove(i));
        assert!(!slab.is_full());
        slots.push(slab.reserve(NIL).expect("a slot is open"));
        slab.fill(slots[slots.len() - 1], 0, 0);
        assert!(slab.is_full());
    }
    // The same with a slot to spare here and there.
    for _ in 0..40 {
        slab.remove(slots.swap_remove(slots.len() / 2));
    }
    for round in 0..3000 {
        let i = round * 7919 % slots.len();
        slab.remove(slots.swap_remove(i));
        assert!(!slab.is_full());
        slots.push(slab.insert(0, 0, 0));
    }
    assert!(slab.bytes() <= bytes);
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots.len(), ENTRIES as usize - 40);
}

#[test]
fn what_comes_and_goes_after_a_burst_makes_and_frees_nothing() {
    // The first of a burst stay, enough to fill the near slots that are tried first; the others leave in order, so that
    // far slots empty last.
    for staying in [500, 512, 600, 1000, 1041] {
        let mut slab = Slab::new(0);
        let slots: Vec<u32> = (0..6000).map(|i| slab.insert(i, i, 0)).collect();
        slots[staying..].iter().for_each(|&slot| {
            slab.remove(slot);
        });
        let come_and_go = |slab: &mut Slab<u32, u32>| {
            let slot = slab.insert(0, 0, 0);
            let bytes = slab.bytes();
            slab.remove(slot);
            (bytes, slab.bytes())
        };
        // What is left of the burst is given back by these.
        for _ in 0..100 {
            come_and_go(&mut slab);
        }
        let bytes = slab.bytes();
        for _ in 0..1000 {
            assert_eq!(come_and_go(&mut slab), (bytes, bytes), "{staying} stay");
        }
    }
}

#[test]
fn a_burst_that_grows_once_more_while_it_drains_is_given_back() {
    // The newest leave first, so that all chunks that are left are full when some more come.
    for (burst, more) in [(10_000, 1), (10_000, 1500), (200_000, 1), (200_000, 300)] {
        let mut slab = Slab::new(0);
        let mut slots: Vec<u32> = (0..burst).map(|i| slab.insert(i, i, 0)).collect();
        while slots.len() > burst as usize / 4 {
            slots.pop().map(|slot| slab.remove(slot));
        }
        slots.extend((0..more).map(|i| slab.insert(i, i, 0)));
        while slots.len() > 3 {
            slots.pop().map(|slot| slab.remove(slot));
        }
        for _ in 0..200 {
            let slot = slab.insert(0, 0, 0);
            slab.remove(slot);
        }
        assert!(!slab.has_far(), "{burst} and {more}: {}", slab.bytes());
    }
}

#[test]
fn what_stays_after_a_burst_is_found_again_by_the_next() {
    // Of each burst some entries stay: anywhere after even ones, mostly in the last slots after odd ones. They leave
    // while the next burst fills the slots around them.
    let mut slab = Slab::new(0);
    let mut model = std::collections::BTreeMap::new();
    let mut state = 7_u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    for burst in 0..6 {
        while model.len() < 20_000 {
            let key = slab.next_sequence();
            let slot = slab.insert(key, key, 0);
            assert_eq!(model.insert(slot, key), None, "slot {slot} is given once");
            if random(8) == 0 {
                let slots = model.len();
                let nth = if burst % 2 == 0 {
                    random(slots)
                } else {
                    slots - 1
                };
                let (&slot, &key) = model.iter().nth(nth.min(300)).expect("it is stored");
                assert_eq!(slab.remove(slot), (key, key));
                model.remove(&slot);
            }
        }
        let full = slab.bytes();
        let mut slots: Vec<u32> = model.keys().copied().collect();
        while slots.len() > 40 {
            // Those in the last slots stay, or those anywhere.
            let limit = if burst % 2 == 0 {
                slots.len()
            } else {
                slots.len() - 20
            };
            let slot = slots.remove(random(limit));
            let key = model.remove(&slot).expect("it is stored");
            assert_eq!(slab.remove(slot), (key, key));
        }
        assert!(slab.bytes() < full * 2 / 3, "{} of {full}", slab.bytes());
        assert_eq!(slab.len() as usize, model.len());
        let mut stored = slab.slots_in_order();
        stored.sort_unstable();
        assert_eq!(stored, model.keys().copied().collect::<Vec<u32>>());
    }
    for (slot, key) in model {
        assert_eq!(slab.remove(slot), (key, key));
    }
    assert!(slab.bytes() <= 16 << 10, "{} bytes", slab.bytes());
}

#[test]
fn no_removal_gives_back_more_than_a_few_chunks() {
    let mut slab = Slab::new(0);
    let slots: Vec<u32> = (0..200_000_u32).map(|i| slab.insert(i, i, 0)).collect();
    let chunk = 256 * size_of::<Entry<u32, u32>>();
    let mut most = 0;
    for &slot in &slots[..slots.len() - 1] {
        let before = slab.bytes();
        slab.remove(slot);
        most = most.max(before - slab.bytes());
    }
    assert!(most > chunk && most < 4 * chunk, "{most} bytes at once");
}

#[test]
fn bytes_are_those_of_the_chunks_that_have_memory() {
    let mut slab = Slab::new(0);
    let slots: Vec<u32> = (0..30_000_u32).map(|i| slab.insert(i, i, 0)).collect();
    for (i, &slot) in slots.iter().enumerate() {
        if i % 1000 != 0 {
            slab.remove(slot);
        }
        if i % 997 == 0 {
            let far = slab.far.as_ref().map_or(0, |far| far.recount());
            assert_eq!(slab.bytes(), vec_bytes(&slab.near) + far);
        }
    }
}

#[test]
fn a_chunk_whose_slots_are_listed_is_not_freed() {
    const FAR: u32 = NEAR as u32;
    let mut slab = Slab::new(0);
    let slots: Vec<u32> = (0..FAR + 1024).map(|i| slab.insert(i, i, 0)).collect();
    // One entry stays, behind the slots of its chunk that will be listed first.
    let stays = FAR + 200;
    for &slot in slots.iter().filter(|&&slot| slot != stays) {
        slab.remove(slot);
    }
    let again: Vec<u32> = (0..FAR + 1).map(|i| slab.insert(i, i, 0)).collect();
    assert_eq!(again.last(), Some(&FAR));
    slab.remove(FAR);
    slab.remove(stays);
    assert_eq!(slab.insert(0, 0, 0), FAR);
}

#[test]
fn numbers_that_begin_at_the_end_leave_room_for_those_that_follow() {
    let mut slab: Slab<u32, u32> = Slab::new(u64::MAX);
    let first = slab.insert(1, 1, NIL);
    slab.raise_sequence(u64::MAX);
    let second = slab.insert(2, 2, NIL);
    assert!(slab.sequence(first) < slab.sequence(second));
    assert_eq!(slab.earliest(|_| true), Some(first));
}

#[test]
fn numbers_of_entries_that_have_left_are_not_given_again_at_the_end_of_the_range() {
    let mut slab: Slab<u32, u32> = Slab::new(LAST_ASKED);
    let slot = slab.insert(1, 1, NIL);
    let last = slab.sequence(slot);
    let next: Slab<u32, u32> = Slab::new(slab.next_sequence());
    assert!(next.next_sequence() > last);
}
