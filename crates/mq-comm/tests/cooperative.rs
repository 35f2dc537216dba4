//! Messages that sender and receiver copy together.

mod common;

use common::filters::refuse;
use common::{kernel_reads_memory, watchdog};
use mq_comm::{Error, Options, World};
use mq_shm::wait::Patience;

/// All messages are read from the sender's memory, as far as the kernel lets them, by ranks that take their
/// core for their own: others ask nobody to help.
fn options() -> Options {
    Options::default().with(|o| {
        o.eager_limit = 0;
        o.single_copy_from = Some(0);
        o.patience = Some(Patience::YIELDING.with(|o| o.spins = Patience::YIELDING.spins + 1));
    })
}

fn filled(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at * 13 + at / 251 + seed) as u8)
        .collect()
}

const SIZES: [usize; 5] = [60_000, 65_536, 100_001, 1 << 20, (2 << 20) + 7];

/// Rank 0 sends and waits for each message; returns of how many it copied a part.
fn one_way(world: &World, rounds: usize) -> Result<u64, Error> {
    for round in 0..rounds {
        for bytes in SIZES {
            let sent = filled(bytes, round);
            if world.rank() == 0 {
                world.send(&sent, 1, 3)?;
            } else {
                let mut received = vec![0; bytes];
                world.recv(&mut received, 0, 3)?;
                assert!(received == sent, "round {round}, {bytes} bytes");
            }
        }
    }
    Ok(world.profile().helped)
}

/// Messages of which ranks 0 and 1 have copied parts, with options and something more to prepare each.
fn helped(options: &Options, rounds: usize, prepare: impl Fn(u32) + Sync) -> Vec<u64> {
    World::threads_with(2, options, |world| {
        prepare(world.rank());
        one_way(world, rounds)
    })
    .unwrap()
}

/// Says so where nothing of all this can be tried.
fn is_let() -> bool {
    let is_let = kernel_reads_memory();
    if !is_let {
        common::untried("what both sides copy", common::NOT_READ);
    }
    is_let
}

/// Whether something happens immediately or later: if the cores have other work, a sender may come too
/// late now and then.
fn comes_about(happens: impl FnMut() -> bool) -> bool {
    core::iter::repeat_with(happens)
        .take(20)
        .any(|happens| happens)
}

/// Whether rank 0 helps without anything in the way.
fn helps_otherwise() -> bool {
    comes_about(|| {
        let by = helped(&options(), 10, |_| ());
        // The longest of the sizes that are long enough is one part.
        assert!(by[0] <= 40 && by[1] == 0, "{by:?}");
        by[0] > 0
    })
}

#[test]
fn a_sender_that_waits_copies_a_part() {
    let _dog = watchdog("a sender that waits");
    assert_eq!(helps_otherwise(), is_let());
}

#[test]
fn who_is_told_not_to_copies_nothing() {
    let _dog = watchdog("told not to");
    assert_eq!(helps_otherwise(), is_let());
    let alone = options().with(|o| o.cooperative_copy = false);
    assert_eq!(helped(&alone, 4, |_| ()), [0, 0]);
}

#[test]
fn a_sender_that_may_not_write_leaves_it_to_the_receiver() {
    let _dog = watchdog("may not write");
    assert_eq!(helps_otherwise(), is_let());
    let by = helped(&options(), 10, |rank| {
        if rank == 0 {
            refuse(libc::SYS_process_vm_writev, libc::EPERM);
        }
    });
    assert_eq!(by, [0, 0]);
}

#[test]
fn what_there_is_no_room_for_is_not_copied() {
    let _dog = watchdog("no room");
    World::threads_with(2, &options(), |world| {
        for round in 0..20 {
            let sent = filled(1 << 20, round);
            if world.rank() == 0 {
                world.send(&sent, 1, 3)?;
                continue;
            }
            let mut memory = vec![0xa5; 400_000];
            let heard = world.recv(&mut memory[..300_001], 0, 3);
            assert!(
                matches!(
                    heard,
                    Err(Error::Truncated {
                        sent: 1_048_576,
                        room: 300_001,
                        ..
                    })
                ),
                "{heard:?}"
            );
            let (received, behind) = memory.split_at(300_001);
            assert!(received == &sent[..300_001]);
            assert!(behind.iter().all(|&byte| byte == 0xa5));
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn large_messages_both_ways_and_many_at_a_time_are_whole() {
    let _dog = watchdog("both ways");
    let exchange = |world: &World| {
        let me = world.rank();
        for round in 0..10 {
            let sent: Vec<Vec<u8>> = (0..3)
                .map(|to| filled(SIZES[(round + to) % 5], (me as usize) * 5 + to))
                .collect();
            let mut received: Vec<Vec<u8>> = (0..3)
                .map(|_| vec![0; SIZES[(round + me as usize) % 5]])
                .collect();
            world.scope(|scope| {
                for (from, into) in received.iter_mut().enumerate() {
                    scope.irecv(into, from as u32, 1)?;
                }
                for (to, bytes) in sent.iter().enumerate() {
                    scope.isend(bytes, to as u32, 1)?;
                }
                scope.wait_all()
            })?;
            for (from, bytes) in received.iter().enumerate() {
                let expected = filled(bytes.len(), from * 5 + me as usize);
                assert!(*bytes == expected, "round {round}, {from} to {me}");
            }
        }
        Ok(world.profile().helped)
    };
    let helped = || World::threads_with(3, &options(), exchange).unwrap();
    let is_helped = comes_about(|| helped().iter().sum::<u64>() > 0);
    assert_eq!(is_helped, is_let());
}
