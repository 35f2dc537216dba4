use super::*;
use crate::{Options, World};

#[test]
fn what_has_been_sent_counts_by_either_way() {
    const BYTES: usize = 100_000;
    // Read by the receiver, through a ring.
    for single_copy_from in [0, usize::MAX] {
        let options = Options::default().with(|o| o.single_copy_from = Some(single_copy_from));
        let sent = World::threads_with(2, &options, |world| {
            if world.rank() == 0 {
                world.send(&[1_u8; BYTES], 1, 1)?;
            } else {
                world.recv(&mut [0_u8; BYTES], 0, 1)?;
            }
            Ok(world.inner.core().state.ways.sent)
        });
        assert_eq!(sent.unwrap(), [BYTES as u64, 0]);
    }
}

#[test]
fn all_ways_of_copying_from_a_shared_buffer_are_timed() {
    const COUNT: usize = 400;
    let looked = World::threads(2, |world| {
        for bytes in [FROM_SHARED / 2, FROM_SHARED] {
            if world.rank() == 0 {
                let out = world.shared_buffer::<u8>(bytes)?;
                (0..COUNT).try_for_each(|_| world.send(&out, 1, 1))?;
            } else {
                let mut into = vec![0_u8; bytes];
                (0..COUNT).try_for_each(|_| world.recv(&mut into, 0, 1).map(drop))?;
            }
        }
        let classes = &world.inner.core().state.ways.classes;
        let sizes = [FROM_SHARED / 2, FROM_SHARED, 2 * FROM_SHARED];
        Ok(sizes.map(|bytes| classes[class_of(bytes, true)].has_looked()))
    });
    assert_eq!(looked.unwrap()[1], [true, true, false]);
}

#[test]
fn what_may_go_ahead_are_the_classes_around_one_that_the_ring_is_quicker_for() {
    let mut ways = Ways::new(&Options::default(), true);
    let lengths = |more_than, up_to| Lengths { more_than, up_to };
    // At first messages are read.
    assert_eq!(ways.by_ring(40_000), lengths(0, 0));
    for class in &mut ways.classes[..POWERS] {
        *class = Class::new(40_000, Way::Ring).with_some_ahead();
    }
    assert_eq!(ways.by_ring(40_000), lengths(0, (1 << 24) - 1));
    // A class whose look is due.
    while ways.classes[1].is_by_ring() {
        ways.classes[1].came_unasked(40_000, 0);
    }
    assert_eq!(ways.by_ring(40_000), lengths(0, 0));
    assert_eq!(ways.by_ring(20_000), lengths(0, (1 << 15) - 1));
    assert_eq!(ways.by_ring(70_000), lengths((1 << 16) - 1, (1 << 24) - 1));
}
