//! Receives that end without a message are cancelled as those that still wait are.

mod common;

use common::{is_gone, watchdog};
use mq_comm::{Communicator, Error, Gone, RequestSet, Source, World};

/// A receive with a handle, and one in a set, both of which nothing has matched, give their buffers back.
fn cancel_two(on: &Communicator, mut wait: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    let mut set: RequestSet = on.request_set();
    let receiving = on.irecv(vec![7_u8; 3], 0, 1)?;
    let id = set.add(on.irecv(vec![8_u8; 3], 0, 2)?);
    wait()?;
    assert!(receiving.test()?, "it has failed");
    assert_eq!(receiving.cancel().expect("nothing has matched"), [7; 3]);
    assert!(set.cancel(id), "nothing has matched");
    assert!(!set.cancel(id), "it is cancelled");
    let (result, buffer) = set
        .wait_any()?
        .expect("it is complete")
        .into_parts::<u8>()
        .expect("as begun");
    assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
    assert_eq!(buffer, [8; 3]);
    Ok(())
}

#[test]
fn receives_from_one_that_has_left_are_cancelled() {
    let _dog = watchdog("receives from one that has left");
    World::threads(2, |world| {
        if world.rank() == 0 {
            return Ok(());
        }
        let has_left = || world.ended() == [(0, Gone::Left)];
        cancel_two(world, || {
            while !has_left() {
                world.progress()?;
            }
            Ok(())
        })?;
        // Those of a scope, and those that begin later.
        let mut lent = [9_u8; 3];
        world.scope(|s| {
            let receiving = s.irecv(&mut lent, 0, 1)?;
            assert!(receiving.test()?);
            assert_eq!(receiving.cancel().expect("nothing has matched"), [9; 3]);
            s.wait_all()
        })?;
        let sending = world.isend(vec![5_u8], 0, 1)?;
        assert!(
            is_gone(&sending.cancel().unwrap_err().wait(), 0, "left"),
            "a send"
        );
        Ok(())
    })
    .unwrap();
}

#[test]
fn receives_of_a_communicator_that_is_revoked_are_cancelled() {
    let _dog = watchdog("revoked");
    let world = World::alone().unwrap();
    let on = world.dup().unwrap();
    cancel_two(&on, || on.revoke()).unwrap();
}

#[test]
fn receives_from_any_source_that_a_death_ends_are_cancelled() {
    let _dog = watchdog("a death");
    let run = World::threads(2, |world| {
        if world.rank() == 0 {
            return Err(Error::Cancelled);
        }
        let receiving = world.irecv(vec![7_u8], Source::Any, 1)?;
        while !receiving.test()? {}
        assert_eq!(receiving.cancel().expect("nothing has matched"), [7]);
        Ok(())
    });
    assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
}

/// A message that was lost with its sender had matched.
#[test]
fn a_receive_whose_message_is_lost_is_not_cancelled() {
    let _dog = watchdog("lost");
    let run = World::threads(2, |world| {
        if world.rank() == 0 {
            drop(world.isend(vec![1_u8; 300_000], 1, 1)?);
            return Err(Error::Cancelled);
        }
        while world.ended().is_empty() {
            world.progress()?;
        }
        let receiving = world.irecv(vec![7_u8; 300_000], 0, 1)?;
        let receiving = receiving.cancel().expect_err("it has found its message");
        assert!(is_gone(&receiving.wait(), 0, "died"));
        Ok(())
    });
    assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
}
