//! Messages that go ahead, through a ring and unasked: to receives that wait, to none, to receives that
//! are too short, and to nobody any more.

mod answers;
#[path = "../common/mod.rs"]
mod common;
mod full;
mod halfway;
mod unreceived;

use common::{NOT_READ, kernel_reads_memory, untried, watchdog};
use mq_comm::transport::Transport;
use mq_comm::{Communicator, Error, Options, Profile, Request, World};

/// Longer than an eager message, and not a whole number of buffers.
const BYTES: usize = 50_001;

fn by_rings(size: u32, program: fn(&World) -> Result<(), Error>) -> Vec<Profile> {
    with(size, &rings(), program)
}

/// Every long message comes through a ring.
fn rings() -> Options {
    Options::default().with(|o| o.single_copy = false)
}

fn with(size: u32, options: &Options, program: fn(&World) -> Result<(), Error>) -> Vec<Profile> {
    let run = |world: &World| {
        program(world)?;
        Ok(world.profile())
    };
    World::threads_with(size, options, run).expect("the program runs")
}

fn content(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (number * 101 + at * 7) as u8).collect()
}

/// A message from rank 0 to rank 1, which waits for it: the next ones may go ahead.
fn permit<T: Transport>(world: &World<T>) -> Result<(), Error> {
    if world.rank() == 0 {
        world.recv(&mut [0_u8], 1, 0)?;
        world.send(&content(0, BYTES), 1, 0)?;
        return Ok(());
    }
    let receiving = world.irecv(vec![0; BYTES], 0, 0)?;
    world.send(&[0_u8], 0, 0)?;
    assert!(receiving.wait()?.0 == content(0, BYTES));
    Ok(())
}

/// So many receives are posted for messages of a rank.
fn post(world: &Communicator, from: u32, count: usize) -> Result<Vec<Request<Vec<u8>>>, Error> {
    let post = |number| Ok(world.irecv(vec![0; BYTES], from, number as i32)?);
    (0..count).map(post).collect()
}

#[test]
fn they_go_where_receives_wait_for_them() {
    let _dog = watchdog("they_go_where_receives_wait_for_them");
    let profiles = by_rings(2, |world| {
        permit(world)?;
        for round in 0..20 {
            if world.rank() == 0 {
                world.recv(&mut [0_u8], 1, 1)?;
                for number in 0..10 {
                    world.send(&content(round + number, BYTES), 1, number as i32)?;
                }
            } else {
                let receiving = post(world, 0, 10)?;
                world.send(&[0_u8], 0, 1)?;
                for (number, request) in receiving.into_iter().enumerate() {
                    assert!(request.wait()?.0 == content(round + number, BYTES));
                }
            }
        }
        Ok(())
    });
    let [sender, receiver] = profiles[..] else {
        panic!("two ranks")
    };
    assert_eq!(sender.ahead + sender.rendezvous, 201);
    assert_eq!(sender.ahead_bytes, sender.ahead * BYTES as u64);
    // Now and then a message asks, and those that follow before the answer do too.
    assert!(sender.ahead > 50, "{sender:?}");
    assert_eq!((receiver.ring, receiver.unexpected), (201, 0));
}

#[test]
fn their_order_is_kept_among_all_others() {
    let _dog = watchdog("their_order_is_kept_among_all_others");
    const LENGTHS: [usize; 6] = [BYTES, 8, 21_000, 400_000, 16_000, 65_536];
    let profiles = by_rings(2, |world| {
        permit(world)?;
        for round in 0..200 {
            let length = |number: usize| LENGTHS[(number + round) % LENGTHS.len()];
            if world.rank() == 0 {
                for number in 0..8 {
                    world.send(&content(number, length(number)), 1, 5)?;
                }
            } else {
                for number in 0..8 {
                    let mut into = vec![0; length(number)];
                    world.recv(&mut into, 0, 5)?;
                    assert!(into == content(number, length(number)), "{number}");
                }
            }
        }
        Ok(())
    });
    assert!(profiles[0].ahead > 0, "{:?}", profiles[0]);
}

#[test]
fn one_that_is_too_long_is_cut_and_the_next_is_whole() {
    let _dog = watchdog("one_that_is_too_long_is_cut_and_the_next_is_whole");
    let profiles = by_rings(2, |world| {
        for room in [0, 1, 4_096, 30_000] {
            permit(world)?;
            if world.rank() == 0 {
                world.recv(&mut [0_u8], 1, 1)?;
                for number in 0..4 {
                    world.send(&content(number, BYTES), 1, number as i32)?;
                }
                continue;
            }
            // The first and the third are waited for, the others come too early.
            let first = world.irecv(vec![0_u8; room], 0, 0)?;
            let third = world.irecv(vec![0_u8; BYTES], 0, 2)?;
            world.send(&[0_u8], 0, 1)?;
            let cut = |heard: Error| {
                let sizes = match heard {
                    Error::Truncated { sent, room, .. } => (sent, room),
                    other => panic!("{other}"),
                };
                assert_eq!(sizes, (BYTES as u64, room as u64));
            };
            cut(first.wait().map(|_| ()).expect_err("it is cut"));
            assert!(third.wait()?.0 == content(2, BYTES));
            let mut second = vec![0_u8; room];
            cut(world.recv(&mut second, 0, 1).expect_err("it is cut"));
            assert!(second == content(1, BYTES)[..room]);
            let mut fourth = vec![0_u8; BYTES];
            world.recv(&mut fourth, 0, 3)?;
            assert!(fourth == content(3, BYTES));
        }
        Ok(())
    });
    assert!(profiles[0].ahead >= 4, "{:?}", profiles[0]);
}

#[test]
fn none_goes_that_is_longer_than_is_wanted_or_where_none_is_wanted() {
    let _dog = watchdog("none_goes_that_is_longer_than_is_wanted_or_where_none_is_wanted");
    let program = |world: &World| {
        permit(world)?;
        if world.rank() == 0 {
            return world.send(&content(1, BYTES), 1, 1);
        }
        let mut into = vec![0_u8; BYTES];
        world.recv(&mut into, 0, 1)?;
        assert!(into == content(1, BYTES));
        Ok(())
    };
    let default = Options::default;
    let may_read = kernel_reads_memory();
    if !may_read {
        untried("a message that is read and none ahead", NOT_READ);
    }
    for (options, ahead) in [
        // The first ones are read, if the kernel permits it.
        (default(), u64::from(!may_read)),
        (rings(), 1),
        (rings().with(|o| o.ahead_limit = 0), 0),
        (rings().with(|o| o.ahead_limit = BYTES - 1), 0),
        (default().with(|o| o.single_copy_from = Some(0)), 0),
        (default().with(|o| o.single_copy_from = Some(BYTES)), 0),
        (
            default().with(|o| {
                o.single_copy_from = Some(0);
                o.single_copy = false;
            }),
            1,
        ),
    ] {
        let profiles = with(2, &options, program);
        assert_eq!(profiles[0].ahead, ahead, "{options:?}");
    }
}
