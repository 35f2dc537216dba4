use super::*;

/// What receives from any source care about.
const ANY_SOURCE: u64 = 0xffff_ffff;

/// A receive from any source, whose tag is the number of its slot.
fn push(wild: &mut Wild<u64>, slot: u32) {
    wild.push(u64::from(slot), ANY_SOURCE, slot);
}

/// Links so many, one with each search, and all anew where there is no room; returns how often.
fn grow(receives: u32) -> u32 {
    let mut wild = Wild::new(Seed::new(1));
    let mut times = 0;
    for slot in 0..receives {
        if wild.is_full() {
            times += 1;
            wild.forget();
            wild.begin(slot + 1);
            (0..slot).for_each(|slot| push(&mut wild, slot));
        }
        push(&mut wild, slot);
    }
    times
}

#[test]
fn all_are_linked_anew_only_when_the_table_has_to_be_larger() {
    assert_eq!(grow(1), 1);
    assert_eq!(grow(128), 1, "as many as the smallest table serves");
    assert_eq!(grow(129), 2);
    assert_eq!(grow(1024), 4);
}
