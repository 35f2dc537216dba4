use super::*;
use crate::Tag;
use crate::mpi::{MpiPattern, TagSelector};

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

/// A filling of a queue, of which so many were linked, all at once; returns how many there was room for.
fn filling(wild: &mut Wild<u64>, receives: u32) -> u32 {
    wild.start();
    wild.begin(0);
    if receives > wild.room {
        wild.forget();
        wild.begin(receives);
    }
    (0..receives).for_each(|slot| push(wild, slot));
    wild.note_linked();
    wild.room
}

#[test]
fn the_table_is_as_large_as_the_last_filling_needed_it_or_some_times_as_large() {
    let mut wild = Wild::new(Seed::new(1));
    assert_eq!(filling(&mut wild, 4000), 4096);
    assert_eq!(filling(&mut wild, 1), 4096, "as many may come again");
    assert_eq!(filling(&mut wild, 1), 128);
    assert_eq!(filling(&mut wild, 1000), 1024);
    for _ in 0..3 {
        assert_eq!(filling(&mut wild, 100), 1024, "not far fewer");
    }
    assert_eq!(filling(&mut wild, 0), 1024);
    assert_eq!(filling(&mut wild, 0), 0, "no table was needed");
    assert_eq!(filling(&mut wild, 300), 512);
    wild.clear();
    assert_eq!(filling(&mut wild, 0), 0);
}

#[test]
fn nobody_can_choose_receives_of_two_masks_that_share_a_bucket() {
    // If the words of masks were known, multiples of an odd number, these would under every factor.
    let receive = |source: u32, wanted, ignore| {
        let wanted = Tag(wanted);
        MpiPattern::new(0, source, TagSelector::Masked { wanted, ignore })
    };
    let one = receive(84, 0x156d_cb9a, 0x0010_0441);
    let other = receive(0, 0x0010_0001, 0xa204_0000);
    let together = (1..=1000).filter(|&seed| {
        let mut buckets = Buckets::new(Seed::new(seed));
        buckets.begin(1);
        let place = |receive: MpiPattern| {
            let word = buckets.word_of(receive.care());
            buckets.place_under(receive.bits(), word)
        };
        place(one) == place(other)
    });
    let together = together.count();
    assert!(together < 20, "under {together} of 1000 factors");
}
