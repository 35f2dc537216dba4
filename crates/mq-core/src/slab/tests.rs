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
        // Some of each chunk, those of one after the other.
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
    // But for a bit for each chunk.
    assert!(slab.bytes() <= bytes + 64);
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots.len(), ENTRIES as usize - 40);
}
