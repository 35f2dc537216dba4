use super::*;
use crate::Tag;
use crate::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use crate::slab::{NIL, Slab};

/// What receives from any source care about.
const ANY_SOURCE: u64 = 0xffff_ffff;

/// A receive that ignores some bits of the tag.
fn masked(source: u32, wanted: i32, ignore: u32) -> MpiPattern {
    let wanted = Tag(wanted);
    MpiPattern::new(0, source, TagSelector::Masked { wanted, ignore })
}

/// A receive from any source, whose tag is the number of its slot.
fn push(wild: &mut Wild<u64>, slot: u32) {
    wild.push(u64::from(slot), ANY_SOURCE, slot);
}

/// A filling of a queue, of which `receives` were linked, all at once; returns how many there was room for.
fn filling(wild: &mut Wild<u64>, receives: u32) -> u32 {
    wild.start();
    wild.begin(0);
    if receives > wild.room {
        wild.forget();
        wild.begin(receives);
    }
    (0..receives).for_each(|slot| push(wild, slot));
    wild.count_linked(receives, 0);
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
    let one = masked(84, 0x156d_cb9a, 0x0010_0441);
    let other = masked(0, 0x0010_0001, 0xa204_0000);
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

#[test]
fn short_chains_do_not_wear_the_table_out_however_many_classes_there_are() {
    let mut slab: Slab<MpiPattern, u32> = Slab::new(0);
    // A seed with which no two of these keys share a bucket.
    let mut wild = Wild::new(Seed::new(1));
    wild.begin(14);
    // Of the receives for the message those of the last class are the earliest, so that one of each is
    // compared.
    let others = (8..15).map(|bit| masked(6, 9, 1 << bit));
    let all = others.chain((8..15).rev().map(|bit| masked(5, 9, 1 << bit)));
    for receive in all {
        let slot = slab.insert(receive, 0, NIL);
        wild.push(receive.bits(), receive.care(), slot);
    }
    let message = MpiEnvelope::new(0, 5, 9);
    let near = slab.near_entries();
    for _ in 0..10_000 {
        let (found, visited) = wild.find(near, message.context(), message.bits(), NIL);
        assert_eq!((found.slot, visited), (7, 7));
    }
    assert!(!wild.is_worn_out(&Buckets::new(Seed::new(1))));
}

#[test]
fn what_is_linked_makes_up_for_what_was_passed() {
    let none = Buckets::new(Seed::new(1));
    let mut wild = Wild::new(Seed::new(1));
    for _ in 0..1000 {
        wild.start();
        wild.begin(200);
        (0..200).for_each(|slot| push(&mut wild, slot));
        wild.count_linked(200, 20);
        wild.buckets.count(100);
        assert!(!wild.is_worn_out(&none));
    }
}

#[test]
fn a_small_table_is_worn_out_when_linking_the_whole_queue_is_paid_for() {
    let mut exact = Buckets::new(Seed::new(1));
    let mut wild: Wild<u64> = Wild::new(Seed::new(1));
    wild.begin(1);
    wild.buckets.count(4 * 256 + 2);
    assert!(wild.is_worn_out(&exact));
    exact.begin(4096);
    assert!(!wild.is_worn_out(&exact));
    assert!(!wild.replace_if_worn(&exact));
    wild.buckets.count(4 * 8192);
    assert!(wild.is_worn_out(&exact));
    assert!(wild.replace_if_worn(&exact));
    assert!(!wild.is_worn_out(&exact));
}

#[test]
fn factors_that_spread_wildcards_badly_are_tried_eight_times() {
    let mut wild: Wild<u64> = Wild::new(Seed::new(1));
    let mut words = Vec::new();
    for _ in 0..20 {
        wild.start();
        wild.begin(200);
        words.push(wild.buckets.word_of(ANY_SOURCE));
        assert!(!wild.judge(200, 100, 4096), "that would take long");
        wild.count_linked(200, 100);
    }
    assert!(words[8..].iter().all(|&word| word == words[0]), "the best");
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), 8);
}
